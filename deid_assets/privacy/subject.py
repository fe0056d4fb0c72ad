"""What a result is about.

Model, notes, policies and key by keyed digests, so that one's verdict never releases another.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.span import Span
from deid_assets.privacy.audit import Case, Material
from deid_assets.privacy.result import AuditResult, Subject

_SHOWN = 16
"""Hexadecimal digits of the key's name."""


@dataclass(frozen=True, slots=True)
class Sealer:
    """Signs results of one material.

    Args:
        key: Of the installation; a result verifies under no other.
        subject: Of the material, options apart.
        signed: Whether the key is a secret one. Without one, results stay unsigned, and release no
            model.
    """

    key: Key = field(repr=False)
    subject: Subject
    signed: bool = True

    @classmethod
    def of(cls, material: Material, *, read: Mapping[str, int], signed: bool = True) -> Sealer:
        """Return the sealer of a material.

        Args:
            material: What audits are given.
            read: Of how many notes of each set the model's folder says that it read them.
            signed: Whether the key is a secret one.
        """
        return cls(material.key, _subject(material, read), signed)

    def seal(self, result: AuditResult, options: Mapping[str, Any] | None = None) -> AuditResult:
        """Return a result bound to what it was made of, and signed where there is a key."""
        told = json.dumps(options or {}, sort_keys=True, default=str)
        subject = replace(
            self.subject, settings=_mac(self.key, "settings", [self.subject.settings, told])
        )
        bound = replace(result, subject=subject, signature="")
        return replace(bound, signature=signature_of(bound, self.key)) if self.signed else bound


def is_signed(result: AuditResult, key: Key) -> bool:
    """Whether a result was sealed under a key, and is as it was."""
    return hmac.compare_digest(result.signature, signature_of(replace(result, signature=""), key))


def signature_of(result: AuditResult, key: Key) -> str:
    """Return the HMAC-SHA256 of a result's canonical JSON."""
    content = json.dumps(result.to_json(), sort_keys=True, separators=(",", ":"))
    return key.derive("privacy audit, signature", content).hex()


def model_digest(folder: Path, key: Key) -> str:
    """Return the keyed digest of every file of a model's folder, by name and content.

    Another file gives another.
    """
    return _mac(key, "model", _files(folder))


def texts_digest(notes: Iterable[Note], key: Key) -> str:
    """Return the keyed digest of a set of notes, by their texts."""
    return _mac(key, "texts", sorted({note.digest for note in notes}))


def key_name(key: Key) -> str:
    """Return what a key is called on pages; it does not give the key away."""
    return key.derive("privacy audit, name").hex()[:_SHOWN]


def _subject(material: Material, read: Mapping[str, int]) -> Subject:
    key = material.key
    notes = {
        name: texts_digest(every, key)
        for name in ("training", "held_out", "calibration")
        if (every := getattr(material, name))
    }
    if material.cases:
        notes["annotated"] = _mac(key, "annotated notes", _of_cases(material.cases))
        notes["annotated texts"] = texts_digest((case.note for case in material.cases), key)
    settings: list[str] = [str(material.seed)]
    for path in (material.reference, material.canaries, material.population):
        settings += _files(path) if path else [""]
    settings += [
        f"{digest} {json.dumps(_places(spans))}"
        for digest, spans in sorted(material.marked.items())
    ]
    return Subject(
        key=key_name(key),
        model=model_digest(material.model, key) if material.model else "",
        notes=notes,
        policies=(
            _mac(key, "policies", sorted(one.digest for one in material.policies))
            if material.policies
            else ""
        ),
        settings=_mac(key, "inputs", settings),
        read=dict(read),
    )


def _of_cases(cases: Iterable[Case]) -> list[str]:
    rows = []
    for case in cases:
        spans = [_places(side) for side in (case.gold, case.found)]
        rows.append(f"{case.note.digest} {json.dumps(spans)}")
    return sorted(rows)


def _places(spans: Iterable[Span]) -> list[tuple[int, int, str]]:
    return [(one.start, one.end, one.label.value) for one in spans]


def _files(path: Path) -> list[str]:
    every = sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]
    rows = []
    for one in every:
        with one.open("rb") as file:
            rows.append(
                f"{one.relative_to(path).as_posix()}"
                f" {hashlib.file_digest(file, 'sha256').hexdigest()}"
            )
    return rows


def _mac(key: Key, kind: str, parts: Sequence[str]) -> str:
    return key.derive(f"privacy audit, {kind}", *parts).hex()
