# ruff: noqa: INP001 - a program, in no package
"""Adds to a language's common words those that its names are too, by a dictionary of word forms.

Usage: python tools/build_ordinary.py pl|pt NOTES.jsonl ...

Polish names are looked up in Morfeusz with SGJP (BSD-2-Clause), in every case that ``endings`` of
``language.toml`` tells; Portuguese ones in simplemma (MIT), but for those of its own lists. A form
that is an ordinary word there is common, unless a given name or a town of the language has it.
Lower-case words of the notes are common with all their forms, those of no dictionary where
``MIN_TEXTS`` notes have them; marked text of annotated notes is left out first. Needs
``pip install morfeusz2 simplemma``.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from build_dictionaries import WORD, write_ordinary

from deid_rules.language import RulesFolder, read_language
from deid_rules.lexicon import MIN_STEM_LETTERS, WordKind

MIN_TEXTS = 2
"""Notes in which a word of no dictionary must stand in lower case outside every mark."""
MAX_FORMS = 40
"""Verbs have hundreds of forms, most of which no note has."""
_PROPER = ("imię", "nazwisko", "nazwa_geograficzna", "nazwa_własna", "nazwa_firmy")
_RARE = frozenset(("daw.", "rzad.", "arch.", "bot.", "zool.", "gw."))

_AFFECTIVE = re.compile(r"(?:inh|it|íssim|érrim|on)[oa]s?$|(?:ões|ão)zinh")
"""Diminutives and superlatives, of which that dictionary has every one."""

Look = Callable[[str], set[str]]


@cache
def _morfeusz() -> Any:
    import morfeusz2  # noqa: PLC0415 - of one language

    return morfeusz2.Morfeusz()


def _ordinary(lemma: str, tag: str, names: Iterable[str], labels: Iterable[str]) -> bool:
    proper = any(name.startswith(_PROPER) for name in names)
    return lemma[:1].islower() and tag != "ign" and not proper and not _RARE & set(labels)


def polish_lemmas(word: str) -> set[str]:
    """Lemmas of which a Polish word is a form, by Morfeusz."""
    return {
        lemma
        for _, _, (_, lemma, tag, names, labels) in _morfeusz().analyse(word)
        if _ordinary(lemma, tag, names, labels)
    }


def polish_forms(lemma: str) -> set[str]:
    """The first forms of a Polish lemma, by Morfeusz."""
    made = (form for form, *_ in _morfeusz().generate(lemma)[:MAX_FORMS])
    return {
        form
        for form in made
        if form.isalpha() and (lemma[:3] == form[:3] or not form.startswith(("nie", "naj")))
    }


@cache
def _portuguese() -> tuple[Mapping[str, str], Mapping[str, list[str]]]:
    from simplemma.strategies.dictionaries import dictionary_factory  # noqa: PLC0415

    factory = dictionary_factory.DefaultDictionaryFactory()
    lemmas = {_text(form): _text(lemma) for form, lemma in factory.get_dictionary("pt").items()}
    forms: dict[str, list[str]] = defaultdict(list)
    for form, lemma in lemmas.items():
        forms[lemma].append(form)
    return lemmas, forms


def _text(word: bytes | str) -> str:
    return word.decode() if isinstance(word, bytes) else word


def portuguese_lemmas(word: str) -> set[str]:
    """The lemma of which a Portuguese word is a form, by simplemma."""
    lemmas, forms = _portuguese()
    lemma = lemmas.get(word, word if word in forms else "")
    return {lemma} if lemma else set()


def portuguese_forms(lemma: str) -> set[str]:
    """Forms of a Portuguese lemma with few of them, by simplemma."""
    made = _portuguese()[1].get(lemma, [])
    return (
        {form for form in made if not _AFFECTIVE.search(form)} if len(made) < MAX_FORMS else set()
    )


DICTIONARIES: Mapping[str, tuple[Look, Look]] = {
    "pl": (polish_lemmas, polish_forms),
    "pt": (portuguese_lemmas, portuguese_forms),
}
"""What gives the lemmas of a word in lower case, and what gives the forms of a lemma.

A word that is no ordinary one has no lemma.
"""


def count_words(paths: Iterable[str]) -> Counter[str]:
    """In how many notes each word stands in lower case, outside their marks."""
    texts: Counter[str] = Counter()
    for path in paths:
        for line in Path(path).read_text(encoding="utf-8").splitlines():
            note = json.loads(line)
            text = note["text"]
            for span in sorted(note.get("spans", ()), key=lambda each: -each["start"]):
                text = text[: span["start"]] + " \0 " + text[span["end"] :]
            texts.update({word for word in WORD.findall(text) if word.islower()})
    return texts


def inflect_names(names: Iterable[str], language: RulesFolder) -> set[str]:
    """Names with every ending that the language takes off."""
    found = set(names)
    for name in names:
        for ending, instead in language.endings:
            if name.endswith(instead) and len(name) - len(instead) >= MIN_STEM_LETTERS:
                found.add(name[: len(name) - len(instead)] + ending)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("code", choices=sorted(DICTIONARIES))
    parser.add_argument("notes", nargs="+")
    options = parser.parse_args()
    language = read_language(options.code)
    lemmas_of, forms_of = DICTIONARIES[options.code]
    own = language.lists.kinds
    given = {word for word, kind in own.items() if kind & (WordKind.FIRST | WordKind.PLACE)}
    first = {word for word in given if own[word] & WordKind.FIRST}
    everywhere = set(read_language("any").lists.kinds)
    names = inflect_names(own, language) | everywhere if language.endings else everywhere - set(own)
    told = {word for word in names - inflect_names(given, language) if lemmas_of(word)}
    texts = count_words(options.notes)
    lemmas = {lemma for word in texts for lemma in lemmas_of(word)}
    frequent = {word for word, count in texts.items() if count >= MIN_TEXTS}
    frequent = frequent.union(*map(forms_of, lemmas))
    write_ordinary(
        options.code,
        {word for word in told | (frequent - first) if len(word) > 1 and word.isalpha()},
        "Words of notes in lower case with their forms, and names that are words"
        " (see tools/build_ordinary.py)",
    )


if __name__ == "__main__":
    main()
