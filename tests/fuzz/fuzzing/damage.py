"""Damage of bytes: cut, put in, doubled, exchanged, cut off.

With words of the format, so that its grammar is reached.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

ANY = (
    b"",
    b"<",
    b">",
    b"&",
    b"&#0;",
    b'"',
    b"'",
    b"\0",
    b"\xff",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\r",
    b"\n",
    b"\r\n",
    b"\t",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b"[" * 40,
    b"9" * 20,
    b"-1",
    b"NaN",
    b"null",
    b"\xe2\x80\xa8",
    b"\xf0\x9f\x98\x80",
    b"\x1a",
    b"\x85",
)
"""Put into files of every format."""
OF_FORMAT = {
    "jsonl": (
        b'"id":',
        b'"text":',
        b'"spans":[',
        b'{"start":-1}',
        b'"\\ud800"',
        b"1e999",
        b"true",
        b'"label":"NAME"',
        b"},{",
    ),
    "csv": (b",", b'""', b'",', b"text", b"spans", b'"[{""start"": 0}]"', b",,,", b"=1+1", b'\n"'),
    "txt": (b"\x0c", b"\xc3", b"\xa0"),
    "brat": (
        b"T1\tNAME 0 3\t",
        b" 3;5 9",
        b"#1\tAnnotatorNotes T1\t",
        b"A1\tNegation T1",
        b"R1\t",
        b"T",
        b" -1 ",
        b"0 999999",
    ),
    "i2b2": (
        b"<TAGS>",
        b"<TEXT>",
        b"<![CDATA[",
        b"]]>",
        b'start="-1"',
        b'end="',
        b"<!DOCTYPE a [<!ENTITY b 'c'>]>",
        b"&b;",
        b"<?x?>",
    ),
    "conll": (
        b"\tB-NAME",
        b"\tI-",
        b"\tO",
        b"# newdoc id = ",
        b"# text_json = ",
        b"# global.columns = ",
        b"\n\n",
        b"B-\n",
        b"S-E",
    ),
    "cda": (
        b"<section>",
        b"<text>",
        b"<table><tr><td>",
        b"<br/>",
        b"xmlns=",
        b'nullFlavor="UNK"',
        b"<![CDATA[",
        b"]]>",
        b"&lt;",
        b"<!DOCTYPE a [<!ENTITY b 'c'>]>",
        b"&b;",
        b"<nonXMLBody>",
        b'mediaType="text/rtf" representation="B64"',
    ),
    "fhir": (
        b'"resourceType":"',
        b'"Bundle"',
        b'"DocumentReference"',
        b'"Patient"',
        b'"contentType":"text/rtf"',
        b'"data":"',
        b"====",
        b'"text/html"',
        b"charset=utf-16",
        b'"div":"<div>',
        b'"entry":[',
        b'"reference":"',
        b"urn:uuid:",
    ),
    "hl7": (
        b"MSH|^~\\&|",
        b"PID|",
        b"OBX|1|TX|",
        b"|ED|",
        b"^Base64^",
        b"\\X",
        b"\\X0D\\",
        b"\\E\\",
        b"\\.br\\",
        b"~",
        b"^",
        b"|",
        b"\x0b",
        b"\x1c\r",
        b"UNICODE UTF-8",
        b"8859/1",
        b"BTS|",
        b"FHS|^~\\&",
    ),
    "rtf": (
        b"{\\*\\",
        b"\\u-1?",
        b"\\u55357?",
        b"\\bin9 ",
        b"\\bin99999999 ",
        b"\\'",
        b"\\'zz",
        b"\\par",
        b"\\uc9 ",
        b"\\ansicpg",
        b"\\f1 ",
        b"\\fcharset134 ",
        b"{\\field{\\*\\fldinst ",
        b"\\v ",
        b"\\deleted ",
        b"{\\object",
        b"\\cell\\row",
        b"\\~",
        b"\\mac",
    ),
    "eml": (
        b"Content-Type: ",
        b"multipart/mixed",
        b"; boundary=",
        b"--b6390647538889196706==\n",
        b"Content-Transfer-Encoding: base64\n",
        b"charset=utf-7",
        b"charset=nothing",
        b"=?utf-8?b?",
        b"=?utf-8?q?=ff?=",
        b"=C3",
        b"message/rfc822",
        b"text/html",
        b"<p>",
        b"filename*=utf-8''%ff",
        b"application/ms-tnef",
        b"\n\n",
        b"From ",
        b"Subject: ",
    ),
}
"""Words of each text format."""


def damaged(originals: Sequence[bytes], rng: Random, words: Sequence[bytes] = ANY) -> bytes:
    """Return one of the originals with one to four pieces of it damaged."""
    content = rng.choice(originals)
    for _ in range(rng.randint(1, 4)):
        start = rng.randint(0, len(content))
        end = min(len(content), start + rng.choice((0, 0, 1, 4, 60)))
        how = rng.random()
        if how < 0.65:
            piece = rng.choice(words)
        elif how < 0.8:
            piece = content[start:end] * rng.choice((2, 2, 3, 50))
        elif how < 0.95:
            other = rng.choice(originals)
            at = rng.randint(0, len(other))
            piece = other[at : at + rng.choice((1, 8, 200))]
        else:
            piece, end = b"", len(content)
        content = content[:start] + piece + content[end:]
    return content


def damaged_text(name: str, originals: Sequence[bytes], rng: Random) -> bytes:
    """Return a damaged file of a text format."""
    return damaged(originals, rng, (*ANY, *OF_FORMAT[name]))
