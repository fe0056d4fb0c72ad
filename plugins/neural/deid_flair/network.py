"""The network: stacked embeddings, Flair's ``SequenceTagger``, and tags decoded from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import flair
import numpy as np
import torch
from flair.data import Dictionary
from flair.embeddings import StackedEmbeddings
from flair.models import SequenceTagger
from numpy.typing import NDArray
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from deid_assets.extending import TagScheme
from deid_assets.extending.decoding import constraints
from deid_flair.parts import EmbeddingPart
from deid_onnx.families.flair import Line, StackReader, part
from deid_onnx.tagger import TransitionScores

START, STOP = "<START>", "<STOP>"  # tags that Flair's CRF adds


class FlairNetwork:
    """A tagger and how it reads.

    Args:
        parts: The stack.
        tags: Every tag, in the order of the network's outputs.
        described: Encoder, decoder, widths and rates, as ``Settings`` names them.
        scheme: Of the tags.
    """

    def __init__(
        self,
        parts: Sequence[EmbeddingPart],
        tags: Sequence[str],
        described: Mapping[str, Any],
        scheme: str,
    ) -> None:
        self.parts, self.tags, self.described = list(parts), list(tags), dict(described)
        self.scheme = TagScheme(scheme)
        self.reader = StackReader(
            [part(each.description, each.vocabulary) for each in parts if not _whole(each)]
        )
        tag_dictionary = Dictionary(add_unk=False)
        for tag in tags:
            tag_dictionary.add_item(tag)
        self.tagger = SequenceTagger(
            StackedEmbeddings([each.embedding for each in parts]),
            tag_dictionary,
            "phi",
            use_rnn=described["encoder"] == "lstm",
            use_crf=described["decoder"] == "crf",
            tag_format=self.scheme.value,
            hidden_size=described["hidden"],
            rnn_layers=described["layers"],
            reproject_embeddings=described["reproject"],
            word_dropout=described["word_dropout"],
            locked_dropout=described["locked_dropout"],
        )

    def compute_frozen(self, lines: Sequence[Line]) -> torch.Tensor | None:
        """Return what the frozen parts give, end to end: (inputs, tokens, width).

        Nothing where there are none.
        """
        with torch.no_grad():
            found = self._encode(lines, [each for each in self.parts if each.frozen])
        return torch.cat(found, dim=2) if found else None

    def embed(self, lines: Sequence[Line], frozen: torch.Tensor | None = None) -> torch.Tensor:
        """Return the stacked embeddings (inputs, tokens, width).

        Args:
            lines: The batch.
            frozen: What ``compute_frozen`` gave for it, where it is at hand.
        """
        if frozen is None:
            return torch.cat(self._encode(lines, self.parts), dim=2)
        learnt = iter(self._encode(lines, [each for each in self.parts if not each.frozen]))
        stack, at = [], 0
        for each in self.parts:
            width = each.embedding.embedding_length
            stack.append(frozen[..., at : at + width] if each.frozen else next(learnt))
            at += width if each.frozen else 0
        return torch.cat(stack, dim=2)

    def _encode(self, lines: Sequence[Line], parts: Sequence[EmbeddingPart]) -> list[torch.Tensor]:
        if not parts:
            return []
        feeds = {
            name: torch.from_numpy(array).to(flair.device)
            for name, array in self.reader.feeds(lines).items()
        }
        found, fed = {}, 0
        for each in self.parts:
            arrays = {
                name.rpartition("_")[0]: array
                for name, array in feeds.items()
                if name.endswith(f"_{fed}")
            }
            if each in parts:
                found[id(each)] = each.encode(arrays, feeds["words"], lines)
            fed += not _whole(each)
        return [found[id(each)] for each in parts]

    def loss(
        self,
        lines: Sequence[Line],
        tags: Sequence[Sequence[int]],
        frozen: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Return the summed loss of a batch whose inputs come longest first."""
        lengths = torch.tensor([len(line) for line in lines])
        features = self._features(self.embed(lines, frozen), lengths)
        gold = [torch.tensor(row, device=flair.device) for row in tags]
        if self.described["decoder"] != "crf":
            inside = torch.arange(features.shape[1])[None, :] < lengths[:, None]
            return torch.nn.functional.cross_entropy(
                features[inside], torch.cat(gold), reduction="sum"
            )
        padded = torch.nn.utils.rnn.pad_sequence(gold, batch_first=True)
        return crf_loss(
            features[..., : len(self.tags)], lengths.to(flair.device), padded, self._learnt()
        )

    def _learnt(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return the CRF's ``transitions[before, after]``, start and end scores.

        Flair's two extra tags are left out.
        """
        names, count = self.tagger.label_dictionary, len(self.tags)
        learnt = self.tagger.crf.transitions
        start, stop = names.get_idx_for_item(START), names.get_idx_for_item(STOP)
        return learnt[:count, :count].t(), learnt[:count, start], learnt[stop, :count]

    def scores(
        self, lines: Sequence[Line], frozen: torch.Tensor | None = None
    ) -> NDArray[np.float32]:
        """Return a score per tag (inputs, tokens, tags).

        The CRF's emissions, or logarithms of the softmax.
        """
        lengths = torch.tensor([len(line) for line in lines])
        order = torch.argsort(lengths, descending=True, stable=True)
        with torch.no_grad():
            embedded = self.embed(lines, frozen)[order]
            found = self._features(embedded, lengths[order])[torch.argsort(order)]
            if self.described["decoder"] != "crf":
                found = torch.log_softmax(found, dim=2)
        scores: NDArray[np.float32] = found[..., : len(self.tags)].float().cpu().numpy()
        return scores

    def _features(self, embedded: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Return the tag scores as Flair's forward pass makes them.

        They are those before the CRF widens them to pairs of tags.
        """
        tagger = self.tagger
        drops = [tagger.word_dropout] if tagger.use_word_dropout else []
        locked = [tagger.locked_dropout] if tagger.use_locked_dropout else []
        for drop in (*drops, *locked):
            embedded = drop(embedded)
        if tagger.reproject_embeddings:
            embedded = tagger.embedding2nn(embedded)
        if tagger.use_rnn:
            packed = pack_padded_sequence(embedded, lengths, batch_first=True)
            embedded, _ = pad_packed_sequence(tagger.rnn(packed)[0], batch_first=True)
        for drop in locked:
            embedded = drop(embedded)
        scores: torch.Tensor = tagger.linear(embedded)
        return scores

    def chain(self) -> TransitionScores:
        """Return what decodes the scores.

        What the CRF has learnt, what is legal alone, or the best tag of each token.
        """
        if self.described["decoder"] == "softmax":
            count = len(self.tags)
            return TransitionScores(
                *(np.zeros(shape, np.float32) for shape in ((count, count), (count,), (count,)))
            )
        allowed, start, end = constraints(self.tags, self.scheme)
        if self.described["decoder"] == "crf":
            learnt = [each.detach().cpu().numpy() for each in self._learnt()]
            allowed, start, end = allowed + learnt[0], start + learnt[1], end + learnt[2]
        return TransitionScores(allowed, start, end)


def crf_loss(
    emissions: torch.Tensor,
    lengths: torch.Tensor,
    gold: torch.Tensor,
    chain: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
) -> torch.Tensor:
    """Return the summed negative log-likelihood of a linear-chain CRF.

    The CRF is that of Lafferty, McCallum and Pereira (2001), and the loss that of Flair's
    ``ViterbiLoss``, whose backward pass takes time in the square of the longest input.

    Args:
        emissions: (inputs, tokens, tags).
        lengths: (inputs,); none is 0.
        gold: (inputs, tokens) tag numbers.
        chain: ``transitions[before, after]``, start and end scores.
    """
    transitions, start, end = chain
    inside = torch.arange(emissions.shape[1], device=lengths.device)[None, :] < lengths[:, None]
    moves, steps, rows = (
        transitions.exp(),
        emissions.unbind(1),
        torch.arange(len(lengths), device=lengths.device),
    )
    total = start + steps[0]
    for step, there in zip(steps[1:], inside[:, 1:].unbind(1), strict=True):
        most = total.detach().amax(dim=1, keepdim=True)
        after = (total - most).exp().matmul(moves).log() + most + step
        total = torch.where(there[:, None], after, total)
    partition = (total + end).logsumexp(dim=1)
    shown = (emissions.gather(2, gold[..., None])[..., 0] * inside).sum(dim=1)
    moved = (transitions[gold[:, :-1], gold[:, 1:]] * inside[:, 1:]).sum(dim=1)
    last = end[gold[rows, lengths - 1]]
    return (partition - shown - moved - start[gold[:, 0]] - last).sum()


def _whole(each: EmbeddingPart) -> bool:
    """Whether a part reads tokens rather than arrays."""
    return str(each.description["kind"]) == "transformer"
