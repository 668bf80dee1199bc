"""Citations in every form: complete, and valid for the programs that read them."""

import json
import re
from email.message import Message

import pytest
from citeproc import Citation as Cited
from citeproc import CitationItem, CitationStylesBibliography, CitationStylesStyle, formatter
from citeproc.source.json import CiteProcJSON
from docutils.core import publish_doctree
from pybtex.database import parse_string

from tests.auditing.records import bad
from tests.report.records import record
from verify.citing import citations
from verify.citing.citations import Citation, cite
from verify.evidence import Proof
from verify.evidence.load import creation

STYLE = """<?xml version="1.0" encoding="utf-8"?>
<style xmlns="http://purl.org/net/xbiblio/csl" class="in-text" version="1.0">
<info><title>t</title><id>t</id><updated>2020-01-01T00:00:00+00:00</updated></info>
<citation><layout><text variable="title"/></layout></citation>
<bibliography><layout delimiter=". "><names variable="author"/><text variable="title" prefix=" "/>
<date variable="issued" prefix=" "><date-part name="year"/></date><text variable="version" prefix=" "/>
<text variable="note" prefix=" "/><text variable="URL" prefix=" "/></layout></bibliography></style>"""


SETTINGS = record().run.settings


@pytest.fixture(scope="module")
def whole() -> Citation:
    """Return the citation of a claim."""
    run = record()
    return cite(run, run.claims[0], address="https://example.org/report")


@pytest.fixture(scope="module")
def one() -> Citation:
    """Return the citation of a check."""
    run = record()
    return cite(run, run.claims[0], run.claims[0].checks[0], "https://example.org/report/")


@pytest.mark.parametrize("name", citations.FORMS)
def test_every_form_is_complete(one: Citation, whole: Citation, name: str) -> None:
    """Claim, verdict, digest, seed, profile, version, date and where to find it are in all of them."""
    for of in (one, whole):
        text = citations.FORMS[name](of)
        assert of.label.removeprefix("claim ") in text
        assert of.judged.lower() in text.lower()
        assert of.digest[:12] in text
        assert all(str(setting) in text for setting in (SETTINGS.seed, SETTINGS.profile))
        assert of.record.tool.version in text
        assert f"{creation(of.record):%Y-%m-%d}" in text
        assert of.url in text
        assert of.result[:6] in text


DOI, FOLDER = "10.5281/zenodo.1", "https://example.org/r/"
PAGE = f"{FOLDER}report.html"


@pytest.mark.parametrize("name", citations.FORMS)
@pytest.mark.parametrize("url", ["", FOLDER, PAGE])
@pytest.mark.parametrize("doi", ["", DOI])
def test_both_addresses_are_there_where_both_are_given(name: str, url: str, doi: str) -> None:
    """One rule for all forms: DOI and URL, and nothing that was not given."""
    run = record()
    text = citations.FORMS[name](cite(run, run.claims[0], address=url, doi=doi)).replace("\\_", "_")
    place = f"{PAGE}#{run.claims[0].id}"
    assert (DOI in text) is bool(doi)
    assert (place in text) is bool(url)
    assert (PAGE in text) is bool(url)
    assert ".pdf" not in text
    assert ("doi.org" in text) is bool(doi) or name in {"bibtex", "csl-json"}


def test_a_pdf_has_named_destinations() -> None:
    """Where the address is one; a DOI in its place is named once."""
    run = record()
    cited = cite(run, run.claims[0], address="https://example.org/r.pdf")
    assert cited.url == f"https://example.org/r.pdf#nameddest={run.claims[0].id}"
    both = cite(run, run.claims[0], address=f"https://doi.org/{DOI}", doi=DOI)
    assert citations.FORMS["text"](both).count(DOI) == 1


def test_a_claim_of_the_user_s_own_is_cited_with_its_authors() -> None:
    """Those of the claim, else those of the project, else none; all others with the tool's."""
    run = record()
    own = run.claims[0].model_copy(update={"chapter": "user"})
    named = own.model_copy(update={"authors": ("Ada Lovelace", "C. & D.")})
    for claim, given, wanted in (
        (named, ("The project",), ("Ada Lovelace", "C. & D.")),
        (own, ("The project",), ("The project",)),
        (own, (), ()),
        (run.claims[0], ("The project",), (citations.AUTHORS,)),
    ):
        cited = cite(run, claim, authors=given)
        assert cited.authors == wanted
        for name, form in citations.FORMS.items():
            text = form(cited)
            is_own = claim.chapter == "user"
            assert ("Ada Lovelace" in text) is (claim is named), name
            assert ("The project" in text) is (claim is own and bool(given)), name
            assert not (is_own and citations.AUTHORS in text), name
    entry = citations.FORMS["bibtex"](cite(run, named))
    assert r"author = {{Ada Lovelace} and {C. \& D.}}," in entry
    assert named.sealed().digest != own.sealed().digest


def test_a_citation_says_of_its_own_number_what_it_is() -> None:
    """Measured or computed, against what is derived or not, with error, level, tolerance and sample size."""
    run = record()
    claim = next(one for one in run.claims if one.id == "score-variance")
    check = next(one for one in claim.checks if one.blocks)
    cited = cite(run, claim, check)
    assert cited.judged == f"Measured, compared with a derived prediction: {check.verdict}"
    for part in (
        " ± ",
        " (standard error), simultaneous interval [",
        "] at level 1",
        "95% interval [",
        "n = ",
    ):
        assert part in cited.result.replace("\N{NO-BREAK SPACE}", " ")
    assert "tolerance ±1% of the prediction" in cited.result
    words = {
        "set": "Measured, compared with a threshold set in advance, which nothing derives: ",
        "computed": "Measured, compared with a threshold computed from what is derived: ",
    }
    for origin, start in words.items():
        assert cite(run, claim, check.model_copy(update={"origin": origin})).judged.startswith(start)
    measured = claim.derivation.model_copy(update={"status": Proof.MEASURED})
    bare = claim.model_copy(update={"derivation": measured})
    assert "a prediction that nothing derives" in cite(run, bare, check).judged
    assert cite(run, bare).judged.endswith(", measured")
    assert cite(run, claim, claim.controls[0]).judged == "Negative control, rejected, as required"


def test_the_source_s_address_is_that_of_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where its pyproject.toml names one; else nothing is invented."""
    run = record()
    for urls, wanted in (
        ([], ""),
        (["Home, https://a.org", "Repository, https://b.org/x"], "https://b.org/x"),
    ):
        message = Message()
        for url in urls:
            message["Project-URL"] = url
        monkeypatch.setattr(citations, "metadata", lambda _, message=message: message)
        texts = [citations.FORMS[name](cite(run, run)) for name in ("bibtex", "csl-json")]
        assert {"https://b.org/x" in text for text in texts} == {bool(wanted)}


def test_a_run_says_once_what_became_of_its_claims() -> None:
    """Its statement counts them, its judgement says how many came out how."""
    run = record()
    cited = cite(run, run)
    assert re.fullmatch(r"\d+ of \d+ claims \w+(?:, \d+ \w+)*", cited.judged)
    assert "confirmed" not in cited.statement
    alone = run.model_copy(update={"claims": run.claims[:1]})
    cited = cite(alone, alone)
    assert re.fullmatch(r"1 of 1 claim \w+", cited.judged)
    assert cited.statement == "1 claim, each with its derivation and checks."


def test_an_audit_its_layers_and_findings_can_be_cited() -> None:
    """In every form, with the seal and where to find it."""
    audit = bad(2, 2)
    layer = audit.layers[0]
    address = "https://example.org/audit"
    for of in (
        cite(audit, audit, None, address),
        cite(audit, layer, None, address),
        *(cite(audit, layer, one, address) for one in layer.findings),
    ):
        for form in citations.FORMS.values():
            text = form(of)
            assert audit.seal[:12] in text
            assert of.url in text
            assert "2026-11-21" in text
    refuted = cite(audit, layer, next(part for part in layer.findings if part.id == "scale"), address)
    assert refuted.key == "decoder-layers-0-self-attn.scale"
    assert refuted.url == f"{address}/audit.html#decoder-layers-0-self-attn"
    assert refuted.judged == "Finding refuted"
    assert refuted.result.replace("\N{NO-BREAK SPACE}", " ") == (
        "0.3536; simultaneous interval from 0.3535 to 0.3536 at level 1 − 1×10⁻⁶; compared with 0.99 to 1.01"
    )
    assert re.search(
        r"compared with 0\.99 to 1\.01\. Finding refuted\. Audit of 2026-11-21, digest ",
        citations.FORMS["text"](refuted).replace("\N{NO-BREAK SPACE}", " "),
    )
    assert ". 2 layers audited. Most serious judgement refuted. Audit" in citations.FORMS["text"](
        cite(audit, audit)
    )


def test_bibtex_is_read_by_pybtex(one: Citation) -> None:
    """One entry with the fields that styles use."""
    ((key, entry),) = parse_string(citations.FORMS["bibtex"](one), "bibtex").entries.items()
    assert key == f"sdpa-verify:{one.key}"
    assert entry.type == "misc"
    assert str(entry.persons["author"][0]) == "{The sdpa-verify authors}"
    assert entry.fields["year"] == f"{creation(one.record):%Y}"
    assert f"digest {one.digest[:12]}" in entry.fields["note"]
    assert one.digest not in entry.fields["note"]
    assert entry.fields["note"].count("{") == entry.fields["note"].count("}")


def test_csl_json_is_read_by_citeproc(one: Citation, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A reference manager sets it; the date and the corporate author survive."""
    path = tmp_path_factory.mktemp("style") / "plain.csl"
    path.write_text(STYLE, encoding="utf-8")
    source = CiteProcJSON(json.loads(citations.FORMS["csl-json"](one)))
    bibliography = CitationStylesBibliography(
        CitationStylesStyle(str(path), validate=False), source, formatter.plain
    )
    bibliography.register(Cited([CitationItem(f"sdpa-verify:{one.key}".lower())]))
    (text,) = (str(item) for item in bibliography.bibliography())
    assert "The sdpa-verify authors" in text
    assert f"{creation(one.record):%Y}" in text
    assert one.digest in text
    assert one.url in text


def test_restructured_text_is_clean(one: Citation) -> None:
    """Docutils finds nothing to complain about, a link and some mathematics."""
    tree = publish_doctree(
        citations.FORMS["rst"](one), settings_overrides={"halt_level": 2, "report_level": 2}
    )
    assert [node["refuri"] for node in tree.findall() if node.tagname == "reference"] == [one.url]
    assert any(node.tagname == "math" for node in tree.findall())


def test_text_has_no_latex(one: Citation) -> None:
    """Plain text is plain."""
    assert not re.search(r"[\\$]", citations.FORMS["text"](one))
