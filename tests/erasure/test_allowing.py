"""A false alarm that was rejected once is left in all batches, where nothing says otherwise."""

import json
import re
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from deid_assets import Note, Phi, Span, SpanSet
from deid_assets.assets.release import release_chain, verify_current
from deid_assets.cli import app
from deid_assets.core.errors import ProvenanceError
from deid_assets.core.redact import Edit, Redacted
from deid_assets.erasure.allowing import AllowOrder, FalseAlarm, allow
from deid_assets.erasure.denying import forget
from deid_assets.evidence.build import build_evidence
from deid_assets.evidence.document import Regime
from deid_assets.pipeline.denying import (
    AllowedPlace,
    AllowedValue,
    AllowedValues,
    drop_allowed,
    find_allowed_places,
    make_allowed_spans,
)
from deid_assets.pipeline.resolving import Detect
from deid_assets.pipeline.searching import hits_in
from deid_assets.store.denials import Denials, DenyList
from deid_assets.store.frames import notes_from_table

MERGED = ("raw_notes", "gold_annotations", "spans_stencil", "merged_spans")
SAID = frozenset({("stencil", Phi.NAME)})
SETTINGS = """
ensemble = ["stencil"]
recipes = []
policies = ["tag"]
release_policy = "tag"
languages = ["en"]
release.require = "none"
gates.min_gold_characters = 1
"""


def with_drug(records, drug="Zedoxin"):
    """Notes that name a drug, which the detector takes for a person and people did not annotate."""
    return [{**one, "text": one["text"].rstrip() + f" Given {drug}.\n"} for one in records]


@pytest.fixture
def house(installation, note_records, begin):
    """An installation with a batch whose spans are merged."""
    installation.detectors = ("stencil",)
    installation.configure(SETTINGS)
    return begin(with_drug(note_records()), *MERGED)


def alarm_of(house, value="Zedoxin", said=SAID):
    notes = notes_from_table(house.opened().files.read("raw_notes", house.batch, "notes"))
    note = next(one for one in notes if value in one.text)
    start = note.text.index(value)
    return FalseAlarm(note, start, start + len(value), Phi.NAME, said)


def allowed(house, *alarms, **options):
    order = AllowOrder(alarms or (alarm_of(house),), "a.meier", "A drug")
    return allow(house.settings(), house.opened().files, order, **options)


def say(*arguments):
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    return result.exit_code, result.output


def covered(house):
    """What the merged spans of the first batch cover."""
    files = house.opened().files
    notes = notes_from_table(files.read("raw_notes", house.batch, "notes"))
    text = {one.note_id: one.text for one in notes}
    spans = files.read("merged_spans", house.batch, "spans").to_pylist()
    return {text[one["note_id"]][one["start"] : one["end"]] for one in spans}


def texts(house):
    return "".join(path.read_text() for path in house.home.glob("released/*/notes.jsonl"))


def evidence_of(house):
    """The sentences of the evidence file on the first batch."""
    found = build_evidence(house.batch, house.opened(), regime=Regime.DPIA, is_draft=True)
    return " ".join(one.text for section in found.sections for one in section.statements)


@pytest.mark.slow
def test_a_false_alarm_stays_away_in_every_batch_until_the_rule_is_lifted(house, note_records):
    assert house.failures(house.run(house.batch)) == {}
    assert "[NAME]" in texts(house)
    assert "Zedoxin" not in texts(house)

    planned = allowed(house, is_plan=True)
    assert Denials(house.opened().files).read() == DenyList()
    done = allowed(house)

    assert done == planned
    (reach,) = done.reaches
    assert (reach.places, reach.notes, len(reach.patients)) == (8, 8, 8)
    assert done.batches == (house.batch,)
    assert house.opened().files.find("merged_spans", house.batch) is None
    result = house.run(house.batch)
    assert house.failures(result) == {}
    assert texts(house).count("Zedoxin") == 8
    assert not re.search("Zedmarlow|Zedquill", texts(house))
    (diff,) = (house.home / "reports").glob("release-diff-*.html")
    assert f"allow rules {reach.rule} is new" in diff.read_text()
    told = evidence_of(house)
    assert "which counts as no find: 8 places of the batch" in told
    assert "are left wherever no other detector marks them, in 8 places" in told

    late = house.receive(with_drug(note_records(10, gold=False)), name="late.jsonl")
    assert house.failures(house.run(late)) == {}
    assert texts(house).count("Zedoxin") == 16

    (row,) = json.loads(say("denied", "list", "--json")[1])
    assert (row["rule"], row["state"], row["category"]) == (reach.rule, "left", "NAME en")
    code, shown = say("denied", "lift", reach.rule, "--by", "chief", "--reason", "No drug")
    assert (code, "makes 2 batches again" in shown) == (0, True), shown
    for batch in (house.batch, late):
        assert house.failures(house.run(batch)) == {}
    assert "Zedoxin" not in texts(house)


@pytest.mark.slow
def test_a_rule_ends_where_people_annotate_its_value(house, note_records):
    allowed(house)
    assert house.failures(house.run(house.batch, "merged_spans")) == {}
    assert "Zedoxin" not in covered(house)
    records = note_records(20)
    record = records[0]
    record["text"] = record["text"].rstrip() + " Seen by ZEDOXIN.\n"
    start = record["text"].index("ZEDOXIN")
    record["spans"].append({"start": start, "end": start + 7, "label": "NAME"})
    other = house.receive(records, name="other.jsonl")

    assert house.failures(house.run(other, *MERGED)) == {}

    found = Denials(house.opened().files).read()
    assert (found.allowed, [one.by for one in found.lifted]) == ((), ["annotations"])
    assert house.opened().files.find("merged_spans", house.batch) is None
    assert house.failures(house.run(house.batch, "merged_spans")) == {}
    assert "Zedoxin" in covered(house)
    again = allowed(house)
    assert (again.reaches, again.refused) == ((), (("annotated as an identifier elsewhere", 1),))


@pytest.mark.long
def test_spans_that_rest_on_a_rule_that_was_lifted_while_they_were_made_are_not_released(house):
    allowed(house)
    assert house.failures(house.run(house.batch, "merged_spans")) == {}
    opened = house.opened()
    chain = release_chain(opened.files.receipt("merged_spans", house.batch), opened)
    versions = {link.asset: link.code_version for link in chain}
    verify_current("merged_spans", house.batch, opened, code_versions=versions)

    Denials(opened.files).write(DenyList())  # as a lift that found no spans to be made again

    with pytest.raises(ProvenanceError, match="allow rules that were lifted since"):
        verify_current("merged_spans", house.batch, opened, code_versions=versions)


@pytest.mark.long
def test_what_is_certain_denied_or_unmarked_is_refused_and_cases_are_tried(house):
    sure = alarm_of(house, said=SAID | {("known_identity", Phi.NAME)})
    name = alarm_of(house, "Zedmarlowa")
    found = allowed(house, sure, alarm_of(house, said=frozenset()), name)
    assert found.reaches == ()
    blank = replace(sure, end=sure.start, said=SAID)
    assert allowed(house, blank).refused == (("without a letter or digit", 1),)
    assert {why for why, _ in found.refused} >= {"annotated as an identifier elsewhere"}
    assert Denials(house.opened().files).read() == DenyList()

    allowed(house)
    rules = Denials(house.opened().files).read()
    assert (len(rules.cases), rules.count_missed()) == (3, 0)
    broken = DenyList(rules.rules, tuple(_moved(one) for one in rules.cases), (), rules.allowed)
    assert broken.count_missed() == 3
    forget(house.opened().files, [], patient=rules.cases[0].patient_id, by="officer")
    assert len(Denials(house.opened().files).read().cases) == 2
    assert allowed(house).known == 1


def _moved(case):
    return type(case)(case.rule, case.text.replace("Zedoxin", "Zedoxan"), case.start, case.end)


def places_of(text, spans, *, lang="en"):
    """Where a drug is left in a note with these predictions."""
    note = Note("a", text, "p", lang)
    values = AllowedValues([AllowedValue("rule", "Zed oxin", "en", SAID)])
    found = SpanSet.of(note, [Span(*one, 0.9, source) for *one, source in spans])
    return [
        text[one.start : one.end]
        for one in find_allowed_places([note], values, {"all": {"a": found}}).get("a", ())
    ]


@pytest.mark.parametrize(
    ("text", "spans", "left"),
    [
        ("Given Zed\n oxin now.", [(6, 15, Phi.NAME, "stencil")], ["Zed\n oxin"]),
        ("Given zed oxin now.", [], []),
        ("Given Zed oxins.", [], []),
        ("Given Zed oxin now.", [(6, 14, Phi.STREET, "stencil")], []),
        ("Given Zed oxin now.", [(6, 14, Phi.NAME, "shade")], []),
        ("Given Zed oxin now.", [(10, 18, Phi.NAME, "known_identity")], []),
        ("Given Lee Zed oxin now.", [(6, 18, Phi.NAME, "stencil")], []),
        ("Given Lee Zed oxin now.", [(6, 9, Phi.NAME, "stencil")], []),
        ("Given Zed oxin, Lee now.", [(16, 19, Phi.NAME, "shade")], []),
        ("Given Zed oxin, 3 May.", [(16, 21, Phi.DATE, "shade")], ["Zed oxin"]),
        ("Given Zed oxin to Lee.", [(18, 21, Phi.NAME, "shade")], ["Zed oxin"]),
        ("Given Zed oxin\nLee now.", [(15, 18, Phi.NAME, "shade")], ["Zed oxin"]),
    ],
)
def test_a_value_is_left_in_its_spelling_and_where_no_detector_says_more(text, spans, left):
    assert places_of(text, spans) == left
    assert places_of(text, spans, lang="de") == []


@pytest.mark.parametrize(
    ("marking", "known", "left"),
    [
        ("one", "one", 0),
        ("one two", "one two", 0),
        ("one two", "one", 1),  # the second, of lower priority, marks it in redacted text alone
        ("two", "one", 1),
    ],
)
def test_a_find_in_redacted_text_is_left_where_every_detector_that_marks_it_is_known(
    marking, known, left
):
    def predict(notes):
        return {
            name: {one.note_id: found_by(name, one) for one in notes} for name in ("one", "two")
        }

    def found_by(name, note):
        start = note.text.index("Zedoxin")
        span = Span(start, start + 7, Phi.NAME, 0.9, name)
        return SpanSet.of(note, [span] if name in marking.split() else [])

    redacted = Redacted("a", "[NAME] took Zedoxin.", (Edit(0, 3, 0, 6, Phi.NAME),))
    hits = hits_in(
        [(Note("a", redacted.text), redacted)],
        detect=Detect(predict, ("one", "two")),
        resolve_by="union",
        keep=frozenset(),
    )
    said = frozenset((name, Phi.NAME) for name in known.split())
    places = make_allowed_spans([AllowedPlace(9, 16, frozenset({"rule"}), said)])  # in "Ann took …"

    assert len(hits["a"]) == 1
    assert len(drop_allowed(hits, {"a": places})["a"]) == left
