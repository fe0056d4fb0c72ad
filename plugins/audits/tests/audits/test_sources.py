"""What a model's card says that it read is held against the ledger.

Who leaves a source out is refused.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import pytest

from deid_assets.extending import InputError
from deid_assets.extending.audits import (
    Key,
    Material,
    Need,
    Outcome,
    Sealer,
    is_signed,
    model_digest,
)
from deid_assets.extending.corpora import count_read, read_raw
from deid_assets.privacy.result import read_result
from deid_assets.privacy.running import report_aborted
from deid_assets.training.card import Card, Learnt, write_card
from deid_audits.facts import read_facts
from deid_audits.gate import Held, judge
from deid_audits.running import AuditRun
from deid_audits.sources import read_held, read_training

RESULT = report_aborted("hips", "for the tests")
RAW, SAFE = ["Anna has gout.", "No finding."], ["<NAME> has gout.", "No finding."]


def judged(facts):
    """Judge what a card says alone: the attack that is installed is waived."""
    rules = facts.rules.model_copy(update={"waived": {"attack": "for the tests"}})
    held = Held(Key(bytes(range(32))), "model", audits={"attack": frozenset()})
    waived = facts.model_copy(update={"rules": rules})
    return judge([], waived, held=held, trained=read_training(facts))


@pytest.fixture
def site(tmp_path, monkeypatch):
    """Raw and redacted notes, a model that read the redacted ones, and how facts about them are
    written.
    """
    monkeypatch.delenv("DEID_KEY", raising=False)
    for name, texts in (("raw", RAW), ("safe", SAFE)):
        lines = [
            json.dumps({"id": f"n{number}", "text": text, "lang": "en"})
            for number, text in enumerate(texts)
        ]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")

    def written(read, *, notes="safe.jsonl", made_from="safe"):
        folder = tmp_path / "model"
        folder.mkdir(exist_ok=True)
        digests = [hashlib.sha256(text.encode()).hexdigest() for text in read]
        card = {"recipe": {}, "fingerprint": "f", "notes": len(digests), "digests": digests}
        (folder / "pretraining.json").write_text(json.dumps(card), encoding="utf-8")
        path = tmp_path / "facts.toml"
        path.write_text(
            f'[model]\nname = "m"\nmade_from = ["{made_from}"]\nfolder = "model"\n[[sources]]\nname'
            ' = "safe"\ntier = "de-identified"\nmade_from = ["raw"]\nnotes ='
            f' "{notes}"\n[[sources]]\nname = "raw"\ntier = "raw"\npermit = "2019-1"\nnotes ='
            ' "raw.jsonl"\n',
            encoding="utf-8",
        )
        return read_facts(path)

    return written


def test_a_card_that_agrees_with_the_ledger_lets_the_model_leave(site):
    decision = judged(site(SAFE))
    assert decision.reasons == ()
    # A note in which nothing was to be redacted is the same in both, and is no fault.
    assert dict(decision.trained.rows) == {"safe": "2 of 2 notes", "raw": "1 of 2 notes"}


@pytest.mark.parametrize(
    ("read", "reason"),
    [
        (
            [*SAFE, RAW[0]],
            "model card: the model read 1 notes of raw source 'raw', which made_from does not name",
        ),
        ([*SAFE, "Another."], "model card: 1 of the 3 notes that the model read are of no source"),
    ],
)
def test_what_the_ledger_hides_refuses_the_model(site, read, reason):
    reasons = judged(site(read)).reasons
    assert len(reasons) == 1
    assert reasons[0].startswith(reason)


def test_a_folder_without_a_card_refuses_the_model(site, tmp_path):
    facts = site(SAFE)
    (tmp_path / "model" / "pretraining.json").unlink()
    assert judged(facts).reasons == (
        "model folder 'model' has no pretraining.json and no card.json: what it read is not known",
    )


def test_the_corpora_of_a_tagger_are_told_by_their_digests(tmp_path):
    corpora = [
        Learnt(name=name, role="train", notes=9, spans=9, digest=name * 8)
        for name in ("a", "b", "c")
    ]
    (tmp_path / "model").mkdir()
    card = Card(
        recipe={},
        settings={},
        plugin="p",
        software={},
        machine={},
        fingerprint="f",
        labels={},
        scheme="bio",
        grouping=1,
        corpora=tuple(corpora),
        inexact=0,
        curve=(),
        runs=(),
        dev={},
        seconds=1,
        cpu_seconds=1,
        size_bytes=1,
        files={},
        created_at="2026-01-01",
    )
    write_card(tmp_path / "model", card)
    (tmp_path / "facts.toml").write_text(
        '[model]\nname = "m"\nmade_from = ["one"]\nfolder = "model"\n'
        + "".join(
            f'[[sources]]\nname = "{name}"\ntier = "public"\npermit = "CC0"\ndigest = "{digest}"\n'
            for name, digest in (("one", "aaaaaaaa"), ("two", "bbbbbbbb"))
        ),
        encoding="utf-8",
    )
    assert judged(read_facts(tmp_path / "facts.toml")).reasons == (
        "model card: corpus 'b' is source 'two', which made_from does not name",
        "model card: corpus 'c' (train) is of no source; give its digest cccccccc",
    )


def test_a_model_that_changed_in_its_folder_is_another(site, tmp_path, monkeypatch):
    monkeypatch.setenv("DEID_KEY", "55" * 32)
    facts = site(SAFE)
    before = read_held(facts)
    assert before.model == read_held(facts).model
    assert Need.MODEL in before.audits["membership"]
    for name in ("pretraining.json", "model.safetensors"):
        (tmp_path / "model" / name).write_bytes(b"{}")
        after = read_held(facts)
        assert after.model != before.model
        before = after
    monkeypatch.setenv("DEID_KEY", "66" * 32)
    assert read_held(facts).model != before.model
    monkeypatch.delenv("DEID_KEY")
    assert read_held(facts).key is None


def test_a_result_names_what_it_is_of_by_the_key_alone(site, tmp_path, monkeypatch):
    """Another model, note, policy, option or key gives another subject.

    None of its digests is a plain one.
    """
    site(SAFE)
    notes = read_raw(str(tmp_path / "safe.jsonl"))
    key = Key(bytes(range(32)))

    def subject(material, **options):
        sealer = Sealer.of(material, read={"training": len(material.training)})
        return sealer.seal(RESULT, options).subject

    material = Material(key=key, model=tmp_path / "model", training=notes)
    others = [
        subject(material, most=1),
        subject(replace(material, training=notes[:1])),
        subject(replace(material, held_out=notes[:1])),
        subject(replace(material, seed=2)),
        subject(replace(material, key=Key(bytes(range(1, 33))))),
    ]
    own = subject(material)
    (tmp_path / "model" / "model.safetensors").write_bytes(b"weights")
    others.append(subject(material))
    assert subject(material) == others[-1]
    assert own not in others
    plain = {hashlib.sha256(text.encode()).hexdigest() for text in SAFE}
    assert not any(digest in repr(one) for one in [own, *others] for digest in plain)
    sealed = Sealer.of(material, read={}).seal(RESULT)
    assert is_signed(read_result(json.loads(json.dumps(sealed.to_json()))), key)
    assert not Sealer.of(material, read={}, signed=False).seal(RESULT).signature
    assert count_read(tmp_path / "model", notes) == 2


def test_a_result_says_its_options_and_another_seed(site, tmp_path):
    site(SAFE)
    key = Key(bytes(range(32)))
    for seed, told in ((1, {"most": "9"}), (7, {"most": "9", "seed": "7"})):
        sealer = Sealer.of(Material(key=key, seed=seed), read={})
        assert sealer.seal(RESULT, {"most": 9}).subject.options == told


def test_a_link_to_a_folder_in_a_model_is_refused(site, tmp_path):
    """No digest named the files behind it: they could be exchanged under the old verdict."""
    site(SAFE)
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "model.onnx").write_bytes(b"one")
    (tmp_path / "model" / "onnx").symlink_to(tmp_path / "weights")
    with pytest.raises(InputError, match="it has a link to a folder"):
        model_digest(tmp_path / "model", Key(bytes(range(32))))


def test_a_result_under_another_audits_name_is_not_kept(tmp_path):
    sealer = Sealer.of(Material(key=Key(bytes(range(32)))), read={})
    asked = AuditRun(Material(key=sealer.key), {}, tmp_path, signed=True)
    passed = replace(RESULT, outcome=Outcome.VOID)
    (tmp_path / "residue.json").write_text(json.dumps(asked._seal(sealer, passed).to_json()))
    assert asked._read_kept("residue", sealer) is None
    (tmp_path / "hips.json").write_text(json.dumps(asked._seal(sealer, passed).to_json()))
    assert asked._read_kept("hips", sealer) is not None
