"""Tables of models that rewrite notes, and the audit of the gold by epochs that agree."""

from __future__ import annotations

import re

from deid_assets.evaluation.rewriting import Rewritten, study_table
from deid_assets.reports.rewriting import alterations_md, audit, audit_md, epochs_md, study_md
from deid_assets.testing import parse_marked


def measures() -> dict[str, object]:
    note, gold = parse_marked("Dr <NAME>Lee</NAME>, 5 mg, vit à <CITY>Ulm</CITY>")
    made = Rewritten(note, gold, [(3, 6)], "Dr [X], 50 mg, vit à Ulm")
    return study_table([made], placeholder=re.compile(r"\[X\]")).to_json()


def test_the_tables_show_counts_and_no_text() -> None:
    found = measures()
    shown = (
        study_md(found)
        + alterations_md(found)
        + epochs_md([{"epoch": 1, "loss": 0.5, "measures": found}])
    )

    assert "0.5000 (1 of 2; 0.095 to 0.905)" in shown
    assert "number changed" in shown
    assert "Lee" not in shown
    assert "Ulm" not in shown


def test_an_audit_lists_notes_without_gold_in_which_most_epochs_find_something() -> None:
    points = [
        {"covers": {"a": [[0, 3]], "b": [[1, 2]], "gold": [[0, 1]]}},
        {"covers": {"a": [[0, 3]]}},
    ]

    assert audit(points, {"a", "b", "c"}) == {"a": 2}
    assert audit(points, {"a", "b", "c"}, least=0.5) == {"a": 2, "b": 1}
    assert "1 of 3 notes without annotations" in audit_md(points, {"a", "b", "c"})
