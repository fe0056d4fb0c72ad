"""What every asset works with: settings, files, the text-free database, keys and detectors."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg
from pydantic import PrivateAttr

from deid_assets.config import Settings
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.store.files import CorpusFiles
from deid_resources.detectors import DetectorPool
from deid_resources.taggers import TaggerModels, is_drawn_for_training

if TYPE_CHECKING:
    from deid_assets.store.database import Database
    from deid_assets.store.publishing import ReleaseFolders
    from deid_assets.store.signing import ReleaseSigner


class Corpus:
    """One installation, opened. Everything is made on first use and lives as long as the run.

    Args:
        settings: How this installation de-identifies.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @cached_property
    def files(self) -> CorpusFiles:
        """Parquet files with signed receipts."""
        return CorpusFiles(self.settings.store, key=self.settings.receipt_key())

    @cached_property
    def release_signer(self) -> "ReleaseSigner":
        """Signs manifests and the list of releases."""
        from deid_assets.store.signing import ReleaseSigner  # noqa: PLC0415 - not needed before a release

        return ReleaseSigner(self.key)

    @cached_property
    def releases(self) -> "ReleaseFolders":
        """What was released, one folder per batch, with the signed list."""
        from deid_assets.store.publishing import ReleaseFolders  # noqa: PLC0415 - not needed before a release

        settings = self.settings
        return ReleaseFolders(settings.released, record=settings.release_record, signer=self.release_signer)

    @cached_property
    def database(self) -> "Database":
        """The text-free store, migrated to the newest schema."""
        from deid_assets.store.database import Database  # noqa: PLC0415 - SQLModel takes 0.3 s to import

        database = Database(self.settings.sql_url)
        database.upgrade()
        return database

    @cached_property
    def key(self) -> Key:
        """Secret that surrogates are derived from."""
        return self.settings.key()

    @cached_property
    def detectors(self) -> DetectorPool:
        """The installed detectors, loaded by worker processes when they are asked."""
        return DetectorPool(self.taggers.locate, workers=self.settings.workers)

    @cached_property
    def taggers(self) -> TaggerModels:
        """The models that the graph trained."""
        return TaggerModels(self.settings, self.files)

    def is_learnt_from(self, note: Note) -> bool:
        """Whether taggers learn from a note's gold, so that it is in no score."""
        share = self.settings.training_share
        return self.taggers.learns_from_gold and is_drawn_for_training(note, self.key, share=share)

    def close(self) -> None:
        """End what was started. Nothing is opened just to be closed."""
        if "database" in self.__dict__:
            self.__dict__.pop("database").close()


class CorpusResource(dg.ConfigurableResource["Corpus"]):
    """Opens the installation that a settings file describes.

    The file's path is all that Dagster stores and shows. Secrets and database URLs stay in the file and the
    environment.

    Args:
        config_file: TOML settings; the environment's ``DEID_CONFIG``, else the defaults, when empty.
    """

    config_file: str = ""
    _corpus: Corpus | None = PrivateAttr(default=None)

    def open(self) -> Corpus:
        """Return the installation, the same one throughout a run."""
        if self._corpus is None:
            self._corpus = Corpus(Settings.load(Path(self.config_file) if self.config_file else None))
        return self._corpus

    def teardown_after_execution(self, context: dg.InitResourceContext) -> None:  # noqa: ARG002 - Dagster's signature
        """Let go of database connections with the run; worker processes end with this process."""
        if self._corpus is not None:
            self._corpus.close()
            self._corpus = None
