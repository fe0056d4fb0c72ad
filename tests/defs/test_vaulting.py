"""With a vault set, the released policy's originals are sealed before anything is stored.

Without, nothing changes.
"""

import json
import os

import pytest

from deid_assets.core.note import Note
from deid_assets.vault.keys import Keyring
from deid_assets.vault.log import AccessRequest
from deid_assets.vault.store import Vault
from deid_assets.vault.upkeep import reidentify, verify

pytestmark = pytest.mark.long

KEY = "5b" * 32
UP_TO_REDACTED = (
    "raw_notes",
    "gold_annotations",
    "spans_stencil",
    "merged_spans",
    "redacted_notes_tag",
    "redacted_notes_blackout",
)
REST = ("quarantine", "released_corpus", "release_report")


@pytest.fixture
def vaulted(installation):
    os.environ["DEID_VAULT_KEY"] = KEY
    url = f"sqlite:///{installation.root / 'vault' / 'vault.db'}"
    installation.configure(installation.default_settings + f'[vault]\nurl = "{url}"\n')
    installation.vault_url = url
    return installation


def opened(installation):
    return Vault(installation.vault_url, Keyring([bytes.fromhex(KEY)]))


def test_released_notes_can_be_given_back(vaulted, note_records):
    records = note_records()
    batch = vaulted.receive(records)
    assert vaulted.failures(vaulted.run(batch, *UP_TO_REDACTED, *REST)) == {}

    lines = (vaulted.home / "released" / batch / "notes.jsonl").read_text().splitlines()
    released = [Note(row["id"], row["text"]) for row in map(json.loads, lines)]
    originals = reidentify(opened(vaulted), released, AccessRequest("tester", "a test"))

    assert sorted((note.note_id, note.text) for note in originals) == sorted(
        (record["id"], record["text"]) for record in records
    )
    assert verify(opened(vaulted))["notes"] == len(records)
    assert vaulted.opened().files.receipt("redacted_notes_tag", batch).counts["sealed_edits"] == 16


def test_without_its_key_nothing_is_stored(vaulted, note_records):
    del os.environ["DEID_VAULT_KEY"]
    batch = vaulted.receive(note_records())
    ((step, message),) = vaulted.failures(vaulted.run(batch, *UP_TO_REDACTED)).items()

    assert step == "redacted_notes_tag"
    assert "there is no key for the vault; set DEID_VAULT_KEY" in message
    assert vaulted.opened().files.find("redacted_notes_tag", batch) is None
    assert vaulted.opened().files.find("redacted_notes_blackout", batch) is not None


def test_a_note_without_patient_stops_the_batch_and_seals_nothing(vaulted, note_records):
    first, *rest = note_records()
    batch = vaulted.receive([{name: first[name] for name in first if name != "patient_id"}, *rest])
    ((_, message),) = vaulted.failures(vaulted.run(batch, *UP_TO_REDACTED)).items()

    assert "note 'note-0': no patient id" in message
    assert vaulted.opened().files.find("redacted_notes_tag", batch) is None
    assert verify(opened(vaulted))["notes"] == 0


def test_setting_a_vault_makes_the_released_policy_out_of_date(installation, vaulted):
    versions = {
        spec.key.to_user_string(): spec.code_version
        for spec in vaulted.definitions().resolve_all_asset_specs()
    }
    vaulted.configure(vaulted.default_settings)
    before = {
        spec.key.to_user_string(): spec.code_version
        for spec in vaulted.definitions().resolve_all_asset_specs()
    }

    assert [name for name in versions if versions[name] != before[name]] == ["redacted_notes_tag"]


def test_the_vault_may_not_be_the_catalogue(installation):
    from deid_assets.core.errors import ConfigError

    url = installation.settings().sql_url
    installation.configure(installation.default_settings + f'[vault]\nurl = "{url}"\n')
    with pytest.raises(ConfigError, match="give the vault one of its own"):
        installation.settings()
