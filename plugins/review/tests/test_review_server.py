"""The server: who may come in, what it logs, and what is left of it when it is killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import requests

from deid_review.ledger import FILE, Ledger
from deid_review.queueing import QueueOptions, make_queue

ROOT = Path(__file__).parents[3]
START = "from deid_review.commands import app; app()"


@pytest.fixture
def server(desk, serve):
    with serve(desk) as found:
        yield found


def logged_in(base, reviewers, name):
    browser = requests.Session()
    answer = browser.get(f"{base}/login", params={"code": reviewers.link(name)}, timeout=20)
    assert answer.status_code == 200
    return browser


def press(browser, base, place, **fields):
    return browser.post(f"{base}/note/{place}", json=fields, timeout=20)


def seen(browser, base, place):
    page = browser.get(f"{base}/note/{place}", timeout=20).text
    return int(re.search(r'data-seen="(\d+)"', page)[1])


def test_nobody_comes_in_without_a_link_or_token_and_under_another_name(server):
    base, reviewers, _ = server
    for path in ("/note/1", "/summary", "/next", "/review.js"):
        assert requests.get(base + path, timeout=20).status_code == 401
    assert (
        requests.get(f"{base}/note/1", headers={"Host": "evil.example"}, timeout=20).status_code
        == 421
    )
    browser = logged_in(base, reviewers, "a.meier")
    answer = browser.get(f"{base}/note/1", timeout=20)
    assert answer.status_code == 200
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert '<html lang="en" translate="no">' in answer.text
    assert [one.name.rpartition("_")[0] for one in browser.cookies] == ["deid_review"]
    assert browser.get(f"{base}/note/1?adjudicate=1", timeout=20).status_code == 409
    foreign = {"Origin": "http://evil.example"}
    assert browser.post(f"{base}/note/1", json={}, headers=foreign, timeout=20).status_code == 403
    code = reviewers.link("a.meier")
    assert requests.get(f"{base}/login", params={"code": code}, timeout=20).status_code == 200
    assert requests.get(f"{base}/login", params={"code": code}, timeout=20).status_code == 401
    token = requests.Session()
    form = {"token": reviewers.tokens["b.kim"]}
    assert "b.kim" in token.post(f"{base}/login", data=form, timeout=20).text


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{",
        b'{"action": 1}',
        b'{"action": "accept", "mark": "1"}',
        b'{"x": 1}',
        b"\xff",
    ],
)
def test_a_bad_body_is_a_problem_and_stores_nothing(server, desk, body):
    base, reviewers, _ = server
    browser = logged_in(base, reviewers, "a.meier")
    headers = {"Content-Type": "application/json"}
    answer = browser.post(f"{base}/note/1", data=body, headers=headers, timeout=20)
    assert answer.status_code in {400, 422}
    assert answer.json()["remedy"]
    assert browser.get(f"{base}/note/9999", timeout=20).status_code == 422
    for fields in (
        {"action": "format"},
        {"action": "add", "start": 0, "end": 10**9, "label": "NAME"},
    ):
        assert "main" in press(browser, base, 1, **fields).json()
    assert desk.ledger.all_events() == []


def test_two_reviewers_press_at_once_on_one_note_and_nothing_is_lost(server, desk):
    base, reviewers, told = server
    note = max(desk.queue(), key=lambda one: len(desk.ledger.marks(one.note_id)))
    marks = desk.ledger.marks(note.note_id)

    def work(name):
        browser = logged_in(base, reviewers, name)
        for mark in marks:
            last = seen(browser, base, note.place)
            press(browser, base, note.place, action="accept", mark=mark.mark, seen=last)

    threads = [threading.Thread(target=work, args=(name,)) for name in ("a.meier", "b.kim")]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    for name in ("a.meier", "b.kim"):
        assert len(desk.ledger.events(note.note_id, name)) == len(marks)
    assert "Zed" not in str(told)


@pytest.mark.long
def test_a_killed_server_keeps_every_key_that_was_answered(settings, batch, desk_of, tmp_path):
    desk_of(settings, batch).ledger.close()  # its queue has no blind notes
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "plugins/serve"), str(ROOT / "plugins/review")]),
    }
    command = [sys.executable, "-c", START, "open", batch, "--reviewer", "a.meier", "--port", "0"]
    log = tmp_path / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(command, env=environment, stdout=out, stderr=out)
    try:
        link = _link(log)
        browser = requests.Session()
        page = browser.get(link, timeout=20)
        base, place = link.partition("/login")[0], int(page.url.rpartition("/")[2])
        mark = int(re.search(r'data-mark="(\d+)"', page.text)[1])
        last = seen(browser, base, place)
        answer = press(browser, base, place, action="accept", mark=mark, seen=last)
        assert answer.status_code == 200
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(20)
    ledger = Ledger(settings.store / "restricted" / "review" / batch / FILE)
    assert [event.mark for _, event in ledger.all_events()] == [mark]
    assert ledger.notes()
    ledger.close()
    said = log.read_text()
    assert "Zed" not in said
    assert "GET … 200" in said  # the line of the answer itself may die with the server


def _link(log):
    for _ in range(600):
        found = re.search(r"open (http\S+)", log.read_text())
        if found:
            return found[1]
        time.sleep(0.1)
    raise AssertionError(log.read_text())


def test_a_damaged_file_is_one_line(settings, batch, desk_of):
    path = settings.store / "restricted" / "review" / batch / FILE
    desk_of(settings, batch).ledger.close()
    path.write_bytes(b"no database at all" * 1000)
    for beside in path.parent.glob("*-*"):
        beside.unlink()
    with pytest.raises(Exception, match="damaged"):
        Ledger(path)


def test_a_queue_that_is_made_again_meanwhile_is_seen_by_the_page(server, desk, settings):
    base, reviewers, _ = server
    browser = logged_in(base, reviewers, "a.meier")
    assert len(desk.queue()) < 6
    make_queue(desk.view, desk.ledger, settings.key(), QueueOptions(6, blind=0, double=0))
    assert "of 6" in browser.get(f"{base}/note/1", timeout=20).text
