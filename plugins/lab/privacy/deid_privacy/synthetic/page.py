"""The page of the study of generated notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

from deid_assets.extending.drawing import Section, study_html
from deid_privacy.synthetic.plan import EXPERIMENTS

Result = Mapping[str, Any]


def synthesis_html(found: Result) -> str:
    """Return the page of what the study found; it holds no text of notes."""
    plan = found["plan"]
    folds = found["folds"]
    rest, dev, test = folds[0]["sizes"]
    hours = sum(_seconds(folds)) / 3_600
    return study_html(
        kind="Taggers of generated notes",
        title="Synthetic corpora by language models",
        about=(
            "Taggers learn notes that a language model wrote and another tagger annotated, and are"
            " scored on real notes"
        ),
        tiles={
            "Folds": (f"{len(folds)}", "of a cross-validation by patients"),
            plan["notes"]["unit"].capitalize(): (
                f"{rest:,}",
                f"to learn in the first fold, {dev:,} to begin as, {test:,} to score on",
            ),
            "CPU hours": (f"{hours:.2f}", "of the stages"),
        },
        sections=[
            *(_scores(name, own) for name, own in found["experiments"].items()),
            _recalls(folds),
            _descriptors(folds),
            *_attacks(folds),
            _limits(plan),
        ],
        provenance={
            "Command": found["command"],
            "Commit": found["commit"] or "unknown",
            "Python": found["machine"]["python"],
        },
    )


def tables_of(found: Result) -> Iterator[Section]:
    """Yield the tables of the page, for the command line."""
    for name, own in found["experiments"].items():
        yield _scores(name, own)
    yield _recalls(found["folds"])
    yield _descriptors(found["folds"])
    yield from _attacks(found["folds"])


def _seconds(found: Any) -> Iterator[float]:
    """Yield the processor time of every stage that a document holds."""
    if isinstance(found, Mapping):
        for name, own in found.items():
            if name == "cpu_seconds":
                yield own
            else:
                yield from _seconds(own)
    elif isinstance(found, list):
        for own in found:
            yield from _seconds(own)


def _show_pair(pair: Sequence[float]) -> str:
    return f"{pair[0]:.3f} ± {pair[1]:.3f}"


def _scores(name: str, rows: Sequence[Result]) -> Section:
    body = []
    for one in rows:
        cell = one["cell"]
        row = [cell["base"], f"{cell['adapted']}", f"{cell['annotated']}", f"{cell['volume']}"]
        for measure in ("token_f1", "f1"):
            row += [_show_pair(one[measure][side]) for side in ("gold", "synthetic", "lost")]
        body.append(row)
    untrained = sum(one["untrained"] for one in rows)
    added = (
        f" In {untrained} runs the annotator marked no word, so that there was nothing to learn:"
        " they count as 0."
        if untrained
        else ""
    )
    return Section(
        f"Scores: {EXPERIMENTS[name]}",
        columns=(
            "Base",
            "Generator learnt %",
            "Annotator learnt %",
            "Generated %",
            "Of real notes, tokens",
            "Of generated, tokens",
            "Lost",
            "Of real notes, strict",
            "Of generated, strict",
            "Lost",
        ),
        rows=body,
        caption=(
            "F1 on real notes of the test fold, mean ± deviation of the folds: of tokens with their"
            " label, as published, and of entities with the same borders and label. The tagger of"
            " real notes is the annotator. Lost is its F1 less that of the tagger of generated"
            f" ones, the deviation the root of the summed squares.{added}"
        ),
    )


def _recalls(folds: Sequence[Result]) -> Section:
    """Return n-gram recall; what chance has stands beside it."""
    body = []
    for generator in folds[0]["recall"]:
        each = [one["recall"][generator]["rows"] for one in folds]
        for number, first in enumerate(each[0]):
            own = [rows[number] for rows in each]
            body.append(
                (
                    generator,
                    f"{first['unit']}{' of identifiers' if first['identifiers'] else ''}",
                    f"{first['n']}",
                    *(
                        _spread([one[key] for one in own])
                        for key in ("recall", "baseline_recall", "excess")
                    ),
                )
            )
    return Section(
        "N-grams of the notes that were learnt",
        columns=("Learnt %, base", "Of", "n", "Recall", "Before it learnt them", "Above it"),
        rows=body,
        left=2,
        caption=(
            "Share of the different n-grams of the notes that a generator learnt which stand in"
            " what it wrote, and in as much of what it wrote before. A small share of many notes"
            " can be more n-grams than a large share of few."
        ),
    )


def _spread(values: Sequence[float]) -> str:
    return f"{fmean(values):.4f} ± {stdev(values) if len(values) > 1 else 0.0:.4f}"


def _descriptors(folds: Sequence[Result]) -> Section:
    body = []
    for name in folds[0]["described"]["sets"]:
        own = [one["described"]["sets"][name] for one in folds]
        diverse = [one["diversity"] for one in own if "diversity" in one]
        body.append(
            (
                name,
                f"{fmean(one['notes'] for one in own):,.0f}",
                _spread(diverse) if diverse else "not measured",
                _mean_of(own, "words"),
                _mean_of(own, "marked"),
            )
        )
    tokens = min(one["described"]["tokens"] for one in folds)
    return Section(
        "What the notes are like",
        columns=("Notes", "Count", "Diversity", "Words", "Marked words"),
        rows=body,
        caption=(
            f"Diversity: different stems by words, of {tokens:,} words or more, as many of each;"
            " mean ± deviation of the folds. Words and marked words of a note: mean ± deviation of"
            " the notes. Names are those of the settings: learnt by the generator, by the"
            " annotator, generated, in percent."
        ),
    )


def _mean_of(own: Sequence[Result], key: str) -> str:
    return f"{fmean(one[key][0] for one in own):.1f} ± {fmean(one[key][1] for one in own):.1f}"


def _attacks(folds: Sequence[Result]) -> Iterator[Section]:
    """Yield the section on membership, where it was inferred."""
    body: list[tuple[str, ...]] = []
    voids = []
    for number, fold in enumerate(folds):
        for generator, own in fold["membership"].items():
            if "void" in own:
                voids.append(f"fold {number}, {generator}: {own['void']}")
            for attack, found in own.get("attacks", {}).items():
                value, low, high = found
                said = f"{value:.3f} [{low:.3f}, {high:.3f}]"
                body.append((f"{number}", generator, attack, said))
    if body or voids:
        yield Section(
            "Membership of the notes that generators learnt",
            columns=("Fold", "Learnt %, base", "Attack", "AUC") if body else (),
            rows=body,
            left=3,
            caption=(
                "How well stretches of the notes that a generator learnt are told from those of"
                " the test fold, with the interval of resampled patients; .5 by chance."
            ),
            points=voids,
        )


def _limits(plan: Result) -> Section:
    own = plan["generator"]
    points = [
        "Labels are the categories of this project, not the corpus' own.",
        (
            "N-grams are copies word for word, the least that was taken over; what is told in other"
            " words escapes them."
        ),
        (
            "Nothing was filtered: generated notes begin with words of real ones, names among them."
            if not own["is_free"]
            else "Nothing was filtered; generated notes begin with words before any identifier."
        ),
        "Folds share notes, so that the deviation over folds is too small for that of the mean.",
    ]
    if not own["larger"]:
        points.insert(
            0,
            "The base was made here of notes of a grammar and has some hundred thousand weights;"
            " published bases have billions. Values do not carry over, and orders may not.",
        )
    return Section("What this does not say", points=points)
