"""Citations in every form: complete, and valid for the programs that read them."""

import json
import re
from email.message import Message
from pathlib import Path

import pytest
from citeproc import Citation as Cited
from citeproc import CitationItem, CitationStylesBibliography, CitationStylesStyle, formatter
from citeproc.source.json import CiteProcJSON
from pybtex.database import parse_string

from tests.auditing.records import bad
from tests.report.records import record
from verify.citing import citations
from verify.citing.citations import FORMS, address_on_site, cite
from verify.evidence import Proof
from verify.evidence.load import creation

RUN = record()
CLAIM = RUN.claim("score-variance")
CHECK = next(check for check in CLAIM.checks if check.blocks)
DOI, FOLDER, SITE = "10.5281/zenodo.1", "https://example.org/r/", "https://example.org/verify"
PAGE = f"{FOLDER}report.html"
CITED = cite(RUN, CLAIM, CHECK, FOLDER)
EVERY = pytest.mark.parametrize("form", FORMS)
STYLE = """<?xml version="1.0" encoding="utf-8"?>
<style xmlns="http://purl.org/net/xbiblio/csl" class="in-text" version="1.0">
<info><title>t</title><id>t</id><updated>2020-01-01T00:00:00+00:00</updated></info>
<citation><layout><text variable="title"/></layout></citation>
<bibliography><layout delimiter=". "><names variable="author"/><text variable="title" prefix=" "/>
<date variable="issued" prefix=" "><date-part name="year"/></date><text variable="version" prefix=" "/>
<text variable="note" prefix=" "/><text variable="URL" prefix=" "/></layout></bibliography></style>"""


@EVERY
def test_every_form_is_complete(form: str) -> None:
    """Claim, verdict, digest, seed, profile, version, date and where to find it are in all of them.

    Plain text has no LaTeX in it.
    """
    settings = RUN.run.settings
    for cited in (CITED, cite(RUN, CLAIM, address=FOLDER)):
        text = FORMS[form](cited)
        assert cited.judged.lower() in text.lower()
        parts = (cited.label.removeprefix("claim "), cited.digest[:12], str(settings.seed), settings.profile)
        more = (RUN.tool.version, f"{creation(RUN):%Y-%m-%d}", cited.url, cited.result[:6])
        assert all(part in text for part in (*parts, *more))
        assert form != "text" or not re.search(r"[\\$]", text)


@EVERY
def test_where_it_is_published_is_there_where_it_is_given(form: str) -> None:
    """A page, the folder that holds it, or a DOI, bare or as an address."""
    for address, place in (
        ("", ""),
        (FOLDER, f"{PAGE}#{CLAIM.id}"),
        (PAGE, f"{PAGE}#{CLAIM.id}"),
        (DOI, f"https://doi.org/{DOI}"),
        (f"https://doi.org/{DOI}", f"https://doi.org/{DOI}"),
    ):
        cited = cite(RUN, CLAIM, address=address)
        text = FORMS[form](cited)
        assert place in text
        assert ("://" in text) is bool(address)
        assert (cited.doi == DOI) is (DOI in text) is (DOI in address)


def test_a_key_has_one_address() -> None:
    """However the site's own is written; its parts are where the whole is."""
    for key, place, anchor in (
        ("run:seed", "", ""),
        ("score-variance:verdict", "claims/score-variance/", ""),
        ("score-variance.slope:estimate", "claims/score-variance/", "#score-variance.slope"),
        ("source.b3", "statements/b3/", ""),
    ):
        for site in (SITE, f"{SITE}/", f"{SITE}/index.html"):
            assert address_on_site(site, key) == f"{SITE}/{place}{anchor}"
    assert cite(RUN, CLAIM, CHECK, site=SITE).url == address_on_site(SITE, f"{CLAIM.id}.{CHECK.id}")


@EVERY
def test_a_claim_of_the_user_s_own_is_cited_with_its_authors(form: str) -> None:
    """Those of the claim, or none; all others with the tool's."""
    own = CLAIM.model_copy(update={"chapter": "user"})
    named = own.model_copy(update={"authors": ("Ada Lovelace", "C. & D.")})
    for claim, wanted in ((named, named.authors), (own, ()), (CLAIM, (citations.AUTHORS,))):
        cited = cite(RUN, claim)
        text = FORMS[form](cited)
        assert cited.authors == wanted
        assert ("Ada Lovelace" in text) is (claim is named)
        assert claim is CLAIM or citations.AUTHORS not in text
    assert r"author = {{Ada Lovelace} and {C. \& D.}}," in FORMS["bibtex"](cite(RUN, named))


def test_a_citation_says_of_its_own_number_what_it_is() -> None:
    """Measured or computed, against what is derived or not, with error, level, tolerance and sample size."""
    assert CITED.judged == f"Measured, compared with a derived prediction: {CHECK.verdict}"
    result = CITED.result.replace("\N{NO-BREAK SPACE}", " ")
    pattern = (
        r"standard error .*, simultaneous interval \[.*\], level 1.*, 95% interval \[.*\], n = .* blocks;"
    )
    assert re.search(rf"{pattern} predicted .*, tolerance ±1% of the prediction", result)
    for origin, words in (
        ("set", "Measured, compared with a threshold set in advance, which nothing derives: "),
        ("computed", "Measured, compared with a threshold computed from what is derived: "),
    ):
        assert cite(RUN, CLAIM, CHECK.model_copy(update={"origin": origin})).judged.startswith(words)
    measured = CLAIM.derivation.model_copy(update={"status": Proof.MEASURED})
    bare = CLAIM.model_copy(update={"derivation": measured})
    assert "a prediction that nothing derives" in cite(RUN, bare, CHECK).judged
    assert cite(RUN, bare).judged.endswith(", measured")
    assert cite(RUN, CLAIM, CLAIM.controls[0]).judged == "Negative control, rejected, as required"


def test_the_source_s_address_is_that_of_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where its pyproject.toml names one; else nothing is invented."""
    message = Message()
    monkeypatch.setattr(citations, "metadata", lambda _: message)
    for given in (False, True):
        texts = [FORMS[name](cite(RUN, RUN)) for name in ("bibtex", "csl-json")]
        assert {"https://b.org/x" in text for text in texts} == {given}
        message["Project-URL"] = "Home, https://a.org"
        message["Project-URL"] = "Repository, https://b.org/x"


def test_an_audit_its_layers_and_findings_can_be_cited() -> None:
    """In every form, with the seal and where to find it."""
    audit, address = bad(2, 2), "https://example.org/audit"
    layer = audit.layers[0]
    wholes = [cite(audit, audit, None, address), cite(audit, layer, None, address)]
    for cited in (*wholes, *(cite(audit, layer, finding, address) for finding in layer.findings)):
        for form in FORMS.values():
            text = form(cited)
            assert all(part in text for part in (audit.seal[:12], cited.url, "2026-11-21"))
    scale = next(finding for finding in layer.findings if finding.id == "scale")
    refuted = cite(audit, layer, scale, address)
    assert refuted.key == "decoder-layers-0-self-attn.scale"
    assert refuted.url == f"{address}/audit.html#decoder-layers-0-self-attn"
    assert refuted.judged == "Finding refuted"
    interval = "simultaneous interval [0.3535, 0.3536], level 1 − 1×10⁻⁶"
    result = f"{interval}; asked for at least 0.99 and at most 1.01"
    text = FORMS["text"](refuted).replace("\N{NO-BREAK SPACE}", " ")
    assert f"{result}. Finding refuted. Audit of 2026-11-21, digest " in text
    assert ". 2 layers audited. Most serious judgement refuted. Audit" in FORMS["text"](wholes[0])


def test_bibtex_is_read_by_pybtex() -> None:
    """One entry with the fields that styles use."""
    ((key, entry),) = parse_string(FORMS["bibtex"](CITED), "bibtex").entries.items()
    assert (key, entry.type) == (f"sdpa-verify:{CITED.key}", "misc")
    assert str(entry.persons["author"][0]) == "{The sdpa-verify authors}"
    assert entry.fields["year"] == f"{creation(RUN):%Y}"
    note = entry.fields["note"]
    assert f"digest {CITED.digest[:12]}" in note
    assert CITED.digest not in note
    assert note.count("{") == note.count("}")


def test_csl_json_is_read_by_citeproc(tmp_path: Path) -> None:
    """A reference manager sets it; the date and the corporate author survive."""
    path = tmp_path / "plain.csl"
    path.write_text(STYLE, encoding="utf-8")
    source = CiteProcJSON(json.loads(FORMS["csl-json"](CITED)))
    style = CitationStylesStyle(str(path), validate=False)
    bibliography = CitationStylesBibliography(style, source, formatter.plain)
    bibliography.register(Cited([CitationItem(f"sdpa-verify:{CITED.key}".lower())]))
    (text,) = (str(item) for item in bibliography.bibliography())
    parts = ("The sdpa-verify authors", f"{creation(RUN):%Y}", CITED.digest, CITED.url)
    assert all(part in text for part in parts)
