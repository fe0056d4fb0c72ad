"""Archives: read as the folder that they hold, and nothing else comes out of them."""

import gzip
import io
import os
import stat
import struct
import tarfile
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deid_assets.core.errors import ConfigError, InputError
from deid_assets.formats import Annotated, Fault, ReadOptions, detect_format, read_notes
from deid_assets.formats.options import Archives
from deid_assets.formats.unpacking import Target

MIB = 1 << 20
FAST = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.fixture(autouse=True)
def temporary(tmp_path_factory, monkeypatch):
    """Where archives are unpacked; empty again when the test ends."""
    folder = tmp_path_factory.mktemp("unpacked")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert not list(folder.iterdir()), "unpacked text was left behind"


def zipped(members, **options):
    blob = io.BytesIO()
    with zipfile.ZipFile(blob, "w", zipfile.ZIP_DEFLATED, **options) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return blob.getvalue()


def tarred(members, mode="w"):
    blob = io.BytesIO()
    with tarfile.open(fileobj=blob, mode=mode) as archive:
        for name, content in members:
            member = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return blob.getvalue()


PACKED = {
    "n.zip": zipped,
    "n.tar": tarred,
    "n.tar.gz": lambda members: tarred(members, "w:gz"),
    "n.TGZ": lambda members: tarred(members, "w:gz"),
}


def summary(path, *, name="txt", **limits):
    """Ids of the notes, and name and kind of the faults."""
    options = ReadOptions(archives=Archives(**limits))
    found = list(read_notes(path, format=name, options=options))
    for entry in found:
        if isinstance(entry, Fault):
            assert entry.message.startswith(f"{entry.file}: ")
            assert ";" in entry.message
            assert entry.message.isprintable()
    return [
        (entry.file, entry.kind) if isinstance(entry, Fault) else entry.note.note_id
        for entry in found
    ]


@pytest.mark.parametrize("name", PACKED)
def test_an_archive_that_is_named_reads_as_the_folder_that_it_holds(name, tmp_path):
    members = [("b.txt", b"two"), ("sub/a.TXT", b"one\r\n"), ("README.md", b"no note")]
    (tmp_path / name).write_bytes(PACKED[name](members))
    *found, other = read_notes(tmp_path / name)
    assert [(entry.note.note_id, entry.note.text) for entry in found] == [
        ("b", "two"),
        ("sub/a", "one\r\n"),
    ]
    assert (other.file, other.kind) == (f"{name}!/README.md", "other-format")


@pytest.mark.parametrize("name", PACKED)
def test_an_archive_in_a_folder_is_a_folder_of_its_name(name, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / name).write_bytes(
        PACKED[name]([("./sub/a.txt", b"one"), ("empty.txt", b"")])
    )
    (tmp_path / "z.txt").write_text("x")
    assert summary(tmp_path) == ["z", (f"in/{name}!/empty.txt", "empty-file"), "in/n/sub/a"]


def test_a_gzip_file_is_the_file_that_it_holds(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.txt.gz").write_bytes(gzip.compress(b"one"))
    assert summary(tmp_path) == summary(tmp_path, name=None) == ["sub/a"]
    (tmp_path / "n.jsonl.gz").write_bytes(gzip.compress(b'{"id": "a", "text": "x"}\n'))
    assert summary(tmp_path / "n.jsonl.gz", name=None) == ["a"]


def test_archives_in_archives_are_read_to_the_depth_allowed(tmp_path):
    inner = zipped([("a.txt", b"x")])
    for name in ("two.zip", "three.zip"):
        inner = zipped([(name, inner), ("b.txt", b"y")])
    (tmp_path / "n.zip").write_bytes(inner)
    assert summary(tmp_path / "n.zip") == ["b", "three/b", "three/two/a"]
    assert summary(tmp_path / "n.zip", max_depth=2) == [
        "b",
        "three/b",
        ("n.zip!/three.zip!/two.zip", "too-large"),
    ]


@pytest.mark.parametrize(
    ("names", "expected"),
    [(["a.txt", "b.md"], "txt"), (["a.txt", "a.ann"], "brat"), (["sub/n.jsonl"], "jsonl")],
)
def test_the_format_is_told_by_what_the_archive_holds(names, expected, tmp_path):
    (tmp_path / "n.zip").write_bytes(zipped([(name, b"x") for name in names]))
    (tmp_path / "n.tgz").write_bytes(tarred([(name, b"x") for name in names], "w:gz"))
    (tmp_path / "nested.zip").write_bytes(zipped([("n.tgz", (tmp_path / "n.tgz").read_bytes())]))
    assert {detect_format(path) for path in [*tmp_path.iterdir(), tmp_path]} == {expected}


def test_notes_and_their_annotations_are_paired_in_an_archive(tmp_path):
    members = [
        ("a.ann", b"T1\tNAME 0 3\tAna\n"),
        ("a.txt", b"Ana"),
        ("b.txt", b"Bo"),
        ("c.ann", b""),
    ]
    (tmp_path / "n.tgz").write_bytes(tarred(members, "w:gz"))
    first, second, fault = read_notes(tmp_path / "n.tgz")
    assert (len(first.spans), second.spans, fault.file) == (1, None, "n.tgz!/c.ann")


UNSAFE = [
    "a/" * 1500 + "a.txt",
    "/a.txt",
    "../a.txt",
    "sub/../../a.txt",
    "C:/a.txt",
    "..\\a.txt",
    "sub\\a.txt",
    "//server/a.txt",
]


@pytest.mark.parametrize("unsafe", UNSAFE)
@pytest.mark.parametrize("name", PACKED)
def test_a_name_that_leads_out_is_refused_and_its_neighbours_are_read(name, unsafe, tmp_path):
    place = tmp_path / "deep" / "er"
    place.mkdir(parents=True)
    (place / name).write_bytes(
        PACKED[name]([("ok.txt", b"x"), (unsafe, b"escaped"), ("b.txt", b"y")])
    )
    assert summary(place / name) == ["b", "ok", (f"{name}!/{unsafe}", "unsafe-path")]
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [name]


LINKS = {
    "symbolic": tarfile.SYMTYPE,
    "hard": tarfile.LNKTYPE,
    "device": tarfile.CHRTYPE,
    "block": tarfile.BLKTYPE,
    "pipe": tarfile.FIFOTYPE,
}


@pytest.mark.parametrize("type_name", LINKS)
def test_links_and_devices_of_tar_are_refused(type_name, tmp_path):
    member = tarfile.TarInfo("a.txt")
    member.type, member.linkname = LINKS[type_name], "/etc/passwd"
    (tmp_path / "n.tar").write_bytes(tarred([(member, b""), ("b.txt", b"y")]))
    kind = "unsafe-path" if type_name in ("symbolic", "hard") else "unreadable"
    assert summary(tmp_path / "n.tar") == ["b", ("n.tar!/a.txt", kind)]


def test_a_file_behind_a_linked_folder_does_not_leave(tmp_path):
    link = tarfile.TarInfo("out")
    link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path)
    (tmp_path / "n.tar").write_bytes(tarred([(link, b""), ("out/a.txt", b"y")]))
    assert summary(tmp_path / "n.tar") == ["out/a", ("n.tar!/out", "unsafe-path")]
    assert not (tmp_path / "a.txt").exists()


@pytest.mark.parametrize(
    ("mode", "kind"),
    [(stat.S_IFLNK, "unsafe-path"), (stat.S_IFCHR, "unreadable"), (stat.S_IFIFO, "unreadable")],
)
def test_links_and_devices_of_zip_are_refused(mode, kind, tmp_path):
    info = zipfile.ZipInfo("a.txt")
    info.external_attr = (mode | 0o777) << 16
    (tmp_path / "n.zip").write_bytes(zipped([(info, b"/etc/passwd"), ("b.txt", b"y")]))
    assert summary(tmp_path / "n.zip") == ["b", ("n.zip!/a.txt", kind)]


def test_a_sparse_member_is_refused(tmp_path):
    member = tarfile.TarInfo("a.txt")
    member.type = tarfile.GNUTYPE_SPARSE
    (tmp_path / "n.tar").write_bytes(tarred([(member, b""), ("b.txt", b"y")]))
    assert summary(tmp_path / "n.tar")[0] == "b"
    assert "a" not in summary(tmp_path / "n.tar")


@pytest.mark.parametrize("name", PACKED)
@pytest.mark.parametrize("again", ["a.txt", "./a.txt"])
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_comes_twice_is_read_neither_time(name, again, tmp_path):
    (tmp_path / name).write_bytes(
        PACKED[name]([("a.txt", b"one"), ("b.txt", b"y"), (again, b"two")])
    )
    notes = summary(tmp_path / name)
    assert "b" in notes
    assert "a" not in notes
    assert {kind for _, kind in notes[1:]} == {"duplicate-id"}


def test_the_same_note_packed_and_unpacked_is_a_duplicate(tmp_path):
    (tmp_path / "n").mkdir()
    (tmp_path / "n" / "a.txt").write_text("x")
    (tmp_path / "n.zip").write_bytes(zipped([("a.txt", b"x")]))
    assert sorted(summary(tmp_path), key=str) == [("n/a.txt", "duplicate-id"), "n/a"]


def test_an_encrypted_member_is_a_fault(tmp_path):
    blob = bytearray(zipped([("a.txt", b"x"), ("b.txt", b"y")]))
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        blob[blob.index(signature) + flags] |= 1
    (tmp_path / "n.zip").write_bytes(blob)
    assert summary(tmp_path / "n.zip") == ["b", ("n.zip!/a.txt", "encrypted")]


def test_a_method_that_can_unpack_without_bound_is_not_read(tmp_path):
    blob = io.BytesIO()
    with zipfile.ZipFile(blob, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("a.txt", "x")
    (tmp_path / "n.zip").write_bytes(blob.getvalue())
    assert summary(tmp_path / "n.zip") == [("n.zip!/a.txt", "unreadable")]


@pytest.mark.parametrize("name", PACKED)
def test_a_large_member_is_refused_and_its_neighbours_are_read(name, tmp_path):
    (tmp_path / name).write_bytes(PACKED[name]([("a.txt", b"x" * 101), ("b.txt", b"x" * 100)]))
    assert summary(tmp_path / name, max_member_bytes=100) == ["b", (f"{name}!/a.txt", "too-large")]


LIMITS = [({"max_total_bytes": 150}, ["a"]), ({"max_members": 1}, ["a"])]


@pytest.mark.parametrize(("limits", "kept"), LIMITS)
@pytest.mark.parametrize("name", PACKED)
def test_a_limit_of_the_whole_archive_ends_it_with_a_fault(name, limits, kept, tmp_path):
    (tmp_path / name).write_bytes(
        PACKED[name]([("a.txt", b"x" * 100), ("b.txt", b"x" * 100), ("c.txt", b"")])
    )
    known_beforehand = name.endswith(".zip") and "max_members" in limits
    assert summary(tmp_path / name, **limits) == [
        *([] if known_beforehand else kept),
        (name, "too-large"),
    ]


def test_a_zip_of_too_many_members_is_one_fault_and_nothing_is_unpacked(tmp_path, monkeypatch):
    (tmp_path / "n.zip").write_bytes(zipped([(f"{n}.txt", b"x") for n in range(50)]))
    monkeypatch.setattr(Target, "fill", lambda *_: pytest.fail("unpacked"))
    assert summary(tmp_path / "n.zip", max_members=49) == [("n.zip", "too-large")]
    assert Archives().max_members < 200_000


def test_the_limits_count_archives_in_archives(tmp_path):
    inner = zipped([("a.txt", b"x" * 400)])
    (tmp_path / "n.zip").write_bytes(zipped([("one.zip", inner), ("two.zip", inner)]))
    total = 2 * len(inner) + 500
    assert summary(tmp_path / "n.zip", max_total_bytes=total) == [
        "one/a",
        ("n.zip!/two.zip", "too-large"),
    ]


BOMBS = {
    "n.zip": lambda: zipped([("a.txt", bytes(30 * MIB))]),
    "n.tgz": lambda: tarred([("a.txt", bytes(30 * MIB))], "w:gz"),
    "a.txt.gz": lambda: gzip.compress(bytes(30 * MIB)),
    "unwanted.tgz": lambda: tarred([("a.bin", bytes(30 * MIB)), ("b.txt", b"y")], "w:gz"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_before_it_is_unpacked(name, tmp_path):
    (tmp_path / name).write_bytes(BOMBS[name]())
    *others, last = summary(tmp_path / name)
    assert last == (name, "too-large")
    assert others == ([(f"{name}!/a.bin", "other-format")] if name == "unwanted.tgz" else [])


def test_a_size_that_is_claimed_is_not_believed(tmp_path):
    blob = bytearray(zipped([("a.txt", b"x" * 5000), ("b.txt", b"y")]))
    for signature, at in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<I", blob, blob.index(signature) + at, 7)
    (tmp_path / "n.zip").write_bytes(blob)
    assert summary(tmp_path / "n.zip") == ["b", ("n.zip!/a.txt", "malformed")]


@pytest.mark.parametrize("cut", range(1, 4))
@pytest.mark.parametrize("name", ["n.tar", "n.tgz", "n.zip", "a.txt.gz"])
def test_a_truncated_archive_is_a_fault_and_nothing_of_it_is_read(name, cut, tmp_path):
    members = [
        ("a.txt", os.urandom(3000).hex().encode()),
        ("b.txt", os.urandom(3000).hex().encode()),
    ]
    blob = {
        "n.tar": tarred,
        "n.tgz": PACKED["n.TGZ"],
        "n.zip": zipped,
        "a.txt.gz": lambda m: gzip.compress(m[0][1]),
    }
    whole = blob[name](members)
    end = whole.index(b"b.txt") if name == "n.tar" else len(whole)  # tar ends in blocks of zeros
    (tmp_path / name).write_bytes(whole[: end * cut // 4])
    assert summary(tmp_path / name) == [(name, "malformed")]


def test_a_tar_cut_between_two_members_does_not_read_as_a_shorter_one(tmp_path):
    blob = tarred([("a.txt", b"x"), ("b.txt", b"y")])
    (tmp_path / "n.tar").write_bytes(blob[:1024])
    assert summary(tmp_path / "n.tar") == [("n.tar", "malformed")]


def test_a_broken_header_of_tar_does_not_end_it_silently(tmp_path):
    blob = bytearray(tarred([("a.txt", b"x"), ("b.txt", b"y")]))
    blob[1024 + 150] ^= 0x55
    (tmp_path / "n.tar").write_bytes(blob)
    assert summary(tmp_path / "n.tar") == [("n.tar", "malformed")]


@pytest.mark.parametrize("type_flag", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_header_that_claims_gigabytes_is_not_read_into_memory(type_flag, tmp_path):
    member = tarfile.TarInfo("a.txt")
    member.type, member.size = type_flag, 1 << 33
    (tmp_path / "n.tar").write_bytes(member.tobuf(tarfile.GNU_FORMAT) + bytes(2048))
    assert summary(tmp_path / "n.tar") == [("n.tar", "malformed")]


def test_a_header_with_a_number_that_the_library_cannot_take_is_a_fault(tmp_path):
    record = b"99999999999999999999 path=b.txt\n"
    member = tarfile.TarInfo("a.txt")
    member.type = tarfile.XHDTYPE
    (tmp_path / "n.tar").write_bytes(tarred([(member, record), ("b.txt", b"y")]))
    assert summary(tmp_path / "n.tar") == [("n.tar", "malformed")]


def test_a_member_without_a_name_is_refused(tmp_path):
    (tmp_path / "n.zip").write_bytes(
        zipped([("a.txt", b"x"), ("b.txt", b"y")]).replace(b"b.txt", b"\0.txt")
    )
    assert summary(tmp_path / "n.zip") == ["a", ("n.zip!/\\x00.txt", "unsafe-path")]


def test_a_wrong_checksum_of_gzip_withholds_every_member(tmp_path):
    blob = bytearray(tarred([("a.txt", b"x"), ("b.txt", b"y")], "w:gz"))
    blob[-6] ^= 1
    (tmp_path / "n.tgz").write_bytes(blob)
    assert summary(tmp_path / "n.tgz") == [("n.tgz", "malformed")]


def test_a_wrong_checksum_of_zip_withholds_its_member(tmp_path):
    blob = bytearray(zipped([("a.txt", b"x"), ("b.txt", b"y")]))
    blob[blob.index(b"PK\x03\x04") + 14] ^= 1
    blob[blob.index(b"PK\x01\x02") + 16] ^= 1
    (tmp_path / "n.zip").write_bytes(blob)
    assert summary(tmp_path / "n.zip") == ["b", ("n.zip!/a.txt", "malformed")]


def test_an_archive_that_cannot_be_opened_says_so_when_its_format_is_asked_for(tmp_path):
    (tmp_path / "n.zip").write_bytes(b"no archive")
    with pytest.raises(InputError, match=r"n.zip: is cut short, damaged or no zip"):
        detect_format(tmp_path / "n.zip")


def test_a_link_to_an_archive_outside_is_not_followed(tmp_path):
    (tmp_path / "outside.zip").write_bytes(zipped([("a.txt", b"secret")]))
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "n.zip").symlink_to(tmp_path / "outside.zip")
    assert summary(tmp_path / "in") == [("n.zip", "unsafe-path")]
    with pytest.raises(InputError, match="holds no file"):
        detect_format(tmp_path / "in")


def test_members_lie_where_only_their_owner_may_look_and_go_when_reading_stops(tmp_path, temporary):
    (tmp_path / "n.zip").write_bytes(zipped([("a.txt", b"x"), ("b.txt", b"y")]))
    reading = read_notes(tmp_path / "n.zip", format="txt")
    assert next(reading).note.note_id == "a"
    (folder,) = temporary.iterdir()
    assert folder.stat().st_mode & 0o077 == 0
    reading.close()
    assert not list(temporary.iterdir())


def test_a_member_whose_name_is_no_file_name_here_is_a_fault(tmp_path):
    (tmp_path / "n.zip").write_bytes(
        zipped([("a" * 300 + ".txt", b"x"), ("b.txt", b"y"), ("b.txt/c.txt", b"z")])
    )
    found = summary(tmp_path / "n.zip")
    assert found[0] == "b"
    assert [kind for _, kind in found[1:]] == ["unreadable", "unreadable"]


def test_a_cut_archive_with_a_member_whose_name_is_no_file_name_here_is_a_fault(tmp_path):
    (tmp_path / "n.zip").write_bytes(zipped([("a" * 300 + ".txt", b"x"), ("b.txt", b"y")])[4:])
    assert [kind for _, kind in summary(tmp_path / "n.zip")] == ["unreadable"]


def test_an_archive_without_notes_is_a_fault(tmp_path):
    (tmp_path / "n.zip").write_bytes(zipped([("README.md", b"x")]))
    assert summary(tmp_path / "n.zip") == [("n.zip!/README.md", "other-format")]


def test_limits_are_checked_when_they_are_made():
    with pytest.raises(ConfigError, match="at least 1"):
        Archives(max_depth=0)


SEEDS = {
    "n.zip": zipped([("a.txt", b"one note"), ("sub/b.zip", zipped([("c.txt", b"another")]))]),
    "n.tar": tarred([("a.txt", b"one note"), ("sub/b.zip", zipped([("c.txt", b"another")]))]),
    "n.tgz": tarred([("a.txt", b"one note"), ("b" * 120 + ".txt", b"another")], "w:gz"),
    "a.txt.gz": gzip.compress(b"one note"),
}


@pytest.mark.parametrize("name", SEEDS)
def test_damaged_archives_give_notes_or_faults(name, temporary):
    seed = SEEDS[name]

    @FAST
    @given(
        start=st.integers(0, len(seed)),
        cut=st.integers(0, 40),
        added=st.binary(max_size=8),
        all_of=st.booleans(),
    )
    def reads(start, cut, added, all_of):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, name)
            path.write_bytes(seed[:start] + added + seed[start + cut :] if all_of else added)
            found = list(read_notes(path, format="txt"))
            assert found
            assert all(isinstance(entry, Annotated | Fault) for entry in found)
        assert not list(temporary.iterdir())

    reads()


STEPS = st.text(
    st.characters(codec="utf-8", exclude_categories=["C", "Z"], exclude_characters="/\\:."),
    min_size=1,
    max_size=8,
)
TREES = st.dictionaries(
    st.lists(STEPS, min_size=1, max_size=3).map(tuple), st.text(max_size=20), max_size=5
)


@pytest.mark.long
@pytest.mark.parametrize("name", PACKED)
def test_an_archive_reads_as_the_folder_that_was_packed(name):
    @settings(FAST, max_examples=30)
    @given(tree=TREES)
    def reads(tree):
        with tempfile.TemporaryDirectory() as parent:
            folder = Path(parent, "folder")
            members = []
            for steps, text in tree.items():
                path = folder.joinpath(*steps[:-1], f"{steps[-1]}.txt")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(text.encode())
                members.append((path.relative_to(folder).as_posix(), text.encode()))
            folder.mkdir(exist_ok=True)
            Path(parent, name).write_bytes(PACKED[name](members))
            expected = list(read_notes(folder, format="txt"))
            found = list(read_notes(Path(parent, name), format="txt"))
        assert [entry for entry in found if isinstance(entry, Annotated)] == [
            entry for entry in expected if isinstance(entry, Annotated)
        ]
        assert len(found) == len(expected)

    reads()
