"""The plugin door, tried with distributions made on disk."""

import sys

import pytest

from deid_assets import plugins
from deid_assets.core.errors import PluginError
from deid_assets.plugins import description

DETECTOR = """
from deid_assets import Phi, SpanSet


class Detector:
    name = "{name}"
    version = "1"
    labels = frozenset({{Phi.NAME}})

    def __init__(self, *, prefix: str = "MRN") -> None:
        self.prefix = prefix

    def detect(self, notes):
        return [SpanSet.of(note, []) for note in notes]
"""


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)

    def add(
        name,
        *,
        module=None,
        body=DETECTOR,
        entry=None,
        distribution=None,
        keywords="rules,test",
        extra="",
        requires=(),
    ):
        module = module or f"deid_{name}"
        (tmp_path / module).mkdir(exist_ok=True)
        (tmp_path / module / "__init__.py").write_text(
            body.format(name=name) if body is DETECTOR else body
        )
        dist = tmp_path / f"{distribution or module}-1.0.dist-info"
        dist.mkdir()
        (dist / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {distribution or module}\nVersion: 1.0\nSummary: Finds"
            f" nothing\nKeywords: {keywords}\n"
            + "".join(f"Requires-Dist: {one}\n" for one in requires)
        )
        named = f" [{extra}]" if extra else ""
        (dist / "entry_points.txt").write_text(
            f"[{plugins.GROUP}]\n{entry or name} = {module}:Detector{named}\n"
        )

    yield add
    for name in [name for name in sys.modules if name.startswith("deid_x")]:
        del sys.modules[name]


def test_listing_imports_nothing(site):
    site("xlist", body="raise RuntimeError('imported')")
    found = plugins.available()["xlist"]

    assert (found.version, found.summary, found.keywords, found.fault) == (
        "1.0",
        "Finds nothing",
        ("rules", "test"),
        "",
    )
    assert "deid_xlist" not in sys.modules


def test_the_digest_changes_with_the_code(site, tmp_path):
    site("xdigest")
    before = plugins.available()["xdigest"].code_version
    (tmp_path / "deid_xdigest" / "words.txt").write_text("new")

    assert plugins.available()["xdigest"].code_version != before


def test_the_code_version_changes_with_the_code_of_a_detector_that_it_runs(site, tmp_path):
    site("xrun")
    site("xruns", keywords="rules,test,uses-xrun,uses-xabsent")
    before = {name: plugins.available()[name] for name in ("xrun", "xruns")}
    (tmp_path / "deid_xrun" / "words.txt").write_text("new")
    after = plugins.available()["xruns"]

    assert before["xrun"].used_digest == ""
    assert after.digest == before["xruns"].digest
    assert after.code_version != before["xruns"].code_version
    assert plugins.load("xruns", digest=after.digest).name == "xruns"


def test_what_is_written_anew_meanwhile_is_seen_and_nothing_else_is_parsed_again(site, tmp_path):
    site("xanew")
    plugins.available()
    parsed = description._parse.cache_info().misses
    metadata = tmp_path / "deid_xanew-1.0.dist-info" / "METADATA"
    metadata.write_text(metadata.read_text().replace("Version: 1.0", "Version: 1.1"))

    assert plugins.available()["xanew"].version == "1.1"
    plugins.available()
    assert description._parse.cache_info().misses == parsed + 1


def test_options_reach_the_detector(site):
    site("xoptions")

    assert plugins.load("xoptions", options={"prefix": "ID"}).prefix == "ID"


def test_unknown_detector_lists_what_is_installed(site):
    site("xknown")

    with pytest.raises(PluginError, match="xknown"):
        plugins.load("absent")


def test_a_name_claimed_twice_is_listed_with_both_owners_and_does_not_load(site):
    site("xtwice")
    site("xtwice", module="deid_xtwice2", distribution="rival")

    assert "deid_xtwice" in plugins.available()["xtwice"].fault
    assert "rival" in plugins.available()["xtwice"].fault
    with pytest.raises(PluginError, match="uninstall one"):
        plugins.load("xtwice")


@pytest.mark.parametrize(
    ("arrange", "name", "message"),
    [
        (
            {"name": "xraises", "body": "raise RuntimeError('no model file')"},
            "xraises",
            r"cannot be imported \(RuntimeError\)",
        ),
        ({"name": "xbadname", "entry": "Bad-Name"}, "Bad-Name", "name must match"),
        (
            {"name": "xother", "body": DETECTOR.format(name="someone_else")},
            "xother",
            "not a detector of that name",
        ),
        (
            {"name": "xshape", "body": "class Detector:\n    name = 'xshape'\n"},
            "xshape",
            "not a detector",
        ),
    ],
)
def test_what_does_not_load_says_why(site, arrange, name, message):
    site(**arrange)

    with pytest.raises(PluginError, match=message):
        plugins.load(name)


def test_an_option_the_plugin_does_not_take_is_named(site):
    site("xoption")

    with pytest.raises(PluginError, match="surprise"):
        plugins.load("xoption", options={"surprise": 1})


def test_an_uninstalled_module_is_a_fault_and_hides_no_other(site, tmp_path):
    site("xgone")
    site("xhere")
    (tmp_path / "deid_xgone" / "__init__.py").unlink()
    (tmp_path / "deid_xgone").rmdir()

    assert "not installed" in plugins.available()["xgone"].fault
    assert plugins.available()["xhere"].fault == ""


@pytest.mark.parametrize(
    ("requires", "there"),
    [
        (["pytest; extra == 'heavy'"], True),
        (["pytest>=1,<2; extra == 'heavy'"], True),  # versions are pip's to check
        (["no-such-thing; extra == 'heavy'"], False),
        (["pytest; extra == 'heavy'", "no-such-thing; extra == 'heavy'"], False),
        (["no-such-thing; extra == 'other'"], True),
        (["no-such-thing; extra == 'heavy' and sys_platform == 'nowhere'"], True),
        (["no-such-thing"], True),  # of the distribution itself, which is installed
        (["deid-xextra[more]; extra == 'heavy'", "no-such-thing; extra == 'more'"], False),
        (["deid-xextra[more]; extra == 'heavy'", "pytest; extra == 'more'"], True),
        (["deid-xextra[heavy]; extra == 'heavy'", "pytest; extra == 'heavy'"], True),
        (["deid_xextra[heavy]; extra == 'heavy'", "no-such-thing; extra == 'heavy'"], False),
        (["no requirement at all ==; extra == 'heavy'"], False),
    ],
)
def test_a_detector_is_there_where_its_extra_is_installed(site, requires, there):
    site("xextra", distribution="deid_xextra", extra="heavy", requires=requires)
    site("xbeside")

    found = plugins.available()

    assert ("xextra" in found) is there
    assert "xbeside" in found
    if not there:
        with pytest.raises(PluginError, match=r"its extra 'heavy' is not installed; .*\[heavy\]"):
            plugins.load("xextra")
    else:
        assert plugins.load("xextra").name == "xextra"


def test_an_extra_is_the_same_with_hyphens_and_underscores(site):
    site("xnamed", extra="so_heavy", requires=["no-such-thing; extra == 'so-heavy'"])
    site("xnamed2", extra="so_heavy", requires=["pytest; extra == 'so-heavy'"])

    assert "xnamed" not in plugins.available()
    assert "xnamed2" in plugins.available()


def test_a_package_describes_itself_where_its_distribution_holds_several(site, tmp_path):
    site("xabout")
    about = tmp_path / "deid_xabout" / plugins.ABOUT
    about.write_text('summary = "Finds all"\nkeywords = ["second", "first", "needs-model"]\n')

    found = plugins.available()["xabout"]

    assert (found.summary, found.keywords) == ("Finds all", ("second", "first", "needs-model"))
    assert found.needs_model
    assert "deid_xabout" not in sys.modules


def test_each_plugin_of_a_package_has_a_summary_of_its_own(site, tmp_path):
    site("xone")
    (tmp_path / "deid_xone" / plugins.ABOUT).write_text(
        'summary = "Both"\nkeywords = []\n[summaries]\nxone = "The first"\nxtwo = "The second"\n'
    )

    assert plugins.available()["xone"].summary == "The first"


def test_audits_of_one_package_are_told_apart_by_their_summaries():
    audits = plugins.available("deid_assets.audits").values()

    assert len(audits) > 1
    assert len({one.summary for one in audits}) == len(audits)


def test_an_audit_asks_what_lists_say_of_it():
    audits = plugins.available("deid_assets.audits").values()
    asked = {one.name: plugins.load_declaration(one, "audit").title for one in audits}

    assert asked == {one.name: one.summary for one in audits}


@pytest.mark.parametrize(
    "said",
    [
        "summary = 1 2",
        'summary = "no keywords"',
        'summary = "a"\nkeywords = []\nsummaries = 3',
        'summary = "a"\nkeywords = []\nsummaries = "none"',
        "\ufeffx",
    ],
)
def test_a_description_that_cannot_be_read_is_a_fault_and_hides_no_other(site, tmp_path, said):
    site("xbroken")
    site("xhere")
    (tmp_path / "deid_xbroken" / plugins.ABOUT).write_text(said, encoding="utf-8")

    found = plugins.available()

    assert "its plugin.toml cannot be read" in found["xbroken"].fault
    assert found["xhere"].fault == ""


def test_a_model_that_was_not_named_is_asked_for():
    with pytest.raises(PluginError, match=r"'onnx' needs a model: name its folder as onnx=FOLDER"):
        plugins.load("onnx")
