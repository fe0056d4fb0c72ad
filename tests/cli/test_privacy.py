"""``deid privacy``.

Audits listed without importing them, run with what they need, and put together on one page.
"""

import json
import sys

import pytest

from deid_assets import plugins

KEY = "55" * 32
AUDIT = """
from deid_assets.extending import InputError
from deid_assets.extending.audits import Control, Measurement, Need, Plot, Rule, Table, conclude


class Xseen:
    name = "xseen"
    version = "1"
    title = "Are there identifiers?"
    needs = frozenset({Need.GOLD})
    blind_spots = ("Everything else.",)

    def __init__(self, *, most=0.5):
        self.most = most

    def run(self, material):
        if self.most < 0:
            raise InputError("most is negative; give a share")
        spans = sum(len(case.gold) for case in material.cases)
        covered = sum(len(case.found) for case in material.cases)
        found = Measurement.share("covered", covered, spans, chance=0.0)
        planted = Control(
            name="planted", expected=True, reacted=True, description="always", measurement=found
        )
        return conclude(
            self, figures=[found], plots=[Plot(name="p", title="P", png=b"\\x89PNG")],
            controls=[planted],
            rules=[Rule(name="few", passed=found.low <= self.most, description="at most so many")],
            tables=[Table(name="t", title="T", columns=("a", "b", "c"), rows=(("x", 1, found),))],
            counts={"notes": len(material.cases)},
        )
"""
PLAIN = {"id": "m", "text": "Seen by Quillfeather and Zyxwick.", "spans": [[8, 20], [25, 32]]}


@pytest.fixture
def audits(deid, tmp_path):
    site = tmp_path / "site"
    package, info = site / "deid_xseen", site / "deid_xseen-1.0.dist-info"
    package.mkdir()
    info.mkdir()
    (package / "__init__.py").write_text(AUDIT)
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: deid_xseen\nVersion: 1.0\nSummary: For tests\n"
    )
    (info / "entry_points.txt").write_text(
        f"[{plugins.AUDITS}]\nxseen = deid_xseen:Xseen\nxgone = deid_xgone:Gone\nxnone ="
        " deid_xseen:Nothing\n"
    )


@pytest.fixture
def gold(audits, write):
    spans = [{"start": start, "end": end, "label": "NAME"} for start, end in PLAIN["spans"]]
    return write(
        "gold.jsonl",
        *({"id": f"m{n}", "lang": "en", "text": PLAIN["text"], "spans": spans} for n in range(3)),
    )


def test_audits_are_listed_without_importing_them(deid, audits):
    listed = {row["name"]: row for row in deid("privacy", "list", "--json").json}

    assert (listed["xseen"]["version"], listed["xseen"]["fault"]) == ("1.0", "")
    assert "deid_xgone is not installed" in listed["xgone"]["fault"]
    assert "deid_xseen" not in sys.modules
    assert "xseen" in deid("privacy", "list").out


def test_an_audit_is_run_and_written(deid, gold, tmp_path):
    ran = deid(
        "privacy", "run", "xseen", "--notes", gold, "--option", "xseen.most=1.0", "--out", "audit"
    )

    out = tmp_path / "home" / "audit"
    document = json.loads((out / "xseen.json").read_text())
    assert (ran.code, document["outcome"], document["figures"][0]["value"]) == (0, "passed", 1.0)
    assert {path.name for path in out.iterdir()} == {"xseen.json", "xseen-p.png", "privacy.html"}
    assert "xseen: passed: few: at most so many" in ran.out
    assert "1.000 [0.610, 1.000]" in ran.out


def test_what_did_not_pass_ends_with_1_and_hides_no_other(deid, gold):
    ran = deid(
        "privacy", "run", "xseen", "xgone", "xnone", "--notes", gold, "--out", "audit", "--json"
    )

    assert ran.code == 1
    assert [found["outcome"] for found in ran.json] == ["failed", "not assessed", "not assessed"]
    assert "is not installed" in ran.json[1]["reason"]
    assert "cannot be imported" in ran.json[2]["reason"]


def test_spans_of_a_detector_are_what_was_found(deid, gold):
    deid("detect", gold, "--detector", "xdates", "--out", "spans.jsonl")
    ran = deid(
        "privacy",
        "run",
        "xseen",
        "--notes",
        gold,
        "--spans",
        "spans.jsonl",
        "--out",
        "audit",
        "--json",
    )

    assert ran.json[0]["figures"][0]["value"] == 0.5


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (("xother",), "unknown audit 'xother'"),
        (("xseen", "--option", "xgone.most=1"), "is for 'xgone', but the audits are xseen"),
        (("xseen", "--model", "nowhere"), "nowhere does not exist"),
        (("xseen", "--policy", "surrogate"), "set DEID_KEY"),
        (("xseen", "--training", "nowhere.jsonl"), "no such file or folder"),
    ],
)
def test_a_wrong_line_is_one_line(deid, audits, line, message):
    ran = deid("privacy", "run", *line, "--out", "audit")

    assert (ran.code, message in ran.err) == (2, True)


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("xseen.most=-1.0", "the audit broke (InputError)"),
        ("xseen.least=1", "takes no option 'least'"),
    ],
)
def test_what_an_audit_refuses_is_its_reason(deid, gold, option, reason):
    ran = deid(
        "privacy", "run", "xseen", "--notes", gold, "--option", option, "--out", "audit", "--json"
    )

    assert (ran.code, reason in ran.json[0]["reason"]) == (1, True)


def test_without_notes_it_is_not_assessed(deid, audits):
    ran = deid("privacy", "run", "xseen", "--out", "audit", "--json")

    assert ran.json[0]["reason"] == "it needs notes whose identifiers are marked"


def test_notes_without_annotations_are_refused(deid, audits, notes):
    ran = deid("privacy", "run", "xseen", "--notes", notes, "--out", "audit")

    assert (ran.code, "note 'a' has no annotations" in ran.err) == (2, True)


FACTS = """
[model]
name = "tiny"
made_from = ["masked"]
architecture = "encoder"
parameters = 4000000
defences = ["tag"]
folder = "model"

[[sources]]
name = "masked"
tier = "de-identified"
made_from = ["letters"]
made_by = "tag"

[[sources]]
name = "letters"
tier = "raw"
permit = "2019-1"
until = 2199-12-31

[rules]
audits = ["xseen"]
options = { xseen = { most = 1.0 } }

[rules.waived]
"""
OF_MODELS = ("canaries", "extraction", "membership", "slot_fill")


@pytest.fixture
def facts(deid, gold, tmp_path, monkeypatch):
    """A model that read no note, and facts about it; audits run under a key."""
    monkeypatch.setenv("DEID_KEY", KEY)
    home = tmp_path / "home"
    (home / "model").mkdir()
    card = {"recipe": {}, "fingerprint": "f", "notes": 0, "digests": []}
    (home / "model" / "pretraining.json").write_text(json.dumps(card))
    waived = [
        *(name for name in OF_MODELS if name in plugins.available(plugins.AUDITS)),
        "xgone",
        "xnone",
    ]

    def write(change=("", "")):
        content = FACTS.replace(*change) + "".join(f'{name} = "for the tests"\n' for name in waived)
        (home / "facts.toml").write_text(content)
        return home

    return write


def test_a_model_may_leave_where_every_rule_passes(deid, gold, facts):
    deid(
        "privacy",
        "run",
        "xseen",
        "--notes",
        gold,
        "--option",
        "xseen.most=1.0",
        "--model",
        "model",
        "--out",
        "audit",
    )
    home = facts()
    ran = deid(
        "privacy", "report", "audit", "--facts", "facts.toml", "--out", "model.html", "--json"
    )

    page = (home / "model.html").read_text()
    assert (ran.code, ran.json["gate"]["released"], ran.json["gate"]["raw_sources"]) == (
        0,
        True,
        ["letters"],
    )
    assert "May leave" in page
    assert "it was not run" not in page.partition("Not assessed</h2>")[0].partition("Regulation")[2]
    assert "deid_xgone is not installed" in page
    assert "data:image/png;base64," in page


def test_a_model_is_refused_with_the_reason(deid, gold, facts):
    deid("privacy", "run", "xseen", "--notes", gold, "--out", "audit")
    home = facts(('permit = "2019-1"', ""))
    ran = deid("privacy", "report", "audit", "--facts", "facts.toml", "--out", "model.html")

    assert ran.code == 1
    assert "refused: audit xseen: failed" in ran.err
    assert "refused: source 'letters' is raw and has no permit" in ran.err
    assert "Refused: do not release" in (home / "model.html").read_text()


def test_a_failed_audit_that_no_rule_names_refuses_the_model(deid, gold, facts):
    deid("privacy", "run", "xseen", "--notes", gold, "--model", "model", "--out", "audit")
    home = facts(('audits = ["xseen"]', ""))
    ran = deid("privacy", "report", "audit", "--facts", "facts.toml", "--out", "model.html")

    assert (ran.code, "refused: audit xseen: failed" in ran.err) == (1, True)
    assert "May leave" not in (home / "model.html").read_text()


def test_a_result_that_is_edited_or_was_made_without_a_key_releases_nothing(
    deid, gold, facts, monkeypatch
):
    home = facts()
    run = (
        "privacy",
        "run",
        "xseen",
        "--notes",
        gold,
        "--option",
        "xseen.most=1.0",
        "--model",
        "model",
        "--out",
        "audit",
    )
    monkeypatch.delenv("DEID_KEY")
    unsigned = deid(*run)
    assert "no DEID_KEY is set: results are not signed" in unsigned.err
    monkeypatch.setenv("DEID_KEY", KEY)
    report = ("privacy", "report", "audit", "--facts", "facts.toml", "--out", "model.html")
    assert "audit xseen: not signed under this DEID_KEY" in deid(*report).err
    deid(*run)
    assert deid(*report).code == 0
    path = home / "audit" / "xseen.json"
    path.write_text(path.read_text().replace('"reason": "', '"reason": "nothing but '))
    assert "audit xseen: not signed under this DEID_KEY, or changed" in deid(*report).err


def test_finished_audits_are_kept_when_the_run_is_made_again(deid, gold, facts, write):
    run = ("privacy", "run", "xseen", "xgone", "--option", "xseen.most=1.0", "--out", "audit")
    first = deid(*run, "--notes", gold)
    assert "xseen (1 of 2) ..." in first.err
    again = deid(*run, "--notes", gold)
    assert "xseen: kept as it was made before" in again.err
    assert "xgone (1 of 1) ..." in again.err  # what was not assessed is tried again
    assert again.out == first.out
    spans = [{"start": 8, "end": 20, "label": "NAME"}]
    other = write(
        "other.jsonl",
        *({"id": f"m{n}", "lang": "en", "text": PLAIN["text"], "spans": spans} for n in range(3)),
    )
    assert "kept" not in deid(*run, "--notes", other).err
    assert "kept" not in deid(*run, "--notes", other, "--seed", "2").err
    assert "kept" in deid(*run, "--notes", other, "--seed", "2").err


def test_what_ended_before_a_run_was_stopped_is_there(deid, gold, audits, tmp_path):
    """The page and the files are written after each audit, so that a stop loses the one that ran
    alone.
    """
    (tmp_path / "site" / "deid_xseen" / "__init__.py").write_text(
        AUDIT
        + '\n\nclass Stopped(Xseen):\n    name = "xnone"\n\n    def run(self, material):\n       '
        " raise KeyboardInterrupt\n\n\nNothing = Stopped\n"
    )
    deid("privacy", "run", "xseen", "xnone", "--notes", gold, "--out", "audit")
    out = tmp_path / "home" / "audit"
    assert {"xseen.json", "privacy.html"} <= {path.name for path in out.iterdir()}
    assert "it was not run" in (out / "privacy.html").read_text()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[model]\nname = 'x'\n", "model.made_from"),
        ("[modell]\n", "there is no such setting"),
        ("[model", "not TOML"),
    ],
)
def test_wrong_facts_are_a_line_each(deid, gold, tmp_path, content, message):
    deid("privacy", "run", "xseen", "--notes", gold, "--out", "audit")
    (tmp_path / "home" / "facts.toml").write_text(content)
    ran = deid("privacy", "report", "audit", "--facts", "facts.toml", "--out", "model.html")

    assert (ran.code, message in ran.err) == (2, True)


@pytest.mark.parametrize(
    ("content", "message"),
    [("{", "not JSON"), ("[]", "not the result"), ("{}", "run the audit again")],
)
def test_what_is_no_result_is_refused(deid, audits, tmp_path, content, message):
    folder = tmp_path / "home" / "audit"
    folder.mkdir()
    (folder / "xseen.json").write_text(content)
    ran = deid("privacy", "report", "audit", "--out", "page.html")

    assert (ran.code, message in ran.err) == (2, True)
    assert deid("privacy", "report", tmp_path / "site", "--out", "page.html").code == 2


needs_hips = pytest.mark.skipif(
    "hips" not in plugins.available(plugins.AUDITS), reason="hips is not installed"
)


@pytest.mark.long
@needs_hips
def test_hiding_in_plain_sight_is_run_by_name(deid, monkeypatch):
    monkeypatch.setenv("DEID_KEY", KEY)
    deid("corpus", "make", "--notes", "60", "--seed", "3", "--out", "gold.jsonl")
    line = (
        "--policy",
        "tag",
        "--policy",
        "surrogate",
        "--option",
        "hips.recalls=[0.9]",
        "--out",
        "audit",
        "--json",
    )
    (found,) = deid("privacy", "run", "hips", "--notes", "gold.jsonl", *line).json

    figures = {(row["group"], row["name"][:5]): row["value"] for row in found["figures"]}
    assert figures["tag, recall 0.9", "share"] == figures["tag, recall 0.9", "chanc"] == 1.0
    assert figures["surrogate, recall 0.9", "share"] < 1
    assert all(control["reacted"] == control["expected"] for control in found["controls"])


@needs_hips
@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("hips.recalls=[1.0]", "a recall to draw is between 0 and 1, got 1.0"),
        ("hips.drop={PERSON = 1}", "drop must name categories and shares"),
        ("hips.drop={NAME = 2}", "a share to drop is in [0, 1], got 2.0"),
    ],
)
def test_a_wrong_option_of_hips_is_its_reason(deid, gold, option, message):
    ran = deid(
        "privacy",
        "run",
        "hips",
        "--notes",
        gold,
        "--policy",
        "tag",
        "--option",
        option,
        "--out",
        "a",
        "--json",
    )

    assert message in ran.json[0]["reason"]
