"""Known identities: read from tables and structured records, without a value in any message."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_assets.core.errors import InputError
from deid_assets.formats import Fault, ReadOptions
from deid_assets.formats.identities import KINDS, Identity, read_identities

HEADER = "patient_id,kind,value\n"


def read(tmp_path: Path, content: str, name: str = "known.csv") -> list[Identity | Fault]:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    return list(read_identities(path))


def test_rows_of_csv_are_identities(tmp_path):
    content = f'\ufeff{HEADER}p1,name," Zyx, Wick\nJr "\n\np1,birth_date,1961-06\n,staff,Dr Qua\n'
    assert read(tmp_path, content) == [
        Identity("p1", "name", "Zyx, Wick\nJr"),
        Identity("p1", "birth_date", "1961-06"),
        Identity(None, "staff", "Dr Qua"),
    ]


def test_columns_stand_in_any_order_and_every_kind_is_known(tmp_path):
    rows = "".join(f"2001,x,{kind},p1\n" for kind in KINDS)
    found = read(tmp_path, f"value,ward,kind,patient_id\n{rows}")
    assert found == [Identity("p1", kind, "2001") for kind in KINDS]


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        ("p1,name,", "missing-field"),
        ("p1,nick,Zyxwick", "malformed"),
        (",name,Zyxwick", "missing-field"),
        ("p1,birth_date,15.6.1961", "malformed"),
        ("p1,name,Zyx,wick", "malformed"),
        ("p1,name", "malformed"),
        ('p1,name,"Zyx"wick', "malformed"),
    ],
)
def test_a_broken_row_is_a_fault_without_its_value_and_the_rest_is_read(row, kind, tmp_path):
    found = read(tmp_path, f"{HEADER}{row}\np2,name,Qua\n")
    fault, rest = found
    assert isinstance(fault, Fault)
    assert (fault.kind, fault.line) == (kind, 2)
    assert "yx" not in fault.message
    assert rest == Identity("p2", "name", "Qua")


@pytest.mark.parametrize("content", ["patient,kind,value\np1,name,Qua\n", "", "\n", f"{HEADER}"])
def test_a_table_without_identities_is_a_fault(content, tmp_path):
    (fault,) = read(tmp_path, content)
    assert isinstance(fault, Fault)


def test_neither_value_nor_patient_is_shown():
    assert repr(Identity("p1", "name", "Zyxwick")) == "Identity(kind='name')"


def test_a_format_without_identities_is_refused(tmp_path):
    (tmp_path / "n.txt").write_text("Zyxwick")
    with pytest.raises(InputError, match="txt holds no identities"):
        read_identities(tmp_path / "n.txt")
    with pytest.raises(InputError, match="does not exist"):
        read_identities(tmp_path / "none.csv")


def test_the_delimiter_and_the_encoding_are_those_that_are_named(tmp_path):
    path = tmp_path / "known.csv"
    path.write_bytes("patient_id;kind;value\np1;name;Señor, Qua\n".encode("cp1252"))
    found = list(read_identities(path, options=ReadOptions(delimiter=";", encoding="cp1252")))
    assert found == [Identity("p1", "name", "Señor, Qua")]
    (fault,) = read_identities(path)
    assert isinstance(fault, Fault)


pieces = st.sampled_from(
    [
        "p1",
        "name",
        "birth_date",
        "1961",
        "Zyxwick",
        ",",
        '"',
        '""',
        "\n",
        "\r\n",
        "\r",
        "\0",
        " ",
        "\ufeff",
    ]
)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(pieces, max_size=30).map(lambda parts: (HEADER + "".join(parts)).encode())
    | st.binary(max_size=60)
)
def test_no_bytes_make_the_reader_raise_and_no_fault_shows_a_value(content):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "known.csv")
        path.write_bytes(content)
        found = list(read_identities(path))
    assert found
    assert not [entry for entry in found if isinstance(entry, Fault) and "Zyxwick" in entry.message]
