"""Control words of RTF (Microsoft, version 1.9.1) by what they mean for the text."""

from __future__ import annotations

from deid_assets.extending.formats import RecordError

CHARS = {
    "tab": "\t",
    "line": "\n",
    "softline": "\n",
    "lbr": "\n",
    "emdash": "\u2014",
    "endash": "\u2013",
    "lquote": "\u2018",
    "rquote": "\u2019",
    "ldblquote": "\u201c",
    "rdblquote": "\u201d",
    "bullet": "\u2022",
    "emspace": "\u2003",
    "enspace": "\u2002",
    "qmspace": "\u2005",
    "zwj": "\u200d",
    "zwnj": "\u200c",
    "ltrmark": "\u200e",
    "rtlmark": "\u200f",
    "cell": "\t",
    "nestcell": "\t",
}
BREAKS = frozenset({"par", "sect", "page", "column", "row", "nestrow"})
SYMBOLS = {"~": "\u00a0", "_": "\u2011", "\t": "\t"}
BREAK_SYMBOLS = frozenset({"\n", "\r"})
SECTIONS = {
    **dict.fromkeys(("header", "headerl", "headerr", "headerf"), "headers"),
    **dict.fromkeys(("footer", "footerl", "footerr", "footerf"), "footers"),
    "footnote": "footnotes",
    "annotation": "comments",
    "shptxt": "boxes",
    "dptxbxtext": "boxes",
}
ORDER = ("headers", "body", "footers", "footnotes", "comments", "boxes")
PROPERTIES = frozenset(
    {
        "title",
        "subject",
        "keywords",
        "comment",
        "doccomm",
        "company",
        "category",
        "hlinkbase",
        "propname",
        "staticval",
        "linkval",
    }
)
HIDDEN = frozenset(
    {"fldinst", "docvar", "datafield", "pntxta", "pntxtb", "fname", "formfield", "template"}
)
WITHOUT_TEXT = frozenset(
    {
        "author",
        "operator",
        "manager",
        "atnauthor",
        "atnid",
        "revtbl",
        "fonttbl",
        "colortbl",
        "stylesheet",
        "listtable",
        "listoverridetable",
        "rsidtbl",
        "generator",
        "themedata",
        "colorschememapping",
        "datastore",
        "latentstyles",
        "xmlnstbl",
        "mmathPr",
        "pgptbl",
        "filetbl",
        "panose",
        "falt",
        "fontemb",
        "blipuid",
        "blipdata",
        "objdata",
        "objclass",
        "pnseclvl",
        "creatim",
        "atndate",
        "atnicn",
        "atntime",
        "atnparent",
        "sn",
        "revtim",
        "printim",
        "buptim",
        "bkmkstart",
        "bkmkend",
        "atrfstart",
        "atrfend",
        "atnref",
        "levelnumbers",
        "leveltext",
        "listname",
        "liststylename",
        "wgrffmtfilter",
        "passwordhash",
        "nonesttables",
        "ftnsep",
        "ftnsepc",
        "aftnsep",
        "aftnsepc",
        "xmlattrname",
        "xmlname",
        "password",
    }
)
CODE_PAGES = {
    0: "cp1252",
    77: "mac_roman",
    128: "cp932",
    129: "cp949",
    134: "gbk",
    136: "big5",
    161: "cp1253",
    162: "cp1254",
    163: "cp1258",
    177: "cp1255",
    178: "cp1256",
    186: "cp1257",
    204: "cp1251",
    222: "cp874",
    238: "cp1250",
    254: "cp437",
    255: "cp850",
}
"""Encoding of a font, by its character set (RTF 1.9.1, font table)."""
SYMBOL_SET = 2
SYMBOL_BASE = 0xF000
PROGRAM_PAGES = {"ansi": "cp1252", "mac": "mac_roman", "pc": "cp437", "pca": "cp850"}
_PAGES = {65001: "utf-8", 10000: "mac_roman", 936: "gbk", 950: "big5", 0: "cp1252", 1200: "cp1252"}
TRANSPARENT = frozenset(
    [
        "shpinst",
        "shppict",
        "nonshppict",
        "picprop",
        "background",
        "do",
        "ud",
        "upr",
        "pn",
        "xmlopen",
        "htmlrtf",
        "cs",
        "nesttableprops",
    ]
)
"""Groups that older programs pass over and whose text is not apart."""


def page_of(number: int) -> str:
    """Return the codec of a Windows code page.

    Raises:
        RecordError: Python has none.
    """
    name = _PAGES.get(number, f"cp{number}")
    try:
        b"a".decode(name)
    except LookupError:
        raise RecordError(
            "undecodable", f"has code page {number}, which is not known; export it again"
        ) from None
    return name
