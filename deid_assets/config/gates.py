"""Settings of the data-quality checks: the limits that stop a batch."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from deid_assets.config.frozen import Frozen, Share


class Gates(Frozen):
    """The limits that stop a batch.

    Args:
        tagger_f1: Smallest strict F1 of a trained tagger on its development notes.
        tagger_label_f1: The same of each label that has enough development spans, unless
            ``tagger_labels`` says another.
        tagger_labels: Smallest strict F1 per label of the tagger's tags, however few development
            spans there are of it; where there is none, it is not met.
        tagger_label_spans: A label with fewer development spans is not gated by itself, unless
            ``tagger_labels`` names it.
        near_duplicates: Largest share of notes that nearly repeat another note of the batch.
        quarantined: Largest share of received notes that may go to quarantine.
        residual_sample: Redacted notes of a batch, drawn by key, on which the ensemble runs again;
            0 takes all.
        residual: Largest share of notes with a hit that the draw may leave likely (one-sided 95 %
            bound); above it the ensemble runs on the rest of the batch too.
        recall: Smallest recall per label of the profile where gold exists, as covered characters.
            ``ALL`` is every label together.
        min_gold_characters: A label with less gold than this in a batch is reported, not gated.
        recall_lower_bound: Smallest lower end of the 95 % interval of the share of gold spans
            covered, per label of the profile; ``ALL`` is every label together.
        notes_covered_lower_bound: Smallest lower end of the 95 % interval of the share of notes
            with nothing left.
        min_gold_spans: A label or group with fewer gold spans in a batch is not gated by a lower
            bound.
        min_gold_notes: A batch with fewer notes with gold is not gated by
            ``notes_covered_lower_bound``.
        worst_group_by: ``lang``, or a field of the notes' ``meta``, whose groups are gated apart;
            none when empty.
        worst_group_lower_bound: As ``recall_lower_bound``, for the worst of these groups.
        regression_tolerance: Fall of the share covered since a batch's last release that is
            accepted. The batch is stopped where the whole 95 % interval of the difference lies
            below it.
        canaries: Synthetic notes, in each language of the installation, that are read with every
            batch and taken out before it is redacted; 0 for none.
        canary_recall: As ``recall_lower_bound``, on these notes; a language too is gated by
            ``ALL``, or by its code.
    """

    tagger_f1: Share = 0.5
    tagger_label_f1: Share = 0.1
    tagger_labels: Mapping[str, Share] = Field(default_factory=dict)
    tagger_label_spans: int = Field(default=20, ge=1)
    near_duplicates: Share = 0.5
    quarantined: Share = 0.2
    residual_sample: int = Field(default=1000, ge=0)
    residual: Share = 0.01
    recall: Mapping[str, Share] = Field(default={"ALL": 0.9})
    min_gold_characters: int = Field(default=200, ge=1)
    recall_lower_bound: Mapping[str, Share] = Field(default={"ALL": 0.9})
    notes_covered_lower_bound: Share = 0.4
    min_gold_spans: int = Field(default=100, ge=1)
    min_gold_notes: int = Field(default=50, ge=1)
    worst_group_by: str = ""
    worst_group_lower_bound: Share = 0.8
    regression_tolerance: Share = 0.01
    canaries: int = Field(default=0, ge=0, le=1000)
    canary_recall: Mapping[str, Share] = Field(default={"ALL": 0.9})
