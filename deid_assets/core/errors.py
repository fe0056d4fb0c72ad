"""Every error the package raises on purpose.

::

    DeidError
    ├── InputError(ValueError)        a file, a row or an option the user can mend
    │   ├── ConfigError               a setting or policy file
    │   └── UnknownLabelError         a label that no label map knows
    ├── NoteError(ValueError)         a note that breaks a promise of ``Note``
    ├── OffsetError(ValueError)       a span that is empty, reversed or out of bounds
    ├── DigestError(ValueError)       spans that were made for another text
    ├── OverlapError(ValueError)      spans that overlap where they must not
    ├── DetectorError                 a detector that broke its contract
    ├── PluginError                   a plugin that is missing, doubled or does not load
    ├── TrainingError                 a training run that cannot give a model
    ├── PolicyError(ValueError)       a redaction policy that cannot be carried out
    └── ProvenanceError               a stored file that is missing, altered or not approved

Messages name the note, the fault and the remedy. They show ids, labels and offsets, never note text.
"""

from __future__ import annotations


class DeidError(Exception):
    """Root of the errors raised on purpose."""


class InputError(DeidError, ValueError):
    """The user's file, row or option is wrong; the message says where and what would be right."""


class ConfigError(InputError):
    """A setting or policy file is wrong."""


class UnknownLabelError(InputError):
    """A label appears in no label map."""


class NoteError(DeidError, ValueError):
    """A note has no usable id or text."""


class OffsetError(DeidError, ValueError):
    """A span is empty, reversed or out of the note's bounds."""


class DigestError(DeidError, ValueError):
    """Spans are applied to a text they were not made for."""


class OverlapError(DeidError, ValueError):
    """Spans overlap where disjoint spans are required."""


class DetectorError(DeidError):
    """A detector returned something its contract forbids."""


class PluginError(DeidError):
    """A plugin is missing, named twice or fails to load."""


class TrainingError(DeidError):
    """A training run cannot go on; the message says which setting or corpus to change."""


class PolicyError(DeidError, ValueError):
    """A redaction policy cannot be carried out."""


class ProvenanceError(DeidError):
    """A stored file is missing, altered, out of date or not approved."""
