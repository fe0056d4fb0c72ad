"""A changed policy is carried out from the stored spans.

In parts, by any number of workers, with everything counted.
"""

import pyarrow as pa
import pytest

from deid_assets.assets import parts as parts_module
from deid_assets.assets.parts import NoteTables, parts_of
from deid_assets.assets.redaction import make_redacted_notes
from deid_assets.assets.workers import originals_in, redact_part
from deid_assets.core.errors import InputError, ProvenanceError
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.span import DisjointSpans, Span
from deid_assets.policies import load_policy
from deid_assets.runtime.processes import end_workers
from deid_assets.store.files import UnsignedReceipt
from deid_assets.store.frames import failed_to_table, notes_to_table, spans_to_tables

pytestmark = pytest.mark.long

BEFORE = ("raw_notes", "gold_annotations", "spans_stencil", "merged_spans")
PADDING = "The wound is clean and dry. " * 2_500


def made(*, size=12, padding=""):
    """Notes of three patients in turn and one of nobody, with their spans."""
    notes, spans = [], []
    for n in range(size):
        person = f"Zed{'abc'[n % 3]}marlow"
        text = f"{person}, record {4_000_000 + n}, telephone 617-555-01{n:02}. {padding}"
        notes.append(Note(f"note-{n}", text, None if n == 5 else f"patient-{n % 3}", "en"))
        places = [
            (person, Phi.NAME),
            (str(4_000_000 + n), Phi.MRN),
            (f"617-555-01{n:02}", Phi.PHONE),
        ]
        found = [
            Span(text.index(value), text.index(value) + len(value), label)
            for value, label in places
        ]
        spans.append(DisjointSpans.of(notes[-1], found))
    return notes, spans


def part_of(notes, spans, gold=()):
    return NoteTables(
        notes_to_table(notes), spans_to_tables(spans), failed_to_table([]), spans_to_tables(gold)
    )


def write_policy(installation, text, *, more=""):
    path = installation.root / "mine.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"name = 'mine'\n{text}")
    settings = installation.default_settings.replace('["tag", "blackout"]', f"['tag', '{path}']")
    installation.configure(more + settings)
    return load_policy(str(path))


def change_policy(installation, records, text, *, more=""):
    """Take in a batch, and redact it anew under another policy."""
    installation.configure(more + installation.default_settings)
    batch = installation.receive(records)
    assert installation.failures(installation.run(batch, *BEFORE)) == {}
    write_policy(installation, text, more=more)
    return batch, installation.failures(installation.run(batch, "redacted_notes_mine"))


# Counts and refusals


def test_actions_that_could_not_be_carried_out_are_in_the_receipt_of_the_batch(
    installation, note_record
):
    records = [
        note_record(n, "Seen {}.", person=f"Zed{'abcd'[n]}marlow", record=4_000_000 + n)
        for n in range(4)
    ]
    for record, date in zip(
        records,
        ("3 May 2021", "31 February 2021", "the day of the storm", "4 May 2021"),
        strict=True,
    ):
        record["text"] = record["text"].replace("{}", date)
        at = record["text"].index(date)
        record["spans"].append({"start": at, "end": at + len(date), "label": "DATE"})

    gates = "recall_lower_bound = {}\nrecall = {}\nnotes_covered_lower_bound = 0\n"
    installation.default_settings += gates
    batch, failures = change_policy(
        installation, records, "[actions]\nDATE = { action = 'shift', max_days = 30 }\n"
    )

    assert failures == {}
    counts = installation.opened().files.receipt("redacted_notes_mine", batch).counts
    assert (counts["notes"], counts["edits"]) == (4, 12)
    assert (counts["fallbacks"], counts["fallbacks_DATE"]) == (2, 2)
    texts = (
        installation.opened()
        .files.read("redacted_notes_mine", batch, "notes")
        .column("text")
        .to_pylist()
    )
    assert ["[DATE]" in text for text in texts] == [False, True, True, False]
    assert not any("2021" in text and "May" in text for text in texts[1:3])


def test_a_language_without_a_pack_stops_the_batch_with_one_line_and_stores_nothing(
    installation, note_records
):
    records = [
        {**record, "lang": "hu" if n == 3 else "en"}
        for n, record in enumerate(note_records(gold=False))
    ]
    installation.default_settings = installation.default_settings.replace('["en"]', '["en", "hu"]')

    batch, failures = change_policy(installation, records, "default = 'surrogate'\n")

    (message,) = failures.values()
    assert "hu" in message
    assert "PolicyError" in message
    assert "\n" not in message
    with pytest.raises(ProvenanceError, match="never written"):
        installation.opened().files.receipt("redacted_notes_mine", batch)


def test_notes_of_another_language_that_are_withheld_anyway_stop_nothing(
    installation, note_records
):
    """The detector fails on the one note in a language without a pack."""
    records = [
        {**record, "lang": "hu" if n == 3 else "en"}
        for n, record in enumerate(note_records(gold=False))
    ]
    installation.default_settings = installation.default_settings.replace(
        '["en"]', '["en", "hu"]'
    ).replace("[gates]\n", "[gates]\nquarantined = 0.5\n")
    installation.default_settings += (
        f'[detectors.stencil]\nraise_on = "{records[3]["text"][:12]}"\n'
    )

    batch, failures = change_policy(installation, records, "default = 'surrogate'\n")

    assert failures == {}
    assert installation.opened().files.receipt("redacted_notes_mine", batch).counts["withheld"] == 1


def test_hits_of_an_ensemble_that_sees_more_now_are_covered_in_the_whole_batch(
    installation, note_records
):
    """The stored spans lack the record numbers.

    The draw of two notes shows it, and all are searched.
    """
    installation.default_settings = installation.default_settings.replace(
        "[gates]\n", "[gates]\nquarantined = 1\nresidual_sample = 2\nresidual = 0.9\n"
    )
    settings = installation.default_settings
    installation.default_settings = settings + '[detectors.stencil]\nskip = "MRN"\n'
    installation.configure(installation.default_settings)
    batch = installation.receive(note_records(gold=False))
    assert installation.failures(installation.run(batch, *BEFORE)) == {}

    installation.configure(settings)
    assert installation.failures(installation.run(batch, "redacted_notes_tag")) == {}

    receipt = installation.opened().files.receipt("redacted_notes_tag", batch)
    assert (receipt.counts["notes"], receipt.counts["withheld"]) == (8, 0)
    assert receipt.verdicts["no_residual_hits"]["counts"]["notes_searched"] == 8
    assert receipt.verdicts["no_residual_hits"]["counts"]["drawn_with_hits"] == 2


# Parts


def test_all_notes_of_a_patient_are_in_one_part_and_every_note_is_in_one(monkeypatch):
    monkeypatch.setattr(parts_module, "PART_CHARS", 100)
    notes, spans = made()

    parts = parts_of(part_of(notes, spans, gold=spans[:4]))

    ids = [part.notes.column("note_id").to_pylist() for part in parts]
    assert sorted(note_id for of_part in ids for note_id in of_part) == sorted(
        note.note_id for note in notes
    )
    assert len(parts) == 4
    for part in parts:
        assert len(set(part.notes.column("patient_id").to_pylist())) == 1
        assert (
            part.merged[0].column("note_id").to_pylist() == part.notes.column("note_id").to_pylist()
        )
        assert set(part.merged[1].column("note_id").to_pylist()) == set(
            part.notes.column("note_id").to_pylist()
        )


def test_spans_of_a_note_that_their_table_lacks_are_an_error():
    notes, spans = made()
    whole = part_of(notes, spans)
    short = (whole.merged[0].slice(1), whole.merged[1])

    with pytest.raises(InputError, match="lacks"):
        parts_of(NoteTables(whole.notes, short, whole.failed, whole.gold))


def test_a_note_without_stored_spans_is_withheld_and_never_left_as_it_is(installation):
    notes, spans = made()
    (part,) = parts_of(part_of(notes, spans[1:]))

    done = redact_part(
        part, policy=load_policy("tag"), settings=installation.settings(), originals=()
    )

    assert done.failed.to_pylist() == [
        {"note_id": "note-0", "stage": "resolve", "error": "Missing"}
    ]
    assert "note-0" not in done.notes.column("note_id").to_pylist()


def test_a_value_known_from_one_note_is_sought_in_every_note_of_its_patient(installation):
    notes, spans = made()
    # its name is not among the spans, as in notes 0, 6, 9
    spans[3] = DisjointSpans.of(notes[3], spans[3].spans[1:])
    (part,) = parts_of(part_of(notes, spans))

    done = redact_part(
        part, policy=load_policy("tag"), settings=installation.settings(), originals=()
    )

    assert done.failed.to_pylist() == [
        {"note_id": "note-3", "stage": "verify", "error": "surviving-value"}
    ]


def test_what_no_surrogate_may_be_are_values_of_all_notes(installation):
    notes, spans = made()
    (part,) = parts_of(
        part_of(notes[:1], spans[:1], gold=[DisjointSpans.of(notes[0], spans[0].spans[:1])])
    )

    found = originals_in(part, policy=load_policy("surrogate"), settings=installation.settings())

    assert "4000000" in found
    assert "617 555 0100" in found
    assert "4000001" not in found


# Workers


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["surrogate", "safe_harbor"])
def test_several_workers_write_the_bytes_that_one_process_writes(installation, policy):
    notes, spans = made(padding=PADDING)
    gold = [
        DisjointSpans.of(note, found.spans[:1])
        for note, found in zip(notes[:3], spans, strict=False)
    ]
    batch = part_of(notes, spans, gold)
    assert len(parts_of(batch)) > 2
    written = []
    for workers in (1, 2):
        installation.configure(f"workers = {workers}\n" + installation.default_settings)
        opened = installation.opened()
        store(opened, batch)
        draft = make_redacted_notes("b-1", opened, policy=load_policy(policy))
        receipt = opened.files.write(
            "redacted_notes_x", "b-1", draft.tables, receipt=UnsignedReceipt("test")
        )
        written.append(
            (
                receipt.outputs,
                dict(draft.counts),
                [dict(verdict.counts) for verdict in draft.verdicts],
            )
        )
        opened.close()
    end_workers()

    assert written[0] == written[1]
    assert written[0][1]["notes"] == len(notes)


def store(opened, batch):
    gold = dict(zip(("notes", "spans"), batch.gold, strict=True))
    merged = {**dict(zip(("notes", "spans"), batch.merged, strict=True)), "failed": batch.failed}
    tables = {
        "raw_notes": {"notes": batch.notes, "failed": batch.failed},
        "gold_annotations": gold,
        "merged_spans": merged,
    }
    for asset, given in tables.items():
        opened.files.write(asset, "b-1", given, receipt=UnsignedReceipt("test"))


def test_rows_are_in_the_order_of_the_notes_whatever_their_parts(installation, monkeypatch):
    notes, spans = made()
    installation.configure(installation.default_settings)
    opened = installation.opened()
    store(opened, part_of(notes, spans))
    whole = make_redacted_notes("b-1", opened, policy=load_policy("surrogate"))

    monkeypatch.setattr(parts_module, "PART_CHARS", 1)
    cut = make_redacted_notes("b-1", opened, policy=load_policy("surrogate"))

    assert cut.tables["notes"].column("note_id").to_pylist() == [note.note_id for note in notes]
    assert all(cut.tables[name].equals(table) for name, table in whole.tables.items())
    assert isinstance(whole.tables["edits"], pa.Table)
