"""A model that leaves: which it is, what it learnt, and what audits that attack it found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from deid_assets.core.errors import InputError
from deid_assets.evidence.audits import AuditRecord
from deid_assets.evidence.document import (
    EvidencePart,
    EvidenceSection,
    MissingMeasure,
    Statement,
    make_statement,
)
from deid_assets.evidence.verifying import VerifiedRelease
from deid_assets.evidence.wording import many
from deid_assets.training.card import CARD, TAGGER, Card, read_card

OF_MODELS = ("membership", "extraction", "canaries", "slot_fill")
"""Audits that attack a model."""
_ATTACKED = ("membership", "extraction")
AUDITS_COMMAND = "`dagster job execute -m deid_assets.definitions -j privacy_audits`"
"""Makes every audit again."""


def audits_of_model(release: VerifiedRelease) -> list[str]:
    """Return the audits that a model that leaves needs: whether it tells what it was trained on,
    and, where it writes text, what it says.
    """
    model = release.installation.house.settings.privacy.model
    if model is None:
        return []
    return ["membership"] if (model / TAGGER).is_file() else list(_ATTACKED)


def missing_of_model(
    release: VerifiedRelease, audits: Sequence[AuditRecord]
) -> Iterator[MissingMeasure]:
    """Yield why an audit of a model that came to a verdict attacked something else: notes that the
    model did not learn, or did although they are to be those that it did not.
    """
    wanted = audits_of_model(release)
    for audit in audits:
        if audit.name in wanted and audit.counts and (reason := _why_not(audit)):
            yield MissingMeasure(
                f"audit {audit.name}",
                reason,
                f"the model's own notes under privacy in the settings, then {AUDITS_COMMAND}",
            )


def _why_not(audit: AuditRecord) -> str:
    subject = audit.result.subject if audit.result else None
    read = subject.read if subject else {}
    given, learnt = read.get("training", 0), read.get("training read", 0)
    if not given or learnt < given:
        return (
            f"the model's folder says that it was trained on {learnt:,} of the {given:,} notes that"
            " were given as its training notes"
        )
    if others := read.get("held_out read", 0):
        return f"the model was trained on {others:,} of the held-out notes"
    return ""


def section_on_models(
    release: VerifiedRelease,
    audits: Sequence[AuditRecord],
    part_of: Callable[[AuditRecord], EvidencePart],
) -> EvidenceSection:
    """Return what is known of the model that the settings name as leaving.

    Args:
        release: The release.
        audits: All audits.
        part_of: Shows one audit.
    """
    model = release.installation.house.settings.privacy.model
    if model is None:
        told = (
            "The settings name no model that was trained on the notes and leaves (privacy.model),"
            " so that no model was attacked. A model that leaves later needs a document of its own:"
            " `deid privacy report`."
        )
        part = EvidencePart("", (make_statement(told, release.settings_source),))
        return EvidenceSection("models", (part,))
    attacking = [one for one in audits if one.name in OF_MODELS and one.receipt is not None]
    about = EvidencePart("", tuple(_about(release, model, attacking)))
    return EvidenceSection("models", (about, *map(part_of, attacking)))


def _about(
    release: VerifiedRelease, model: Path, attacking: Sequence[AuditRecord]
) -> Iterator[Statement]:
    settings = release.settings_source
    card = _card_of(model)
    told = "The settings name a model that leaves."
    if card is not None:
        told += (
            f" By its card it is of the recipe {card.recipe.get('name', 'that is not named')},"
            f" trained by code {card.plugin}, with the fingerprint {card.fingerprint[:16]}."
        )
    else:
        told += " It has no training card that can be read."
    yield make_statement(told, settings)
    counting = [one for one in attacking if one.counts and one.result and one.result.subject]
    if not counting:
        yield make_statement(
            "No audit of it came to a verdict: what it tells is not known.", settings
        )
        return
    first = counting[0]
    read = first.result.subject.read if first.result and first.result.subject else {}
    source = release.book.receipt(first.receipt) if first.receipt else settings
    yield make_statement(
        f"What its folder says was held against the notes: it was trained on"
        f" {read.get('training read', 0):,} of the {many(read.get('training', 0), 'training note')}"
        f" with which it was attacked, on {read.get('held_out read', 0):,} of the"
        f" {many(read.get('held_out', 0), 'held-out note')}, and on"
        f" {read.get('annotated read', 0):,} of the"
        f" {many(read.get('annotated', 0), 'annotated note')} of the batches. Nothing says that it"
        " learnt from no others.",
        source,
    )


def _card_of(model: Path) -> Card | None:
    """Return the card, of which the files were found as it says."""
    if not (model / CARD).is_file():
        return None
    try:
        return read_card(model, verify=True)
    except InputError:
        return None
