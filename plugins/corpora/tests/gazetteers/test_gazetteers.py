"""Lists of every kind become one compiled dictionary, and raw notes a vocabulary."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from deid_assets.cli import app
from deid_assets.core.errors import InputError
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.span import Span, SpanSet
from deid_assets.gazetteers import PHRASE_LISTS, WORD_LISTS, Entry, Gazetteer, write_gazetteer
from deid_gazetteers.sources import read_entries
from deid_gazetteers.vocabulary import CaseCounts
from deid_rules import RulesDetector
from deid_rules.lexicon import PHRASE_LABELS, WORD_KINDS

FILES = {
    "plain.txt": "# ours\nZedmarlow\n\n  Quillhaven \n",
    "one.csv": "name\nZedmarlow\nQuillhaven\n",
    "many.csv": "\ufeffland,name,n\nXX,Zedmarlow,30\nXX,Quillhaven,4\nYY,Borgwarth,50\n",
    "many.tsv": "land\tname\tn\nXX\tZedmarlow\t30\nXX\tQuillhaven\t4\nYY\tBorgwarth\t50\n",
    "headless.csv": "# counted in 2020\nZedmarlow,30\nQuillhaven,4\n",
    "strings.json": '["Zedmarlow", "Quillhaven"]',
    "weights.json": '{"Zedmarlow": 30, "Quillhaven": 4}',
    "objects.json": '[{"name": "Zedmarlow", "n": 30}, {"name": "Quillhaven", "n": "4"}]',
    "objects.jsonl": '{"name": "Zedmarlow", "n": 30}\n{"name": "Quillhaven", "n": 4}\n',
}
BY_COLUMN = {"column": "name", "weight": "n"}


@pytest.mark.parametrize(
    ("name", "options", "weights"),
    [
        ("plain.txt", {}, (1, 1)),
        ("one.csv", {}, (1, 1)),
        ("many.csv", {**BY_COLUMN, "where": {"land": "XX"}}, (30, 4)),
        ("many.tsv", {**BY_COLUMN, "where": {"land": "XX"}}, (30, 4)),
        ("headless.csv", {"column": "1", "weight": "2"}, (30, 4)),
        ("strings.json", {}, (1, 1)),
        ("weights.json", {}, (30, 4)),
        ("objects.json", BY_COLUMN, (30, 4)),
        ("objects.jsonl", BY_COLUMN, (30, 4)),
    ],
)
def test_lists_of_every_kind_are_read(name, options, weights, tmp_path):
    path = tmp_path / name
    path.write_text(FILES[name], encoding="utf-8")
    assert list(read_entries(path, **options)) == [
        Entry("Zedmarlow", weights[0]),
        Entry("Quillhaven", weights[1]),
    ]


@pytest.mark.parametrize(
    ("name", "text", "options", "message"),
    [
        ("a.xlsx", "x", {}, "a list is one of"),
        ("a.csv", "x,y\n1,2\n", {}, r"several columns \(x, y\)"),
        ("a.csv", "x,y\n1,2\n", {"column": "z"}, "row 2: no column 'z'"),
        ("a.csv", "x,y\n1,2\n", {"column": "x", "where": {"w": "1"}}, "no column 'w'"),
        (
            "a.csv",
            "x,y\n1,heavy\n",
            {"column": "x", "weight": "y"},
            "row 2: the weight is no number",
        ),
        ("a.json", "[1, 2]", {}, "neither an array"),
        ("a.json", "{", {}, "not valid JSON"),
    ],
)
def test_a_list_that_does_not_fit_is_refused_with_its_place(name, text, options, message, tmp_path):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        list(read_entries(path, **options))


def test_a_list_in_another_encoding_is_refused(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("Müller".encode("latin-1"))
    with pytest.raises(InputError, match="byte 1 is not UTF-8"):
        list(read_entries(path))
    with pytest.raises(InputError, match="does not exist"):
        list(read_entries(tmp_path / "absent.txt"))


@given(
    st.dictionaries(
        st.text(st.characters(categories=["Ll"]), min_size=2, max_size=12),
        st.floats(0, 1e6, width=32),
    )
)
def test_what_is_compiled_is_found_again_with_its_weight(tmp_path_factory, words):
    path = tmp_path_factory.mktemp("lists") / "words.gaz"
    entries = [Entry(word, weight) for word, weight in words.items()]
    if not any(word.lower() == word for word in words):
        return
    built = write_gazetteer(path, entries, kind="common_words")
    opened = Gazetteer(path)
    assert len(opened) == built.kept == len(list(opened))
    assert all(opened.weight(word.lower()) == weight for word, weight in words.items())
    assert "ab cd" not in opened


def test_light_and_ordinary_entries_are_left_out_and_counted(tmp_path):
    path = tmp_path / "names.gaz"
    entries = [
        Entry("Wood", 900),
        Entry("Hope", 20),
        Entry("Zedmarlow", 3),
        Entry("Quillhaven", 40),
        Entry("123", 50),
    ]
    built = write_gazetteer(
        path,
        entries,
        kind="last_names",
        min_weight=10,
        ambiguous=frozenset({"wood", "hope"}),
        keep_from=100,
    )
    assert (built.kept, built.light, built.ambiguous, built.unusable) == (2, 1, 1, 1)
    assert [entry.text for entry in Gazetteer(path)] == ["quillhaven", "wood"]


def test_words_of_a_name_are_kept_one_by_one_and_phrases_whole(tmp_path):
    write_gazetteer(tmp_path / "n.gaz", [Entry("van der Zedmarlow")], kind="last_names")
    assert [entry.text for entry in Gazetteer(tmp_path / "n.gaz")] == ["zedmarlow"]
    write_gazetteer(
        tmp_path / "h.gaz", [Entry("Haus am  Borgwarth"), Entry("Haus")], kind="hospitals"
    )
    assert sorted(Gazetteer(tmp_path / "h.gaz").beginning_with("haus")) == [
        ("haus",),
        ("haus", "am", "borgwarth"),
    ]


@pytest.mark.parametrize("blob", [b"", b"not a trie", b"\0" * 4000])
def test_a_file_that_is_no_compiled_list_is_refused(blob, tmp_path):
    path = tmp_path / "x.gaz"
    path.write_bytes(blob)
    with pytest.raises(InputError, match=r"x\.gaz"):
        Gazetteer(path)


def test_nothing_left_is_an_error_and_leaves_no_file(tmp_path):
    with pytest.raises(InputError, match="no entry is left"):
        write_gazetteer(tmp_path / "x.gaz", [Entry("123")], kind="cities")
    with pytest.raises(InputError, match="unknown kind"):
        write_gazetteer(tmp_path / "x.gaz", [Entry("Abc")], kind="wishes")
    assert not list(tmp_path.iterdir())


def test_kinds_are_those_that_the_rules_read():
    assert set(WORD_LISTS) <= set(WORD_KINDS)
    assert PHRASE_LABELS == PHRASE_LISTS


def test_the_rules_find_what_a_compiled_list_holds(tmp_path):
    write_gazetteer(tmp_path / "h.gaz", [Entry("Quillhaven Ost")], kind="hospitals")
    write_gazetteer(tmp_path / "n.gaz", [Entry("Zedmarlow")], kind="last_names")
    note = Note(
        "n",
        "Moved from Quillhaven Ost after a call by Karen Zedmarlow yesterday evening.",
        lang="en",
    )
    (spans,) = RulesDetector(gazetteers=[tmp_path / "h.gaz", tmp_path / "n.gaz"]).detect([note])
    assert [(span.label, note.text[span.start : span.end]) for span in spans] == [
        (Phi.HOSPITAL, "Quillhaven Ost"),
        (Phi.NAME, "Karen Zedmarlow"),
    ]


def test_a_vocabulary_holds_what_many_patients_share_and_no_detector_marks():
    grown = CaseCounts(min_patients=3)
    for number in range(4):
        note = Note(
            f"n{number}",
            "The wound of zedmarlow is dry. Seen by Wood and Wood, the wood.",
            patient_id=f"p{number}",
        )
        at = note.text.index("zedmarlow")
        grown.add(note, SpanSet.of(note, [Span(at, at + 9, Phi.NAME)]))
    for number in range(5):  # the same patient again and again
        note = Note(f"m{number}", "quillhaven is here", patient_id="p9")
        grown.add(note, SpanSet.of(note, []))
    words = {word for word, _ in grown.words()}
    assert {"wound", "of", "wood"} <= words
    assert not {"zedmarlow", "quillhaven"} & words


def test_a_word_that_is_nearly_always_a_name_is_not_ordinary():
    grown = CaseCounts(min_patients=2)
    for number in range(40):
        word = "murray" if number < 3 else "Murray"
        note = Note(f"n{number}", f"we called {word} again")
        grown.add(note, SpanSet.of(note, []))
    assert "murray" not in dict(grown.words())


def test_the_commands_build_show_and_grow(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = CliRunner().invoke
    assert run(app, ["corpus", "make", "--notes", "60", "--out", "notes.jsonl"]).exit_code == 0
    grown = run(
        app,
        [
            "gazetteer",
            "vocabulary",
            "notes.jsonl",
            "--detector",
            "rules",
            "--out",
            "words.gaz",
            "--json",
        ],
    )
    assert grown.exit_code == 0
    assert json.loads(grown.stdout)["notes"] == 60
    Path("names.csv").write_text("who,n\nPain,5\nZedmarlow,7\n", encoding="utf-8")
    build = (
        "gazetteer build names.csv --kind last_names --column who --weight n --vocabulary words.gaz"
        " --out n.gaz --json"
    )
    built = run(app, build.split())
    assert (json.loads(built.stdout)["kept"], json.loads(built.stdout)["ambiguous"]) == (1, 1)
    assert run(app, ["gazetteer", "show", "n.gaz"]).stdout == "7\tzedmarlow\n"


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ("gazetteer build a.txt --kind wishes --out a.gaz", "unknown kind"),
        ("gazetteer build a.txt --kind cities --out a.bin", "ends with .gaz"),
        ("gazetteer build b.txt --kind cities --out a.gaz", "does not exist"),
        ("gazetteer build a.txt --kind cities --where x --out a.gaz", "COLUMN=VALUE"),
        (
            "gazetteer build a.txt --kind cities --vocabulary a.txt --out a.gaz",
            "not a compiled list",
        ),
        ("gazetteer show a.txt", "not a compiled list"),
    ],
)
def test_a_wrong_command_is_one_line(arguments, fault, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("Quillhaven\n", encoding="utf-8")
    result = CliRunner().invoke(app, arguments.split())
    assert result.exit_code == 2
    assert fault in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.skipif(
    "DEID_CORPORA" not in os.environ, reason="DEID_CORPORA is not set to a folder of public corpora"
)
@pytest.mark.parametrize(
    ("path", "options", "kind", "least"),
    [
        (
            "names-by-country-cc0/common-surnames-by-country.csv",
            {"column": "Romanized Name"},
            "last_names",
            1_500,
        ),
        ("it-comuni/comuni.csv", {"column": "nome"}, "cities", 7_000),
        ("nl-deduce/lst_surname.txt", {}, "last_names", 9_000),
        ("ch-de-ratschlab/firstnames_switzerland_frequent.lst", {}, "first_names", 1_000),
        ("nl-deduce/lst_healthcare_institution.txt", {}, "hospitals", 500),
    ],
)
def test_public_lists_compile(path, options, kind, least, tmp_path):
    entries = read_entries(Path(os.environ["DEID_CORPORA"]) / "gazetteers" / path, **options)
    assert write_gazetteer(tmp_path / "x.gaz", entries, kind=kind).kept >= least
