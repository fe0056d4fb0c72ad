# noqa: INP001 - a script of its own
"""A submission to a site: reads notes from standard input, writes what the detector ``rules`` finds."""

import json
import sys

from deid_assets import Failed, Note, deidentify_notes

asked = [json.loads(line) for line in sys.stdin]
notes = [Note(one["id"], one["text"], lang=one["lang"]) for one in asked]
for one, found in zip(notes, deidentify_notes(notes, policy="tag", detectors=["rules"]), strict=True):
    edits = [] if isinstance(found, Failed) else found.edits
    spans = [{"start": edit.start, "end": edit.end, "label": edit.label.value} for edit in edits]
    sys.stdout.write(json.dumps({"id": one.note_id, "spans": spans}) + "\n")
