import datetime as dt
import shutil
from html.parser import HTMLParser

import pytest

from deid_assets.core.note import Note
from deid_assets.core.phi import HARMONISED, Phi
from deid_assets.core.span import Span, SpanSet
from deid_assets.evaluation.score import Evaluation, evaluate
from deid_assets.reports import CheckResult, Component, ProvenanceStep, Quarantined, ReleaseSummary
from deid_assets.testing import parse_marked
from deid_evaluation.report import ProfiledNotes, ReportOptions, System, build_report

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
)


def scored(gold, pred, *, times=1):
    note, gold_spans = parse_marked(gold)
    _, pred_spans = parse_marked(pred)
    one = evaluate(gold_spans, pred_spans, profile=HARMONISED, scope=None, length=len(note))
    return sum([one] * times, Evaluation(HARMONISED.name))


@pytest.fixture
def probe():
    """Markup, an attribute breaker, a table breaker and a formula in one name."""
    return '<script>alert("x")</script><img src=x onerror=alert(1)>&\'|`$^2$'


@pytest.fixture
def good():
    return scored(
        "Dr. <NAME>Lee</NAME>, <DATE>3 May</DATE>",
        "Dr. <NAME>Lee</NAME>, <DATE>3 May</DATE>",
        times=1_500,
    )


@pytest.fixture
def weak():
    return scored(
        "Dr. <NAME>Lee</NAME> of <CITY>Rome</CITY>, <DATE>3 May</DATE>",
        "Dr. <NAME>Lee of</NAME> Rome, <DATE>3</DATE> <ID>May</ID>",
        times=10,
    )


@pytest.fixture
def passing():
    """Arguments of a release that passes, without gold."""
    return {
        "batch": "b-2026-11-20.03",
        "policy": "safe_harbor",
        "created_at": dt.datetime(2026, 11, 5, 22, 4, tzinfo=dt.UTC),
        "received": 1_204,
        "released": 1_198,
        "checks": (
            CheckResult(
                "digests_match",
                passed=True,
                blocking=True,
                counts={"notes": 1_204, "mismatches": 0},
                description="Nothing was altered.",
            ),
            CheckResult("near_duplicates", passed=True, blocking=False, counts={"share": 0.0625}),
        ),
        "actions": {"NAME": "surrogate", "PROFESSION": "keep"},
        "default_action": "tag",
        "redacted": {"NAME": 3_120, "DATE": 12},
        "found": {"rules": {"NAME": 2_810, "DATE": 12}, "crf": {"NAME": 2_990, "URL": 7}},
        "quarantined": (
            Quarantined("landing", "NoteError", 2),
            Quarantined("spans_crf", "TimeoutError", 4),
        ),
        "ensemble": (
            Component("rules", "0.4.1", "a" * 64),
            Component("presidio", "2.2", role="scored, not used"),
        ),
        "chain": (
            ProvenanceStep(
                "raw_notes", "b-2026-11-20.03", "b" * 64, "0.1.0", "2026-11-05T22:00:10Z"
            ),
        ),
        "limits": ("Images are not read.",),
        "code_version": "deid-assets 0.1.0",
    }


@pytest.fixture
def release(passing):
    return ReleaseSummary(**passing)


VOID = {"meta", "br", "path", "circle", "rect"}


class Page(HTMLParser):
    """What a reader sees of a page: its text, tables, tiles and headings."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.open, self.headings, self.strong, self.tables, self.captions = (
            [],
            [],
            [],
            [],
            [],
            0,
        )
        self.tiles, self._pieces, self._term, self._caption = {}, [], "", ""
        self.feed(html)
        self.text = " ".join("".join(self._pieces).split())
        self.tags = {tag for tag, _ in self.elements}

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag == "br":
            self.handle_data(" ")
        if tag not in VOID:
            self.open.append((tag, dict(attrs), []))
        if tag == "table":
            self.tables.append(["", []])
        if tag == "tr":
            self.tables[-1][1].append([])

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        opened, attributes, pieces = self.open.pop()
        assert opened == tag, f"<{opened}> is closed by </{tag}>"
        text = " ".join("".join(pieces).split())
        if tag in {"h1", "h2", "h3"}:
            self.headings.append(text)
        if tag == "strong":
            self.strong.append(text)
        if tag == "caption":
            self.captions += 1
            self.tables[-1][0] = text
        if tag in {"th", "td"}:
            self.tables[-1][1][-1].append((text, attributes.get("scope") in {"col", "colgroup"}))
        if tag == "dt":
            self._term = text
        if tag == "dd" and attributes.get("class") in {"figure", "more"}:
            self.tiles.setdefault(self._term, []).append(text)

    def handle_data(self, data):
        if not any(tag == "style" for tag, _, _ in self.open):
            self._pieces.append(data)
        for _, _, pieces in self.open:
            pieces.append(data)

    def table(self, caption):
        """Rows of the table with that caption, without its header."""
        (rows,) = [rows for title, rows in self.tables if title.startswith(caption)]
        return [[text for text, _ in row] for row in rows if not all(header for _, header in row)]


@pytest.fixture
def page_of():
    return Page


GOLD = (
    "Dr. <NAME>Quillfeather</NAME> of <CITY>Rome</CITY>, <DATE>3 May</DATE>",
    "Seen by <NAME>Zyxwick</NAME>, <DATE>4 May</DATE>",
    "All well",
)
FIRST = (
    "Dr. <NAME>Quillfeather</NAME> of <HOSPITAL>Rome</HOSPITAL>, <DATE>3 May</DATE>",
    "Seen by Zyxwick, <DATE>4 May</DATE>",
    "<DATE>All</DATE> well",
)
SECOND = (
    "Dr. <NAME>Quill</NAME>feather of <CITY>Rome</CITY>, <DATE>3 May</DATE>",
    "Seen <NAME>by Zyxwick</NAME>, <DATE>4 May</DATE>",
    "All well",
)


def corpus(profile=HARMONISED, **options):
    pairs = [
        parse_marked(text, note_id=f"n{at}", lang="ende"[at % 2 * 2 :][:2])
        for at, text in enumerate(GOLD)
    ]
    notes = {
        note.note_id: Note(
            note.note_id,
            note.text,
            patient_id=f"pat-{at}",
            lang=note.lang,
            meta={"site": "AB"[at % 2]},
        )
        for at, (note, _) in enumerate(pairs)
    }
    return ProfiledNotes(
        notes=notes, gold={spans.note_id: spans for _, spans in pairs}, profile=profile, **options
    )


def system(name, texts, *, scores=(0.9, 0.6, 0.8, 0.7)):
    spans = {}
    for at, text in enumerate(texts):
        _, found = parse_marked(text, note_id=f"n{at}", source=name)
        kept = [
            Span(span.start, span.end, span.label, scores[(at + place) % len(scores)], name)
            for place, span in enumerate(found)
        ]
        spans[f"n{at}"] = SpanSet(found.note_id, found.digest, tuple(kept))
    return System(name, spans)


def evaluated(*, scores=None, profile=HARMONISED, **options):
    """Two systems on three notes; or the first alone, with these scores."""
    made = (
        [system("first", FIRST, scores=scores)]
        if scores
        else [system("first", FIRST), system("second", SECOND)]
    )
    return build_report(
        corpus(profile),
        made,
        options=ReportOptions(title="first and second", resamples=200, **options),
    )


@pytest.fixture(scope="session")
def document():
    return evaluated


HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&{{ 7*7 }}\u2028"


def hostile_report():
    notes, gold, found = {}, {}, {}
    for at in range(3):
        note = Note(f"{HOSTILE[:-1]}{at}", f"Lee Ho {at}", lang="xx", meta={"site": HOSTILE})
        notes[note.note_id] = note
        gold[note.note_id] = SpanSet.of(note, [Span(0, 3, Phi.NAME)])
        found[note.note_id] = SpanSet.of(note, [Span(4, 6, Phi.NAME, 0.5 + at / 10, HOSTILE)])
    systems = [System(HOSTILE, found), System(f"{HOSTILE} 2", found)]
    options = ReportOptions(
        title=HOSTILE,
        facts={HOSTILE: HOSTILE},
        inputs=[{"name": HOSTILE, "role": HOSTILE, "sha256": HOSTILE}],
        commands=[HOSTILE],
        curves=[{"name": HOSTILE, "epochs": [{"epoch": 1, "loss": 1.0}]}],
        group_by=["site"],
        with_text=True,
        rewritten={note_id: f"{HOSTILE} {note.text}" for note_id, note in notes.items()},
        resamples=100,
    )
    return build_report(
        ProfiledNotes(notes=notes, gold=gold, profile=HARMONISED), systems, options=options
    )


@pytest.fixture(scope="session")
def hostile():
    """What is hostile in it, and the document."""
    return HOSTILE, hostile_report()


@pytest.fixture(scope="module")
def browser():
    """A headless Chromium that reaches for nothing by itself; skips where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium")
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        yield opened
        opened.close()
