"""What a language model is asked holds the patient's words: none of it is shown where the model fails or talks."""

from __future__ import annotations

import dagster as dg
import pytest
from canaries import NAME, SECRETS, Replacer, canaries, guarded, search

from deid_assets.defs.instance import write_instance
from deid_assets.policies.masked_model import MaskedModel

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::UserWarning")]

POLICY = """\
name = "mlm"
default = "surrogate"
[actions]
NAME = { action = "surrogate_mlm", model = "model" }
"""
STEPS = ("raw_notes", "gold_annotations", "spans_stencil", "merged_spans")


@pytest.fixture
def house(installation, save_model, tmp_path):
    save_model(installation.root / "model")
    policy = installation.root / "mlm.toml"
    policy.write_text(POLICY)
    settings = installation.default_settings.replace('["tag", "blackout"]', f'["{policy}"]')
    settings = settings.replace('release_policy = "tag"', f'release_policy = "{policy}"')
    installation.configure(settings.replace("[gates]", "[gates]\nnear_duplicates = 1.0\nquarantined = 0.5"))
    with dg.DagsterInstance.from_config(str(write_instance(installation.dagster_home))) as instance:
        installation.instance = instance
        yield installation


def test_a_model_that_fails_or_talks_leaks_nothing(house, note_records, monkeypatch, capfd):
    records = [one for one in canaries(note_records()) if isinstance(one["text"], str)][:8]
    records = [{**one, "text": one["text"].replace(NAME, "Zedkanarien", 1)} for one in records]
    secrets = ("Zedkanarien", *SECRETS)
    batch = house.receive([{**one, "spans": [{"start": 0, "end": 11, "label": "NAME"}]} for one in records])
    assert house.failures(house.run(batch, *STEPS)) == {}
    answer = MaskedModel.answer
    for how in ("", "quote", "chain", "named", "panic", "close", "cancel", "tell"):

        def answered(self, questions, *, top_k, how=how):
            asked = list(questions)
            if how:
                Replacer(how)(" ".join(f"{one.opening} {one.word}" for one in asked), None, None)
            return answer(self, asked, top_k=top_k)

        monkeypatch.setattr(MaskedModel, "answer", answered)
        capfd.readouterr()

        result = house.run(batch, "redacted_notes_mlm")

        out, err = capfd.readouterr()
        shown = "\n".join(house.failures(result).values())
        assert search(secrets, guarded(house), stdout=out, stderr=err, failures=shown) == set(), how
        assert result.success == (how in ("", "tell")), (how, shown)
