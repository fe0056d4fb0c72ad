"""Alerts of failures: what one says, and the channels that carry it.

An alert has no place for text of notes: names of assets and checks, the batch, a time and a remedy
of ours.
"""

from __future__ import annotations

import json
import os
import re
import smtplib
import ssl
import stat
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from email.message import EmailMessage
from pathlib import Path

from deid_assets.config.operation import (
    AlertSettings,
    MailSettings,
    WebhookSettings,
    is_web_address,
)
from deid_assets.core.errors import ConfigError, class_name

TIMEOUT_S = 10.0
"""What a channel may take; a tick of a sensor has to end within a minute."""
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")
_BATCH = re.compile(r"b-[0-9a-f-]{1,60}|all")
_HIDDEN = "not shown"
"""In the place of a name that is none of ours: who launches a run may write anything into it."""


@dataclass(frozen=True, slots=True)
class Alert:
    """A failure that somebody has to know of.

    Args:
        asset: That was not made; a job where the run ended before any asset did.
        check: Blocking checks that failed, joined by commas; empty where something else did.
        batch: Partition; ``all`` of what has none.
        time: Of the failure, UTC, ISO 8601.
        remedy: What to do.
        run: Dagster's id of the run.
    """

    asset: str
    check: str
    batch: str
    time: str
    remedy: str
    run: str

    @property
    def cause(self) -> str:
        """What it is about; the same one is told once."""
        return f"{self.asset}/{self.batch}/{self.check}"

    @property
    def line(self) -> str:
        """The alert in one line."""
        what = f"check {self.check} stopped it" if self.check else "it failed"
        return f"deid-assets: {self.asset}, batch {self.batch}: {what} at {self.time}"


def show_name(name: str) -> str:
    """Return a name that may leave in an alert, or that it is not shown."""
    return name if _NAME.fullmatch(name) else _HIDDEN


def show_batch(batch: str) -> str:
    """Return the id of a batch, or that it is not shown: it is what the run was launched with."""
    return batch if _BATCH.fullmatch(batch) else _HIDDEN


def send(alert: Alert, settings: AlertSettings, channel: str) -> str:
    """Send an alert by one channel, and return why it did not arrive; empty where it did.

    Nothing is raised: an alert must not break what it tells of. A fault names no address.

    Args:
        alert: The alert.
        settings: Of the channels.
        channel: One of ``settings.channels``.
    """
    try:
        _CHANNELS[channel](alert, settings)
    except ConfigError as error:
        return f"{channel}: {error}"
    except Exception as error:  # noqa: BLE001 - whatever a server or a library does
        return f"{channel}: {class_name(error)}; see alerts.{channel}"
    return ""


def _write(alert: Alert, settings: AlertSettings) -> None:
    if settings.log is None:
        return
    settings.log.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(settings.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with os.fdopen(handle, "ab", buffering=0) as file:
        file.write(json.dumps(asdict(alert)).encode() + b"\n")


def _mail(alert: Alert, settings: AlertSettings) -> None:
    if settings.mail is None:
        return
    mail = settings.mail
    message = EmailMessage()
    message["Subject"] = alert.line
    message["From"] = mail.sender
    message["To"] = ", ".join(mail.to)
    message.set_content("\n".join(f"{name}: {value}" for name, value in asdict(alert).items()))
    with closing(_server(mail)) as server:
        if mail.user and mail.password_file:
            server.login(mail.user, _secret_of(mail.password_file))
        server.send_message(message)


def _server(mail: MailSettings) -> smtplib.SMTP:
    trusted = ssl.create_default_context()
    if mail.security == "tls":
        return smtplib.SMTP_SSL(mail.host, mail.port, timeout=TIMEOUT_S, context=trusted)
    server = smtplib.SMTP(mail.host, mail.port, timeout=TIMEOUT_S)
    try:
        if mail.security == "starttls":
            server.starttls(context=trusted)
    except BaseException:
        server.close()
        raise
    return server


def _post(alert: Alert, settings: AlertSettings) -> None:
    if settings.webhook is None:
        return
    import requests  # noqa: PLC0415 - 0.1 s, only where an alert is sent

    answer = requests.post(
        _url_of(settings.webhook),
        json={"text": f"{alert.line}. {alert.remedy}", **asdict(alert)},
        timeout=TIMEOUT_S,
        allow_redirects=False,
    )
    with closing(answer):
        if not answer.ok or answer.is_redirect:
            raise ConfigError(f"answered {answer.status_code}; see alerts.webhook")


def _url_of(webhook: WebhookSettings) -> str:
    if webhook.url_file is None:
        return webhook.url
    url = _secret_of(webhook.url_file)
    if not is_web_address(url):
        raise ConfigError(f"{webhook.url_file}: holds no web address; write one on one line")
    return url


def _secret_of(path: Path) -> str:
    """Return the line in a file that its owner alone reads.

    Raises:
        ConfigError: It cannot be read, or others may read it.
    """
    try:
        mode = path.stat().st_mode
        value = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read ({class_name(error)})") from None
    if sys.platform != "win32" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise ConfigError(f"{path}: others may read it; run chmod 600 on it")
    return value


_CHANNELS: Mapping[str, Callable[[Alert, AlertSettings], None]] = {
    "log": _write,
    "mail": _mail,
    "webhook": _post,
}
