"""What a corpus copied of another: exact on small sets, and on random ones as without files."""

from __future__ import annotations

import json
import os
import random
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deid_assets import Note, Phi, Span
from deid_assets.cli import app
from deid_assets.extending import DisjointSpans, InputError
from deid_assets.extending.commands import Annotated
from deid_copying import grams, recalls
from deid_copying.command import describe_report, texts_of
from deid_copying.neighbours import NearestNotes, neighbours
from deid_copying.passages import passages
from deid_copying.reading import notes_of
from deid_copying.recalls import ComparedCorpora, Recalls
from deid_copying.report import (
    CopyLimits,
    CopyReport,
    Measuring,
    _near_verdict,
    measure_copies,
)
from deid_copying.tokens import TokenFile, WordTokens, write_tokens

PATIENT = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron"


def notes(texts: Sequence[str], *, patients: Sequence[str] = (), word: str = "") -> list[Annotated]:
    """Notes of these texts; each occurrence of a word is a name."""
    made = []
    for number, text in enumerate(texts):
        note = Note(f"n{number}", text, patient_id=patients[number] if patients else None)
        spans = None
        if word:
            at = [place for place in range(len(text)) if text.startswith(word, place)]
            spans = DisjointSpans.of(note, [Span(one, one + len(word), Phi.NAME) for one in at])
        made.append(Annotated(note, spans))
    return made


def corpora(
    folder: Path, source: Iterable[Annotated], made: Iterable[Annotated], *others: Annotated
) -> ComparedCorpora:
    return ComparedCorpora(
        write_tokens(source, folder / "source", WordTokens()),
        write_tokens(made, folder / "made", WordTokens()),
        write_tokens(others, folder / "other", WordTokens()) if others else None,
        folder,
    )


def recall_of(found: Recalls, *, marked: bool = False) -> dict[int, float]:
    return {one.n: one.recall for one in found.rows if one.marked is marked}


def test_disjoint_corpora_share_nothing_and_a_copy_shares_all(tmp_path: Path) -> None:
    source = notes([PATIENT], word="beta")
    apart = recalls.recalls(corpora(tmp_path / "a", source, notes(["one two three four five"])))
    assert recall_of(apart) == {3: 0.0, 5: 0.0, 10: 0.0}
    copy = recalls.recalls(corpora(tmp_path / "b", source, notes([PATIENT.upper()])))
    assert recall_of(copy) == {3: 1.0, 5: 1.0, 10: 1.0}
    assert recall_of(copy, marked=True) == {3: 1.0, 5: 1.0, 10: 1.0}


def test_half_of_the_n_grams_is_half(tmp_path: Path) -> None:
    source = notes(["a b c d e f"], word="a b")
    found = recalls.recalls(corpora(tmp_path, source, notes(["a b c d"])), (3,))
    assert recall_of(found) == {3: 0.5}
    # a b c and b c d hold a word of the name, and both are there
    assert recall_of(found, marked=True) == {3: 1.0}


@pytest.mark.parametrize(
    "copy",
    [
        "Le père Étienne, opéré à Orléans",
        unicodedata.normalize("NFD", "le père Étienne opéré à Orléans"),
        "LE PERE ETIENNE\r\nOPERE A ORLEANS",
        "le pe\u00adre E\u0301tienne ope\u200bre a Orle\u0301ans",
        "_le_père_Étienne_opéré_à_Orléans_",
        "le\xa0p\N{LATIN SMALL LETTER E WITH GRAVE}re \uff25tienne \u2013 opéré (à) Orléans",
    ],
)
def test_words_are_the_same_in_any_case_unicode_form_and_with_other_signs(
    tmp_path: Path, copy: str
) -> None:
    source = notes(["le père Étienne opéré à Orléans"], word="Étienne")
    found = recalls.recalls(corpora(tmp_path, source, notes([copy])), (3,))
    assert (recall_of(found), recall_of(found, marked=True)) == ({3: 1.0}, {3: 1.0})


def test_no_n_gram_crosses_from_one_note_to_the_next(tmp_path: Path) -> None:
    found = recalls.recalls(corpora(tmp_path, notes(["a b c"]), notes(["a b", "c"])), (3,))
    assert recall_of(found) == {3: 0.0}


def test_files_say_what_sets_say_of_random_corpora(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # many runs, ranges and chunks
    monkeypatch.setattr(grams, "RUN", 50)
    monkeypatch.setattr(grams, "READ", 200)
    monkeypatch.setattr("deid_copying.tokens.CHUNK", 64)
    monkeypatch.setattr("deid_copying.tokens.WAITING", 16)
    chance = random.Random(4)
    for trial in range(5):
        texts = [_drawn(chance) for _ in range(120)]
        source = notes(texts[:40], word="w3")
        made, other = notes(texts[40:80]), notes(texts[80:])
        found = recalls.recalls(corpora(tmp_path / f"{trial}", source, made, *other), (1, 3, 5))
        for row in found.rows:
            known = _grams(source, row.n, marked=row.marked)
            assert row.source == len(known)
            assert row.synthetic == len(known & _grams(made, row.n))
            assert row.baseline == len(known & _grams(other, row.n))


def _drawn(chance: random.Random) -> str:
    return " ".join(f"w{chance.randrange(8)}" for _ in range(chance.randrange(12)))


def _grams(corpus: Sequence[Annotated], n: int, *, marked: bool = False) -> set[tuple[str, ...]]:
    found = set()
    for one in corpus:
        words = one.note.text.split()
        for at in range(len(words) - n + 1):
            gram = tuple(words[at : at + n])
            if not marked or "w3" in gram:
                found.add(gram)
    return found


def test_passages_are_those_of_a_search_word_by_word(tmp_path: Path) -> None:
    chance = random.Random(9)
    for trial in range(5):
        source = notes([_drawn(chance) for _ in range(30)])
        made = notes([_drawn(chance) for _ in range(30)])
        both = corpora(tmp_path / f"{trial}", source, made)
        shared = recalls.recalls(both, (4,), passage=4).shared
        found = passages(both.source, both.synthetic, shared, 4)
        longest = max((one.tokens for one in found.longest), default=0)
        assert longest == _longest_of_one(source, made, 4)


def _longest_of_one(source: Sequence[Annotated], made: Sequence[Annotated], n: int) -> int:
    """The longest run of which every n words are one note's, some of them that note's alone."""
    sayers = [_grams([one], n) for one in source]
    longest = 0
    for one in made:
        words = one.note.text.split()
        for own in sayers:
            run = 0
            alone = False
            for at in range(len(words) - n + 1):
                gram = tuple(words[at : at + n])
                count = sum(gram in other for other in sayers)
                run = run + 1 if gram in own and count <= 3 else 0
                alone = (alone or count == 1) if run else False
                if run and alone:
                    longest = max(longest, _whole(words, at, n, own, sayers))
    return longest


def _whole(words: list[str], at: int, n: int, own: set, sayers: list[set]) -> int:
    """The length of the run of a note around a place."""

    def said(place: int) -> bool:
        gram = tuple(words[place : place + n])
        return len(gram) == n and gram in own and sum(gram in one for one in sayers) <= 3

    first = at
    while first > 0 and said(first - 1):
        first -= 1
    last = at
    while said(last + 1):
        last += 1
    return last - first + n


def test_a_passage_of_one_patient_is_found_and_a_template_is_not(tmp_path: Path) -> None:
    template = "one two three four five six seven eight nine ten eleven twelve"
    source = notes([template, template, template, template, PATIENT], patients=list("abcde"))
    made = notes([template, f"He said: {PATIENT[:-8]}."])
    report = _measured(source, made)
    assert [(one.note, one.source, one.passage.tokens) for one in report.listed] == [
        ("n1", "n4", 14)
    ]
    assert report.found.template == 3
    words = " ".join(str(report.to_json()).split())
    assert "alpha" not in words


def test_what_two_patients_say_alike_is_no_template(tmp_path: Path) -> None:
    source = notes([PATIENT, PATIENT, "another note without any of it"], patients=list("abc"))
    report = _measured(source, notes([f"Nothing of hers but this: {PATIENT}"]))
    assert [one.passage.patients for one in report.listed] == [2]
    (verdict,) = (one for one in report.verdicts if one.limit == "passages")
    assert not verdict.holds
    assert "of one patient 0 words, of two or three 15; limit 12" in verdict.said


def test_where_all_that_is_shared_is_template_no_passage_is_found(tmp_path: Path) -> None:
    report = _measured(notes([PATIENT] * 5), notes([PATIENT]))
    assert (report.listed, report.found.template) == ((), 6)
    assert [one.limit for one in report.verdicts if not one.holds] == ["ngrams", "near"]


def test_a_recall_that_so_few_notes_cannot_exceed_proves_nothing(tmp_path: Path) -> None:
    few, many = notes(["alpha beta gamma"]), notes([" ".join(f"w{at}" for at in range(700))])
    (verdict, *_) = _measured(many, few).verdicts
    assert (verdict.holds, "proves nothing" in verdict.said) == (True, True)
    (verdict, *_) = _measured(notes([PATIENT]), few).verdicts
    assert "proves nothing" not in verdict.said


def test_what_was_not_measured_is_said(tmp_path: Path) -> None:
    source = notes(["one two three"], word="two") + notes(["four five six"], patients=["p"])
    report = _measured(source, notes(["seven eight nine", "one two", "three"]))
    assert report.to_json()["gaps"] == {"too_short": 2, "not_annotated": 1, "of_nobody": 1}
    said = " ".join(describe_report(report))
    assert "2 synthetic notes of fewer than three words were not compared" in said
    assert "1 of 2 notes of the source are not annotated" in said
    assert "1 notes of the source name no patient" in said


def _measured(
    source: list[Annotated], made: list[Annotated], baseline: list[Annotated] | None = None
) -> CopyReport:
    return measure_copies(
        lambda: made,
        lambda: source,
        None if baseline is None else lambda: baseline,
        limits=CopyLimits(longest=12),
    )


def test_the_nearest_note_of_a_copy_is_at_no_distance_and_far_from_others(tmp_path: Path) -> None:
    chance = random.Random(3)
    texts = [" ".join(f"v{chance.randrange(500)}" for _ in range(40)) for _ in range(60)]
    changed = texts[7].split()
    changed[20] = "other"
    source = notes(texts[:50])
    made = notes([texts[12], " ".join(changed), *texts[50:]])
    both = corpora(tmp_path, source, made)
    found = neighbours(both.source, both.synthetic, draws=100).found
    assert [(one.source, one.distance) for one in found[:1]] == [(12, 0.0)]
    assert found[0].ratio == 0.0
    assert found[1].source == 7
    assert found[1].distance == pytest.approx(1 - 35 / 41)
    assert min(one.distance for one in found[2:]) > 0.9


def near_of(report: CopyReport) -> tuple[bool, str]:
    verdict = next(one for one in report.verdicts if one.limit == "near")
    return verdict.holds, verdict.said.partition(" nearer")[0]


@pytest.mark.parametrize(
    ("made", "draws", "expected"),
    [
        # the notes that were drawn evenly of all are the short ones
        (["ok now", *[PATIENT] * 3], 1, (False, "1 of 1 drawn notes")),
        (["ok now", PATIENT, "ok now", PATIENT, "ok now"], 3, (False, "2 of 2 drawn notes")),
        ([*["ok now"] * 50, PATIENT], 10, (False, "1 of 1 drawn notes")),
        ([PATIENT, *["ok"] * 50], 2, (False, "1 of 1 drawn notes")),
        (["", " . ", "ok now", PATIENT], 1, (False, "1 of 1 drawn notes")),
        (["ok now", "nothing of it here"], 1, (True, "0 of 1 drawn notes")),
        (["nothing of it here"] * 7, 3, (True, "0 of 3 drawn notes")),
    ],
)
def test_notes_are_drawn_among_those_that_can_be_compared(
    made: list[str], draws: int, expected: tuple[bool, str]
) -> None:
    source = notes([PATIENT, "another of them and no more"])
    report = measure_copies(lambda: notes(made), lambda: source, measuring=Measuring(draws=draws))
    assert near_of(report) == expected


def test_the_limit_of_near_notes_is_not_held_where_none_was_compared(tmp_path: Path) -> None:
    both = corpora(tmp_path, notes(["ok now", "so"]), notes([PATIENT]))
    assert not neighbours(both.source, both.synthetic, draws=9).found
    verdict = _near_verdict(NearestNotes(()), CopyLimits())
    assert (verdict.holds, "no note was compared" in verdict.said) == (False, True)


def test_what_a_baseline_says_too_is_chance(tmp_path: Path) -> None:
    source = notes([PATIENT, "unlike it in every word"])
    copied = _measured(source, notes([PATIENT]))
    assert not copied.holds
    by_chance = _measured(source, notes([PATIENT]), notes([PATIENT]))
    assert [one.excess for one in by_chance.rows] == [0.0, 0.0, 0.0]
    assert [one.limit for one in by_chance.verdicts if not one.holds] == ["near"]


def test_sub_words_are_counted_beside_words(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    pieces = tokenizers.Tokenizer(tokenizers.models.BPE())
    pieces.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=30, show_progress=False)
    pieces.train_from_iterator([PATIENT], trainer)
    pieces.save(str(tmp_path / "tokenizer.json"))
    source = notes([PATIENT], word="beta")
    report = measure_copies(
        lambda: notes(["alpha betas here"]),
        lambda: source,
        measuring=Measuring(tokenizer=tmp_path),
    )
    units = {(one.unit, one.marked) for one in report.rows}
    assert units == {(unit, told) for unit in ("words", "sub-words") for told in (False, True)}
    shared = {one.unit: one.synthetic for one in report.rows if one.n == 3 and not one.marked}
    assert shared["words"] == 0
    assert shared["sub-words"] > 0


def test_a_corpus_without_a_word_is_no_proof(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="synthetic corpus has no three words in a row in 1 notes"):
        _measured(notes([PATIENT]), notes(["-"]))
    for nothing in ([], notes(["two words", "or", ""])):
        with pytest.raises(InputError, match="source has no three words in a row"):
            _measured(nothing, notes([PATIENT]))
    with pytest.raises(InputError, match="look for shorter ones"):
        measure_copies(list, list, limits=CopyLimits(longest=4))


def test_files_written_on_the_way_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    seen = []

    def watched() -> Iterator[Annotated]:
        yield from notes([PATIENT])
        seen.extend((one.name, one.stat().st_mode & 0o777) for one in tmp_path.iterdir())

    measure_copies(watched, lambda: notes([PATIENT]))
    assert list(tmp_path.iterdir()) == []
    # private, and named so that the next process removes what a killed one left
    assert [(name.rpartition("-")[0], mode) for name, mode in seen] == [
        (f"deid-unpacked-{os.getpid()}", 0o700)
    ]


def test_a_note_id_is_that_of_the_note(tmp_path: Path) -> None:
    made = [Annotated(Note(f"é{number}" * 3, "a b c")) for number in range(4)]
    corpus: TokenFile = write_tokens(made, tmp_path / "c", WordTokens())
    assert [corpus.note_id(number) for number in range(4)] == [
        f"é{number}" * 3 for number in range(4)
    ]


def written(path: Path, texts: Sequence[str], patient: str = "p") -> Path:
    lines = [
        json.dumps({"id": f"n{number}", "patient_id": f"{patient}{number}", "text": text})
        for number, text in enumerate(texts)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_command_ends_with_1_where_a_note_was_copied_and_shows_no_text(tmp_path: Path) -> None:
    source = written(tmp_path / "source.jsonl", [PATIENT * 2, "quite another text of a patient"])
    made = written(tmp_path / "made.jsonl", ["nothing of it at all", PATIENT * 2])
    words = ["corpus", "copied", str(made), "--from", str(source)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 1
    assert "n1" in done.output
    assert "NOT KEPT: longest passage of one patient 29 words; limit 20" in done.output
    assert "gamma" not in done.output
    shown = CliRunner().invoke(app, [*words, "--show"])
    assert shown.exit_code == 2
    assert "on a terminal alone" in shown.output
    own = CliRunner().invoke(app, [*words, "--baseline", f"{tmp_path}/./made.jsonl"])
    assert own.exit_code == 2
    assert "never saw the source" in " ".join(own.output.split())
    other = written(tmp_path / "other.jsonl", ["nothing of it at all"])
    fine = CliRunner().invoke(
        app, ["corpus", "copied", str(other), "--from", str(source), "--json"]
    )
    assert fine.exit_code == 0
    assert json.loads(fine.stdout)["holds"] is True


def test_a_passage_is_shown_on_one_line_without_what_a_terminal_obeys(tmp_path: Path) -> None:
    made = written(tmp_path / "made.jsonl", [f"So: {PATIENT}.".replace(" gamma", "\x1b[\n gamma")])
    report = measure_copies(lambda: notes_of(str(made)), lambda: notes([PATIENT]))
    assert [*texts_of(str(made), report.listed).values()] == [PATIENT.replace(" gamma", " [ gamma")]


def test_a_faulty_note_stops_the_comparison(tmp_path: Path) -> None:
    source = written(tmp_path / "source.jsonl", [PATIENT])
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"id": "n0"}\n')
    done = CliRunner().invoke(app, ["corpus", "copied", str(broken), "--from", str(source)])
    assert done.exit_code == 2
    assert "only whole corpora are compared" in done.output
