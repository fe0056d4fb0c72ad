"""``deidentify_batch``: the outcomes of ``deidentify_notes``, and what each step said."""

from deid_assets import Note, deidentify_notes
from deid_assets.api import deidentify_batch
from deid_assets.policies import load_policy

NOTES = [
    Note("a", "Seen by Dr. Jane Caldwick. MRN: 4471902.", "p", "en"),
    Note("b", "Sample 4471902 was stored.", "p"),
]


def test_the_outcomes_are_those_of_deidentify_notes_and_each_step_is_told():
    batch = deidentify_batch(NOTES, policy="tag", detectors=["rules"])

    assert batch.outcomes == deidentify_notes(NOTES, policy="tag", detectors=["rules"])
    assert batch.predictions.keys() == {"rules"}
    assert batch.replaced.keys() == {"a", "b"}
    assert batch.notes[1].lang == "en"


def test_a_policy_may_be_given_as_an_object():
    policy = load_policy("numbered")

    by_object = deidentify_notes(NOTES, policy=policy, detectors=["rules"])

    assert by_object == deidentify_notes(NOTES, policy="numbered", detectors=["rules"])
