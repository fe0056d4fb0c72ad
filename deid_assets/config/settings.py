"""Settings: one frozen, typed object from a TOML file and the environment."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PrivateAttr, ValidationError

from deid_assets.config.audited import PrivacySettings
from deid_assets.config.faults import faults_in, read_toml
from deid_assets.config.feeds import FeedSettings, faults_of_feeds
from deid_assets.config.frozen import Frozen, Share
from deid_assets.config.gates import Gates
from deid_assets.config.operation import (
    AlertSettings,
    RetentionSettings,
    WatchSettings,
    faults_of_alerts,
)
from deid_assets.config.releases import (
    ApprovalSettings,
    ReleaseSettings,
    StudySettings,
    faults_of_studies,
    faults_of_study_names,
)
from deid_assets.config.secret import secret_of_environment, secret_of_file, secret_of_home
from deid_assets.config.tables import TableSettings, faults_of_table_names, faults_of_tables
from deid_assets.core.errors import ConfigError, did_you_mean
from deid_assets.core.keys import Key
from deid_assets.core.label_maps import LABEL_MAPS
from deid_assets.core.phi import PROFILES, profile
from deid_assets.core.resolve import POLICIES
from deid_assets.languages import RULES, languages
from deid_assets.own_plugins import DEFAULT_ENSEMBLE
from deid_assets.plugins.environments import set_apart
from deid_assets.system.digests import digest_of_path, paths_in

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,40}$")]
Pool = Annotated[str, Field(pattern=r"^([a-z][a-z0-9_]{0,40})?$")]
Owner = Annotated[str, Field(pattern=r"^(team:[A-Za-z0-9_-]+|[^@\s]+@[^@\s]+)$")]
"""As the Dagster UI shows it: a team or an e-mail address."""


class Batches(Frozen):
    """Limits on the size of a batch.

    Args:
        max_characters: Of all notes of a batch, each counted as 1,000 more. A larger file, folder
            or archive becomes several batches; a patient with more notes than that is a batch of
            their own.
    """

    max_characters: int = Field(default=16_000_000, ge=1)


class BackfillSettings(Frozen):
    """What is made of detectors without anybody asking for it.

    Args:
        launch: ``new``: the spans of batches that lack a detector's; ``upgraded``: those that were
            made by an earlier version, or under other settings. Else they are offered alone.
        only: Detectors that it holds for; all where none is named.
    """

    launch: tuple[Literal["new", "upgraded"], ...] = ()
    only: tuple[Name, ...] = ()


class VaultSettings(Frozen):
    """The vault in which originals are encrypted, so that they can be restored.

    None unless ``url`` is set.

    Args:
        url: SQLAlchemy URL of a database of its own, SQLite or PostgreSQL.
        key_file: File with the vault's keys; the environment's ``DEID_VAULT_KEY`` where not given.
        require_patient: Refuse notes without patient id; else such a note counts as a patient of
            its own.
    """

    url: str = ""
    key_file: Path | None = None
    require_patient: bool = True


class ReadingSettings(Frozen):
    """Options for reading arrivals; a ``batch.toml`` in a dropped folder has the same keys.

    Args:
        format: As ``deid formats`` lists; detected from the files when empty.
        lang: ISO 639-1 code of notes that name no language; detected from their text when empty.
        labels: Label map of the annotations; that of the settings when empty.
        sender: Who sent it: one word, shown wherever batches are listed.
        read: Reading options, as ``--read`` of the command line has them.
    """

    format: str = ""
    lang: Annotated[str, Field(pattern=r"^([a-z]{2})?$")] = ""
    labels: str = ""
    sender: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:@/+-]{0,64}$")] = ""
    read: Mapping[str, Any] = Field(default_factory=dict)


class Settings(Frozen):
    """Settings of an installation.

    Args:
        ensemble: Detectors whose spans are merged, the first with the highest priority. Any other
            installed detector runs in shadow: it is scored and changes no output.
        shadow_sample: Notes of a batch, drawn at random by key, that a detector in shadow runs on;
            0 for all.
        reuse_answers: Whether a detector's stored spans of a note stand for reading it again, while
            neither the note nor the detector changed.
        resolve: Overlap policy.
        policies: Redaction policies that are materialized, by name or path of a policy file.
        release_policy: The one of ``policies`` that is released.
        languages: ISO 639-1 codes that notes may have; those with rules when not given.
        profile: Which categories count as PHI in scores and gates, and under which labels.
        labels: Label map of the gold annotations that arrive with notes.
        redact_gold: Also redact what people annotated and no detector found. Where it is off, a
            note in which some of it is left is withheld.
        detectors: Keyword options per detector; ``environment`` names the virtual environment that
            one runs in, ``plugin`` its plugin where that is called otherwise.
        audits: Keyword options per privacy audit.
        privacy: What the privacy audits are given.
        recipes: Taggers that are trained, by name or path of a recipe; each detects under the
            recipe's name.
        training_share: Of the patients with gold, the share that a recipe with corpus ``gold``
            learns from. Their notes are in no score.
        gates: Limits of the data-quality checks.
        batches: How large a batch may be.
        pools: Detector or recipe to the pool whose slots its runs share, such as ``gpu``; its
            plugin's where not given, and none when empty.
        backfill: What is made of detectors without anybody asking for it.
        intake: How what arrives is read, where nothing else is said.
        feeds: Databases and object stores that new notes are taken from, by name.
        release: What a batch must have before it leaves.
        studies: Releases of their own over the same spans, by name.
        tables: Structured tables of the same patients, released with their notes, by name.
        approvals: How the names of those who approve releases are proved.
        alerts: Who is told of runs that failed, and of checks that stopped a batch.
        watch: When a release is late, what differs from before, and what an hour costs.
        retention: How long what nobody needs any more is kept.
        vault: Where the originals of what is released are sealed, if anywhere.
        owners: Who answers for the assets: ``team:NAME`` or an e-mail address each, shown in the
            Dagster UI.
        workers: Processes that a large batch's detection may use.
        home: Folder for everything that is written.
        suites: Folder of this installation's own suites of expectations; ``suites`` under ``home``
            when not given.
        database_url: SQLAlchemy URL of the text-free store; SQLite under ``home`` when empty.
    """

    ensemble: tuple[Name, ...] = DEFAULT_ENSEMBLE
    shadow_sample: int = Field(default=200, ge=0)
    reuse_answers: bool = True
    resolve: str = "union"
    policies: tuple[str, ...] = ("tag", "surrogate", "safe_harbor")
    release_policy: str = "safe_harbor"
    languages: tuple[Annotated[str, Field(pattern=r"^[a-z]{2}$")], ...] = Field(
        default_factory=lambda: languages(RULES)
    )
    profile: str = "safe_harbor"
    labels: str = "phi"
    redact_gold: bool = True
    detectors: Mapping[Name, Mapping[str, Any]] = Field(default_factory=dict)
    audits: Mapping[Name, Mapping[str, Any]] = Field(default_factory=dict)
    privacy: PrivacySettings = PrivacySettings()
    recipes: tuple[str, ...] = ("crf",)
    training_share: Share = 0.5
    gates: Gates = Gates()
    batches: Batches = Batches()
    pools: Mapping[Name, Pool] = Field(default_factory=dict)
    backfill: BackfillSettings = BackfillSettings()
    intake: ReadingSettings = ReadingSettings()
    feeds: Mapping[Name, FeedSettings] = Field(default_factory=dict)
    release: ReleaseSettings = ReleaseSettings()
    studies: Mapping[str, StudySettings] = Field(default_factory=dict)
    tables: Mapping[str, TableSettings] = Field(default_factory=dict)
    approvals: ApprovalSettings = ApprovalSettings()
    alerts: AlertSettings = AlertSettings()
    watch: WatchSettings = WatchSettings()
    retention: RetentionSettings = RetentionSettings()
    vault: VaultSettings = VaultSettings()
    owners: tuple[Owner, ...] = ()
    workers: int = Field(default=2, ge=1)
    home: Path = Path(".deid")
    suites: Path | None = None
    database_url: str = ""
    _study: str = PrivateAttr(default="")

    @classmethod
    def load(cls, path: Path | None = None) -> Settings:
        """Return the settings of a TOML file, overridden by the environment.

        ``DEID_CONFIG`` names the file, ``DEID_HOME`` and ``DEID_DATABASE_URL`` replace two of its
        values. With no file, the defaults hold.

        Raises:
            ConfigError: The file is missing, is not TOML, or has a key or value that is not
                allowed.
        """
        path = path or (Path(os.environ["DEID_CONFIG"]) if os.environ.get("DEID_CONFIG") else None)
        values = read_toml(path) if path else {}
        for variable, name in (("DEID_HOME", "home"), ("DEID_DATABASE_URL", "database_url")):
            if os.environ.get(variable):
                values[name] = os.environ[variable]
        return cls.of(values, lambda fault: f"{path or 'settings'}: {fault}")

    @classmethod
    def of(cls, values: Mapping[str, Any], shown: Callable[[str], str]) -> Settings:
        """Return the settings of some values.

        Args:
            values: By name.
            shown: Puts before a fault where the values are from.

        Raises:
            ConfigError: With a line for each key or value that is not allowed.
        """
        names = (
            *faults_of_study_names(values.get("studies")),
            *faults_of_table_names(values.get("tables")),
        )
        if names:
            raise ConfigError("\n".join(map(shown, names)))
        try:
            settings = cls.model_validate(values)
        except ValidationError as error:
            raise ConfigError("\n".join(map(shown, faults_in(error, cls)))) from None
        if faults := [shown(fault) for fault in _faults_of_names(settings)]:
            raise ConfigError("\n".join(faults))
        return settings

    @property
    def study(self) -> str:
        """Study whose settings these are; empty for those of the installation."""
        return self._study

    def of_study(self, name: str) -> Settings:
        """Return the settings as a study has them: its policy, conditions, key and folder of
        releases; all else is the installation's.
        """
        study = self.studies[name]
        release = (study.release or self.release).model_copy(update={"shuffle": True})
        found = self.model_copy(update={"release_policy": study.policy, "release": release})
        found._study = name  # noqa: SLF001 - of a copy of this very object
        return found

    @property
    def landing(self) -> Path:
        """Folder where new files are dropped."""
        return self.home / "landing"

    @property
    def suites_folder(self) -> Path:
        """Folder of this installation's own suites of expectations, which may be missing."""
        return self.suites or self.home / "suites"

    @property
    def store(self) -> Path:
        """Root of the Parquet files and receipts."""
        return self.home / "store"

    @property
    def dagster_home(self) -> Path:
        """The Dagster instance's folder: ``DAGSTER_HOME`` if set, else under ``home``."""
        return Path(os.environ.get("DAGSTER_HOME") or self.home / "dagster").absolute()

    @property
    def released(self) -> Path:
        """Folder of the released corpora, one per batch."""
        return self.release_folder(self._study)

    def release_folder(self, study: str) -> Path:
        """Return the folder of a study's released corpora; of the installation's own where none is
        named.
        """
        return self.studies_folder / study / "released" if study else self.home / "released"

    @property
    def studies_folder(self) -> Path:
        """Folder of the studies' releases."""
        return self.home / "studies"

    @property
    def release_record(self) -> Path:
        """The house's own copy of the list of releases."""
        return self.release_record_of(self._study)

    def release_record_of(self, study: str) -> Path:
        """Return the house's own copy of the list of a study's releases."""
        name = f"releases-{study}.json" if study else "releases.json"
        return self.store / "published" / name

    @property
    def reports(self) -> Path:
        """Folder of the HTML reports."""
        return self.home / "reports"

    @property
    def sql_url(self) -> str:
        """URL of the text-free store."""
        return self.database_url or f"sqlite:///{(self.home / 'deid.sqlite').absolute()}"

    def secret(self) -> bytes:
        """Return the secret of ``DEID_KEY``, else of ``home/secret.key``, which is made when
        absent.

        Raises:
            ConfigError: It is not hexadecimal, too short or all zeros, or others may read the file.
        """
        return secret_of_environment() or secret_of_home(self.home)

    def key(self) -> Key:
        """Return the key that surrogates are derived from; a study has its own."""
        if not self._study:
            return self.house_key()
        path = self.studies[self._study].key_file
        if path is None:
            return Key(self.house_key().derive("study", self._study))
        return Key(
            secret_of_file(
                path,
                absent="write one with `openssl rand -hex 32`",
                wrong="restore the file, since another key gives other ids",
            )
        )

    def house_key(self) -> Key:
        """Return the key of the installation, whichever study these settings are of."""
        return Key(self.secret())

    def receipt_key(self) -> bytes:
        """Return the key that receipts are signed with, derived from the same secret."""
        return self.house_key().derive("receipts")

    def digest(self, *names: str) -> str:
        """Return a short digest of the named settings, for code versions."""
        values = self.model_dump(mode="json", include=set(names))
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:12]

    def digest_of_detector(self, name: str) -> str:
        """Return a short digest of one detector's options, and of what the files and folders they
        name hold.

        Raises:
            ConfigError: One of them cannot be read.
        """
        options = self.detectors.get(name, {})
        try:
            # What an environment holds is in the digest of the plugin there.
            own = set_apart(options)[1]
            contents = [digest_of_path(path) for path in paths_in(own)]
        except OSError as error:
            raise ConfigError(
                f"detectors.{name}: {error.filename} cannot be read ({error.strerror})"
            ) from None
        named = json.dumps([options, contents], sort_keys=True, default=str)
        return hashlib.sha256(named.encode()).hexdigest()[:12]


def _faults_of_names(settings: Settings) -> Iterator[str]:
    """Yield the names that nothing answers to.

    A gate on a label that never occurs would never close.
    """
    for key, name, known in (
        ("labels", settings.labels, LABEL_MAPS.keys()),
        ("profile", settings.profile, PROFILES.keys()),
        ("resolve", settings.resolve, POLICIES),
    ):
        if name not in known:
            yield (
                f"{key}: there is no {name!r}{did_you_mean(name, known)}; choose one of"
                f" {', '.join(known)}"
            )
    if settings.profile in PROFILES:
        labels = {"ALL", *profile(settings.profile).labels.values()}
        for gate in ("recall", "recall_lower_bound", "canary_recall"):
            others = {*settings.languages} if gate == "canary_recall" else set[str]()
            for name in sorted(getattr(settings.gates, gate).keys() - labels - others):
                yield (
                    f"gates.{gate}.{name}: not a label of profile"
                    f" {settings.profile!r}{did_you_mean(name, labels)}; choose of"
                    f" {', '.join(sorted(labels))}"
                )
    if settings.approvals.login_header and settings.approvals.login_secret is None:
        yield (
            "approvals.login_header: whoever reaches the web server could send it; name in"
            " approvals.login_secret the file of a secret that the proxy sends as X-Deid-Proxy"
        )
    if settings.vault.url and settings.vault.url == settings.sql_url:
        yield "vault.url is the database of the catalogue; give the vault one of its own"
    yield from faults_of_feeds(settings.feeds)
    yield from faults_of_alerts(settings.alerts)
    yield from faults_of_studies(settings.studies)
    yield from faults_of_tables(settings.tables, settings.studies)
    if settings.release_policy not in settings.policies:
        yield f"release_policy {settings.release_policy!r} is not in policies; add it there"
