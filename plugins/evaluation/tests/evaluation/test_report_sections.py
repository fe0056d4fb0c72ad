"""Sections of the report.

What is left out and why, which groups are made, and what a corpus must be.
"""

import pytest

from deid_assets.core.errors import ConfigError, DigestError, InputError, OffsetError, OverlapError
from deid_assets.core.note import Note
from deid_assets.core.phi import HARMONISED, I2B2_2014, Phi
from deid_assets.core.span import Span, SpanSet
from deid_assets.testing import parse_marked
from deid_evaluation.report import ProfiledNotes, ReportOptions, System, build_report, groups_of
from deid_evaluation.report.notes import FEWEST_SPANS

OPTIONS = ReportOptions(title="t", resamples=100)


def corpus(*texts, metas=(), profile=HARMONISED, **options):
    notes, gold = {}, {}
    for at, text in enumerate(texts):
        note, spans = parse_marked(text, note_id=f"n{at}")
        meta = metas[at] if at < len(metas) else {}
        notes[note.note_id] = Note(note.note_id, note.text, lang="en", meta=meta)
        gold[note.note_id] = spans
    return ProfiledNotes(notes=notes, gold=gold, profile=profile, **options)


def nothing(held):
    return System(
        "none", {note_id: SpanSet(note_id, spans.digest) for note_id, spans in held.gold.items()}
    )


def report(held, *systems, **options):
    return build_report(
        held, systems or [nothing(held)], options=ReportOptions(title="t", resamples=100, **options)
    )


def test_a_system_that_finds_nothing_has_scores_and_no_ratio_of_nothing():
    found = report(corpus("<NAME>Lee</NAME>, well"))["results"]["none"]

    assert (
        found["schemes"]["strict"]["precision"],
        found["schemes"]["strict"]["recall"]["value"],
    ) == (None, 0)
    assert "left_out" in found["ranking"]
    assert found["expected_errors"] is None
    assert found["notes"]["covered"]["hits"] == 0


def test_gold_that_does_not_tell_kinds_of_places_has_no_scores_of_hipaa():
    text = "<NAME>Lee</NAME> of <LOCATION>Rome</LOCATION>"
    apart = report(corpus(text))["results"]["none"]["six_scores"]
    alike = report(corpus(text, scope=frozenset({Phi.NAME, Phi.LOCATION})))["results"]["none"][
        "six_scores"
    ]

    assert "entity" in apart["hipaa"]
    assert "do not tell streets, cities and ZIP codes" in alike["hipaa"]["left_out"]
    assert alike["all"] == apart["all"]


def test_scores_that_need_one_label_per_token_are_left_out_where_gold_overlaps():
    held = corpus("<NAME>Lee Ho</NAME>", overlaps_allowed=True)
    held.gold["n0"] = SpanSet.of(held.notes["n0"], [Span(0, 6, Phi.NAME), Span(4, 6, Phi.CITY)])
    held = ProfiledNotes(
        notes=held.notes, gold=held.gold, profile=HARMONISED, overlaps_allowed=True
    )

    assert held.has_overlaps
    assert "overlap" in report(held)["results"]["none"]["six_scores"]["all"]["left_out"]
    with pytest.raises(
        OverlapError, match=r"note 'n0': annotated spans \[0, 6\) and \[4, 6\) overlap"
    ):
        ProfiledNotes(notes=held.notes, gold=held.gold, profile=HARMONISED)


def test_a_category_that_the_profile_does_not_count_neither_overlaps_nor_hides():
    held = corpus("<NAME>Lee Ho</NAME>", profile=I2B2_2014)
    held.gold["n0"] = SpanSet.of(held.notes["n0"], [Span(0, 6, Phi.NAME), Span(4, 6, Phi.SEX)])
    held = ProfiledNotes(notes=held.notes, gold=held.gold, profile=I2B2_2014)
    spans = {"n0": SpanSet.of(held.notes["n0"], [Span(0, 6, Phi.SEX)])}

    found = report(held, System("s", spans))["results"]["s"]
    assert (found["covered"]["hits"], found["notes"]["covered"]["hits"]) == (0, 0)


SITES = [{"site": name} for name in "AAB"]


def test_groups_are_made_of_known_keys_with_few_values_and_of_keys_asked_for():
    held = corpus(
        *["<NAME>Lee</NAME>"] * 3, metas=[{**one, "ward": str(at)} for at, one in enumerate(SITES)]
    )

    assert list(groups_of(held.notes, [])) == ["lang", "site"]
    assert list(groups_of(held.notes, ["ward"])) == ["lang", "site", "ward"]
    with pytest.raises(
        InputError, match="no note has 'dose' in its meta; the keys are site, ward, and lang"
    ):
        groups_of(held.notes, ["dose"])


def test_a_known_key_with_many_values_may_be_an_identifier_and_makes_no_groups():
    metas = [{"site": str(at)} for at in range(21)]
    held = corpus(*["<NAME>Lee</NAME>"] * 21, metas=metas)

    assert list(groups_of(held.notes, [])) == ["lang"]
    assert list(groups_of(held.notes, ["site"])) == ["lang", "site"]


@pytest.mark.parametrize(("spans", "named"), [(FEWEST_SPANS - 1, False), (FEWEST_SPANS, True)])
def test_a_group_with_few_identifiers_is_not_named_the_worst(spans, named):
    text = "<NAME>Lee</NAME> " * spans
    held = corpus(text, "<NAME>Lee</NAME> " * 30, metas=[{"site": "A"}, {"site": "B"}])
    found = {
        "n0": SpanSet("n0", held.gold["n0"].digest),
        "n1": held.gold["n1"],
    }
    worst = report(held, System("s", found))["results"]["s"]["groups"]["worst"]

    assert (worst and worst["name"]) == ("A" if named else None)


def test_spans_in_notes_without_gold_are_told_from_a_thousand():
    held = corpus("<NAME>Lee</NAME> <NAME>Ho</NAME>")
    spans = {"n0": SpanSet.of(held.notes["n0"], [Span(0, 3, Phi.NAME), Span(4, 5, Phi.NAME)])}
    elsewhere = report(held, System("s", spans, elsewhere=50))["results"]["s"]["expected_errors"]
    unknown = report(held, System("s", spans))["results"]["s"]["expected_errors"]

    assert (elsewhere["predicted"], elsewhere["is_measured"], elsewhere["damaged"]) == (
        50,
        True,
        25,
    )
    assert (unknown["predicted"], unknown["is_measured"]) == (1_000, False)


def test_rare_values_weigh_more():
    texts = ["<NAME>Lee</NAME>"] * 7 + ["<NAME>Quill</NAME>"]
    held = corpus(*texts)
    common, rare = (
        {
            note_id: spans if note_id in found else SpanSet(note_id, spans.digest)
            for note_id, spans in held.gold.items()
        }
        for found in ({"n0"}, {"n7"})
    )
    recalls = [
        report(held, System("s", spans))["results"]["s"]["rarity"]["weighted_recall"]
        for spans in (common, rare)
    ]

    assert recalls[0] < recalls[1]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda spans: {}, InputError, "1 of 1 annotated notes have no predictions"),
        (lambda spans: {**spans, "n9": spans["n0"]}, InputError, "comes twice in the predictions"),
        (
            lambda spans: {"n0": SpanSet("n0", "0" * 64)},
            DigestError,
            "detect again on the text that was annotated",
        ),
        (
            lambda spans: {"n0": SpanSet("n0", spans["n0"].digest, (Span(0, 99, Phi.NAME),))},
            OffsetError,
            "span ends at 99, note has 3 characters",
        ),
    ],
)
def test_predictions_that_do_not_fit_are_refused(change, error, message):
    held = corpus("<NAME>Lee</NAME>")
    with pytest.raises(error, match=message):
        report(held, System("s", change(dict(held.gold))))


def test_a_corpus_is_notes_with_their_gold_and_something_to_find():
    held = corpus("<NAME>Lee</NAME>")
    with pytest.raises(InputError, match="not of the same notes"):
        ProfiledNotes(notes={}, gold=held.gold, profile=HARMONISED)
    with pytest.raises(InputError, match="the annotations hold no span under profile 'i2b2'"):
        corpus("<SEX>male</SEX>", profile=I2B2_2014)
    with pytest.raises(ConfigError, match="at least one system"):
        build_report(held, [], options=OPTIONS)
    with pytest.raises(ConfigError, match="a name of its own"):
        report(held, nothing(held), nothing(held))


def test_one_system_doubts_the_gold_where_it_is_sure():
    held = corpus("<NAME>Lee</NAME> of Rome and Bern")
    spans = [Span(0, 3, Phi.NAME, 0.99), Span(7, 11, Phi.CITY, 0.95), Span(16, 20, Phi.CITY, 0.4)]
    found = report(held, System("s", {"n0": SpanSet.of(held.notes["n0"], spans)}))["gold_review"][
        "doubts"
    ]

    assert [(row["start"], row["label"], row["gold_label"]) for row in found["rows"]] == [
        (7, "LOCATION", None)
    ]
    assert (found["agreeing"], found["total"]) == (1, 1)


SOURCE = "Dr. <NAME>Quill</NAME> gave 5 mg, no fever, to <NAME>Zyx</NAME>."


def test_generated_text_that_replaces_the_identifiers_alone_is_unaltered():
    text = report(corpus(SOURCE), rewritten={"n0": "Dr. [PERSON] gave 5 mg, no fever, to [X]."})[
        "text"
    ]

    assert (text["bleu"], text["unaltered"]["hits"], text["counts"], text["rows"]) == (
        1.0,
        1,
        [],
        [],
    )


def test_what_a_generator_altered_is_counted_by_kind_and_placed():
    text = report(corpus(SOURCE), rewritten={"n0": "Dr. [NAME] gave 50 mg, fever, to [NAME]."})[
        "text"
    ]

    assert [(row["kind"], row["change"], row["alterations"]) for row in text["counts"]] == [
        ("number", "changed", 1),
        ("negation", "deleted", 1),
    ]
    assert (text["rows"][0]["start"], text["rows"][0]["shape"]) == (15, "9")
    assert 0 < text["bleu"] < 1
    assert "Quill" not in str(text)


def test_other_placeholders_are_named():
    rewritten = {"n0": "Dr. XXX gave 5 mg, no fever, to XXX."}

    assert report(corpus(SOURCE), rewritten=rewritten, placeholder="XXX")["text"]["bleu"] == 1.0
    assert report(corpus(SOURCE), rewritten=rewritten)["text"]["bleu"] < 1
    for pattern, message in (("[", "is no regular expression"), ("x*", "matches an empty text")):
        with pytest.raises(ConfigError, match=message):
            report(corpus(SOURCE), rewritten=rewritten, placeholder=pattern)


def test_every_note_needs_its_text():
    with pytest.raises(
        InputError, match="1 of 1 annotated notes have no rewritten text, the first is 'n0'"
    ):
        report(corpus(SOURCE), rewritten={})


def test_alterations_are_listed_up_to_a_number_of_every_kind():
    held = corpus(*["<NAME>Lee</NAME> well"] * 60)
    text = report(
        held,
        rewritten={note_id: f"[NAME] {'ill' * (at + 1)}" for at, note_id in enumerate(held.gold)},
    )["text"]

    assert text["counts"] == [{"kind": "word", "change": "changed", "alterations": 60}]
    assert (len(text["rows"]), text["rows"][0]["note"]) == (40, "n59")


def test_anonymous_stands_for_the_note_itself() -> None:
    """A right one altered nothing; BLEU says so per note and over the corpus."""
    held = corpus(SOURCE, "No fever, no cough this morning.")
    text = report(
        held, rewritten={"n0": "Dr. [X] gave 5 mg, no fever, to [X].", "n1": "ANONYMOUS"}
    )["text"]

    assert (text["bleu"], text["bleu_per_note"], text["unaltered"]["hits"], text["counts"]) == (
        1.0,
        1.0,
        2,
        [],
    )
