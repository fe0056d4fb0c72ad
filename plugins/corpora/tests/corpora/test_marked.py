"""Notes whose marks stand in the text, and the corpus of the project."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deid_assets.extending import InputError, Phi
from deid_corpora.composed import FOLDERS, PARTS, fetch, marks
from deid_corpora.marked import find_unmarked_repeats, overlapping, read_marked

MARKED = FOLDERS[-1]


def write(folder: Path, text: str) -> Path:
    path = folder / "xx.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_marks_become_offsets(tmp_path: Path) -> None:
    text = (
        "### en-aa-01 en letter, Ireland\nDr {{NAME/staff:Lee}} on {{DATE:Tue the 4th|the 4th}},"
        " {{CITY: Cork }}.\n"
    )
    (note,) = read_marked(write(tmp_path, text))
    assert note.text == "Dr Lee on Tue the 4th,  Cork .\n"
    assert [note.text[mark.start : mark.end] for mark in note.marks] == ["Lee", "the 4th", "Cork"]
    assert (note.marks[0].label, note.marks[0].role) == (Phi.NAME, "staff")
    assert note.kind == "letter, Ireland"


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("{{NAME:Lee", "not balanced"),
        ("{{FOO:Lee}}", "no category FOO"),
        ("{{NAME/boss:Lee}}", "no role 'boss'"),
        ("}} Lee", "not balanced"),
    ],
)
def test_a_broken_mark_names_its_note_and_shows_no_text(
    tmp_path: Path, body: str, fault: str
) -> None:
    path = write(tmp_path, f"### en-aa-01 en x\n{body}\n")
    with pytest.raises(InputError, match=fault) as raised:
        list(read_marked(path))
    assert "en-aa-01" in str(raised.value)
    assert "Lee" not in str(raised.value)


def test_one_id_for_two_notes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="twice"):
        list(read_marked(write(tmp_path, "### a en x\none\n### a en y\ntwo\n")))


def test_unmarked_repeats_and_overlaps_are_found(tmp_path: Path) -> None:
    (note,) = read_marked(
        write(tmp_path, "### a en x\n{{NAME:Bennett}} and Bennett and Bennetts\n")
    )
    assert find_unmarked_repeats(note) == [12]
    assert overlapping(note) == []


def test_the_json_lines_are_those_of_the_marked_texts(tmp_path: Path) -> None:
    for part in PARTS:
        for path in sorted((MARKED / part).glob("*.txt")):
            kept = MARKED.parent / part / f"{path.stem}.jsonl"
            lines = [json.dumps(note.as_json(), ensure_ascii=False) for note in read_marked(path)]
            assert kept.read_text(encoding="utf-8").splitlines() == lines, (
                f"{path}: run deid corpus marks --out"
            )
    del tmp_path


def test_no_author_and_no_note_is_in_two_parts() -> None:
    authors: dict[str, str] = {}
    texts: dict[str, str] = {}
    for part in PARTS:
        for path in sorted((MARKED / part).glob("*.txt")):
            for note in read_marked(path):
                assert authors.setdefault(note.note_id.split("-")[1], part) == part
                assert texts.setdefault(note.text, note.note_id) == note.note_id
                assert not overlapping(note)
    assert set(authors.values()) == set(PARTS)


def test_the_corpus_is_handed_out_as_json_lines(tmp_path: Path) -> None:
    answer = fetch("composed", out=tmp_path)
    assert len(answer.document["files"]) == len(list(MARKED.glob("*/*.txt")))
    first = json.loads((tmp_path / "dev" / "de.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert first["lang"] == "de"
    assert all(0 <= span["start"] < span["end"] <= len(first["text"]) for span in first["spans"])


def test_an_unknown_corpus_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="choose composed"):
        fetch("i2b2", out=tmp_path)


def test_a_folder_without_texts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no file ends in \.txt"):
        marks(tmp_path)
