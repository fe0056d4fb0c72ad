"""The network: run with NumPy as it was trained with PyTorch, and its decisions about words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from deid_assets import Span
from deid_assets.extending import Phi, PluginError, tokenize
from deid_compact.features import gaps_of, rows_of, shape_of
from deid_compact.folder import read_network, write_weights
from deid_compact.labels import Classes
from deid_compact.lexicon import COLUMNS, LISTS, ListIndex, institution_words, read_lexicon
from deid_compact.network import CompactNetwork
from deid_compact.thresholds import choose_thresholds
from deid_compact.words import Decision, WordScores, spans_of, unite, veto_spans

torch = pytest.importorskip("torch")

from deid_compact.nets import CompactNet, Feed, pad_arrays, weights_of  # noqa: E402
from deid_compact.spelling import Spelling  # noqa: E402

CLASSES = Classes((Phi.CITY, Phi.ID, Phi.NAME))
DECISION = Decision(0.5, {}, frozenset())


@pytest.fixture
def lexicon(tmp_path: Path) -> ListIndex:
    import marisa_trie

    trie = marisa_trie.RecordTrie("<H", [("lee", (4,)), ("seen", (1,))])
    trie.save(str(tmp_path / "lists.marisa"))
    return read_lexicon(tmp_path / "lists.marisa", COLUMNS)


def trained(seed: int = 1) -> CompactNet:
    torch.manual_seed(seed)
    return CompactNet(width=16, parts=8, labels=5, outputs=CLASSES.outputs, dropout=0.1).eval()


def torch_scores(net: CompactNet, lexicon: ListIndex, notes: list[list[str]]) -> list[np.ndarray]:
    spelling = Spelling(lexicon)
    numbers = [spelling.numbers_of(words) for words in notes]
    spelling.close()
    distinct, places = np.unique(np.concatenate(numbers), return_inverse=True)
    split = np.split(places, np.cumsum([len(each) for each in numbers])[:-1])
    zeros = [np.zeros(len(words), dtype=np.int64) for words in notes]
    feed = Feed(
        *spelling.parts(distinct),
        words=pad_arrays(split, -1),
        gaps=pad_arrays(zeros, 0),
        labels=pad_arrays(zeros, 0),
    )
    with torch.no_grad():
        scores = net(feed).numpy()
    return [row[: len(words)] for row, words in zip(scores, notes, strict=True)]


def numpy_scores(network: CompactNetwork, notes: list[list[str]]) -> list[np.ndarray]:
    zeros = [np.zeros(len(words), dtype=np.int64) for words in notes]
    return [
        network.scores(words, nothing, nothing) for words, nothing in zip(notes, zeros, strict=True)
    ]


def test_numpy_gives_the_scores_of_pytorch(lexicon: ListIndex) -> None:
    net = trained()
    notes = [["Seen", "by", "Dr", ".", "Lee", "on", "3", "May"], ["12", "mg"], ["Lee"] * 40]
    wanted = torch_scores(net, lexicon, notes)
    found = numpy_scores(CompactNetwork(weights_of(net), lexicon), notes)
    for one, other in zip(wanted, found, strict=True):
        assert np.abs(one - other).max() < 0.02  # of the table's 8 bits


def test_a_note_is_read_the_same_whatever_was_read_before(lexicon: ListIndex) -> None:
    weights = weights_of(trained())
    note = ["Seen", "by", "Lee"]
    (fresh,) = numpy_scores(CompactNetwork(weights, lexicon), [note])
    _, _, later = numpy_scores(
        CompactNetwork(weights, lexicon), [[f"x{n}" for n in range(70)], ["by", "Bo"], note]
    )
    assert (fresh == later).all()


def test_a_long_note_is_read_in_parts_as_in_one(
    lexicon: ListIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = weights_of(trained())
    note = [f"x{number % 17}" for number in range(333)]
    (whole,) = numpy_scores(CompactNetwork(weights, lexicon), [note])
    monkeypatch.setattr("deid_compact.network.LONGEST", 50)
    (parts,) = numpy_scores(CompactNetwork(weights, lexicon), [note])
    assert np.abs(whole - parts).max() < 1e-4


def test_weights_come_back_from_a_folder(tmp_path: Path, lexicon: ListIndex) -> None:
    weights = weights_of(trained())
    write_weights(tmp_path, weights)
    network = read_network(tmp_path)
    assert (network.weights.table == weights.table).all()
    (wanted,) = numpy_scores(CompactNetwork(weights, lexicon), [["Lee", "was", "seen"]])
    (found,) = numpy_scores(network, [["Lee", "was", "seen"]])
    assert np.abs(wanted - found).max() < 0.02  # of half precision


@pytest.mark.parametrize("columns", [7, 10])
def test_a_model_of_an_older_version_is_read_without_what_it_does_not_know(
    tmp_path: Path, columns: int
) -> None:
    """Six lists, no compounds, no mean of the note; eight lists, no institutions."""
    import marisa_trie

    trie = marisa_trie.RecordTrie("<B", [("lee", (4,)), ("seen", (1,))])
    trie.save(str(tmp_path / "lists.marisa"))
    weights = weights_of(trained())
    note = weights.note if columns == 10 else None
    write_weights(tmp_path, replace(weights, lists=weights.lists[:columns], note=note))
    network = read_network(tmp_path)
    lists = network.lexicon.lists_of(["Lee", "seenlee", "seenseen"])
    assert lists.shape == (3, columns)
    assert lists[0, LISTS.index("surnames")] == 1
    (scores,) = numpy_scores(network, [["Lee", "was", "seen"]])
    assert np.isfinite(scores).all()


def test_the_whole_note_says_how_a_word_is_read(lexicon: ListIndex) -> None:
    network = CompactNetwork(weights_of(trained()), lexicon)
    far = ["x"] * 40
    one, other = numpy_scores(network, [["Lee", *far, "seen"], ["Lee", *far, "gesehen"]])
    assert (one[0] != other[0]).any()


@pytest.mark.parametrize(
    ("word", "is_compound"),
    [
        ("Darmschlinge", True),
        ("Arbeitsdarm", True),
        ("ARBEITSDARMSCHLINGE", True),
        ("Schlingendarm", True),
        ("Darmmüller", False),  # a name is no part
        ("Darmxyz", False),
        ("Darm", False),  # too short
        ("darm-schlinge", False),
        ("Darm" * 11, False),  # too many parts
    ],
)
def test_compounds_are_told(tmp_path: Path, word: str, *, is_compound: bool) -> None:
    import marisa_trie

    words = [("darm", (1,)), ("schlinge", (64,)), ("arbeit", (128,)), ("müller", (4,))]
    marisa_trie.RecordTrie("<H", words).save(str(tmp_path / "lists.marisa"))
    lists = read_lexicon(tmp_path / "lists.marisa", COLUMNS).lists_of([word])
    assert bool(lists[0, -2]) is is_compound


def test_words_of_institutions_are_their_names_and_no_frequent_words_in_them() -> None:
    frequent = 1 << LISTS.index("frequent_words")
    words = set(institution_words({"och": frequent, "allied": frequent}))
    assert {"Menzis", "Attendo"} <= words
    assert "och" not in words


def test_broken_weights_are_refused(tmp_path: Path, lexicon: ListIndex) -> None:
    del lexicon
    write_weights(tmp_path, weights_of(trained()))
    whole = (tmp_path / "weights.npz").read_bytes()
    (tmp_path / "weights.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(PluginError, match="train the model again"):
        read_network(tmp_path)


@pytest.mark.parametrize(
    ("word", "shape"),
    [("Lee", "Xxx"), ("McDonald", "XxXxxx"), ("LEE", "XXX"), ("2021", "0004"), ("-", "-")],
)
def test_shapes(word: str, shape: str) -> None:
    assert shape_of(word) == f"{shape}" if word.isdigit() else f"{shape}0"


def test_words_that_differ_in_digits_alone_share_their_rows_but_for_the_length() -> None:
    assert rows_of("2021") == rows_of("1987")
    assert rows_of("2021") != rows_of("20211")


def test_words_are_set_off_by_blanks_and_lines() -> None:
    text = "a b\nc\n\nd\te"
    gaps = gaps_of(text, tokenize(text))
    assert [gap % 8 for gap in gaps.tolist()] == [5, 1, 3, 4, 2]
    assert [gap // 8 for gap in gaps.tolist()] == [1, 3, 4, 2, 5]


def scores_of(text: str, marked: dict[str, tuple[Phi, float, float]]) -> WordScores:
    words = tokenize(text)
    categories = np.zeros((len(words), len(CLASSES.categories)), dtype=np.float32)
    begins = np.zeros(len(words), dtype=np.float32)
    for number, (start, end) in enumerate(words):
        if (found := marked.get(text[start:end])) is not None:
            categories[number, CLASSES.categories.index(found[0])] = found[1]
            begins[number] = found[2]
    return WordScores(words, categories.sum(axis=1), categories, begins)


def test_words_of_one_name_are_one_span_and_a_new_beginning_is_another() -> None:
    text = "Anna Lee Bo"
    scores = scores_of(
        text,
        {"Anna": (Phi.NAME, 0.9, 0.9), "Lee": (Phi.NAME, 0.8, 0.1), "Bo": (Phi.NAME, 0.9, 0.8)},
    )
    spans = spans_of(text, scores, CLASSES, DECISION, "compact")
    assert [(span.start, span.end) for span in spans] == [(0, 8), (9, 11)]
    assert spans[0].score == pytest.approx(0.8)


def test_words_under_their_threshold_and_silent_categories_are_left() -> None:
    text = "Lee Rome"
    scores = scores_of(text, {"Lee": (Phi.NAME, 0.6, 1.0), "Rome": (Phi.CITY, 0.6, 1.0)})
    strict = Decision(0.5, {Phi.NAME: 0.7}, frozenset())
    assert [span.label for span in spans_of(text, scores, CLASSES, strict, "x")] == [Phi.CITY]


@pytest.mark.parametrize(
    ("text", "probabilities", "found"),
    [
        ("Anna Maria Lee", (0.4, 0.9, 0.4), ["Anna Maria Lee"]),  # on both sides
        ("Anna de la Lee", (0.9, 0.4, 0.4, 0.2), ["Anna de la"]),  # as far as they go on
        ("Anna de Lee", (0.9, 0.2, 0.9), ["Anna", "Lee"]),
        ("Anna, Lee", (0.9, 0.1, 0.4), ["Anna"]),  # a comma parts
        ("Anna\nLee", (0.9, 0.4), ["Anna"]),  # so does the end of a line
        ("Saint-Lee", (0.9, 0.4, 0.4), ["Saint-Lee"]),
        ("Anna Lee", (0.4, 0.4), []),  # none is likely enough by itself
    ],
)
def test_less_likely_words_beside_a_marked_one_are_marked(
    text: str, probabilities: tuple[float, ...], found: list[str]
) -> None:
    scores = likely_names(text, probabilities)
    beside = Decision(0.5, {}, frozenset(), beside=0.3)
    spans = spans_of(text, scores, CLASSES, beside, "x")
    assert [text[span.start : span.end] for span in spans] == found
    assert all(span.score >= 0.5 for span in spans_of(text, scores, CLASSES, DECISION, "x"))


def likely_names(text: str, probabilities: Sequence[float], category: int = 2) -> WordScores:
    words = tokenize(text)
    certain = np.array(probabilities, dtype=np.float32)
    categories = np.zeros((len(words), len(CLASSES.categories)), dtype=np.float32)
    categories[:, category] = certain
    return WordScores(words, certain, categories, np.zeros(len(words), dtype=np.float32))


def test_a_span_is_no_less_sure_for_a_word_beside_it() -> None:
    text = "Anna Lee Bo"
    scores = likely_names(text, (0.95, 0.9, 0.4))
    beside = Decision(0.5, {}, frozenset(), beside=0.3)
    (span,) = spans_of(text, scores, CLASSES, beside, "x")
    assert (span.end, span.score) == (11, pytest.approx(0.9))


def test_a_word_before_a_new_name_begins_it() -> None:
    text = "Anna Lee\ndr Bo Jones"
    scores = likely_names(text, (0.9, 0.9, 0.4, 0.9, 0.9))
    scores.begins[[0, 3]] = 1.0
    beside = Decision(0.5, {}, frozenset(), beside=0.3)
    spans = spans_of(text, scores, CLASSES, beside, "x")
    assert [text[span.start : span.end] for span in spans] == ["Anna Lee", "dr Bo Jones"]


def test_numbers_are_not_marked_for_what_stands_beside_them() -> None:
    scores = likely_names("12 34", (0.9, 0.4), category=1)
    beside = Decision(0.5, {}, frozenset(), beside=0.3)
    (span,) = spans_of("12 34", scores, CLASSES, beside, "x")
    assert (span.start, span.end) == (0, 2)


@pytest.mark.parametrize(
    ("label", "is_kept"),
    [(Phi.NAME, False), (Phi.DATE, False), (Phi.NATIONAL_ID, True), (Phi.EMAIL, True)],
)
def test_doubt_takes_out_words_and_never_numbers_known_by_their_form(
    label: Phi, *, is_kept: bool
) -> None:
    scores = scores_of("Lee", {"Lee": (Phi.NAME, 0.01, 1.0)})
    span = Span(0, 3, label, 0.9, "rules")
    assert bool(veto_spans([span], scores, 0.05)) is is_kept


def test_spans_of_rules_name_what_the_network_cannot_tell_apart() -> None:
    rules = [Span(0, 4, Phi.MRN, 0.9, "x"), Span(10, 20, Phi.NAME, 0.9, "x")]
    within = Span(12, 16, Phi.CITY, 0.9, "x")
    wider = Span(0, 7, Phi.ID, 0.9, "x")
    beside = Span(18, 25, Phi.CITY, 0.9, "x")
    found = unite([wider, within, beside], rules)
    assert [(span.start, span.end, span.label) for span in found[:2]] == [
        (0, 7, Phi.MRN),
        (18, 25, Phi.CITY),
    ]
    assert found[2:] == rules


def test_a_span_with_one_likely_word_is_kept_whole() -> None:
    scores = scores_of("Lee Rome", {"Lee": (Phi.NAME, 0.01, 1.0), "Rome": (Phi.CITY, 0.2, 1.0)})
    span = Span(0, 8, Phi.NAME, 0.9, "rules")
    assert veto_spans([span], scores, 0.05) == [span]


def test_thresholds_reach_the_wanted_precision() -> None:
    from deid_assets import Note
    from deid_assets.extending import DisjointSpans, Document

    text = "Lee " * 60 + "was " * 40
    words = tokenize(text)
    marked = np.array([0.9] * 60 + [0.55] * 40, dtype=np.float32)
    categories = np.zeros((100, 3), dtype=np.float32)
    categories[:, 2] = marked
    note = Note("n", text)
    spans = [Span(start, end, Phi.NAME, 1.0, "gold") for start, end in words[:60]]
    judged = [
        (
            Document(note, DisjointSpans.of(note, spans)),
            WordScores(words, marked, categories, marked),
        )
    ]
    loose = choose_thresholds(judged, CLASSES, wanted_precision=0.5, silent=frozenset())
    strict = choose_thresholds(judged, CLASSES, wanted_precision=0.95, silent=frozenset())
    assert loose[Phi.NAME] < 0.55 < strict[Phi.NAME] <= 0.9


@pytest.mark.parametrize(
    ("text", "marked", "kept"),
    [
        ("in 2019. Then", "2019.", "2019"),
        ("son Jim (24) at home", "(24)", "(24)"),
        ("(HPR 70441). Driver", "70441).", "70441"),
        ("seen by M. R. today", "M. R.", "M. R."),
        ("on 11.9. again", "11.9.", "11.9."),
        ("lives in Lund, well", "Lund,", "Lund"),
        ("call (+47 22 33 now", "(+47 22 33", "+47 22 33"),
        ('Archie "Beag" is in', 'Archie "Beag"', 'Archie "Beag'),
    ],
)
def test_punctuation_at_the_ends_of_a_span_is_left_out(text: str, marked: str, kept: str) -> None:
    start = text.index(marked)
    words = tokenize(text)
    inside = [start <= first and last <= start + len(marked) for first, last in words]
    certain = np.array(inside, dtype=np.float32)
    categories = np.zeros((len(words), len(CLASSES.categories)), dtype=np.float32)
    categories[:, 2] = certain
    scores = WordScores(words, certain, categories, np.zeros(len(words), dtype=np.float32))
    spans = spans_of(text, scores, CLASSES, DECISION, "x")
    assert text[spans[0].start : spans[-1].end] == kept
