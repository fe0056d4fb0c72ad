"""Text of scanned pages, recognised by an engine that is installed beside: Tesseract or RapidOCR.

It runs in the process that reads the file, within its time and memory.
"""

from __future__ import annotations

import io
import os
import subprocess
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from deid_document_formats.options import OcrEngine

if TYPE_CHECKING:
    from PIL.Image import Image
    from pypdf import PageObject

_MAX_PIXELS = 100_000_000
"""Of one picture: a page of A3 at 600 dots per inch has 70 million."""
_MAX_PICTURES = 50
"""Of one page; scanners cut a page into strips."""


class OcrError(Exception):
    """A page cannot be recognised; the message is the kind of the fault."""


def recognise_page(page: PageObject, engine: OcrEngine, languages: str) -> str:
    """Return the text of a page's pictures, in the order in which the page names them.

    Args:
        page: Without a text layer.
        engine: Which one.
        languages: Of Tesseract, joined by ``+``.

    Raises:
        OcrError: The engine is missing or fails, or a picture is too large or cannot be decoded.
    """
    recognise = _ENGINES[engine]
    texts = [recognise(picture, languages) for picture in _pictures(page)]
    return "\n".join(text.strip() for text in texts if text.strip())


def _pictures(page: PageObject) -> list[Image]:
    """Return the pictures of a page, upright."""
    try:
        return _decode(page)
    except (OcrError, MemoryError):
        raise
    except Exception as error:
        # decoders of pictures raise what they like; their messages may show what is in the file
        raise OcrError("ocr-page") from error


def _decode(page: PageObject) -> list[Image]:
    from PIL import Image  # noqa: PLC0415 - only a scan needs it

    Image.MAX_IMAGE_PIXELS = _MAX_PIXELS // 2  # the library refuses twice as many
    if len(page.images) > _MAX_PICTURES:
        raise OcrError("ocr-page")
    turn = -int(page.rotation) % 360
    pictures = []
    for file in page.images:
        if file.image is None or file.image.width * file.image.height > _MAX_PIXELS:
            raise OcrError("ocr-page")
        pictures.append(file.image.convert("L").rotate(turn, expand=True, fillcolor=255))
    return pictures


def _tesseract(picture: Image, languages: str) -> str:
    blob = io.BytesIO()
    picture.save(blob, "PNG")
    command = ["tesseract", "stdin", "stdout", "-l", languages, "--psm", "3", "--dpi", "300"]
    try:
        ran = subprocess.run(  # noqa: S603 - a fixed program; the languages are checked letters
            command,
            input=blob.getvalue(),
            capture_output=True,
            check=False,
            env={**os.environ, "OMP_THREAD_LIMIT": "1"},
        )
    except FileNotFoundError:
        raise OcrError("ocr-missing") from None
    if ran.returncode != 0:
        raise OcrError("ocr-failed")
    return ran.stdout.decode("utf-8", errors="replace").replace("\f", "\n")


def _rapidocr(picture: Image, languages: str) -> str:
    del languages  # its model is chosen in its own settings
    try:
        import numpy as np  # noqa: PLC0415 - only a scan needs it
        from rapidocr import RapidOCR  # noqa: PLC0415 - may be missing
    except ImportError:
        raise OcrError("ocr-missing") from None
    try:
        found: Any = RapidOCR()(np.asarray(picture.convert("RGB")))
    except Exception as error:
        raise OcrError("ocr-failed") from error
    return "\n".join(found.txts or ())


_ENGINES: Mapping[str, Callable[[Image, str], str]] = {
    "tesseract": _tesseract,
    "rapidocr": _rapidocr,
}
