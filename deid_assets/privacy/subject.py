"""What a result is about.

Model, notes, policies and key by keyed digests, so that one's verdict never releases another.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from deid_assets.core.errors import InputError
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.span import Span
from deid_assets.privacy.audit import SEED, Case, Material
from deid_assets.privacy.result import AuditResult, Subject
from deid_assets.system.digests import sha256_of

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

    def seal(
        self, result: AuditResult, options: Mapping[str, Any] | None = None, *, plugin: str = ""
    ) -> AuditResult:
        """Return a result bound to what it was made of, and signed where there is a key.

        Args:
            result: Of an audit of the material.
            options: That the audit was given.
            plugin: Digest of the audit's code, where it counts.
        """
        given = dict(options or {})
        told = json.dumps({"options": given, "plugin": plugin}, sort_keys=True, default=str)
        subject = replace(
            self.subject,
            settings=_mac(self.key, "settings", [self.subject.settings, told]),
            options={
                **self.subject.options,
                **{name: as_told(value) for name, value in given.items()},
            },
        )
        bound = replace(result, subject=subject, signature="")
        return replace(bound, signature=signature_of(bound, self.key)) if self.signed else bound


def as_told(value: object) -> str:
    """Return the value of an option as a result says it."""
    return json.dumps(value, sort_keys=True, default=str)


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

    Raises:
        InputError: A link in it leads to a folder, whose files would not be named.
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
        options={} if material.seed == SEED else {"seed": as_told(material.seed)},
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
    found = sorted(path.rglob("*")) if path.is_dir() else [path]
    if any(one.is_symlink() and one.is_dir() for one in found if one != path):
        raise InputError(
            f"{path.name}: it has a link to a folder, whose files no digest would name; copy the"
            " folder into its place"
        )
    return [
        f"{one.relative_to(path).as_posix()} {sha256_of(one)}"
        for one in filter(Path.is_file, found)
    ]


def _mac(key: Key, kind: str, parts: Sequence[str]) -> str:
    return key.derive(f"privacy audit, {kind}", *parts).hex()
