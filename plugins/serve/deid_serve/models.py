"""What callers send and get, as JSON."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from deid_assets.extending.serving import NOTE_ID

IdField = Annotated[str, Field(min_length=1, max_length=200)]
PolicyField = Annotated[str, Field(description="Name of a redaction policy; GET /v1 lists them.")]


class _Sent(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class _Given(BaseModel):
    model_config = ConfigDict(frozen=True)


class SentNote(_Sent):
    """A note."""

    id: IdField = Field(NOTE_ID, description="Named in errors; give one that identifies nobody.")
    text: str = Field(repr=False)
    patient_id: IdField | None = Field(
        None, repr=False, description="Surrogates agree between notes of one patient."
    )
    lang: str | None = Field(None, description="ISO 639-1; told from the text where not given.")


class DetectBody(SentNote):
    """A note to find spans in."""

    explain: bool = Field(default=False, description="Say why each span is there.")


class RedactBody(SentNote):
    """A note to redact."""

    policy: PolicyField = "safe_harbor"
    edits: bool = Field(default=False, description="List each replacement, without text.")
    explain: bool = Field(default=False, description="Say why each span is there.")


class BatchBody(_Sent):
    """Notes to redact together: what is found in one is covered in all of its patient."""

    notes: Annotated[list[SentNote], Field(min_length=1)]
    policy: PolicyField = "safe_harbor"
    edits: bool = Field(default=False, description="List each replacement, without text.")
    explain: bool = Field(default=False, description="Say why each span is there.")


class FoundBy(_Given):
    """What one detector said of a range: part of the reason for a span."""

    detector: str
    start: int
    end: int
    label: str
    score: float
    native_label: str = Field("", description="The detector's own label or rule, if it tells one.")


class SpanReason(_Given):
    """Why a span is there."""

    origin: str = Field(description="detector, spread or search")
    decision: str = Field(description="What the pipeline made of the predictions, in words.")
    predictions: list[FoundBy]


class GivenSpan(_Given):
    """A range of code points, from 0, the end exclusive."""

    start: int
    end: int
    label: str
    score: float
    source: str
    why: SpanReason | None = None


class GivenEdit(_Given):
    """One replacement, with its ranges in the original and in the redacted text."""

    start: int
    end: int
    new_start: int
    new_end: int
    label: str


class DetectAnswer(_Given):
    """The spans of a note."""

    id: str
    lang: str | None
    spans: list[GivenSpan]


class RedactAnswer(_Given):
    """The redacted text of a note."""

    id: str
    lang: str | None
    policy: str
    text: str = Field(repr=False)
    edits: list[GivenEdit] | None = None
    spans: list[GivenSpan] | None = None


class WithheldNote(_Given):
    """A note of a batch that may not leave."""

    id: str
    withheld: str = Field(description="Reason and step; no text is given.")
    remedy: str


class BatchAnswer(_Given):
    """One entry per note, in order: its redacted text, or why there is none."""

    notes: list[RedactAnswer | WithheldNote]
    withheld: int


class SessionBody(SentNote):
    """A text to begin a session with, or to add to one."""

    keep: list[str] = Field(
        default_factory=list, description="Categories that stay, such as AGE; of a new session."
    )
    expires_in: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Seconds until the session is gone; of a new session."
    )


class SessionText(SentNote):
    """A further text of a session."""


class SessionAnswer(_Given):
    """A text with placeholders, which are the same throughout its session."""

    session: str
    expires_in: int
    id: str
    lang: str | None
    text: str = Field(repr=False)
    placeholders: int = Field(description="Different values of the session so far.")


class RestoreBody(_Sent):
    """A text that holds placeholders, such as the answer of a language model."""

    text: str = Field(repr=False)


class RestoreAnswer(_Given):
    """The text with the values in place of their placeholders."""

    text: str = Field(repr=False)
    restored: int
    unknown: list[str] = Field(description="Placeholders that no value belongs to; left as is.")


class ServiceAnswer(_Given):
    """What the service is set to."""

    version: str
    detectors: list[str]
    policies: dict[str, str]
    limits: dict[str, float]
    key: str = Field(description="Where DEID_KEY is not set, policies that need one are refused.")
