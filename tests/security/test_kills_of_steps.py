"""A process that is killed before any file operation of intake, of the vault or of a training.

The next one completes.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from itertools import count

import pytest

from deid_assets import plugins
from deid_assets.core.errors import InputError
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Policy, redact
from deid_assets.core.span import DisjointSpans, Span
from deid_assets.intake.arrivals import check_arrival
from deid_assets.intake.landing import take_in
from deid_assets.intake.reader import landing_folder
from deid_assets.intake.splitting import split_arrivals
from deid_assets.intake.states import batch_ids
from deid_assets.policies.tags import Tag
from deid_assets.store.files import ALL
from deid_assets.store.leftovers import sweep_store
from deid_assets.training import CARD
from deid_assets.vault.keys import Keyring
from deid_assets.vault.log import AccessRequest
from deid_assets.vault.store import Vault, VaultEntry
from deid_assets.vault.upkeep import erase, reidentify, rotate, verify


@pytest.fixture
def each_kill(killed_at, campaign):
    """A function that kills an action before each of its file operations, or before some, and has a
    look after.
    """

    def run(some, prepare, action, look):
        """Do ``prepare``, ``action`` in a process that is killed, and ``look``, until the action
        comes to its end.
        """
        for step in count(1) if campaign.is_whole else some:
            prepare()
            died = killed_at(step, action)
            look(step)
            campaign.count("killed" if died else "came to its end")
            if step % 20 == 0:
                campaign.tell(f"  {campaign.counts}")
            if not died:
                return
        assert not campaign.is_whole

    return run


# Intake


def dropped(installation, note_records):
    """Lay a file, a folder of files and an arrival that has to be split into the landing folder.

    Return their digests.
    """
    landing = installation.home / "landing"
    landing.mkdir(parents=True)

    def write(path, records):
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(json.dumps(record) + "\n" for record in records))

    write(landing / "one.jsonl", note_records())
    write(landing / "some" / "a.jsonl", note_records(1)[:4])
    write(landing / "some" / "b.jsonl", note_records(1)[4:])
    write(
        landing / "large.jsonl",
        [record for first in range(2, 8) for record in note_records(10 * first)],
    )
    return digests(landing)


def digests(folder):
    return {hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*.jsonl")}


def test_a_kill_before_every_file_operation_of_intake_loses_nothing_campaign(
    installation, note_records, each_kill, tmp_path
):
    installation.configure(installation.default_settings + "\n[batches]\nmax_characters = 25_000\n")
    given = dropped(installation, note_records)
    shutil.copytree(installation.home, tmp_path / "start")
    settings = installation.settings()

    def intake():
        take_in(settings, settle_s=0)
        split_arrivals(settings)

    def prepare():
        shutil.rmtree(installation.home)
        shutil.copytree(tmp_path / "start", installation.home)

    made = []

    def look(step):
        arrived = installation.store / "restricted" / "landing"
        assert digests(installation.home / "landing") | digests(arrived) >= given, (
            f"lost by a kill before {step}"
        )
        intake()
        files = installation.opened().files
        sweep_store(files)
        made.append(batch_ids(settings))
        for batch in made[-1]:
            check_arrival(files, batch, landing=landing_folder(settings, batch))
        assert made[-1] == made[0], f"other batches after a kill before {step}"
        assert not [*(installation.home / "landing").iterdir()]
        assert not [
            path for path in arrived.rglob(".*") if path.name not in (".large", ".whole", ".lock")
        ]
        assert not [*(arrived / ".large").glob("b-*")]
        assert digests(arrived) >= given

    each_kill((20, 60), prepare, intake, look)

    assert len(made[0]) == 5


# The vault

REQUEST, ONE, TWO = AccessRequest("officer", "trial"), bytes(range(32)), bytes(range(1, 33))


def sealed_note(note_id, text, *ranges, patient):
    note = Note(note_id, text, patient, "en")
    spans = DisjointSpans.of(note, [Span(*each, Phi.NAME) for each in ranges])
    return VaultEntry(
        note, redact(note, spans, Policy("tag", Tag()), key=Key(bytes(32))), (f"out-{note_id}",)
    )


ENTRIES = [
    sealed_note("n1", "Dr. Lee saw Ann.", (4, 7), (12, 15), patient="p1"),
    sealed_note("n2", "Dr. May saw Eve.", (4, 7), (12, 15), patient="p2"),
    sealed_note("n3", "Dr. Poe saw Ida.", (4, 7), (12, 15), patient="p3"),
]


def seal(vault):
    vault.store(ENTRIES)


def forget(vault):
    try:
        erase(vault, REQUEST, patient_id="p1")
    except InputError:
        # the killed one had come to its end
        assert [one.note_id for one in opened(vault)] == ["n2", "n3"]


def change_key(vault):
    rotate(vault, Keyring([TWO, ONE]), REQUEST)


def opened(vault):
    asked = [Note(entry.note.note_id, entry.redacted.text) for entry in ENTRIES]
    return [note for note in reidentify(vault, asked, REQUEST) if note is not None]


@pytest.mark.parametrize(
    ("before", "action", "held"),
    [
        ((), seal, ([], ["n1", "n2", "n3"])),
        ((seal,), seal, (["n1", "n2", "n3"],)),
        ((seal,), forget, (["n1", "n2", "n3"], ["n2", "n3"])),
        ((seal,), change_key, (["n1", "n2", "n3"],)),
    ],
    ids=["first", "again", "erase", "rotate"],
)
def test_a_kill_before_every_statement_of_the_vault_keeps_all_or_nothing_campaign(
    before, action, held, each_kill, tmp_path
):
    folder, keys = tmp_path / "v", [TWO, ONE] if action is change_key else [ONE]
    seen = []

    def use(*actions):
        vault = Vault(f"sqlite:///{folder / 'vault.db'}", Keyring(keys))
        try:
            for each in actions:
                each(vault)
        finally:
            vault.close()

    def prepare():
        shutil.rmtree(folder, ignore_errors=True)
        use(*before)

    def look(step):
        def check(vault):
            verify(vault)
            found = opened(vault)
            assert all(note in [entry.note for entry in ENTRIES] for note in found)
            seen.append([note.note_id for note in found])

        use(check)
        assert seen[-1] in held, f"killed before {step}"
        use(action, check)
        assert seen.pop() == held[-1], f"killed before {step}"

    each_kill(range(1, 200, 9), prepare, lambda: use(action), look)

    assert all(ids in seen for ids in held)


# Training

RECIPE = """\
name = "mine"
plugin = "crf"
corpora = ["synthetic:en:12"]
scheme = "bio"
grouping = 1000
[settings]
predictions_of = ""
max_iterations = 10
min_patients = 1
"""


@pytest.mark.slow
@pytest.mark.skipif("crf" not in plugins.available(plugins.TRAINERS), reason="needs the plugin crf")
def test_a_kill_before_every_file_operation_of_a_training_signs_what_was_trained_campaign(
    installation, each_kill, tmp_path
):
    installation.detectors = ("stencil", "crf")
    recipe = tmp_path / "mine.toml"
    recipe.write_text(RECIPE)
    settings = installation.default_settings.replace("recipes = []", f'recipes = ["{recipe}"]')
    installation.configure(
        settings.replace("[gates]", "[gates]\nnear_duplicates = 1.0\ntagger_f1 = 0.0")
    )
    assert installation.failures(train(installation, "training_corpus")) == {}
    shutil.copytree(installation.root, tmp_path / "start")
    signed = set()

    def prepare():
        shutil.rmtree(installation.root)
        shutil.copytree(tmp_path / "start", installation.root)

    def action():
        assert installation.failures(train(installation, "tagger_mine")) == {}

    def look(step):
        sweep_store(installation.opened().files)
        action()
        opened = installation.opened()
        signed.add(opened.files.receipt("tagger_mine", ALL).counts["dev_f1"])
        assert (
            json.loads((opened.taggers.unpack("tagger_mine") / CARD).read_text())["recipe"]["name"]
            == "mine"
        )
        assert (installation.home / "training").stat().st_mode & 0o777 == 0o700, (
            f"killed before {step}"
        )

    look("nothing")  # here, so that all is loaded in every process that is split off
    each_kill((25,), prepare, action, look)

    assert len(signed) == 1, "the same data, seed and settings gave other taggers"


def train(installation, *assets):
    from deid_assets.defs.jobs import TRAINING_JOB

    return installation.run(None, *assets, job=TRAINING_JOB)
