"""UTF-16 with its mark is read, as Windows programs write it.

What only begins like it is withheld.
"""

import codecs

import pytest

from deid_assets.core.errors import InputError
from deid_assets.formats import Fault, ReadOptions, detect_format, read_notes

TEXT = "Geprüft von Dr. Jane Lee\r\nam 3. Mai 2021 🙂."
FILES = {
    "note.txt": TEXT,
    "notes.jsonl": '{"id": "note", "text": "Geprüft von Dr. Jane Lee\\r\\nam 3. Mai 2021 🙂."}\n',
    "notes.csv": f'id,text\nnote,"{TEXT}"\n',
    "note.conll": "# id = note\n" + "\n".join(f"{word} O" for word in TEXT.split()) + "\n",
}
CODECS = {"little": ("utf-16-le", codecs.BOM_UTF16_LE), "big": ("utf-16-be", codecs.BOM_UTF16_BE)}


@pytest.mark.parametrize("order", CODECS)
@pytest.mark.parametrize("name", FILES)
def test_it_is_read_as_the_same_file_in_utf8(name, order, tmp_path):
    if name.endswith(".conll"):
        pytest.importorskip("deid_corpus_formats")
    encoding, mark = CODECS[order]
    plain, marked = tmp_path / "plain" / name, tmp_path / "marked" / name
    for path, content in (
        (plain, FILES[name].encode()),
        (marked, mark + FILES[name].encode(encoding)),
    ):
        path.parent.mkdir()
        path.write_bytes(content)

    (expected,), (found,) = list(read_notes(plain)), list(read_notes(marked))

    assert not isinstance(expected, Fault)
    assert found.note.text == expected.note.text
    assert found.note.note_id == expected.note.note_id


@pytest.mark.long
def test_many_chunks_are_cut_into_the_same_records(tmp_path):
    lines = "".join(f'{{"id": "n{n}", "text": "Ärztin {n} 🙂"}}\n' for n in range(60_000))
    path = tmp_path / "notes.jsonl"
    path.write_bytes(codecs.BOM_UTF16_LE + lines.encode("utf-16-le"))

    found = [one.note.text for one in read_notes(path)]

    assert found == [f"Ärztin {n} 🙂" for n in range(60_000)]


DAMAGED = {
    "half a character": codecs.BOM_UTF16_LE + "Jane Lee".encode("utf-16-le")[:-1],
    "a lone surrogate": codecs.BOM_UTF16_LE + b"\x00\xd8" + "Jane Lee".encode("utf-16-le"),
    "UTF-32": codecs.BOM_UTF32_LE + "Jane Lee".encode("utf-32-le"),
}


@pytest.mark.parametrize("name", ["note.txt", "notes.jsonl", "notes.csv"])
@pytest.mark.parametrize("damage", ["half a character", "a lone surrogate", "UTF-32"])
def test_what_is_no_utf16_is_withheld_without_its_text(name, damage, tmp_path):
    path = tmp_path / name
    path.write_bytes(DAMAGED[damage])

    found = list(read_notes(path))

    assert found
    assert all(isinstance(one, Fault) for one in found)
    assert not any("Jane" in one.message for one in found)
    assert found[0].kind == "undecodable"


def test_an_encoding_that_is_named_decides(tmp_path):
    path = tmp_path / "note.txt"
    path.write_bytes("ÿþ Jane".encode("latin-1"))

    (found,) = read_notes(path, options=ReadOptions(encoding="latin-1"))

    assert found.note.text == "ÿþ Jane"


def test_an_empty_folder_and_an_unknown_format_say_what_they_are(tmp_path):
    (tmp_path / "empty" / "deep").mkdir(parents=True)
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "letter.odt").write_bytes(b"PK")

    for path, said in (
        (tmp_path / "empty", "the folder holds no file; name one with notes"),
        (tmp_path / "odd", "no file in the folder ends as those of a known format do"),
        (
            tmp_path / "odd" / "letter.odt",
            "it does not end as files of a known format do; save it as one",
        ),
    ):
        with pytest.raises(InputError) as caught:
            detect_format(path)
        assert said in str(caught.value)
        assert "\n" not in str(caught.value)
