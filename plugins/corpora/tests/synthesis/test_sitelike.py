"""Notes that look like a site's own: what is learnt, what is not, and what the notes tell."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deid_assets import Note
from deid_assets.cli import app
from deid_assets.extending import DisjointSpans, InputError
from deid_assets.extending.commands import Annotated
from deid_copying.report import CopyLimits, Measuring, measure_copies
from deid_corpora.marked import read_marked
from deid_synthesis import make_corpus
from deid_synthesis.learning import learn
from deid_synthesis.profile import SiteProfile, read_profile
from deid_synthesis.sections import section_bank
from deid_synthesis.sitelike import make_site_corpus

COMPOSED = Path(__file__).parents[4] / "corpora" / "composed" / "marked" / "train"
SECRET = "Zorvathian"


def site(notes: int = 30, *, extra: Sequence[str] = ()) -> list[Annotated]:
    """A site that writes `HPI`, `Labs` and `Plan` in brackets, with stars for items."""
    text = (
        f"[{SECRET} Clinic]\n[HPI]\n{SECRET} pain for days.\n\n[Labs]\n* sodium 140\n* potassium 4"
        "\n\n[Plan]\n* home\n"
    )
    texts = [text] * notes + list(extra)
    made = []
    for number, one in enumerate(texts):
        note = Note(f"n{number}", one, patient_id=f"p{number}", lang="en")
        made.append(Annotated(note, DisjointSpans.of(note, [])))
    return made


def test_a_profile_has_layout_and_no_word_of_the_notes() -> None:
    profile = learn(site(), "en")
    assert SECRET.casefold() not in profile.as_text().casefold()
    assert profile.headings == {"[{}]\n": 1.0}
    assert profile.bullets == {"* ": 1.0}
    assert profile.following["hpi"] == {"labs": 1.0}
    assert profile.following["labs"] == {"plan": 1.0}
    assert profile.first == {"other": 1.0}
    assert profile.without_identifiers == 1.0


def test_what_nine_patients_show_is_not_in_a_profile_and_what_ten_show_is() -> None:
    rare = "## Labs\n#1 sodium\n"
    nine = learn(site(extra=[rare] * 9), "en")
    ten = learn(site(extra=[rare] * 10), "en")
    assert "## {}\n" not in nine.headings
    assert "#{} " not in nine.bullets
    assert "## {}\n" in ten.headings
    assert "#{} " in ten.bullets
    with pytest.raises(InputError, match="a profile takes 10"):
        learn(site(9), "en")


def test_one_patient_with_many_notes_shows_nothing() -> None:
    own = [
        Annotated(Note(f"x{n}", "## Labs\nfine\n", patient_id="x", lang="en")) for n in range(50)
    ]
    many = [Annotated(one.note, DisjointSpans.of(one.note, [])) for one in own]
    assert "## {}\n" not in learn([*site(), *many], "en").headings


def test_a_note_without_annotations_is_refused() -> None:
    with pytest.raises(InputError, match="'n0' is not annotated; give annotated notes"):
        learn([Annotated(Note("n0", "text", lang="en"))], "en")


def test_the_notes_have_the_layout_of_the_site() -> None:
    made = list(make_site_corpus(learn(site(), "en"), notes=20, seed=3))
    assert [note.note_id for note, _ in made] == [f"like-en-3-{n:06d}" for n in range(20)]
    for note, spans in made:
        assert SECRET.casefold() not in note.text.casefold()
        assert not len(spans)
        assert re.match(r"\[[^\]]+\]\n", note.text)
    again = [note.text for note, _ in make_site_corpus(learn(site(), "en"), notes=5, seed=3)]
    assert again == [note.text for note, _ in made[:5]]


@pytest.fixture(scope="module")
def emergency() -> list[Annotated]:
    made = make_corpus(lang="en", notes=120, seed=21, kinds=["emergency"])
    return [Annotated(note, spans) for note, spans in made]


@pytest.fixture(scope="module")
def composed() -> list[Annotated]:
    return [_annotated(note) for note in list(read_marked(COMPOSED / "en.txt"))[:100]]


def test_lengths_and_categories_are_nearer_to_the_site_than_those_of_the_default(
    composed: list[Annotated],
) -> None:
    profile = learn(composed, "en")
    like = list(make_site_corpus(profile, notes=60, seed=5))
    default = list(make_corpus(lang="en", notes=60, seed=5))
    assert _off(like, profile) < 0.85 * _off(default, profile)
    for note, spans in like:
        for span in spans:
            assert note.text[span.start : span.end].strip()


def _off(made: Sequence[tuple[Note, DisjointSpans]], profile: SiteProfile) -> float:
    """How far the mix of categories and the mean length are from a profile's, by share."""
    with_any = [spans for _, spans in made if len(spans)]
    counts = Counter(str(span.label) for spans in with_any for span in spans)
    wanted = profile.identifiers
    mix = sum(abs(counts[one] / len(with_any) - mean) for one, mean in wanted.items())
    words = sum(len(note.text.split()) for note, _ in made) / len(made)
    mean = sum(profile.words) / len(profile.words)
    return mix / sum(wanted.values()) + abs(words - mean) / mean


@pytest.mark.parametrize("lang", ["sv", "fr", "pl"])
def test_every_grammar_has_sections_to_write(lang: str) -> None:
    bank = section_bank(lang)
    assert len(bank.bodies) >= 20
    composed = [_annotated(note) for note in list(read_marked(COMPOSED / f"{lang}.txt"))[:40]]
    made = list(make_site_corpus(learn(composed, lang), notes=6, seed=1))
    assert {note.lang for note, _ in made} == {lang}


def _annotated(marked) -> Annotated:
    note = Note(marked.note_id, marked.text, lang=marked.lang)
    return Annotated(note, DisjointSpans.of(note, _spans(marked)))


def _spans(marked):
    from deid_assets import Span

    return [Span(one.start, one.end, one.label) for one in marked.marks]


def test_notes_made_of_true_to_life_ones_share_no_more_than_those_of_who_never_saw_them(
    composed: list[Annotated],
) -> None:
    """The proof by the measures: 100 composed notes as a site's, and the default corpus."""
    source = composed
    profile = learn(source, "en")
    report = measure_copies(
        lambda: (Annotated(*one) for one in make_site_corpus(profile, notes=60, seed=9)),
        lambda: source,
        lambda: (Annotated(*one) for one in make_corpus(lang="en", notes=60, seed=9)),
        measuring=Measuring(passage=6, draws=60),
        limits=CopyLimits(excess=0.001, longest=6),
    )
    assert report.holds, [one.said for one in report.verdicts]
    assert max(one.recall for one in report.rows if one.n >= 5) < 0.001
    # the same measures see notes that do hold the site's words
    copied = measure_copies(lambda: source[:10], lambda: source, measuring=Measuring(draws=10))
    assert not any(one.holds for one in copied.verdicts)


def test_a_length_is_the_mean_of_notes_of_ten_patients_or_more() -> None:
    def note(number: int, words: int, patient: str) -> Annotated:
        own = Note(f"n{number}", "word " * words, patient_id=patient, lang="en")
        return Annotated(own, DisjointSpans.of(own, []))

    short = [note(at, 10 + at, f"p{at}") for at in range(20)]
    assert learn(short, "en").words == [14, 24]
    # one patient has all the long notes
    long = [note(100 + at, 700, "px") for at in range(20)]
    assert learn([*short, *long], "en").words == [14, 470, 470, 470]


def test_a_profile_file_is_read_back_and_one_with_a_word_is_refused(tmp_path: Path) -> None:
    profile = learn(site(), "en")
    path = tmp_path / "profile.json"
    path.write_text(profile.as_text())
    assert read_profile(path).as_text() == profile.as_text()
    for change in (
        {"bullets": {SECRET: 1.0}},
        {"first": {SECRET: 1.0}},
        {"notes": SECRET},
        {"least": SECRET},
        {"identifiers": {"NAME": "2.5"}},
        {"words": []},
        {"words": [-1]},
        {"x": 1},
    ):
        path.write_text(json.dumps({**profile.to_json(), **change}))
        with pytest.raises(InputError, match="no profile of notes"):
            read_profile(path)


def test_the_command_learns_writes_filters_and_makes_again_from_the_profile(
    tmp_path: Path, emergency: list[Annotated]
) -> None:
    source = tmp_path / "notes.jsonl"
    rows = [_row(one) for one in emergency]
    source.write_text("\n".join(rows) + "\n")
    out, profile = tmp_path / "made.jsonl", tmp_path / "profile.json"
    words = ["corpus", "synthesize", "--notes", "12", "--json"]
    done = CliRunner().invoke(
        app, [*words, "--like", str(source), "--out", str(out), "--profile", str(profile)]
    )
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["notes"] == 12
    assert told["compared"] is True
    assert set(told["removed"]) >= {"too short", "said before", "copied words"}
    again = tmp_path / "again.jsonl"
    done = CliRunner().invoke(app, [*words, "--like", str(profile), "--out", str(again)])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["compared"] is False
    first = json.loads(again.read_text().splitlines()[0])
    assert first["spans"] is not None


def _row(one: Annotated) -> str:
    spans = [
        {"start": span.start, "end": span.end, "label": str(span.label)} for span in one.spans or ()
    ]
    note = one.note
    return json.dumps(
        {
            "id": note.note_id,
            "text": note.text,
            "patient_id": note.patient_id,
            "lang": note.lang,
            "spans": spans,
        }
    )


def test_the_command_refuses_what_cannot_be(tmp_path: Path) -> None:
    profile = tmp_path / "profile.json"
    profile.write_text(learn(site(), "en").as_text())
    words = ["corpus", "synthesize", "--like", str(profile)]
    done = CliRunner().invoke(app, words)
    assert (done.exit_code, "nothing to write" in done.output) == (2, True)
    done = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "o.jsonl"), "--generator", "x"])
    assert (done.exit_code, "choose one of grammar, frames" in done.output) == (2, True)
    done = CliRunner().invoke(app, [*words, "--out", str(profile)])
    assert done.exit_code == 2
    out = str(tmp_path / "o.jsonl")
    done = CliRunner().invoke(app, [*words, "--out", out, "--profile", out])
    assert (done.exit_code, "name one file" in done.output) == (2, True)
    done = CliRunner().invoke(app, [*words, "--out", out, "--lang", "de"])
    assert (done.exit_code, "is a profile of 'en'" in done.output) == (2, True)
