"""Who approves a release is proved by a key of their own or by the login that a proxy names, or
called unverified.
"""

import json
import shutil
from types import SimpleNamespace

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
from starlette.requests import Request
from typer.testing import CliRunner

from deid_assets.cli import app
from deid_assets.core.errors import ConfigError, InputError, ProvenanceError
from deid_assets.core.keys import Key
from deid_assets.defs.coordinator import LoginRunCoordinator
from deid_assets.defs.instance import open_instance
from deid_assets.store.approvals import (
    LOGIN_TAG,
    REPORT,
    Proof,
    approve,
    digest_of_page,
    find_approval,
    login_code,
    proof_by_login,
    proof_in_words,
)
from deid_assets.store.files import StoreFiles, UnsignedReceipt

BATCH = "b-1"
SECRET = "a1" * 32


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
        ("A.Meier", "", "approves with a key of their own"),
        ("a.MEIER", "a.meier.pem", "no key of a.MEIER is declared"),
        ("a.meier ", "", "the name of who approves is"),
        ("\u0430.meier", "", "the name of who approves is"),
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


def request_with(*headers):
    """The context of a run as Dagster's web server makes it of a request with these headers."""
    pairs = [(name.lower().encode(), value.encode()) for name, value in headers]
    request = Request({"type": "http", "method": "POST", "path": "/graphql", "headers": pairs})
    return SimpleNamespace(source=request)


USER, PROXY = ("X-Remote-User", "a.meier"), ("X-Deid-Proxy", SECRET)


@pytest.fixture
def launched(installation, tmp_path):
    """Launch a run of a request, and return its login tag and the one that would
    prove ``a.meier``.
    """
    path = tmp_path / "proxy.secret"
    path.write_text(SECRET)
    path.chmod(0o600)
    header = f'[approvals]\nlogin_header = "X-Remote-User"\nlogin_secret = "{path}"\n'

    def launch(*headers, tags=None, settings=header):
        installation.configure(installation.default_settings + settings)
        with open_instance(installation.dagster_home) as instance:
            assert isinstance(instance.run_coordinator, LoginRunCoordinator)
            run = instance.add_run(
                DagsterRun(
                    job_name="approve_release", tags=tags or {}, status=DagsterRunStatus.STARTED
                )
            )
            instance.run_coordinator.submit_run(SubmitRunContext(run, request_with(*headers)))
            found = instance.get_run_by_id(run.run_id).tags.get(LOGIN_TAG)
        proved = login_code(installation.settings().key(), run.run_id, "a.meier")
        return found, f"a.meier {proved}"

    launch.secret = path
    return launch


@pytest.mark.parametrize("tags", [{}, {LOGIN_TAG: "b.frei 00"}])
@pytest.mark.parametrize("name", ["X-Remote-User", "x-remote-user", "X-REMOTE-USER"])
def test_a_run_is_tagged_with_the_login_of_the_proxy_and_no_other(launched, tags, name):
    found, expected = launched((name, "a.meier"), PROXY, tags=tags)
    assert found == expected


@pytest.mark.long
@pytest.mark.parametrize(
    "headers",
    [
        [],
        [USER],
        [PROXY],
        [("X-Remote-User", ""), PROXY],
        [USER, ("X-Deid-Proxy", "")],
        [USER, ("X-Deid-Proxy", "00" * 32)],
        [USER, ("X-Deid-Proxy", SECRET.upper())],
        [USER, ("X-Deid-Proxy", SECRET[:-1])],
        [USER, ("X_Deid_Proxy", SECRET)],
        [("X_Remote_User", "a.meier"), PROXY],
        [("Remote-User", "a.meier"), PROXY],
        [USER, USER, PROXY],
        [("X-Remote-User", "b.frei"), USER, PROXY],
        [("x-remote-user", "b.frei"), USER, PROXY],
        [USER, PROXY, PROXY],
        [USER, ("X-Deid-Proxy", "00" * 32), PROXY],
        [USER, ("X-Forwarded-For", "127.0.0.1"), ("Forwarded", "for=127.0.0.1")],
    ],
)
def test_a_forged_header_proves_no_login(launched, headers):
    assert launched(*headers, tags={LOGIN_TAG: "a.meier 00"})[0] == ""


@pytest.mark.long
def test_without_a_proxy_whose_secret_is_kept_nobody_is_logged_in(launched):
    assert launched(USER, PROXY, settings="")[0] is None
    launched.secret.chmod(0o644)
    assert launched(USER, PROXY)[0] is None
    with pytest.raises(ConfigError, match="whoever reaches the web server could send it"):
        launched(USER, PROXY, settings='[approvals]\nlogin_header = "X-Remote-User"\n')


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


def test_an_approval_put_in_the_place_of_another_releases_nothing(installation, page, tmp_path):
    """Kept copies of an approval: under another batch, after another page, under another secret."""
    files = installation.opened().files
    say("approve", page, "--by", "a.meier", "--key", tmp_path / "a.meier.pem")
    folder = installation.store / "restricted" / "release_approval"
    if not folder.is_dir():
        (folder,) = [one for one in installation.store.rglob("release_approval") if one.is_dir()]
    kept = tmp_path / "kept"
    shutil.copytree(folder / BATCH, kept)
    assert find_approval(files, BATCH) is not None

    report = files.receipt(REPORT, BATCH)
    files.write(REPORT, "b-2", {}, receipt=UnsignedReceipt("1", counts=dict(report.counts)))
    shutil.copytree(kept, folder / "b-2")
    with pytest.raises(ProvenanceError):
        find_approval(files, "b-2")

    files.write(REPORT, BATCH, {}, receipt=UnsignedReceipt("1", counts={"page": "0" * 64}))
    assert find_approval(files, BATCH) is None
    approve(files, BATCH, by="c.kurz", page="0" * 64, proof=Proof(), declared={})
    shutil.rmtree(folder / BATCH)
    shutil.copytree(kept, folder / BATCH)
    assert find_approval(files, BATCH) is None

    with pytest.raises(ProvenanceError):
        find_approval(
            StoreFiles(installation.store, key=b"another secret, 32 bytes long, 1"), BATCH
        )
