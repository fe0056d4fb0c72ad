"""A server that speaks the OpenAI protocol.

Llama.cpp's, vLLM or another, on this machine unless more is allowed.
"""

from __future__ import annotations

import hashlib
import ipaddress
import json
import os
import re
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any
from urllib.parse import urlsplit

import httpx

from deid_assets.extending import ConfigError
from deid_assets.extending.measuring import Range
from deid_generative.gbnf import grammar_of
from deid_generative.prompts import Prompt, load_prompt
from deid_generative.reading import Limits, Status, read_output
from deid_generative.use import Served
from deid_generative.written import WrittenOutput, of_reading

_WORD = re.compile(r"\w+|[^\w\s]")
_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
_MOST_BYTES = 4_000_000
"""An answer that is longer is no note."""


class Endpoint:
    """Writes outputs with a server; what it answers is read as any free output is.

    Requests are greedy, with a fixed seed. No proxy is used and no redirect followed, so that a
    note goes to the named address and nowhere else.

    Args:
        address: With the version, such as ``http://127.0.0.1:8080/v1``.
        how: Everything else.

    Raises:
        ConfigError: The address is none, or on another machine without ``allow_remote``.
    """

    def __init__(self, address: str, how: Served) -> None:
        check_address(address, allow_remote=how.allow_remote)
        self._address, self._how = address.rstrip("/"), how
        self._prompt: Prompt = load_prompt(how.prompt)
        self.room, self.together = how.window, how.together * 4
        described = json.dumps([self._address, asdict(how), self._prompt.told], sort_keys=True)
        self.version = hashlib.sha256(described.encode()).hexdigest()[:12]

    def units(self, text: str) -> Sequence[Range]:
        """Return the words of a text as ranges."""
        return [match.span() for match in _WORD.finditer(text)]

    def write(self, texts: Sequence[str]) -> list[WrittenOutput]:
        """Return what becomes of each text, several requests at a time, in order."""
        key = os.environ.get(self._how.key_env, "") if self._how.key_env else ""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        with (
            httpx.Client(
                timeout=self._how.timeout, trust_env=False, follow_redirects=False, headers=headers
            ) as client,
            ThreadPoolExecutor(min(self._how.together, max(1, len(texts)))) as pool,
        ):
            return list(pool.map(lambda text: self._one(client, text), texts))

    def _one(self, client: httpx.Client, text: str) -> WrittenOutput:
        if not text.strip():
            return WrittenOutput(Status.REWRITTEN)
        for attempt in range(self._how.retries + 1):
            if attempt:
                time.sleep(min(2.0, 0.1 * 2**attempt))
            answer, may_retry = self._ask(client, text)
            if answer is not None:
                output, finished, tokens = answer
                reading = read_output(text, output, finished=finished, limits=Limits())
                return of_reading(reading, tokens=tokens, output=output)
            if not may_retry:
                break
        return WrittenOutput(Status.NO_ANSWER)

    def _ask(self, client: httpx.Client, text: str) -> tuple[tuple[str, bool, int] | None, bool]:
        """Return the output, whether it was finished and its tokens.

        Or none, and whether to ask again.
        """
        path, body = self._request(text)
        try:
            response = client.post(f"{self._address}/{path}", json=body)
        except httpx.HTTPError:
            return None, True
        if response.status_code != httpx.codes.OK:
            return None, response.status_code in _AGAIN
        if len(response.content) > _MOST_BYTES:
            return None, False
        try:
            return _answer(response.json()), True
        except (
            ValueError,
            KeyError,
            TypeError,
            IndexError,
            AttributeError,
            RecursionError,
            OverflowError,
        ):
            return None, True

    def _request(self, text: str) -> tuple[str, Mapping[str, Any]]:
        how = self._how
        body: dict[str, Any] = {
            "temperature": 0.0,
            "seed": 0,
            "max_tokens": len(text) + 64,
            "stream": False,
        }
        if how.served:
            body["model"] = how.served
        if how.constrained and how.protocol == "llama.cpp":
            body["grammar"] = grammar_of(text)
        elif how.constrained and how.protocol == "vllm":
            body["structured_outputs"] = {"grammar": grammar_of(text)}
        if how.chat:
            return "chat/completions", {**body, "messages": self._prompt.chat_messages(text)}
        before, after = self._prompt.plain()
        return "completions", {**body, "prompt": f"{before}{text}{after}"}


def _answer(found: Mapping[str, Any]) -> tuple[str, bool, int]:
    choice = found["choices"][0]
    output = choice["message"]["content"] if "message" in choice else choice["text"]
    if not isinstance(output, str):
        raise TypeError
    tokens = (found.get("usage") or {}).get("completion_tokens") or 0
    return output, choice.get("finish_reason") in {"stop", "eos"}, int(tokens)


def check_address(address: str, *, allow_remote: bool) -> None:
    """Refuse an address that is none, or that is on another machine where that was not allowed.

    Raises:
        ConfigError: It is refused.
    """
    parts = urlsplit(address)
    try:
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        host = ""
    if parts.scheme not in {"http", "https"} or not host:
        raise ConfigError("endpoint is no address such as http://127.0.0.1:8080/v1")
    if parts.username or parts.password:
        raise ConfigError(
            "endpoint holds a password; name an environment variable with key_env instead"
        )
    if not allow_remote and not _is_here(host):
        raise ConfigError(
            "endpoint is on another machine, where notes would be sent; set allow_remote = true to"
            " allow it"
        )


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
