"""The texts of this door are those of every other: Python's, the shell's and the graph's."""

import html
import json
import re
from dataclasses import replace

import pytest
import requests

from deid_assets import Failed, Note, deidentify, deidentify_notes
from deid_serve.pipeline_door import BUILTIN

SECRET = bytes.fromhex("5a" * 32)
DETECTORS = ("rules", "talker")
LANGUAGES = ("en", "es", "de", "sv", "fi", "pl")


@pytest.fixture(scope="module")
def notes():
    """Notes in six languages, some of one patient; one breaks a detector, one is empty."""
    from deid_synthesis import make_corpus

    every = []
    for lang in LANGUAGES:
        made = [note for note, _ in make_corpus(lang=lang, notes=2, seed=37)]
        every += [
            replace(note, note_id=f"{lang}-{n}", patient_id=f"{lang}-p")
            for n, note in enumerate(made)
        ]
    return [
        *every,
        Note("trip", "Seen by Dr. Jane Lee, tripwire.", "en-p", "en"),
        Note("untold", "Der Patient Zedamar wurde am 3. Mai 2021 von Dr. Weber gesehen."),
        Note("nothing", "", "en-p", "en"),
    ]


def sent(note):
    row = {"id": note.note_id, "text": note.text, "patient_id": note.patient_id, "lang": note.lang}
    return {name: value for name, value in row.items() if value is not None}


def said(outcome):
    if isinstance(outcome, Failed):
        return f"{outcome.error} in {outcome.stage}"
    return outcome.text


@pytest.mark.long
@pytest.mark.parametrize("policy", ["tag", "safe_harbor", "surrogate"])
def test_a_batch_has_the_texts_and_withheld_notes_of_python(served, notes, policy):
    expected = deidentify_notes(notes, policy=policy, detectors=DETECTORS, secret=SECRET)

    answer = served.ask("/v1/batch", {"notes": list(map(sent, notes)), "policy": policy})

    assert answer.status_code == 200, answer.text
    found = answer.json()
    texts = {one["id"]: one.get("text", one.get("withheld")) for one in found["notes"]}
    assert texts == {one.note_id: said(one) for one in expected}
    assert texts["trip"] == "LookupError in spans_talker"
    assert found["withheld"] == sum(isinstance(one, Failed) for one in expected) >= 1


@pytest.mark.long
def test_one_note_has_the_text_of_deidentify_under_every_policy(served, notes):
    for policy in BUILTIN:
        note = notes[BUILTIN.index(policy) % 12]
        arguments = {"lang": note.lang, "policy": policy, "detectors": DETECTORS}
        expected = deidentify(note.text, secret=SECRET, **arguments).text
        body = {"text": note.text, "lang": note.lang, "policy": policy}
        assert served.ask("/v1/redact", body).json()["text"] == expected, policy


@pytest.mark.long
def test_what_the_shell_redacts_is_what_the_service_redacts(served, notes, tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from deid_assets.cli import app

    rows = [sent(note) for note in notes if note.note_id != "trip"]
    source, out = tmp_path / "notes.jsonl", tmp_path / "safe.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    names = [word for name in DETECTORS for word in ("--detector", name)]
    arguments = ["redact", str(source), *names, "--resolve", "union", "--policy", "safe_harbor"]
    ran = CliRunner().invoke(app, [*arguments, "--out", str(out)], env={"DEID_KEY": SECRET.hex()})
    assert ran.exit_code == 0, ran.output
    of_shell = {row["id"]: row["text"] for row in map(json.loads, out.read_text().splitlines())}

    found = served.ask("/v1/batch", {"notes": rows, "policy": "safe_harbor"}).json()["notes"]

    assert {one["id"]: one["text"] for one in found} == of_shell


@pytest.mark.long
def test_the_page_shows_the_same_text_under_all_policies(served):
    text = "Zedamar Caldwick, 47, was seen by Dr. Lee on 3 May 2021.\nMRN: 4471902. <b>&amp;</b>\n"
    browser = requests.Session()
    browser.get(f"{served.base}/login?code={served.service.keeper.link()}", timeout=60)

    page = browser.post(
        f"{served.base}/", data={"text": text.replace("\n", "\r\n"), "every": "yes"}, timeout=60
    )

    assert page.status_code == 200
    cards = dict(re.findall(r'aria-label="Redacted with (\w+)">(.*?)</div>', page.text, re.DOTALL))
    assert cards.keys() == set(BUILTIN)
    for policy, card in cards.items():
        shown = re.sub(r"<small>.*?</small>", "", card)
        plain = html.unescape(re.sub(r"</?mark[^>]*>", "", shown))
        expected = deidentify(text, policy=policy, detectors=DETECTORS, secret=SECRET).text
        assert plain == expected, policy


def test_the_default_ensemble_is_that_of_python(start):
    text = "pt seen w/ okafor, will call wife ngozi"
    with start() as served:
        found = served.ask("/v1/redact", {"text": text, "lang": "en", "policy": "tag"}).json()

    assert found["text"] == deidentify(text, lang="en", policy="tag").text


def test_a_detector_that_fails_gives_an_error_and_no_text(served):
    before = len(served.service.sessions)
    body = {"id": "n7", "text": "Zedamar met Dr. Jane Lee at the tripwire.", "lang": "en"}
    for path in ("/v1/redact", "/v1/detect", "/v1/sessions"):
        found = served.problem(path, body, status=422)
        assert found["type"] == "/docs#withheld"
        assert found["note"] == "n7"
        assert found["detail"] == "LookupError in spans_talker"
        assert "tripwire" not in json.dumps(found)
    assert len(served.service.sessions) == before


def test_reasons_name_the_detectors_the_merge_and_the_spread(served):
    text = "Dr. Zedamar Caldwick saw him. Later Caldwick called."
    found = served.ask("/v1/detect", {"text": text, "lang": "en", "explain": True}).json()

    assert [one["label"] for one in found["spans"]] == ["NAME", "NAME"]
    first, second = (one["why"] for one in found["spans"])
    assert {one["detector"] for one in first["predictions"]} == {"rules", "talker"}
    assert "joined of rules, talker; rules names the category" in first["decision"]
    assert second["origin"] in {"spread", "detector"}
    assert "Zedamar" not in json.dumps(found)
    assert served.ask("/v1/detect", {"text": text, "lang": "en"}).json()["spans"][0] == {
        name: value for name, value in found["spans"][0].items() if name != "why"
    }
