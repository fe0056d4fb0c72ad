"""How many identifiers a minute a reviewer finds on the page of `deid review`, by a stated model.

A reviewer who knows the annotations presses the keys in headless Chromium, on the page that
`deid review` serves, over annotated composed notes that detectors read. The time is the sum of

- reading: every note is read once whole, at WPM words a minute, with the category that stands on
  each mark as one more word;
- deciding: DECIDE seconds for each mark that gets a key of its own, for each warning, and for each
  key that accepts the rest of a note or confirms it. A mark that is right and is accepted with the
  rest is read, as the words beside it are;
- keys: KEY seconds each;
- waiting: what was measured, from the key to the page that answers it. A key that decides shows the
  next mark at once, and its answer comes while that one is decided: there, what is over DECIDE and
  KEY is counted, elsewhere all of it.

WPM is the mean of silent reading in Brysbaert (2019), J. Mem. Lang. 109; DECIDE and KEY are the
operators M and K (an average typist who is no secretary) of the keystroke-level model of Card,
Moran and Newell (1980), Commun. ACM 23(7). People who tire, doubt or are interrupted are slower.

Two ways of working are measured: a key for each mark, and mending what is wrong in the order of the
text (Tab goes over what is right), then accepting the rest at once.

python benchmarks/bench_review.py --notes 14 --way marks --way rest
"""

from __future__ import annotations

import argparse
import re
import shutil
import socket
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn
from conditions import conditions
from messy import read
from playwright.sync_api import Page, sync_playwright

from deid_assets import Note, Span, SpanSet
from deid_assets.core.detector import detect
from deid_assets.core.keys import Key
from deid_assets.core.resolve import Ensemble, resolve
from deid_assets.extending.reviewing import BatchView
from deid_assets.plugins import load
from deid_review.app import Reviewers, ReviewService
from deid_review.desk import ReviewDesk
from deid_review.ledger import FILE, Ledger
from deid_review.pages import LABELS
from deid_review.queueing import QueueOptions, make_queue
from deid_review.records import QueuedNote
from deid_serve.commands import server_config

WPM = 238.0
DECIDE, KEY = 1.35, 0.28
CORPUS = Path(__file__).parents[1] / "corpora" / "composed" / "dev"
WHO = "a.meier"
SEED = 41
WAYS = {
    "marks": ("a key for each mark", 0),
    "rest": ("the rest at once", 0),
    "blind": ("without suggestions", 1),
}
_SETTLED = "() => !state.busy"


@dataclass
class Tally:
    """What one way of reviewing took.

    Args:
        notes: Confirmed.
        words: Read.
        decisions: Marks and notes decided on.
        keys: Pressed.
        waited: Seconds between keys and answers.
        identifiers: In the confirmed notes.
        right: Of these, those of the annotations, at their very place and category.
        gold: In the annotations.
    """

    notes: int = 0
    words: int = 0
    decisions: int = 0
    keys: int = 0
    waited: float = 0.0
    identifiers: int = 0
    right: int = 0
    gold: int = 0
    actions: Counter[str] = field(default_factory=Counter)

    @property
    def seconds(self) -> float:
        """Time by the model."""
        reading = 60 * self.words / WPM
        return reading + DECIDE * self.decisions + KEY * self.keys + self.waited


class ScriptedReviewer:
    """Presses keys on the page as somebody would who sees every identifier.

    Args:
        page: Of the browser.
        base: Address of the server.
        desk: What the page shows, to look at marks.
        gold: Note ids to annotations.
        is_by_rest: Whether what is right is accepted with the rest of its note.
    """

    def __init__(
        self,
        page: Page,
        base: str,
        desk: ReviewDesk,
        gold: dict[str, SpanSet],
        *,
        is_by_rest: bool = False,
    ) -> None:
        self._is_by_rest = is_by_rest
        self._page = page
        self._base = base
        self._desk = desk
        self._gold = gold
        self.tally = Tally()

    def review(self, note: QueuedNote) -> None:
        """Decide on every mark of a note, add what is missing, and confirm it."""
        self._page.goto(f"{self._base}/note/{note.place}")
        text = self._desk.view.notes[note.note_id].text
        self.tally.notes += 1
        self.tally.words += len(text.split())
        wanted = list(self._gold[note.note_id])
        self.tally.words += len(self._desk.state(note, WHO).marks)
        if self._is_by_rest:
            self._mend(note, wanted)
        for _ in range(3 * len(wanted) + 200):
            mark = self._current()
            if mark is None:
                break
            self._decide(note, mark, wanted)
        self._add_missing(note, wanted)
        self._press("c", decides=True, goes=True)
        self.tally.actions["confirm"] += 1
        found = self._desk.ledger.state(note.note_id, WHO)
        places = {(one.start, one.end, one.label) for one in found.identifiers}
        self.tally.identifiers += len(places)
        self.tally.right += sum((g.start, g.end, g.label.value) in places for g in wanted)
        self.tally.gold += len(wanted)

    def _mend(self, note: QueuedNote, wanted: Sequence[Span]) -> None:
        """Go over the marks in order, decide on those that are wrong, and accept the rest."""
        right = {(one.start, one.end, one.label.value) for one in wanted}
        redacted = {one.mark for one in self._desk.ledger.marks(note.note_id) if one.is_merged}
        marks = self._desk.state(note, WHO).pending
        wrong = [
            one.mark
            for one in marks
            if (one.start, one.end, one.label) not in right or one.mark not in redacted
        ]
        for number in wrong:
            while self._current() != number:
                self._key("Tab")
            self._decide(note, number, wanted)
        if any(one.mark not in wrong for one in marks):
            self._press("r", decides=True)
            self.tally.actions["rest"] += 1

    def _current(self) -> int | None:
        found = self._page.query_selector("mark.current[data-status=pending]")
        return int(found.get_attribute("data-mark") or 0) if found else None

    def _decide(self, note: QueuedNote, number: int, wanted: Sequence[Span]) -> None:
        mark = self._desk.state(note, WHO).marks[number]
        gold = next((g for g in wanted if g.start < mark.end and mark.start < g.end), None)
        if gold is None:
            self._press("x", decides=True)
            if self._page.get_attribute("#note", "data-asks") == "1":
                self._press("x", decides=True)
            self.tally.actions["reject"] += 1
            return
        for key, start, end in (
            ("ArrowRight", mark.start, gold.end),
            ("ArrowLeft", mark.start, gold.end),
            ("Shift+ArrowLeft", gold.start, gold.end),
            ("Shift+ArrowRight", gold.start, gold.end),
        ):
            self._move(note, number, key, (start, end))
        if mark.label == gold.label.value:
            self._press("Enter", decides=True)
            self.tally.actions["accept"] += 1
        else:
            self._label(gold.label.value)
            self.tally.actions["relabel"] += 1

    def _move(self, note: QueuedNote, number: int, key: str, to: tuple[int, int]) -> None:
        for _ in range(12):
            mark = self._desk.state(note, WHO).marks[number]
            is_short = {
                "ArrowRight": mark.end < to[1],
                "ArrowLeft": mark.end > to[1],
                "Shift+ArrowLeft": mark.start > to[0],
                "Shift+ArrowRight": mark.start < to[0],
            }[key]
            if not is_short:
                return
            self._press(key)
            self.tally.actions["move"] += 1
            after = self._desk.state(note, WHO).marks[number]
            if (after.start, after.end) == (mark.start, mark.end):
                return

    def _add_missing(self, note: QueuedNote, wanted: Sequence[Span]) -> None:
        for gold in wanted:
            state = self._desk.state(note, WHO)
            if any(one.start < gold.end and gold.start < one.end for one in state.identifiers):
                continue
            self._choose_word(gold)
            self._label(gold.label.value)
            self.tally.actions["add"] += 1

    def _choose_word(self, gold: Span) -> None:
        """Go to the first word of an annotation by its letters, and on by arrows."""
        self._key("m")
        words = self._page.eval_on_selector_all(
            ".w",
            "all => all.map(w => [Number(w.dataset.start), Number(w.dataset.end), w.textContent])",
        )
        first = next((at for at, one in enumerate(words) if one[0] >= gold.start), None)
        last = max((at for at, one in enumerate(words) if one[1] <= gold.end), default=None)
        if first is None or last is None:
            raise SystemExit("an annotation lies under another mark")
        for key in _way(words, self._cursor(words), first):
            self._key(key)
        if self._cursor(words) != first:
            raise SystemExit("the page went to another word than it says")
        for _ in range(last - first):
            self._key("Shift+ArrowRight")

    def _cursor(self, words: Sequence[Any]) -> int:
        start = int(self._page.get_attribute(".w.cursor", "data-start") or 0)
        return next(at for at, one in enumerate(words) if one[0] == start)

    def _label(self, label: str) -> None:
        at = LABELS.index(label)
        while self._page.query_selector(f".label[data-label={label}]:not([hidden])") is None:
            self._key("0")
        self._press(str(at % 9 + 1), decides=True)

    def _key(self, name: str) -> None:
        self._page.keyboard.press(name)
        self.tally.keys += 1

    def _press(self, name: str, *, decides: bool = False, goes: bool = False) -> None:
        began = time.perf_counter()
        if goes:
            with self._page.expect_navigation(wait_until="domcontentloaded"):
                self._key(name)
        else:
            self._key(name)
            self._page.wait_for_function(_SETTLED, polling=5)
        spent = time.perf_counter() - began
        self.tally.waited += max(0.0, spent - DECIDE - KEY) if decides and not goes else spent
        self.tally.decisions += decides


def _way(words: Sequence[Any], at: int, to: int) -> list[str]:
    """Return the keys that lead from a word to another: the fewest of letters, Tab and arrows."""
    arrows = ["ArrowRight" if at < to else "ArrowLeft"] * abs(at - to)
    text = words[to][2].lower()
    round_ = [(at + 1 + one) % len(words) for one in range(len(words))]
    ways = [arrows]
    if re.match(r"\d", text):
        numbers = [one for one in round_ if re.match(r"\d", words[one][2])]
        ways.append(["Tab"] * (numbers.index(to) + 1))
    typed = re.match(r"[a-z]*", text)
    for count in range(1, len(typed.group() if typed else "") + 1):
        alike = [one for one in round_ if words[one][2].lower().startswith(text[:count])]
        ways.append([*text[:count], *["Tab"] * alike.index(to)])
    return min(ways, key=len)


@contextmanager
def serve_desk(desk: ReviewDesk) -> Iterator[tuple[str, Reviewers]]:
    """Serve a desk on loopback."""
    listening = socket.socket(proto=socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    reviewers = Reviewers.of([WHO], frozenset({f"127.0.0.1:{port}"}), port)
    server = uvicorn.Server(server_config(ReviewService(desk, reviewers).app()))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{port}", reviewers
    finally:
        server.should_exit = True
        thread.join(10)
        listening.close()


def view_of(notes: Sequence[Note]) -> BatchView:
    """Return a batch that `compact` read for redaction, and `rules` beside it."""
    said = {}
    for name in ("compact", "rules"):
        found = detect(load(name), notes)
        said[name] = {one.note_id: one for one in found if isinstance(one, SpanSet)}
    merged = {}
    for note in notes:
        spans = said["compact"][note.note_id]
        joined = resolve(note, [spans], ensemble=Ensemble.of_equals(spans))
        merged[note.note_id] = SpanSet(note.note_id, note.digest, joined.spans)
    by_id = {note.note_id: note for note in notes}
    return BatchView("b-bench", by_id, merged, said, ("compact",), "")


def measure_review(
    view: BatchView, gold: dict[str, SpanSet], *, blind: float, is_by_rest: bool = False
) -> Tally:
    """Return what reviewing every note of a batch takes."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder) / FILE)
        key = Key(b"a key of the benchmark")
        make_queue(view, ledger, key, QueueOptions(len(view.notes), blind=blind, double=0))
        desk = ReviewDesk(view, ledger, key)
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        with serve_desk(desk) as (base, reviewers), sync_playwright() as running:
            browser = running.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto(f"{base}/login?code={reviewers.link(WHO)}")
            reviewer = ScriptedReviewer(page, base, desk, gold, is_by_rest=is_by_rest)
            for note in desk.queue():
                reviewer.review(note)
            browser.close()
        ledger.close()
    return reviewer.tally


def show(name: str, tally: Tally) -> None:
    """Print what one way of reviewing took."""
    minutes = tally.seconds / 60
    print(
        f"| {name} | {tally.notes} | {tally.identifiers} | {tally.right}/{tally.gold} |"
        f" {tally.keys / max(1, tally.identifiers):.1f} |"
        f" {60 * tally.words / WPM:.0f} | {DECIDE * tally.decisions:.0f} | {KEY * tally.keys:.0f} |"
        f" {tally.waited:.0f} | {minutes:.1f} | **{tally.identifiers / minutes:.1f}** |"
    )
    print(f"  {dict(tally.actions)}")


def compose_notes(lang: str, count: int) -> list[tuple[Note, list[Span]]]:
    """Return composed notes with their annotations."""
    found = [one for one in read(sorted(CORPUS.rglob("*.jsonl"))) if one[0].lang == lang]
    return found[:count]


def make_notes(lang: str, count: int) -> list[tuple[Note, list[Span]]]:
    """Return synthetic notes with their annotations, of a kind that `compact` learnt from."""
    from deid_synthesis import make_corpus  # noqa: PLC0415 - loads its lists

    return [(note, list(spans)) for note, spans in make_corpus(lang=lang, notes=count, seed=SEED)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--notes", type=int, default=6)
    parser.add_argument("--lang", default="en")
    parser.add_argument("--made", action="store_true", help="synthetic notes, as compact learnt of")
    parser.add_argument("--way", choices=list(WAYS), action="append", help="one or more; all")
    given = parser.parse_args()
    entries = (
        make_notes(given.lang, given.notes)
        if given.made
        else compose_notes(given.lang, given.notes)
    )
    gold = {note.note_id: SpanSet.of(note, spans) for note, spans in entries}
    view = view_of([note for note, _ in entries])
    print(conditions())
    print(
        "| | notes | identifiers | exactly right | keys each | reading s | deciding s | keys s |"
        " waiting s | minutes | identifiers a minute |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for way in given.way or WAYS:
        name, blind = WAYS[way]
        show(name, measure_review(view, gold, blind=blind, is_by_rest=way == "rest"))


if __name__ == "__main__":
    main()
