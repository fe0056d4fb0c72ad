"""The ensemble on redacted text.

In a draw that nobody can foresee, in every note where the draw is not clean.
"""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets.assets.parts import EDITS, NOTES
from deid_assets.assets.workers import Workers
from deid_assets.config import Gates
from deid_assets.core.detector import Failed
from deid_assets.core.keys import Key
from deid_assets.core.phi import Phi
from deid_assets.core.span import Span
from deid_assets.pipeline.batch import SearchResult
from deid_assets.pipeline.searching import Search, SearchSample, search_until_clean
from deid_assets.policies import load_policy
from deid_assets.quality import State
from deid_assets.quality.text_checks import search_verdict

KEY = Key(b"0123456789abcdef")
STAGE = Search.name
CLEAN, LEFT = "Seen in the clinic.", "Seen by Zedmarlow in the clinic."
HIT = (Span(0, 4, Phi.NAME),)
IDS = [f"note-{n}" for n in range(40)]


def texts(bad=(), *, bad_text=LEFT):
    rows = [
        {
            "note_id": note_id,
            "patient_id": None,
            "lang": "en",
            "text": bad_text if note_id in bad else CLEAN,
            "n_edits": 0,
        }
        for note_id in IDS
    ]
    return pa.Table.from_pylist(rows, NOTES), EDITS.empty_table()


@pytest.fixture
def search_in(installation):
    """A function that searches redacted notes with some settings of the gates."""

    def run(redacted, *, sample=20, limit=0.2, detector=""):
        gates = f"[gates]\nresidual = {limit}\n"
        installation.configure(installation.default_settings.replace("[gates]\n", gates) + detector)
        opened = installation.opened()
        workers = Workers(opened, load_policy("tag"))
        found = search_until_clean(
            redacted[0].column("note_id").to_pylist(),
            look=lambda note_ids: workers.look(redacted, note_ids),
            redo=lambda hits: hits,  # as if nothing could be covered
            draw=SearchSample(opened.key, sample, limit),
        )
        return found, opened

    return run


def drawn_by(opened, size):
    return SearchSample(opened.key, size).of(IDS)


def test_where_the_draw_is_clean_the_rest_is_not_searched(search_in):
    found, opened = search_in(texts())

    assert found.hits.keys() == drawn_by(opened, 20)
    verdict = search_verdict(found, IDS, opened.settings.gates)
    assert verdict.passed
    assert dict(verdict.counts) | {"upper_bound": 0, "limit": 0} == {
        "notes": 40,
        "hits": 0,
        "failed": 0,
        "notes_searched": 20,
        "notes_with_hits": 0,
        "notes_withheld": 0,
        "notes_drawn": 20,
        "drawn_with_hits": 0,
        "upper_bound": 0,
        "limit": 0,
    }
    assert (
        "20 of 40 notes: 0 of 20 drawn by key had hits, with 95 % confidence at most 13.91%"
        in verdict.description
    )


def test_where_the_draw_is_not_clean_all_are_searched_and_every_hit_is_withheld(
    search_in, installation
):
    installation.configure(installation.default_settings)
    bad = {*sorted(drawn_by(installation.opened(), 20))[:5], IDS[0], IDS[39]}

    found, opened = search_in(texts(bad))

    assert found.hits.keys() == set(IDS)
    assert found.withhold(STAGE) == {
        note_id: Failed(note_id, STAGE, "residual-hit") for note_id in bad
    }
    done = [note_id for note_id in IDS if note_id not in bad]
    verdict = search_verdict(found, done, opened.settings.gates)
    assert verdict.passed
    assert verdict.counts["notes_withheld"] == len(bad)
    assert "all 40 notes" in verdict.description


def test_a_few_hits_in_the_draw_withhold_their_notes_and_leave_the_rest_unsearched(
    search_in, installation
):
    installation.configure(installation.default_settings)
    bad, *_ = sorted(drawn_by(installation.opened(), 20))

    found, _ = search_in(texts({bad}), limit=0.3)

    assert len(found.hits) == 20
    assert found.withhold(STAGE).keys() == {bad}


def test_a_draw_too_small_to_show_the_limit_searches_all(search_in):
    assert search_in(texts(), sample=20, limit=0.1)[0].hits.keys() == set(IDS)


@pytest.mark.parametrize("sample", [0, 40, 1_000])
def test_no_draw_and_a_draw_of_all_search_all(search_in, sample):
    found, opened = search_in(texts({IDS[7]}), sample=sample)

    assert found.hits.keys() == set(IDS)
    verdict = search_verdict(
        found, [note_id for note_id in IDS if note_id != IDS[7]], opened.settings.gates
    )
    assert verdict.passed
    assert "upper_bound" not in verdict.counts


def test_a_detector_that_fails_on_a_drawn_note_withholds_it_and_counts_against_the_rest(
    search_in, installation
):
    installation.configure(installation.default_settings)
    bad, *_ = sorted(drawn_by(installation.opened(), 20))

    found, _ = search_in(
        texts({bad}, bad_text="trip"),
        limit=0.15,
        detector='[detectors.stencil]\nraise_on = "trip"\n',
    )

    assert found.withhold(STAGE) == {bad: Failed(bad, "spans_stencil", "LookupError")}
    assert found.drawn_hits == 1
    assert found.hits.keys() == set(IDS)


def test_a_batch_without_notes_has_nothing_to_search(search_in):
    notes, edits = texts()
    found, opened = search_in((notes.slice(0, 0), edits))

    assert search_verdict(found, [], opened.settings.gates).state is State.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("found", "done", "passes"),
    [
        (SearchResult({"a": (), "b": ()}, {}, drawn=2, drawn_hits=0, notes=2), ["a", "b"], True),
        (SearchResult({"a": HIT, "b": ()}, {}, drawn=2, drawn_hits=1, notes=2), ["b"], True),
        (SearchResult({"a": HIT, "b": ()}, {}, drawn=2, drawn_hits=1, notes=2), ["a", "b"], False),
        (
            SearchResult({"a": HIT, "b": ()}, {"a": ()}, drawn=2, drawn_hits=1, notes=2),
            ["a", "b"],
            True,
        ),
        (
            SearchResult({"a": HIT, "b": ()}, {"a": HIT}, drawn=2, drawn_hits=1, notes=2),
            ["a", "b"],
            False,
        ),
        (
            SearchResult(
                {"a": Failed("a", STAGE, "E"), "b": ()}, {}, drawn=2, drawn_hits=1, notes=2
            ),
            ["a", "b"],
            False,
        ),
        (SearchResult({"a": ()}, {}, drawn=1, drawn_hits=0, notes=2), ["a", "b"], False),
        (SearchResult({}, {}, drawn=0, drawn_hits=0, notes=2), ["a", "b"], False),
    ],
)
def test_a_note_with_a_hit_or_too_few_searched_notes_fail_the_check(found, done, passes):
    assert search_verdict(found, done, Gates()).passed is passes


# The draw


@given(st.sets(st.text(min_size=1, max_size=5), max_size=30), st.integers(1, 40), st.randoms())
def test_a_draw_follows_from_the_key_and_the_ids_alone(ids, size, rng):
    shuffled = sorted(ids)
    rng.shuffle(shuffled)

    chosen = SearchSample(KEY, size).of(ids)

    assert chosen == SearchSample(KEY, size).of(shuffled)
    assert len(chosen) == min(size, len(ids))
    assert chosen <= SearchSample(KEY, size + 1).of(ids) <= ids


def test_another_key_draws_others():
    assert SearchSample(KEY, 10).of(IDS) != SearchSample(Key(b"another secret key"), 10).of(IDS)


def test_what_the_policy_keeps_is_no_hit(installation, tmp_path):
    policy = tmp_path / "mine.toml"
    policy.write_text("name = 'mine'\nkeep = ['NAME']\n")
    installation.configure(installation.default_settings)
    kept = load_policy(str(policy))

    assert Phi.NAME in kept.keep
    assert set(Workers(installation.opened(), kept).look(texts(set(IDS)), IDS).values()) == {()}
