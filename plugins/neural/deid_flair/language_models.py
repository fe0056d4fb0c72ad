"""Character language models.

Trained from notes with Flair's own trainer, kept as safetensors, read from Flair's files.
"""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from flair.data import Dictionary
from flair.models import LanguageModel
from flair.trainers.language_model_trainer import LanguageModelTrainer, TextCorpus

from deid_assets.extending import PluginError, TrainingError
from deid_flair import pickles
from deid_flair.quiet import seed_all
from deid_flair.settings import CharacterModel
from deid_flair.store import read_tensors, write_tensors
from deid_onnx.families.flair import Characters

_HELD_OUT = 50  # one line of so many is validation text


class NotedModel(LanguageModel):
    """A language model that keeps in memory what Flair's trainer would pickle.

    It makes up no text for the log.
    """

    best: dict[str, torch.Tensor] | None = None
    optimizer: dict[str, Any] | None = None
    loss: float

    def save(self, file: Path | str) -> None:  # noqa: ARG002 - the trainer's signature
        """Keep the weights as the best so far."""
        self.best = {name: tensor.detach().clone() for name, tensor in self.state_dict().items()}

    def save_checkpoint(
        self,
        file: Path | str,  # noqa: ARG002 - the trainer's signature
        optimizer: Any,
        epoch: int,  # noqa: ARG002
        split: int,  # noqa: ARG002
        loss: float,
    ) -> None:
        """Keep the optimizer's state and the best loss so far."""
        self.optimizer, self.loss = optimizer.state_dict(), loss

    def generate_text(self, *args: Any, **kwargs: Any) -> tuple[str, float]:  # noqa: ARG002 - the trainer's signature
        """Return nothing: a sample of the model may repeat what it has read."""
        return "", 0.0


class LineCorpus(TextCorpus):
    """Lines of text as Flair's language-model trainer wants them.

    They are not written to a file.
    """

    def __init__(
        self, lines: Sequence[str], dictionary: Dictionary, *, backward: bool, seed: int
    ) -> None:
        # Flair's own constructor reads files.
        characters = Characters(dictionary.get_items())
        order = torch.randperm(len(lines), generator=torch.Generator().manual_seed(seed)).tolist()
        held = max(1, len(order) // _HELD_OUT)
        parts = (order[held:], order[:held])
        train, self.valid = (
            torch.from_numpy(characters.of("".join(lines[n] for n in part))) for part in parts
        )
        if backward:
            train, self.valid = train.flip(0), self.valid.flip(0)
        self.train = [train]  # type: ignore[assignment]  # the trainer asks for its length and its items alone
        self.test = self.valid
        self.dictionary = dictionary


def train(
    lines: Sequence[str], wanted: CharacterModel, *, backward: bool, seed: int, state: Path
) -> Iterator[tuple[int, float]]:
    """Train a language model and write it to ``state``.

    Yield each epoch's number and the least validation loss.

    An unfinished run with the same arguments is resumed from its file.

    Args:
        lines: Text as the model will read it: an input's tokens with blanks between, and a line
            end.
        wanted: Its settings.
        backward: Whether it reads from the end.
        seed: Of weights, order and dropout.
        state: File that is replaced after every epoch.

    Raises:
        TrainingError: There is too little text, or the loss is not a number.
    """
    dictionary = _dictionary(lines, wanted.min_count)
    corpus = LineCorpus(lines, dictionary, backward=backward, seed=seed)
    _enough(corpus, wanted)
    seed_all(seed, int(backward))
    model = NotedModel(
        dictionary, not backward, wanted.hidden, wanted.layers, wanted.width, dropout=wanted.dropout
    )
    done = _resume(model, state, wanted.learning_rate)
    for epoch in range(done["epoch"], wanted.epochs):
        seed_all(seed, int(backward), epoch)
        before = done["loss"]
        _one_epoch(model, corpus, wanted, epoch, done)
        if model.best is None:
            raise TrainingError(
                "the language model's loss is not a number; give a lower learning_rate"
            )
        done["loss"] = model.loss
        done["waited"] = 0 if model.loss < before else done["waited"] + 1
        if done["waited"] > wanted.patience:
            done["rate"], done["waited"] = done["rate"] * wanted.anneal_factor, 0
        done["epoch"], done["losses"] = epoch + 1, [*done["losses"], round(model.loss, 5)]
        _write(state, model, done)
        yield epoch + 1, model.loss


def _one_epoch(
    model: NotedModel, corpus: LineCorpus, wanted: CharacterModel, epoch: int, done: dict[str, Any]
) -> None:
    optimizer = torch.optim.Adam if wanted.optimizer == "adam" else torch.optim.SGD
    trainer = LanguageModelTrainer(
        model,
        corpus,
        optimizer=optimizer,
        epoch=epoch,
        loss=done["loss"],
        optimizer_state=model.optimizer,
    )
    if model.optimizer is not None:
        for group in model.optimizer["param_groups"]:
            group["lr"] = done["rate"]
    with tempfile.TemporaryDirectory() as folder:  # Flair writes its loss there, no text
        trainer.train(
            folder,
            sequence_length=wanted.sequence_length,
            learning_rate=done["rate"],
            mini_batch_size=wanted.batch_size,
            max_epochs=epoch + 1,
            checkpoint=True,
            num_workers=0,
        )


def _dictionary(lines: Sequence[str], min_count: int) -> Dictionary:
    counts: Counter[str] = Counter()
    for line in lines:
        counts.update(line)
    dictionary = Dictionary(add_unk=True)
    for character in sorted(
        {"\n", " "} | {character for character, count in counts.items() if count >= min_count}
    ):
        dictionary.add_item(character)
    return dictionary


def _enough(corpus: LineCorpus, wanted: CharacterModel) -> None:
    short = min(len(corpus.valid), len(corpus.train[0]) // 10) < 2 * wanted.batch_size
    if short:
        total = len(corpus.valid) + len(corpus.train[0])
        raise TrainingError(
            f"{total} characters are too few for a language model that reads {wanted.batch_size}"
            " streams; give raw notes, or a smaller batch_size"
        )


def _write(state: Path, model: NotedModel, done: dict[str, Any]) -> None:
    tensors = {f"now.{name}": tensor for name, tensor in model.state_dict().items()}
    tensors |= {f"best.{name}": tensor for name, tensor in (model.best or {}).items()}
    for number, moments in ((model.optimizer or {}).get("state") or {}).items():
        tensors |= {
            f"optimizer.{number}.{name}": torch.as_tensor(value) for name, value in moments.items()
        }
    groups = (model.optimizer or {}).get("param_groups", [])
    write_tensors(state, tensors, {"done": done, "groups": groups, "model": description(model)})


def _resume(model: NotedModel, state: Path, rate: float) -> dict[str, Any]:
    done: dict[str, Any] = {"epoch": 0, "loss": 10_000.0, "waited": 0, "rate": rate, "losses": []}
    if not state.exists():
        return done
    tensors, notes = read_tensors(state)
    model.load_state_dict(_under(tensors, "now."))
    model.best = _under(tensors, "best.")
    moments: dict[int, dict[str, torch.Tensor]] = defaultdict(dict)
    for name, tensor in _under(tensors, "optimizer.").items():
        number, _, key = name.partition(".")
        moments[int(number)][key] = tensor
    model.optimizer = (
        {"state": dict(moments), "param_groups": notes["groups"]} if notes["groups"] else None
    )
    return dict(notes["done"])


def _under(tensors: dict[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    return {
        name.removeprefix(prefix): tensor
        for name, tensor in tensors.items()
        if name.startswith(prefix)
    }


def description(model: LanguageModel) -> dict[str, Any]:
    """Return what is needed to build the model again, its weights aside."""
    return {
        "backward": not model.is_forward_lm,
        "hidden": model.hidden_size,
        "layers": model.nlayers,
        "width": model.embedding_size,
        "nout": model.nout,
        "start": model.document_delimiter,
        "recurrent": model.recurrent_type.lower(),
        "characters": model.dictionary.get_items(),
    }


def build(described: dict[str, Any]) -> LanguageModel:
    """Return a model of the description without its decoder; weights are to be loaded."""
    dictionary = Dictionary(add_unk=True)
    for character in described["characters"]:
        dictionary.add_item(character)
    return LanguageModel(
        dictionary,
        not described["backward"],
        described["hidden"],
        described["layers"],
        described["width"],
        nout=described["nout"],
        document_delimiter=described["start"],
        recurrent_type=described["recurrent"],
        dropout=0.0,
        has_decoder=False,
    )


def curve(file: Path) -> list[float]:
    """Return the least validation loss so far, in nats per character, after each epoch."""
    return [float(loss) for loss in read_tensors(file)[1]["done"]["losses"]]


def load(file: Path) -> LanguageModel:
    """Return a model that was trained here, without its decoder.

    Raises:
        PluginError: The file is no language model.
    """
    tensors, notes = read_tensors(file)
    if "model" not in notes:
        raise PluginError(
            f"{file} is no character language model; give what a recipe with train = true has made"
        )
    model = build(notes["model"])
    weights = {
        name: tensor
        for name, tensor in _under(tensors, "best.").items()
        if not name.startswith("decoder.")
    }
    model.load_state_dict(weights)
    return model.eval()


def load_flair(file: Path, *, trust: bool) -> LanguageModel:
    """Return a model from a file that Flair wrote, without its decoder.

    Flair's files are pickles. They are read as weights and a dictionary only, which runs no code.

    Args:
        file: Such as ``best-lm.pt``.
        trust: Read it as a pickle that may run code, where it holds more.

    Raises:
        PluginError: The file holds more than that and is not trusted, or it is no language model.
    """
    try:
        found = pickles.load(file, trust=trust)
        model = LanguageModel(
            found["dictionary"],
            found["is_forward_lm"],
            found["hidden_size"],
            found["nlayers"],
            found["embedding_size"],
            nout=found["nout"],
            document_delimiter=found.get("document_delimiter", "\n"),
            recurrent_type=found.get("recurrent_type", "lstm"),
            dropout=0.0,
            has_decoder=False,
        )
        model.load_state_dict(found["state_dict"], strict=False)
    except (
        UnpicklingError,
        OSError,
        EOFError,
        RuntimeError,
        KeyError,
        TypeError,
        AttributeError,
    ) as error:
        raise PluginError(
            f"{file} cannot be read as weights alone ({type(error).__name__}); if you know who made"
            " it, set trust = true, which lets it run code"
        ) from None
    return model.eval()
