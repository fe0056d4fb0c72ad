"""What decides a detector's answer to a note, beside the note: code, options, other packages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from deid_assets.plugins import Plugin, versions_behind
from deid_assets.runtime.snapshot import Snapshot
from deid_assets.runtime.taggers import name_asked

_ADDRESS = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.-]*://")
_DISTRIBUTION = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")


def versions_of(snapshot: Snapshot, name: str) -> list[str]:
    """Return the versions of a detector's code, of its options with the files that they name, of
    this package, and of the packages that the detector requires or its options name, such as a
    model that is installed.
    """
    plugins = [snapshot.detectors[name], *_run_by(snapshot, name)]
    named = _names_in(snapshot.settings.detectors.get(name, {}))
    distributions = sorted({plugin.distribution for plugin in plugins}.union(named))
    return [
        *(plugin.code_version for plugin in plugins),
        snapshot.digest_of_detector(name),
        snapshot.software,
        versions_behind(tuple(distributions)),
    ]


def reads_text_alone(snapshot: Snapshot, name: str) -> bool:
    """Whether a detector, and those that it runs, look at text and language of a note alone."""
    plugins = [snapshot.detectors[name], *_run_by(snapshot, name)]
    return all(plugin.reads_text_alone for plugin in plugins)


def depends_on_batch(snapshot: Snapshot, name: str) -> bool:
    """Whether what a detector finds in a note may follow from other notes too."""
    plugins = [snapshot.detectors[name], *_run_by(snapshot, name)]
    return any(plugin.depends_on_batch for plugin in plugins)


def can_reuse(snapshot: Snapshot, name: str) -> bool:
    """Whether a stored answer of a detector stands for asking it again, while the question is the
    same: not where other notes count too, nor where something answers whose version cannot be told.

    An option with an address counts as such, whatever the plugin says.
    """
    if depends_on_batch(snapshot, name):
        return False
    asked = {one.name: one for one in _run_by(snapshot, name)} | {name: snapshot.detectors[name]}
    return not any(_answers_vary(snapshot, one, plugin) for one, plugin in asked.items())


def _answers_vary(snapshot: Snapshot, name: str, plugin: Plugin) -> bool:
    recipe = snapshot.recipes.get(name)
    trained = recipe.settings if recipe else {}
    options = {**trained, **snapshot.settings.detectors.get(name, {})}
    return plugin.answers_vary(options) or any(map(_ADDRESS.match, _texts_in(options)))


def _names_in(options: object) -> Iterator[str]:
    """Yield what may be the name of a distribution in options; what is none has no version."""
    return filter(_DISTRIBUTION.fullmatch, _texts_in(options))


def _texts_in(options: object) -> Iterator[str]:
    """Yield all texts in options."""
    if isinstance(options, str):
        yield options
    elif isinstance(options, Mapping):
        for value in options.values():
            yield from _texts_in(value)
    elif isinstance(options, Sequence):
        for value in options:
            yield from _texts_in(value)


def _run_by(snapshot: Snapshot, name: str) -> list[Plugin]:
    """Return the detectors that another runs, and those that they run."""
    recipe = snapshot.recipes.get(name)
    left = [*snapshot.detectors[name].uses, *([name_asked(recipe)] if recipe else [])]
    found: dict[str, Plugin] = {}
    while left:
        used = snapshot.installed.get(left.pop())
        if used is not None and used.name not in found:
            found[used.name] = used
            left += used.uses
    return [found[name] for name in sorted(found)]
