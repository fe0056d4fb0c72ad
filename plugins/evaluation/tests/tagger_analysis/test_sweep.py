"""``deid sweep``: a model for each number of sentences grouped.

It also tells what the larger factors find.
"""

import json
import stat

import pytest
from typer.testing import CliRunner

from deid_assets import plugins
from deid_assets.cli import app
from deid_assets.training import read_corpus

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        "crf" not in plugins.available(plugins.TRAINERS), reason="the plugin crf is not installed"
    ),
    pytest.mark.skipif(
        "synthetic" not in plugins.available(plugins.CORPORA), reason="no synthetic notes"
    ),
]
TEST = "synthetic:en:6:3"


@pytest.fixture(scope="module")
def deid(tmp_path_factory):
    recipe = tmp_path_factory.mktemp("recipe") / "plain.toml"
    recipe.write_text(
        'name = "plain"\nplugin = "crf"\n[settings]\npredictions_of = ""\nmax_iterations = 15\n'
    )
    runner = CliRunner()

    def call(*arguments):
        return runner.invoke(
            app, ["sweep", str(recipe), "--train", "synthetic:en:12", *map(str, arguments)]
        )

    return call


def test_each_factor_is_scored_and_compared_with_the_first(deid, tmp_path):
    out = tmp_path / "sweep"
    done = deid(
        "--test", TEST, "--out", out, "--factors", "1,4", "--limit", "40", "--restricted", "--json"
    )
    assert done.exit_code == 0, done.stderr
    printed = json.loads(done.stdout)
    one, four = printed["factors"]

    assert one["difference"] is None
    assert one["mean_tokens"] < four["mean_tokens"] <= 4 * one["mean_tokens"]
    right = [
        json.loads((out / f"factor-{at}" / "card.json").read_text())["test"]["labels"]["ALL"]["tp"]
        for at in (1, 4)
    ]
    assert right[1] - right[0] == sum(four["found"].values()) - sum(four["lost"].values())
    assert printed["chosen"]["by_limit"] in range(1, 40)
    assert set(one["six"]) == set(four["six"]) >= {"entity sub_category", "token binary"}

    assert "places" not in printed
    places = json.loads((out / "sweep.json").read_text())["places"]
    assert len(places) == sum(four["found"].values())
    texts = {document.note.note_id: document.note.text for document in read_corpus(TEST).documents}
    assert all(place["text"] in texts[place["note"]] for place in places)
    assert stat.S_IMODE((out / "sweep.html").stat().st_mode) == 0o600


def test_a_page_without_words_holds_none(deid, tmp_path):
    done = deid("--test", TEST, "--out", tmp_path / "sweep", "--factors", "1,2")
    assert done.exit_code == 0, done.stderr
    assert "grouping auto takes" in done.stderr
    page = (tmp_path / "sweep" / "sweep.html").read_text()
    assert "The spans" not in page
    assert "data:image/png;base64," in page
    gold = {
        document.note.text[span.start : span.end]
        for document in read_corpus(TEST).documents
        for span in document.spans
        if span.label.value == "NAME"
    }
    assert not [name for name in gold if name in page]


@pytest.mark.parametrize(
    ("factors", "message"),
    [("2,1", "ascending"), ("1", "two or more"), ("1,x", "must read as"), ("0,1", "ascending")],
)
def test_wrong_factors_are_one_line(deid, tmp_path, factors, message):
    done = deid("--test", TEST, "--out", tmp_path / "sweep", "--factors", factors)
    assert done.exit_code == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
