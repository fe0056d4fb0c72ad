"""Actions that plugins bring.

Read with the policy, part of its digest, and one line where they cannot be used.
"""

from __future__ import annotations

import sys

import pytest

from deid_assets import plugins
from deid_assets.core.errors import ConfigError
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import redact
from deid_assets.core.span import DisjointSpans, Span
from deid_assets.policies import check_key, load_policy, needs_key
from deid_assets.policies.needs import originals_of
from deid_assets.policies.wording import in_words

SOURCE = '''
from dataclasses import dataclass, field
from typing import ClassVar

from deid_assets import Phi
from deid_assets.extending import ConfigError


@dataclass(frozen=True)
class Stars:
    """As many stars as the option says."""

    count: int
    where: str = field(metadata={"digest": False})
    plugin: str = ""
    serves: ClassVar = (Phi.NAME,)
    in_words: ClassVar = "stars"
    packages: ClassVar = ("pydantic",)
    avoids_originals: ClassVar = False

    @classmethod
    def from_options(cls, options, *, folder, plugin):
        if options.keys() - {"count"}:
            raise ConfigError("stars takes count alone")
        return cls(options.get("count", 3), str(folder), plugin)

    def __call__(self, text, span, context):
        return "*" * self.count


class Bare:
    """No class of replacers."""
'''
POLICY = 'name = "mine"\n[actions]\n{} = {}\n'


@pytest.fixture
def policy_of(tmp_path, monkeypatch):
    package, info = (
        tmp_path / "site" / "deid_xstars",
        tmp_path / "site" / "deid_xstars-1.0.dist-info",
    )
    package.mkdir(parents=True)
    info.mkdir()
    (package / "__init__.py").write_text(SOURCE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: deid_xstars\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        f"[{plugins.ACTIONS}]\nxstars = deid_xstars:Stars\nxbare = deid_xstars:Bare\nxgone ="
        " deid_xgone:Gone\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path / "site"))

    def load(action, label="NAME", folder="a"):
        path = tmp_path / folder / "mine.toml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(
            POLICY.format(label, action)
            if label != "default"
            else f'name = "mine"\ndefault = {action}\n'
        )
        return load_policy(path)

    yield load
    sys.modules.pop("deid_xstars", None)


def test_an_action_of_a_plugin_replaces(policy_of):
    policy = policy_of('{ action = "xstars", count = 5 }')
    note = Note("n", "Seen by Lee.")

    text = redact(
        note, DisjointSpans.of(note, [Span(8, 11, Phi.NAME)]), policy, key=Key(bytes(32))
    ).text

    assert text == "Seen by *****."
    assert in_words(policy)[0] == {"NAME": "stars"}
    assert not needs_key(policy)
    assert originals_of(policy, check_key(policy, None), []) == ()


def test_its_options_and_its_code_are_in_the_digest_where_it_lies_is_not(policy_of, tmp_path):
    plain = policy_of('"xstars"').digest

    assert policy_of('{ action = "xstars" }', folder="b").digest == plain
    assert policy_of('{ action = "xstars", count = 4 }').digest != plain

    sys.modules.pop("deid_xstars")
    (tmp_path / "site" / "deid_xstars" / "__init__.py").write_text(SOURCE + "\n")
    assert policy_of('"xstars"').digest != plain


@pytest.mark.parametrize(
    ("action", "label", "message"),
    [
        ('{ action = "xstars", size = 5 }', "NAME", "actions.NAME: stars takes count alone"),
        ('"xstars"', "DATE", "xstars serves NAME only"),
        ('"xstars"', "default", "xstars serves NAME only and cannot be the default"),
        ('"xbare"', "NAME", "what its plugin names is no class of replacers"),
        ('"xgone"', "NAME", "module deid_xgone is not installed"),
        ('"xstar"', "NAME", "there is no action 'xstar'; did you mean 'xstars'"),
        ("{ count = 5 }", "NAME", "actions.NAME.action: Field required"),
        ("{ action = 5 }", "NAME", "actions.NAME.action: Input should be a valid string"),
        (
            '{ action = "tag", count = 5 }',
            "NAME",
            "actions.NAME.count: Extra inputs are not permitted",
        ),
    ],
)
def test_a_wrong_one_is_one_line(policy_of, action, label, message):
    with pytest.raises(ConfigError, match=r"mine\.toml") as error:
        policy_of(action, label)

    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_the_action_that_the_documentation_names_says_what_brings_it(tmp_path, monkeypatch):
    known = plugins.available
    monkeypatch.setattr(
        "deid_assets.policies.installed.available",
        lambda group: {} if group == plugins.ACTIONS else known(group),
    )
    path = tmp_path / "mine.toml"
    path.write_text(POLICY.format("NAME", '{ action = "surrogate_mlm", model = "m" }'))

    with pytest.raises(
        ConfigError,
        match=(
            r"action 'surrogate_mlm': its plugin zero_shot is not installed; run `make add"
            r" PLUGIN=zero_shot`"
        ),
    ):
        load_policy(path)
