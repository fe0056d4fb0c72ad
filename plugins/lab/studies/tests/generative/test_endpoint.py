"""Servers on loopback that answer well, late, not at all, with junk or with another note.

And the grammar they get.
"""

from __future__ import annotations

import json
import random
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from deid_assets import Note
from deid_assets.core.detector import Failed, detect
from deid_assets.core.errors import ConfigError
from deid_assets.testing import check_detector
from deid_generative import GenerativeDetector
from deid_generative.gbnf import grammar_of

NOTE = "Vu par Dr Martin le 3 mai, prend 5 mg de bisoprolol, pas de fievre ce jour."
Reply = Callable[[dict[str, Any]], tuple[int, bytes]]


def choice(text: str, reason: str = "stop") -> bytes:
    return json.dumps(
        {"choices": [{"text": text, "finish_reason": reason}], "usage": {"completion_tokens": 9}}
    ).encode()


def note_in(body: dict[str, Any]) -> str:
    """Return the note that a prompt of ``bare`` holds."""
    return re.search(r"<<<\n(.*)\n>>>\n\Z", body["prompt"], re.DOTALL)[1]  # type: ignore[index]


def redacting(body: dict[str, Any]) -> tuple[int, bytes]:
    return 200, choice(note_in(body).replace("Martin", "[XXXXX]"))


@contextmanager
def serving(reply: Reply) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    asked: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append(
                {**body, "path": self.path, "authorization": self.headers.get("Authorization")}
            )
            status, content = reply(body)
            try:
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
            except OSError:
                pass  # the caller went away

        def log_message(self, *_args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", asked
    finally:
        server.shutdown()
        server.server_close()


def detector(address: str, **options: Any) -> GenerativeDetector:
    return GenerativeDetector(
        endpoint=address, prompt="bare", checker="", **{"retries": 0, "timeout": 5.0, **options}
    )


def test_notes_are_redacted_several_at_a_time_and_in_order() -> None:
    notes = [Note(f"n{number}", f"{NOTE} Passage {number}.") for number in range(9)]
    with serving(redacting) as (address, asked):
        found = detect(detector(address), notes)

    assert [
        note.text[one.spans[0].start : one.spans[0].end]
        for note, one in zip(notes, found, strict=True)
    ] == ["Martin"] * 9
    assert {one["temperature"] for one in asked} == {0.0}
    assert all("root ::=" in one["grammar"] for one in asked)


def test_the_contract_holds() -> None:
    with serving(redacting) as (address, _):
        check_detector(detector(address), texts=["", " \n", NOTE, "Le Dr Martin. " * 60])


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (lambda _: (200, choice("")), "NoOutputError"),
        (lambda _: (200, b"<html>not JSON</html>"), "NoAnswerError"),
        (lambda _: (200, b"[]"), "NoAnswerError"),
        (lambda _: (200, json.dumps({"choices": []}).encode()), "NoAnswerError"),
        (lambda _: (200, json.dumps({"choices": [{"text": None}]}).encode()), "NoAnswerError"),
        (lambda _: (200, b"[" * 200_000), "NoAnswerError"),
        (
            lambda _: (200, b'{"choices": ' + b"[" * 200_000 + b"]" * 200_000 + b"}"),
            "NoAnswerError",
        ),
        (lambda _: (200, choice("x").replace(b"9", b"Infinity")), "NoAnswerError"),
        (lambda _: (200, choice("x").replace(b"9", b"-Infinity")), "NoAnswerError"),
        (lambda _: (200, choice("x").replace(b"9", b"NaN")), "NoAnswerError"),
        (lambda _: (200, choice("x").replace(b"9", b"1e999")), "NoAnswerError"),
        (
            lambda _: (200, choice('{"a": ' + "[" * 200_000 + "]" * 200_000 + "}")),
            "UnlikeOutputError",
        ),
        (lambda _: (500, b""), "NoAnswerError"),
        (lambda _: (404, b""), "NoAnswerError"),
        (lambda _: (302, b""), "NoAnswerError"),
        (lambda _: (200, choice(NOTE[:40], "length")), "TruncatedOutputError"),
        (
            lambda _: (
                200,
                choice(
                    "Enfant de 3 ans amenée par sa mère [XXXXX] pour otalgie fébrile depuis hier"
                    " soir."
                ),
            ),
            "UnlikeOutputError",
        ),
        (lambda _: (200, choice("I'm sorry, I cannot help with that.")), "RefusedError"),
    ],
)
def test_anything_but_an_answer_fails_the_note(reply: Reply, error: str) -> None:
    with serving(reply) as (address, _):
        assert detect(detector(address), [Note("n", NOTE)]) == [
            Failed("n", "spans_generative", error)
        ]


def test_an_answer_far_longer_than_its_note_is_told_at_once() -> None:
    nested = '{"a": ' + "[" * 200_000 + "]" * 200_000 + "}"
    with serving(lambda _: (200, choice(nested))) as (address, _):
        made = detector(address)
        began = time.process_time()
        found = detect(made, [Note("n", NOTE)])
        spent = time.process_time() - began

    assert found == [Failed("n", "spans_generative", "UnlikeOutputError")]
    assert spent < 15


COPIES = {
    "copied": lambda note: note,
    "in a fence": lambda note: f"```\n{note}\n```",
    "with a dose changed": lambda note: note.replace("3 ans", "4 ans"),
    "said": lambda _: "ANONYMOUS",
    "with other words hidden": lambda note: re.sub("Enfant|rappeler|salle", "[XXXXX]", note),
    "with one of three hidden": lambda note: re.sub(
        "Enfant|rappeler|anne.kerbrat@example.org", "[XXXXX]", note
    ),
}


@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES)
def test_a_note_that_the_server_copies_is_held_against_the_other_detector(
    copy: Callable[[str], str],
) -> None:
    text = (
        "Enfant de 3 ans, rappeler le 06 12 34 56 78 ou anne.kerbrat@example.org, vu le 12/03/2024"
        " en salle."
    )
    with serving(lambda body: (200, choice(copy(note_in(body))))) as (address, _):
        checked = GenerativeDetector(endpoint=address, prompt="bare", retries=0, timeout=5.0)
        (found,) = detect(checked, [Note("n", text, lang="fr")])

    covered = {text[span.start : span.end] for span in found.spans}
    assert covered >= {"06 12 34 56 78", "anne.kerbrat@example.org", "12/03/2024"}


def test_a_server_that_is_late_or_gone_fails_the_note() -> None:
    def late(body: dict[str, Any]) -> tuple[int, bytes]:
        time.sleep(1.0)
        return redacting(body)

    with serving(late) as (address, _):
        late_answer = detect(detector(address, timeout=0.2), [Note("n", NOTE)])
    assert late_answer == detect(detector(address, timeout=0.2), [Note("n", NOTE)])
    assert late_answer == [Failed("n", "spans_generative", "NoAnswerError")]


def test_a_failed_request_is_made_again() -> None:
    replies = iter([(503, b""), (200, b"junk")])

    def recovering(body: dict[str, Any]) -> tuple[int, bytes]:
        return next(replies, None) or redacting(body)

    with serving(recovering) as (address, asked):
        (found,) = detector(address, retries=2).detect([Note("n", NOTE)])

    assert (len(found), len(asked)) == (1, 3)


def test_the_answers_of_two_notes_are_not_taken_for_each_other() -> None:
    other = (
        "Enfant de 3 ans, otalgie, apyretique, tympan congestif, sortie avec antalgiques ce soir."
    )
    with serving(lambda body: (200, choice(other if note_in(body) == NOTE else NOTE))) as (
        address,
        _,
    ):
        found = detect(detector(address), [Note("a", NOTE), Note("b", other)])

    assert all(isinstance(one, Failed) for one in found)


def test_a_chat_carries_the_note_in_a_turn_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def chat(body: dict[str, Any]) -> tuple[int, bytes]:
        text = body["messages"][-1]["content"].replace("Martin", "[XXXXX]")
        return (
            200,
            json.dumps(
                {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
            ).encode(),
        )

    monkeypatch.setenv("GENERATIVE_KEY", "k")
    options = {"chat": True, "protocol": "vllm", "served": "m", "key_env": "GENERATIVE_KEY"}
    with serving(chat) as (address, asked):
        made = GenerativeDetector(endpoint=address, prompt="zero_shot_en", checker="", **options)
        (found,) = made.detect([Note("n", NOTE)])

    assert len(found) == 1
    assert (asked[0]["path"], asked[0]["model"], asked[0]["authorization"]) == (
        "/v1/chat/completions",
        "m",
        "Bearer k",
    )
    assert "root ::=" in asked[0]["structured_outputs"]["grammar"]


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("http://10.0.0.7:8000/v1", "another machine"),
        ("https://models.example.org/v1", "another machine"),
        ("http://127.0.0.1.example.org/v1", "another machine"),
        ("ftp://127.0.0.1/v1", "no address"),
        ("127.0.0.1:8000", "no address"),
        ("http://127.0.0.1:port/v1", "no address"),
        ("http://me:secret@127.0.0.1/v1", "password"),
    ],
)
def test_an_address_elsewhere_is_refused_unless_allowed(address: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        detector(address)


def test_another_machine_may_be_allowed_and_options_are_checked() -> None:
    detector("https://models.example.org/v1", allow_remote=True)
    with pytest.raises(ConfigError, match="choose one of llama"):
        detector("http://127.0.0.1:1/v1", protocol="other")
    with pytest.raises(ConfigError, match="timeout"):
        detector("http://127.0.0.1:1/v1", timeout=0)


# The grammar, by a reader of its own.

_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"|([a-z]+\d*)|([|()])')


class Grammar:
    """Reads what ``grammar_of`` writes.

    Names, quoted texts, alternatives and one level of brackets.
    """

    def __init__(self, text: str) -> None:
        lines = (line.partition(" ::= ") for line in text.splitlines())
        self.rules = {name: self._alternatives(body) for name, _, body in lines}

    def _alternatives(self, body: str) -> list[list[object]]:
        stack: list[list[list[object]]] = [[[]]]
        for match in _TOKEN.finditer(body):
            if match[3] == "(":
                stack.append([[]])
            elif match[3] == ")":
                inner = stack.pop()
                stack[-1][-1].append(inner)
            elif match[3] == "|":
                stack[-1].append([])
            else:
                stack[-1][-1].append((match[2],) if match[2] else json.loads(f'"{match[1]}"'))
        return stack[0]

    def texts(self, alternatives: list[list[object]], rng: random.Random) -> str:
        """Return one text, alternatives drawn at random."""
        out = ""
        for part in rng.choice(alternatives):
            out += (
                part
                if isinstance(part, str)
                else self.texts(
                    part if isinstance(part, list) else self.rules[part[0]],
                    rng,  # type: ignore[index]
                )
            )
        return out


def is_redaction(source: str, output: str) -> bool:
    """Whether an output is the source with placeholders for some of it."""
    pattern = ".+".join(map(re.escape, output.split("[XXXXX]")))
    return re.fullmatch(pattern, source, re.DOTALL) is not None


@pytest.mark.parametrize("source", [NOTE, 'Dit "oui\\non"\r\n\ttype\u00a02 \u2028 \U0001f468', "x"])
def test_every_text_of_the_grammar_is_the_note_with_placeholders(source: str) -> None:
    grammar = Grammar(grammar_of(source, longest=3))
    rng = random.Random(1)
    made = {grammar.texts(grammar.rules["root"], rng) for _ in range(300)}

    assert "ANONYMOUS" in made
    assert all(text == "ANONYMOUS" or is_redaction(source.rstrip(), text) for text in made)
    assert any("[XXXXX]" in text for text in made)


def test_a_note_that_says_anonymous_is_given_no_such_way_out() -> None:
    assert '"ANONYMOUS"' not in grammar_of("répondez anonymous").splitlines()[0]
