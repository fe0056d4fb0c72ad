"""What the documentation shows has to work."""

import re
from pathlib import Path

import pytest

from deid_assets.config import Settings

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "plugins").rglob("*.md")),
]


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def test_the_readme_fits_its_budget():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


def test_python_in_the_readme_prints_what_it_says(capsys):
    (code,) = blocks(ROOT / "README.md", "python")
    pytest.importorskip("deid_rules", reason="the example uses the rules detector")
    expected = [line.removeprefix("# ") for line in code.splitlines() if line.startswith("# ")]

    exec(compile(code, "README.md", "exec"), {})

    assert capsys.readouterr().out.splitlines() == expected


def test_the_settings_page_shows_every_key_with_its_default(tmp_path, monkeypatch):
    for name in ("DEID_CONFIG", "DEID_HOME", "DEID_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    shown = max(blocks(ROOT / "docs" / "a-day.md", "toml"), key=len)
    path = tmp_path / "deid.toml"
    path.write_text(shown)

    loaded = Settings.load(path)

    assert loaded.model_dump(exclude={"detectors"}) == Settings().model_dump(exclude={"detectors"})
    assert all(
        re.search(rf"^\[?{key}\b|\b{key} =", shown, re.MULTILINE)
        for key in Settings.model_fields.keys()
        - {
            "home",
            "database_url",
            "gates",
            "detectors",
            "vault",
        }
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8"))
    missing = [
        target
        for target in targets
        if not target.startswith("http") and not (page.parent / target).exists()
    ]

    assert missing == []


def anchor_of(heading):
    plain = re.sub(
        r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"[`*]", "", heading.lstrip("#").strip())
    )
    return re.sub(r"[^\w\- ]", "", plain.lower()).strip().replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_anchors_lead_to_a_heading(page):
    missing = []
    for target, anchor in re.findall(r"\]\(([^)#\s]*)#([^)]+)\)", page.read_text(encoding="utf-8")):
        there = page.parent / target if target else page
        if target.startswith("http") or there.suffix != ".md":
            continue
        lines = there.read_text(encoding="utf-8").splitlines()
        if anchor not in {anchor_of(line) for line in lines if line.startswith("#")}:
            missing.append(f"{target}#{anchor}")

    assert missing == []
