"""The page of an evaluation.

Its figures, its escaping, its bounds, and that it opens from its document alone.
"""

import base64
import copy
import hashlib
import json
import re

import pytest

from deid_assets.core.errors import InputError
from deid_assets.core.note import Note
from deid_assets.core.phi import HARMONISED, MEDDOCAN, Phi
from deid_assets.core.span import Span, SpanSet
from deid_assets.testing import parse_marked
from deid_evaluation.pages.charts import Axis, Series, axis_of, chart
from deid_evaluation.pages.report import report_html
from deid_evaluation.report import ProfiledNotes, ReportOptions, System, build_report


@pytest.fixture(scope="module")
def report(document):
    return document()


@pytest.fixture(scope="module")
def html(report):
    return report_html(report)


def test_figures_are_those_worked_out_by_hand(report):
    first, second = report["results"]["first"], report["results"]["second"]

    assert (first["covered"]["hits"], first["covered"]["trials"]) == (4, 5)
    assert (first["notes"]["covered"]["hits"], first["notes"]["covered"]["trials"]) == (1, 2)
    assert (second["notes"]["names_only"]["hits"], second["notes"]["names_only"]["trials"]) == (
        1,
        2,
    )
    assert {kind: cell["errors"] for kind, cell in first["errors"]["kinds"].items()} == {
        "missed": 1,
        "boundary": 0,
        "label": 1,
        "spurious": 1,
    }
    assert first["left_by_label"][0]["label"] == "NAME"
    assert first["notes"]["worst"][0] == {
        "note": "n1",
        "gold": 2,
        "left": 1,
        "left_by_label": {"NAME": 1},
        "left_chars": 7,
        "spurious_chars": 0,
    }
    assert report["diffs"][0]["by_label"] == [
        {"label": "DATE", "both": 2, "first_only": 0, "second_only": 0, "neither": 0},
        {"label": "LOCATION", "both": 1, "first_only": 0, "second_only": 0, "neither": 0},
        {"label": "NAME", "both": 0, "first_only": 1, "second_only": 1, "neither": 0},
    ]
    assert [(row["kind"], row["left"]) for row in first["errors"]["rows"]] == [
        ("missed", 7),
        ("label", 0),
        ("spurious", 0),
    ]
    assert first["confusion"]["labels"] == ["DATE", "LOCATION", "NAME", "ORGANIZATION"]
    assert first["ranking"]["never_found"] == 2
    assert first["six_scores"]["all"]["entity"]["category"]["tp"] == 4
    assert report["recapture"]["rows"][0]["missed"] == 0
    assert [row["detector"] for row in report["marginal"]["rows"]] == ["first", "second"]


def test_the_document_is_json_and_the_same_from_run_to_run(report, document):
    assert json.loads(json.dumps(report, allow_nan=False)) == json.loads(
        json.dumps(document(), allow_nan=False)
    )


def test_the_page_is_made_of_the_stored_document_alone(report, html):
    assert report_html(json.loads(json.dumps(report))) == html


@pytest.mark.parametrize("restricted", [False, True])
def test_words_of_notes_are_shown_where_that_is_asked_for_and_ids_of_patients_never(
    restricted, document
):
    report = document(with_text=restricted)
    page, stored = report_html(report), json.dumps(report)

    for written in (page, stored):
        assert ("Zyxwick" in written) is restricted
        assert "pat-1" not in written
    assert ("Restricted: this page shows text of notes." in page) is restricted


def test_nothing_is_fetched_and_the_one_script_is_named_by_its_digest(html, page_of):
    page = page_of(re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL))
    (script,) = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()

    assert not re.search(
        r"https?:|@import|url\(|javascript:", html.replace(script, ""), re.IGNORECASE
    )
    assert not re.search(r"https?:|fetch\(|XMLHttpRequest|WebSocket|eval\(", script)
    assert (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src"
        f" 'sha256-{digest}'" in html.replace("&#39;", "'")
    )
    assert page.tags.isdisjoint({"link", "iframe", "object", "embed", "base", "img"})
    assert not {
        name for _, attributes in page.elements for name in attributes if name.startswith("on")
    }
    assert "innerHTML" not in script


def test_tables_can_be_read_aloud_and_elements_are_closed(html, page_of):
    page = page_of(
        re.sub(r"<script.*?</script>|<(input|option)\b[^>]*>", "", html, flags=re.DOTALL)
    )

    assert page.open == []
    assert all(attributes.get("scope") for tag, attributes in page.elements if tag == "th")
    assert page.captions == len(page.tables)
    assert all(
        attributes.get("aria-label") or attributes.get("aria-hidden") == "true"
        for tag, attributes in page.elements
        if tag == "svg"
    )


def test_hostile_names_ids_groups_and_titles_are_text(hostile):
    word, report = hostile
    html = report_html(report)

    assert len(re.findall(r"<script\b", html)) == len(re.findall(r"</script", html)) == 2
    assert "<img" not in html
    assert html.count("{{ 7*7 }}") > 10
    (data,) = re.findall(
        r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL
    )
    assert not set("<>&\u2028") & set(data)
    assert json.loads(data)["rows"][0][1] == word


def test_the_page_does_not_grow_with_the_errors():
    def size(notes):
        made = [Note(f"n{at}", "x" * 60) for at in range(notes)]
        gold = {
            note.note_id: SpanSet.of(note, [Span(at, at + 2, Phi.NAME) for at in range(0, 50, 5)])
            for note in made
        }
        none = {note.note_id: SpanSet.of(note, [Span(52, 54, Phi.DATE)]) for note in made}
        held = ProfiledNotes(
            notes={note.note_id: note for note in made}, gold=gold, profile=HARMONISED
        )
        report = build_report(
            held, [System("s", none)], options=ReportOptions(title="t", resamples=100)
        )
        assert report["results"]["s"]["errors"]["kinds"]["missed"] == {
            "errors": 10 * notes,
            "shown": 100,
            "left": 10 * notes,
        }
        return len(report_html(report))

    assert size(400) < 1.05 * size(100)


def test_on_paper_there_are_a_few_errors_of_every_kind():
    text = "<NAME>Lee</NAME> " * 30
    note, gold = parse_marked(text)
    held = ProfiledNotes(notes={note.note_id: note}, gold={note.note_id: gold}, profile=HARMONISED)
    silent = System("s", {note.note_id: SpanSet(note.note_id, note.digest)})
    page = report_html(
        build_report(held, [silent], options=ReportOptions(title="t", resamples=100))
    )

    assert "Missed, s: 12 of 30; 18 more, 18 of them in report.json." in page
    (data,) = re.findall(
        r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL
    )
    assert len(json.loads(data)["rows"]) == 30


def test_it_says_how_many_more_errors_there_are(html, document):
    made = copy.deepcopy(document())
    cell = made["results"]["first"]["errors"]["kinds"]["missed"]
    cell |= {"errors": 1_234, "shown": 1}

    assert "1 of 1,234; 1,233 more" in report_html(made)
    assert "more" not in re.search(r"Missed, first: ([^<]*)", html)[1]


def test_meddocan_scores_are_shown_under_its_profile(html, document):
    page = report_html(document(profile=MEDDOCAN))

    assert "The official scores of MEDDOCAN" in page
    assert "The official scores of MEDDOCAN" not in html


def test_one_system_of_one_score_has_no_curve_and_says_why(document):
    page = report_html(document(scores=(1.0,)))

    assert "all predictions have the same score" in page
    assert "Side by side" not in page
    assert "one system that scores all its spans alike" in page


def test_another_document_is_refused(report):
    with pytest.raises(
        InputError, match="not a report of deid-assets/evaluation-report, version 2"
    ):
        report_html(report | {"version": 1})


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [([0.42, 1.2], 0, 2.5), ([4], 0, 5), ([30], 0, 50), ([0.004], 0, 0.005), ([], 0, 1)],
)
def test_axes_end_at_round_numbers_above_all_values(values, low, high):
    axis = axis_of("x", values)

    assert (axis.low, axis.high) == (low, pytest.approx(high))


def test_a_chart_has_its_corners_where_the_axes_end():
    drawn = chart("t", [Series("s", [(0, 0), (1, 1), (float("nan"), 0)])], x=Axis("x"), y=Axis("y"))

    assert drawn.lines[0].path == "M44.0 190.0 L330.0 10.0"
    assert [words for _, words in drawn.x_ticks] == ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]


def test_a_category_with_few_identifiers_is_named_the_worst_only_where_all_have_few(document):
    made = copy.deepcopy(document(scores=(0.9, 0.5)))
    rows = made["results"]["first"]["left_by_label"]
    assert "The worst category is <b>NAME</b> with 1 of 2 left" in report_html(made)

    rows.append(rows[0] | {"label": "PLACE", "gold": 40, "left": 3})
    assert "of at least 20 identifiers is <b>PLACE</b> with 3 of 40 left" in report_html(made)
