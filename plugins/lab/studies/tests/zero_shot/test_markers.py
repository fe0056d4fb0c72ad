"""Annotations go through a translator as markers; what comes back otherwise is told."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from deid_assets import Note, Phi, Span
from deid_assets.core.errors import InputError
from deid_assets.testing import mark as tagged
from deid_assets.testing import parse_marked
from deid_zero_shot import projecting
from deid_zero_shot.markers import mark, unmark
from deid_zero_shot.projection import Why

SOURCE = "Seen by Dr. <NAME>Ana Lee</NAME> in <CITY>Rome</CITY>, sex <SEX>M</SEX>."


def came_back(translated: str, source: str = SOURCE):
    note, spans = parse_marked(source, note_id="n", lang="en")
    return unmark(note, list(spans), Note("n", translated, lang="es"))


@given(
    st.text("ab .,\n", max_size=20),
    st.text("ab", min_size=1, max_size=5),
    st.text("ab .", max_size=20),
)
def test_what_a_translator_leaves_as_it_is_comes_back_whole(
    before: str, value: str, after: str
) -> None:
    note = Note("n", before + value + after, lang="en")
    spans = [Span(len(before), len(before) + len(value), Phi.NAME)]

    target, found = unmark(note, spans, replace(note, text=mark(note, spans)))

    assert (target, list(found.spans), list(found.doubts)) == (note, spans, [])


def test_words_may_change_around_the_markers_and_in_them() -> None:
    note, spans = parse_marked(SOURCE, note_id="n", lang="en")
    swap = {
        "Seen by": "Vista por la",
        "Dr.": "Dra.",
        "in": "en",
        "Rome": "Roma",
        "sex": "sexo",
        "#SEX M": "#SEX H",
    }
    text = re.sub(
        "|".join(map(re.escape, swap)), lambda match: swap[match[0]], mark(note, list(spans))
    )

    target, found = unmark(note, list(spans), Note("n", text, lang="es"))

    assert (
        tagged(target, found.spans)
        == "Vista por la Dra. <NAME>Ana Lee</NAME> en <CITY>Roma</CITY>, sexo <SEX>H</SEX>."
    )
    assert not found.doubts


@pytest.mark.parametrize(
    ("translated", "told"),
    [
        ("La Dra. [#NAME Ana Lee] en Roma, sexo [#SEX H].", [(Why.DROPPED, False)]),
        ("En [#CITY Roma] la Dra. [#NAME Ana Lee], sexo [#SEX H].", [(Why.REORDERED, True)] * 2),
        (
            "[#NAME Ana Lee de [#CITY Roma]], sexo [#SEX H].",
            [(Why.DROPPED, False), (Why.NESTED, False)],
        ),
        (
            "[#NAME Ana Lee] [#CIUDAD Roma], sexo [#SEX H].",
            [(Why.DROPPED, False), (Why.EXTRA, False)],
        ),
        ("[#NAME Ana Lee] [#CITY], sexo [#SEX H].", [(Why.DROPPED, False), (Why.EXTRA, False)]),
        ("[#NAME Ana Lee] en [#CITY Roma], sexo [#SEX M].", [(Why.SEX, True)]),
        ("[#NAME Ana Lee], sexo [#SEX H], [#CITY Roma", [(Why.DROPPED, False), (Why.EXTRA, False)]),
    ],
    ids=["dropped", "reordered", "nested", "another type", "empty", "sex", "left open"],
)
def test_what_comes_back_otherwise_is_told(translated: str, told: list[tuple[Why, bool]]) -> None:
    target, found = came_back(translated)

    assert [(doubt.why, doubt.placed) for doubt in found.doubts] == told
    assert "[#" not in target.text
    assert found.lost == sum(doubt.why is Why.DROPPED for doubt in found.doubts)


def test_brackets_of_the_text_itself_stay_or_are_refused() -> None:
    target, found = came_back("[sic] [#NAME Ana Lee] en [#CITY Roma], [#SEX H]]")

    assert target.text == "[sic] Ana Lee en Roma, H]"
    assert not found.doubts
    note, spans = parse_marked("see <NAME>Lee [x]</NAME>")
    with pytest.raises(InputError, match="has a bracket"):
        mark(note, list(spans))
    with pytest.raises(InputError, match="itself"):
        mark(Note("n", "[#NAME Lee]"), [])


def test_the_commands_carry_annotations_both_ways(tmp_path: Path) -> None:
    notes = tmp_path / "notes.jsonl"
    with notes.open("w", encoding="utf-8") as file:
        for number in range(2):
            note, spans = parse_marked(SOURCE, note_id=f"n{number}", lang="en")
            own = [{"start": span.start, "end": span.end, "label": span.label} for span in spans]
            file.write(
                json.dumps({"id": note.note_id, "text": note.text, "lang": "en", "spans": own})
                + "\n"
            )
    sent, back, aligned, lines = (
        tmp_path / name for name in ("sent.jsonl", "back.jsonl", "out.jsonl", "lines.txt")
    )

    def run(*arguments: object) -> tuple[int, str]:
        result = CliRunner().invoke(projecting.app, [str(argument) for argument in arguments])
        return result.exit_code, result.output

    assert run("mark", "--notes", notes, "--out", sent)[0] == 0
    code, output = run("project", "--notes", notes, "--translations", sent, "--out", back)
    assert (code, output.splitlines()[-1]) == (
        0,
        f"2 notes written to {back}: 6 spans, 0 not placed, 0 to be looked at",
    )
    assert [json.loads(row)["text"] for row in back.read_text().splitlines()] == [
        json.loads(row)["text"] for row in notes.read_text().splitlines()
    ]
    assert run("bitext", "--notes", notes, "--translations", notes, "--out", lines)[0] == 0
    assert lines.read_text().count(" ||| ") == 2
    lines.write_text("0-0 1-1 2-2 3-3 4-4 5-5 6-6 7-7 8-8\n0-99\n", encoding="utf-8")
    code, output = run(
        "project",
        "--notes",
        notes,
        "--translations",
        notes,
        "--alignments",
        lines,
        "--out",
        aligned,
    )
    assert code == 2
    assert "note 'n1': alignment entry '0-99'" in output
    assert len(aligned.read_text().splitlines()) == 1
    lines.write_text("0-0\n", encoding="utf-8")
    assert (
        "1 lines for 2 notes"
        in run(
            "project",
            "--notes",
            notes,
            "--translations",
            notes,
            "--alignments",
            lines,
            "--out",
            aligned,
        )[1]
    )
