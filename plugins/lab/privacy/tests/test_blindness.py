"""The measure that sees replaced names, and sentences with names whose twins are of the
same form.
"""

from __future__ import annotations

import numpy as np
import pytest

from deid_assets.core.errors import InputError
from deid_audits.models.membership import Setup
from deid_audits.models.scoring import Scorer
from deid_audits.models.slots import GAP, Slot
from deid_privacy.blindness import Roles, blindness, check_twin, entity_level
from deid_privacy.named import OTHERS, form, make_named_parts


def test_the_protocol_reports_the_gap_with_its_interval_and_the_entity_measure_reacts(
    causal, other
):
    """Sets of 24 people said 3 times each.

    The same world as the model's, made larger for intervals.
    """
    rng = np.random.default_rng(1)
    words = [f"w{number}" for number in range(40)]

    def texts(count, stem):
        return [f"{stem}{number} " + " ".join(rng.choice(words, 6)) for number in range(count)]

    named = texts(24, "Nora")
    twin = [text.replace("Nora", "Vera") for text in named]
    roles = Roles(texts(24, "a"), texts(24, "b"), named, twin, texts(24, "Mila"))
    setup = Setup(Scorer(causal), [Scorer(other)], texts(24, "c"))

    found = blindness(roles, setup, ["loss", "reference"])

    assert [one.attack for one in found] == ["loss", "reference"]
    for one in found:
        assert one.gap.value == pytest.approx(one.named.value - one.twin.value)
        assert one.gap.low <= one.gap.value <= one.gap.high
    with pytest.raises(InputError, match="the twin has 23"):
        blindness(Roles(roles.members, roles.out, named, twin[1:], roles.matched), setup, ["loss"])
    with pytest.raises(InputError, match="needs 20"):
        entity_level([Slot(GAP, "a", ("b",))], Scorer(causal))


def test_a_twin_differs_in_names_alone():
    with pytest.raises(InputError, match="another length"):
        check_twin(["Ann has pain."], ["Ann Lee has pain."])
    with pytest.raises(InputError, match="the same text"):
        check_twin(["Ann has pain."], ["Ann has pain."])


def test_sentences_with_names_have_twins_of_the_same_form_and_parts_share_nothing():
    inside, outside, calibration, pool = make_named_parts(80, seed=3)
    check_twin([one.text for one in inside.named], [one.twin for one in inside.named])
    texts = [set(part.texts) for part in (inside, outside, calibration)]
    assert [len(one) for one in texts] == [160] * 3
    assert len(set().union(*texts)) == 480
    for one in inside.named:
        assert one.text[one.start :].startswith(one.name)
        asked = one.question(pool[form(one.name)][:OTHERS])
        assert asked.fragment.replace(GAP, one.name) == one.text
        assert one.name not in asked.others
        assert {form(name) for name in asked.others} == {form(one.name)}
    assert [form(name) for name in ("O'Brien", "VAN DYK, Ana", "J. Ruiz")] == [
        "A'Aa",
        "AA AA, Aa",
        "A. Aa",
    ]
