"""Where the authors of published embeddings offer their files.

It also says how a recipe comes to use them.
"""

from __future__ import annotations

import re

_SOURCES = (
    (
        r"glove\.6B\.\d+d\.txt",
        "glove.6B.zip at nlp.stanford.edu/projects/glove",
        "unzip glove.6B.zip {file}",
    ),
    (
        r"cc\.[a-z]{2,3}\.300\.bin",
        "{file}.gz at fasttext.cc/docs/en/crawl-vectors.html",
        "gunzip {file}.gz",
    ),
    (
        r"[a-z]+\.wiki\.bpe\.vs\d+\.model",
        "{file} at bpemb.h-its.org, under the language",
        "",
    ),
    (
        r"[a-z]+\.wiki\.bpe\.vs\d+\.d\d+\.w2v\.bin",
        "{file}.tar.gz at bpemb.h-its.org, under the language",
        "tar --strip-components=1 -xzf {file}.tar.gz",
    ),
)


def remedy(file: str) -> str:
    """Return where a missing file comes from and what to run.

    Where the file's name is of no known release, it is an empty string.

    Args:
        file: As a recipe names it; its folders are left aside.
    """
    name = file.rpartition("/")[2]
    for pattern, source, command in _SOURCES:
        if re.fullmatch(pattern, name):
            unpack = f", unpack it with `{command.format(file=name)}`" if command else ""
            return (
                f"fetch {source.format(file=name)}{unpack}, put {name} at {file} in the folder that"
                " deid train is called in, and give the same command again"
            )
    return ""
