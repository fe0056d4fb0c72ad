"""Content that a page carries in itself.

A script of this package with its digest, data for it, and pictures.
"""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markupsafe import Markup


@cache
def script(template: str, *, package: str = "deid_assets.reports") -> tuple[Markup, str]:
    """Return a script of a package's templates, and the SHA-256 that names it in a page's security
    policy.
    """
    from markupsafe import Markup  # noqa: PLC0415 - loaded with the first page

    source = files(package).joinpath("templates", template).read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
    return Markup(source), digest  # noqa: S704 - a file of this package


def data(value: Any) -> Markup:
    """Return JSON that cannot end the element it stands in."""
    from markupsafe import Markup  # noqa: PLC0415 - loaded with the first page

    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return Markup(text)  # noqa: S704 - no character of markup is left


def picture(png: bytes) -> str:
    """Return a PNG as an address that holds it."""
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"
