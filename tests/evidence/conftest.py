"""The page of an evidence file as a program reads it, and what of the notes stands in it."""

import re
from html.parser import HTMLParser

import pytest
from typer.testing import CliRunner

from deid_assets.cli import app


class Page(HTMLParser):
    """Statements with their links, ids, links, and the text of every block of a page."""

    BLOCKS = frozenset({"p", "li", "td", "th", "h1", "h2", "h3", "caption", "dt", "dd", "text"})

    def __init__(self, html):
        super().__init__()
        self.said, self.ids, self.links, self.blocks = [], set(), [], []
        self._open, self._statement, self._skipped = [], "", ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids.add(given.get("id"))
        if tag in {"style", "title"}:
            self._skipped = tag
        if "said" in (given.get("class") or "").split():
            self.said.append([])
            self._statement = tag
        if tag == "a":
            self.links.append(given["href"])
            if self._statement:
                self.said[-1].append(given["href"])
        if tag in self.BLOCKS:
            self._open.append(tag)
            self.blocks.append("")

    def handle_endtag(self, tag):
        if tag == self._skipped:
            self._skipped = ""
        if tag == self._statement:
            self._statement = ""
        if self._open and tag == self._open[-1]:
            self._open.pop()

    def handle_data(self, data):
        if self._open and not self._skipped:
            self.blocks[-1] += data

    @property
    def text(self):
        """The text of all blocks, a line each."""
        return "\n".join(" ".join(block.split()) for block in self.blocks if block.strip())


@pytest.fixture(scope="session")
def read_page():
    """A function that reads a page."""
    return Page


@pytest.fixture(scope="session")
def leaked():
    """A function that returns what of the records of some notes stands in a text."""

    def found(records, text):
        words = {word for one in records for word in _words(one)}
        return sorted(word for word in words if word in text)

    return found


def _words(record):
    yield from (record["id"], record["patient_id"], record["text"].split(",")[0])
    yield from (line for line in re.split(r"[.\n]", record["text"]) if len(line) > 15)


@pytest.fixture(scope="session")
def say():
    """A function that runs a command and returns its exit code and what it says."""

    def run(*arguments):
        result = CliRunner().invoke(app, [str(one) for one in arguments])
        return result.exit_code, result.output

    return run
