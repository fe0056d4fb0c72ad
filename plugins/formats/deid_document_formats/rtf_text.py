"""The text of an RTF document: destinations, code pages and characters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from deid_assets.extending.formats import RecordError
from deid_document_formats.revisions import Change, Runs, list_hidden_lines, versions
from deid_document_formats.rtf_tokens import RtfToken, tokens
from deid_document_formats.rtf_words import (
    BREAK_SYMBOLS,
    BREAKS,
    CHARS,
    CODE_PAGES,
    HIDDEN,
    ORDER,
    PROGRAM_PAGES,
    PROPERTIES,
    SECTIONS,
    SYMBOL_BASE,
    SYMBOL_SET,
    SYMBOLS,
    TRANSPARENT,
    WITHOUT_TEXT,
    page_of,
)

_MAX_DEPTH = 2000
_MAX_TOKENS = 20_000_000
"""Most tokens of one document: about half a minute; a page of text has about 1,000."""


@dataclass(slots=True)
class _State:
    r"""State that a group inherits and restores at its end.

    Args:
        section: Where text goes; empty where it is not text.
        destination: Control word that opened it.
        code_page: Of bytes.
        skips: Characters that stand for each ``\u`` in older programs.
        change: Whether text is tracked as inserted or deleted.
    """

    section: str = "body"
    destination: str = ""
    code_page: str = "cp1252"
    skips: int = 1
    change: Change = "none"
    is_optional: bool = False
    is_symbol: bool = False


@dataclass(slots=True)
class _Section:
    """Text of one header, body, note or property on its way."""

    runs: Runs = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def end_line(self) -> None:
        self.lines += versions(self.runs)
        self.runs = []


class RtfText:
    """One document as it is read.

    Args:
        blob: The file.

    Raises:
        RecordError: It is no RTF, ends in a group, or has bytes that are not in its code page.
    """

    def __init__(self, blob: bytes) -> None:
        self.pictures = 0
        self.objects = 0
        self._found: dict[str, list[str]] = {}
        self._stack: list[tuple[_State, _Section]] = []
        self._state = _State()
        self._section = _Section()
        self._bytes = bytearray()
        self._skip = 0
        self._default_page = "cp1252"
        self._fonts: dict[int, str | None] = {}
        self._font = 0
        self._default_font = 0
        self._is_done = False
        if not blob.lstrip().startswith(b"{\\rtf"):
            raise RecordError("malformed", "is no RTF; export it again")
        self._run(blob.lstrip())

    def text(self, *, with_properties: bool) -> tuple[str, list[str]]:
        """Return the text that is shown, sections in order, and the hidden lines.

        Raises:
            RecordError: A character was written as half of two.
        """
        lines = [
            line
            for name in ORDER
            for line in self._found.get(name, ())
            if name == "body" or line.strip()
        ]
        shown = "\n".join(lines)
        properties = self._found.get("properties", ()) if with_properties else ()
        hidden = list_hidden_lines([*self._found.get("hidden", ()), *properties], shown)
        return _whole(shown), [_whole(line) for line in hidden]

    def _run(self, blob: bytes) -> None:
        handlers: dict[str, Callable[[RtfToken], None]] = {
            "open": self._open,
            "close": self._close,
            "word": self._word,
            "symbol": self._symbol,
            "text": self._bytes_of,
        }
        for number, token in enumerate(tokens(blob)):
            if number > _MAX_TOKENS:
                raise RecordError(
                    "too-large", f"has more than {_MAX_TOKENS} control words; convert it by hand"
                )
            if token.kind == "bad":
                raise RecordError(
                    "malformed", "ends in a control word or in binary content; export it again"
                )
            if self._is_done and not (
                token.kind == "text" and not token.content.strip(b" \t\0\x1a")
            ):
                raise RecordError("malformed", "has content behind its end; export it again")
            if token.kind != "text":  # the second byte of two may be a letter
                self._flush()
            if not self._is_done:
                handlers[token.kind](token)
        if not self._is_done:
            raise RecordError(
                "malformed", "ends in a group, so it may be cut short; export it again"
            )

    def _open(self, _: RtfToken) -> None:
        if len(self._stack) >= _MAX_DEPTH:
            raise RecordError("malformed", f"nests more than {_MAX_DEPTH} groups; export it again")
        self._skip = 0
        self._stack.append((self._state, self._section))
        self._state = replace(self._state, is_optional=False, destination="")

    def _close(self, _: RtfToken) -> None:
        self._skip = 0
        if not self._stack:
            raise RecordError("malformed", "closes a group that it did not open; export it again")
        state, section = self._stack.pop()
        if section is not self._section:
            self._end_section()
        self._state, self._section = state, section
        if state.destination == "docvar":
            self._put(" ")  # between its name and its value
        if not self._stack:
            self._end_section()
            self._is_done = True

    def _end_section(self) -> None:
        if self._section.runs or not self._section.lines or self._state.section == "body":
            self._section.end_line()
        name = self._state.section
        lines = self._section.lines
        if name == "shape":
            name, lines = "hidden", [line for line in lines if any(map(str.isalpha, line))]
        if name == "properties":
            value = "".join(lines)
            lines = [f"{self._state.destination}: {value}"] if value.strip() else []
        self._found.setdefault(name, []).extend(lines)

    def _enter(self, destination: str, section: str) -> None:
        if self._section is not self._stack[-1][1]:
            self._end_section()  # a second destination in one group
        self._state.destination = destination
        self._state.section = section
        self._section = _Section()

    def _word(self, token: RtfToken) -> None:
        name, number = token.name, token.number
        if self._skip and name != "u":
            self._skip -= 1
            return
        is_optional, self._state.is_optional = self._state.is_optional, False
        if name == "u":
            self._put(chr((number or 0) % 0x10000))
            self._skip = self._state.skips
        elif name in CHARS:
            self._put(CHARS[name])
        elif name in BREAKS:
            self._break(is_row=name.endswith("row"))
        elif not self._is_destination(name, is_optional=is_optional):
            self._set(name, number)

    def _is_destination(self, name: str, *, is_optional: bool) -> bool:
        if name in ("pict", "object"):
            self.pictures += name == "pict"
            self.objects += name == "object"
            if name == "pict":
                self._enter(name, "")
        elif name in SECTIONS:
            self._enter(name, SECTIONS[name])
        elif name in WITHOUT_TEXT:
            self._enter(name, "")
        elif name == "sv":
            self._enter(name, "shape")
        elif name in PROPERTIES and self._state.section != "":
            self._enter(name, "properties")
        elif name in HIDDEN or (
            is_optional and name not in TRANSPARENT and self._state.section != ""
        ):
            self._enter(name, "hidden")
        else:
            return False
        return True

    def _set(self, name: str, number: int | None) -> None:
        is_on = number != 0
        if name == "ansicpg":
            self._default_page = self._state.code_page = page_of(number or 0)
        elif name in PROGRAM_PAGES:
            self._default_page = self._state.code_page = PROGRAM_PAGES[name]
        elif name == "uc":
            self._state.skips = max(number or 0, 0)
        elif name == "deleted":
            self._state.change = "deleted" if is_on else "none"
        elif name == "revised" and self._state.change != "deleted":
            self._state.change = "inserted" if is_on else "none"
        elif name == "deff":
            self._default_font = number or 0
        elif name in ("plain", "f"):
            self._use_font(self._default_font if name == "plain" else number or 0)
            self._state.change = "none" if name == "plain" else self._state.change
        elif name == "fcharset" and number is not None:
            self._fonts[self._font] = (
                None if number == SYMBOL_SET else CODE_PAGES.get(number, self._default_page)
            )
        elif name == "cpg" and number is not None:
            self._fonts[self._font] = page_of(number)

    def _use_font(self, number: int) -> None:
        self._font = number
        page = self._fonts.get(number, self._default_page)
        self._state.is_symbol = page is None
        self._state.code_page = page or self._default_page

    def _symbol(self, token: RtfToken) -> None:
        if self._skip:
            self._skip -= 1
        elif token.name == "*":
            self._state.is_optional = True
        elif token.name in BREAK_SYMBOLS:
            self._break(is_row=False)
        elif token.name in "\\{}":
            self._put(token.name)
        elif token.name in SYMBOLS:
            self._put(SYMBOLS[token.name])

    def _bytes_of(self, token: RtfToken) -> None:
        content = token.content
        if not self._state.section:
            return
        if self._skip:
            dropped = min(self._skip, len(content))
            self._skip -= dropped
            content = content[dropped:]
        self._bytes += content

    def _flush(self) -> None:
        if not self._bytes:
            return
        content, self._bytes = bytes(self._bytes), bytearray()
        if self._state.is_symbol:
            # letters stay letters: a font that is wrongly called one hides no name
            self._put(
                "".join(chr(byte) if byte < 0x80 else chr(SYMBOL_BASE + byte) for byte in content)
            )
            return
        try:
            self._put(content.decode(self._state.code_page))
        except UnicodeDecodeError:
            reason = f"has bytes that are not {self._state.code_page}; export it again"
            raise RecordError("undecodable", reason) from None

    def _put(self, text: str) -> None:
        if self._state.section:
            self._section.runs.append((text, self._state.change))

    def _break(self, *, is_row: bool) -> None:
        if not self._state.section:
            return
        if is_row and self._section.runs and self._section.runs[-1][0] == "\t":
            self._section.runs.pop()  # cells are joined by tabs, not ended
        self._section.end_line()


def _whole(text: str) -> str:
    """Return the text with characters that were written as two made one."""
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise RecordError("undecodable", "has half of a character; export it again") from None
