import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets import DisjointSpans, Note, Phi, Span
from deid_assets.core.errors import ConfigError, DigestError, OffsetError, PolicyError
from deid_assets.core.keys import Key
from deid_assets.core.redact import Policy, redact
from deid_assets.pipeline.searching import residual_hits
from deid_assets.testing import parse_marked

KEY = Key(b"0123456789abcdef")


def tag(text, span, context):
    return f"[{span.label}]"


def same(text, span, context):
    return text


def same_by_value(text, span, context):
    return text


same_by_value.may_keep = True
TAGS = Policy("tags", tag)


def disjoint(note, spans):
    return DisjointSpans.of(note, spans)


def test_spans_are_replaced_and_the_rest_stays():
    note, spans = parse_marked("Seen by Dr. <NAME>Lee</NAME> on <DATE>3 May</DATE>.")
    redacted = redact(note, disjoint(note, spans), TAGS, key=KEY)

    assert redacted.text == "Seen by Dr. [NAME] on [DATE]."
    assert [(edit.start, edit.end, edit.new_start, edit.new_end) for edit in redacted.edits] == [
        (12, 15, 12, 18),
        (19, 24, 22, 28),
    ]


def test_a_category_the_policy_does_not_name_is_redacted():
    note, spans = parse_marked("Badge <BIOMETRIC>42</BIOMETRIC>")
    policy = Policy("names", tag, {Phi.NAME: tag})

    assert redact(note, disjoint(note, spans), policy, key=KEY).text == "Badge [BIOMETRIC]"


def test_keep_has_to_be_written_out():
    note, spans = parse_marked("Age <AGE>42</AGE>")

    assert (
        redact(
            note, disjoint(note, spans), Policy("k", tag, keep=frozenset({Phi.AGE})), key=KEY
        ).text
        == "Age 42"
    )
    with pytest.raises(PolicyError, match="keep"):
        redact(note, disjoint(note, spans), Policy("k", tag, {Phi.AGE: same}), key=KEY)
    with pytest.raises(PolicyError, match="both"):
        Policy("k", tag, {Phi.AGE: tag}, keep=frozenset({Phi.AGE}))


def test_a_rule_that_depends_on_the_value_may_keep_it():
    note, spans = parse_marked("Age <AGE>42</AGE>")

    assert (
        redact(
            note, disjoint(note, spans), Policy("k", tag, {Phi.AGE: same_by_value}), key=KEY
        ).text
        == "Age 42"
    )


def test_policy_errors_hold_no_text():
    note, spans = parse_marked("Dr. <NAME>Quartermain</NAME>")

    with pytest.raises(PolicyError) as caught:
        redact(note, disjoint(note, spans), Policy("k", same), key=KEY)

    assert "Quartermain" not in str(caught.value)


def test_spans_of_another_text_are_refused():
    note, spans = parse_marked("Dr. <NAME>Lee</NAME>")

    with pytest.raises(DigestError):
        redact(Note("marked", "Dr. Roy"), disjoint(note, spans), TAGS, key=KEY)


def test_short_secrets_are_refused():
    with pytest.raises(ConfigError, match="openssl"):
        Key(b"short")


def test_derived_values_keep_parts_apart_and_depend_on_the_secret():
    assert KEY.derive("ab", "c") != KEY.derive("a", "bc")
    assert KEY.derive("a") != Key(b"another secret 16").derive("a")
    assert KEY.derive("a") == Key(b"0123456789abcdef").derive("a")


@st.composite
def notes_with_spans(draw):
    text = draw(st.text(st.characters(exclude_categories=["Cs"]), max_size=80))
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=10)))
    spans = [
        Span(start, end, draw(st.sampled_from(list(Phi))))
        for start, end in zip(cuts[::2], cuts[1::2], strict=False)
    ]
    return Note("n", text), spans


@given(notes_with_spans())
def test_text_outside_spans_survives_unchanged_and_offsets_map_both_ways(note_and_spans):
    note, spans = note_and_spans
    redacted = redact(note, disjoint(note, spans), TAGS, key=KEY)

    outside = [
        at for at in range(len(note.text)) if not any(span.start <= at < span.end for span in spans)
    ]
    for at in outside:
        assert redacted.text[redacted.to_redacted(at)] == note.text[at]
        assert redacted.to_original(redacted.to_redacted(at)) == at
    assert len(redacted.text) == len(outside) + sum(len(f"[{span.label}]") for span in spans)
    assert redacted.to_redacted(len(note.text)) == len(redacted.text)


@given(notes_with_spans(), st.data())
def test_residual_is_what_a_hit_covers_of_the_kept_text(note_and_spans, data):
    note, spans = note_and_spans
    redacted = redact(note, disjoint(note, spans), TAGS, key=KEY)
    start = data.draw(st.integers(0, max(0, len(redacted.text) - 1)))
    end = data.draw(st.integers(start + 1, max(start + 1, len(redacted.text))))

    found = (
        residual_hits([Span(start, end, Phi.NAME)], redacted.edits)
        if end <= len(redacted.text)
        else []
    )

    replaced = {at for edit in redacted.edits for at in range(edit.new_start, edit.new_end)}
    expected = {
        redacted.to_original(at)
        for at in range(start, min(end, len(redacted.text)))
        if at not in replaced
    }
    assert {at for span in found for at in range(span.start, span.end)} == expected


def test_negative_offsets_are_refused():
    note, spans = parse_marked("Dr. <NAME>Lee</NAME>")

    with pytest.raises(OffsetError):
        redact(note, disjoint(note, spans), TAGS, key=KEY).to_original(-1)


def test_a_policy_may_leave_what_it_keeps_and_what_it_judges_by_its_value():
    class Judge:
        may_keep = True

        def __call__(self, text, span, context):
            return text

    def hide(text, span, context):
        return "[X]"

    policy = Policy("p", hide, {Phi.AGE: Judge(), Phi.NAME: hide}, frozenset({Phi.SEX}))

    assert policy.may_leave == {Phi.AGE, Phi.SEX}
    assert Policy("p", Judge(), {Phi.NAME: hide}).may_leave == set(Phi) - {Phi.NAME}
