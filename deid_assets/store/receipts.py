"""Signed receipts: what an asset partition was made from, what came out, and what the checks said.

A receipt names files by their SHA-256 and inputs by the digest of their receipts, so a chain of
receipts proves which raw notes, code and verdicts a released file rests on. It holds counts and
digests, never text.
"""

from __future__ import annotations

import hmac
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NotRequired, TypedDict

from deid_assets.core.errors import ConfigError, InputError, ProvenanceError
from deid_assets.core.verdicts import State

ALL = "all"
"""The batch of an asset that has no partitions."""

MIN_KEY_BYTES = 16
_CONTEXT = b"deid-assets receipt v2"
_DIGEST_CONTEXT = b"deid-assets receipt digest v2"
_BATCH = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
_ASSET = re.compile(r"[a-z0-9][a-z0-9_]{0,99}")
_COUNT_TEXT = re.compile(r"[\w.:@/+-]{0,100}", re.ASCII)


class VerdictRow(TypedDict):
    """Result of a check in a receipt: numbers only.

    Without ``applicable`` there was something to judge.
    """

    passed: bool
    blocking: bool
    counts: Mapping[str, int | float]
    applicable: NotRequired[bool]


def state_of(row: VerdictRow) -> State:
    """Return whether a check passed, failed or was not applicable."""
    return State.of(passed=row["passed"], applicable=row.get("applicable", True))


class Output(TypedDict):
    """A file of a receipt."""

    sha256: str
    rows: int


@dataclass(frozen=True, slots=True)
class UnsignedReceipt:
    """Content of a receipt before it is signed.

    Args:
        code_version: Version of the code that made it.
        inputs: ``asset@batch`` to receipt digest; see ``inputs_of``.
        verdicts: Check name to verdict.
        counts: Numbers, versions and digests worth keeping. Strings are words: no blanks, 100
            characters.
    """

    code_version: str
    inputs: Mapping[str, str] = field(default_factory=dict)
    verdicts: Mapping[str, VerdictRow] = field(default_factory=dict)
    counts: Mapping[str, int | float | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Receipt:
    """The signed record of one asset partition.

    Args:
        asset: Name of the asset.
        batch: Partition, or ``ALL``.
        code_version: Version of the code that made it.
        inputs: ``asset@batch`` to receipt digest.
        outputs: Table name to file digest and row count.
        verdicts: Check name to verdict.
        counts: Numbers, versions and digests.
        created_at: UTC, ISO 8601.
        digest: HMAC-SHA-256 over all of the above but ``created_at``: the same work gives the same
            digest. It stands in releases, so it is keyed: what goes into it, down to the notes,
            could be guessed.
        signature: HMAC-SHA-256 over all of the above.
    """

    asset: str
    batch: str
    code_version: str
    inputs: Mapping[str, str]
    outputs: Mapping[str, Output]
    verdicts: Mapping[str, VerdictRow]
    counts: Mapping[str, int | float | str]
    created_at: str
    digest: str
    signature: str

    @property
    def name(self) -> str:
        """Name of this receipt in receipts downstream: ``asset@batch``."""
        return f"{self.asset}@{self.batch}"

    @property
    def passed(self) -> bool:
        """Whether no blocking check failed; those that had nothing to judge count as neither."""
        return not self.failed_checks

    @property
    def failed_checks(self) -> list[str]:
        """Names of the blocking checks that failed."""
        return sorted(
            name
            for name, row in self.verdicts.items()
            if row["blocking"] and state_of(row) is State.FAILED
        )

    def to_json(self) -> str:
        """The receipt as a JSON document."""
        return json.dumps(_fields(self), sort_keys=True, indent=1, allow_nan=False) + "\n"


def inputs_of(receipts: Iterable[Receipt]) -> dict[str, str]:
    """Return the ``inputs`` of a receipt that was made from these."""
    return {receipt.name: receipt.digest for receipt in receipts}


def check_batch(batch: str) -> str:
    """Return the batch id.

    Raises:
        InputError: The id could name a person or leave the store: it must match
            ``[a-z0-9][a-z0-9_.-]{0,63}``.
    """
    if not _BATCH.fullmatch(batch):
        raise InputError(
            "a batch id must match ^[a-z0-9][a-z0-9_.-]{0,63}$; choose an opaque id such as b-0001"
        )
    return batch


def check_asset(asset: str) -> str:
    """Return the asset.

    Raises:
        InputError: It does not match ``[a-z0-9][a-z0-9_]{0,99}``.
    """
    if not _ASSET.fullmatch(asset):
        raise InputError(f"an asset must match ^{_ASSET.pattern}$, such as spans_rules")
    return asset


class Signer:
    """Signs receipts and knows its own signature.

    Args:
        key: Secret, at least 16 bytes. The signing key is derived from it, so the key of the
            surrogates may serve.

    Raises:
        ConfigError: The key is too short.
    """

    def __init__(self, key: bytes) -> None:
        if len(key) < MIN_KEY_BYTES:
            raise ConfigError(
                f"the signing key has {len(key)} bytes; give at least {MIN_KEY_BYTES} random bytes"
            )
        self._key = hmac.digest(key, _CONTEXT, "sha256")
        self._digest_key = hmac.digest(key, _DIGEST_CONTEXT, "sha256")

    def __repr__(self) -> str:
        return "Signer(key hidden)"

    def sign(
        self, asset: str, batch: str, outputs: Mapping[str, Output], unsigned: UnsignedReceipt
    ) -> Receipt:
        """Return the receipt of a finished partition, dated now.

        Raises:
            InputError: A count is not a finite number or a word.
        """
        content: dict[str, Any] = {
            "asset": asset,
            "batch": batch,
            "code_version": unsigned.code_version,
            "inputs": dict(unsigned.inputs),
            "outputs": {name: dict(output) for name, output in outputs.items()},
            "verdicts": {name: _verdict(name, row) for name, row in unsigned.verdicts.items()},
            "counts": {name: _count(name, value) for name, value in unsigned.counts.items()},
        }
        digest = hmac.digest(self._digest_key, _canonical(content), "sha256").hex()
        signed = {
            **content,
            "created_at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "digest": digest,
        }
        return Receipt(**signed, signature=self._signature(signed))

    def open(self, document: bytes, asset: str, batch: str) -> Receipt:
        """Return the receipt in ``document`` after checking that it is ours and stands where it
        should.

        Raises:
            ProvenanceError: The document is not a receipt, is unsigned or altered, or belongs
                elsewhere.
        """
        where, remedy = f"{asset}, batch {batch}", f"re-materialize {asset} for batch {batch}"
        try:
            fields = json.loads(document)
            signature = fields.pop("signature")
            receipt = Receipt(**fields, signature=signature)
            genuine = hmac.compare_digest(signature, self._signature(fields))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            # The cause may quote the file; its name is enough.
            raise ProvenanceError(
                f"{where}: the receipt is damaged or unsigned; {remedy}"
            ) from None
        if not genuine:
            raise ProvenanceError(
                f"{where}: the receipt's signature does not match; "
                f"it was altered or signed with another key; check the key, or {remedy}"
            )
        if (receipt.asset, receipt.batch) != (asset, batch):
            raise ProvenanceError(f"{where}: the receipt belongs to {receipt.name}; {remedy}")
        return receipt

    def _signature(self, fields: Mapping[str, Any]) -> str:
        return hmac.digest(self._key, _canonical(fields), "sha256").hex()


def _fields(receipt: Receipt) -> dict[str, Any]:
    return {name: getattr(receipt, name) for name in Receipt.__slots__}


def _canonical(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def _verdict(name: str, row: VerdictRow) -> dict[str, Any]:
    counts = {key: _count(f"{name}.{key}", value) for key, value in row["counts"].items()}
    applicable = bool(row.get("applicable", True))
    if row["passed"] and not applicable:
        raise InputError(f"check {name!r} passed with nothing to judge; it is not applicable")
    return {
        "passed": bool(row["passed"]),
        "blocking": bool(row["blocking"]),
        "applicable": applicable,
        "counts": counts,
    }


def _count(name: str, value: object) -> int | float | str:
    """Return a plain number or word; numpy's scalars come out as Python's."""
    if isinstance(value, str) and _COUNT_TEXT.fullmatch(value):
        return value
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise InputError(
        f"count {name!r} must be a finite number, or a word of at most 100 characters without"
        " blanks"
    )
