"""Deployment files: read by the tools that read them, and reachable by the proxy alone."""

import re
import shlex
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import yaml

from deid_assets.operation.environment import ENVIRONMENT
from deid_assets.quickstart.web import options_of

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
DOCKERFILE = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
SERVICES = COMPOSE["services"]
OURS = {"code", "daemon", "web"}
HELM = yaml.safe_load((DEPLOY / "helm" / "values.yaml").read_text(encoding="utf-8"))


def instructions():
    """Instructions of the Dockerfile, lines that are continued joined."""
    whole = re.sub(r"\\\n\s*", " ", DOCKERFILE)
    lines = (line for line in whole.splitlines() if line and not line.startswith("#"))
    return [tuple(line.split(maxsplit=1)) for line in lines]


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_systemd_takes_the_unit_without_a_word(unit, tmp_path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed")
    for name in ("deid", "python", "dagster-daemon"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    here = unit.read_text().replace("/opt/deid/bin", str(tmp_path)).replace("/srv/deid", "/tmp")
    (tmp_path / unit.name).write_text(here)

    command = ["systemd-analyze", "verify", "--man=no", str(tmp_path / unit.name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    said = [line for line in done.stderr.splitlines() if unit.stem in line]
    assert (done.returncode, said) == (0, [])


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_starts_nothing_that_is_unsafe_and_writes_no_core_file(unit):
    text = unit.read_text()

    assert re.search(
        r"^ExecCondition=.*/deid doctor --json .*\[ \$\$\? -le 1 \]", text, re.MULTILINE
    )
    assert {"LimitCORE=0", "UMask=0077", "NoNewPrivileges=yes", "User=deid"} <= set(
        text.split("\n")
    )
    assert "dagster-webserver" not in text
    assert "--host 127.0.0.1" in text or "quickstart.web" not in text


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_the_condition_of_a_unit_is_met_by_a_finished_doctor_that_found_nothing_unsafe(
    unit, tmp_path
):
    deid = tmp_path / "deid"
    condition = re.search(r"ExecCondition=/bin/sh -c '(.*)'", unit.read_text()).group(1)
    script = condition.replace("$$", "$").replace("/opt/deid/bin/deid", str(deid))
    told = {code: f"echo '[]'; exit {code}" for code in (0, 1, 2, 3, 4, 126, 127, 255)}
    endings = {**told, "killed": "echo '['; kill -9 $$", "traceback": "echo oh >&2; exit 1"}
    passed = set()
    for name, ending in endings.items():
        deid.write_text(f"#!/bin/sh\n{ending}\n")
        deid.chmod(0o755)
        if subprocess.run(["/bin/sh", "-c", script], check=False).returncode == 0:
            passed.add(name)
    deid.unlink()
    absent = subprocess.run(["/bin/sh", "-c", script], capture_output=True, check=False)

    assert passed == {0, 1}
    assert absent.returncode != 0


def test_what_the_image_copies_is_there_and_it_runs_as_nobody():
    found = instructions()
    copied = [
        source
        for name, rest in found
        if name == "COPY" and not rest.startswith("--from")
        for source in rest.split()[:-1]
    ]
    bases = [rest.split()[0] for name, rest in found if name == "FROM"]
    users = [rest for name, rest in found if name == "USER"]

    assert [source for source in copied if not (ROOT / source).exists()] == []
    assert {base.partition(":")[2] for base in bases} & {"", "latest"} == set()
    assert users == ["10001"]
    assert found[-1][0] == "CMD"
    assert not any(name == "ADD" or "sudo" in rest for name, rest in found)
    environment = " ".join(rest for name, rest in found if name == "ENV")
    assert [one for one, value in ENVIRONMENT.items() if f"{one}={value}" not in environment] == []


def test_the_image_installs_what_make_run_does():
    steps = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ").split("&&")
    listing, stripping = (step.rpartition(" > ")[0].strip() for step in steps[1:3])
    listed = shlex.split(listing.replace("python ", f"{shlex.quote(sys.executable)} "))
    done = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True)
    command = shlex.split(stripping)[:-1]
    done = subprocess.run(command, input=done.stdout, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()

    assert [
        one for one in lines if not Path(one.partition("[")[0], "pyproject.toml").exists()
    ] == []
    assert str(ROOT / "plugins" / "rules") in lines
    assert f"{ROOT}[postgresql,quickstart]" in lines


def test_no_notes_and_no_secrets_are_in_the_context_of_the_image():
    lines = (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()

    assert lines[0] == "*"
    assert not any(line.startswith("!.") for line in lines)


def test_docker_takes_the_compose_file():
    has_compose = (
        shutil.which("docker")
        and not subprocess.run(
            ["docker", "compose", "version"], capture_output=True, check=False
        ).returncode
    )
    if not has_compose:
        pytest.skip("docker compose is not installed")
    command = ["docker", "compose", "-f", DEPLOY / "compose.yaml", "config", "--quiet"]
    command[4:4] = ["--no-env-resolution"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


def test_the_proxy_alone_publishes_a_port_and_reaches_the_web_server():
    assert [name for name, one in SERVICES.items() if "ports" in one] == ["proxy"]
    assert "network_mode" not in str(COMPOSE)
    inner = {name for name, one in COMPOSE["networks"].items() if one.get("internal")}
    assert [name for name in SERVICES if set(SERVICES[name]["networks"]) - inner] == ["proxy"]
    beside = {name for name in SERVICES if "doorway" in SERVICES[name]["networks"]}
    assert beside == {"proxy", "web"}


def test_the_web_server_is_the_one_that_refuses_pages_of_other_sites():
    web = SERVICES["web"]

    assert web["entrypoint"] == ["python", "-m", "deid_assets.quickstart.web"]
    given = options_of(
        [one.replace("${DEID_HOST:-localhost}", "notes.example") for one in web["command"]]
    )
    assert (given.host, given.port, given.host_name) == ("0.0.0.0", 3000, ["notes.example"])
    (line,) = re.findall("^ExecStart=(.*)", UNITS[1].read_text(), re.MULTILINE)
    program, *arguments = shlex.split(line)
    assert (program, arguments[:2]) == (
        "/opt/deid/bin/python",
        ["-m", "deid_assets.quickstart.web"],
    )
    assert options_of(arguments[2:]).host == "127.0.0.1"


def test_what_holds_notes_gains_no_rights_writes_no_core_file_and_reads_its_secrets():
    for name in OURS:
        one = SERVICES[name]
        assert one["cap_drop"] == ["ALL"]
        assert one["read_only"]
        assert one["ulimits"]["core"] == 0
        assert one["env_file"] == ["${DEID_FOLDER:-/srv/deid}/.env"]
    text = (DEPLOY / "compose.yaml").read_text()
    assert not re.search(r"PASSWORD:|DEID_KEY", text)


def test_services_networks_volumes_and_secrets_that_are_named_are_declared():
    for one in SERVICES.values():
        assert set(one.get("depends_on", ())) <= SERVICES.keys()
        assert set(one["networks"]) <= COMPOSE["networks"].keys()
        assert set(one.get("secrets", ())) <= COMPOSE["secrets"].keys()
        assert {config["source"] for config in one.get("configs", ())} <= COMPOSE["configs"].keys()
        named = [volume.split(":")[0] for volume in one.get("volumes", ())]
        assert {name for name in named if name.isidentifier()} <= COMPOSE["volumes"].keys()
    inner = yaml.safe_load(COMPOSE["configs"]["workspace"]["content"])
    assert inner["load_from"][0]["grpc_server"]["host"] in SERVICES


def test_the_proxy_asks_for_a_login_and_replaces_what_a_request_says_of_itself():
    text = (DEPLOY / "Caddyfile").read_text()

    assert text.count("{") == text.count("}")
    assert "basic_auth" in text
    for header in ("Host", "X-Remote-User", "X-Deid-Proxy"):
        assert re.search(rf"^\s*header_up {header} \S+$", text, re.MULTILINE)
    kept_back = {"/report_asset_*", "/download_debug/*", "/logs/*", "/notebook/*"}
    assert kept_back <= set(re.search(r"@kept_back path (.*)", text).group(1).split())
    assert re.search(r"@by_address \{\s+path /graphql\*\s+query query=\*\s+\}", text)
    own = r"not header Origin https://\{\$DEID_HOST:localhost\}"
    assert re.search(rf"@another_site \{{\s+header Origin \*\s+{own}\s+\}}", text)
    for refused in ("kept_back", "by_address", "another_site"):
        assert f"respond @{refused} 403" in text


@pytest.mark.skipif(not shutil.which("caddy"), reason="caddy is not installed")
def test_caddy_takes_the_file():
    command = ["caddy", "adapt", "--adapter", "caddyfile", "--config", DEPLOY / "Caddyfile"]
    subprocess.run(command, check=True, capture_output=True)


def test_the_values_of_helm_keep_no_text_and_open_nothing():
    assert HELM["telemetry"]["enabled"] is False
    assert HELM["ingress"]["enabled"] is False
    assert HELM["computeLogManager"]["type"] == "NoOpComputeLogManager"
    assert HELM["dagsterWebserver"]["service"]["type"] == "ClusterIP"
    assert HELM["dagsterDaemon"]["runRetries"]["enabled"] is False
    assert HELM["generatePostgresqlPasswordSecret"] is False
    (deployment,) = HELM["dagster-user-deployments"]["deployments"]
    assert import_module(deployment["dagsterApiGrpcArgs"][1].partition(".")[0])
    assert deployment["podSecurityContext"] == {"runAsUser": 10001, "runAsNonRoot": True}
    for config in (
        HELM["runLauncher"]["config"],
        HELM["dagsterDaemon"]["runCoordinator"]["config"],
    ):
        (one,) = config.values()
        assert hasattr(import_module(one["module"]), one["class"])


@pytest.mark.skipif(not shutil.which("helm"), reason="helm is not installed")
def test_helm_reads_the_values(tmp_path):
    subprocess.run(["helm", "create", "chart"], cwd=tmp_path, check=True, capture_output=True)
    values = DEPLOY / "helm" / "values.yaml"
    subprocess.run(["helm", "lint", "chart", "-f", values], cwd=tmp_path, check=True)
