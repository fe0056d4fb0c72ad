"""A concept tagger of one's own, as a program: texts in, the concepts of each out."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

from deid_assets.extending import InputError
from deid_audits.models.links import Tagger

SECONDS = 3_600


def program_tagger(program: Path, texts: Sequence[str]) -> Tagger:
    """Return the concepts of texts as a program on this machine finds them.

    It reads an object per line, ``{"text": …}``, from its standard input, and writes a list of
    concepts per line, in the same order, as a wrapper of MedCAT, QuickUMLS or scispaCy can.

    Args:
        program: File that can be executed.
        texts: All that will be asked for.

    Raises:
        InputError: It cannot be run, fails, takes over an hour, or answers something else; its
            words are not repeated.
    """
    asked = list(dict.fromkeys(texts))
    answers = _run(program, asked)
    if len(answers) != len(asked):
        raise InputError(
            f"{program.name}: {len(answers)} answers for {len(asked)} texts; write one line for"
            " each"
        )
    found = {
        text: _concepts_of(answer, number, program)
        for number, (text, answer) in enumerate(zip(asked, answers, strict=True), start=1)
    }
    return found.__getitem__


def _run(program: Path, texts: Sequence[str]) -> list[str]:
    """Return the lines that a program answers.

    Raises:
        InputError: It cannot be run, fails, or takes over an hour.
    """
    lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    try:
        ran = subprocess.run(  # noqa: S603 - the user's own program
            [str(program.resolve())],
            input=lines.encode(),
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(
            f"{program.name}: it cannot be run ({type(error).__name__}); give an executable file"
        ) from None
    if ran.returncode:
        raise InputError(
            f"{program.name}: it ended with {ran.returncode}; run it by itself on a line of JSON"
        )
    said = ran.stdout.decode("utf-8", errors="replace").removesuffix("\n")
    return said.split("\n") if said else []


def _concepts_of(answer: str, number: int, program: Path) -> frozenset[str]:
    """Return the concepts that a line names.

    Raises:
        InputError: It is no list of strings.
    """
    try:
        concepts = json.loads(answer)
    except json.JSONDecodeError:
        concepts = None
    if not isinstance(concepts, list) or not all(isinstance(one, str) for one in concepts):
        raise InputError(
            f"{program.name}: answer {number} is no list of strings; write a JSON list on each line"
        )
    return frozenset(concepts)
