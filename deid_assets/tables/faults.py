"""What is wrong with a table: one line each, by row and column, never with a value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

MOST_LINES = 20
Mask = npt.NDArray[np.bool_]
"""A truth value for each of some rows."""


@dataclass(slots=True)
class Faults:
    """Faults of one reading of a table.

    Args:
        lines: The first of them.
        count: All of them.
    """

    lines: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, row: int, column: str, reason: str) -> None:
        """Add a fault.

        Args:
            row: From 1, without the header; 0 for the column as a whole.
            column: Its name; empty for the row as a whole.
            reason: What is wrong, and what to do; never a value.
        """
        where = ", ".join(
            filter(None, [f"row {row:,}" if row else "", f"column {column}" if column else ""])
        )
        self.count += 1
        if len(self.lines) < MOST_LINES:
            self.lines.append(f"{where}: {reason}" if where else reason)

    def add_rows(self, rows: Iterable[int], column: str, reason: str) -> None:
        """Add the same fault of several rows."""
        for row in rows:
            self.add(row, column, reason)

    def add_where(self, wrong: Mask, first: int, column: str, reason: str) -> None:
        """Add the same fault of the rows where a mask holds, of which the first has a number."""
        self.add_rows((first + int(at) for at in np.flatnonzero(wrong)), column, reason)

    @property
    def told(self) -> list[str]:
        """The lines, and last how many more there are."""
        more = self.count - len(self.lines)
        return [*self.lines, *([f"and {more:,} more"] if more else [])]
