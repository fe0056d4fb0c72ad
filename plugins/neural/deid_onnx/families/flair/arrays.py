"""What every embedding of a Flair network is read as."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

Feeds = dict[str, NDArray[Any]]
Line = Sequence[str]
"""The tokens of one input; not empty, and no token is empty or has a blank."""


class EmbeddingFeeds(Protocol):
    """One embedding of the stack: its arrays for a batch."""

    def feeds(self, lines: Sequence[Line], words: Sequence[str]) -> Feeds:
        """Return arrays by name, without the number of the part.

        Args:
            lines: The batch.
            words: Its different tokens.
        """
        ...
