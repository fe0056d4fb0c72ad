"""A Dagster component: an installation in somebody's own project, in a few lines of YAML."""

import inspect
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import dagster as dg
from dagster.components.component_scaffolding import scaffold_component
from pydantic import BaseModel, Field, create_model

from deid_assets.assets.notes_table import NotesTable
from deid_assets.config import Gates, Settings
from deid_assets.core.errors import ConfigError
from deid_assets.defs.build import Sharing, build_shared_definitions
from deid_assets.defs.placing import SEPARATOR, Events, check_prefix
from deid_assets.own_plugins import DEFAULT_ENSEMBLE
from deid_assets.runtime.settings_record import SettingsSource

TYPE = "deid_assets.DeidPipelineComponent"
OF_ALL_LABELS = ("recall", "recall_lower_bound")
"""Gates that are a limit per label; a number alone is the limit of all labels together."""

CALLED = {"ensemble": "detectors", "policies": "policy", "release_policy": "policy"}
"""Settings that are an attribute under another name."""
ATTRIBUTES = {**CALLED, "gates": "gates", "home": "home"}
"""Settings that an attribute says, so that ``settings`` must not."""
NAMES = {name: ATTRIBUTES.get(name, f"settings.{name}") for name in Settings.model_fields}
"""Settings to what they are called in the file."""


def _describe(name: str, description: str, examples: Sequence[Any] = ()) -> dg.Resolver:
    """Return how an attribute is read, with what an editor shows of it."""
    resolver: dg.Resolver = dg.Resolver.default(
        model_field_name=name, description=description, examples=list(examples) or None
    )
    return resolver


def _argument_texts(model: type[BaseModel]) -> dict[str, str]:
    """Return the descriptions of a model's fields, from ``Args`` of its docstring."""
    _, _, arguments = (inspect.getdoc(model) or "").partition("Args:\n")
    found = re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", arguments, re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in found}


def _gates_model() -> type[BaseModel]:
    """Return the gates as an editor sees them: each optional, with its description."""
    texts = _argument_texts(Gates)
    fields: dict[str, Any] = {}
    for name, info in Gates.model_fields.items():
        kind: Any = info.annotation
        if name in OF_ALL_LABELS:
            kind = float | kind
        fields[name] = (kind | str | None, Field(default=None, description=texts.get(name)))
    return create_model("GatesModel", __base__=dg.Model, **fields)


def _gates_of(context: dg.ResolutionContext, gates: BaseModel) -> dict[str, Any]:
    """Return the gates that the YAML names, a number alone as the limit of all labels."""
    given = {
        name: context.resolve_value(value)
        for name, value in gates.model_dump(exclude_unset=True).items()
    }
    return _for_all_labels(given)


def _for_all_labels(gates: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: {"ALL": value} if name in OF_ALL_LABELS and not isinstance(value, Mapping) else value
        for name, value in gates.items()
    }


class NotesAttributes(dg.Model, dg.Resolvable):
    """A table of notes that an asset of the project holds, and which of its columns is what."""

    asset: Annotated[
        str,
        _describe("asset", "Key of the asset, its parts joined by slashes.", ["warehouse/notes"]),
    ]
    id: Annotated[
        str, _describe("id", "Column of the note's id; every row has its own.", ["note_id"])
    ]
    text: Annotated[str, _describe("text", "Column of the note's text.", ["note_text"])]
    patient: Annotated[
        str,
        _describe(
            "patient",
            "Column of the patient's id: notes of one patient get the same surrogates and shifts."
            " Without it every note stands alone.",
            ["person_id"],
        ),
    ] = ""
    lang: Annotated[
        str,
        _describe(
            "lang", "Column of the ISO 639-1 code; without it the language is detected.", ["lang"]
        ),
    ] = ""


class ScaffoldOptions(BaseModel):
    """Options of ``dg scaffold defs``."""

    notes: str | None = Field(
        default=None,
        description="Asset with a table of notes, such as warehouse/notes; else a landing folder.",
    )
    id: str = Field(default="note_id", description="Its column of note ids.")
    text: str = Field(default="note_text", description="Its column of texts.")
    patient: str = Field(default="person_id", description="Its column of patient ids.")


class DeidPipelineScaffolder(dg.Scaffolder[ScaffoldOptions]):
    """Writes a ``defs.yaml`` that loads and runs."""

    @classmethod
    def get_scaffold_params(cls) -> type[ScaffoldOptions]:
        """Return the options of the command."""
        return ScaffoldOptions

    def scaffold(self, request: dg.ScaffoldRequest[ScaffoldOptions]) -> None:
        """Write the file, with a key prefix after its folder."""
        if request.scaffold_format == "python" or request.append:
            scaffold_component(request, {})
            return
        folder = re.sub(r"[^A-Za-z0-9]+", "_", request.target_path.name).strip("_")
        prefix = folder if re.match(r"[A-Za-z]", folder) else f"deid_{folder}".strip("_")
        options = request.params
        lines = [f"type: {request.type_name.replace('deid_assets.component.', 'deid_assets.')}"]
        lines += ["attributes:"]
        if options.notes:
            lines.append(
                f"  notes: {{asset: {options.notes}, id: {options.id}, text: {options.text},"
                f" patient: {options.patient}}}"
            )
        lines += [f"  key_prefix: [{prefix}]", "  automation: eager"]
        (request.target_path / "defs.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")


@dg.scaffold_with(DeidPipelineScaffolder)
class DeidPipelineComponent(dg.Component, dg.Model, dg.Resolvable):
    """Turns notes of the project into a released, de-identified corpus, with gates and receipts.

    Its assets end in ``released_corpus`` under the key prefix. Override ``get_asset_spec`` to
    change what Dagster shows of an asset, and ``execute`` to do something around each step.
    """

    notes: Annotated[
        NotesAttributes | None,
        _describe(
            "notes",
            "Table of notes that an asset of this project holds. Without it, notes are dropped into"
            " the folder landing of the home.",
            [{"asset": "warehouse/notes", "id": "note_id", "text": "note_text"}],
        ),
    ] = None
    key_prefix: Annotated[
        str | list[str],
        _describe(
            "key_prefix",
            "Parts before the name of each asset. Two installations have two prefixes.",
            [["clinic_a", "deid"]],
        ),
    ] = Field(default_factory=lambda: ["deid"])
    detectors: Annotated[
        list[str],
        _describe(
            "detectors",
            "Detectors whose spans are merged and redacted, the one with the highest priority"
            f" first; {', '.join(DEFAULT_ENSEMBLE)} when not given. `deid detectors` lists them.",
            [["rules", "known_identity"]],
        ),
    ] = Field(default_factory=lambda: list(DEFAULT_ENSEMBLE))
    scored: Annotated[
        list[str],
        _describe(
            "scored",
            "Detectors that are scored beside these, and change no output.",
            [["presidio"]],
        ),
    ] = Field(default_factory=list)
    policy: Annotated[
        str,
        _describe(
            "policy",
            "What stands for each category: a redaction policy by name, or the path of its file.",
            ["safe_harbor", "tag", "surrogate"],
        ),
    ] = "safe_harbor"
    gates: Annotated[
        dict[str, Any],
        dg.Resolver(
            _gates_of,
            model_field_type=_gates_model(),
            description=(
                "Limits that stop a batch. A number for recall or recall_lower_bound is the limit"
                " of all labels together."
            ),
            examples=[{"recall_lower_bound": 0.98}],
        ),
    ] = Field(default_factory=dict)
    automation: Annotated[
        Literal["manual", "eager", "host"],
        _describe(
            "automation",
            "manual: nothing runs until its sensors are switched on. eager: what arrives flows down"
            " by itself, past nothing that failed. host: likewise, and an automation sensor of this"
            " project evaluates the conditions.",
        ),
    ] = "manual"
    home: Annotated[
        str | None,
        _describe(
            "home",
            "Folder for everything that is written, from the project's root; .deid/PREFIX when not"
            " given. No two installations share one.",
        ),
    ] = None
    settings: Annotated[
        dict[str, Any],
        _describe(
            "settings",
            "Any other setting of deid.toml, under its name.",
            [{"languages": ["en"], "release": {"require": "none"}}],
        ),
    ] = Field(default_factory=dict)

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Return the graph.

        Raises:
            ConfigError: An attribute is wrong; the message names it.
        """
        where = _where(context)
        try:
            prefix = check_prefix(self.key_prefix)
        except ConfigError as error:
            raise ConfigError(f"{where}: {error}") from None
        if not prefix:
            raise ConfigError(f"{where}: key_prefix: is empty; name a part, such as [deid]")
        source = SettingsSource(f"the key prefix {'/'.join(prefix)}", where, NAMES)
        settings = self._settings(context, prefix, source)
        return build_shared_definitions(settings, self._sharing(prefix, settings, source))

    def _sharing(
        self, prefix: tuple[str, ...], settings: Settings, source: SettingsSource
    ) -> Sharing:
        return Sharing(
            key_prefix=prefix,
            table=NotesTable(**self.notes.model_dump()) if self.notes else None,
            is_on=self.automation != "manual",
            is_evaluated=self.automation != "host",
            execute=self.execute,
            spec_of=self.get_asset_spec,
            source=source,
            # A recipe may need any plugin.
            only=None if settings.recipes else {*self.detectors, *self.scored},
        )

    def get_asset_spec(self, spec: dg.AssetSpec) -> dg.AssetSpec:
        """Return what Dagster shows of an asset; the key stays."""
        return spec

    def execute(self, _context: dg.AssetExecutionContext, events: Events) -> Events:
        """Run a step: the work begins with the first event that is taken, and holds no text."""
        yield from events

    def _settings(
        self, context: dg.ComponentLoadContext, prefix: Sequence[str], source: SettingsSource
    ) -> Settings:
        """Return the settings that the attributes make.

        Raises:
            ConfigError: With a line for each fault.
        """
        if faults := [
            f"{source.where}: settings.{name}: is said by the attribute {ATTRIBUTES[name]!r};"
            " move it there"
            for name in self.settings
            if name in ATTRIBUTES
        ]:
            raise ConfigError("\n".join(faults))
        values = {
            "recipes": (),
            **self.settings,
            "ensemble": self.detectors,
            "policies": (self.policy,),
            "release_policy": self.policy,
            "gates": _for_all_labels(self.gates),
            "home": self._home(context, prefix),
        }
        return Settings.of(values, source.show)

    def _home(self, context: dg.ComponentLoadContext, prefix: Sequence[str]) -> Path:
        if self.home:
            return context.project_root / self.home
        homes = context.project_root / ".deid"
        homes.mkdir(parents=True, exist_ok=True)
        ignore = homes / ".gitignore"
        if not ignore.exists():
            ignore.write_text("# Holds notes.\n*\n")
        return homes / SEPARATOR.join(prefix)


def _where(context: dg.ComponentLoadContext) -> str:
    """Return the file of the component, from the project's root."""
    file = context.path / "defs.yaml" if context.path.is_dir() else context.path
    if file.is_relative_to(context.project_root):
        return file.relative_to(context.project_root).as_posix()
    return file.as_posix()
