"""A vault gives the originals back to who has the key, and to nobody else.

Nothing in it can be swapped in silence.
"""

import json
import sqlite3
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deid_assets.core.errors import ConfigError, InputError, PolicyError, ProvenanceError
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Policy, redact
from deid_assets.core.span import DisjointSpans, Span
from deid_assets.policies.tags import Tag
from deid_assets.vault.keys import Keyring
from deid_assets.vault.log import AccessRequest
from deid_assets.vault.store import Vault, VaultEntry
from deid_assets.vault.upkeep import erase, reidentify, rotate, verify

ONE, TWO = bytes(range(32)), bytes(range(1, 33))
REQUEST = AccessRequest("officer", "trial recall 7")
POLICY = Policy("tag", Tag())


def entry(note_id, text, *ranges, patient="p1", other_ids=()):
    note = Note(note_id, text, patient, "en")
    spans = DisjointSpans.of(note, [Span(*each, Phi.NAME) for each in ranges])
    return VaultEntry(note, redact(note, spans, POLICY, key=Key(bytes(32))), other_ids)


LEE = entry("n1", "Dr. Lee saw Ann.", (4, 7), (12, 15))
MAY = entry("n2", "Dr. May saw Eve.", (4, 7), (12, 15), patient="p2")


def given_out(each):
    return Note(each.note.note_id, each.redacted.text)


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path / 'v' / 'vault.db'}"


@pytest.fixture
def open_vault(url):
    made = []

    def opened(*keys, **options):
        made.append(Vault(url, Keyring(keys or (ONE,)), **options))
        return made[-1]

    yield opened
    for vault in made:
        vault.close()


@pytest.fixture
def vault(open_vault):
    vault = open_vault()
    vault.store([LEE, MAY])
    return vault


@pytest.fixture
def database(tmp_path, vault):
    """The file as someone sees it who can write to it and has no key."""
    with sqlite3.connect(tmp_path / "v" / "vault.db", isolation_level=None) as connection:
        yield connection


def test_originals_come_back_whole(vault):
    assert reidentify(vault, [given_out(MAY), given_out(LEE)], REQUEST) == [MAY.note, LEE.note]
    assert [note.patient_id for note in reidentify(vault, [given_out(LEE)], REQUEST)] == ["p1"]


@given(
    st.text(alphabet=st.characters(exclude_categories=("Cs",)), min_size=1, max_size=40), st.data()
)
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None
)
def test_any_note_comes_back_whole(open_vault, text, data):
    bounds = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=8)))
    each = entry("any", text, *zip(bounds[::2], bounds[1::2], strict=False))
    vault = open_vault()
    vault.store([each])

    (note,) = reidentify(vault, [given_out(each)], REQUEST)

    assert (note.text, note.digest) == (text, each.note.digest)


def test_a_note_that_went_out_under_another_id_is_found(open_vault):
    vault = open_vault()
    vault.store([entry("n1", "Dr. Lee", (4, 7), other_ids=("n-77",))])

    assert reidentify(vault, [Note("n-77", "Dr. [NAME]")], REQUEST) == [
        Note("n1", "Dr. Lee", "p1", "en")
    ]


@pytest.mark.parametrize("note", [Note("n1", "Dr. [NAME]"), Note("n3", LEE.redacted.text)])
def test_another_text_or_id_is_not_held(vault, note):
    assert reidentify(vault, [note], REQUEST) == [None]


def test_storing_again_changes_nothing(vault):
    vault.store([LEE])

    assert verify(vault) == verify(vault)
    assert verify(vault)["edits"] == 4
    assert reidentify(vault, [given_out(LEE)], REQUEST) == [LEE.note]


def test_the_database_shows_neither_text_nor_ids_nor_reasons(vault, tmp_path):
    # Long words: two bytes also occur in random ones.
    told = entry("note-4711", "Dr. Ashworth saw Ann.", (4, 12), patient="patient-0815")
    vault.store([told])
    assert reidentify(vault, [given_out(told)], REQUEST) == [told.note]
    vault.close()
    content = b"".join(path.read_bytes() for path in (tmp_path / "v").iterdir())

    assert [
        word
        for word in (b"Ashworth", b"note-4711", b"patient-0815", b"trial", b"[NAME]")
        if word in content
    ] == []
    assert b"officer" in content


def test_the_file_is_for_its_owner_alone(vault, tmp_path):
    assert {path.stat().st_mode & 0o77 for path in (tmp_path / "v").iterdir()} == {0}


def test_another_key_opens_nothing_and_says_whose_key_is_needed(vault, open_vault):
    with pytest.raises(ConfigError, match=r"sealed with key [0-9a-f]{8}, which is not among"):
        reidentify(open_vault(TWO), [given_out(LEE)], REQUEST)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE deid_vault_edits SET ciphertext = x'00' WHERE position = 1",
        "UPDATE deid_vault_edits SET position = 1 - position + 10",
        (
            "UPDATE deid_vault_edits AS a SET (nonce, ciphertext) = (SELECT nonce, ciphertext FROM"
            " deid_vault_edits AS b WHERE b.position = a.position AND b.record <> a.record)"
        ),
        (
            "UPDATE deid_vault_notes AS a SET (nonce, ciphertext) = (SELECT nonce, ciphertext FROM"
            " deid_vault_notes AS b WHERE b.record <> a.record)"
        ),
        "DELETE FROM deid_vault_edits WHERE position = 1",
        "UPDATE deid_vault_notes SET edits = 1",
        "UPDATE deid_vault_notes SET patient = 'x'",
        "DELETE FROM deid_vault_notes",
        "UPDATE deid_vault_meta SET ciphertext = x'00' WHERE name = 'log_end'",
        "DELETE FROM deid_vault_meta WHERE name = 'log_end'",
    ],
)
def test_whatever_is_altered_swapped_or_taken_away_is_found(vault, database, statement):
    verify(vault)
    database.execute(statement)

    with pytest.raises(ProvenanceError) as raised:
        verify(vault)
    assert "Lee" not in str(raised.value)


def test_an_altered_row_gives_no_text(vault, database):
    database.execute("DELETE FROM deid_vault_edits WHERE position = 1")

    with pytest.raises(ProvenanceError, match="note 'n1' in the vault: has 1 of 2 edits"):
        reidentify(vault, [given_out(LEE)], REQUEST)


def test_a_name_that_is_pointed_at_another_note_gives_no_text(open_vault, tmp_path):
    vault = open_vault()
    vault.store(
        [entry("n1", "Dr. Lee", (4, 7), other_ids=("n-1",)), entry("n2", "Dr. May", (4, 7))]
    )
    with sqlite3.connect(tmp_path / "v" / "vault.db") as database:
        database.execute(
            "UPDATE deid_vault_names SET record = (SELECT record FROM deid_vault_notes"
            " WHERE record NOT IN (SELECT record FROM deid_vault_names))"
        )

    with pytest.raises(ProvenanceError, match="of another note"):
        reidentify(vault, [Note("n-1", "Dr. [NAME]")], REQUEST)


def test_the_log_says_who_opened_what_and_why(vault):
    reidentify(vault, [given_out(LEE), Note("no", "no")], REQUEST)
    (row,) = vault.log_rows()

    assert (row.action, row.who, row.reason, len(row.subjects)) == (
        "reidentify",
        "officer",
        "trial recall 7",
        1,
    )


@pytest.mark.parametrize(
    "statement", ["UPDATE deid_vault_log SET who = 'x'", "DELETE FROM deid_vault_log"]
)
def test_the_log_can_only_be_added_to(vault, database, statement):
    reidentify(vault, [given_out(LEE)], REQUEST)

    with pytest.raises(sqlite3.IntegrityError, match="only be added to"):
        database.execute(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE deid_vault_log SET who = 'x' WHERE seq = 2",
        "UPDATE deid_vault_log SET seq = seq + 10 WHERE seq > 1",
        "DELETE FROM deid_vault_log WHERE seq = 3",
        "DELETE FROM deid_vault_log WHERE seq = 1",
        "DELETE FROM deid_vault_log",
    ],
)
def test_a_log_that_was_changed_behind_its_back_is_found(vault, database, statement):
    for _ in range(3):
        reidentify(vault, [given_out(LEE)], REQUEST)
    for verb in ("update", "delete"):
        database.execute(f"DROP TRIGGER deid_vault_log_no_{verb}")
    database.execute(statement)

    with pytest.raises(ProvenanceError, match="the vault's log"):
        verify(vault)


def test_a_patient_can_be_erased_and_no_other_is_touched(vault, database):
    held = database.execute("SELECT ciphertext FROM deid_vault_edits ORDER BY record").fetchall()

    assert erase(vault, REQUEST, patient_id="p1") == (1, 2)
    assert reidentify(vault, [given_out(LEE), given_out(MAY)], REQUEST) == [None, MAY.note]
    left = Path(database.execute("PRAGMA database_list").fetchone()[2]).read_bytes()
    assert sum(ciphertext in left for (ciphertext,) in held) == 2


def test_erasing_who_is_not_there_is_an_error_that_repeats_no_id(vault):
    with pytest.raises(InputError, match="nothing of that patient") as raised:
        erase(vault, REQUEST, patient_id="Quillfeather")
    assert "Quillfeather" not in str(raised.value)


def test_after_a_rotation_the_new_key_is_enough_and_the_old_opens_nothing(vault, open_vault):
    both = open_vault(TWO, ONE)
    # notes, edits, the key of the ids and the log's end
    assert rotate(both, Keyring([TWO, ONE]), REQUEST) == 2 + 4 + 2
    assert rotate(both, Keyring([TWO, ONE]), REQUEST) == 0

    assert reidentify(open_vault(TWO), [given_out(LEE)], REQUEST) == [LEE.note]
    assert verify(open_vault(TWO))["notes"] == 2
    with pytest.raises(ConfigError):
        reidentify(open_vault(ONE), [given_out(LEE)], REQUEST)


def test_a_note_without_patient_is_refused_and_nothing_is_stored(open_vault):
    vault = open_vault()

    with pytest.raises(PolicyError, match="note 'n9': no patient id"):
        vault.store([LEE, entry("n9", "Dr. Lee", (4, 7), patient=None)])
    assert reidentify(vault, [given_out(LEE)], REQUEST) == [None]


def test_or_counts_as_a_patient_of_its_own(open_vault):
    vault = open_vault(require_patient=False)
    alone, other = (entry(note_id, "Dr. Lee", (4, 7), patient=None) for note_id in ("n8", "n9"))
    vault.store([alone, other])

    assert erase(vault, REQUEST, note_id="n8") == (1, 1)
    assert reidentify(vault, [given_out(alone), given_out(other)], REQUEST) == [None, other.note]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("", "there is no key"),
        ("zz", "not hexadecimal"),
        ("00" * 16, "has 16 bytes, 32 are needed"),
        (f"{ONE.hex()},{ONE.hex()}", "given twice"),
    ],
)
def test_an_unfit_key_is_refused_without_being_shown(value, message):
    with pytest.raises(ConfigError, match=message) as raised:
        Keyring.load(environment={"DEID_VAULT_KEY": value})
    assert not value or value not in str(raised.value)


def test_a_key_file_that_others_may_read_is_refused(tmp_path):
    file = tmp_path / "keys"
    file.write_text(f"{TWO.hex()}\n{ONE.hex()}\n")
    file.chmod(0o640)
    with pytest.raises(ConfigError, match="chmod 600"):
        Keyring.load(file)

    file.chmod(0o600)
    assert Keyring.load(file).current == Keyring([TWO]).current


@pytest.mark.parametrize(
    ("who", "reason"), [("", "because"), ("me", "x"), ("me", "a\nb c"), ("m" * 101, "because")]
)
def test_nothing_is_opened_without_a_name_and_a_reason(who, reason):
    with pytest.raises(InputError, match="printable characters"):
        AccessRequest(who, reason)


def test_no_row_holds_json_in_clear(vault, database):
    for table in ("notes", "edits", "meta"):
        for (ciphertext,) in database.execute(f"SELECT ciphertext FROM deid_vault_{table}"):
            with pytest.raises(ValueError):
                json.loads(ciphertext)
