"""Who approves a release is proved by a key of their own or by the login that a proxy names, or called unverified."""

import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from dagster import DagsterRun, DagsterRunStatus
from dagster._core.run_coordinator.base import SubmitRunContext
from typer.testing import CliRunner

from deid_assets.cli import app
from deid_assets.core.errors import InputError
from deid_assets.core.keys import Key
from deid_assets.defs.coordinator import LoginRunCoordinator
from deid_assets.defs.instance import open_instance
from deid_assets.store.approvals import (
    LOGIN_TAG,
    REPORT,
    approve,
    digest_of_page,
    login_code,
    proof_by_login,
    proof_in_words,
)
from deid_assets.store.files import StoreFiles, UnsignedReceipt

BATCH = "b-1"
HEADER = '[approvals]\nlogin_header = "X-Remote-User"\n'


def say(*arguments):
    result = CliRunner().invoke(app, list(map(str, arguments)))
    return result.exit_code, result.output


def write_keys(folder, name):
    key = Ed25519PrivateKey.generate()
    private, public = folder / f"{name}.pem", folder / f"{name}.pub.pem"
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public.write_bytes(
        key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    return private, public


@pytest.fixture
def page(installation, tmp_path):
    """The page on a batch, in an installation that knows the key of ``a.meier``."""
    keys = [write_keys(tmp_path, name) for name in ("a.meier", "other")]
    declared = f'[approvals.keys]\n"a.meier" = "{keys[0][1]}"\n'
    installation.configure("release.approval = true\n" + installation.default_settings + declared)
    path = tmp_path / "page.html"
    path.write_text("what there is")
    opened = installation.opened()
    receipt = UnsignedReceipt("1", counts={"page": digest_of_page(path)})
    opened.files.write(REPORT, BATCH, {}, receipt=receipt)
    return path


def approval(installation):
    return installation.opened().files.find("release_approval", BATCH)


def test_an_approval_by_the_declared_key_is_signed_by_it(installation, page, tmp_path):
    code, said = say("approve", page, "--by", "a.meier", "--key", tmp_path / "a.meier.pem")

    assert code == 0, said
    found = approval(installation)
    assert proof_in_words(found).startswith("own key ")
    assert len(str(found.counts["signature"])) == 86
    assert "a.meier (own key " in said


@pytest.mark.parametrize(
    ("by", "key", "message"),
    [
        ("a.meier", "", "a.meier approves with a key of their own"),
        ("a.meier", "other.pem", "not the key that approvals.keys of the settings declares"),
        ("b.frei", "other.pem", "no key of b.frei is declared"),
        ("a.meier", "a.meier.pub.pem", "no private key in PEM"),
        ("a.meier", "absent.pem", "cannot be read"),
    ],
)
def test_nobody_approves_under_a_name_that_has_a_key_without_it(
    installation, page, by, key, message
):
    code, said = say("approve", page, "--by", by, *(["--key", page.with_name(key)] if key else []))

    assert (code, message in " ".join(said.split())) == (2, True), said
    assert approval(installation) is None


def test_a_name_without_proof_is_called_unverified(installation, page):
    code, said = say("approve", page, "--by", "b.frei", "--json")

    assert (code, json.loads(said)["proof"]) == (0, "unverified name")
    assert proof_in_words(approval(installation)) == "unverified name"


def test_an_approval_of_an_earlier_version_is_unverified(tmp_path):
    files = StoreFiles(tmp_path, key=b"0123456789abcdef")
    found = files.write(
        "release_approval", BATCH, {}, receipt=UnsignedReceipt("1", counts={"by": "a.meier"})
    )
    assert proof_in_words(found) == "unverified name"


class FromProxy(SubmitRunContext):
    """As Dagster's web server hands over a request that came with a header."""

    def get_request_header(self, key):
        return {"X-Remote-User": "a.meier"}.get(key)


@pytest.mark.parametrize(
    ("settings", "context", "tags", "login"),
    [
        (HEADER, FromProxy, {}, "a.meier"),
        (HEADER, FromProxy, {LOGIN_TAG: "b.frei 00"}, "a.meier"),
        (HEADER, SubmitRunContext, {LOGIN_TAG: "b.frei 00"}, ""),
        ("", FromProxy, {LOGIN_TAG: "a.meier 00"}, ""),
        ("", FromProxy, {}, None),
    ],
)
def test_a_run_is_tagged_with_the_login_of_the_proxy_and_no_other(
    installation, settings, context, tags, login
):
    installation.configure(installation.default_settings + settings)
    with open_instance(installation.dagster_home) as instance:
        assert isinstance(instance.run_coordinator, LoginRunCoordinator)
        run = instance.add_run(
            DagsterRun(job_name="approve_release", tags=tags, status=DagsterRunStatus.STARTED)
        )
        instance.run_coordinator.submit_run(context(run, None))
        found = instance.get_run_by_id(run.run_id).tags

    expected = (
        f"{login} {login_code(installation.settings().key(), run.run_id, login)}"
        if login
        else login
    )
    assert found.get(LOGIN_TAG) == expected


def test_a_login_proves_its_own_name_in_its_own_run_alone():
    key = Key(b"0123456789abcdef")
    tags = {LOGIN_TAG: f"a.meier {login_code(key, 'run-1', 'a.meier')}"}

    assert proof_by_login(key, tags, run_id="run-1", by="a.meier").means == "login"
    assert proof_by_login(key, tags, run_id="run-2", by="a.meier").means == ""
    assert proof_by_login(key, {LOGIN_TAG: "b.frei 00"}, run_id="run-1", by="b.frei").means == ""
    with pytest.raises(InputError, match="logged in as another"):
        proof_by_login(key, tags, run_id="run-1", by="b.frei")


def test_a_login_proves_a_name_that_has_a_key_too(installation, page, tmp_path):
    opened = installation.opened()
    declared = opened.settings.approvals.keys
    tags = {LOGIN_TAG: f"a.meier {login_code(opened.key, 'run-1', 'a.meier')}"}
    proof = proof_by_login(opened.key, tags, run_id="run-1", by="a.meier")
    digest = opened.files.receipt(REPORT, BATCH).counts["page"]

    found = approve(opened.files, BATCH, by="a.meier", page=digest, proof=proof, declared=declared)

    assert proof_in_words(found) == "login"
