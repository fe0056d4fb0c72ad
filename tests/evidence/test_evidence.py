"""The evidence file of a release: every sentence leads to a receipt, what is missing or altered is
refused, and no text of a note is in it.
"""

import json
import re
import shutil
import unicodedata

import pytest

from deid_assets.core.errors import ProvenanceError
from deid_assets.evidence.build import build_evidence
from deid_assets.evidence.document import MeasureStanding, Regime
from deid_assets.evidence.page import evidence_html
from deid_assets.evidence.pdf import BROWSERS, pdf_of

pytestmark = pytest.mark.long


def built(shipped):
    return build_evidence(shipped.batch, shipped.opened(), regime=Regime.DPIA, is_draft=True)


def test_every_sentence_leads_to_a_source_that_was_checked(
    shipped, note_records, read_page, leaked
):
    document = built(shipped)
    page = read_page(evidence_html(document))

    assert len(page.said) > 50
    assert all(page.said)
    assert {link.removeprefix("#") for link in page.links} <= page.ids
    statements = [one for section in document.sections for one in section.statements]
    assert {source for one in statements for source in one.sources} <= set(document.sources)
    files = shipped.opened().files
    for source in document.sources:
        if source.kind == "receipt":
            receipt = files.receipt(*source.name.rsplit("@", 1))
            assert (source.digest, source.made_at) == (receipt.digest, receipt.created_at)
    assert leaked(note_records(), page.text) == []
    assert "8 of the 8 notes" in page.text
    assert "Detection covered 16 of 16 annotated identifiers" in page.text


def test_what_is_missing_is_refused_and_a_draft_shows_the_gaps(shipped, say, read_page, tmp_path):
    out = tmp_path / "evidence.html"

    code, said = say("evidence", shipped.batch, "--out", out)
    assert code == 1
    assert "missing: recall on annotated notes of the batch: the 8 annotated notes hold 16" in said
    assert f"make it with `deid review queue {shipped.batch}`" in said
    assert "missing: audit reidentification: it" in said
    assert "privacy_audits`" in said
    assert not out.exists()

    code, said = say("evidence", shipped.batch, "--out", out, "--draft", "--for", "dpia")
    assert code == 1
    assert f"{shipped.batch}: not measured" in said
    html = out.read_text()
    assert '<div class="draft"' in html
    assert "Draft: not for a decision" in html
    assert "audit reidentification" in read_page(html).text
    assert built(shipped).verdict is MeasureStanding.UNMEASURED


def alter_receipt(shipped):
    (path,) = shipped.store.glob(f"*/merged_spans/{shipped.batch}/receipt.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "counts": {"notes": 1}}))


def alter_table(shipped):
    (path,) = shipped.store.glob(f"*/gold_annotations/{shipped.batch}/spans-*.parquet")
    path.write_bytes(path.read_bytes()[:-1] + b"?")


def alter_release(shipped):
    with (shipped.home / "released" / shipped.batch / "notes.jsonl").open("a") as file:
        file.write("\n")


def alter_page(shipped):
    with (shipped.home / "reports" / f"release-{shipped.batch}.html").open("a") as file:
        file.write("<p>All is well.</p>")


@pytest.mark.parametrize(
    ("alter", "told"),
    [
        (alter_receipt, "the receipt's signature does not match"),
        (alter_table, "the file of table 'spans' was altered"),
        (alter_release, "altered after it was signed"),
        (alter_page, "not the page that was signed"),
    ],
)
def test_what_was_altered_makes_no_draft(shipped, alter, told):
    alter(shipped)

    with pytest.raises(ProvenanceError, match=told):
        built(shipped)


def test_what_is_no_release_and_no_file_of_ours_is_told(shipped, say, tmp_path, monkeypatch):
    assert say("evidence", "b-none", "--out", tmp_path / "e.html")[0] == 2
    code, said = say("evidence", shipped.batch, "--out", tmp_path / "e.txt")
    assert (code, "ends with .html or .pdf" in said) == (2, True)
    code, said = say("evidence", shipped.batch, "--out", tmp_path / "e.html", "--for", "all")
    assert (code, "choose one of hipaa, dpia" in said) == (2, True)
    monkeypatch.setenv("PATH", str(tmp_path))
    code, said = say("evidence", shipped.batch, "--out", tmp_path / "e.pdf")
    assert code == 2
    assert "write the page as .html, open it in a browser and print it" in said


@pytest.mark.browser
@pytest.mark.skipif(not any(map(shutil.which, BROWSERS)), reason="there is no Chromium")
def test_the_pdf_has_the_text_of_the_page_with_tags_and_page_numbers(
    shipped, note_records, read_page, leaked, tmp_path
):
    pypdf = pytest.importorskip("pypdf")
    html = evidence_html(built(shipped))
    path = tmp_path / "evidence.pdf"
    path.write_bytes(pdf_of(html))

    read = pypdf.PdfReader(path)
    pages = [page.extract_text() for page in read.pages]
    root = read.trailer["/Root"]
    assert root["/MarkInfo"]["/Marked"]
    assert {"/StructTreeRoot", "/Outlines"} <= root.keys()
    assert root["/Lang"] == "en"
    found = ""
    footer = f"Evidence for a data protection impact assessment · {shipped.batch}"
    for number, text in enumerate(pages, start=1):
        margin = f"Page {number} of {len(pages)}"
        assert margin in text
        body = plain(text).replace(plain(margin), "", 1)
        assert plain(footer) in body
        found += body.replace(plain(footer), "", 1).replace("DRAFT", "")
    wanted = [plain(block) for block in read_page(html).blocks if block.strip()]
    assert [block for block in wanted if block not in found] == []
    # nothing more than the page has, but for heads that are repeated where a table is cut
    assert len(found) < 1.1 * sum(map(len, wanted))
    assert leaked(note_records(), "\n".join(pages)) == []


def plain(text):
    """Return a text without blanks and ligatures."""
    return re.sub(r"\s", "", unicodedata.normalize("NFKC", text))
