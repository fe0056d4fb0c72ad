"""Settings of feeds: where notes come from that nobody drops.

No setting holds a password: it is named by the environment variable that has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlsplit

from pydantic import BaseModel, Field, ValidationError, model_validator

from deid_assets.config.faults import faults_in
from deid_assets.config.frozen import Frozen
from deid_assets.core.errors import did_you_mean
from deid_assets.own_plugins import describe_missing
from deid_assets.plugins import FEEDS, available

Variable = Annotated[str, Field(pattern=r"^([A-Za-z_][A-Za-z0-9_]{0,99})?$")]
"""Name of an environment variable."""
_SECRETS = re.compile(
    r"pass|pwd|secret|token|credential|(^|_)key$|sas|connection_string", re.IGNORECASE
)
_CRON_RANGES = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))


class FeedSettings(Frozen):
    """What every feed has, and the options of its kind beside it.

    Args:
        kind: ``sql``, ``objects``, or one that a plugin brings.
        notes: Most notes of a batch; a patient with more new notes at once is a batch of their own.
        scan: Whether every run asks for the ids of all notes that are there, to know which were
            deleted.
        deleted_limit: Largest share of the known notes that may be deleted in one run; beyond it,
            and beyond ten notes, nothing is taken until somebody accepts it.
        schedule: When Dagster runs it, as cron has it; by hand only when empty.
        options: Of its kind.
    """

    kind: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,40}$")]
    notes: int = Field(default=5_000, ge=1, le=100_000)
    scan: bool = True
    deleted_limit: float = Field(default=0.2, ge=0, le=1)
    schedule: str = "0 1 * * *"
    options: Mapping[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _set_options_apart(cls, values: Any) -> Any:
        """Move every key that is not common to all feeds to the options."""
        if not isinstance(values, Mapping) or isinstance(values.get("options"), Mapping):
            return values
        common = cls.model_fields.keys() - {"options"}
        options = {key: value for key, value in values.items() if key not in common}
        return {**{key: values[key] for key in values.keys() & common}, "options": options}


class SqlOptions(Frozen):
    """Options of a feed from a database.

    Args:
        url: As SQLAlchemy has it, without a password.
        password_env: Environment variable with the password.
        query: Gives one row for each note.
        id: Column with the id of a note.
        text: Column with its text.
        patient: Column with the id of the patient.
        language: Column with an ISO 639-1 code.
        watermark: Column that grows with every change of a row, a time or a number; every row is
            read at each run where there is none.
        overlap: How far below the highest watermark reading begins, in seconds or in units of the
            number, for rows that are committed late.
        deleted: Column that is true of a deleted note.
        fetch: Rows held at a time.
    """

    url: Annotated[str, Field(min_length=1)]
    password_env: Variable = ""
    query: Annotated[str, Field(min_length=1)]
    id: str = "id"
    text: str = "text"
    patient: str = ""
    language: str = ""
    watermark: str = ""
    overlap: float = Field(default=0, ge=0)
    deleted: str = ""
    fetch: int = Field(default=500, ge=1, le=100_000)


class ObjectsOptions(Frozen):
    """Options of a feed from an object store.

    Args:
        url: Of a folder or prefix, as fsspec has it, such as ``s3://bucket/notes``.
        format: As ``deid formats`` lists; detected from each file when empty.
        lang: ISO 639-1 code of notes that name no language.
        read: Reading options, as ``--read`` of the command line has them.
        storage: Options of the store, such as ``endpoint_url``.
        storage_env: Options of the store that are secrets, each with the environment variable that
            has it.
    """

    url: Annotated[str, Field(min_length=1)]
    format: str = ""
    lang: Annotated[str, Field(pattern=r"^([a-z]{2})?$")] = ""
    read: Mapping[str, Any] = Field(default_factory=dict)
    storage: Mapping[str, str | int | float | bool] = Field(default_factory=dict)
    storage_env: Mapping[str, Variable] = Field(default_factory=dict)


OPTIONS: Mapping[str, type[BaseModel]] = {"sql": SqlOptions, "objects": ObjectsOptions}
"""Kind to the model of its options, for the kinds that need no plugin."""


def faults_of_feeds(feeds: Mapping[str, FeedSettings]) -> Iterator[str]:
    """Yield what is wrong with the feeds beyond what their model says."""
    for name, feed in feeds.items():
        yield from (f"feeds.{name}.{fault}" for fault in _faults_of(feed))


def _faults_of(feed: FeedSettings) -> Iterator[str]:
    if feed.schedule and not is_cron(feed.schedule):
        yield (
            "schedule: is no time as cron has it; write minute, hour, day, month and weekday, such"
            " as '0 1 * * *'"
        )
    if feed.kind in OPTIONS:
        yield from _faults_of_options(feed)
    elif (plugin := available(FEEDS).get(feed.kind)) is None:
        known = (*OPTIONS, *available(FEEDS))
        near = did_you_mean(feed.kind, known)
        remedy = describe_missing(FEEDS, feed.kind) or f"choose one of {', '.join(known)}"
        yield f"kind: there is no {feed.kind!r}{near}; {remedy}"
    elif plugin.fault:
        yield f"kind: {plugin.fault}"


def _faults_of_options(feed: FeedSettings) -> Iterator[str]:
    model = OPTIONS[feed.kind]
    common = FeedSettings.model_fields.keys() - {"options"}
    for key in feed.options.keys() - model.model_fields.keys():
        near = did_you_mean(key, {*common, *model.model_fields})
        yield f"{key}: there is no such setting{near}"
    known = {key: value for key, value in feed.options.items() if key in model.model_fields}
    try:
        options = model.model_validate(known)
    except ValidationError as error:
        yield from faults_in(error, model)
        return
    yield from faults_of_url(str(getattr(options, "url", "")))
    for key in getattr(options, "storage", ()):
        if _SECRETS.search(key):
            yield (
                f"storage.{key}: may be a secret, which no setting holds; name its environment"
                f" variable in storage_env.{key}"
            )
    yield from _faults_of_columns(options)


def faults_of_url(url: str) -> Iterator[str]:
    """Yield what is wrong with an address, without a word of it."""
    try:
        parts = urlsplit(url)
        has_password = parts.password is not None
    except ValueError:
        yield "url: cannot be read as an address; escape special characters in it"
        return
    if has_password or any(_SECRETS.search(key) for key, _ in parse_qsl(parts.query)):
        yield (
            "url: holds a password, which no setting may; take it out, and name the environment"
            " variable that has it"
        )
    elif not parts.scheme:
        yield "url: names no kind of store; begin it with such as postgresql:// or s3://"


def _faults_of_columns(options: BaseModel) -> Iterator[str]:
    if not isinstance(options, SqlOptions):
        return
    columns = (options.id, options.text, options.patient, options.language, options.deleted)
    named = [column for column in columns if column]
    if len(set(named)) < len(named):
        yield "columns id, text, patient, language and deleted must be distinct; rename one"
    if options.overlap and not options.watermark:
        yield "overlap: is of no use without a watermark; name its column, or leave overlap out"


def is_cron(schedule: str) -> bool:
    """Whether a schedule has five fields of numbers within their ranges."""
    fields = schedule.split()
    return len(fields) == len(_CRON_RANGES) and all(
        _is_field(field, *limits) for field, limits in zip(fields, _CRON_RANGES, strict=True)
    )


def _is_field(field: str, low: int, high: int) -> bool:
    for part in field.split(","):
        found = re.fullmatch(r"(?:\*|(\d{1,2})(?:-(\d{1,2}))?)(?:/([1-9]\d?))?", part)
        if found is None:
            return False
        numbers = [int(number) for number in found.groups()[:2] if number]
        if numbers != sorted(numbers) or any(not low <= number <= high for number in numbers):
            return False
    return True
