"""Tasks whose notes are made here, in the shapes of the published ones.

ICD-10, adverse drug events, factuality, entities, PHI.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from deid_assets.extending import Document, InputError
from deid_assets.extending.corpora import read_corpus
from deid_privacy.utility.examples import Kind, Marked, TaskData, TaskDocument
from deid_privacy.utility.task_files import read_task

_CODES: Mapping[str, Sequence[str]] = {
    "K00-K14": ("dental caries", "gingivitis", "stomatitis"),
    "K20-K31": ("gastric ulcer", "reflux oesophagitis", "gastritis"),
    "K35-K38": ("acute appendicitis", "appendix mucocele"),
    "K40-K46": ("inguinal hernia", "umbilical hernia", "hiatus hernia"),
    "K50-K52": ("Crohn disease", "ulcerative colitis"),
    "K55-K64": ("diverticulitis", "anal fissure", "rectal polyp"),
    "K65-K67": ("peritonitis", "peritoneal abscess"),
    "K70-K77": ("liver cirrhosis", "alcoholic hepatitis", "fatty liver"),
    "K80-K87": ("gallstones", "cholecystitis", "acute pancreatitis"),
    "K90-K93": ("coeliac disease", "short bowel syndrome"),
}
_FACTUALITY: Mapping[str, Sequence[str]] = {
    "certainly_positive": ("The patient has {}.", "Findings confirm {}."),
    "probably_positive": ("Findings speak for {}.", "Most likely {}."),
    "possibly_positive": ("It could be {}.", "We consider {}."),
    "possibly_negative": ("{} is less likely.", "Hardly {}."),
    "probably_negative": ("No clear signs of {}.", "{} is improbable."),
    "certainly_negative": ("No {}.", "{} was ruled out."),
}
_DIAGNOSES = (
    "pneumonia",
    "asthma",
    "angina",
    "sepsis",
    "pulmonary embolism",
    "anaemia",
    "gout",
    "migraine",
    "cystitis",
)
_ENTITIES: Mapping[str, Sequence[str]] = {
    "Diagnosis": _DIAGNOSES,
    "Finding": (
        "fever",
        "cough",
        "nausea",
        "dyspnoea",
        "oedema",
        "dizziness",
        "itching",
        "weight loss",
    ),
    "Body_part": (
        "left knee",
        "abdomen",
        "right shoulder",
        "chest",
        "lower back",
        "throat",
        "left ankle",
    ),
    "Drug": (
        "penicillin",
        "ibuprofen",
        "warfarin",
        "metformin",
        "omeprazole",
        "furosemide",
        "digoxin",
        "prednisone",
    ),
}
_CLINICAL = (
    "Complains of {Finding} and pain in the {Body_part}.",
    "Started on {Drug} because of {Diagnosis}.",
    "Examination of the {Body_part} shows no {Finding}.",
    "Known {Diagnosis}, takes {Drug} daily.",
    "{Finding} is better since {Drug} was raised.",
)
_CAUSED = (
    "{Finding} after the first dose of {Drug}.",
    "{Finding}, which stopped when {Drug} was withdrawn.",
)
_NOT_CAUSED = (
    "{Finding} in the course of {Diagnosis}; {Drug} is continued.",
    "{Finding} before {Drug} was begun.",
)
_IDENTIFYING = (
    "{First_Name} {Last_Name} was seen on {Full_Date}.",
    "{First_Name} {Last_Name}, {Age} years old, lives in {Location}.",
    "Referred by {Health_Care_Unit} on {Full_Date}.",
    "Call {First_Name} {Last_Name} on {Phone_Number}.",
    "Next visit on {Partial_Date} at {Health_Care_Unit}.",
    "Works at {Organization} in {Location}.",
)
_SLOT = re.compile(r"\{(\w*)\}")
_CATEGORIES = {
    "AGE": "Age",
    "CITY": "Location",
    "HOSPITAL": "Health_Care_Unit",
    "ORGANIZATION": "Organization",
    "PHONE": "Phone_Number",
}
_MONTHS = ("January", "March", "May", "June", "August", "October", "November")


_SHAPES: Mapping[str, tuple[Kind, tuple[str, ...], tuple[int, int]]] = {
    "icd10": ("multilabel", tuple(_CODES), (6_062, 10)),
    "adverse_drug_event": ("classes", ("caused", "not_caused"), (21_725, 2)),
    "factuality": ("multilabel", tuple(_FACTUALITY), (3_710, 6)),
    "factuality_ner": ("tokens", tuple(_FACTUALITY), (3_822, 6)),
    "clinical_ner": ("tokens", tuple(_ENTITIES), (3_120, 4)),
    "phi_ner": (
        "tokens",
        (
            "First_Name",
            "Last_Name",
            "Age",
            "Phone_Number",
            "Location",
            "Health_Care_Unit",
            "Organization",
            "Full_Date",
            "Partial_Date",
        ),
        (21_553, 9),
    ),
}
TASKS = tuple(_SHAPES)
"""Tasks that are made; documents and classes of the published ones are in each."""


def title(name: str) -> str:
    """Return a task's name as a heading: of a file without its folder."""
    words = (
        name.removesuffix(".jsonl")
        .rpartition("/")[2]
        .replace("_", " ")
        .replace("phi", "PHI")
        .replace(" ner", " NER")
    )
    return words[0].upper() + words[1:]


def task_data(name: str, *, documents: int, seed: int) -> TaskData:
    """Return a task: one of ``TASKS``, ``corpus:SPECIFICATION`` for the spans of annotated notes at
    hand, or ``FILE.jsonl``.

    Raises:
        InputError: There is no such task, the corpus has no span, or the file is none of a task.
    """
    if name.endswith(".jsonl"):
        return read_task(Path(name))
    if name.startswith("corpus:"):
        return _of_corpus(name, documents)
    if name not in _SHAPES:
        raise InputError(
            f"unknown task {name!r}; choose of {', '.join(TASKS)}, corpus:NAME or FILE.jsonl"
        )
    kind, labels, published = _SHAPES[name]
    values = _values(seed)
    made = tuple(
        _make_document(
            f"{name}-{number:05d}",
            name,
            values,
            random.Random(f"{name} {seed} {number}"),  # noqa: S311 - simulation
        )
        for number in range(documents)
    )
    return TaskData(name, kind, labels, made, published)


def _make_document(
    note_id: str, name: str, values: Mapping[str, Sequence[str]], rng: random.Random
) -> TaskDocument:
    text, identifiers, marks, labels = "", [], [], set()
    count = {"phi_ner": rng.choice((0, 1, 1, 2)), "icd10": 2}.get(name, int(rng.random() < 0.6))
    for sentence in (rng.choice(_IDENTIFYING) for _ in range(count)):
        drawn = _fill(sentence, values, rng)
        identifiers += [
            (len(text) + start, len(text) + end, label) for start, end, label in drawn[1]
        ]
        text += drawn[0] + " "
    for sentence, own in _clinical(name, rng):
        drawn = _fill(sentence, _ENTITIES, rng)
        marks += [
            (len(text) + start, len(text) + end, own or label) for start, end, label in drawn[1]
        ]
        text += drawn[0] + " "
        labels |= {own} if own else set()
    wanted = identifiers if name == "phi_ner" else marks
    kind = _SHAPES[name][0]
    return TaskDocument(
        note_id,
        text.rstrip(),
        tuple(identifiers),
        tuple(wanted) if kind == "tokens" else (),
        frozenset() if kind == "tokens" else frozenset(labels),
    )


def _clinical(name: str, rng: random.Random) -> Iterator[tuple[str, str]]:
    """Yield sentences and the label that each gives to its document, or to what stands in
    its gap.
    """
    if name == "icd10":
        for code in rng.sample(list(_CODES), rng.choice((1, 1, 2, 3))):
            yield f"Treated for {rng.choice(_CODES[code])}.", code
    elif name in ("factuality", "factuality_ner"):
        for level in rng.sample(list(_FACTUALITY), rng.choice((1, 1, 2))):
            yield rng.choice(_FACTUALITY[level]).replace("{}", "{Diagnosis}"), level
    elif name == "adverse_drug_event":
        caused = rng.random() < 0.3
        yield rng.choice(_CAUSED if caused else _NOT_CAUSED), "caused" if caused else "not_caused"
    if name not in ("factuality", "factuality_ner", "adverse_drug_event"):
        for sentence in rng.sample(_CLINICAL, 2 if name == "clinical_ner" else 1):
            yield sentence, ""


def _fill(
    sentence: str, values: Mapping[str, Sequence[str]], rng: random.Random
) -> tuple[str, list[Marked]]:
    text, marks, cursor = "", [], 0
    for slot in _SLOT.finditer(sentence):
        value = rng.choice(values[slot.group(1)])
        text += sentence[cursor : slot.start()]
        value = value[0].upper() + value[1:] if not text else value
        marks.append((len(text), len(text) + len(value), slot.group(1)))
        text, cursor = text + value, slot.end()
    return text + sentence[cursor:], marks


def _values(seed: int) -> dict[str, list[str]]:
    """Return values of each class, from the generator's notes."""
    found: dict[str, dict[str, None]] = {}
    for document in read_corpus(f"synthetic:en:40:{seed + 70_000}").documents:
        for span in document.spans:
            value = document.note.text[span.start : span.end]
            if (named := _CATEGORIES.get(span.label.value)) and "\n" not in value:
                found.setdefault(named, {})[value] = None
            if span.label.value == "NAME" and re.fullmatch(r"[A-Z][a-z]+ [A-Z][a-z]+", value):
                first, last = value.split()
                found.setdefault("First_Name", {})[first] = None
                found.setdefault("Last_Name", {})[last] = None
    rng = random.Random(seed)  # noqa: S311 - simulation
    days = [(rng.randint(1, 28), rng.choice(_MONTHS), rng.randint(2015, 2023)) for _ in range(60)]
    found["Full_Date"] = dict.fromkeys(f"{day} {month} {year}" for day, month, year in days)
    found["Partial_Date"] = dict.fromkeys(f"{day} {month}" for day, month, _ in days)
    return {name: list(values) for name, values in found.items()}


def _of_corpus(name: str, documents: int) -> TaskData:
    corpus = read_corpus(name.removeprefix("corpus:")).documents[:documents]
    examples = tuple(map(_example, corpus))
    labels = sorted({label for one in examples for _, _, label in one.marks})
    if not labels:
        raise InputError(f"task {name!r} has no span; name an annotated corpus")
    return TaskData(name, "tokens", tuple(labels), examples)


def _example(document: Document) -> TaskDocument:
    spans = tuple(
        (span.start, span.end, span.native_label or span.label.value) for span in document.spans
    )
    return TaskDocument(document.note.note_id, document.note.text, spans, spans)
