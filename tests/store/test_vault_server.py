"""A vault in PostgreSQL keeps the promises of one in a file.

It is tested here, where the server is.
"""

import pytest

from deid_assets.core.errors import InputError
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

pytestmark = pytest.mark.postgres
ONE, TWO = bytes(range(32)), bytes(range(1, 33))
REQUEST = AccessRequest("officer", "trial recall 7")


def entry(note_id, patient):
    note = Note(note_id, "Dr. Lee", patient)
    spans = DisjointSpans.of(note, [Span(4, 7, Phi.NAME)])
    return VaultEntry(note, redact(note, spans, Policy("tag", Tag()), key=Key(bytes(32))))


@pytest.fixture
def vault(postgres_server):
    vault = Vault(postgres_server, Keyring([ONE]))
    vault.store([entry("n1", "p1"), entry("n2", "p2")])
    yield vault
    with vault.begin() as connection:
        connection.exec_driver_sql("DROP SCHEMA public CASCADE")
        connection.exec_driver_sql("CREATE SCHEMA public")
    vault.close()


def test_a_server_keeps_what_a_file_keeps(vault, postgres_server):
    assert reidentify(vault, [Note("n1", "Dr. [NAME]")], REQUEST) == [Note("n1", "Dr. Lee", "p1")]
    assert erase(vault, REQUEST, patient_id="p2") == (1, 1)

    both = Vault(postgres_server, Keyring([TWO, ONE]))
    assert rotate(both, Keyring([TWO, ONE]), REQUEST) == 4
    assert verify(both)["log rows"] == 3
    both.close()


@pytest.mark.parametrize(
    "statement", ["DELETE FROM deid_vault_log", "UPDATE deid_vault_log SET who = 'x'"]
)
def test_the_log_of_a_server_can_only_be_added_to(vault, statement):
    with pytest.raises(InputError, match="cannot be used"), vault.begin() as connection:
        connection.exec_driver_sql(statement)
