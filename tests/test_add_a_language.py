"""The page "add a language", followed to the letter: its files are written, its package built and
installed, its commands run, and the new language is listed, read and replaced.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("deid_rules")
pytest.importorskip("deid_surrogates")
pytest.importorskip("hatchling", reason="the page's package is built without a network")

PAGE = Path(__file__).parents[1] / "docs" / "add-a-language.md"
_FILE = re.compile(r"^`([\w./-]+)`(?: is then:)?\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SHELL = re.compile(r"^```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_DEID = "from deid_assets.cli import app; app()"


MONTHS = (
    "jaanuar veebruar märts aprill mai juuni juuli august september oktoober november detsember"
)


class Follower:
    """Someone who does what the page says, in a folder of their own, without a network.

    Args:
        folder: Where they work.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.site = folder, folder / "site"
        self.env = {key: value for key, value in os.environ.items() if not key.startswith("DEID_")}
        paths = (str(self.site), self.env.get("PYTHONPATH", ""))
        self.env["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        self.written: dict[str, str] = {}

    def write(self, page: str) -> None:
        """Write every file that the page shows, but those that its commands write."""
        for name, text in _FILE.findall(page):
            self.written[name] = text
            if f"`{name}` is then" not in page:
                (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
                (self.folder / name).write_text(text, encoding="utf-8")

    def run(self, line: str) -> str:
        """Run a line of the page's shell; return what it prints."""
        command, *words = line.split()
        if command == "export":
            name, _, value = line.removeprefix("export ").partition("=")
            told = ["bash", "-c", f"printf %s {value}"]
            self.env[name] = subprocess.run(told, capture_output=True, text=True, check=True).stdout
            return ""
        if command == "pip":
            offline = ("--no-index", "--no-deps", "--no-build-isolation", "-q", "--target")
            words = ["-m", "pip", *words, *offline, str(self.site)]
        else:
            assert command == "deid"
            words = ["-c", _DEID, *words]
        done = subprocess.run(
            [sys.executable, *words],
            cwd=self.folder,
            env=self.env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Follower, dict[str, str]]:
    """Someone who followed the page to its end, and what each command printed."""
    page = PAGE.read_text(encoding="utf-8")
    follower = Follower(tmp_path_factory.mktemp("language"))
    follower.write(page)
    lines = [line for block in _SHELL.findall(page) for line in block.splitlines()]
    return follower, {line: follower.run(line) for line in lines}


def test_the_language_is_listed_with_what_it_has(followed: tuple[Follower, dict[str, str]]) -> None:
    follower, printed = followed
    rows = {row["name"]: row for row in json.loads(follower.run("deid languages --json"))}
    assert "Estonian" in printed["deid languages"]
    assert rows["et"] == {
        "name": "et",
        "language": "Estonian",
        "reads": ["et"],
        "has": ["rules", "names", "words", "calendar", "surrogates"],
        "from": "deid-estonian 0.1.0",
    }
    assert "et" not in {row["from"] for row in rows.values()}


def test_a_date_a_name_after_a_cue_and_a_phone_are_found(
    followed: tuple[Follower, dict[str, str]],
) -> None:
    follower, _ = followed
    assert (follower.folder / "tagged/note.txt").read_text() == follower.written["tagged/note.txt"]


def test_surrogates_of_the_language_stand_in_their_place(
    followed: tuple[Follower, dict[str, str]],
) -> None:
    follower, _ = followed
    text = (follower.folder / "replaced/note.txt").read_text()
    form = re.fullmatch(
        r"Patsient (\w+) (\w+), sünd\. (\d+)\. (\w+) (\d{4}), tuleb järgmine kord"
        r" (\d\d\.\d\d\.\d{4})\.\nEma (\w+) (\w+) palus helistada, tel (\d{4} \d{4})\.\n",
        text,
    )
    assert form is not None, text
    first, last, _, month, _, date, mother, her_last, phone = form.groups()
    assert last == her_last != "Kaljurand"
    assert (first, mother) != ("Tiina", "Kadri")
    assert month in MONTHS.split()
    assert date != "14.05.2024"
    assert phone != "5123 4567"
    assert {first, mother, last} <= _names_of_faker()


def _names_of_faker() -> set[str]:
    from faker.providers.person.et_EE import Provider

    lists = (value for value in vars(Provider).values() if isinstance(value, tuple | list))
    return {name for value in lists for name in value}
