"""Reversible sessions: placeholders that are the same throughout, and values that come back."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets import Phi, deidentify_notes
from deid_assets.extending import Note
from deid_serve.limits import ServiceLimits
from deid_serve.problems import HttpProblem
from deid_serve.sessions import ReversibleSession

SECRET = bytes.fromhex("5a" * 32)
FIRST = "Zedamar Caldwick, 47, saw Dr. Lee. ZEDAMAR CALDWICK called on 3 May 2021."


def begin(served, text=FIRST, **fields):
    answer = served.ask("/v1/sessions", {"text": text, "lang": "en", **fields})
    assert answer.status_code == 201, answer.text
    return answer.json()


def test_a_value_has_one_placeholder_and_each_way_to_write_it_comes_back(served):
    found = begin(served)

    assert "Zedamar" not in found["text"]
    assert "CALDWICK" not in found["text"]
    assert found["text"].startswith("[NAME_1], 47, saw Dr. [NAME_2]. [NAME_1b] called")
    path = f"/v1/sessions/{found['session']}/restore"
    restored = served.ask(path, {"text": found["text"]}).json()
    assert restored == {"text": FIRST, "restored": 4, "unknown": []}


def test_an_answer_of_a_language_model_gets_its_names_back(served):
    found = begin(served)
    path = f"/v1/sessions/{found['session']}/restore"
    answer = (
        "Dear NAME_2,\n[Name_1] (or [NAME 1]) was born before [DATE_1]. See [NAME_9], [NOTE_1]."
    )

    restored = served.ask(path, {"text": answer}).json()

    assert restored["text"] == (
        "Dear Lee,\nZedamar Caldwick (or Zedamar Caldwick) was born before 3 May 2021. See"
        " [NAME_9], [NOTE_1]."
    )
    assert restored["restored"] == 4
    assert restored["unknown"] == ["[NAME_9]"]


def test_what_was_found_in_one_text_is_covered_in_the_next(served):
    found = begin(served)
    path = f"/v1/sessions/{found['session']}/redact"

    # no detector marks the name in this text: it is known from the first
    second = served.ask(path, {"text": "ok w/ caldwick, zedamar caldwick", "lang": "en"}).json()

    assert "zedamar" not in second["text"]
    assert "[NAME_1c]" in second["text"]
    assert second["placeholders"] > 3
    third = served.ask(path, {"text": "[NAME_1] is well. Zedborough too.", "lang": "en"}).json()
    assert third["text"].startswith("[NAME_1] is well. [NAME_")
    back = served.ask(path.replace("redact", "restore"), {"text": third["text"]}).json()
    assert back["text"] == "Zedamar Caldwick is well. Zedborough too."


def test_a_text_that_has_placeholders_of_its_own_is_not_mistaken(served):
    text = "Form: [NAME_1], DATE_1. Zedamar came."
    found = begin(served, text)

    assert found["text"] == "Form: [NAME_1], DATE_1. [NAME_2] came."
    path = f"/v1/sessions/{found['session']}/restore"
    assert served.ask(path, {"text": found["text"]}).json()["text"] == text


def test_the_same_ranges_are_replaced_as_by_the_policy_tag(served):
    found = begin(served)
    (tagged,) = deidentify_notes(
        [Note("n", FIRST, lang="en")], policy="tag", detectors=("rules", "talker"), secret=SECRET
    )
    kept = [FIRST[a.end : b.start] for a, b in zip(tagged.edits, tagged.edits[1:], strict=False)]
    at = 0
    for piece in kept:
        at = found["text"].index(piece, at) + len(piece)
    assert found["text"].count("[") == len(tagged.edits)


def test_categories_may_stay_where_a_policy_may_leave_them(served):
    found = begin(served, keep=["AGE", "DATE"])

    assert ", 47, saw" in found["text"]
    assert found["text"].endswith("on 3 May 2021.")
    body = {"text": FIRST, "keep": ["NAME"]}
    assert "none of AGE" in served.problem("/v1/sessions", body, status=422)["detail"]


def test_a_session_ends_when_it_is_ended_or_expires(start):
    limits = ServiceLimits(sessions=2, session_seconds=1.5)
    with start(detectors=("talker",), limits=limits) as served:
        first, second = begin(served, "Zedamar"), begin(served, "Zedbert", expires_in=1)
        assert second["expires_in"] <= 1
        found = served.problem("/v1/sessions", {"text": "Zedcarl"}, status=503)
        assert found["type"] == "/docs#busy"
        gone = f"/v1/sessions/{first['session']}"
        assert served.ask(gone, method="DELETE").status_code == 204
        for path in (f"{gone}/restore", f"{gone}/redact", "/v1/sessions/none/restore"):
            assert served.problem(path, {"text": "[NAME_1]"}, status=404)["type"] == (
                "/docs#no-session"
            )
        import time

        time.sleep(1.6)
        served.problem(
            f"/v1/sessions/{second['session']}/restore", {"text": "[NAME_1]"}, status=404
        )
        assert len(served.service.sessions) == 0


def test_a_withheld_text_leaves_nothing_in_its_session(served):
    found = begin(served, "Zedamar is here.")
    path = f"/v1/sessions/{found['session']}/redact"

    problem = served.problem(
        path, {"id": "two", "text": "Zedbert, tripwire", "lang": "en"}, status=422
    )

    assert problem["note"] == "two"
    assert "Zedbert" not in json.dumps(problem)
    assert (
        served.ask(path, {"text": "Zedamar again.", "lang": "en"}).json()["text"]
        == "[NAME_1] again."
    )


def test_too_many_values_are_refused(start):
    with start(detectors=("talker",), limits=ServiceLimits(session_values=2)) as served:
        text = "Zedamar, Zedbert, Zedcarl"
        answer = served.ask("/v1/sessions", {"text": text})
        assert answer.status_code == 422
        assert "Zed" not in answer.text


def test_the_texts_of_a_session_are_bounded_together(start):
    with start(detectors=("talker",), limits=ServiceLimits(bytes_=4096)) as served:
        path = f"/v1/sessions/{begin(served, 'Zedamar ' * 400)['session']}/redact"
        found = served.problem(path, {"text": "Zedbert " * 400}, status=422)
        assert "the session has more than 4,096 characters" in found["detail"]
        assert served.ask(path, {"text": "Zedbert"}).status_code == 200


VALUES = st.lists(
    st.tuples(st.sampled_from(list(Phi)), st.text(st.characters(exclude_categories=["Cs"]))),
    max_size=12,
)
TEXTS = st.text(alphabet="NAME_DT1b[] \nx", max_size=40)


@given(VALUES, TEXTS, st.randoms())
def test_whatever_the_values_are_they_come_back(values, text, random):
    session = ReversibleSession("s", 1.0, frozenset(), 100)
    session.take_in(text)
    # a value that itself looks like a placeholder is no value of a note that was taken in
    values = [(label, value) for label, value in values if "_" not in value]
    pieces = [(session.placeholder(value, label), value) for label, value in values]
    random.shuffle(pieces)

    redacted = text + "|" + "|".join(place for place, _ in pieces)

    assert session.restore(redacted, 100_000)[0] == text + "|" + "|".join(
        value for _, value in pieces
    )
    assert len({place for place, _ in pieces}) == len(set(values))


def test_values_that_hold_placeholders_do_not_grow_without_end():
    session = ReversibleSession("s", 1.0, frozenset(), 100)
    for number in range(1, 5):
        inner = f"[URL_{number - 1}]" * 1000 if number > 1 else "http://a.example"
        assert session.placeholder(inner, Phi.URL) == f"[URL_{number}]"

    with pytest.raises(HttpProblem) as raised:
        session.restore("[URL_4]", 500_000)

    assert "more than 500,000 characters" in raised.value.detail


def test_nothing_of_a_session_is_in_its_name(served):
    names = {begin(served, "Zedamar")["session"] for _ in range(3)}

    assert len(names) == 3
    assert all(len(name) >= 32 for name in names)


@pytest.mark.parametrize("text", ["", "[", "[NAME_", "[NAME_1", "NAME_1]", "[[NAME_1]]", "_1"])
def test_broken_placeholders_are_left(text):
    session = ReversibleSession("s", 1.0, frozenset(), 100)
    session.placeholder("Lee", Phi.NAME)

    assert session.restore(text, 100)[0] == text.replace("[NAME_1]", "Lee").replace("NAME_1", "Lee")
