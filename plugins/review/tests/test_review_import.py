"""Files of other tools that must not settle a note: each is refused by name."""

from __future__ import annotations

import json

import pytest

from deid_assets.extending import InputError
from deid_review.exchange import export_notes, import_notes
from deid_review.measures import final_of, precisions, recall
from deid_review.queueing import QueueOptions

TEXT = "Zedamar was seen on 3 May 2021 by Dr. Lee. MRN 4471902 was noted."
EMOJI = "Zedquill, record 5550001, asked for Lee. Unit \U0001f600 ward B."
NAME_AND_MRN = [(0, 7, "NAME"), (47, 54, "MRN")]


@pytest.fixture
def desk(settings, batch, desk_of):
    """A desk with every note in the sample, none of them blind or decided."""
    found = desk_of(settings, batch, options=QueueOptions(6, blind=0, double=0))
    yield found
    found.ledger.close()


@pytest.fixture
def blind_desk(settings, batch, desk_of):
    """A desk with every note in the sample, half of them blind."""
    found = desk_of(settings, batch, options=QueueOptions(6, blind=0.5, double=0))
    yield found
    found.ledger.close()


def settled(desk):
    """Settled notes to the places and labels of their identifiers."""
    finals = {one.note_id: final_of(desk.ledger, one).marks for one in desk.queue()}
    return {
        name: [(one.start, one.end, one.label) for one in marks]
        for name, marks in finals.items()
        if marks is not None
    }


def region(start, end, label, kind="labels", **more):
    """A region of a note's text, as Label Studio writes it."""
    value = {"start": start, "end": end, "text": TEXT[start:end], kind: [label], **more}
    return {"id": f"{start}{kind}", "type": kind, "value": value}


def bare(start, end):
    """A region that does not say what it covers."""
    return {"type": "labels", "value": {"start": start, "end": end, "labels": ["NAME"]}}


def label_studio(*results, note_id="n1", text=TEXT, **more):
    """A task with an annotation for each list of results."""
    annotations = [{"result": one, **more} for one in results]
    return {"data": {"text": text, "note_id": note_id}, "annotations": annotations}


def prodigy(spans, note_id="n1", text=TEXT, **more):
    """A task that somebody accepted."""
    spans = [{"start": start, "end": end, "label": label} for start, end, label in spans]
    task = {"text": text, "meta": {"note_id": note_id}, "spans": spans, "answer": "accept"}
    return {**task, **more}


def take(desk, tmp_path, form, *tasks, **more):
    """Import tasks of one of the two tools, each as it is or as the text of its JSON."""
    lines = [one if isinstance(one, str) else json.dumps(one) for one in tasks]
    path = tmp_path / "tasks"
    path.write_text(f"[{','.join(lines)}]" if form == "label-studio" else "\n".join(lines))
    return import_notes(desk, path, reviewer="b.kim", format_name=form, **more)


HYPERTEXT = {"startOffset": 0, "endOffset": 7, "globalOffsets": {"start": 0, "end": 7}}


@pytest.mark.parametrize(
    "results",
    [
        [region(*one) for one in NAME_AND_MRN],
        [region(*one, "hypertextlabels") for one in NAME_AND_MRN],
        [region(0, 7, "NAME", "hypertextlabels", **HYPERTEXT), region(47, 54, "MRN")],
        [
            *(region(*one) for one in NAME_AND_MRN),
            {"type": "relation", "from_id": "0labels", "to_id": "47labels"},
            {"type": "choices", "value": {"choices": ["hard to read"]}},
            {"id": "0labels", "type": "textarea", "value": {"start": 0, "end": 7, "text": ["?"]}},
        ],
    ],
)
def test_the_labels_of_a_text_are_taken_whichever_tag_shows_it(desk, tmp_path, results):
    found = take(desk, tmp_path, "label-studio", label_studio(results))
    assert (found.taken, found.refused) == (1, [])
    assert settled(desk) == {"n1": NAME_AND_MRN}


BAD_LABEL_STUDIO = {
    "paragraphs": label_studio([region(0, 7, "NAME", "paragraphlabels")]),
    "a picture": label_studio([region(0, 7, "NAME", "rectanglelabels")]),
    "no type": label_studio([{"value": {"start": 0, "end": 7, "labels": ["NAME"]}}]),
    "a chosen category": label_studio([{"type": "choices", "value": {"choices": ["NAME"]}}]),
    "a category in a tree": label_studio([{"type": "taxonomy", "value": {"taxonomy": [["MRN"]]}}]),
    "a place without label": label_studio(
        [{"id": "a", "type": "textarea", "value": {"start": 0, "end": 7, "text": ["x"]}}]
    ),
    "no label": label_studio([region(0, 7, "NAME", labels=[])]),
    "two labels": label_studio([region(0, 7, "NAME", labels=["NAME", "MRN"])]),
    "an unknown label": label_studio([region(0, 7, "Zedlabel")]),
    "two labels of one place": label_studio([region(0, 7, "NAME"), region(0, 7, "MRN")]),
    "two annotators": label_studio([region(0, 7, "NAME")], []),
    "nobody": label_studio(),
    "cancelled": label_studio([region(0, 7, "NAME")], was_cancelled=True),
    "no list": label_studio(None),
    "covers another text": label_studio([region(0, 7, "NAME", text="Zedother")]),
    "ends behind the text": label_studio([bare(47, 900)]),
    "behind the text": label_studio([bare(900, 907)]),
    "before the text": label_studio([bare(-9, 4)]),
    "turned round": label_studio([bare(7, 0)]),
    "empty": label_studio([bare(7, 7)]),
    "half an offset": label_studio([bare(0, 7.5)]),
    "a whole float": label_studio([bare(0, 7.0)]),
    "a string": label_studio([bare(0, "7")]),
    "truth": label_studio([bare(False, True)]),
    "a path": label_studio([bare("/p[1]/text()[1]", "/p[1]/text()[1]")]),
    "hypertext without text": label_studio([region(0, 7, "NAME", "hypertextlabels", text=None)]),
    "infinity": json.dumps(label_studio([bare(0, 7)])).replace('"end": 7', '"end": 1e400'),
    "half a character": label_studio([bare(0, 47)], note_id="n3", text=EMOJI),
    "offsets in code points": label_studio(
        [region(48, 54, "NAME", text="ward B")], note_id="n3", text=EMOJI
    ),
    "an object of results": label_studio({}),
    "a string of results": label_studio(""),
    "another note's text": label_studio([region(0, 7, "NAME")], text=f"{TEXT} Zedother"),
}
BAD_PRODIGY = {
    "rejected": prodigy(NAME_AND_MRN, answer="reject"),
    "ignored": prodigy(NAME_AND_MRN, answer="ignore"),
    "not answered": prodigy(NAME_AND_MRN, answer=None),
    "one span alone": prodigy(NAME_AND_MRN, _is_binary=True),
    "a view without spans": prodigy([], _view_id="classification"),
    "an object of spans": {**prodigy([]), "spans": {}},
    "an empty string of spans": {**prodigy([]), "spans": ""},
    "ends behind the text": prodigy([(47, 900, "MRN")]),
    "before the text": prodigy([(-9, 4, "NAME")]),
    "empty": prodigy([(7, 7, "NAME")]),
    "a string": prodigy([("0", "7", "NAME")]),
    "half an offset": prodigy([(0, 7.5, "NAME")]),
    "truth": prodigy([(False, True, "NAME")]),
    "an unknown label": prodigy([(0, 7, "Zedlabel")]),
    "two labels of one place": prodigy([(0, 7, "NAME"), (0, 7, "MRN")]),
    "covers another text": {
        **prodigy([]),
        "spans": [{"start": 0, "end": 7, "label": "NAME", "text": "Zedother"}],
    },
    "spans of strings": {**prodigy([]), "spans": ["Zedamar"]},
    "a string of spans": {**prodigy([]), "spans": "Zedamar"},
    "no spans": json.dumps(prodigy([])).replace('"spans"', '"other"'),
    "null": {**prodigy([]), "spans": None},
    "infinity": json.dumps(prodigy([(0, 7, "NAME")])).replace('"end": 7', '"end": 1e400'),
}


@pytest.mark.parametrize(
    ("form", "name"),
    [
        *(("label-studio", name) for name in BAD_LABEL_STUDIO),
        *(("prodigy", name) for name in BAD_PRODIGY),
    ],
)
def test_a_bad_task_is_one_line_that_names_its_note_and_the_others_are_taken(
    desk, tmp_path, form, name
):
    make, bad = {
        "label-studio": (label_studio, BAD_LABEL_STUDIO),
        "prodigy": (prodigy, BAD_PRODIGY),
    }[form]
    good = make([], note_id="n6", text="Zedfinch and 7654321 on 2 May 2020.")
    found = take(desk, tmp_path, form, good, bad[name])
    assert found.taken == 1
    assert settled(desk) == {"n6": []}
    (line,) = found.refused
    assert line.startswith(("note 'n1': ", "note 'n3': "))
    assert "Zed" not in line


@pytest.mark.parametrize("form", ["label-studio", "prodigy", "jsonl"])
@pytest.mark.parametrize("is_broken", [False, True])
def test_a_note_that_comes_twice_is_not_taken(desk, tmp_path, form, is_broken):
    bad = [("Zed", 7, "NAME")] if is_broken else []
    if form == "label-studio":
        tasks = [
            label_studio([region(0, 7, "NAME")]),
            label_studio([bare(*one[:2]) for one in bad]),
        ]
    elif form == "prodigy":
        tasks = [prodigy(NAME_AND_MRN), prodigy(bad)]
    else:
        tasks = [
            {"id": "n1", "text": TEXT, "patient_id": "p1", "lang": "en", "spans": one["spans"]}
            for one in (prodigy(NAME_AND_MRN), prodigy(bad))
        ]
    found = take(desk, tmp_path, form, *tasks)
    assert found.taken == 0
    assert settled(desk) == {}
    assert any("note 'n1': it is in the file more than once" in line for line in found.refused)


FORMS = ["label-studio", "prodigy", "brat", "csv", "jsonl"]


@pytest.mark.parametrize("form", FORMS)
def test_suggestions_that_come_back_untouched_settle_and_measure_nothing(
    blind_desk, tmp_path, form
):
    out = tmp_path / f"out.{form}"
    blind = sum(one.is_blind for one in blind_desk.queue())
    assert export_notes(blind_desk, out, to=form, are_suggestions=True) == 6 - blind
    found = import_notes(blind_desk, out, reviewer="b.kim", format_name=form)
    assert (found.taken, len(found.refused)) == (0, 6 - blind)
    assert settled(blind_desk) == {}
    finals = blind_desk.finals()
    assert recall(blind_desk.queue(), finals, blind_desk.view.merged).value is None


@pytest.mark.parametrize("form", ["brat", "csv", "jsonl"])
def test_what_somebody_read_is_taken_where_asked_for_and_is_no_evidence(desk, tmp_path, form):
    out = tmp_path / f"out.{form}"
    export_notes(desk, out, to=form, are_suggestions=True)
    found = import_notes(desk, out, reviewer="b.kim", format_name=form, are_unchanged=True)
    assert (found.taken, found.refused) == (6, [])
    assert len(settled(desk)) == 6
    assert precisions(desk.ledger) == {}


def test_of_a_file_with_answers_one_changed_note_shows_that_it_was_read(desk, tmp_path):
    out = tmp_path / "out"
    export_notes(desk, out, to="prodigy", are_suggestions=True)
    tasks = [{**json.loads(line), "answer": "accept"} for line in out.read_text().splitlines()]
    assert take(desk, tmp_path, "prodigy", *tasks).taken == 0
    tasks[0]["spans"] = []
    tasks[1]["spans"] = []
    assert take(desk, tmp_path, "prodigy", *tasks).taken == 6
    assert precisions(desk.ledger) == {}


def test_a_blind_note_that_comes_back_without_annotations_stays_open(blind_desk, tmp_path):
    blind = [one.note_id for one in blind_desk.queue() if one.is_blind]
    texts = blind_desk.view.notes
    lines = [{"id": one, "text": texts[one].text, "spans": []} for one in blind]
    found = take(blind_desk, tmp_path, "jsonl", *lines)
    assert (found.taken, len(found.refused)) == (0, len(blind))
    assert settled(blind_desk) == {}


def test_brat_without_annotation_files_confirms_nothing_and_fragments_are_refused(desk, tmp_path):
    export_notes(desk, tmp_path / "out", to="brat", are_suggestions=True)
    for path in (tmp_path / "out").glob("*.ann"):
        path.unlink()
    (tmp_path / "out" / "n1.ann").write_text("T1\tNAME 0 3;5 7\tZed ar\n")
    more = {"reviewer": "b.kim", "format_name": "brat", "are_unchanged": True}
    found = import_notes(desk, tmp_path / "out", **more)
    assert (found.taken, len(found.refused)) == (0, 6)
    assert all(line.startswith("note 'n") for line in found.refused)


@pytest.mark.parametrize("prefix", [b"", b"\xef\xbb\xbf"])
def test_tables_with_a_byte_order_mark_and_lines_in_quotes_are_read(desk, tmp_path, prefix):
    export_notes(desk, tmp_path / "out.csv", to="csv", are_suggestions=True)
    path = tmp_path / "marked.csv"
    path.write_bytes(prefix + (tmp_path / "out.csv").read_bytes())
    more = {"reviewer": "b.kim", "format_name": "csv", "are_unchanged": True}
    assert import_notes(desk, path, **more).taken == 6


@pytest.mark.parametrize("form", ["label-studio", "prodigy"])
@pytest.mark.parametrize("is_folder", [False, True])
def test_what_is_no_file_is_one_line(desk, tmp_path, form, is_folder):
    path = tmp_path / "tasks"
    if is_folder:
        path.mkdir()
    with pytest.raises(InputError, match="no such file"):
        import_notes(desk, path, reviewer="b.kim", format_name=form)


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_another_encoding_takes_nothing(desk, tmp_path, encoding):
    task = label_studio([], note_id="n1", text=f"{TEXT} \u00e9")
    path = tmp_path / "tasks"
    path.write_bytes(json.dumps([task], ensure_ascii=False).encode(encoding))
    with pytest.raises(InputError, match="no JSON in UTF-8"):
        import_notes(desk, path, reviewer="b.kim", format_name="label-studio")


@pytest.mark.parametrize("form", ["label-studio", "prodigy"])
def test_a_file_without_a_note_is_one_line(desk, tmp_path, form):
    with pytest.raises(InputError, match="no note is in it"):
        take(desk, tmp_path, form)
