"""The page and tables of a tagger's analysis."""

import copy
import json
import re
import struct

import numpy as np
import pytest

from deid_assets.core.errors import InputError

_PAGE, _PLOTS = (pytest.importorskip(f"deid_tagger_analysis.{name}") for name in ("page", "plots"))
alike_md = _PAGE.alike_md
analysis_html = _PAGE.analysis_html
error_bars = _PAGE.error_bars
errors_md = _PAGE.errors_md
label_rows = _PAGE.label_rows
COLOURS = _PLOTS.COLOURS
OTHERS = _PLOTS.OTHERS
boxed = _PLOTS.scale_to_box
shown_labels = _PLOTS.map_labels
space_png = _PLOTS.space_png
turned = _PLOTS.turn_points

KINDS = ("missed", "boundary", "label", "spurious")


def counts(tp, fp, fn):
    return {
        "tp": tp,
        "fp": fp,
        "fn": fn,
        "precision": tp / (tp + fp) if tp + fp else None,
        "recall": tp / (tp + fn) if tp + fn else None,
        "f1": 2 * tp / (2 * tp + fp + fn),
    }


def error_row(label, gold, *of_kinds):
    kinds = dict(zip(KINDS, of_kinds, strict=True))
    row = {"label": label, "gold": gold, "errors": sum(of_kinds), "kinds": kinds}
    return {**row, "tokens": 2 * gold, "tokens_missed": of_kinds[0], "tokens_spurious": of_kinds[3]}


def model(name, f1, **changed):
    six = {
        level: dict.fromkeys(("sub_category", "category", "binary"), f1)
        for level in ("entity", "token")
    }
    return {
        "name": name,
        "plugin": "flair",
        "plugin_version": "1+abc",
        "fingerprint": "f" * 64,
        "trained_at": "2026-11-05T22:04:00+00:00",
        "learnt_from": [{"name": "letters", "role": "train", "notes": 30, "spans": 90}],
        "these_are_its": "",
        "seconds": 12.0,
        "size_bytes": 2_000_000,
        "f1": {"value": f1, "low": f1 - 0.1, "high": f1 + 0.05},
        "failed": 0,
        "six": six,
        "changes": [],
        "difference": None,
        **changed,
    }


@pytest.fixture
def vectors():
    chance = np.random.default_rng(1)
    labels = ["NAME"] * 20 + ["CITY"] * 12 + ["O"] * 30
    layers = {"embeddings": 0.4, "encoder": 0.9}
    points = [
        [[round(float(value), 3) for value in row] for row in chance.normal(size=(62, 3))]
        for _ in layers
    ]
    return {
        "tokens": 62,
        "nearest": 10,
        "layers": [{"name": name, "width": 64} for name in layers],
        "alike": [
            {"label": label, "tokens": 20, "chance": 0.3, "layers": layers}
            for label in ("ALL", "CITY", "O")
        ],
        "apart": [
            {
                "label": "NAME",
                "languages": ["en", "it"],
                "layers": {"embeddings": 0.5, "encoder": 0.125},
            }
        ],
        "labels": labels,
        "languages": ["en", "it"] * 31,
        "projections": [
            {"layer": name, "explained": [0.5, 0.25, 0.1], "points": found}
            for name, found in zip(layers, points, strict=True)
        ],
    }


@pytest.fixture
def document(vectors):
    gap = {"value": -0.2, "low": -0.3, "high": -0.1, "p": 0.001}
    changed = [{"key": "encoder", "first": "lstm", "other": "linear"}]
    return {
        "schema": "deid-assets/tagger-analysis",
        "version": 1,
        "restricted": False,
        "notes": {
            "name": "dev.jsonl",
            "digest": "d" * 64,
            "notes": 40,
            "spans": 60,
            "languages": ["en", "it"],
        },
        "models": [model("full", 0.8), model("linear", 0.6, changes=changed, difference=gap)],
        "labels": {"ALL": counts(50, 7, 10), "NAME": counts(30, 3, 10), "CITY": counts(20, 4, 0)},
        "drawn": {"unit": "note", "units": 40, "resamples": 1000, "seed": 0},
        "errors": {
            "errors": 14,
            "kinds": {"missed": 6, "boundary": 3, "label": 1, "spurious": 4},
            "tokens_missed": 6,
            "tokens_spurious": 4,
            "labels": [error_row("NAME", 40, 6, 3, 1, 2), error_row("CITY", 20, 0, 0, 0, 2)],
            "confused": [{"gold": "NAME", "predicted": "CITY", "spans": 1}],
        },
        "vectors": vectors,
    }


@pytest.fixture
def restricted(document):
    near = [{"word": "Ito", "label": "NAME", "cosine": 0.71, "count": 3}]
    words = {
        "counted_in": "these notes",
        "neighbours": [
            {
                "word": "Lee",
                "label": "NAME",
                "why": "missed",
                "count": 1,
                "layers": {"embeddings": near, "encoder": []},
            }
        ],
        "ambiguous": [
            {
                "word": "Jordan",
                "labels": ["CITY", "NAME"],
                "tokens": 4,
                "layers": {"embeddings": 1.0},
            }
        ],
    }
    evidence = [{"label": "NAME", "about": "a word, in lower case", "what": "dr", "weight": 4.25}]
    return {**document, "restricted": True, "words": words, "evidence": evidence}


def text_of(html):
    body = html[html.index("<body>") : html.index("<footer")]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body))


def test_the_page_says_what_the_document_holds(document):
    page = text_of(analysis_html(document))

    assert "14 spans are wrong under the strict scheme; the most, 12 , at NAME" in page
    assert "40 % have its label in the embeddings and 90 % in the encoder" in page
    assert "encoder: lstm → linear" in page
    assert "-0.200 [-0.300, -0.100]" in page
    assert "embeddings: 50.0 %, 25.0 %, 10.0 % of the variance" in page
    assert "full: analysis" in analysis_html(document)
    assert "Restricted" not in page


def test_one_model_has_no_table_of_changes_and_a_crf_no_vectors(document):
    document["models"] = document["models"][:1]
    document["vectors"] = {"left_out": "a model of the plugin crf has no vectors: it is no network"}
    html = analysis_html(document)

    assert "What a change costs" not in html
    assert "Not shown: a model of the plugin crf has no vectors: it is no network." in text_of(html)
    assert "<script" not in html


def test_words_are_on_a_restricted_page_alone(document, restricted):
    open_page, secret = analysis_html(document), analysis_html(restricted)

    for word in ("Lee", "Ito", "Jordan", "4.25"):
        assert word in secret
        assert word not in open_page
    assert "this page shows words of notes" in secret


def test_notes_that_were_learnt_are_warned_of(document):
    document["models"][0]["these_are_its"] = "train"
    document["models"][1]["these_are_its"] = "dev"
    page = text_of(analysis_html(document))
    assert "full was trained on these notes" in page
    assert "These are the notes that linear was chosen by" in page


def test_a_page_without_errors_or_gold_can_be_made(document):
    document["labels"] = {"ALL": {**counts(0, 1, 0), "f1": None}}
    document["models"] = [{**model("full", 0.8, failed=2), "f1": None}]
    document["errors"] = {
        "errors": 0,
        "kinds": dict.fromkeys(KINDS, 0),
        "tokens_missed": 0,
        "tokens_spurious": 0,
        "labels": [],
        "confused": [],
    }
    page = text_of(analysis_html(document))

    assert "No span is wrong." in page
    assert "could not read 2 notes" in page


def test_every_value_is_escaped(restricted, probe):
    harmed = copy.deepcopy(restricted)
    harmed["notes"]["name"] = harmed["models"][0]["name"] = harmed["models"][1]["changes"][0][
        "other"
    ] = probe
    harmed["words"]["neighbours"][0]["word"] = harmed["evidence"][0]["what"] = probe
    harmed["vectors"]["labels"][0] = probe
    html = analysis_html(harmed)

    assert "<script>alert" not in html
    assert "<img src=x" not in html
    assert json.loads(re.search(r'id="points">(.*?)</script>', html, re.DOTALL)[1])["kinds"]


def test_the_page_loads_nothing_and_names_its_script(document):
    html = analysis_html(document)

    assert not re.findall(r"""(?:src|href)=["'](?!#|data:)""", html)
    assert re.search(r"default-src 'none'; .*script-src 'sha256-[\w+/=]+'", html)
    assert html.count("<script") == 2


def test_a_document_of_another_kind_is_refused(document):
    with pytest.raises(InputError, match="not an analysis of deid-assets/tagger-analysis"):
        analysis_html({**document, "version": 2})


def test_labels_are_sorted_by_recall_and_all_come_last(document):
    rows = label_rows(document["labels"])

    assert [row.label for row in rows] == ["NAME", "CITY", "ALL"]
    assert rows[0].recall.value == 0.75


def test_bars_are_as_long_as_the_errors(document):
    bars = error_bars(document["errors"])

    assert sum(width for _, _, width in bars["NAME"]) == pytest.approx(
        6 * sum(w for _, _, w in bars["CITY"]), abs=0.5
    )
    assert [kind for kind, _, _ in bars["CITY"]] == ["spurious"]
    assert error_bars({"labels": []}) == {}


def test_errors_and_neighbours_are_tables_in_metadata(document, vectors):
    lines = errors_md(document["errors"]).splitlines()
    assert (
        lines[0]
        == "| Label | Annotated | Missed | Boundaries | Label | Spurious | Tokens missed | Tokens"
        " spurious |"
    )
    assert lines[2] == "| NAME | 40 | 6 | 3 | 1 | 2 | 6 | 2 |"
    assert lines[-1] == "| **all** | 60 | 6 | 3 | 1 | 4 | 6 | 4 |"

    lines = alike_md(vectors).splitlines()
    assert lines[0] == "| Label | Words | By chance | embeddings | encoder |"
    assert lines[2] == "| **all** | 20 | 0.300 | 0.400 | 0.900 |"
    assert alike_md({"left_out": "it is no network"}) == "it is no network"


def test_the_picture_is_small_repeats_to_the_byte_and_grows_with_languages(vectors):
    png = space_png(vectors, title="Vectors")
    one = space_png({**vectors, "languages": ["en"] * 62}, title="Vectors")
    width, height = struct.unpack(">II", png[16:24])

    assert png == space_png(vectors, title="Vectors")
    assert len(png) < 100_000
    assert height > struct.unpack(">II", one[16:24])[1]
    assert width > 800


@pytest.mark.filterwarnings("error")
def test_labels_are_drawn_as_they_are(vectors, probe):
    vectors["labels"] = [probe, "$\\frac{$", "$"] + ["x" * 90] * 59
    assert space_png(vectors, title=probe)


def test_the_most_frequent_labels_have_a_colour_of_their_own():
    few = shown_labels(["A", "A", "B", "O"])
    assert few == {"A": "A", "B": "B", "O": "O"}

    many = shown_labels(
        [label for number, label in enumerate("ABCDEFGHIJ") for _ in range(20 - number)]
    )
    assert [label for label, drawn in many.items() if drawn == label] == [*"ABCDEFG", "O"]
    assert len(COLOURS) == 7
    assert {many[label] for label in "HIJ"} == {OTHERS}


def test_turning_keeps_lengths_and_a_box_keeps_directions():
    points = np.random.default_rng(3).normal(size=(50, 3))
    for azimuth in (0.0, -0.9, 2.0):
        found = turned(points, azimuth=azimuth, elevation=0.35)
        np.testing.assert_allclose(np.linalg.norm(found, axis=1), np.linalg.norm(points, axis=1))
    np.testing.assert_allclose(turned(points, azimuth=0, elevation=0)[:, :2], points[:, [0, 2]])

    inside = np.abs(boxed(points)).max(axis=1) <= 1 + 1e-9
    assert inside.mean() >= 0.98
    np.testing.assert_allclose(
        boxed(points) / np.linalg.norm(boxed(points), axis=1, keepdims=True),
        points / np.linalg.norm(points, axis=1, keepdims=True),
    )
    assert (boxed([[0.0, 0.0, 0.0]]) == 0).all()
