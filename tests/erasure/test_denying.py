"""A leaked value is denied: no later release holds it, and who took the rule back is recorded."""

import json

import pytest
from typer.testing import CliRunner

from deid_assets.cli import app
from deid_assets.erasure.reach import MOST_CASES
from deid_assets.intake.states import open_batches
from deid_assets.store.denials import DENIED_VALUES, Denials
from deid_assets.store.files import ALL

pytestmark = pytest.mark.long

LEAKED = "Relieved by REST\n"
ASKED = ("--deny", "--by", "officer", "--reason", "Reported on Monday")
SETTINGS = """
ensemble = ["stencil"]
recipes = []
policies = ["tag"]
release_policy = "tag"
languages = ["en"]
release.require = "none"
gates.min_gold_characters = 1
[studies.heart]
policy = "blackout"
"""


@pytest.fixture
def house(installation, note_records, begin):
    """An installation with a study, and a batch that both have released."""
    installation.detectors = ("stencil",)
    installation.configure(SETTINGS)
    return begin(note_records())


def say(*arguments, given=None):
    result = CliRunner().invoke(app, [str(one) for one in arguments], input=given)
    return result.exit_code, result.output


def texts(installation):
    """All that is released."""
    found = [*installation.home.glob("released/*/notes.jsonl")]
    found += [*installation.home.glob("studies/*/released/*/notes.jsonl")]
    return [path.read_text() for path in found]


def places_with(installation, word):
    """Files of the installation, but in the restricted zone and the landing folder, with a word."""
    return [
        path
        for path in installation.root.rglob("*")
        if path.is_file()
        and "restricted" not in path.parts
        and "landing" not in path.parts
        and word.lower() in path.read_bytes().decode("utf-8", "replace").lower()
    ]


def check_of(result, asset, name):
    for one in result.get_asset_check_evaluations():
        if one.check_name == name and one.asset_key.to_user_string() == asset:
            return one
    raise LookupError(f"{asset} has no check {name}")


def counts_of(result, asset, name):
    found = check_of(result, asset, name)
    return found.passed, {key: one.value for key, one in found.metadata.items()}


def test_a_denied_value_leaves_every_release_and_stays_out_of_what_comes(house, note_records):
    code, shown = say("leak", "--values", "-", *ASKED, "--withdraw", given=LEAKED)

    assert code == 1
    assert "covers 1 places in 1 notes of 1 patients" in shown
    assert f"deid batches retry {house.batch} && deid backfill --batch {house.batch}" in shown
    assert "relieved" not in shown.lower()
    assert texts(house) == []

    assert say("batches", "retry", house.batch)[0] == 0
    result = house.run(house.batch)
    assert house.failures(result) == {}
    assert len(texts(house)) == 2
    assert not any("relieved" in text for text in texts(house))
    for asset in ("released_corpus", "study/heart/released_corpus"):
        passed, counts = counts_of(result, asset, "no_denied_value")
        assert (passed, counts["rules"], counts["left"]) == (True, 1, 0)
    passed, counts = counts_of(result, "merged_spans", "deny_rules_hold")
    assert (passed, counts["cases"], counts["missed"]) == (True, 1, 0)

    more = [
        {**one, "text": one["text"] + " Pain RELIEVED\n  by\trest."} for one in note_records(10)
    ]
    late = house.receive(more, name="late.jsonl")
    assert house.failures(house.run(late)) == {}
    assert not any("reli" in text.lower() for text in texts(house))
    assert say("leak", "--values", "-", given=LEAKED)[0] == 0


def test_a_release_that_holds_a_denied_value_is_not_made(house):
    files = house.opened().files
    merged = house.store / "internal" / "merged_spans" / house.batch
    kept = {path.name: path.read_bytes() for path in merged.iterdir()}
    assert say("leak", "--values", "-", *ASKED, given=LEAKED)[0] == 1
    assert files.find("merged_spans", house.batch) is None
    merged.mkdir()
    for name, content in kept.items():
        (merged / name).write_bytes(content)

    result = house.run(house.batch, "released_corpus", ["study", "heart", "released_corpus"])

    assert set(house.failures(result)) == {"released_corpus", "study__heart__released_corpus"}
    said = "".join(house.failures(result).values())
    assert f"1 places hold a denied value: materialize merged_spans of batch {house.batch}" in said
    assert house.failures(house.run(house.batch)) == {}
    assert not any("relieved" in text for text in texts(house))


@pytest.mark.parametrize("value", ["pain\n", "morning\n", "abc\n"])
def test_an_ordinary_or_short_value_is_refused_with_its_count(house, value):
    code, shown = say("leak", "--values", "-", *ASKED, "--withdraw", given=value)

    assert code == 2
    assert "places in 1 notes" in shown or "fewer than 4" in shown
    assert Denials(house.opened().files).read().rules == ()
    assert len(texts(house)) == 2


def test_what_many_patients_have_in_common_is_refused_unless_its_count_is_given(
    house, note_records
):
    records = [
        {**one, "text": one["text"] + " Seen on Kestrel ward."}
        for first in (0, 10)
        for one in note_records(first)
    ]
    batch = house.receive(records, name="wards.jsonl")
    assert house.failures(house.run(batch, "raw_notes")) == {}

    code, shown = say("leak", "--values", "-", *ASKED, given="kestrel ward\n")
    assert (code, "--even-in 16" in shown) == (2, True), shown
    assert Denials(house.opened().files).read().rules == ()
    code, _ = say("leak", "--values", "-", *ASKED, "--even-in", 16, given="kestrel ward\n")
    assert code == 0
    assert len(Denials(house.opened().files).read().cases) == MOST_CASES


def test_a_rule_is_lifted_and_that_is_recorded(house):
    say("leak", "--values", "-", *ASKED, given=LEAKED)
    assert house.failures(house.run(house.batch, "merged_spans")) == {}
    (rule,) = Denials(house.opened().files).read().rules
    assert say("denied", "lift", "0" * 16, "--by", "a", "--reason", "b")[0] == 2

    code, shown = say("denied", "lift", rule.rule, "--by", "chief", "--reason", "No name")

    assert (code, "makes 1 batches again" in shown) == (0, True)
    (row,) = json.loads(say("denied", "list", "--json")[1])
    assert (row["rule"], row["state"], row["by"]) == (rule.rule, "lifted", "chief")
    result = house.run(house.batch)
    assert house.failures(result) == {}
    for asset, name in (
        ("released_corpus", "no_denied_value"),
        ("merged_spans", "deny_rules_hold"),
    ):
        found = check_of(result, asset, name)
        assert (found.passed, found.metadata["verdict"].value) == (False, "not applicable")
    assert all("relieved by rest" in text for text in texts(house))
    tables = house.opened().files.receipt(DENIED_VALUES, ALL).outputs
    assert {name: table["rows"] for name, table in tables.items()} == {
        "rules": 0,
        "cases": 0,
        "lifted": 1,
    }


def test_rules_that_are_gone_or_altered_stop_the_batch(house):
    say("leak", "--values", "-", *ASKED, given=LEAKED)
    assert house.failures(house.run(house.batch, "merged_spans")) == {}
    folder = house.store / "restricted" / DENIED_VALUES / ALL

    (rules,) = folder.glob("rules-*.parquet")
    kept = rules.read_bytes()
    rules.write_bytes(kept[:-1])
    assert "was altered" in house.failures(house.run(house.batch, "merged_spans"))["merged_spans"]
    folder.rename(folder.with_name("aside"))

    assert (
        "the deny rules are gone"
        in house.failures(house.run(house.batch, "merged_spans"))["merged_spans"]
    )


def test_the_batches_are_made_again_at_once_where_that_is_asked_for(house, monkeypatch):
    begun = []
    monkeypatch.setattr("os.execv", lambda _, arguments: begun.append(arguments[1:]))

    say("leak", "--values", "-", *ASKED, "--withdraw", "--make", given=LEAKED)

    assert begun == [["-m", "deid_assets.backfill", "--batch", house.batch, "--"]]
    assert open_batches(house.settings(), house.opened().files) == [house.batch]


@pytest.mark.parametrize(
    "options",
    [
        ("--deny",),
        ("--by", "officer"),
        ("--even-in", "3"),
        (*ASKED, "--make"),
        (*ASKED, "--category", "NAMES"),
    ],
)
def test_options_that_do_not_fit_are_refused(house, options):
    assert say("leak", "--values", "-", *options, given=LEAKED)[0] == 2
    assert Denials(house.opened().files).read().rules == ()
