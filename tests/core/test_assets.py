"""Names of assets: two different (family, name) never make the same one."""

import re
from itertools import product

from deid_assets.core.assets import Family, family_of

NAMES = [
    "rules",
    "notes",
    "notes_tag",
    "report_rules",
    "spans_rules",
    "corpus",
    "a__b",
    "a_",
    "x" * 41,
    "merged_spans",
]
ONCE = [
    "landing",
    "raw_notes",
    "gold_annotations",
    "merged_spans",
    "quarantine",
    "release_report",
    "release_approval",
    "released_corpus",
    "release_diff",
    "leaderboard",
    "bakeoff",
    "training_corpus",
    "synthetic_corpus",
]


def test_a_name_says_which_family_and_which_name():
    made = {family.of(name): (family, name) for family, name in product(Family, NAMES)}

    assert len(made) == len(Family) * len(NAMES)
    assert {asset: (family_of(asset), family_of(asset).name_in(asset)) for asset in made} == made
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9_]{0,99}", asset) for asset in made)


def test_no_family_is_the_beginning_of_another():
    assert not [
        (one, other)
        for one, other in product(Family, Family)
        if one is not other and f"{other}_".startswith(one)
    ]


def test_what_exists_once_is_of_no_family():
    assert [asset for asset in ONCE if family_of(asset)] == []
    assert Family.SPANS.name_in("scorecard_rules") == ""
