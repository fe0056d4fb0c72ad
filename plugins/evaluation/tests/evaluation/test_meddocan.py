"""MEDDOCAN's official scores, by hand.

On each line the spans of one side are marked in the same text.
"""

import pytest

from deid_assets.core.errors import DigestError
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.span import Span, SpanSet
from deid_assets.evaluation.counts import Counts
from deid_assets.testing import parse_marked
from deid_evaluation.meddocan import MeddocanCounts, meddocan_counts


def counted(gold, pred):
    note, gold_spans = parse_marked(gold)
    _, pred_spans = parse_marked(pred)
    return meddocan_counts(note, gold_spans, pred_spans)


@pytest.mark.parametrize(
    ("gold", "pred", "ner", "spans", "merged"),
    [
        pytest.param("No hay nada.", "No hay nada.", (0, 0, 0), (0, 0, 0), (0, 0, 0), id="nothing"),
        pytest.param(
            "<NAME>Ana</NAME> vino.",
            "<NAME>Ana</NAME> vino.",
            (1, 0, 0),
            (1, 0, 0),
            (1, 0, 0),
            id="equal",
        ),
        pytest.param(
            "<NAME>Ana</NAME> vino.",
            "<CITY>Ana</CITY> vino.",
            (0, 1, 1),
            (1, 0, 0),
            (1, 0, 0),
            id="another label",
        ),
        pytest.param(
            "<ZIP>28001</ZIP> <CITY>Madrid</CITY>",
            "<LOCATION>28001</LOCATION> <LOCATION>Madrid</LOCATION>",
            # all are TERRITORIO; the run of both counts as a third
            *[(2, 0, 0), (2, 0, 0), (3, 0, 0)],
            id="labels that the task does not tell apart",
        ),
        pytest.param(
            "<NAME>Ana</NAME>, <NAME>Gil</NAME> vino.",
            "<NAME>Ana, Gil</NAME> vino.",
            *[(0, 1, 2), (0, 1, 2), (1, 0, 0)],
            id="a run over blanks and punctuation",
        ),
        pytest.param(
            "<NAME>Ana</NAME> y <NAME>Gil</NAME>",
            "<NAME>Ana y Gil</NAME>",
            *[(0, 1, 2), (0, 1, 2), (0, 1, 2)],
            id="a letter divides",
        ),
        pytest.param(
            "<NAME>Ana</NAME> <NAME>Gil</NAME>",
            "<NAME>Ana</NAME> Gil",
            *[(1, 0, 1), (1, 0, 1), (1, 0, 1)],
            id="half a run is no run",
        ),
        pytest.param(
            "Ana vino.", "<NAME>Ana</NAME> vino.", (0, 1, 0), (0, 1, 0), (0, 1, 0), id="spurious"
        ),
    ],
)
def test_counts_by_hand(gold, pred, ner, spans, merged):
    assert counted(gold, pred) == MeddocanCounts(Counts(*ner), Counts(*spans), Counts(*merged))


def test_a_run_ends_where_its_last_span_does():
    # As in the official scorer: (0, 9) and the (3, 5) in it make (0, 5).
    note = Note("n", "aaaa bbbb")
    gold = SpanSet.of(note, [Span(0, 9, Phi.NAME), Span(3, 5, Phi.NAME)])
    pred = SpanSet.of(note, [Span(0, 5, Phi.NAME)])

    assert meddocan_counts(note, gold, pred).merged == Counts(1, 0, 1)


def test_counts_of_notes_add_up():
    assert sum(
        [MeddocanCounts(Counts(1, 2, 3), Counts(4), Counts(0, 5))] * 2, MeddocanCounts()
    ) == MeddocanCounts(Counts(2, 4, 6), Counts(8), Counts(0, 10))


def test_spans_of_another_text_are_refused():
    note, spans = parse_marked("<NAME>Ana</NAME> vino.")
    with pytest.raises(DigestError):
        meddocan_counts(
            note, spans, SpanSet.of(Note("marked", "Eva vino."), [Span(0, 3, Phi.NAME)])
        )


def native(text, *spans):
    note = Note("n", text)
    return note, SpanSet.of(
        note, [Span(start, end, label, native_label=own) for start, end, label, own in spans]
    )


def test_the_tasks_own_labels_are_told_apart_where_spans_carry_them():
    text = "Ana vio a Eva en el CS Sur y en el HU Norte."
    staff, patient = "NOMBRE_PERSONAL_SANITARIO", "NOMBRE_SUJETO_ASISTENCIA"
    note, gold = native(
        text,
        (0, 3, Phi.NAME, staff),
        (10, 13, Phi.NAME, patient),
        (20, 26, Phi.HOSPITAL, "CENTRO_SALUD"),
        (35, 43, Phi.HOSPITAL, ""),
    )
    _, swapped = native(
        text,
        (0, 3, Phi.NAME, patient),
        (10, 13, Phi.NAME, staff),
        (20, 26, Phi.HOSPITAL, ""),
        (35, 43, Phi.HOSPITAL, "CENTRO_SALUD"),
    )
    _, plain = native(
        text,
        (0, 3, Phi.NAME, ""),
        (10, 13, Phi.NAME, ""),
        (20, 26, Phi.HOSPITAL, ""),
        (35, 43, Phi.HOSPITAL, ""),
    )

    assert meddocan_counts(note, gold, gold).ner == Counts(4, 0, 0)
    assert meddocan_counts(note, gold, swapped).ner == Counts(0, 4, 4)
    assert meddocan_counts(note, gold, swapped).spans == Counts(4, 0, 0)
    assert meddocan_counts(note, gold, plain).ner == Counts(2, 2, 2)


def test_another_corpus_labels_are_left_aside():
    note, gold = native("Ana vino.", (0, 3, Phi.NAME, "NOMBRE_SUJETO_ASISTENCIA"))
    _, pred = native("Ana vino.", (0, 3, Phi.NAME, "PATIENT"))

    assert meddocan_counts(note, gold, pred).ner == Counts(1, 0, 0)
