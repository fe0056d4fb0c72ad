"""Tags, numbered tags, blocks: what stands in the text under the policies that ignore the value."""

from __future__ import annotations

import pytest

from deid_assets.policies import load_policy


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("tag", "Dr. [NAME], MRN [MRN]."),
        ("keep_nothing", "Dr. [REDACTED], MRN [REDACTED]."),
        ("blackout", "Dr. ████████, MRN ████████."),
        ("numbered", "Dr. [NAME_1], MRN [MRN_1]."),
        ("placeholder", "Dr. [XXXXX], MRN [XXXXX]."),
        ("mimic_style", "Dr. [**Name 1**], MRN [**MRN 1**]."),
    ],
)
def test_a_policy_writes_its_mark(redacted, policy, expected):
    assert redacted("Dr. <NAME>Lee</NAME>, MRN <MRN>12345</MRN>.", policy) == expected


def test_one_value_has_one_number_whatever_its_case_and_spacing(redacted):
    text = (
        "<NAME>Ann Lee</NAME> <NAME>Bo</NAME> <NAME>ann  LEE</NAME> <NAME>Bo\n</NAME>"
        " <CITY>Bo</CITY>"
    )

    assert redacted(text, "numbered") == "[NAME_1] [NAME_2] [NAME_1] [NAME_2] [CITY_1]"


def test_mimic_tags_count_values_too_and_name_the_category_in_words(redacted):
    text = "<NAME>Ann</NAME> <NAME>Bo</NAME> <NAME>ANN</NAME> <HEALTH_PLAN>7</HEALTH_PLAN>"

    assert (
        redacted(text, "mimic_style")
        == "[**Name 1**] [**Name 2**] [**Name 1**] [**Health plan 1**]"
    )


def test_numbers_start_again_in_the_next_note(redacted):
    assert [
        redacted(f"<NAME>{name}</NAME>", "numbered", note_id=name) for name in ("Ann", "Bo")
    ] == ["[NAME_1]"] * 2


@pytest.mark.parametrize(("option", "expected"), [("", "███"), (", width = 5", "█████")])
def test_blocks_have_the_length_of_the_text_or_a_fixed_one(redacted, tmp_path, option, expected):
    path = tmp_path / "blocks.toml"
    path.write_text(f'name = "blocks"\ndefault = {{ action = "blackout"{option} }}\n')

    assert redacted("<NAME>Lee</NAME>", load_policy(path)) == expected


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        ("tag", "[NAME]"),
        ("keep_nothing", "[REDACTED]"),
        ("numbered", "[NAME_1]"),
        ("blackout", "█" * 8),
        ("placeholder", "[XXXXX]"),
        ("mimic_style", "[**Name 1**]"),
    ],
)
def test_a_text_that_is_the_mark_itself_becomes_another_mark(redacted, policy, text):
    assert redacted(f"<NAME>{text}</NAME>", policy) not in ("", text)
