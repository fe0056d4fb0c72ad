"""The pages: rendered here, without script, loading nothing but one style sheet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from deid_assets import DeidError, Failed, Note, Span, SpanSet
from deid_assets.extending import Detector, class_name, detect
from deid_assets.extending.serving import Batch, Policy, Redacted
from deid_serve.models import FoundBy, GivenSpan
from deid_serve.openapi import document
from deid_serve.pipeline_door import PipelineDoor, check_found, outcome_of
from deid_serve.problems import TITLES, HttpProblem, describe_refused, remedy_of
from deid_serve.reasons import list_found_by, list_left_out, outside, overlapping, spans_of

SHOWN = ("tag", "numbered", "blackout", "hash", "surrogate", "safe_harbor")
"""Policies that are ticked where nobody chose."""
EXAMPLE = (
    "Jane Caldwick, 47, was seen by Dr. Lee on 3 May 2021 at Mercy Hospital.\n"
    "MRN: 4471902. Caldwick lives in Boston and can be reached at 617-555-0143.\n"
)


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A stretch of a text.

    Args:
        text: It.
        label: Category, where it is a span or a replacement.
        number: Row of the span in the table of reasons; 0 where it has none.
    """

    text: str = field(repr=False)
    label: str = ""
    number: int = 0


@dataclass(frozen=True, slots=True)
class PolicyView:
    """What a policy makes of the note.

    Args:
        name: Of the policy.
        about: Its description.
        pieces: Of the redacted text; empty where it is withheld.
        fault: Why there is no text.
        replaced: Number of replacements.
    """

    name: str
    about: str
    pieces: Sequence[TextPiece] = ()
    fault: str = ""
    replaced: int = 0


@dataclass(frozen=True, slots=True)
class ShownNote:
    """A note with its spans, their reasons and its redactions.

    Args:
        lang: Its language.
        pieces: Of the text.
        spans: In the order of their numbers.
        left_out: What a detector marked and the overlap policy left out.
        beside: What the detector beside the ensemble says of each span.
        ignored: What that detector marked and the ensemble did not.
        beside_name: That detector's name; empty where there is none.
        policies: Redactions.
        own_key: Whether the key is of this run alone.
    """

    lang: str | None
    pieces: Sequence[TextPiece] = field(repr=False)
    spans: Sequence[GivenSpan]
    left_out: Sequence[FoundBy]
    beside: Sequence[Sequence[FoundBy]]
    ignored: Sequence[FoundBy]
    beside_name: str
    policies: Sequence[PolicyView] = field(repr=False)
    own_key: bool


def view_of(
    door: PipelineDoor,
    note: Note,
    policies: Sequence[Policy],
    secret: bytes,
    beside: Detector | None,
) -> ShownNote:
    """Return all that the page shows of a note.

    Raises:
        HttpProblem: A detector failed on it.
    """
    detected = door.detect([note])
    check_found(detected)
    spans = spans_of(detected, note.note_id, explain=True)
    others = _beside(beside, note)
    batches = door.apply_policies(note, policies, secret)
    return ShownNote(
        lang=detected.notes[0].lang,
        pieces=list(_mark_pieces(note.text, spans)),
        spans=spans,
        left_out=list_left_out(detected, note.note_id),
        beside=[list_found_by(found) for found in overlapping(spans, others)],
        ignored=list_found_by(outside(spans, others)),
        beside_name=beside.name if beside else "",
        policies=[
            _policy_view(policy, door.texts[policy.name], made, note)
            for policy, made in zip(policies, batches, strict=True)
        ],
        own_key=door.secret is None,
    )


def _beside(beside: Detector | None, note: Note) -> list[Span]:
    """Return what the detector beside says; nothing where it fails, since it changes no output."""
    if beside is None:
        return []
    (outcome,) = detect(beside, [note])
    return list(outcome) if isinstance(outcome, SpanSet) else []


def _mark_pieces(text: str, spans: Sequence[GivenSpan]) -> Iterator[TextPiece]:
    at = 0
    for number, span in enumerate(spans, start=1):
        if span.start > at:
            yield TextPiece(text[at : span.start])
        yield TextPiece(text[span.start : span.end], span.label, number)
        at = span.end
    if at < len(text):
        yield TextPiece(text[at:])


def _policy_view(policy: Policy, about: str, made: Batch | ValueError, note: Note) -> PolicyView:
    if not isinstance(made, Batch):
        return PolicyView(policy.name, about, fault=_fault(made))
    outcome = outcome_of(made, note.note_id)
    if isinstance(outcome, Failed):
        fault = f"Withheld: {outcome.error} in {outcome.stage}; {remedy_of(outcome)}"
        return PolicyView(policy.name, about, fault=fault)
    pieces = list(_mark_replaced(outcome, note.text))
    return PolicyView(policy.name, about, pieces, replaced=len(outcome.edits))


def _fault(error: ValueError) -> str:
    if isinstance(error, DeidError):
        problem = describe_refused(error)
        return f"{problem.detail}; {problem.remedy}"
    return class_name(error)


def _mark_replaced(outcome: Redacted, original: str) -> Iterator[TextPiece]:
    at = 0
    for edit in outcome.edits:
        if edit.new_start > at:
            yield TextPiece(outcome.text[at : edit.new_start])
        new = outcome.text[edit.new_start : edit.new_end]
        is_kept = new == original[edit.start : edit.end]
        yield TextPiece(new, f"{edit.label.value}, kept" if is_kept else edit.label.value)
        at = edit.new_end
    if at < len(outcome.text):
        yield TextPiece(outcome.text[at:])


@dataclass(frozen=True, slots=True)
class FormFields:
    """What stands in the form of the page.

    Args:
        text: The note.
        lang: Its language; empty where it is told from the text.
        chosen: Names of the policies that are ticked.
    """

    text: str = field(repr=False)
    lang: str = ""
    chosen: Sequence[str] = SHOWN


def note_page(
    door: PipelineDoor,
    fields: FormFields,
    *,
    view: ShownNote | None = None,
    problem: HttpProblem | None = None,
) -> str:
    """Return the page on a note."""
    return _render(
        "note.html.j2",
        fields=fields,
        view=view,
        problem=problem,
        policies=door.policies,
        texts=door.texts,
        detectors=door.detectors,
        limits=door.limits,
    )


def login_page(*, is_wrong: bool = False) -> str:
    """Return the page that asks for the token."""
    return _render("login.html.j2", is_wrong=is_wrong)


@cache
def docs_page() -> str:
    """Return the page on the service, made of its description."""
    described = document()
    return _render(
        "docs.html.j2",
        paths=described["paths"],
        schemas=described["components"]["schemas"],
        problems=TITLES,
    )


@cache
def style() -> str:
    """Return the style sheet."""
    return (files("deid_serve") / "templates" / "style.css").read_text("utf-8")


def _schema_name(schema: Mapping[str, Any]) -> str:
    """Return how a page names the kind of a field."""
    if "$ref" in schema:
        return str(schema["$ref"]).rsplit("/", 1)[-1]
    for many in ("anyOf", "oneOf"):
        if many in schema:
            return " or ".join(_schema_name(one) for one in schema[many])
    if schema.get("type") == "array":
        return f"list of {_schema_name(schema.get('items', {}))}"
    return str(schema.get("type", "any"))


def _render(name: str, **values: Any) -> str:
    return _environment().get_template(name).render(**values)


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("deid_serve"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["kind"] = _schema_name
    return made
