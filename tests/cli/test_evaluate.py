"""``deid evaluate``.

Figures worked out by hand, detectors side by side, and a report without note text.
"""

import hashlib
import json
from pathlib import Path

import pytest

CANARIES = ("Quillfeather", "Zyxwick", "rheumatoid", "1999-12-31")


@pytest.fixture
def gold(write, three):
    """Four names; ``xnames`` finds the three that are in its list, and no date."""
    marks = {
        "a": [(0, 12, "NAME"), (21, 31, "DATE")],
        "b": [],
        "c": [(8, 15, "NAME"), (23, 35, "NAME")],
    }
    return write(
        "gold.jsonl",
        *(
            {
                **record,
                "spans": [
                    dict(zip(("start", "end", "label"), mark, strict=True))
                    for mark in marks[record["id"]]
                ],
            }
            for record in three
        ),
    )


@pytest.fixture
def pred(deid, gold):
    deid("detect", gold, "--detector", "xnames", "--detector", "xdates", "--out", "pred.jsonl")
    return "pred.jsonl"


def scores(ran, name):
    return ran.json["detectors"][name]["micro"]["strict"]


def test_figures_are_those_worked_out_by_hand(deid, gold, pred):
    ran = deid("evaluate", "--gold", gold, "--pred", pred, "--source", "xnames", "--json")

    assert ran.code == 0
    assert {
        name: ran.json[name] for name in ("gold", "labels", "profile", "notes", "withheld")
    } == {
        "gold": "gold.jsonl",
        "labels": "phi",
        "profile": "harmonised",
        "notes": 3,
        "withheld": 0,
    }
    assert scores(ran, "xnames") == {"precision": 1.0, "recall": 0.75, "f1": pytest.approx(6 / 7)}


def test_detectors_are_scored_alone_and_together(deid, gold, pred):
    ran = deid(
        "evaluate",
        "--gold",
        gold,
        "--pred",
        pred,
        "--source",
        "xdates",
        "--source",
        "xnames",
        "--json",
    )

    assert {name: scores(ran, name)["recall"] for name in ran.json["detectors"]} == {
        "xdates": 0.25,
        "xnames": 0.75,
        "xdates + xnames": 1.0,
    }


def test_every_ratio_has_an_interval_and_a_second_detector_its_difference(deid, gold, pred):
    options = (
        "--gold",
        gold,
        "--pred",
        pred,
        "--source",
        "xnames",
        "--source",
        "xdates",
        "--out",
        "report",
    )
    ran = deid("evaluate", *options, "--json")
    first, second = ran.json["detectors"]["xnames"], ran.json["detectors"]["xdates"]

    assert ran.json["bootstrap"] == {"unit": "patient", "units": 2, "resamples": 1000, "seed": 1}
    assert first["intervals"]["strict"]["recall"] == [0.0, 1.0]  # one patient has all the names
    # xnames finds a name whole or not at all
    assert first["semeval"]["partial"] == first["semeval"]["strict"]
    assert "difference" not in first
    assert second["difference"]["to"] == "xnames"
    assert second["difference"]["strict"]["recall"]["value"] == -0.5
    assert 0 < second["difference"]["strict"]["recall"]["p"] <= 1
    assert "Difference to xnames" in deid("evaluate", *options[:-2]).out
    assert "Difference to xnames" in deid("evaluate", *options[:-2], "--markdown").out
    assert (
        "Differences to xnames, paired on the same notes" in Path("report/report.html").read_text()
    )


def test_markdown_of_one_detector_has_its_intervals(deid, gold, pred):
    out = deid("evaluate", "--gold", gold, "--pred", pred, "--source", "xnames", "--markdown").out

    assert "| xnames | 0.750 [0.000, 1.000] |" in out
    assert "Difference to" not in out
    assert "Intervals: 95 % bootstrap over 2 patients, too few to rely on." in out


def test_notes_of_a_patient_are_resampled_together(deid, write, three):
    spans = [{"start": 0, "end": 2, "label": "NAME"}]
    write("gold.jsonl", *({**record, "spans": spans, "patient_id": "p1"} for record in three))
    deid("detect", "gold.jsonl", "--detector", "xnames", "--out", "pred.jsonl")
    ran = deid("evaluate", "--gold", "gold.jsonl", "--pred", "pred.jsonl")

    assert ran.out.rstrip().endswith("95 % bootstrap over 1 patient, too few to rely on")


def test_files_are_compared_by_name(deid, gold, pred):
    deid("detect", gold, "--detector", "xdates", "--out", "other.jsonl")
    ran = deid("evaluate", "--gold", gold, "--pred", pred, "--pred", "other.jsonl", "--json")

    assert list(ran.json["detectors"]) == ["pred: xdates + xnames", "other: xdates"]


def test_the_report_and_the_scores_are_kept_and_hold_no_text(deid, gold, pred):
    ran = deid(
        *("evaluate", "--gold", gold, "--pred", pred, "--source", "xnames", "--source", "xdates"),
        *("--out", "report", "--json"),
    )
    page = Path("report/report.html").read_text()

    stored = Path("report/report.json").read_text()
    report = json.loads(stored)

    assert (report["schema"], report["version"], report["restricted"]) == (
        "deid-assets/evaluation-report",
        2,
        False,
    )
    for name, found in ran.json["detectors"].items():
        assert report["results"][name]["counts"] == found["counts"]
        assert report["results"][name]["averages"]["micro"] == found["micro"]["strict"]
    assert "xnames" in page
    assert [word for word in (*CANARIES, '"p7"') if word in page + stored] == []


def test_nothing_is_written_without_a_folder_to_write_to(deid, gold, pred):
    before = sorted(Path().iterdir())
    ran = deid("evaluate", "--gold", gold, "--pred", pred)

    assert ran.code == 0
    assert sorted(Path().iterdir()) == before


def test_the_table_has_a_row_per_label_and_one_for_all(deid, gold, pred):
    ran = deid("evaluate", "--gold", gold, "--pred", pred, "--source", "xnames")
    rows = {line.split()[0]: line.split()[1:] for line in ran.out.splitlines() if line.strip()}

    assert rows["DATE"][:4] == ["1", "n/a", "0.000", "0.000"]
    assert rows["NAME"][:4] == ["3", "1.000", "1.000", "1.000"]
    assert rows["all"][:4] == ["4", "1.000", "0.750", "0.857"]
    assert "1 of 2 notes with PHI fully covered; 0 of 1 notes without PHI touched" in ran.out


def test_side_by_side_the_one_that_hides_most_comes_first(deid, gold, pred):
    ran = deid(
        "evaluate",
        "--gold",
        gold,
        "--pred",
        pred,
        "--source",
        "xdates",
        "--source",
        "xnames",
        "--markdown",
    )
    places = [line.split("|")[2].strip().replace("\\", "") for line in ran.out.splitlines()[2:5]]

    assert places == ["xdates + xnames", "xnames", "xdates"]
    assert "### xdates + xnames" in ran.out


def test_side_by_side_notes_are_counted_too(deid, gold, pred):
    ran = deid(
        "evaluate", "--gold", gold, "--pred", pred, "--source", "xdates", "--source", "xnames"
    )
    rows = {
        line.rsplit("  ", 3)[0].split("  ")[0]: line.split()[-2:]
        for line in ran.out.splitlines()
        if "/" in line
    }

    assert rows == {
        "xdates + xnames": ["2/2", "0/1"],
        "xnames": ["1/2", "0/1"],
        "xdates": ["0/2", "0/1"],
    }


def test_labels_of_a_corpus_are_mapped_and_bound_what_counts(deid, write, three):
    spans = [{"start": 0, "end": 12, "label": "NOM"}, {"start": 21, "end": 31, "label": "DATE"}]
    write("gold.jsonl", {**three[0], "spans": spans})
    deid("detect", "gold.jsonl", "--detector", "xnames", "--out", "pred.jsonl")
    ran = deid(
        "evaluate",
        "--gold",
        "gold.jsonl",
        "--pred",
        "pred.jsonl",
        "--labels",
        "eds_pseudo",
        "--json",
    )

    assert (ran.code, ran.json["labels"]) == (0, "eds_pseudo")
    assert scores(ran, "xnames")["recall"] == 0.5


def test_meddocan_has_its_official_scores_under_its_profile_alone(deid, gold, pred):
    options = ("evaluate", "--gold", gold, "--pred", pred, "--source", "xnames")
    ran = deid(*options, "--profile", "meddocan", "--json")
    found = {"precision": 1.0, "recall": 0.75, "f1": pytest.approx(6 / 7)}

    assert ran.json["detectors"]["xnames"]["meddocan"] == {
        "ner": found,
        "spans": found,
        "merged": found,
    }
    assert "merged F1" in deid(*options, "--profile", "meddocan").out
    assert "meddocan" not in deid(*options, "--json").json["detectors"]["xnames"]


def test_i2b2_files_bring_their_own_labels(deid, gold):
    Path("xml").mkdir()
    Path("xml/n1.xml").write_text(
        '<deIdi2b2><TEXT>Seen by Zyxwick.</TEXT><TAGS><NAME id="P0" start="8" end="15"'
        ' text="Zyxwick" TYPE="DOCTOR" comment="" /></TAGS></deIdi2b2>'
    )
    deid("detect", "xml", "--detector", "xnames", "--out", "pred.jsonl")
    ran = deid("evaluate", "--gold", "xml", "--pred", "pred.jsonl", "--profile", "i2b2", "--json")

    assert (ran.code, ran.json["labels"], scores(ran, "xnames")["f1"]) == (0, "i2b2", 1.0)


def test_a_label_map_that_fits_is_proposed(deid, write, three):
    write("gold.jsonl", {**three[0], "spans": [{"start": 0, "end": 12, "label": "NAME_PATIENT"}]})
    deid("detect", "gold.jsonl", "--detector", "xnames", "--out", "pred.jsonl")
    ran = deid("evaluate", "--gold", "gold.jsonl", "--pred", "pred.jsonl")

    assert ran.code == 2
    assert ran.err.rstrip().endswith("; --labels grascco would fit")


def test_gold_that_cannot_be_read_is_withheld_and_the_rest_is_scored(deid, gold, pred):
    path = Path(gold)
    path.write_text(path.read_text().replace('"start": 23, "end": 35', '"start": 23, "end": 3500'))
    ran = deid("evaluate", "--gold", gold, "--pred", pred, "--json")

    assert (ran.code, ran.json["notes"], ran.json["withheld"]) == (1, 2, 1)
    assert ran.err.startswith("gold.jsonl:3: [23, 3500)")


def test_gold_without_predictions_is_refused_by_file_and_note(deid, gold, pred):
    lines = Path(pred).read_text().splitlines(keepends=True)
    Path(pred).write_text("".join(lines[:2]))
    ran = deid("evaluate", "--gold", gold, "--pred", pred, "--out", "report")

    assert ran.code == 2
    assert ran.err.startswith(
        "error: pred.jsonl: 1 of 3 annotated notes have no predictions, the first is 'c'"
    )
    assert not Path("report").exists()


def test_a_restricted_report_shows_text_and_only_its_owner_may_read_it(deid, gold, pred):
    options = (
        "evaluate",
        "--gold",
        gold,
        "--pred",
        pred,
        "--source",
        "xdates",
        "--out",
        "secret",
        "--restricted",
    )
    ran = deid(*options)

    assert ran.code == 0
    assert "with note text: for you alone" in ran.err
    assert "Quillfeather" in Path("secret/report.html").read_text()
    assert [
        path.stat().st_mode & 0o777 for path in (Path("secret"), *sorted(Path("secret").iterdir()))
    ] == [
        0o700,
        0o600,
        0o600,
    ]
    Path("secret").chmod(0o750)
    ran = deid(*options)
    assert ran.code == 2
    assert "is open to others (mode 750)" in ran.err


def test_subgroups_are_by_language_and_by_the_keys_asked_for(deid, gold, pred):
    options = ("evaluate", "--gold", gold, "--pred", pred, "--source", "xnames", "--out", "report")
    deid(*options, "--group-by", "ward")
    groups = json.loads(Path("report/report.json").read_text())["results"]["xnames"]["groups"][
        "keys"
    ]

    assert {
        key: {group["name"]: group["notes"] for group in of_key} for key, of_key in groups.items()
    } == {
        "lang": {"en": 3},
        "ward": {"3": 1, "unknown": 2},
    }
    ran = deid(*options, "--group-by", "surgeon")
    assert (
        ran.code,
        "no note has 'surgeon' in its meta; the keys are ward, and lang" in ran.err,
    ) == (2, True)


def test_a_file_goes_by_the_name_it_is_given(deid, gold, pred):
    ran = deid(
        "evaluate",
        "--gold",
        gold,
        "--pred",
        f"{pred}=release 1",
        "--pred",
        f"{pred}=release 2",
        "--json",
    )

    assert list(ran.json["detectors"]) == ["release 1", "release 2"]
    same = ran.json["detectors"]["release 2"]["difference"]["strict"]["f1"]
    assert (same["value"], same["p"]) == (0, 1)


def test_the_report_says_how_it_was_made(deid, gold, pred):
    deid(
        "evaluate", "--gold", gold, "--pred", f"{pred}=a b", "--out", "report", "--group-by", "ward"
    )
    report = json.loads(Path("report/report.json").read_text())

    assert report["commands"] == [
        "deid evaluate --gold gold.jsonl --pred 'pred.jsonl=a b' --out report --group-by ward"
    ]
    assert [(row["name"], row["role"]) for row in report["inputs"]] == [
        ("gold.jsonl", "gold"),
        ("pred.jsonl", "predictions"),
    ]
    assert report["inputs"][0]["sha256"] == hashlib.sha256(Path(gold).read_bytes()).hexdigest()


def test_predictions_for_other_notes_are_refused_or_counted_where_gold_is_a_sample(
    deid, gold, pred
):
    lines = Path(gold).read_text().splitlines(keepends=True)
    Path("part.jsonl").write_text("".join(lines[:1]))
    options = (
        "evaluate",
        "--gold",
        "part.jsonl",
        "--pred",
        pred,
        "--source",
        "xnames",
        "--out",
        "report",
    )
    ran = deid(*options)

    assert ran.code == 2
    assert "2 of 3 notes with predictions are not in the annotations, the first is 'b'" in ran.err
    assert deid(*options, "--sample").code == 0
    expected = json.loads(Path("report/report.json").read_text())["results"]["xnames"][
        "expected_errors"
    ]
    assert (expected["predicted"], expected["is_measured"], expected["left"]) == (2, True, 2.0)


def test_causes_are_read_back_and_those_of_errors_that_are_gone_are_named(deid, gold, pred):
    options = ("evaluate", "--gold", gold, "--pred", pred, "--source", "xnames", "--out", "report")
    deid(*options)
    (row,) = json.loads(Path("report/report.json").read_text())["results"]["xnames"]["errors"][
        "rows"
    ]
    Path("causes.csv").write_text(f"id,causes\n{row['id']},AB;D\n{'0' * 16},S\n")
    ran = deid(*options, "--causes", "causes.csv")
    errors = json.loads(Path("report/report.json").read_text())["results"]["xnames"]["errors"]

    assert (row["kind"], row["label"], row["shape"]) == ("missed", "DATE", "9-9-9")
    assert errors["causes"] == {
        "tagged": 1,
        "by_kind": {"missed": {"AB": 1, "D": 1}},
        "by_label": {"DATE": {"AB": 1, "D": 1}},
    }
    assert errors["rows"][0]["causes"] == ["AB", "D"]
    assert "1 causes are of errors that are gone" in ran.err


def test_learning_curves_are_taken_from_model_cards(deid, gold, pred):
    epochs = [
        {"phase": 0, "epoch": at, "loss": 1 / at, "dev_f1": None, "seconds": 3} for at in (1, 2)
    ]
    Path("card.json").write_text(json.dumps({"name": "crf", "training": {"epochs": epochs}}))
    options = ("evaluate", "--gold", gold, "--pred", pred, "--out", "report")
    deid(*options, "--card", "card.json")

    assert json.loads(Path("report/report.json").read_text())["curves"] == [
        {
            "name": "crf",
            "epochs": [{"phase": 0, "epoch": at, "loss": 1 / at, "dev_f1": None} for at in (1, 2)],
        }
    ]
    Path("model").mkdir()
    Path("model/card.json").write_text(json.dumps({"recipe": {"name": "crf-en"}, "curve": epochs}))
    deid(*options, "--card", "model")
    assert json.loads(Path("report/report.json").read_text())["curves"][0]["name"] == "crf-en"
    Path("card.json").write_text('{"curve": [{"epoch": 1, "loss": NaN}]}')
    assert (
        "epoch 1 has a value that is NaN or infinite" in deid(*options, "--card", "card.json").err
    )
    Path("card.json").write_text("{}")
    assert "no list of epochs" in deid(*options, "--card", "card.json").err


def test_overlapping_gold_is_scored_where_that_is_allowed(deid, write, three, pred):
    spans = [{"start": 0, "end": 12, "label": "NAME"}, {"start": 5, "end": 12, "label": "CITY"}]
    write(
        "lap.jsonl",
        {**three[0], "spans": spans},
        {**three[1], "spans": []},
        {**three[2], "spans": []},
    )
    options = (
        "evaluate",
        "--gold",
        "lap.jsonl",
        "--pred",
        pred,
        "--source",
        "xnames",
        "--out",
        "report",
    )
    ran = deid(*options)

    assert ran.code == 2
    assert "lap.jsonl: note 'a': annotated spans [0, 12) and [5, 12) overlap" in ran.err
    assert ran.err.rstrip().endswith("(--allow-overlaps)")
    assert deid(*options, "--allow-overlaps").code == 0
    assert (
        "overlap"
        in json.loads(Path("report/report.json").read_text())["results"]["xnames"]["six_scores"][
            "all"
        ]["left_out"]
    )


def test_generated_text_is_evaluated_beside_the_spans(deid, gold, pred, write, three):
    deid("redact", gold, "--spans", pred, "--policy", "tag", "--out", "rewritten.jsonl")
    options = (
        "evaluate",
        "--gold",
        gold,
        "--pred",
        pred,
        "--out",
        "report",
        "--rewritten",
        "rewritten.jsonl",
    )
    ran = deid(*options)
    report = json.loads(Path("report/report.json").read_text())

    assert ran.code == 0
    assert (report["text"]["bleu"], report["text"]["counts"]) == (1.0, [])
    assert "Generated text" in Path("report/report.html").read_text()
    assert "--rewritten is for the report" in deid(*options[:5], *options[7:]).err
    assert "is no regular expression" in deid(*options, "--placeholder", "(").err
