"""Settings of the daily operation: who is told of failures, what is watched, and what is kept."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field

from deid_assets.config.frozen import Frozen

Address = Annotated[str, Field(pattern=r"^[^@\s,<>]{1,64}@[^@\s,<>]{1,190}$")]
"""E-mail address without a name."""


class MailSettings(Frozen):
    """Mail server that alerts are sent by.

    Args:
        to: Who gets them.
        sender: Address that they come from.
        host: Mail server.
        port: Its port.
        security: ``starttls``; ``tls`` from the first byte on, as on port 465; or ``none``.
        user: Log in under this name; not at all when empty.
        password_file: File with its password, which its owner alone reads.
    """

    to: Annotated[tuple[Address, ...], Field(min_length=1)]
    sender: Address
    host: Annotated[str, Field(min_length=1)] = "localhost"
    port: int = Field(default=25, ge=1, le=65_535)
    security: Literal["starttls", "tls", "none"] = "starttls"
    user: str = ""
    password_file: Path | None = None


class WebhookSettings(Frozen):
    """Web address that alerts are posted to as JSON.

    Args:
        url: The address.
        url_file: File with the address, where that is itself a secret; its owner alone reads it.
    """

    url: str = ""
    url_file: Path | None = None


class AlertSettings(Frozen):
    """Who is told of runs that failed and of checks that stopped a batch; nobody by default.

    Args:
        log: File to which a line of JSON is added for each alert.
        mail: Mail server and recipients.
        webhook: Web address.
    """

    log: Path | None = None
    mail: MailSettings | None = None
    webhook: WebhookSettings | None = None

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the channels that are set."""
        return tuple(
            name
            for name, is_set in (
                ("log", self.log is not None),
                ("mail", self.mail is not None),
                ("webhook", self.webhook is not None),
            )
            if is_set
        )


def faults_of_alerts(alerts: AlertSettings) -> Iterator[str]:
    """Yield what is wrong with the alerts beyond what their model says."""
    mail, hook = alerts.mail, alerts.webhook
    if mail and bool(mail.user) != bool(mail.password_file):
        yield "alerts.mail: user and password_file come together; set both, or neither"
    if mail and mail.user and mail.security == "none" and not _is_here(mail.host):
        yield (
            "alerts.mail.security: the password would cross the network in clear; set starttls or"
            " tls"
        )
    if hook is None:
        return
    if bool(hook.url) == bool(hook.url_file):
        yield "alerts.webhook: set one of url and url_file"
    elif hook.url and not is_web_address(hook.url):
        yield "alerts.webhook.url: no address that begins with https:// or http:// and names a host"


def is_web_address(url: str) -> bool:
    """Whether a URL names a host to be asked over HTTP."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False


def _is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


class WatchSettings(Frozen):
    """What is watched from day to day.

    Args:
        release_within_hours: A batch that arrived longer ago and is not released is late.
        price_per_hour: Of the machine, for the cost of runs; 0 shows none.
        currency: Of the price.
        drift_after: Batches that must have come before one is compared with them.
        drift_rate: Largest change of a rate from the median of the batches before, as a share of
            it, unless rates differed more than that before.
        drift_mix: Largest share of spans, or of notes, that may lie in other categories, or
            languages, than before.
        drift_batches: Newest batches that the checks judge.
    """

    release_within_hours: float = Field(default=24.0, gt=0)
    price_per_hour: float = Field(default=0.0, ge=0)
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")] = "EUR"
    drift_after: int = Field(default=5, ge=2)
    drift_rate: float = Field(default=0.3, gt=0)
    drift_mix: float = Field(default=0.2, gt=0, le=1)
    drift_batches: int = Field(default=5, ge=1)


Days = Annotated[int, Field(ge=1)]


class RetentionSettings(Frozen):
    """How many days what nobody needs any more is kept; for ever where not given.

    Args:
        arrivals: Files as they arrived of batches that were withdrawn, after their withdrawal.
        earlier: What ``deid migrate`` moved aside, after it did.
        runs: Dagster's records of runs that made nothing which is still there.
    """

    arrivals: Days | None = None
    earlier: Days | None = None
    runs: Days | None = None
