"""One corpus of 200 notes per language, shared by the tests that look at many notes."""

import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from deid_assets.core.note import Note
from deid_assets.core.span import SpanSet
from deid_synthesis import make_corpus

EXPECTED = {
    path.stem: tomllib.loads(path.read_text(encoding="utf-8"))
    for path in sorted(Path(__file__).parent.glob("expected/*.toml"))
}
"""What notes of each language must hold."""
LANGS = tuple(EXPECTED)


@cache
def corpus_of(lang: str) -> list[tuple[Note, SpanSet]]:
    return list(make_corpus(lang=lang, notes=200, seed=20))


@pytest.fixture
def corpora() -> Callable[[str], list[tuple[Note, SpanSet]]]:
    """Corpora by language, for cases of one language."""
    return corpus_of


@pytest.fixture(params=LANGS)
def lang(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def corpus(lang: str) -> list[tuple[Note, SpanSet]]:
    return corpus_of(lang)


@pytest.fixture
def expected(lang: str) -> dict[str, Any]:
    return EXPECTED[lang]
