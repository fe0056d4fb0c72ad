"""What a language model is asked holds the patient's words.

None of it is shown where the model fails or talks.
"""

from __future__ import annotations

import os

import dagster as dg
import pytest
from canaries import NAME, SECRETS, canaries, guarded, search

from deid_assets.defs.instance import write_instance

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::UserWarning")]

POLICY = """\
name = "mlm"
default = "surrogate"
[actions]
NAME = { action = "surrogate_mlm", model = "model" }
"""
PATCH = """\
import importlib.util, os, sys


class Patch:
    def find_spec(self, name, path, target=None):
        if name != "deid_zero_shot.candidates":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            patch(module.MaskedModel)

        spec.loader.exec_module = exec_module
        return spec


def patch(model):
    answer = model.answer

    def answered(self, questions, *, top_k):
        from canaries import Replacer

        asked = list(questions)
        said = " ".join(f"{one.blank} {one.word}" for one in asked)
        Replacer(os.environ["MODEL_DOES"])(said, None, None)
        return answer(self, asked, top_k=top_k)

    model.answer = answered


if os.environ.get("MODEL_DOES"):
    sys.meta_path.insert(0, Patch())
"""
"""Runs as a worker process starts, in which the model is asked."""
STEPS = ("raw_notes", "gold_annotations", "spans_stencil", "merged_spans")


@pytest.fixture
def house(installation, save_model, tmp_path):
    save_model(installation.root / "model")
    policy = installation.root / "mlm.toml"
    policy.write_text(POLICY)
    settings = installation.default_settings.replace('["tag", "blackout"]', f'["{policy}"]')
    settings = settings.replace('release_policy = "tag"', f'release_policy = "{policy}"')
    installation.configure(
        settings.replace("[gates]", "[gates]\nnear_duplicates = 1.0\nquarantined = 0.5")
    )
    with dg.DagsterInstance.from_config(str(write_instance(installation.dagster_home))) as instance:
        installation.instance = instance
        yield installation


def test_a_model_that_fails_or_talks_leaks_nothing(
    house, note_records, monkeypatch, capfd, tmp_path
):
    records = [one for one in canaries(note_records()) if isinstance(one["text"], str)][:8]
    records = [{**one, "text": one["text"].replace(NAME, "Zedkanarien", 1)} for one in records]
    secrets = ("Zedkanarien", *SECRETS)
    batch = house.receive(
        [{**one, "spans": [{"start": 0, "end": 11, "label": "NAME"}]} for one in records]
    )
    assert house.failures(house.run(batch, *STEPS)) == {}
    (tmp_path / "start").mkdir()
    (tmp_path / "start" / "sitecustomize.py").write_text(PATCH)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "start"), prepend=os.pathsep)
    for how in ("", "quote", "chain", "named", "panic", "close", "cancel", "tell"):
        monkeypatch.setenv("MODEL_DOES", how)
        capfd.readouterr()

        result = house.run(batch, "redacted_notes_mlm")

        out, err = capfd.readouterr()
        shown = "\n".join(house.failures(result).values())
        assert search(secrets, guarded(house), stdout=out, stderr=err, failures=shown) == set(), how
        assert result.success == (how in ("", "tell")), (how, shown)
