"""What a ``batch.toml`` may say: it is a sender's, and its values are shown nowhere."""

import json

import pytest

from deid_assets.config import Settings
from deid_assets.core.errors import ConfigError
from deid_assets.formats import Fault, read_notes
from deid_assets.intake.reader import safe_reason
from deid_assets.intake.reading import how_to_read

TEXT = "Miller, MRN 1"


@pytest.fixture
def settings(tmp_path):

    return Settings(home=tmp_path)


@pytest.fixture
def how(settings, tmp_path):
    def read(toml, *, overrides=None, intake=None):
        folder = tmp_path / "sent"
        folder.mkdir(exist_ok=True)
        (folder / "batch.toml").write_text(toml)
        chosen = settings.model_copy(update={"intake": type(settings.intake)(read=intake or {})})
        return how_to_read(chosen, overrides or {}, folder)

    return read


@pytest.mark.parametrize(
    "toml",
    [
        *(
            f"{key} = {json.dumps(TEXT)}"
            for key in ("format", "labels", "lang", "sender", "patient", TEXT[:6])
        ),
        *(
            f"[read]\n{key} = {json.dumps(TEXT)}"
            for key in (
                "encoding",
                "delimiter",
                "formulas",
                "offsets",
                "discontinuous",
                "max_note_chars",
                "archives.max_ratio",
                "conll.scheme",
                "documents.blank_pages",
                "documents.timeout_s",
                TEXT[:6],
            )
        ),
        f"[read]\ncolumn.id = {json.dumps(TEXT)}\ncolumn.text = {json.dumps(TEXT)}",
        f"read = {json.dumps(TEXT)}",
        f"{TEXT} = ",
    ],
)
def test_what_is_said_of_a_wrong_batch_toml_holds_no_value_of_it(how, toml):
    with pytest.raises(ConfigError) as raised:
        how(toml)

    assert str(raised.value).startswith("batch.toml: ")
    assert not {"Miller", "MRN"} & set(
        str(raised.value).replace(",", " ").replace("'", " ").split()
    )


@pytest.mark.parametrize("key", ["id", "text"])
@pytest.mark.parametrize(("name", "content"), [("a.csv", "x,y\n1,2\n"), ("a.jsonl", '{"x": 1}\n')])
def test_a_column_that_is_not_there_is_not_named_as_its_sender_does(
    how, tmp_path, name, content, key
):
    options = how(f"[read]\ncolumn.{key} = {json.dumps(TEXT)}").options
    (tmp_path / name).write_text(content)

    faults = [
        found for found in read_notes(tmp_path / name, options=options) if isinstance(found, Fault)
    ]
    assert faults
    assert not [
        fault for fault in faults if "Miller" in fault.message or "Miller" in safe_reason(fault)
    ]


LIMITS = {
    "max_note_chars": 10_000_001,
    "archives.max_depth": 4,
    "archives.max_members": 50_001,
    "archives.max_member_bytes": 1 << 40,
    "archives.max_total_bytes": 1 << 40,
    "archives.max_ratio": 1_000_000,
    "documents.timeout_s": 3600,
    "documents.max_memory_mib": 1 << 20,
}


@pytest.mark.parametrize("key", LIMITS)
def test_a_sender_lowers_limits_and_raises_none(how, key):
    raised = f"[read]\n{key} = {LIMITS[key]}"
    with pytest.raises(ConfigError, match=rf"batch.toml: {key} in \[read\] is above the limit"):
        how(raised)

    how(f"[read]\n{key} = 1")
    how("", overrides={"read": {key: LIMITS[key]}})  # who runs the installation may
    how(raised, intake={key: LIMITS[key]})


def test_a_limit_that_the_settings_lower_is_lower_for_senders_too(how):
    with pytest.raises(ConfigError, match="above the limit of 1,000"):
        how("[read]\nmax_note_chars = 1001", intake={"max_note_chars": 1000})
