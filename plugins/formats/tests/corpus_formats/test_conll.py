"""CoNLL: how tags spell entities, where notes begin, and which text the tokens are of."""

import tempfile
import tracemalloc
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from deid_assets.core.errors import InputError
from deid_assets.core.note import Note
from deid_assets.core.phi import LabelMap, Phi
from deid_assets.core.span import Span, SpanSet
from deid_assets.formats import (
    Annotated,
    Conll,
    Fault,
    ReadOptions,
    WriteOptions,
    read_notes,
    write_notes,
)
from deid_assets.testing import mark, parse_marked

CANARY = "Zebulon-7731"
SCHEMES = ("bio", "iob1", "iob2", "bioes", "bilou")
BLANKS = ["\r\n", "\r", "\n", "\t", " ", "\u2028", "\x85", "\xa0"]
AWKWARD = [
    *BLANKS,
    "\0",
    "\ufeff",
    "_",
    "#",
    "# id = x",
    "-DOCSTART-",
    '"',
    "\\",
    "e\u0301",
    "\U0001f468\u200d\u2695",
]
FAST = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def read(content, tmp_path, *, labels=None, **options):
    path = tmp_path / "n.conll"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return list(read_notes(path, labels=labels, options=ReadOptions(**options)))


def spelt(tags, **conll):
    """Tokens a, b, c … with these tags, as marked text, or as line and kind of each fault."""
    rows = "".join(
        f"{chr(97 + at)} {tag}\n" if tag else "\n" for at, tag in enumerate(tags.split(" "))
    )
    with tempfile.TemporaryDirectory() as folder:
        found = read(rows, Path(folder), conll=Conll(**conll))
    if all(isinstance(entry, Fault) for entry in found):
        assert {entry.kind for entry in found} == {"malformed"}
        return [entry.line for entry in found]
    return mark(found[0].note, found[0].spans).replace("NAME", "N").replace("CITY", "C")


ENTITIES = [
    ("bio", "O B-NAME I-NAME O", "a <N>b c</N> d"),
    ("iob2", "B-NAME B-NAME I-CITY", [3]),
    ("bio", "B-NAME I-CITY", [2]),
    ("bio", "O I-NAME I-NAME", [2]),
    ("bio", "B-NAME  I-NAME", [3]),
    ("bio", "E-NAME S-NAME O", [1, 2]),
    ("bio", "NAME b-NAME B- _", [1, 2, 3, 4]),
    ("bio", "B-NAME X I-NAME", [2]),
    ("iob1", "I-NAME I-NAME B-NAME I-CITY", "<N>a b</N> <N>c</N> <C>d</C>"),
    ("iob1", "I-NAME  I-NAME", "<N>a</N>\n<N>c</N>"),
    ("bioes", "S-NAME B-NAME I-NAME E-NAME", "<N>a</N> <N>b c d</N>"),
    ("bioes", "B-NAME O E-NAME", [1, 3]),
    ("bioes", "B-NAME E-CITY", [1, 2]),
    ("bioes", "B-NAME  O", [1]),
    ("bioes", "U-NAME L-NAME", [1, 2]),
    ("bilou", "U-NAME B-CITY L-CITY O", "<N>a</N> <C>b c</C> d"),
    ("bilou", "O I-NAME L-NAME", [2]),
    ("bilou", "O B-NAME", [2]),
]
REPAIRED = [
    ("bio", "O I-NAME I-NAME I-CITY", "a <N>b c</N> <C>d</C>"),
    ("bio", "B-NAME  I-NAME", "<N>a</N>\n<N>c</N>"),
    ("bioes", "B-NAME O E-NAME E-NAME", "<N>a</N> b <N>c</N> <N>d</N>"),
    ("bilou", "I-NAME I-NAME", "<N>a b</N>"),
    ("bio", "E-NAME", [1]),
]


@pytest.mark.parametrize(("scheme", "tags", "expected"), ENTITIES)
def test_tags_spell_entities_or_each_wrong_one_is_a_fault(scheme, tags, expected):
    assert spelt(tags, scheme=scheme) == expected


@pytest.mark.parametrize(("scheme", "tags", "expected"), REPAIRED)
def test_repair_begins_and_ends_what_tags_leave_open_but_knows_no_other_scheme(
    scheme, tags, expected
):
    assert spelt(tags, scheme=scheme, repair=True) == expected


CONLL_2003 = """\
-DOCSTART- -X- O O

Dr. NNP I-NP O
Lee NNP I-NP B-NAME
# NN I-NP O

Oslo NNP I-NP B-CITY

-DOCSTART- -X- O O

# we saw nobody
Nobody NN O O
"""


def test_conll_2003_has_a_note_per_docstart_and_a_line_per_sentence(tmp_path):
    first, second = read(CONLL_2003.replace("\n", "\r\n"), tmp_path)
    assert mark(first.note, first.spans) == "Dr. <NAME>Lee</NAME> #\n<CITY>Oslo</CITY>"
    assert (second.note.text, len(second.spans)) == ("Nobody", 0)
    assert (first.note.note_id, second.note.note_id) == ("n-1", "n-2")


@pytest.mark.parametrize("row", ["# B-NAME NN", "# NN B-NAME"])
def test_a_token_that_is_a_hash_is_no_comment(row, tmp_path):
    tag = row.split().index("B-NAME")
    (found,) = read(f"# a comment = or two\n{row}\n", tmp_path, conll=Conll(tag=tag))
    assert mark(found.note, found.spans) == "<NAME>#</NAME>"


def test_a_file_that_marks_no_note_is_one_note_with_the_name_of_the_file(tmp_path):
    (found,) = read("a O\n\nb O\n", tmp_path)
    assert (found.note.note_id, found.note.text) == ("n", "a\nb")


IDS = [
    "# newdoc id = a\n# lang = es\nx O\n# newdoc id = b\ny O\n",
    "# id = a\n# lang = es\nx O\n\n# id = b\ny O",
    "-DOCSTART- O\n# id = a\n# lang = es\nx O\n\n-DOCSTART- O\n\n# id = b\ny O\n",
    "# id = a\n-DOCSTART-\n# lang = es\nx O\n# newdoc\n# id = b\ny O\n",
]


@pytest.mark.parametrize("content", IDS)
def test_comments_carry_ids_and_language(content, tmp_path):
    found = read(content, tmp_path)
    assert [(one.note.note_id, one.note.lang, one.note.text) for one in found] == [
        ("a", "es", "x"),
        ("b", None, "y"),
    ]


TEXTS = [
    (
        "text of each sentence",
        "# text = No, Ana.\nNo O\n, O\nAna B-NAME\n. O\n\n# text =  Li\nLi B-NAME\n",
        {},
    ),
    ("one text", '# text_json = "No, Ana.\\n Li"\nNo O\n, O\nAna B-NAME\n. O\nLi B-NAME\n', {}),
    (
        "offsets",
        "No\t0\t2\tO\n,\t2\t3\tO\nAna\t4\t7\tB-NAME\n.\t7\t8\tO\n\nLi\t10\t12\tB-NAME\n",
        {"start": 1, "end": 2},
    ),
    (
        "named columns",
        (
            "# global.columns = ID END FORM NER START\n1 2 No O 0\n2 3 , O 2\n3 7 Ana B-NAME 4\n4 8"
            " . O 7\n\n1 12 Li B-NAME 10\n"
        ),
        {},
    ),
]


@pytest.mark.parametrize(
    ("content", "conll"), [case[1:] for case in TEXTS], ids=[case[0] for case in TEXTS]
)
def test_the_text_is_rebuilt_from_what_the_file_says_of_it(content, conll, tmp_path):
    (found,) = read(content, tmp_path, conll=Conll(**conll))
    assert mark(found.note, found.spans) == "No, <NAME>Ana</NAME>.\n <NAME>Li</NAME>"


@pytest.mark.parametrize("unit", ["utf8", "utf16", "codepoint"])
@pytest.mark.parametrize("text_line", ['# text_json = "\U0001f468é Ana"\n', ""])
def test_offsets_count_what_the_option_says(unit, text_line, tmp_path):
    at = {"utf8": (0, 6, 7, 10), "utf16": (0, 3, 4, 7), "codepoint": (0, 2, 3, 6)}[unit]
    rows = f"\U0001f468é\t{at[0]}\t{at[1]}\tO\nAna\t{at[2]}\t{at[3]}\tB-NAME\n"
    (found,) = read(text_line + rows, tmp_path, offsets=unit, conll=Conll(start=1, end=2))
    assert mark(found.note, found.spans) == "\U0001f468é <NAME>Ana</NAME>"


OFFSETS = {"conll": Conll(start=1, end=2)}
BROKEN = [
    ("no token", f"# lang = en\n# text = {CANARY}\n", 2, "text-mismatch", {}),
    ("nothing", "# lang = en\n", 2, "malformed", {}),
    ("columns missing", f"{CANARY}\n", 3, "malformed", {}),
    ("columns too many", f"{CANARY}\t{CANARY}\tO\n", 3, "malformed", {}),
    ("empty token", "\tO\n", 3, "malformed", {}),
    ("label", f"{CANARY}\tB-PERSON\n", 3, "unknown-label", {}),
    ("tag is text", f"of\t{CANARY}\n", 3, "malformed", {}),
    ("label is text", f"of\tB-{CANARY}+\n", 3, "unknown-label", {}),
    ("other text", f"# text = {CANARY}\nZebedee\tO\n", 4, "text-mismatch", {}),
    ("token missing before", f"# text = {CANARY} Ana\nAna\tO\n", 4, "text-mismatch", {}),
    ("token missing behind", f"# text = Ana {CANARY}\nAna\tO\n", 4, "text-mismatch", {}),
    (
        "a sentence without its text",
        f"# text = Ana\nAna\tO\n\n{CANARY}\tO\n",
        6,
        "text-mismatch",
        {},
    ),
    ("text_json no JSON", f"# text_json = {CANARY}\n", 3, "malformed", {}),
    ("text_json a list", f'# text_json = ["{CANARY}"]\n', 3, "malformed", {}),
    ("text_json twice", f'# text_json = "{CANARY}"\n# text_json = ""\n', 4, "malformed", {}),
    ("text_json a lone surrogate", f'# text_json = "{CANARY}\\ud800"\n', 2, "undecodable", {}),
    ("offset a word", f"{CANARY}\t0\tx\tO\n", 3, "offset", OFFSETS),
    ("offset negative", f"{CANARY}\t-1\t11\tO\n", 3, "offset", OFFSETS),
    ("offset of other width", f"{CANARY}\t0\t11\tO\n", 3, "offset", OFFSETS),
    ("offset far", f"Ana\t{10**14}\t{10**14 + 3}\tO\n", 3, "offset", OFFSETS),
    ("offset back", "Ana\t0\t3\tO\nAna\t2\t5\tO\n", 4, "offset", OFFSETS),
    ("offset behind the text", f'# text_json = "{CANARY}"\n_\t0\t99\tO\n', 4, "offset", OFFSETS),
    (
        "offset of other text",
        f'# text_json = "{CANARY} Ana"\nAna\t0\t3\tO\n',
        4,
        "text-mismatch",
        OFFSETS,
    ),
    (
        "offset beside text",
        f'# text_json = "{CANARY} Ana"\nAna\t13\t16\tO\n',
        4,
        "text-mismatch",
        OFFSETS,
    ),
]


@pytest.mark.parametrize(
    ("content", "line", "kind", "options"),
    [case[1:] for case in BROKEN],
    ids=[case[0] for case in BROKEN],
)
def test_a_broken_note_is_one_fault_and_its_neighbours_are_read(
    content, line, kind, options, tmp_path
):
    good = "fine\t0\t4\tO\n" if options else "fine\tO\n"
    before, fault, after = read(
        f"{good}# id = bad\n{content}# id = after\n{good}", tmp_path, **options
    )
    assert (before.note.note_id, after.note.note_id) == ("n", "after")
    assert (fault.kind, fault.line, fault.note_id) == (kind, line, "bad")
    assert fault.message.startswith(f"n.conll:{line}: ")
    assert ";" in fault.message
    assert fault.message.isprintable()
    assert CANARY not in fault.message


def test_each_fault_of_a_note_is_its_own(tmp_path):
    found = read("Ana B-NAME\nLi I-CITY\nx\nLi B-PERSON\nx X\n", tmp_path)
    assert sorted((fault.line, fault.kind) for fault in found) == [
        (2, "malformed"),
        (3, "malformed"),
        (4, "unknown-label"),
        (5, "malformed"),
    ]


@pytest.mark.parametrize(
    "names",
    ["FORM", "TAG", "FORM FORM TAG", "FORM START TAG", "FORM TOKEN TAG", "ID UPOS", "FORM TAG NER"],
)
def test_a_header_that_names_too_little_is_one_fault_for_the_file(names, tmp_path):
    (fault,) = read(f"# global.columns = {names}\n{CANARY} O O\n", tmp_path)
    assert (fault.kind, fault.line) == ("malformed", 1)


def test_a_column_that_is_not_there_is_a_fault(tmp_path):
    (fault,) = read(f"{CANARY} O\n", tmp_path, conll=Conll(tag=3))
    assert (fault.kind, fault.line) == ("malformed", 1)


@pytest.mark.parametrize("line", [b"\xff O\n", b"# lang = \xff\n", b"x B-\xff\n"])
def test_undecodable_bytes_withhold_their_note_only(line, tmp_path):
    content = b"# id = a\nx O\n# id = bad\nx O\n" + line + b"x O\n# id = b\nx O\n"
    first, fault, last = read(content, tmp_path)
    assert (first.note.note_id, last.note.note_id) == ("a", "b")
    assert (fault.kind, fault.line, fault.note_id) == ("undecodable", 5, "bad")
    assert f"byte {content.index(0xFF)} " in fault.message


def test_an_undecodable_id_withholds_its_note_and_the_one_it_may_have_ended(tmp_path):
    fault, last = read(b"# id = a\nx O\n# id = \xff\ny O\n# id = b\nz O\n", tmp_path)
    assert (fault.kind, fault.line) == ("undecodable", 3)
    assert last == Annotated(Note("b", "z"), last.spans)


def test_the_later_of_two_notes_with_one_id_is_a_fault(tmp_path):
    first, fault = read("# id = a\nx O\n# id = a\ny O\n", tmp_path)
    assert first.note.text == "x"
    assert (fault.kind, fault.line, fault.note_id) == ("duplicate-id", 3, "a")


def test_tags_that_are_not_read_withhold_no_note(tmp_path):
    (found,) = read("Ana X\nLi B-PERSON\n", tmp_path, annotations=False)
    assert found == Annotated(Note("n", "Ana Li"))


def test_native_labels_are_mapped(tmp_path):
    labels = LabelMap("mine", {"PER": Phi.NAME, "MISC": None})
    (found,) = read("Ana B-PER\nx B-MISC\n", tmp_path, labels=labels)
    assert [(span.label, span.native_label) for span in found.spans] == [(Phi.NAME, "PER")]


def test_a_note_without_tags_is_not_annotated_and_one_with_some_is_a_fault(tmp_path):
    plain, fault = read("# id = a\nx _\ny _\n# id = b\nx O\ny _\n", tmp_path)
    assert plain == Annotated(Note("a", "x y"))
    assert (fault.kind, fault.line) == ("malformed", 6)


@pytest.mark.long
def test_a_note_of_many_rows_is_too_large_and_not_held(tmp_path):
    content = "# id = a\nfine O\n# id = b\n" + f"{CANARY} O\n" * 100_000 + "# id = c\nfine O\n"
    path = tmp_path / "n.conll"
    path.write_text(content)
    tracemalloc.start()
    first, fault, last = read_notes(path, options=ReadOptions(max_note_chars=1000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (first.note.note_id, fault.kind, fault.note_id, last.note.note_id) == (
        "a",
        "too-large",
        "b",
        "c",
    )
    assert peak < 5 << 20


@st.composite
def disjoint(draw):
    """Notes of awkward characters and spans.

    The spans may touch, cut tokens and hold nothing but blanks.
    """
    notes = []
    for number in range(draw(st.integers(1, 3))):
        text = draw(
            st.lists(st.sampled_from(AWKWARD) | st.text(max_size=6), max_size=8).map("".join)
        )
        note = Note(f" n{number} ", text, lang=draw(st.sampled_from([None, "en"])))
        cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=8)))
        chosen = [
            Span(*pair, draw(st.sampled_from([Phi.NAME, Phi.DATE]))) for pair in pairwise(cuts)
        ]
        spans = SpanSet.of(note, [span for span in chosen if draw(st.booleans())])
        notes.append(Annotated(note, draw(st.sampled_from([None, spans]))))
    return notes


@pytest.mark.parametrize("scheme", SCHEMES)
@FAST
@given(notes=disjoint())
@example([Annotated(Note("n", ""), SpanSet.of(Note("n", ""), []))])
@example([Annotated(Note("n", "\r\n "))])
@example([Annotated(*parse_marked("<NAME>\r\n</NAME><NAME> a</NAME>b"))])
def test_text_and_spans_survive_in_every_scheme(scheme, notes):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "n.conll")
        write_notes(path, notes, options=WriteOptions(conll_scheme=scheme))
        found = list(read_notes(path, options=ReadOptions(conll=Conll(scheme))))
    assert found == notes  # which compares text, language and spans


def shown(annotated):
    """The characters under spans, but for blanks."""
    text = annotated.note.text
    return {
        at
        for span in annotated.spans or ()
        for at in range(span.start, span.end)
        if not text[at].isspace()
    }


@FAST
@given(notes=disjoint(), place=st.data())
def test_a_lost_row_costs_no_tagged_character(notes, place):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "n.conll")
        write_notes(path, notes)
        lines = path.read_bytes().split(b"\n")
        rows = [
            at
            for at, line in enumerate(lines)
            if b"\tI-" in line or b"\tB-" in line or b"\tO" in line
        ]
        if rows:
            del lines[place.draw(st.sampled_from(rows))]
            path.write_bytes(b"\n".join(lines))
        found = [entry for entry in read_notes(path) if isinstance(entry, Annotated)]
    written = {annotated.note.note_id: annotated for annotated in notes}
    for entry in found:
        assert entry.note == written[entry.note.note_id].note
        assert shown(entry) == shown(written[entry.note.note_id])


def test_spans_that_overlap_are_not_written(tmp_path):
    note = Note("n1", f"{CANARY} Ana")
    spans = SpanSet.of(note, [Span(0, 12, Phi.NAME), Span(8, 16, Phi.ID)])
    with pytest.raises(InputError, match=r"'n1': spans \[0, 12\) and \[8, 16\) overlap") as caught:
        write_notes(tmp_path / "n.conll", [Annotated(note, spans)])
    assert CANARY not in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("lang", ["", " en", "e\nn"])
def test_a_language_that_is_no_word_is_not_written(lang, tmp_path):
    with pytest.raises(InputError, match="'n1': the language"):
        write_notes(tmp_path / "n.conll", [Annotated(Note("n1", "x", lang=lang))])
