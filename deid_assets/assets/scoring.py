"""scorecard_<detector> and leaderboard.

Every detector against gold, over all batches that have it.
"""

from collections.abc import Mapping, Sequence

from deid_assets.assets.comparing import Cards, compare
from deid_assets.assets.declarations import AssetOutput, Check
from deid_assets.assets.detection import read_notes_of, read_outcomes
from deid_assets.assets.display import Markdown, show_png, show_scores
from deid_assets.assets.ingest import GOLD
from deid_assets.assets.marginal import marginal_value
from deid_assets.assets.merging import pair_with_gold
from deid_assets.assets.promoting import PROMOTED, judge_candidate
from deid_assets.assets.records import record_scores
from deid_assets.assets.repeats import Repeats, find_annotated_repeats, gold_batches, read_scored
from deid_assets.assets.rewriting import show_study
from deid_assets.assets.shadow import gold_of_sample, sample_in_words
from deid_assets.config import Settings
from deid_assets.core.assets import Family
from deid_assets.core.phi import profile
from deid_assets.evaluation.people import Names, names_by_person, together
from deid_assets.evaluation.score import Evaluation, Scheme, evaluate_corpus
from deid_assets.pipeline.resolving import MERGED_SPANS
from deid_assets.quality import Verdict
from deid_assets.reports import leaderboard_md, leaderboard_png
from deid_assets.reports.tables import table_md
from deid_assets.runtime.installation import Installation
from deid_assets.store.files import ALL
from deid_assets.store.frames import scores_from_table, scores_to_table

LEADERBOARD = "leaderboard"

SCORECARD_CHECKS = (
    Check(
        "gold_covered",
        "Every batch with annotated notes has this detector's spans; if not, back-fill it.",
        blocking=False,
    ),
)
"""Of the evaluation report as well."""
LEADERBOARD_CHECKS = (
    Check(
        "same_gold",
        "Every detector was scored on all batches that another was, so that none is left out.",
        blocking=False,
    ),
)


def scorecard_checks(settings: Settings, detector: str) -> tuple[Check, ...]:
    """Return the checks of a detector's score card; one in shadow is a candidate besides."""
    return SCORECARD_CHECKS if detector in settings.ensemble else (*SCORECARD_CHECKS, PROMOTED)


def gold_covered(with_gold: Sequence[str], scored: Sequence[str]) -> Verdict:
    """Return whether a detector has spans in every batch with gold."""
    return Verdict(
        SCORECARD_CHECKS[0].name,
        passed=len(scored) == len(with_gold),
        blocking=False,
        counts={"batches_with_gold": len(with_gold), "scored": len(scored)},
        description="Batches without this detector's spans are not in its scores.",
    ).unless(not with_gold, "no batch has annotated notes")


def make_scorecard(
    _batch: str, installation: Installation, *, detector: str, rewrites: bool = False
) -> AssetOutput:
    """Score one detector on every batch that has gold and its spans; the counts add up.

    One that rewrites notes has the table of the study beside.
    """
    asset = Family.SPANS.of(detector)
    with_gold = gold_batches(installation)
    done = list_scored_batches(installation, asset)
    repeated = find_annotated_repeats(installation)
    scored = {batch: score_batch(batch, installation, detector, repeated) for batch in done}
    per_batch = {batch: evaluation for batch, (evaluation, _) in scored.items()}
    names = together(names for _, names in scored.values())
    total = sum(per_batch.values(), Evaluation(installation.settings.profile))
    return AssetOutput(
        tables={"scores": scores_to_table(per_batch)},
        sources=[
            installation.files.receipt(name, batch) for batch in done for name in (GOLD, asset)
        ],
        verdicts=[
            gold_covered(with_gold, done),
            *(
                []
                if detector in installation.settings.ensemble
                else [judge_candidate(installation, detector, done, repeated)]
            ),
        ],
        counts={"batches": len(done), "annotated_notes": total.notes.notes},
        metadata={
            **show_scores(total, title=f"{detector} on annotated notes"),
            **({"names_by_person": Markdown(people_md(names))} if names else {}),
            "scored_on": sample_in_words(
                [installation.files.receipt(asset, batch) for batch in done]
            ),
            "batches": Markdown(batches_md(per_batch, profile_name=installation.settings.profile)),
            **({"arrived_before": repeats_in_words(repeated)} if any(repeated.values()) else {}),
            **(show_study(installation, detector, done, repeated) if rewrites else {}),
        },
        publish=lambda _: record_scores(installation, detector, per_batch),
    )


def has_scores(installation: Installation) -> bool:
    """Whether there is anything to score, or there was."""
    return bool(gold_batches(installation)) or installation.files.find(LEADERBOARD, ALL) is not None


def list_scored_batches(installation: Installation, asset: str) -> list[str]:
    """Return the batches that have both gold and the detector's spans."""
    present = set(installation.files.batches(asset))
    return [batch for batch in gold_batches(installation) if batch in present]


def repeats_in_words(repeated: Repeats) -> str:
    """Return how many annotated notes are left out since an earlier batch has them."""
    notes = sum(map(len, repeated.values()))
    batches = sum(map(bool, repeated.values()))
    return (
        f"{notes:,} annotated notes of {batches:,} batches are in an earlier batch too, and are"
        " scored there alone"
    )


def score_batch(
    batch: str, installation: Installation, detector: str, repeated: Repeats
) -> tuple[Evaluation, list[Names]]:
    """Score one detector on one batch, and names by whose they are.

    On a note that it failed on, it found nothing.
    """
    notes = read_notes_of(batch, installation)
    lengths = {note.note_id: len(note.text) for note in notes}
    outcomes = read_outcomes(Family.SPANS.of(detector), batch, installation)
    receipt = installation.files.receipt(Family.SPANS.of(detector), batch)
    scored = read_scored(batch, installation, notes, repeated)
    pairs = pair_with_gold(gold_of_sample(scored, outcomes, receipt), outcomes)
    evaluation = evaluate_corpus(
        pairs, profile=profile(installation.settings.profile), lengths=lengths
    )
    return evaluation, names_by_person(pairs)


def people_md(names: Sequence[Names]) -> str:
    """Return names by whose they are as a table, the gravest to leave first."""
    rows = [
        (
            one.whose,
            *(f"{count:,}" for count in (one.gold, one.missed, one.left, one.mistaken)),
            f"{(one.gold - one.left) / one.gold:.4f}",
        )
        for one in names
    ]
    return table_md(
        ["Names of", "Annotated", "Missed", "Leave something", "Under another's label", "Covered"],
        rows,
        left=1,
    )


def make_leaderboard(
    _batch: str, installation: Installation, *, detectors: Sequence[str]
) -> AssetOutput:
    """Put the score cards side by side, with what each detector adds to the others."""
    present = [
        name for name in detectors if installation.files.find(Family.SCORECARD.of(name), ALL)
    ]
    cards = {
        name: scores_from_table(installation.files.read(Family.SCORECARD.of(name), ALL, "scores"))
        for name in present
    }
    found = compare(installation, cards)
    title = "Annotated spans covered, with 95 % intervals"
    adds = marginal_value(installation, found.coverage)
    return AssetOutput(
        tables={
            "scores": scores_to_table(found.totals),
            "ensemble": scores_to_table({MERGED_SPANS: found.ensemble} if found.ensemble else {}),
            "marginal": adds.table,
        },
        sources=[
            *(installation.files.receipt(Family.SCORECARD.of(name), ALL) for name in present),
            *(installation.files.receipt(MERGED_SPANS, batch) for batch in found.batches),
        ],
        verdicts=[_same_gold(cards, notes=found.notes)],
        counts={"detectors": len(present), "annotated_notes": found.notes},
        metadata={
            "leaderboard": Markdown(leaderboard_md(found.totals)),
            "scored_on": (
                f"{found.notes:,} annotated notes, those that every detector was scored on"
            ),
            "marginal_value": Markdown(adds.shown),
            "plot": show_png(leaderboard_png(found.totals, title=title), title=title),
        },
    )


def _same_gold(cards: Cards, *, notes: int) -> Verdict:
    """Check that no detector misses a batch that another was scored on.

    Its notes are compared for none.

    A sample of a batch is no gap: the notes of it that all ran on are compared.
    """
    batches = set().union(*cards.values())
    behind = sum(set(card) != batches for card in cards.values())
    return Verdict(
        "same_gold",
        passed=not behind,
        blocking=False,
        counts={
            "detectors": len(cards),
            "behind": behind,
            "batches": len(batches),
            "annotated_notes": notes,
        },
        description=(
            "The table is of the notes that every detector was scored on. Back-fill those that are"
            " behind."
        ),
    ).unless(len(cards) < 2 or not batches, "no two detectors scored on annotated notes")


def batches_md(per_batch: Mapping[str, Evaluation], *, profile_name: str) -> str:
    """Return the counts of each batch as a table, and their sum.

    What the score of all batches is made of.
    """
    total = sum(per_batch.values(), Evaluation(profile_name))
    rows = [
        _batch_row(batch, found)
        for batch, found in [*sorted(per_batch.items()), ("**all**", total)]
    ]
    head = [
        (
            "| Batch | Notes | Annotated spans | Covered | Strict right | Strict wrong | Strict"
            " missed |"
        ),
        "| :-- |" + " --: |" * 6,
    ]
    return "\n".join([*head, *rows])


def _batch_row(batch: str, found: Evaluation) -> str:
    covered, strict = found.micro(Scheme.COVERED), found.micro(Scheme.STRICT)
    counts = (found.notes.notes, covered.gold, covered.tp, strict.tp, strict.fp, strict.fn)
    return " | ".join([f"| {batch}", *(f"{count:,}" for count in counts)]) + " |"
