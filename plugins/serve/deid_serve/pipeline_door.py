"""Notes in, and what the pipeline made of them out: its steps are those of every other door."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from deid_assets import Failed, Note
from deid_assets.extending import Detector, PluginError, did_you_mean, load
from deid_assets.extending.serving import (
    BUILTIN,
    CODES,
    DEFAULT_ENSEMBLE,
    LEAVABLE,
    Batch,
    Policy,
    Redacted,
    add_languages,
    available,
    deidentify_batch,
    descriptions,
    load_policy,
    pipeline_of,
    require_packs,
)
from deid_serve.limits import ServiceLimits
from deid_serve.models import SentNote
from deid_serve.problems import HttpProblem, bad_fields, describe_withheld

BESIDE = "rules"
"""Detector that the page asks besides those of the ensemble; it changes no output."""

_LONE = re.compile("[\ud800-\udfff]")

Options = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class PipelineDoor:
    """The pipeline with an ensemble, for any of its policies.

    Args:
        policies: By name; callers choose from them, and name no file.
        texts: Description of each policy.
        detectors: The ensemble, the most trusted first.
        options: Keyword options per detector.
        secret: Of ``DEID_KEY``; without it policies that need a key are refused.
        limits: How many notes, and how long.
    """

    policies: Mapping[str, Policy] = field(repr=False)
    texts: Mapping[str, str] = field(repr=False)
    detectors: Sequence[str] = DEFAULT_ENSEMBLE
    options: Options = field(default_factory=dict, repr=False)
    secret: bytes | None = field(default=None, repr=False)
    limits: ServiceLimits = field(default_factory=ServiceLimits)

    def policy(self, name: str) -> Policy:
        """Return a policy by its name.

        Raises:
            HttpProblem: There is none of that name.
        """
        if name in self.policies:
            return self.policies[name]
        near = did_you_mean(name, self.policies)
        raise HttpProblem(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            "bad-request",
            "there is no policy of this name" + near,
            remedy=f"choose one of {', '.join(self.policies)}",
        )

    def notes(self, sent: Sequence[SentNote]) -> list[Note]:
        """Return the notes that were sent, each checked.

        Raises:
            HttpProblem: There are too many, two have one id, or one is too long, holds a character
                that is no text, or names a language that does not exist.
        """
        if len(sent) > self.limits.notes:
            raise bad_fields([f"notes has {len(sent)} entries, more than {self.limits.notes}"])
        ids = [one.id for one in sent]
        if len(set(ids)) < len(ids):
            twice = next(one for one in ids if ids.count(one) > 1)
            raise _wrong_note("its id is there twice", "give each note its own id", twice)
        return [self._note(one) for one in sent]

    def _note(self, sent: SentNote) -> Note:
        text, lang = sent.text, sent.lang
        if not sent.id.isprintable():
            raise bad_fields(["an id holds characters that cannot be printed"])
        if len(text) > self.limits.chars:
            detail = f"it has {len(text):,} characters, more than {self.limits.chars:,}"
            raise _wrong_note(detail, "split it, or raise --max-chars", sent.id)
        if (lone := _LONE.search(f"{text}\n{sent.patient_id}")) is not None:
            detail = f"it holds a lone surrogate at {lone.start()}, which is no text"
            raise _wrong_note(detail, "decode the source as UTF-8 or UTF-16", sent.id)
        if (at := text.find("\0")) >= 0:
            detail = f"it holds a NUL character at {at}"
            raise _wrong_note(detail, "export it again as plain text", sent.id)
        if lang is not None and lang not in CODES:
            detail = "its lang is no code of ISO 639-1 in lower case" + did_you_mean(lang, CODES)
            raise _wrong_note(detail, "send en, de, … or leave lang out", sent.id)
        return Note(sent.id, text, sent.patient_id, lang)

    def deidentify(self, notes: Sequence[Note], policy: Policy) -> Batch:
        """Return the notes after all steps.

        Raises:
            DeidError: The policy cannot be carried out.
        """
        return deidentify_batch(
            notes,
            policy=policy,
            detectors=self.detectors,
            options=self.options,
            secret=self.secret,
        )

    def detect(self, notes: Sequence[Note], policy: Policy | None = None) -> Batch:
        """Return the notes with their spans, before anything is replaced."""
        pipeline = pipeline_of(
            policy=policy or self.policies["tag"],
            detectors=self.detectors,
            options=self.options,
            secret=bytes(range(32)),  # nothing is drawn from it before something is replaced
        )
        return pipeline.without("redact", "search", "verify").deidentify(add_languages(notes))

    def apply_policies(
        self, note: Note, policies: Sequence[Policy], secret: bytes
    ) -> list[Batch | ValueError]:
        """Return what becomes of a note under each policy; detectors look for spans once.

        Args:
            note: The note.
            policies: With which it is redacted.
            secret: For those that need a key.
        """
        detected: dict[frozenset[Any], Batch] = {}
        found: list[Batch | ValueError] = []
        for policy in policies:
            # where spans overlap, what a policy may leave gives way to any other category
            yielding = frozenset(LEAVABLE | policy.may_leave)
            if yielding not in detected:
                detected[yielding] = self.detect([note], policy)
            found.append(self._rest(detected[yielding], policy, secret))
        return found

    def _rest(self, detected: Batch, policy: Policy, secret: bytes) -> Batch | ValueError:
        try:
            require_packs(policy, {note.lang for note in detected.notes})
        except ValueError as error:
            return error
        pipeline = pipeline_of(
            policy=policy, detectors=self.detectors, options=self.options, secret=secret
        )
        return pipeline.without("detect", "resolve", "spread").run(detected)

    def beside(self) -> Detector | None:
        """Return the detector that the page asks besides the ensemble, where it is installed."""
        if BESIDE in self.detectors or BESIDE not in available():
            return None
        try:
            return load(BESIDE)
        except PluginError:
            return None


def open_door(
    *,
    own_policies: Sequence[Policy] = (),
    detectors: Sequence[str] = DEFAULT_ENSEMBLE,
    options: Options | None = None,
    secret: bytes | None = None,
    limits: ServiceLimits | None = None,
) -> PipelineDoor:
    """Return the pipeline with every policy loaded, and each detector.

    A policy of the package that cannot be loaded, because its plugin is not installed, is left out.

    Args:
        own_policies: Beside those of the package.
        detectors: The ensemble, the most trusted first.
        options: Keyword options per detector.
        secret: Of ``DEID_KEY``.
        limits: How many notes, and how long.

    Raises:
        DeidError: A detector is not installed or does not load.
    """
    policies: dict[str, Policy] = {}
    for name in BUILTIN:
        try:
            policies[name] = load_policy(name)
        except ValueError:
            continue
    policies |= {policy.name: policy for policy in own_policies}
    texts = descriptions() | {policy.name: "of a file" for policy in own_policies}
    bounds = limits or ServiceLimits()
    door = PipelineDoor(policies, texts, tuple(detectors), options or {}, secret, bounds)
    door.detect([Note("first", "Seen by Dr. Jane Lee.", lang="en")])  # detectors are loaded now
    return door


def text_of(batch: Batch, note_id: str) -> str:
    """Return the redacted text of a note.

    Raises:
        HttpProblem: A step withheld it.
    """
    outcome = outcome_of(batch, note_id)
    if isinstance(outcome, Failed):
        raise describe_withheld(outcome)
    return outcome.text


def outcome_of(batch: Batch, note_id: str) -> Redacted | Failed:
    """Return what became of one note: its redaction, or ``Failed``."""
    return next(one for one in batch.outcomes if one.note_id == note_id)


def check_found(batch: Batch) -> None:
    """Refuse notes on which a detector failed.

    Raises:
        HttpProblem: A step withheld a note.
    """
    for failed in batch.withheld.values():
        raise describe_withheld(failed)


def key_for_page(door: PipelineDoor) -> tuple[bytes, bool]:
    """Return the secret that the page redacts with, and whether it is of this run alone."""
    return (door.secret, False) if door.secret else (secrets.token_bytes(32), True)


def _wrong_note(detail: str, remedy: str, note: str) -> HttpProblem:
    return HttpProblem(
        HTTPStatus.UNPROCESSABLE_ENTITY, "bad-request", detail, remedy=remedy, note=note
    )
