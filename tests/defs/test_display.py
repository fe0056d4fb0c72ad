"""What the UI shows beside a figure, and where a report is."""

from deid_assets.assets.display import in_words, show_page
from deid_assets.quality import Verdict, check_share


def test_a_figure_stands_beside_its_floor():
    counts = {
        "labels": 1,
        "lower_ALL": 0.9712,
        "minimum_ALL": 0.9,
        "lower_NAME": 0.5,
        "minimum_NAME": 0.95,
    }
    told = in_words(Verdict("recall_lower_bound", True, True, counts).bounds)
    assert told == "Judged: lower ALL 0.9712 (minimum 0.9); lower NAME 0.5 (minimum 0.95)."

    share = check_share("readable", "", part=1, whole=8, limit=0.2)
    assert in_words(share.bounds) == "Judged: share 0.125 (limit 0.2)."
    assert in_words(Verdict("complete", True, True, {"entered": 3}).bounds) == ""


def test_a_report_is_a_link_where_somebody_serves_it(tmp_path, monkeypatch):
    path = tmp_path / "release-b-1.html"
    monkeypatch.delenv("DEID_REPORTS_URL", raising=False)
    assert show_page(path) == {"report": path}

    monkeypatch.setenv("DEID_REPORTS_URL", "http://127.0.0.1:3001/")
    found = show_page(path)
    assert found["report"] == "http://127.0.0.1:3001/release-b-1.html"
    assert found["report_file"] == path
