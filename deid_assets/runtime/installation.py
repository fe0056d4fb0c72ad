"""What every asset works with: settings, files, the text-free database, keys and detectors."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

from deid_assets.config import Settings
from deid_assets.core.assets import MAIN, ReleaseAssets
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.plugins import Plugin
from deid_assets.runtime.detectors import DetectorPool
from deid_assets.runtime.snapshot import Snapshot
from deid_assets.runtime.studies import Study
from deid_assets.runtime.taggers import TaggerModels, is_drawn_for_training
from deid_assets.store.files import StoreFiles
from deid_assets.store.withdrawals import StudyWithdrawals, Withdrawals

if TYPE_CHECKING:
    from deid_assets.store.database import Database
    from deid_assets.store.publishing import ReleaseFolders
    from deid_assets.store.signing import ReleaseSigner


class Installation:
    """One installation, opened. Everything is made on first use and lives as long as the run.

    Args:
        settings: How this installation de-identifies.
        snapshot: What this process executes; taken when it is first needed where not given.
    """

    def __init__(self, settings: Settings, *, snapshot: Snapshot | None = None) -> None:
        self.settings = settings
        self._snapshot = snapshot
        self._located: set[str] = set()
        self._studies: dict[str, StudyInstallation] = {}

    @property
    def study(self) -> Study | None:
        """The study that releases; ``None`` for the installation's own release."""
        return None

    @property
    def names(self) -> ReleaseAssets:
        """Names of the assets of the release."""
        return MAIN

    def of_study(self, name: str) -> "Installation":
        """Return the installation as a study has it: its own key and releases, and the store,
        detectors and database of the installation.
        """
        if name not in self._studies:
            self._studies[name] = StudyInstallation(self, self.snapshot.studies[name])
        return self._studies[name]

    @property
    def house(self) -> "Installation":
        """The installation itself, whichever study this is."""
        return self

    @cached_property
    def snapshot(self) -> Snapshot:
        """The snapshot of what this process executes."""
        return self._snapshot or Snapshot.take(self.settings)

    @cached_property
    def files(self) -> StoreFiles:
        """Parquet files with signed receipts."""
        return StoreFiles(self.settings.store, key=self.snapshot.receipt_key)

    @cached_property
    def release_signer(self) -> "ReleaseSigner":
        """Signs manifests and the list of releases."""
        from deid_assets.store.signing import (  # noqa: PLC0415 - not needed before a release
            ReleaseSigner,
        )

        return ReleaseSigner(self.key)

    @cached_property
    def releases(self) -> "ReleaseFolders":
        """The releases, one folder per batch, with the signed list."""
        from deid_assets.intake.withdrawal import (  # noqa: PLC0415 - not needed before a release
            releases_of,
        )

        return releases_of(self.settings, self.files, self.settings.study)

    @property
    def withdrawals(self) -> Withdrawals:
        """The batches that are in no release."""
        return Withdrawals(self.files)

    @cached_property
    def database(self) -> "Database":
        """The text-free store, migrated to the newest schema."""
        from deid_assets.store.database import (  # noqa: PLC0415 - not needed before a release
            Database,
        )

        database = Database(self.settings.sql_url)
        database.upgrade()
        return database

    @property
    def key(self) -> Key:
        """Secret that surrogates are derived from."""
        return self.snapshot.key

    @property
    def plugins(self) -> dict[str, Plugin]:
        """The plugins that detect."""
        return self.snapshot.detectors

    @cached_property
    def detectors(self) -> DetectorPool:
        """The installed detectors, loaded by worker processes at first use."""
        digests = {name: plugin.digest for name, plugin in self.snapshot.installed.items()}
        return DetectorPool(self._locate, workers=self.settings.workers, digests=digests)

    @cached_property
    def taggers(self) -> TaggerModels:
        """The models that the graph trained."""
        snapshot = self.snapshot
        return TaggerModels(
            self.settings, self.files, recipes=snapshot.recipes, plugins=snapshot.installed
        )

    def is_learnt_from(self, note: Note) -> bool:
        """Whether taggers are trained on a note's gold, so that it is in no score."""
        share = self.settings.training_share
        return self.taggers.learns_from_gold and is_drawn_for_training(note, self.key, share=share)

    def check_unchanged(self) -> None:
        """Check that what was executed is what the definitions promised.

        Raises:
            ProvenanceError: Code, or a file that a detector of this run read, changed.
        """
        self.snapshot.check_unchanged(self._located)

    def close(self) -> None:
        """End what was started. Nothing is opened just to be closed."""
        if "database" in self.__dict__:
            self.__dict__.pop("database").close()

    def _locate(self, name: str) -> tuple[str, dict[str, Any]]:
        self._located.add(name)
        return self.taggers.locate(name)


class StudyInstallation(Installation):
    """An installation as a study has it.

    Args:
        house: The installation.
        study: The study.
    """

    def __init__(self, house: Installation, study: Study) -> None:
        super().__init__(house.settings.of_study(study.name), snapshot=house.snapshot)
        self._house, self._own = house, study

    @property
    def study(self) -> Study:
        """The study."""
        return self._own

    @property
    def names(self) -> ReleaseAssets:
        """Names of the study's assets."""
        return ReleaseAssets(self._own.name)

    @property
    def house(self) -> Installation:
        """The installation."""
        return self._house

    @property
    def key(self) -> Key:
        """The study's own key."""
        return self._own.key

    @property
    def withdrawals(self) -> StudyWithdrawals:
        """The batches that are in no release of the study."""
        return StudyWithdrawals(self.files, self._own.name)

    @cached_property
    def files(self) -> StoreFiles:
        """The store of the installation."""
        return self._house.files

    @cached_property
    def release_signer(self) -> "ReleaseSigner":
        """That of the installation, which answers for the releases of all studies."""
        return self._house.release_signer

    @cached_property
    def database(self) -> "Database":
        """That of the installation, which closes it."""
        return self._house.database

    @cached_property
    def detectors(self) -> DetectorPool:
        """The workers of the installation."""
        return self._house.detectors

    @cached_property
    def taggers(self) -> TaggerModels:
        """The models of the installation."""
        return self._house.taggers

    def is_learnt_from(self, note: Note) -> bool:
        """Whether taggers of the installation are trained on a note's gold."""
        return self._house.is_learnt_from(note)

    def check_unchanged(self) -> None:
        """Check that what was executed is what the definitions promised.

        Raises:
            ProvenanceError: It changed.
        """
        self._house.check_unchanged()

    def close(self) -> None:
        """Nothing of its own is open."""
