"""Alerts: what is told by which channel, once a cause, without text, and what never breaks."""

import json
import sys
from email import message_from_string
from pathlib import Path

import pytest
from dagster._core.storage.tags import WILL_RETRY_TAG
from dagster._core.test_utils import create_run_for_test

sys.path.insert(0, str(Path(__file__).parent))
from servers import hook_server, mail_server, port_of

from deid_assets.config import Settings
from deid_assets.config.operation import AlertSettings
from deid_assets.core.errors import ConfigError
from deid_assets.defs.alerting import TRIES, Watched, tick
from deid_assets.operation.alerts import Alert, send

pytestmark = pytest.mark.long
ALERT = Alert("raw_notes", "readable", "b-1", "2026-11-26T10:00:00+00:00", "Mend it.", "run-1")
READ = ("raw_notes", "gold_annotations", "spans_stencil")
FIELDS = {"asset", "check", "batch", "time", "remedy", "run"}


class Ticks:
    """The look of the alert sensor, again and again with its own cursor."""

    watched = None

    def __init__(self, house):
        self.house, self.cursor = house, None
        if Ticks.watched is None:  # the same for every test
            defs = house.definitions()
            names = [job.name for job in defs.jobs]
            Ticks.watched = Watched.of(defs.assets, names)

    def __call__(self):
        memory, said = tick(
            self.house.instance, self.house.opened(), Ticks.watched, cursor=self.cursor
        )
        self.cursor = memory.write_cursor()
        return said


@pytest.fixture
def house(installation, tmp_path):
    installation.log = tmp_path / "alerts.jsonl"
    alerting(installation, f'log = "{installation.log}"')
    return installation


@pytest.fixture
def ticks(house):
    ticks = Ticks(house)
    assert "from now on" in ticks()
    return ticks


def alerting(house, *lines, stencil=""):
    """Set the channels, and an option of the detector."""
    alerts = "\n".join(["[alerts]", *lines, "[detectors.stencil]", stencil])
    house.configure(f"{house.default_settings}{alerts}\n")


def told(house):
    if not house.log.exists():
        return []
    return [json.loads(line) for line in house.log.read_text().splitlines()]


def broken_batch(house, *, name="broken.jsonl"):
    """A batch that the check ``readable`` stops."""
    batch = house.receive([{"id": "1", "lang": "en", "text": ""}], name=name)
    assert house.failures(house.run(batch))
    return batch


def died(house, batch="b-1", **tags):
    """A run whose process died."""
    tags = {"dagster/partition": batch, **tags}
    house.instance.report_run_failed(create_run_for_test(house.instance, "main_job", tags=tags))


def test_a_check_that_stopped_a_batch_is_told_once_however_often_it_is_tried(house, ticks):
    batch = broken_batch(house)
    ticks()
    (alert,) = told(house)
    assert set(alert) == FIELDS
    assert (alert["asset"], alert["batch"]) == ("raw_notes", batch)
    assert alert["check"]
    assert "deid batches show" in alert["remedy"]
    assert house.failures(house.run(batch))
    assert ticks() == "nothing failed"
    assert len(told(house)) == 1


def test_what_was_put_right_and_fails_again_is_told_again(house, ticks, note_records):
    alerting(house, f'log = "{house.log}"', stencil="import_fails = true")
    batch = house.receive(note_records())
    assert house.failures(house.run(batch, *READ))
    ticks()
    alerting(house, f'log = "{house.log}"')
    assert house.failures(house.run(batch, *READ)) == {}
    assert ticks() == "nothing failed"
    alerting(house, f'log = "{house.log}"', stencil="import_fails = true")
    assert house.failures(house.run(batch, *READ))
    ticks()
    assert [one["asset"] for one in told(house)] == ["spans_stencil", "spans_stencil"]
    assert told(house)[0]["check"] == ""


def test_no_text_of_a_note_is_in_an_alert(house, ticks):
    alerting(house, f'log = "{house.log}"', stencil='raise_on = "Zedmarlow"')
    batch = house.receive(
        [
            {
                "id": "Zedmarlow-7",
                "lang": "en",
                "text": "Zedmarlow Zedquill, 4000001.",
                "patient_id": "Zedmarlow",
            }
        ]
    )
    assert house.failures(house.run(batch))
    house.instance.add_run_tags(
        house.instance.get_runs(limit=1)[0].run_id, {"dagster/partition": "zedmarlow"}
    )
    ticks()
    assert told(house)
    assert "zed" not in house.log.read_text().lower()


def test_a_batch_that_waits_is_no_alert_and_no_failed_run(house, ticks, note_records):
    house.configure(
        house.default_settings.replace('"none"', '"gold"') + f'[alerts]\nlog = "{house.log}"\n'
    )
    batch = house.receive(note_records(gold=False))
    result = house.run(batch)
    assert result.success
    assert house.opened().files.find("released_corpus", batch) is None
    assert ticks() == "nothing failed"
    assert told(house) == []


def test_a_run_whose_process_died_is_told_when_it_is_not_started_again(house, ticks):
    died(house, **{WILL_RETRY_TAG: "true"})
    ticks()
    assert told(house) == []
    died(house)
    ticks()
    (alert,) = told(house)
    assert (alert["asset"], alert["batch"], alert["check"]) == ("main_job", "b-1", "")
    assert "launch it again" in alert["remedy"]


def test_of_many_failures_none_is_lost_and_none_told_twice(house, ticks, monkeypatch):
    monkeypatch.setattr("deid_assets.defs.alerting.RUNS", 3)
    for number in range(8):
        died(house, f"b-{number}")
    for _ in range(4):
        ticks()
    said = [one["batch"] for one in told(house)]
    assert said == ["b-2 and 2 more", "b-5 and 2 more", "b-7 and 1 more"]


def test_runs_of_others_are_not_told(house, ticks):
    run = create_run_for_test(house.instance, "somebody_elses_job")
    house.instance.report_run_failed(run)
    ticks()
    assert told(house) == []


def test_one_cause_in_many_batches_is_one_alert(house, ticks):
    for batch in ("b-1", "b-2", "b-3"):
        died(house, batch)
    ticks()
    (alert,) = told(house)
    assert alert["batch"].endswith(" and 2 more")


def test_mail_and_webhook_get_what_the_log_gets(house, ticks):
    with mail_server() as mail, hook_server() as hook:
        alerting(
            house,
            f'log = "{house.log}"',
            f'webhook.url = "http://127.0.0.1:{port_of(hook)}/alerts"',
            f'mail = {{to = ["ward@example.org"], sender = "deid@example.org",'
            f' host = "127.0.0.1", port = {port_of(mail)}, security = "none"}}',
        )
        died(house)
        ticks()
        (line,), (posted,), (message,) = told(house), hook.received, mail.received
    assert {name: posted[name] for name in FIELDS} == line
    assert set(posted) == {*FIELDS, "text"}
    parsed = message_from_string(message)
    assert parsed["To"] == "ward@example.org"
    assert line["asset"] in parsed["Subject"]
    assert line["run"] in parsed.get_payload()


def test_a_broken_channel_breaks_nothing_and_is_tried_again_by_itself(house, ticks):
    with hook_server(refuses=True) as hook:
        alerting(
            house,
            f'log = "{house.log}"',
            f'webhook.url = "http://127.0.0.1:{port_of(hook)}/"',
        )
        died(house)
        assert "answered 500" in ticks()
        hook.refuses = False
        ticks()
        assert len(hook.received) == 2
        ticks()
        assert len(hook.received) == 2
    assert len(told(house)) == 1


def test_a_channel_that_stays_broken_is_given_up(house, ticks):
    with hook_server(refuses=True) as hook:
        alerting(house, f'webhook.url = "http://127.0.0.1:{port_of(hook)}/"')
        died(house)
        for _ in range(TRIES + 2):
            ticks()
        assert len(hook.received) == TRIES


@pytest.mark.parametrize("cursor", ["", "{", "[]", '{"after": 3}', "null"])
def test_a_cursor_that_cannot_be_read_begins_anew(house, cursor):
    ticks = Ticks(house)
    ticks.cursor = cursor
    assert "from now on" in ticks()


def test_a_fault_of_a_channel_names_no_address_and_raises_nothing(tmp_path):
    secret = tmp_path / "hook"
    secret.write_text("http://127.0.0.1:1/T0PS3CRET\n")
    secret.chmod(0o600)
    settings = AlertSettings.model_validate(
        {
            "log": tmp_path,  # a folder
            "webhook": {"url_file": secret},
            "mail": {"to": ["a@b.org"], "sender": "c@b.org", "host": "127.0.0.1", "port": 1},
        }
    )
    for channel in settings.channels:
        fault = send(ALERT, settings, channel)
        assert fault.startswith(channel)
        assert "T0PS3CRET" not in fault


def test_a_secret_that_others_read_is_not_used(tmp_path):
    secret = tmp_path / "hook"
    with hook_server() as hook:
        secret.write_text(f"http://127.0.0.1:{port_of(hook)}/\n")
        secret.chmod(0o644)
        settings = AlertSettings.model_validate({"webhook": {"url_file": secret}})
        assert "chmod 600" in send(ALERT, settings, "webhook")
        secret.chmod(0o600)
        assert send(ALERT, settings, "webhook") == ""
        assert len(hook.received) == 1


def test_a_mail_server_without_encryption_is_refused_unless_the_settings_say_so(tmp_path):
    with mail_server() as mail:
        named = {"to": ["a@b.org"], "sender": "c@b.org", "host": "127.0.0.1", "port": port_of(mail)}
        assert send(ALERT, AlertSettings.model_validate({"mail": named}), "mail")
        assert mail.received == []
        plain = AlertSettings.model_validate({"mail": {**named, "security": "none"}})
        assert send(ALERT, plain, "mail") == ""


@pytest.mark.parametrize(
    ("alerts", "said"),
    [
        ({"webhook": {}}, "one of url and url_file"),
        ({"webhook": {"url": "ftp://x/"}}, "https://"),
        ({"mail": {"to": ["a@b.org"], "sender": "c@b.org", "user": "me"}}, "together"),
        (
            {
                "mail": {
                    "to": ["a@b.org"],
                    "sender": "c@b.org",
                    "host": "mail.example.org",
                    "security": "none",
                    "user": "me",
                    "password_file": "p",
                }
            },
            "in clear",
        ),
        ({"mail": {"to": [], "sender": "c@b.org"}}, "alerts.mail.to"),
    ],
)
def test_settings_that_cannot_work_are_refused(alerts, said):
    with pytest.raises(ConfigError, match=said):
        Settings.of({"alerts": alerts}, str)
