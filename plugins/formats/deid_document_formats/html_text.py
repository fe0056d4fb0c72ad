"""The text of HTML as a reader sees it, and what it hides in attributes."""

from __future__ import annotations

import re
from collections.abc import Mapping

from deid_assets.extending.formats import RecordError
from deid_document_formats.revisions import list_hidden_lines

_BLOCKS = frozenset(
    {
        *(
            "address",
            "article",
            "aside",
            "blockquote",
            "center",
            "dd",
            "details",
            "div",
            "dl",
            "dt",
            "fieldset",
        ),
        *(
            "figcaption",
            "figure",
            "footer",
            "form",
            "h1",
            "h2",
            "h3",
            "h4",
            "h5",
            "h6",
            "header",
            "hr",
            "legend",
            "li",
        ),
        *(
            "main",
            "nav",
            "ol",
            "p",
            "pre",
            "section",
            "summary",
            "table",
            "title",
            "tr",
            "ul",
            "option",
            "textarea",
        ),
    }
)
_CELLS = frozenset({"td", "th"})
_WITHOUT_TEXT = frozenset({"script", "style"})
_PREFORMATTED = frozenset({"pre", "textarea"})
_HIDDEN = ("alt", "title", "placeholder", "value")
_ADDRESSES = ("mailto:", "tel:", "sms:")
_MAX_TAGS = 1_000_000
"""Most tags of one page; that many take about 5 s."""
_BLANKS = re.compile(r"[ \t\n\f\r]+")


class _Page:
    """Takes the events of lxml's parser."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._line: list[str] = []
        self._hidden: list[str] = []
        self._without_text = 0
        self._preformatted = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._without_text += tag in _WITHOUT_TEXT
        self._preformatted += tag in _PREFORMATTED
        if tag == "br":
            self._break()
        elif tag in _BLOCKS:
            self._end_block()
        elif tag in _CELLS and self._line:
            self._line.append("\t")
        self._hidden += [attributes[name] for name in _HIDDEN if name in attributes]
        if attributes.get("href", "").lower().startswith(_ADDRESSES):
            self._hidden.append(attributes["href"])

    def end(self, tag: str) -> None:
        self._without_text -= tag in _WITHOUT_TEXT
        self._preformatted -= tag in _PREFORMATTED
        if tag in _BLOCKS:
            self._end_block()

    def data(self, text: str) -> None:
        if self._without_text:
            return
        if self._preformatted:
            for at, line in enumerate(text.split("\n")):
                if at:
                    self._break()
                self._line.append(line)
            return
        folded = _BLANKS.sub(" ", text)
        is_after_blank = not self._line or self._line[-1][-1:] in (" ", "\t")
        piece = folded.lstrip(" ") if is_after_blank else folded
        if piece:
            self._line.append(piece)

    def comment(self, text: str) -> None:
        """Pass over a comment, which no reader sees."""

    def close(self) -> str:
        self._break()
        shown = "\n".join(self._lines).strip("\n")
        return "\n".join(filter(None, [shown, *list_hidden_lines(self._hidden, shown)]))

    def _end_block(self) -> None:
        if any(map(str.strip, self._line)):
            self._break()
        else:
            self._line = []

    def _break(self) -> None:
        line = "".join(self._line).replace(" \t", "\t")
        self._lines.append(line if self._preformatted else line.rstrip(" "))
        self._line = []


def text_of_html(html: str) -> str:
    """Return the text, a line per block.

    Cells of a row are apart by tabs, and blanks are folded as a browser folds them. What attributes
    hide comes last, one line each: descriptions, titles and values of fields, and the targets of
    links that are an address or a number. Scripts, styles and comments are left out.

    Raises:
        RecordError: It cannot be read, or has too many tags.
    """
    from lxml import etree  # noqa: PLC0415 - loaded when a mail has HTML

    if not html.strip():
        return ""
    if html.count("<") > _MAX_TAGS:
        raise RecordError(
            "too-large", f"has more than {_MAX_TAGS} tags of HTML; save it again as text"
        )
    parser = etree.HTMLParser(target=_Page(), no_network=True, huge_tree=True, encoding="utf-8")
    try:
        return str(etree.fromstring(html.encode(), parser))
    except etree.LxmlError:
        raise RecordError(
            "malformed", "has HTML that cannot be read; save it again as text"
        ) from None
