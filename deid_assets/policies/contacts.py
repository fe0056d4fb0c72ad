"""Surrogates for addresses on the net, all within the names and ranges set aside for examples."""

from __future__ import annotations

from deid_assets.core.redact import Context
from deid_assets.policies.drawing import Draw, fold
from deid_assets.policies.vocabulary import vocabulary

_DOMAINS = ("example.com", "example.net", "example.org")  # RFC 2606
_NETWORKS = ("192.0.2", "198.51.100", "203.0.113")  # RFC 5737


def email(text: str, context: Context, attempt: int = 0) -> str:
    draw = Draw(context, "email", text.casefold(), attempt=attempt)
    words = vocabulary(context.note.lang)
    first, last = fold(draw.pick(words.female + words.male)), fold(draw.pick(words.last))
    return f"{first}.{last}@{draw.pick(_DOMAINS)}"


def url(text: str, context: Context, attempt: int = 0) -> str:
    draw = Draw(context, "url", text.casefold(), attempt=attempt)
    scheme, separator, rest = text.rpartition("://")
    host = "www." if rest.lower().startswith("www.") else ""
    start = f"{scheme.lower()}://" if separator and scheme.lower() in ("http", "https", "ftp") else ""
    return f"{start}{host}{draw.pick(_DOMAINS)}/{draw.below(16**6):06x}"


def ip(text: str, context: Context, attempt: int = 0) -> str:
    draw = Draw(context, "ip", text.casefold(), attempt=attempt)
    if ":" in text:
        return f"2001:db8::{draw.below(65_535) + 1:x}"  # RFC 3849
    return f"{draw.pick(_NETWORKS)}.{draw.below(254) + 1}"
