"""The reference of commands and settings, written from the code that has them.

``make docs`` runs it in the environment of the tests, where every plugin is installed.
"""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from deid_assets.cli import app
from deid_assets.cli.tasks import STUDIES, TASKS
from deid_assets.config import Settings

COMMANDS = "reference/commands"
SETTINGS = "reference/settings.md"
_ITEM = re.compile(r"^(\w+): ")


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the pages under a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args(arguments).out
    for path, content in pages().items():
        file = out / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
    return 0


def pages() -> dict[str, str]:
    """Return each page by its path."""
    return {**command_pages(), SETTINGS: settings_page()}


def command_pages() -> dict[str, str]:
    """Return a page on the commands of each task, and their list."""
    group = typer.main.get_command(app)
    tasks: Mapping[str, Mapping[str, str]] = {**TASKS, "The laboratory": STUDIES}
    found = {f"{COMMANDS}/{slug(task)}.md": _task(group, task, tasks[task]) for task in tasks}
    return {f"{COMMANDS}/index.md": _list(tasks), **found}


def slug(text: str) -> str:
    """Return a heading as it stands in addresses."""
    return re.sub(r"[^\w]+", "-", text.lower()).strip("-")


def _list(tasks: Mapping[str, Mapping[str, str]]) -> str:
    lines = [
        "# All commands\n",
        "Every command of `deid` with all plugins installed, from its own help.",
        "[The command line](../../cli.md) shows how they are used together.",
    ]
    for task, commands in tasks.items():
        lines += ["", f"## {task}\n", "| | |", "|---|---|"]
        page = f"{slug(task)}.md"
        lines += [
            f"| [`deid {name}`]({page}#{slug('deid ' + name)}) | {_cell(said)} |"
            for name, said in commands.items()
        ]
    return "\n".join(lines) + "\n"


def _task(group: Any, task: str, commands: Mapping[str, str]) -> str:
    context = typer.Context(group, info_name="deid")
    parts = [f"# {task}\n"]
    for name in commands:
        command = group.get_command(context, name)
        parts += _command(command, typer.Context(command, info_name=name, parent=context), 2)
    return "\n".join(parts) + "\n"


def _command(command: Any, context: Any, depth: int) -> Iterator[str]:
    """Yield the lines on a command, then those on the commands of a group."""
    path = context.command_path
    yield f"\n{'#' * depth} deid {path.removeprefix('deid ')}\n"
    yield _plain(inspect.cleandoc(command.help or "")) + "\n"
    is_group = hasattr(command, "list_commands")
    if not is_group:
        usage = " ".join(command.collect_usage_pieces(context))
        yield f"```\n{path} {re.sub(r'[{}]|[.]{3}(?=[.]{3})', '', usage)}\n```\n"
    yield from _parameters(command, context)
    if is_group:
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            yield from _command(below, typer.Context(below, info_name=name, parent=context), 3)


def _parameters(command: Any, context: Any) -> Iterator[str]:
    records = [one.get_help_record(context) for one in command.params]
    rows = [record for record in records if record and record[0] not in ("--help", "")]
    if rows:
        yield "| | |\n|---|---|"
        yield from (
            f"| {_code(re.sub(r' <.*>$', '', names))} | {_cell(said)} |" for names, said in rows
        )
        yield ""


def settings_page() -> str:
    """Return the page on all settings, one section for each table of ``deid.toml``."""
    lines = [
        "# All settings\n",
        "Every key of `deid.toml`, from the models that read it; an unknown key is an error. The",
        "same file with all defaults is in [A day](../a-day.md#settings). `DEID_CONFIG`",
        "names the file, `DEID_HOME` and `DEID_DATABASE_URL` replace `home` and `database_url`.",
    ]
    lines += _model(Settings, "")
    return "\n".join(lines) + "\n"


def _model(model: type[BaseModel], table: str) -> Iterator[str]:
    """Yield a section on a model's keys, then those on the models within it."""
    summary, described = _docstring(model)
    yield f"\n## {f'[{table}]' if table else 'The file itself'}\n"
    yield f"{summary}\n"
    yield "| Key | Kind | Default | |\n|---|---|---|---|"
    within = []
    for name, field in model.model_fields.items():
        inner = _inner(field.annotation)
        if inner:
            key, wanted = inner
            within.append((f"{table}.{name}{key}".lstrip("."), wanted))
        kind = "table" if inner else _kind(field)
        default = "" if inner else _default(field)
        yield f"| `{name}` | {_cell(kind)} | {default} | {_cell(described.get(name, ''))} |"
    for place, wanted in within:
        yield from _model(wanted, place)


def _docstring(model: type[BaseModel]) -> tuple[str, dict[str, str]]:
    """Return what a model is, and what is said of each of its keys."""
    text = inspect.cleandoc(model.__doc__ or "")
    summary, _, rest = text.partition("Args:\n")
    found: dict[str, str] = {}
    name = ""
    for line in inspect.cleandoc(rest.split("\n\n")[0]).splitlines():
        if match := _ITEM.match(line):
            name = match[1]
            found[name] = line[match.end() :]
        elif name:
            found[name] += f" {line.strip()}"
    return _plain(" ".join(summary.split())), found


def _inner(kind: Any) -> tuple[str, type[BaseModel]] | None:
    """Return the model of a table, and `.NAME` where there is one of it for each name."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return "", kind
    for one in get_args(kind):
        if found := _inner(one):
            is_mapping = isinstance(get_origin(kind), type) and issubclass(
                get_origin(kind), Mapping
            )
            return (".NAME" if is_mapping else "") + found[0], found[1]
    return None


_WORDS: Mapping[Any, str] = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "true or false",
    Path: "path",
    date: "date",
    Any: "",
}


def _kind(field: FieldInfo) -> str:
    limits = [limit for one in field.metadata if (limit := _limit(one))]
    return ", ".join([_said(field.annotation), *limits])


def _said(kind: Any) -> str:
    """Return a type in words."""
    origin, inner = get_origin(kind), [one for one in get_args(kind) if one is not type(None)]
    if origin is Literal:
        return " or ".join(f'"{one}"' for one in inner)
    if origin is tuple:
        return f"list of {_said(inner[0])}"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return f"table of {_said(inner[1])}".removesuffix(" of ")
    if inner:  # annotated, or a union with None
        return _said(inner[0])
    return _WORDS.get(kind, getattr(kind, "__name__", str(kind)))


def _limit(one: Any) -> str:
    signs = (("ge", "≥"), ("gt", ">"), ("le", "≤"), ("lt", "<"))
    found = (f"{sign} {getattr(one, name):,}" for name, sign in signs if hasattr(one, name))
    return ", ".join(found)


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True)
    if value is PydanticUndefined:
        return "needed"
    if value is None or value in ("", (), {}):
        return ""
    if isinstance(value, bool):
        return f"`{value}`".lower()
    if isinstance(value, Mapping):
        return _code("{ " + ", ".join(f"{key} = {one!r}" for key, one in value.items()) + " }")
    shown = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return _code(shown)


def _code(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`"


def _cell(text: str) -> str:
    """Return text as a cell of a table: on one line."""
    return _plain(" ".join(text.split())).replace("|", "\\|")


def _plain(text: str) -> str:
    """Return text of a docstring as Markdown, in which nothing looks like HTML."""
    return re.sub(r"<(?=\w)", "&lt;", text.replace("``", "`"))


if __name__ == "__main__":
    raise SystemExit(main())
