"""The evidence file of a release that was measured, approved, audited, and made for a study."""

import shutil
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from deid_assets.assets.auditing import key_of, tables_of
from deid_assets.core.errors import ProvenanceError
from deid_assets.evidence.build import build_evidence, find_release
from deid_assets.evidence.document import MeasureStanding, Regime
from deid_assets.evidence.page import evidence_html
from deid_assets.intake.states import batch_ids
from deid_assets.plugins import AUDITS, available
from deid_assets.privacy.audit import Material
from deid_assets.privacy.measurement import Measurement
from deid_assets.privacy.result import AuditResult, Control, Outcome, Rule
from deid_assets.privacy.subject import Sealer
from deid_assets.store.files import ALL, UnsignedReceipt, inputs_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif("reidentification" not in available(AUDITS), reason="no plugin audits"),
]

SETTINGS = """
ensemble = ["stencil"]
recipes = []
policies = ["tag"]
release_policy = "tag"
languages = ["en"]
[release]
approval = true
[gates]
min_gold_characters = 1
min_gold_spans = 10
recall = {{ALL = 0.5}}
recall_lower_bound = {{ALL = 0.5}}
[approvals.keys]
"a.meier" = "{key}"
[studies.heart]
policy = "blackout"
recipients = ["Dr. K. Ward"]
[studies.heart.release]
approval = false
"""
MISSED = "Marlow"
"""A name that people marked and no detector finds."""
AUDIT = "reidentification"


def write_keys(folder):
    """Write the keys of an approver."""
    key = Ed25519PrivateKey.generate()
    folder.mkdir()
    (folder / "own.pem").write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (folder / "own.pub.pem").write_bytes(public)


def release(house, records, say):
    """Release a batch, approved by its own key, and make the release of the study."""
    write_keys(house.home / "keys")
    house.batch = house.receive(records)
    house.run(house.batch)
    page = house.home / "reports" / f"release-{house.batch}.html"
    key = house.home / "keys" / "own.pem"
    code, said = say("approve", page, "--by", "a.meier", "--key", key)
    assert code == 0, said
    made = house.run(house.batch, "released_corpus", "release_diff")
    assert house.failures(made) == {}


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """Where a copy of the installation of ``house`` is kept, which is made once."""
    return tmp_path_factory.mktemp("evidence") / "start"


@pytest.fixture
def house(installation, note_records, note_record, start, say):
    """An installation with a release: annotated notes, notes that nobody annotated, one that cannot
    be read, and an audit that passed.
    """
    installation.detectors = ("stencil",)
    if start.exists():
        shutil.rmtree(installation.home, ignore_errors=True)
        shutil.copytree(start, installation.home)
    else:
        installation.home.mkdir(parents=True, exist_ok=True)
    installation.configure(SETTINGS.format(key=installation.home / "keys" / "own.pub.pem"))
    installation.records = [
        *note_records(),
        *note_records(40, gold=False),
        note_record(90, "Seen for a rash.", person=MISSED, record=4_000_990),
    ]
    if not start.exists():
        release(installation, [*installation.records, {"id": "broken", "lang": "en"}], say)
        store_audit(installation)
        shutil.copytree(installation.home, start)
    (installation.batch,) = batch_ids(installation.settings())
    return installation


def linked(group):
    return (Measurement.share("persons linked", 1, 40, chance=0.025, unit="patients", group=group),)


def store_audit(house, *, options=None, made_of=None, **changes):
    """Store a result of an audit, signed by the installation."""
    opened = house.opened()
    result = AuditResult(
        audit=AUDIT,
        version="1",
        title="Can the person be found?",
        outcome=Outcome.PASSED,
        reason="few are linked",
        blind_spots=("Everything else.",),
        figures=linked("tag, all known"),
        controls=(Control(name="planted", expected=True, reacted=True, description="always"),),
        rules=(Rule(name="few", passed=True, description="at most so many"),),
    )
    policies = [opened.snapshot.policies["tag"]]
    sealer = Sealer.of(Material(key=opened.key, policies=policies), read={})
    batch = batch_ids(opened.settings)[0]
    names = ("raw_notes", "gold_annotations", "merged_spans")
    inputs = inputs_of(opened.files.receipt(asset, batch) for asset in names)
    opened.files.write(
        key_of(AUDIT),
        ALL,
        tables_of(sealer.seal(replace(result, **changes), options)),
        receipt=UnsignedReceipt("1", {**inputs, **(made_of or {})}),
    )


def built(house, regime=Regime.HIPAA):
    return build_evidence(house.batch, house.opened(), regime=regime)


@pytest.mark.parametrize("regime", list(Regime))
def test_what_was_measured_is_told_without_a_gap(house, regime, read_page, leaked):
    document = built(house, regime)
    page = read_page(evidence_html(document))
    text = page.text.replace("\N{NO-BREAK SPACE}", " ")

    assert (document.missing, document.verdict) == ([], MeasureStanding.PASSED)
    assert all(page.said)
    assert {link.removeprefix("#") for link in page.links} <= page.ids
    assert "People annotated 9 of the 17 notes of the batch" in text
    assert "covered 17 of 18 annotated identifiers: 94.4 % [74.2 %, 99.0 %]" in text
    assert "17 were released and 1 withheld; none is unaccounted for" in text
    # 16 spans replaced in 8 notes; recall 17 of 18, precision 1: 16 * (1 - 17/18) / (17/18)
    assert "16 spans were replaced, and 0.9 [0.1, 5.6] identifiers are expected" in text
    assert "a.meier approved the page" in text
    assert "over name, batch and page was checked again now, and holds" in text
    assert "2.5 % [0.4 %, 12.9 %]" in text
    assert "No annotated note holds any of these categories" in text
    assert leaked(house.records, text) == []
    assert MISSED not in text


def test_a_study_has_its_own_and_it_does_not_name_the_batch(house, leaked):
    opened = house.opened()
    name = opened.of_study("heart").releases.name_of(house.batch)

    batch, own = find_release(name, opened)
    document = build_evidence(batch, own, regime=Regime.HIPAA)
    html = evidence_html(document)

    assert (batch, document.release) == (house.batch, name)
    assert "It goes to Dr. K. Ward." in html
    assert "Nobody approved the release by name" in html
    assert "It is not for the recipients." in html
    (gap,) = document.missing
    assert gap.reason == "it was run without the policy blackout of this release"
    assert house.batch not in html
    assert leaked(house.records, html) == []


def test_a_folder_of_a_release_is_named_as_well_as_its_batch(house, say, tmp_path):
    out = tmp_path / "evidence.html"

    code, said = say("evidence", house.home / "released" / house.batch, "--out", out)

    assert (code, said.splitlines()[0]) == (0, f"{house.batch}: passed")
    assert "draft" not in out.read_text().partition("<body>")[2]


def other_policies(house):
    changed = house.root / "deid.toml"
    changed.write_text(changed.read_text().replace('["tag"]', '["tag", "blackout"]', 1))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            lambda house: store_audit(house, made_of={f"merged_spans@{house.batch}": "0" * 64}),
            "the notes, annotations or spans were made again after it was run",
        ),
        (other_policies, "the policies of the settings changed after it was run"),
        (
            lambda house: store_audit(house, outcome=Outcome.VOID, reason="a control failed"),
            "void: a control failed",
        ),
        (lambda house: house.opened().files.discard(key_of(AUDIT), ALL), "it was not run"),
    ],
)
def test_an_audit_that_does_not_count_is_missing(house, change, reason):
    change(house)

    (gap,) = built(house).missing

    assert (gap.measure, gap.reason) == (f"audit {AUDIT}", reason)


def test_the_verdict_is_the_worst_of_what_was_measured(house, say, tmp_path):
    store_audit(house, outcome=Outcome.FAILED, reason="many are linked")

    code, said = say("evidence", house.batch, "--out", tmp_path / "evidence.html")

    assert (code, said.splitlines()[0]) == (1, f"{house.batch}: failed")
    assert built(house).results[0].measure == f"Audit {AUDIT}"


def test_an_audit_with_options_of_somebodys_passes_with_a_warning(house):
    store_audit(house, options={"most_risk": 0.9})

    document = built(house)

    assert document.verdict is MeasureStanding.WARNED
    assert "run with options that are not its own: most_risk = 0.9" in evidence_html(document)


def exchange_key(house):
    shutil.rmtree(house.home / "keys")
    write_keys(house.home / "keys")


def alter_audit(house):
    path = next((house.store / "internal" / key_of(AUDIT) / ALL).glob("figures-*"))
    path.write_bytes(path.read_bytes()[:-1] + b"?")


@pytest.mark.parametrize(
    ("alter", "told"),
    [
        (exchange_key, "the signature of a.meier does not hold"),
        (alter_audit, "the file of table 'figures' was altered"),
    ],
)
def test_an_approval_or_audit_that_was_altered_is_refused(house, alter, told):
    alter(house)

    with pytest.raises(ProvenanceError, match=told):
        built(house)
