"""Edit files come back as they were written, and are read no further than needed."""

from hypothesis import given
from hypothesis import strategies as st

from deid_assets.core.phi import Phi
from deid_assets.edits.files import (
    EditsFile,
    from_record,
    read_edits,
    to_record,
    write_edit_map,
    writing_edits,
)
from deid_assets.edits.maps import EditMap, MadeBy, Replaced

BY = MadeBy("deid-assets 1", "tag", "a" * 64, ("SEX",), "key", {"rules": "1"})


def made(note_id, bounds=(), label=Phi.NAME):
    edits = tuple(
        Replaced(s, e, s, e, label, "rules", "m")
        for s, e in zip(bounds[::2], bounds[1::2], strict=False)
    )
    return EditMap(note_id, "d" * 96, "e" * 64, 100, 100, edits, BY)


@given(
    st.lists(st.integers(0, 100), unique=True, max_size=10).map(sorted),
    st.sampled_from(Phi),
    st.text(alphabet=st.characters(exclude_categories=("Cs",)), min_size=1),
)
def test_a_map_comes_back_as_it_was(bounds, label, note_id):
    edits = made(note_id, bounds, label)

    assert from_record(to_record(edits), where="here") == edits


def test_maps_are_taken_in_any_order_once(tmp_path):
    maps = [made(f"n{number}", (number, number + 1)) for number in range(5)]
    with writing_edits(tmp_path / "e.jsonl") as file:
        for edits in maps:
            write_edit_map(file, edits)
    found = EditsFile(tmp_path / "e.jsonl")

    assert list(read_edits(tmp_path / "e.jsonl")) == maps
    assert [found.take(f"n{number}") for number in (0, 3, 1, 3, 9, 2)] == [
        maps[0],
        maps[3],
        maps[1],
        None,
        None,
        maps[2],
    ]
