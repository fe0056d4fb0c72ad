"""The detector ``generative``.

Notes rewritten by a language model, and its outputs turned into spans of the notes.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from deid_assets import Note, Phi, Span, SpanSet
from deid_assets.extending import ConfigError, Detector, DetectorError, PluginError, Window, load
from deid_generative.categories import UNKNOWN, ValueClassifier, by_form, by_overlap
from deid_generative.folder import TAGGER, read_folder
from deid_generative.reading import Status
from deid_generative.use import Served, Use
from deid_generative.written import (
    Hole,
    OutputWriter,
    WrittenOutput,
    cut,
    find_doubted,
    is_in,
    stitch,
)

if TYPE_CHECKING:
    from deid_generative.folder import ModelFolder

VERSION = "0.1.0"
REMEMBERED = 4_096
"""Notes of which the spans are kept, so that a batch in which one fails is not written twice."""


class NoOutputError(DetectorError):
    """The model wrote nothing."""


class TruncatedOutputError(DetectorError):
    """The output was cut off before its end."""


class ContradictoryOutputError(DetectorError):
    """The output says that there is nothing to remove where that cannot be believed."""


class RefusedError(DetectorError):
    """The model declined."""


class UnlikeOutputError(DetectorError):
    """The output is another text than the note."""


class NoAnswerError(DetectorError):
    """The server gave no answer, or none that can be read."""


_FAULTS: Mapping[Status, tuple[type[DetectorError], str]] = {
    Status.EMPTY: (NoOutputError, "the model wrote nothing"),
    Status.TRUNCATED: (
        TruncatedOutputError,
        "the output was cut off; give a longer context or a shorter prompt",
    ),
    Status.CONFLICT: (
        ContradictoryOutputError,
        "the output says both that there is nothing to remove and that there is",
    ),
    Status.ECHOED: (ContradictoryOutputError, "the output says ANONYMOUS, and so does the note"),
    Status.REFUSED: (RefusedError, "the model declined"),
    Status.UNLIKE: (UnlikeOutputError, "the output is another text than the note"),
    Status.NO_ANSWER: (
        NoAnswerError,
        "the server gave no answer; see that it runs, and raise timeout or retries",
    ),
    Status.SWALLOWED: (
        UnlikeOutputError,
        "a placeholder stands for more than an identifier can be",
    ),
}
"""The class is what quarantine and the command line show of an error."""


class GenerativeDetector:
    """Finds what a causal language model leaves out when it rewrites a note.

    A note whose output cannot be trusted raises, and so goes to quarantine: it never reads as a
    note without PHI.

    Args:
        model: Folder that ``deid train`` wrote, a folder of transformers, or a hub name; or none
            with ``endpoint``.
        name: Source of the spans; a recipe's detector has the recipe's name.
        prompt: Of the registry, or a TOML file; a trained model has its own.
        endpoint: Address of a server that speaks the OpenAI protocol, such as
            ``http://127.0.0.1:8080/v1``.
        served: Name of the model on that server.
        allow_remote: Whether the server may be on another machine; notes leave this one then.
        protocol: Of the server: ``llama.cpp`` and ``vllm`` are given a grammar per note, ``openai``
            is not.
        chat: Whether the server's chat template is used, rather than plain completion.
        together: Requests to the server at a time.
        timeout: Seconds that a request may take.
        retries: How often a failed request is made again.
        key_env: Environment variable with the server's key.
        window: Words of a note in one request to a server.
        constrained: Whether outputs are held to the note's words; a trained model's own setting
            when not given.
        ahead: Source tokens proposed at once; see ``Decoding``.
        bias: Towards placeholders; see ``Decoding``.
        context: Most tokens of prompt and output.
        bits: Of the weights; see the trainer's settings. ``auto`` keeps bfloat16 as stored where
            the processor has it.
        budget_gb: Memory that the model may take.
        checker: Detector that is asked about every note; none when empty.
        check: ``less``: what it finds is added in windows where the model found less, as where it
            copied them or said ``ANONYMOUS``; or ``all``: it is added everywhere.
        threads: Cores that PyTorch may use; all when not given.
        device: Of PyTorch; a GPU where there is one when not given.
        allow_download: Whether the model may be fetched by its hub name.

    Raises:
        PluginError: The folder is broken, or the checker is not installed.
        ConfigError: An option has no such value, or the model does not fit the budget.
    """

    def __init__(  # noqa: PLR0913 - each is an option of a settings file
        self,
        *,
        model: str | Path = "",
        name: str = "generative",
        prompt: str = "",
        endpoint: str = "",
        served: str = "",
        allow_remote: bool = False,
        protocol: str = "llama.cpp",
        chat: bool = False,
        together: int = 4,
        timeout: float = 120.0,
        retries: int = 2,
        key_env: str = "",
        window: int = 400,
        constrained: bool | None = None,
        ahead: int | None = None,
        bias: float | None = None,
        context: int | None = None,
        bits: int | str = "auto",
        budget_gb: float = 16.0,
        checker: str | None = None,
        check: str = "less",
        threads: int | None = None,
        device: str | None = None,
        allow_download: bool = False,
    ) -> None:
        folder = _model_folder(str(model), endpoint, check)
        if endpoint:
            how = Served(
                served=served,
                prompt=prompt or "zero_shot_fr",
                allow_remote=allow_remote,
                protocol=protocol,
                chat=chat,
                together=together,
                timeout=timeout,
                retries=retries,
                key_env=key_env,
                window=window,
                constrained=constrained is not False,
            )
            backend = _server(endpoint, how)
        else:
            use = Use(
                constrained, ahead, bias, context, bits, budget_gb, threads, device, allow_download
            )
            backend = _model(str(model), folder, prompt, use)
        self._set(name, backend, _checker(folder, checker), folder, check=check)

    def _set(
        self,
        name: str,
        backend: OutputWriter,
        asked: Detector | None,
        folder: ModelFolder | None,
        *,
        check: str,
    ) -> None:
        self.name = name
        self._backend, self._checker, self._check = backend, asked, check
        self._together = int(getattr(backend, "together", 1))
        self._categories = folder.categories if folder else ValueClassifier()
        self._tags = {label.value: label for label in Phi}
        self.labels = frozenset(Phi)
        made_of = [backend.version, asked.version if asked else "", check]
        self.version = f"{VERSION}+{hashlib.sha256(' '.join(made_of).encode()).hexdigest()[:12]}"
        self._known: OrderedDict[tuple[str, str], SpanSet | Status] = OrderedDict()

    @classmethod
    def of_backend(
        cls,
        backend: OutputWriter,
        *,
        name: str = "generative",
        checker: Detector | None = None,
        check: str = "less",
        folder: ModelFolder | None = None,
    ) -> GenerativeDetector:
        """Return a detector over a backend that is there already."""
        made = cls.__new__(cls)
        made._set(name, backend, checker, folder, check=check)  # noqa: SLF001 - its own
        return made

    def detect(self, notes: Sequence[Note]) -> Iterable[SpanSet]:
        """Yield the spans of each note.

        Raises:
            DetectorError: An output cannot be trusted; the message names the note and why, and
                holds no text.
        """
        for first in range(0, len(notes), self._together):
            run = notes[first : first + self._together]
            self._write([note for note in run if _key(note) not in self._known])
            for note in run:
                found = self._known[_key(note)]
                if isinstance(found, Status):
                    kind, fault = _FAULTS[found]
                    raise kind(f"{self.name}: note {note.note_id!r}: {fault}")
                yield found
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)

    def _write(self, notes: Sequence[Note]) -> None:
        """Generate the answers for notes that have none yet, the windows of all of them in one
        call.
        """
        cuts = [cut(note.text, self._backend) for note in notes]
        texts = [
            note.text[one.start : one.end]
            for note, ones in zip(notes, cuts, strict=True)
            for one in ones
        ]
        outputs = iter(self._backend.write(texts))
        for note, ones in zip(notes, cuts, strict=True):
            self._known[_key(note)] = self._read(note, ones, [next(outputs) for _ in ones])

    def _read(
        self, note: Note, cuts: Sequence[Window], outputs: Sequence[WrittenOutput]
    ) -> SpanSet | Status:
        if fault := next((one.status for one in outputs if not one.status.is_usable), None):
            return fault
        asked = self._ask(note)
        holes = stitch([(one, written.holes) for one, written in zip(cuts, outputs, strict=True)])
        spans = [self._span(note.text, hole, asked) for hole in holes]
        return SpanSet.of(note, [*spans, *self._add_found(asked, cuts, outputs)])

    def _ask(self, note: Note) -> Sequence[Span]:
        """Return what the checker finds; it also tells categories."""
        if self._checker is None:
            return ()
        (found,) = self._checker.detect([note])
        return found.spans

    def _add_found(
        self, asked: Sequence[Span], cuts: Sequence[Window], outputs: Sequence[WrittenOutput]
    ) -> Iterator[Span]:
        """Yield what the checker finds in windows where the model found less, or everywhere."""
        less = find_doubted(cuts, outputs, [(span.start, span.end) for span in asked])
        for span in asked:
            if self._check == "all" or any(is_in(one, (span.start, span.end)) for one in less):
                yield Span(span.start, span.end, span.label, span.score, self.name)

    def _span(self, text: str, hole: Hole, asked: Sequence[Span]) -> Span:
        label = (
            self._tags.get(hole.tag.strip("[]<>{} ").upper())
            or self._categories.guess(text, hole.start, hole.end)
            or by_overlap(hole.start, hole.end, asked)
            or by_form(text[hole.start : hole.end])
            or UNKNOWN
        )
        return Span(hole.start, hole.end, label, hole.score, self.name)


def _key(note: Note) -> tuple[str, str]:
    return note.note_id, note.digest


def _model_folder(model: str, endpoint: str, check: str) -> ModelFolder | None:
    """Return what ``deid train`` wrote, where the model is that.

    Raises:
        ConfigError: Both a model and a server are named, or neither, or there is no such check.
    """
    if bool(endpoint) == bool(model):
        raise ConfigError("give either model or endpoint: a folder, or the address of a server")
    if check not in {"less", "all"}:
        raise ConfigError(f"check is {check!r}; give 'less' or 'all'")
    return read_folder(Path(model)) if model and (Path(model) / TAGGER).exists() else None


def _server(address: str, how: Served) -> OutputWriter:
    from deid_generative.endpoint import Endpoint  # noqa: PLC0415 - loads httpx

    return Endpoint(address, how)


def _model(name: str, folder: ModelFolder | None, prompt: str, use: Use) -> OutputWriter:
    from deid_generative.opening import open_model  # noqa: PLC0415 - loads PyTorch, 2 s

    return open_model(name, folder, prompt=prompt, use=use)


def _checker(folder: ModelFolder | None, wanted: str | None) -> Detector | None:
    name = wanted
    if name is None:
        name = str(folder.settings.get("checker", "rules")) if folder else "rules"
    if not name:
        return None
    try:
        return load(name)
    except PluginError as error:
        raise PluginError(
            f"the detector to be asked besides the model is {name!r}: {error}; install it, or set"
            ' checker = ""'
        ) from None
