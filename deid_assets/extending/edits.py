"""Redaction and its edit maps, for commands that go on from redacted notes."""

from deid_assets.cli.notes.redaction import Redaction, StoredSpans, key_of_edits
from deid_assets.config.secret import secret_of_environment
from deid_assets.core.errors import PolicyError, ProvenanceError
from deid_assets.core.keys import Key
from deid_assets.core.redact import Context, Policy, Redacted, redact
from deid_assets.core.resolve import Ensemble, resolve
from deid_assets.edits.causes import Change
from deid_assets.edits.diff import compare
from deid_assets.edits.files import (
    EditsFile,
    check_suffix,
    read_edits,
    read_lines,
    write_edit_map,
    writing_edits,
)
from deid_assets.edits.maps import EditMap, MadeBy, Replaced, digest_of, edit_map, mark
from deid_assets.pipeline.batch import Batch
from deid_assets.policies import load_policy
from deid_assets.store.sealing import DigestSeal
from deid_assets.system.atomic import atomic_file

__all__ = [
    "Batch",
    "Change",
    "Context",
    "DigestSeal",
    "EditMap",
    "EditsFile",
    "Ensemble",
    "Key",
    "MadeBy",
    "Policy",
    "PolicyError",
    "ProvenanceError",
    "Redacted",
    "Redaction",
    "Replaced",
    "StoredSpans",
    "atomic_file",
    "check_suffix",
    "compare",
    "digest_of",
    "edit_map",
    "key_of_edits",
    "load_policy",
    "mark",
    "read_edits",
    "read_lines",
    "redact",
    "resolve",
    "secret_of_environment",
    "write_edit_map",
    "writing_edits",
]
