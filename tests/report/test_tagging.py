"""The PDF says that it is PDF/UA, and its structure is what a screen reader needs."""

from collections.abc import Iterator
from io import BytesIO
from itertools import pairwise
from typing import NamedTuple
from xml.etree import ElementTree as ET

import pikepdf
import pytest

_RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
_UA = "{http://www.aiim.org/pdfua/ns/id/}"


class Tagged(NamedTuple):
    """An element of the structure with the role of the one around it."""

    role: str
    above: str
    element: pikepdf.Object


@pytest.fixture(scope="module")
def opened(pdf: bytes) -> pikepdf.Pdf:
    """Return the PDF, opened."""
    return pikepdf.open(BytesIO(pdf))


@pytest.fixture(scope="module")
def tagged(opened: pikepdf.Pdf) -> list[Tagged]:
    """Return all elements of the structure in reading order."""

    def below(element: pikepdf.Object, above: str) -> Iterator[Tagged]:
        for kid in element.get("/K", []):
            if isinstance(kid, pikepdf.Dictionary) and "/S" in kid:
                role = str(kid.S)[1:]
                yield Tagged(role, above, kid)
                yield from below(kid, role)

    return list(below(opened.Root.StructTreeRoot, ""))


def test_says_that_it_is_pdf_ua(opened: pikepdf.Pdf) -> None:
    """One block of metadata names PDF/A and PDF/UA, and describes the property that PDF/A does not know."""
    metadata = ET.fromstring(opened.Root.Metadata.read_bytes())  # noqa: S314 - our own
    (block,) = metadata.iter(f"{_RDF}RDF")
    assert [about.get(f"{_UA}part") for about in block if about.get(f"{_UA}part")] == ["1"]
    described = {node.tag.rpartition("}")[2]: node.text for node in block.iter()}
    assert described["prefix"] == "pdfuaid"
    assert described["namespaceURI"] == _UA[1:-1]
    assert (described["name"], described["valueType"]) == ("part", "Integer")


def test_viewers_show_the_title_and_tab_through_links_in_order(opened: pikepdf.Pdf) -> None:
    """Pages with links are tabbed by structure, and every link says where it leads."""
    assert opened.Root.ViewerPreferences.DisplayDocTitle
    assert {str(page.get("/Tabs")) for page in opened.pages} == {"/S"}
    links = [link for page in opened.pages for link in page.get("/Annots", [])]
    assert len(links) > 20
    assert all(str(link.Contents) and "/StructParent" in link for link in links)


def test_formulas_and_figures_are_distinguished(tagged: list[Tagged]) -> None:
    """Both have words; only a drawing is a figure."""
    words = {
        role: {str(one.element.Alt) for one in tagged if one.role == role} for role in ("Figure", "Formula")
    }
    assert all(text.strip() for texts in words.values() for text in texts)
    assert all(text.startswith("Variance of a score against") for text in words["Figure"])
    assert len(words["Formula"]) > 20


def test_lists_hold_items_and_items_bodies(tagged: list[Tagged]) -> None:
    """No other element stands in a list or an item, and neither stands elsewhere."""
    pairs = {(one.above, one.role) for one in tagged}
    assert {role for above, role in pairs if above == "L"} == {"LI"}
    assert {role for above, role in pairs if above == "LI"} == {"Lbl", "LBody"}
    assert {above for above, role in pairs if role == "LI"} == {"L"}
    assert {above for above, role in pairs if role in {"Lbl", "LBody"}} == {"LI"}


def test_links_in_the_structure_hold_a_link(tagged: list[Tagged]) -> None:
    """What is tagged as a link can be followed."""
    links = [one.element for one in tagged if one.role == "Link"]
    assert links
    assert not [one for one in tagged if (one.above, one.role) == ("Link", "Link")]
    for link in links:
        assert any(isinstance(kid, pikepdf.Dictionary) and kid.get("/Type") == "/OBJR" for kid in link.K)


def test_headers_say_what_they_head(opened: pikepdf.Pdf, tagged: list[Tagged]) -> None:
    """Every header has a scope, and every header that a cell names can be found."""
    headers = [one.element for one in tagged if one.role == "TH"]
    assert {str(header.A.Scope) for header in headers} == {"/Row", "/Column"}
    found = pikepdf.NameTree(opened.Root.StructTreeRoot.IDTree)
    named = {str(name) for one in tagged if one.role == "TD" for name in one.element.A.Headers}
    assert named
    assert named <= set(found)
    assert {str(header.ID) for header in headers} == set(found)


def test_headings_do_not_skip(tagged: list[Tagged]) -> None:
    """No heading is more than one level below the one before."""
    levels = [int(one.role[1]) for one in tagged if one.role in {"H1", "H2", "H3", "H4", "H5", "H6"}]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_lines_at_head_and_foot_are_no_content(opened: pikepdf.Pdf, tagged: list[Tagged]) -> None:
    """Every numbered piece of a page is in the structure; the line at its foot is an artifact."""
    held = {one.element.objgen for one in tagged}
    elements = pikepdf.NumberTree(opened.Root.StructTreeRoot.ParentTree)
    asides = []
    for page in opened.pages:
        marks = [
            (str(one.operands[0]), one.operands[1])
            for one in pikepdf.parse_content_stream(page)
            if str(one.operator) == "BDC"
        ]
        numbered = [int(about.MCID) for _, about in marks if "/MCID" in about]
        assert numbered
        assert {elements[int(page.StructParents)][number].objgen for number in numbered} <= held
        asides.append(sum(tag == "/Artifact" and about.Type == "/Pagination" for tag, about in marks))
    assert all(asides[1:])


def test_no_span_is_empty(tagged: list[Tagged]) -> None:
    """A screen reader stops at nothing that has nothing to read."""
    spans = [one.element for one in tagged if one.role == "Span"]
    assert spans
    assert all(len(span.get("/K", [])) for span in spans if not isinstance(span.get("/K"), int))
