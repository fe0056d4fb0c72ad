"""tagger_<recipe>: models of one's own notes, with cards and gates."""

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from deid_assets.assets.declarations import AssetOutput, Check
from deid_assets.assets.display import Markdown, Shown, show_page, show_png
from deid_assets.assets.training_corpus import TRAINING_CORPUS, read_held_out_gold, read_materials
from deid_assets.config import Gates
from deid_assets.core.detector import Failed, detect
from deid_assets.core.errors import DeidError, InputError, PluginError
from deid_assets.core.span import SpanSet
from deid_assets.core.trainer import Document
from deid_assets.evaluation.counts import Counts
from deid_assets.pipeline.batch import patient_of
from deid_assets.plugins import available, load_declaration, load_trainer
from deid_assets.quality import Verdict
from deid_assets.reports.curves import curve_png
from deid_assets.reports.rewriting import alterations_md, audit_md, biases_md, epochs_md, study_md
from deid_assets.reports.tables import escape_name, table_md
from deid_assets.runtime.installation import Installation
from deid_assets.runtime.taggers import card_digest, check_packed, pack
from deid_assets.store.atomic import lock_by_file
from deid_assets.store.files import ALL
from deid_assets.system.atomic import atomic_file
from deid_assets.training import Card, Recipe, read_card, train_model
from deid_assets.training.analyses import ANALYSES, TaggerAnalysis
from deid_assets.training.card import TAGGER
from deid_assets.training.corpora import RECEIVED
from deid_assets.training.promotion import judge
from deid_assets.training.run import make_task, open_model
from deid_assets.training.scoring import TagScores, score_outcomes

PROMOTED = "promoted"
TAGGER_CHECKS = (
    Check(
        "learnt", "The model finds enough of the development notes, which it was not trained on."
    ),
    Check(
        "labels_learnt", "It finds enough of each label that there are enough development spans of."
    ),
    Check("answered", "The model gave an answer for every development note."),
    Check(
        PROMOTED,
        "The new model is better than the one in use on annotated notes that neither has seen; else"
        " that one stays.",
        blocking=False,
    ),
)
ENOUGH_PATIENTS = 10
"""Patients below which the development score of a tagger is reported as weak."""


def make_tagger(_batch: str, installation: Installation, *, recipe: Recipe) -> AssetOutput:
    """Train a recipe's model.

    One that is there, of the same making and as good as its card says, is taken as it is.

    A folder without the key's seal is trained again, and what is signed is scored here, label by
    label. Where the recipe and its plugin are those of the model in use and the notes alone are
    others, the new one is stored only if it is better. One that learnt from notes which are erased
    is no longer in use.
    """
    with hold_work(installation, recipe.name) as work:
        return _make_output(work, installation, recipe)


def _make_output(work: Path, installation: Installation, recipe: Recipe) -> AssetOutput:
    materials = read_materials(installation, recipe)
    key = installation.settings.key()
    train_model(recipe, materials, work, key=key)
    task = make_task(recipe, materials, load_trainer(recipe.plugin))
    dev = task.dev
    if not _is_as_its_card(work, dev, recipe):
        shutil.rmtree(work)
        train_model(recipe, materials, work, key=key)
    held = read_held_out_gold(installation, recipe)
    is_erased = installation.taggers.learnt_from_erased(recipe.name)
    in_use = None if is_erased else installation.taggers.in_use(recipe.name)
    promoted, shown = promotion(in_use, work, held.documents)
    work = in_use if in_use is not None and promoted.failed else work
    card = read_card(work)
    outcomes = detect(open_model(recipe, work), [document.note for document in dev])
    scored = score_outcomes(outcomes, dev, native=recipe.native)
    gates = installation.settings.gates
    learnt = _learnt(scored, dev, gates)
    files = pack(work)
    check_packed(files, card)
    analyses = analyses_of(work, dev, outcomes)
    page = installation.settings.reports / f"tagger-{recipe.name}.html"
    return AssetOutput(
        tables={"files": files},
        sources=[installation.files.receipt(TRAINING_CORPUS, ALL), *held.receipts],
        verdicts=[
            promoted,
            labels_learnt(scored, gates, known=frozenset(task.labels)),
            learnt,
            _judge_answered(scored, dev),
        ],
        counts={
            "card": card_digest(work, key=installation.key),
            "dev_f1": learnt.counts["f1"],
            "seconds": card.seconds,
            "bytes": card.size_bytes,
        },
        metadata={
            **shown,
            **show_card(card),
            **show_rewriting(work, dev),
            **show_analyses(analyses),
            **(show_page(page, name="html") if any(one.page for one in analyses) else {}),
        },
        publish=lambda _: _write(page, "".join(one.page for one in analyses)),
    )


def _learnt(scored: TagScores, dev: Sequence[Document], gates: Gates) -> Verdict:
    f1 = round(scored.micro.f1 or 0.0, 4)
    counts = {"f1": f1, "minimum": gates.tagger_f1, **_size(dev)}
    return Verdict("learnt", f1 >= gates.tagger_f1, True, counts, describe_basis(dev))


def _judge_answered(scored: TagScores, dev: Sequence[Document]) -> Verdict:
    counts = {"failed": scored.failed, "notes": len(dev)}
    return Verdict("answered", not scored.failed, True, counts, "Development notes.")


def labels_learnt(scored: TagScores, gates: Gates, *, known: frozenset[str]) -> Verdict:
    """Return whether each label with enough development spans, or with a floor of its own, is
    found.

    A model blind to one may score well on the whole, and a floor that nothing is held against is
    not met.

    Args:
        scored: On the development notes.
        gates: The floors.
        known: Labels of the training and development notes; a floor of another is not this model's.
    """
    named = {label for label, floor in gates.tagger_labels.items() if floor} & known
    found = {
        label: scored.labels.get(label, Counts())
        for label in {*scored.labels, *named}
        if label in named or scored.labels[label].gold >= gates.tagger_label_spans
    }
    figures: dict[str, float] = {}
    below = 0
    for label, counts in sorted(found.items()):
        floor = gates.tagger_labels.get(label, gates.tagger_label_f1)
        f1 = round(counts.f1 or 0.0, 4)
        if f1 < floor:
            below += 1
            figures |= {f"f1_{label}": f1, f"floor_{label}": floor}
    counts_of = {"labels": len(found), "below": below, **figures}
    said = (
        f"Strict F1 of each label with {gates.tagger_label_spans} development spans or more, and"
        " of each that gates.tagger_labels names."
    )
    return Verdict("labels_learnt", not below, True, counts_of, said).unless(
        not found, f"no label has {gates.tagger_label_spans} development spans"
    )


def promotion(
    in_use: Path | None, candidate: Path, held: Sequence[Document]
) -> tuple[Verdict, Shown]:
    """Return whether a newly trained model may take the place of the one in use, and the table of
    it.

    It is not applicable where nothing but the notes could be compared: no model in use, the very
    same one, or one of another recipe or plugin; a change of those is somebody's decision.
    """
    why = _why_not_compared(in_use, candidate)
    if in_use is None or why:
        return Verdict(PROMOTED, True, False).unless(True, why), {}
    try:
        done = judge(in_use, candidate, held)
    except InputError as error:
        told = "The model in use stays."
        return Verdict(PROMOTED, False, False, {}, told, reasons=[str(error)]), {}
    counts: dict[str, float] = {"notes": done.notes, "units": done.units}
    if gap := done.difference:
        counts |= {
            "gain": round(gap.value, 4),
            "low": round(gap.low, 4),
            "high": round(gap.high, 4),
        }
    message = f"Strict F1 on held-out annotated notes, paired bootstrap over {done.unit}s."
    if not done.is_better:
        message += " The interval is not above zero: the model in use stays."
    rows = [_scores_row("in use", done.in_use), _scores_row("new", done.candidate)]
    table = table_md(["Model", "Annotated", "P", "R", "F1"], rows, left=1)
    return Verdict(PROMOTED, done.is_better, False, counts, message), {
        "promotion": Markdown(f"{message}\n\n{table}")
    }


def _why_not_compared(in_use: Path | None, candidate: Path) -> str:
    """Return why a new model is not held against the one in use; nothing where it is."""
    new = read_card(candidate)
    if in_use is None:
        return "no model was in use, or one that learnt from erased notes"
    old = read_card(in_use)
    if old.fingerprint == new.fingerprint:
        return "it is the model in use"
    if RECEIVED in new.recipe["raw"]:
        return "it learns from the notes that it reads, which are others now"
    if (old.recipe, old.settings, old.plugin) != (new.recipe, new.settings, new.plugin):
        return "the recipe or its plugin changed"
    return ""


def _scores_row(model: str, counts: Counts) -> tuple[str, ...]:
    ratios = map(_ratio, (counts.precision, counts.recall, counts.f1))
    return (model, f"{counts.gold:,}", *ratios)


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def show_rewriting(model: Path, dev: Sequence[Document]) -> Shown:
    """Return what the UI shows of a model that rewrites notes.

    The study's table, each epoch, and doubts of the gold.

    The table is of the model as it is used: of its best epoch, under the bias that was kept.
    """
    described = json.loads((model / TAGGER).read_text(encoding="utf-8"))
    points = [
        point
        for point in described.get("curve") or []
        if isinstance(point, dict) and point.get("measures")
    ]
    if not points:
        return {}
    tried = described.get("biases") or []
    kept = [point for point in tried if point["kept"]]
    best = next(
        iter(
            [*kept, *(point for point in points if point["epoch"] == described.get("best_epoch"))]
        ),
        points[-1],
    )
    unlabelled = {document.note.note_id for document in dev if not document.spans}
    return {
        "rewriting": Markdown(study_md(best["measures"])),
        "alterations": Markdown(alterations_md(best["measures"])),
        "epochs": Markdown(epochs_md(points)),
        **({"biases": Markdown(biases_md(tried))} if tried else {}),
        "annotation_audit": Markdown(audit_md(points, unlabelled)),
    }


def _size(dev: Sequence[Document]) -> dict[str, int]:
    owners = {patient_of(document.note) for document in dev}
    return {"notes": len(dev), "patients": len(owners)}


def describe_basis(dev: Sequence[Document]) -> str:
    """Return what the score rests on, and that it says little where that is little."""
    size = _size(dev)
    message = f"Strict F1 on {size['notes']:,} development notes of {size['patients']:,} patients"
    if size["patients"] >= ENOUGH_PATIENTS:
        return f"{message}."
    return (
        f"{message}: fewer than {ENOUGH_PATIENTS} patients say little of others; annotate more"
        " before you rely on it."
    )


def _is_as_its_card(model: Path, dev: Sequence[Document], recipe: Recipe) -> bool:
    try:
        card = read_card(model, verify=True)
        outcomes = detect(open_model(recipe, model), [document.note for document in dev])
        scored = score_outcomes(outcomes, dev, native=recipe.native)
    except DeidError:
        return False  # not whole, or nothing that the plugin reads
    return bool(scored.to_json()["labels"] == card.dev["labels"])


def work_folder(installation: Installation) -> Path:
    """Return the folder that models are trained in, which its owner alone may open."""
    folder = installation.settings.home / "training"
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    return folder


@contextmanager
def hold_work(installation: Installation, name: str) -> Iterator[Path]:
    """Yield the folder that one model is made in; who would make the same meanwhile waits.

    What is there then is of the same making, and is taken as it is.
    """
    folder = work_folder(installation)
    with lock_by_file(folder / f".{name}.lock"):
        yield folder / name


def _write(page: Path, html: str) -> None:
    if not html:
        return
    with atomic_file(page) as file:
        file.write(html.encode())


def show_card(card: Card) -> Shown:
    """Return what the UI shows of a model: its scores, its curve and what it was made of."""
    name = str(card.recipe["name"])
    made = [
        ("plugin", f"{card.recipe['plugin']} {card.plugin}"),
        (
            "corpora",
            ", ".join(f"{one.name} ({one.role}, {one.notes:,} notes)" for one in card.corpora),
        ),
        ("strategy", str(card.recipe["strategy"])),
        ("sentences, or words, in an input", str(card.grouping)),
        ("seeds", ", ".join(f"{run.seed}: {run.dev_f1:.4f}" for run in card.runs)),
        ("training", f"{card.seconds:,.0f} s, {card.cpu_seconds:,.0f} s of processor"),
        ("size", f"{card.size_bytes / 1e6:,.1f} MB"),
        ("licence of the corpora", card.licence or "not given"),
    ]
    found: Shown = {
        "card": Markdown(table_md(["", ""], made, left=2)),
        "scores_on_development_notes": Markdown(_scores_md(card)),
    }
    if card.curve:
        found["curve"] = show_png(
            curve_png(card.curve, title=f"Training of {name}"), title=f"Training of {name}"
        )
    return found


def _scores_md(card: Card) -> str:
    rows = []
    for label, row in card.dev["labels"].items():
        annotated = f"{row['tp'] + row['fn']:,}"
        ratios = [_ratio(row[key]) for key in ("precision", "recall", "f1")]
        rows.append((escape_name(label), annotated, *ratios))
    return table_md(["Label", "Annotated", "P", "R", "F1"], rows, left=1)


def analyses_of(
    model: Path, dev: Sequence[Document], outcomes: Sequence[SpanSet | Failed]
) -> list[TaggerAnalysis]:
    """Return what each installed analysis says of a model.

    Raises:
        PluginError: One has a fault, or makes no analysis.
    """
    found = []
    for plugin in available(ANALYSES).values():
        analyse = load_declaration(plugin, "analysis")
        made = analyse(model, dev, outcomes) if callable(analyse) else None
        if not isinstance(made, TaggerAnalysis):
            raise PluginError(
                f"analysis {plugin.name!r}: what its plugin names makes no analysis of a tagger"
            )
        found.append(made)
    return found


def show_analyses(analyses: Sequence[TaggerAnalysis]) -> Shown:
    """Return what the UI shows of analyses: labels and figures, no words."""
    if not analyses:
        return {
            "analysis": Markdown("`tagger_analysis` shows errors and vectors; it is not installed.")
        }
    tables = {name: Markdown(table) for one in analyses for name, table in one.tables.items()}
    pictures = {
        name: show_png(png, title=title)
        for one in analyses
        for name, (title, png) in one.pictures.items()
    }
    return {**tables, **pictures}
