"""The list of steps that de-identify a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from deid_assets.core.errors import ConfigError, did_you_mean
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.redact import Policy
from deid_assets.core.resolve import POLICIES, Ensemble
from deid_assets.pipeline.batch import Batch, Step
from deid_assets.pipeline.redacting import Following, Redact, Verify
from deid_assets.pipeline.resolving import LEAVABLE, Detect, Resolve
from deid_assets.pipeline.searching import Search, SearchSample
from deid_assets.pipeline.spreading import Spread


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Steps that de-identify notes, one after another.

    ``print(pipeline)`` shows each with its settings. Where spans are stored, the steps that made
    them are left out: ``pipeline.without("detect", "resolve", "spread")``.

    Args:
        steps: Each takes a ``Batch`` and returns it with more.
    """

    steps: tuple[Step, ...]

    @classmethod
    def of(
        cls,
        detect: Detect,
        *,
        policy: Policy,
        key: Key,
        resolve_by: str = "union",
        draw: SearchSample | None = None,
        following: Following = iter,
    ) -> Self:
        """Return all steps.

        Args:
            detect: The ensemble.
            policy: What stands for each category.
            key: For surrogates, and for the draw.
            resolve_by: Overlap policy.
            draw: Which redacted notes are searched; by default a thousand, drawn with ``key``.
            following: Gives the notes one by one as they are redacted.

        Raises:
            ConfigError: There is no such overlap policy.
        """
        if resolve_by not in POLICIES:
            known = did_you_mean(resolve_by, POLICIES)
            raise ConfigError(f"unknown overlap policy {resolve_by!r}{known}")
        ensemble = Ensemble(detect.sources, yielding=LEAVABLE | policy.may_leave)
        return cls(
            (
                detect,
                Resolve(resolve_by, ensemble),
                Spread(),
                Redact(policy, key, following=following),
                Search(detect, resolve_by, draw or SearchSample(key)),
                Verify(),
            )
        )

    def __str__(self) -> str:
        return "\n".join(f"{step.name:<8} {step}" for step in self.steps)

    def run(self, batch: Batch) -> Batch:
        """Return the batch after all steps; ``Batch.outcomes`` has one outcome per note."""
        for step in self.steps:
            batch = step.run(batch)
        return batch

    def deidentify(self, notes: Sequence[Note]) -> Batch:
        """Return what becomes of notes, all of each patient together.

        What is found in one is covered in the others, and no surrogate is a value of the batch.
        """
        return self.run(Batch(notes))

    def without(self, *names: str) -> Pipeline:
        """Return the pipeline without some steps.

        Raises:
            ConfigError: There is no such step.
        """
        for name in names:
            self._place(name)
        return Pipeline(tuple(step for step in self.steps if step.name not in names))

    def with_step(self, step: Step, *, before: str | None = None) -> Pipeline:
        """Return the pipeline with a step in place of the one of its name, or as a new one.

        Args:
            step: The step.
            before: Name of the step that it is put before, where it is a new one.

        Raises:
            ConfigError: There is no step of the name.
        """
        place = self._place(step.name if before is None else before)
        rest = self.steps[place + 1 :] if before is None else self.steps[place:]
        return Pipeline((*self.steps[:place], step, *rest))

    def _place(self, name: str) -> int:
        names = [step.name for step in self.steps]
        if name not in names:
            raise ConfigError(f"no step {name!r}; the steps are {', '.join(names)}")
        return names.index(name)
