"""What stays is ordered by risk and shown as it was counted.

A found name goes everywhere; recall by origin has a gap.
"""

from __future__ import annotations

import json
import math
import re
import stat
from pathlib import Path

import numpy as np
import pytest
from fixed_network import scorer
from models_here import TEXTS
from typer.testing import CliRunner

from deid_assets import DisjointSpans, Note, Phi, Span
from deid_assets.core.errors import InputError
from deid_assets.core.trainer import Document
from deid_zero_shot import ZeroShotDetector, inspecting
from deid_zero_shot.bias import names_of, recall_by_origin
from deid_zero_shot.calibration import Threshold, choose
from deid_zero_shot.points import Points, points_of, score_decisions
from deid_zero_shot.review import by_risk, count_kinds, page, review_note
from deid_zero_shot.risk import Risk
from deid_zero_shot.scorer import KEPT, ScoredWord

PIECES = (
    "Ana",
    "ana",
    "##dias",
    "Rara",
    "##vis",
    "vino",
    "fever",
    "no",
    "and",
    ".",
    "@",
    "example",
    "org",
    "Juha",
    "##n",
)
CHANCES = {"Ana": 1e-6, "Rara": 1e-4, "##vis": 0.5, "fever": 0.01, "vino": 0.02}


def answer(_seen, _place, true: str) -> float:
    return CHANCES.get(true, 0.5)


def annotated(number: int, text: str, *names: str) -> Document:
    note = Note(f"n{number}", text, lang="es")
    spans = [
        Span(match.start(), match.end(), Phi.NAME)
        for name in names
        for match in re.finditer(rf"\b{name}\b", text)
    ]
    return Document(note, DisjointSpans.of(note, spans))


DEV = [
    annotated(1, "Ana vino and no fever.", "Ana"),
    annotated(2, "Ana and Raravis vino.", "Ana", "Raravis"),
    annotated(3, "no fever and no fever. vino", "vino"),
]


@pytest.fixture
def calibrated() -> Threshold:
    scored, _ = scorer(PIECES, answer)
    points = points_of((scored.score(one.note), one.spans) for one in DEV)
    found = choose(points, "f1")
    return Threshold(
        **{name: getattr(found, name) for name in Threshold.__slots__}
        | {"log_threshold": math.log(1e-5)}
    )


def test_a_planted_rare_name_is_first_and_its_note_too(calibrated: Threshold) -> None:
    scored, _ = scorer(PIECES, answer)
    notes = [
        Note("plain", "no fever and no", lang="es"),
        Note("planted", "no fever. Raravis and no", lang="es"),
    ]
    risk = Risk(calibrated)

    found = by_risk(
        review_note(note, scored.score(note), threshold=calibrated.log_threshold, risk=risk)
        for note in notes
    )

    assert [one.note.note_id for one in found] == ["planted", "plain"]
    first = found[0].left[0]
    assert notes[1].text[first.start : first.end] == "Raravis"
    assert first.chance > found[0].left[-1].chance


def test_the_chance_of_phi_falls_with_the_score_and_adds_up_to_what_was_there(
    calibrated: Threshold,
) -> None:
    scored, _ = scorer(PIECES, answer)
    risk = Risk(calibrated)

    words = [word for one in DEV for word in scored.score(one.note).words]
    chances = [risk.of(word) for word in sorted(words, key=lambda word: word.score)]

    assert chances == sorted(chances, reverse=True)
    total = sum(risk.of(word) * word.pieces for word in words)
    assert total == pytest.approx(
        sum(points_of((scored.score(one.note), one.spans) for one in DEV).gold)
    )
    assert risk.of(ScoredWord(0, 1, 10_000.0, 1)) == 0.0


def test_words_that_are_never_redacted_have_the_share_of_phi_among_such() -> None:
    gold = np.array([True, False, True, False, False, False])
    scores = np.array([-9.0, -1.0, KEPT, KEPT, KEPT, KEPT])
    risk = Risk(choose(Points(scores, gold, np.zeros(6, int)), "f1"))
    note = Note("n", "fever no", lang="es")
    scored, _ = scorer(PIECES, answer)
    words = [word._replace(score=KEPT) for word in scored.score(note).words]

    found = review_note(note, scored.score(note)._replace(words=words), threshold=-2.0, risk=risk)

    assert risk.of(words[0]) == pytest.approx(0.25)
    assert found.residual == pytest.approx(0.5)


def test_the_page_shows_what_the_metrics_count(calibrated: Threshold) -> None:
    scored, _ = scorer(PIECES, answer)
    risk = Risk(calibrated)
    found = [
        review_note(
            one.note,
            scored.score(one.note),
            threshold=calibrated.log_threshold,
            risk=risk,
            gold=list(one.spans),
        )
        for one in DEV
    ]

    shown = page(found, title="<model>")

    points = points_of((scored.score(one.note), one.spans) for one in DEV)
    rates = score_decisions(points.gold, points.scores < calibrated.log_threshold)
    body = shown.split("</table>")[1]
    kinds = {kind: len(re.findall(f'<b class="{kind}"', body)) for kind in ("tp", "fp", "fn", "tn")}
    assert kinds == {**dict.fromkeys(("tp", "fp", "fn", "tn"), 0), **count_kinds(found)}
    assert rates.recall == pytest.approx(kinds["tp"] / (kinds["tp"] + kinds["fn"]))
    assert rates.precision == pytest.approx(kinds["tp"] / (kinds["tp"] + kinds["fp"]))
    texts = [
        re.sub("<[^>]+>", "", part) for part in re.findall("<pre>(.*?)</pre>", body, re.DOTALL)
    ]
    assert sorted(texts) == sorted(one.note.text for one in DEV)
    assert "&lt;model&gt;" in shown


def test_without_gold_the_page_shades_by_chance(calibrated: Threshold) -> None:
    scored, _ = scorer(PIECES, answer)
    note = Note("n", "Ana and Raravis", lang="es")

    shown = page(
        [
            review_note(
                note, scored.score(note), threshold=calibrated.log_threshold, risk=Risk(calibrated)
            )
        ],
        title="t",
    )

    assert '<b class="gone">Ana</b>' in shown
    assert re.search(
        r'<b class="tn" style="background:rgba\(163,45,33,[01]\.\d\d\)">Rara</b>', shown
    )


@pytest.mark.parametrize(
    ("text", "lang", "gone"),
    [
        ("Ana vino. ana vino anadias@example.org", "es", {"Ana", "ana", "anadias@example.org"}),
        ("Juha and Juhan", "fi", {"Juha", "Juhan"}),
    ],
)
def test_a_name_that_is_found_once_goes_in_every_form(
    folders: dict[str, Path], text: str, lang: str, gone: set[str]
) -> None:
    def once(seen, _place, true: str) -> float:
        """A model that is surprised by the first sub-token of a note alone."""
        return 1e-9 if seen[1] == "[MASK]" and _place == 1 else 0.5

    detector = ZeroShotDetector(model=folders["wordpiece"], threshold=1e-4, everywhere=True)
    alone = ZeroShotDetector(model=folders["wordpiece"], threshold=1e-4)
    for each in (detector, alone):
        each.method.scorer, _ = scorer(PIECES, once, lemmas="simple")
    note = Note("n", text, lang=lang)

    (spans,), (few,) = detector.detect([note]), alone.detect([note])

    assert {text[span.start : span.end] for span in spans} == gone
    assert {text[span.start : span.end] for span in few} == {text.split(maxsplit=1)[0]}
    assert detector.version != alone.version


class Knows:
    """Finds the names that it knows."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def __call__(self, notes):
        from deid_assets import SpanSet

        for note in notes:
            found = [
                match.span()
                for name in self._names
                for match in re.finditer(re.escape(name), note.text)
            ]
            yield SpanSet.of(note, [Span(*place, Phi.NAME) for place in found])


def test_lists_of_names_have_recalls_of_their_own_and_a_gap() -> None:
    documents = [
        annotated(number, f"Ana vino {number} and Raravis.", "Ana", "Raravis")
        for number in range(20)
    ]

    origins, gap = recall_by_origin(
        Knows("Maria", "Lopez"),
        documents,
        {"es": ["Maria Lopez"], "fi": ["Maria Lopez", "Aino Virtanen"]},
    )

    recalls = {one.name: one.recall for one in origins}
    assert recalls["es"] == 1.0
    assert 0.2 < recalls["fi"] < 0.8
    assert (gap.best, gap.worst, gap.value) == ("es", "fi", pytest.approx(1 - recalls["fi"]))
    assert gap.interval[0] <= gap.value <= gap.interval[1]
    assert gap.interval[0] > 0
    _, none = recall_by_origin(
        Knows("Maria Lopez"), documents, {"a": ["Maria Lopez"], "b": ["Maria Lopez"]}
    )
    assert (none.value, none.interval) == (0.0, (0.0, 0.0))


def test_names_of_a_language_are_those_of_its_pack_and_one_list_is_no_comparison() -> None:
    assert np.mean([name in names_of("es") for name in names_of("fi")]) < 0.05
    with pytest.raises(InputError, match="a gap needs two lists"):
        recall_by_origin(Knows(), DEV, {"es": ["Ana"]})
    with pytest.raises(InputError, match="the notes have no names"):
        recall_by_origin(Knows(), [annotated(1, "no fever")], {"es": ["Ana"], "fi": ["Aino"]})


def test_the_commands_list_without_text_and_write_for_the_owner_alone(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    path, model = tmp_path / "dev.jsonl", tmp_path / "calibration.json"
    rows = [
        {
            "id": f"r{at}",
            "lang": "en",
            "text": text,
            "spans": [{"start": 9, "end": 18, "label": "NAME"}],
        }
        for at, text in enumerate(TEXTS[:2])
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    import shutil

    folder = shutil.copytree(folders["wordpiece"], tmp_path / "model")
    assert not model.exists()

    def run(*arguments: object) -> tuple[int, str]:
        result = CliRunner().invoke(inspecting.app, [str(argument) for argument in arguments])
        return result.exit_code, result.output

    assert run("review", folder, "--notes", path)[0] == 2  # not calibrated yet
    assert run("calibrate", folder, "--notes", path, "--threads", 1)[0] == 0

    code, listed = run(
        "review", folder, "--notes", path, "--out", tmp_path / "page.html", "--threads", 1
    )
    bias_code, compared = run(
        "bias", folder, "--notes", path, "--origin", "es", "--origin", "fi", "--threads", 1
    )

    assert (code, bias_code) == (0, 0)
    assert listed.count("words of PHI expected to be left") == 2
    assert "Anna" not in listed
    assert stat.S_IMODE((tmp_path / "page.html").stat().st_mode) == 0o600
    assert "Anna" in re.sub("<[^>]+>", "", (tmp_path / "page.html").read_text())
    assert re.search(r"^gap (es|fi) - (es|fi): ", compared, re.MULTILINE)
