"""How long a key press of `deid review` takes where a patient has many notes.

Synthetic notes, all of one patient, with their annotations as what two detectors found; half of
the notes are confirmed before, so that the file of the review has thousands of events. A reviewer
then presses keys over HTTP: accept, reject, longer, all occurrences, undo, confirm. Told is the
time from the request to the answer, and how long another page has to wait meanwhile.

python benchmarks/bench_review_keys.py --notes 500
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import socket
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from bench_review import WHO, serve_desk
from conditions import conditions

from deid_assets import Note, SpanSet
from deid_assets.core.keys import Key
from deid_assets.extending.reviewing import BatchView
from deid_review.desk import ReviewDesk
from deid_review.ledger import FILE, Ledger
from deid_review.queueing import QueueOptions, make_queue
from deid_review.records import DecisionEntry
from deid_review.states import ReviewAction
from deid_synthesis import make_corpus

SEED = 41
CHARS = 2_000


def view_of(count: int) -> BatchView:
    """Return a batch of one patient's notes, of which two detectors found what is annotated."""
    made = make_corpus(lang="en", notes=4 * count, seed=SEED)
    long = [(note, spans) for note, spans in made if len(note.text) >= CHARS][:count]
    notes, merged = {}, {}
    found: dict[str, dict[str, SpanSet]] = {"one": {}, "two": {}}
    for number, (made_note, spans) in enumerate(long):
        note = Note(f"n{number}", made_note.text[:CHARS], "p", "en")
        inside = [one for one in spans if one.end <= CHARS]
        notes[note.note_id] = note
        merged[note.note_id] = SpanSet.of(note, inside)
        for at, name in enumerate(found):
            kept = [replace(one, source=name) for one in inside if (one.start + at) % 5]
            found[name][note.note_id] = SpanSet.of(note, kept)
    return BatchView("b-bench", notes, merged, found, ("one",), "")


def confirm_half(desk: ReviewDesk) -> int:
    """Accept all marks of every second note, and return how many events that is."""
    for note in desk.queue()[::2]:
        entries = [
            DecisionEntry(note.note_id, ReviewAction.ACCEPT, one.mark)
            for one in desk.ledger.marks(note.note_id)
        ]
        entries.append(DecisionEntry(note.note_id, ReviewAction.CONFIRM))
        desk.ledger.record(entries, stream=WHO, reviewer=WHO)
    return len(desk.events())


class KeyPresser:
    """Presses keys over one connection.

    Args:
        port: Of the server.
        cookie: Of the reviewer.
    """

    def __init__(self, port: int, cookie: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._connection.connect()  # as browsers do, no packet waits for the one before
        self._connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._headers = {"Cookie": cookie, "Content-Type": "application/json"}
        self.spent: dict[str, list[float]] = defaultdict(list)

    def press(self, place: int, action: str, **more: object) -> None:
        """Press a key, and remember how long the answer took."""
        body = json.dumps({"action": action, **more})
        began = time.perf_counter()
        self._connection.request("POST", f"/note/{place}", body, self._headers)
        answer = self._connection.getresponse()
        answer.read()
        self.spent[action].append(1000 * (time.perf_counter() - began))
        if answer.status != 200:
            raise SystemExit(f"{action}: {answer.status}")

    def get(self, path: str) -> None:
        """Ask for a page, and remember how long it took."""
        began = time.perf_counter()
        self._connection.request("GET", path, headers=self._headers)
        self._connection.getresponse().read()
        self.spent[f"GET {path.rpartition('/')[0] or path}"].append(
            1000 * (time.perf_counter() - began)
        )


def review(desk: ReviewDesk, presser: KeyPresser, keys: int) -> None:
    """Press so many keys on notes that are not confirmed yet."""
    order = random.Random(SEED)
    pressed = 0
    for note in desk.queue()[1::2]:
        presser.get(f"/note/{note.place}")
        for mark in desk.ledger.marks(note.note_id):
            seen = desk.ledger.last(note.note_id, WHO)
            action = order.choices(["accept", "reject", "move", "accept-all"], [80, 8, 8, 4])[0]
            more = {"edge": "end", "by": 1} if action == "move" else {}
            presser.press(note.place, action, mark=mark.mark, seen=seen, sure=True, **more)
            pressed += 1
        presser.press(note.place, "undo", seen=desk.ledger.last(note.note_id, WHO))
        presser.press(note.place, "confirm", seen=desk.ledger.last(note.note_id, WHO))
        if pressed >= keys:
            return


def watch(port: int, stop: threading.Event) -> Iterator[float]:
    """Yield how long the style sheet takes, which needs nothing of a note."""
    while not stop.wait(0.05):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        began = time.perf_counter()
        connection.request("GET", "/style.css")
        connection.getresponse().read()
        connection.close()
        yield 1000 * (time.perf_counter() - began)


def share(values: Sequence[float], part: float) -> float:
    """Return the value below which that part of the values lies."""
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, int(part * len(ranked)))]


def show(name: str, values: Sequence[float]) -> None:
    """Print how long something took."""
    print(
        f"| {name} | {len(values)} | {share(values, 0.5):.0f} | {share(values, 0.95):.0f} |"
        f" {max(values):.0f} |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--notes", type=int, default=500)
    parser.add_argument("--keys", type=int, default=400)
    given = parser.parse_args()
    view = view_of(given.notes)
    print(conditions(str(SEED)))
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder) / FILE)
        key = Key(b"a key of the benchmark")
        make_queue(view, ledger, key, QueueOptions(len(view.notes), blind=0, double=0))
        desk = ReviewDesk(view, ledger, key)
        _ = desk.words
        events = confirm_half(desk)
        marks = sum(len(ledger.marks(one.note_id)) for one in desk.queue())
        print(f"{len(view.notes)} notes of one patient, {marks} marks, {events} events before")
        with serve_desk(desk) as (base, reviewers):
            port = int(base.rpartition(":")[2])
            cookie = f"{reviewers.keeper.cookie}={reviewers.log_in(code=reviewers.link(WHO))}"
            presser, stop, waited = KeyPresser(port, cookie), threading.Event(), list[float]()
            watching = threading.Thread(target=lambda: waited.extend(watch(port, stop)))
            watching.start()
            review(desk, presser, given.keys)
            presser.get("/summary")
            stop.set()
            watching.join()
        print("| | n | p50 ms | p95 ms | most ms |")
        print("|---|--:|--:|--:|--:|")
        keys = [one for name, each in presser.spent.items() if "GET" not in name for one in each]
        show("every key", keys)
        for name, values in sorted(presser.spent.items()):
            show(name, values)
        show("the style sheet meanwhile", waited)
        ledger.close()


if __name__ == "__main__":
    main()
