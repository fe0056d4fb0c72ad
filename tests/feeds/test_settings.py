"""Feeds in the settings: one clear line for each fault, and none that shows a password."""

from __future__ import annotations

import pytest

from deid_assets.config import Settings
from deid_assets.config.feeds import is_cron
from deid_assets.core.errors import ConfigError

SQL = 'kind = "sql"\nurl = "sqlite:///w.db"\nquery = "SELECT 1"\n'
OBJECTS = 'kind = "objects"\nurl = "s3://bucket/notes"\n'


def load(tmp_path, feed):
    path = tmp_path / "deid.toml"
    path.write_text(f"[feeds.ward]\n{feed}")
    return Settings.load(path)


@pytest.mark.parametrize("feed", [SQL, OBJECTS, OBJECTS + 'schedule = ""\nscan = false\n'])
def test_a_feed_needs_few_settings(tmp_path, feed):
    assert load(tmp_path, feed).feeds["ward"].notes == 5_000


@pytest.mark.parametrize(
    ("feed", "message"),
    [
        ('url = "x"', "feeds.ward.kind: Field required"),
        ('kind = "sqll"', "feeds.ward.kind: there is no 'sqll'; did you mean 'sql'"),
        (SQL + "note = 5", "feeds.ward.note: there is no such setting; did you mean 'notes'"),
        (SQL + "watermrak = 'x'", "feeds.ward.watermrak: .*did you mean 'watermark'"),
        (SQL + "notes = 0", "feeds.ward.notes: "),
        (SQL + "fetch = 0", "feeds.ward.fetch: "),
        ('kind = "sql"\nurl = "sqlite:///w.db"', "feeds.ward.query: Field required"),
        (SQL + 'schedule = "nightly"', "feeds.ward.schedule: is no time as cron has it"),
        (SQL + 'schedule = "61 1 * * *"', "feeds.ward.schedule: "),
        (SQL + 'patient = "id"', "must be distinct"),
        (SQL + "overlap = 5", "feeds.ward.overlap: is of no use without a watermark"),
        (SQL + 'password_env = "not a name"', "feeds.ward.password_env: "),
        (OBJECTS + 'lang = "english"', "feeds.ward.lang: "),
        ('kind = "objects"\nurl = "bucket"', "feeds.ward.url: names no kind of store"),
    ],
)
def test_each_fault_is_one_line_with_its_key(tmp_path, feed, message):
    with pytest.raises(ConfigError, match=message) as caught:
        load(tmp_path, feed)

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "feed",
    [
        SQL.replace("sqlite:///w.db", "postgresql://me:hunter2@host/w"),
        SQL.replace("sqlite:///w.db", "postgresql://me@host/w?password=hunter2"),
        SQL.replace("sqlite:///w.db", "postgresql://me:hunter2@[host/w"),
        OBJECTS.replace("s3://bucket", "s3://key:hunter2@bucket"),
        OBJECTS + 'storage = { secret = "hunter2" }',
        OBJECTS + 'storage = { account_key = "hunter2" }',
        OBJECTS + 'storage = { sas_token = "hunter2" }',
    ],
)
def test_a_password_is_refused_and_not_shown(tmp_path, feed):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, feed)

    assert "hunter2" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("schedule", ["0 1 * * *", "*/15 0-6,20 1 1,7 1-5", "0 0 1-31/2 * 7"])
def test_schedules_that_cron_takes_are_taken(schedule):
    assert is_cron(schedule)


@pytest.mark.parametrize(
    "schedule", ["", "@daily", "0 24 * * *", "0 1 * *", "5-1 * * * *", "a b c d e"]
)
def test_what_is_no_schedule_is_refused(schedule):
    assert not is_cron(schedule)


def test_a_growing_id_may_be_the_watermark(tmp_path):
    settings = load(tmp_path, SQL + 'watermark = "id"')

    assert settings.feeds["ward"].options["watermark"] == "id"
