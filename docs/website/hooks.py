"""Makes the site of the documentation from files that lie elsewhere, and from code.

MkDocs calls it. READMEs of plugins, results of benchmarks and other pages of the checkout are taken
in at their paths; links between all of them lead to the page of the site. A link to a file that is
no page, such as a program, becomes its path, or an address where ``repo_url`` is set.
"""

from __future__ import annotations

import os
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Link, Navigation

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = Path(os.environ.get("DEID_REFERENCE") or ROOT / "build" / "reference")
"""What ``reference.py`` wrote."""
OUTSIDE = (
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "benchmarks/*.md",
    "corpora/*.md",
    "deid_assets/languages/README.md",
    "deploy/README.md",
    "plugins/*/README.md",
    "plugins/*/docs/*.md",
    "plugins/lab/*/README.md",
    "plugins/lab/*/docs/*.md",
)
RENAMED = {
    "README.md": "readme.md",
    "docs/README.md": "all-pages.md",
    "docs/website/start.md": "index.md",
}
"""Pages of the checkout that stand elsewhere in the site."""
PYTHON = {
    "deid_assets": ("The package", "What `import deid_assets` offers."),
    "deid_assets.testing": ("Tests of plugins", "What a plugin's own tests are made of."),
    "deid_assets.component": ("The Dagster component", "The pipeline in a project of yours."),
}
_BLOCK = re.compile(r"(^ *(`{3,}|~{3,}).*?^ *\2 *$)", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(?P<image>!?)\[(?P<text>(?:[^\[\]]|\[[^\[\]]*\])*)\]\((?P<target>[^()\s]+)\)")
_TITLE = re.compile(r"^# +(.+)$", re.MULTILINE)


def on_config(config: Any) -> Any:
    """Fill the parts of the navigation that follow from the tree."""
    for section in config.nav:
        ((name, pages),) = section.items()
        if name == "Plugins":
            section[name] = [*map(_plugin, sorted(ROOT.glob("plugins/*/README.md")))]
        elif name == "Results":
            section[name] = [_path(one) for one in sorted(ROOT.glob("benchmarks/*.md"))]
        elif name == "Reference":
            pages[0] = {"Commands": _commands()}
            pages[2] = {"Python": [f"reference/python/{one}.md" for one in ("index", *_modules())]}
    return config


def on_files(files: Files, config: Any) -> Files:
    """Take in the pages that lie elsewhere, the pictures they show, and the reference."""
    paths = [path for pattern in OUTSIDE for path in sorted(ROOT.glob(pattern))]
    for path in [*paths, *(ROOT / one for one in RENAMED)]:
        target = RENAMED.get(_path(path), _path(path))
        files.append(File.generated(config, target, abs_src_path=str(path)))
        for picture in _pictures(path):
            if picture.is_file() and not files.get_file_from_path(_site_path(_path(picture))):
                files.append(
                    File.generated(config, _site_path(_path(picture)), abs_src_path=str(picture))
                )
    for path in sorted(REFERENCE.rglob("*.md")):
        target = path.relative_to(REFERENCE).as_posix()
        files.append(File.generated(config, target, abs_src_path=str(path)))
    for target, content in _python_pages().items():
        files.append(File.generated(config, target, content=content))
    return files


def on_nav(nav: Navigation, *, config: Any, files: Files) -> Navigation:
    """Let questions lead to the pages that answer them under titles of their own."""
    (section,) = (one for one in nav.items if one.title == "Questions")
    pages = {one.title: one for one in section.children}
    children = [section.children[0]]
    for question, path in config.extra["questions"].items():
        one = pages.get(question) or Link(question, files.get_file_from_path(path).url)
        one.parent = section
        children.append(one)
    section.children[:] = children
    return nav


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Files) -> str:
    """Return a page whose links lead to pages of the site."""
    source = _checkout_path(page.file.src_uri)
    if source is None:
        return markdown
    parts = _BLOCK.split(markdown)
    # of a match: text before, the block, its fence
    for index in range(0, len(parts), 3):
        parts[index] = _LINK.sub(
            lambda match: _link(match, source, page.file.src_uri, config, files), parts[index]
        )
    del parts[2::3]
    return "".join(parts)


def _link(match: re.Match[str], source: str, here: str, config: Any, files: Files) -> str:
    target, _, anchor = match["target"].partition("#")
    if not target or re.match(r"[a-z]+:", target):
        return match[0]
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
    for one in (path, f"{path}/README.md"):
        if files.get_file_from_path(_site_path(one)):
            relative = posixpath.relpath(_site_path(one), posixpath.dirname(here) or ".")
            place = f"{relative}#{anchor}" if anchor else relative
            return f"{match['image']}[{match['text']}]({place})"
    if match["image"] or not (ROOT / path).exists():
        return match[0]  # which is told as a broken link
    if config.repo_url:
        return f"[{match['text']}]({config.repo_url.rstrip('/')}/blob/HEAD/{path})"
    named = path in match["text"] or posixpath.basename(path) in match["text"]
    return match["text"] if named else f"{match['text']} (`{path}`)"


def _path(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _site_path(path: str) -> str:
    """Return where a file of the checkout stands in the site."""
    return RENAMED.get(path, path.removeprefix("docs/"))


def _checkout_path(src: str) -> str | None:
    """Return where a page of the site lies in the checkout; nothing for one that was made."""
    back = {there: here for here, there in RENAMED.items()}
    if src in back:
        return back[src]
    return next((one for one in (f"docs/{src}", src) if (ROOT / one).is_file()), None)


def _pictures(page: Path) -> list[Path]:
    found = re.findall(r"!\[[^\]]*\]\(([^()\s]+)\)", page.read_text("utf-8"))
    return [Path(os.path.normpath(page.parent / one)) for one in found if ":" not in one]


def _plugin(readme: Path) -> dict[str, Any]:
    """Return the part of the navigation on a distribution, with the pages on its detectors."""
    folder = readme.parent
    if folder.name == "lab":
        below = [*sorted(folder.glob("*/README.md")), *sorted(folder.glob("*/docs/*.md"))]
        return {"Laboratory": [_path(readme), *map(_path, below)]}
    more = sorted(folder.glob("docs/*.md"))
    name = folder.name.replace("_", " ").capitalize()
    return {name: [_path(readme), *map(_path, more)] if more else _path(readme)}


def _commands() -> list[str]:
    index = REFERENCE / "reference" / "commands" / "index.md"
    named = dict.fromkeys(re.findall(r"\]\(([\w-]+\.md)#", index.read_text("utf-8")))
    return [f"reference/commands/{one}" for one in ("index.md", *named)]


def _modules() -> list[str]:
    """Return the modules that plugins and programs may import."""
    folder = ROOT / "deid_assets" / "extending"
    names = sorted(path.stem for path in folder.glob("*.py") if path.stem != "__init__")
    return [*PYTHON, "deid_assets.extending", *(f"deid_assets.extending.{one}" for one in names)]


def _python_pages() -> dict[str, str]:
    """Return a page for each module, which mkdocstrings fills from its source, and their list."""
    listed = [f"| [`{one}`]({one}.md) | {_summary(one)} |" for one in _modules()]
    head = (
        "# Python\n\nThe modules that programs and plugins may import: an import contract keeps"
        " plugins to these.\n\n| Module | Holds |\n|---|---|\n"
    )
    pages = {
        f"reference/python/{one}.md": f"---\ntitle: {one.removeprefix('deid_assets.')}\n---\n"
        f"# `{one}`\n\n::: {one}\n"
        for one in _modules()
    }
    return {"reference/python/index.md": head + "\n".join(listed) + "\n", **pages}


def _summary(module: str) -> str:
    if module in PYTHON:
        return PYTHON[module][1]
    path = ROOT / module.replace(".", "/")
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    match = re.match(r'"""(.+?)(?:\n\n|""")', file.read_text("utf-8"), re.DOTALL)
    return " ".join(match[1].split()).replace("``", "`").replace("|", "\\|") if match else ""
