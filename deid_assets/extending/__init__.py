"""All of this package that a plugin may import, beside the names of ``deid_assets`` itself.

Here: the domain, which detectors and trainers are written in, on the standard library alone.
``blas``: products of matrices on one thread.
``decoding``: from the scores of a tagger to its tags. ``lists``, ``numbers`` and ``identities``:
what detectors look up. ``formats``: what a format of notes is made of. ``files``: files written
whole. ``measuring``: ranges of characters and measures. ``corpora`` and ``drawing``: annotated
notes and plots, for programs of a plugin's own. ``replacing``: what an action of a policy is made
of. ``commands``: what commands of ``deid`` are made of. ``taggers``: trained models, for what
analyses them; ``pages``: pages of a plugin's own templates; ``scoring``: scores, and what pages on
them are made of. ``edits``: redaction and its edit maps. ``serving``: the whole pipeline, for
servers and other doors to it. ``reviewing``: batches that people review, and the way back for
annotations. ``languages``: the folders of languages. ``grammars``: lists that
synthetic notes are written from. An import contract keeps
plugins to these; ``deid_assets.testing`` is for their tests.
"""

from deid_assets.core.detector import (
    Detector,
    Failed,
    ProbabilitySource,
    WordLabels,
    detect,
    is_interrupt,
    pause_collector,
    runs_of,
)
from deid_assets.core.errors import (
    ConfigError,
    DeidError,
    DetectorError,
    DigestError,
    InputError,
    NoteError,
    OffsetError,
    OverlapError,
    PluginError,
    PolicyError,
    TrainingError,
    UnknownLabelError,
    class_name,
    did_you_mean,
)
from deid_assets.core.label_maps import LABEL_MAPS, PHI, label_map
from deid_assets.core.note import Note, chunks_of
from deid_assets.core.phi import MEDDOCAN, SEVERITY, LabelMap, Phi, Profile, profile
from deid_assets.core.span import DisjointSpans, Span, SpanSet, check_same_text
from deid_assets.core.tagging import (
    OUTSIDE,
    TOKEN,
    Grouping,
    TagScheme,
    Token,
    decode,
    encode,
    entities,
    grouping_for,
    limit_lengths,
    read_grouping,
    sentences,
    tag_set,
    tokenize,
)
from deid_assets.core.trainer import Document, Epoch, Report, Tagged, Task, inputs, label_ranges
from deid_assets.core.windows import Window, windows
from deid_assets.own_plugins import remedy
from deid_assets.plugins import load

__all__ = [
    "LABEL_MAPS",
    "MEDDOCAN",
    "OUTSIDE",
    "PHI",
    "SEVERITY",
    "TOKEN",
    "ConfigError",
    "DeidError",
    "Detector",
    "DetectorError",
    "DigestError",
    "DisjointSpans",
    "Document",
    "Epoch",
    "Failed",
    "Grouping",
    "InputError",
    "LabelMap",
    "Note",
    "NoteError",
    "OffsetError",
    "OverlapError",
    "Phi",
    "PluginError",
    "PolicyError",
    "ProbabilitySource",
    "Profile",
    "Report",
    "Span",
    "SpanSet",
    "TagScheme",
    "Tagged",
    "Task",
    "Token",
    "TrainingError",
    "UnknownLabelError",
    "Window",
    "WordLabels",
    "check_same_text",
    "chunks_of",
    "class_name",
    "decode",
    "detect",
    "did_you_mean",
    "encode",
    "entities",
    "grouping_for",
    "inputs",
    "is_interrupt",
    "label_map",
    "label_ranges",
    "limit_lengths",
    "load",
    "pause_collector",
    "profile",
    "read_grouping",
    "remedy",
    "runs_of",
    "sentences",
    "tag_set",
    "tokenize",
    "windows",
]
