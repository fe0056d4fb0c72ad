"""De-identification in one call, with everything that the graph does to a note and
nothing stored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deid_assets.core.detector import Failed
from deid_assets.core.errors import ConfigError, WithheldError
from deid_assets.core.note import Note
from deid_assets.own_plugins import DEFAULT_ENSEMBLE

if TYPE_CHECKING:
    from deid_assets.core.detector import Detector
    from deid_assets.core.redact import Policy, Redacted
    from deid_assets.pipeline.batch import Batch, Predictions
    from deid_assets.pipeline.composition import Pipeline

MAX_DETECTORS = 8
"""Detectors kept ready between calls.

To make `rules` anew takes a quarter of a second, to read a note milliseconds.
"""
NOTE_ID = "note"
"""Id of a text that has none; it seeds the surrogates of a text without patient."""


def deidentify(
    text: str,
    *,
    lang: str | None = None,
    patient_id: str | None = None,
    policy: str | Path | Policy = "safe_harbor",
    detectors: Sequence[str] = DEFAULT_ENSEMBLE,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    secret: bytes | None = None,
    resolve_by: str = "union",
) -> Redacted:
    """Return a text with its PHI replaced, and the edits that were made.

    Args:
        text: A clinical note.
        lang: ISO 639-1 code; detected from the text where not given.
        patient_id: Whose note it is; surrogates agree between notes of one patient.
        policy: Name or file of a redaction policy, or a policy.
        detectors: The ensemble, the most trusted first.
        options: Keyword options per detector, such as JSON can hold.
        secret: At least 16 bytes, for policies that write surrogates; that of ``DEID_KEY`` where
            not given.
        resolve_by: What becomes of overlapping spans: union, priority, majority, intersection or
            score_weighted.

    Raises:
        WithheldError: The note may not leave; the message says at which stage and why.
        PluginError: A detector is not installed or does not load.
        PolicyError: The policy needs a secret and there is none.
        ConfigError: The secret, or that of ``DEID_KEY``, is too short or no hexadecimal number, or
            there is no such ``resolve_by``, or ``options`` are for a detector that does not run.
    """
    note = Note(NOTE_ID, text, patient_id, lang)
    (outcome,) = deidentify_notes(
        [note],
        policy=policy,
        detectors=detectors,
        options=options,
        secret=secret,
        resolve_by=resolve_by,
    )
    if isinstance(outcome, Failed):
        raise WithheldError(f"the text is withheld: {outcome.error} in {outcome.stage}")
    return outcome


def deidentify_notes(
    notes: Sequence[Note],
    *,
    policy: str | Path | Policy = "safe_harbor",
    detectors: Sequence[str] = DEFAULT_ENSEMBLE,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    secret: bytes | None = None,
    resolve_by: str = "union",
) -> Sequence[Redacted | Failed]:
    """Return one outcome per note, in order.

    The text that may leave, or the stage and reason for which it is withheld.

    What is found in one note is covered in all notes of its patient. The arguments are those of
    ``deidentify``.

    Raises:
        PluginError: A detector is not installed or does not load.
        PolicyError: The policy needs a secret and there is none, or has no surrogates in one of the
            languages.
    """
    return deidentify_batch(
        notes,
        policy=policy,
        detectors=detectors,
        options=options,
        secret=secret,
        resolve_by=resolve_by,
    ).outcomes


def deidentify_batch(
    notes: Sequence[Note],
    *,
    policy: str | Path | Policy = "safe_harbor",
    detectors: Sequence[str] = DEFAULT_ENSEMBLE,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    secret: bytes | None = None,
    resolve_by: str = "union",
) -> Batch:
    """Return the notes after all steps, with what each step said of them.

    ``Batch.outcomes`` are those of ``deidentify_notes``. Arguments and errors are the same.
    """
    from deid_assets.policies.needs import require_packs  # noqa: PLC0415 - loads pydantic

    told = add_languages(notes)
    chosen = _policy(policy)
    pipeline = _pipeline(chosen, detectors, options or {}, secret, resolve_by)
    require_packs(chosen, {note.lang for note in told})
    return pipeline.deidentify(told)


def add_languages(notes: Sequence[Note]) -> list[Note]:
    """Return the notes, those that name no language with the one that their text tells."""
    from dataclasses import replace  # noqa: PLC0415

    from deid_assets.languages import language_of  # noqa: PLC0415

    return [note if note.lang else replace(note, lang=language_of(note.text)) for note in notes]


def pipeline_of(
    *,
    policy: str | Path | Policy = "safe_harbor",
    detectors: Sequence[str] = DEFAULT_ENSEMBLE,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    secret: bytes | None = None,
    resolve_by: str = "union",
) -> Pipeline:
    """Return the steps of ``deidentify_notes``, which can be printed, left out and replaced.

    The arguments are those of ``deidentify``.
    """
    return _pipeline(_policy(policy), detectors, options or {}, secret, resolve_by)


def _pipeline(
    policy: Policy,
    detectors: Sequence[str],
    options: Mapping[str, Mapping[str, Any]],
    secret: bytes | None,
    resolve_by: str,
) -> Pipeline:
    # Imported late: ``import deid_assets`` loads none of what policies need.
    from deid_assets.config.secret import secret_of_environment  # noqa: PLC0415
    from deid_assets.core.detector import detect  # noqa: PLC0415
    from deid_assets.pipeline.composition import Pipeline  # noqa: PLC0415
    from deid_assets.pipeline.resolving import Detect, by_note  # noqa: PLC0415
    from deid_assets.policies import check_key  # noqa: PLC0415

    if strangers := sorted({*options} - {*detectors}):
        raise ConfigError(
            f"options: {strangers[0]!r} is none of the detectors that run: {', '.join(detectors)}"
        )
    loaded = [
        _detector(name, json.dumps(options.get(name, {}), sort_keys=True)) for name in detectors
    ]

    def predict(notes: Sequence[Note]) -> Predictions:
        return {detector.name: by_note(detect(detector, notes)) for detector in loaded}

    return Pipeline.of(
        Detect(predict, tuple(detectors)),
        policy=policy,
        key=check_key(policy, secret_of_environment() if secret is None else secret),
        resolve_by=resolve_by,
    )


def _policy(given: str | Path | Policy) -> Policy:
    from deid_assets.core.redact import Policy  # noqa: PLC0415
    from deid_assets.policies import BUILTIN, load_policy  # noqa: PLC0415 - loads pydantic

    if isinstance(given, Policy):
        return given
    return _builtin(str(given)) if given in BUILTIN else load_policy(given)


@cache
def _builtin(name: str) -> Policy:
    """Return a policy of the package, kept: that of surrogates takes a quarter of a second."""
    from deid_assets.policies import load_policy  # noqa: PLC0415 - loads pydantic

    return load_policy(name)


@lru_cache(MAX_DETECTORS)
def _detector(name: str, options: str) -> Detector:
    """Return a detector that is kept for the next call with the same options, as JSON."""
    from deid_assets import plugins  # noqa: PLC0415

    return plugins.load(name, options=json.loads(options))
