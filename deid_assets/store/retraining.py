"""Models that have to be trained again: one signed record each, which a newer model ends."""

from __future__ import annotations

from deid_assets.store.files import ALL, StoreFiles, UnsignedReceipt

TO_BE_RETRAINED = "to_be_retrained"
"""Path of the records; the model stands where others have their batch."""


class RetrainMarks:
    """The models of an installation that learnt from notes which are erased.

    Args:
        files: The store.
    """

    def __init__(self, files: StoreFiles) -> None:
        self._files = files

    def mark(self, model: str, digest: str) -> None:
        """Record that a model has to be trained again.

        Args:
            model: Its asset, such as ``tagger_crf``.
            digest: Of its receipt; a model with another is not meant.
        """
        receipt = UnsignedReceipt(code_version="1", inputs={f"{model}@{ALL}": digest}, counts={})
        self._files.write(TO_BE_RETRAINED, model, {}, receipt=receipt)

    def holds(self, model: str) -> bool:
        """Whether the stored model is one that was marked.

        Raises:
            ProvenanceError: A record or the model's receipt was altered.
        """
        record, found = self._files.find(TO_BE_RETRAINED, model), self._files.find(model, ALL)
        return (
            record is not None
            and found is not None
            and record.inputs.get(found.name) == found.digest
        )

    def models(self) -> list[str]:
        """Return the models that still have to be trained again, sorted."""
        return [name for name in self._files.batches(TO_BE_RETRAINED) if self.holds(name)]
