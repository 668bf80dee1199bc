"""What a document that WeasyPrint has drawn still lacks: roles, headers, links, named places, its bytes."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import pydyf

from verify.executors.machine import processors, thread_map
from verify.report.outlines import referenced

_ABOUT_UA = """\
<rdf:Description rdf:about="" xmlns:pdfuaid="http://www.aiim.org/pdfua/ns/id/" pdfuaid:part="1"/>
<rdf:Description rdf:about="" xmlns:pdfaExtension="http://www.aiim.org/pdfa/ns/extension/"
 xmlns:pdfaSchema="http://www.aiim.org/pdfa/ns/schema#"
 xmlns:pdfaProperty="http://www.aiim.org/pdfa/ns/property#">
<pdfaExtension:schemas><rdf:Bag><rdf:li rdf:parseType="Resource">
<pdfaSchema:schema>PDF/UA identification</pdfaSchema:schema>
<pdfaSchema:namespaceURI>http://www.aiim.org/pdfua/ns/id/</pdfaSchema:namespaceURI>
<pdfaSchema:prefix>pdfuaid</pdfaSchema:prefix>
<pdfaSchema:property><rdf:Seq><rdf:li rdf:parseType="Resource">
<pdfaProperty:name>part</pdfaProperty:name>
<pdfaProperty:valueType>Integer</pdfaProperty:valueType>
<pdfaProperty:category>internal</pdfaProperty:category>
<pdfaProperty:description>The part of ISO 14289 that the file conforms to</pdfaProperty:description>
</rdf:li></rdf:Seq></pdfaSchema:property>
</rdf:li></rdf:Bag></pdfaExtension:schemas></rdf:Description>
"""
_END = b"</rdf:RDF>"
_ROUNDING = 0.01  # pixels by which a box may stick out of the one around it


def name_places(pdf: Any, places: Mapping[str, str]) -> None:
    """Give places that have a name, the values, further names, the keys; none of these may be taken.

    An element for every name would do as well, but each takes its share of the time of laying out a line.
    """
    if not places:
        return
    found = pdf.catalog["Names"]["Dests"]["Names"]
    known = {name.string: place for name, place in zip(found[::2], found[1::2], strict=True)}
    known |= {name: known[place] for name, place in places.items()}
    found[:] = [part for name in sorted(known) for part in (pydyf.String(name), known[name])]


def drop_nested_links(document: Any) -> None:
    """Leave out the links within a link: WeasyPrint makes one of each box inside it."""
    for page in document.pages:
        kept: list[Any] = []
        for link in page.links:
            if not any(_is_within(link, other) for other in reversed(kept)):
                kept.append(link)
        page.links = kept


def _is_within(link: Any, other: Any) -> bool:
    """Return whether a link leads where another does and lies on its line, between its ends."""
    (left, top, right, bottom), (start, high, end, low) = link[2], other[2]
    lies_there = start - _ROUNDING <= left and right <= end + _ROUNDING and top < low and high < bottom
    return bool(lies_there and link[:2] == other[:2])


def write_once(pdf: Any) -> None:
    """Make the bytes of every object now; else each is made, and compressed, for the digest and again."""
    places = [place for place, one in enumerate(pdf.objects) if one.free != "f"]
    with thread_map(processors(None)) as mapped:
        # Python's zlib lets go of the interpreter.
        for place, one in zip(
            places, mapped(_MadeObject, [pdf.objects[place] for place in places]), strict=True
        ):
            pdf.objects[place] = one


class _MadeObject(pydyf.Object):  # type: ignore[misc]
    """An object whose bytes are made."""

    def __init__(self, made_of: Any) -> None:
        super().__init__()
        self.number, self.generation = made_of.number, made_of.generation
        self._compressible, self._data = made_of.compressible, made_of.data

    @property
    def compressible(self) -> bool:
        """Whether it may lie in a stream of objects."""
        return bool(self._compressible)

    @property
    def data(self) -> bytes:
        """The bytes."""
        return bytes(self._data)


def make_accessible(pdf: Any, figures: Collection[str]) -> None:
    """Say that WeasyPrint's PDF/A is PDF/UA as well, and fix its structure so that it is.

    ``figures`` are the words that stand in for figures; every other picture is a formula.
    """
    metadata = referenced(pdf, pdf.catalog["Metadata"])
    # PDF/A allows one block of metadata, and no property in it that the file does not describe.
    metadata.stream = [part.replace(_END, _ABOUT_UA.encode() + _END) for part in metadata.stream]
    root = referenced(pdf, pdf.catalog["StructTreeRoot"])
    _drop_empty(pdf, root)
    named: dict[str, bytes] = {}
    reached: set[bytes] = set()
    for element, path, place in _elements(pdf, root, ()):
        reached.add(element.reference)
        element["S"] = _role(pdf, element, path, place, figures)
        if element["S"] == "/TH":
            spans = "ColSpan" in element["A"]  # it heads the rows below it
            element["A"]["Scope"] = "/Column" if spans or "/THead" in path else "/Row"
            named[element["ID"].string] = element.reference
    pairs = [part for name in sorted(named) for part in (pydyf.String(name), named[name])]
    root["IDTree"] = pydyf.Dictionary({"Names": pydyf.Array(pairs)})
    _set_aside(pdf, referenced(pdf, root["ParentTree"])["Nums"], reached)


def _drop_empty(pdf: Any, element: Any) -> None:
    """Leave out the spans below an element that hold nothing, as those that are there for their looks."""
    kept = []
    for kid in element["K"]:
        if isinstance(kid, bytes) and "S" in (below := referenced(pdf, kid)):
            _drop_empty(pdf, below)
            if below["S"] == "/Span" and not below["K"]:
                continue
        kept.append(kid)
    element["K"] = pydyf.Array(kept)


def _set_aside(pdf: Any, numbers: Any, reached: Collection[bytes]) -> None:
    """Make what is in no element, the lines at a page's head and foot, an artifact, which is not read out.

    ``numbers`` has every page's number, and after it the elements of the page's pieces, in their order.
    """
    for page, elements in list(zip(numbers[::2], numbers[1::2], strict=True))[: len(pdf.page_references)]:
        aside = {piece for piece, element in enumerate(elements) if element not in reached}
        for piece in aside:
            elements[piece] = b"null"
        parts = referenced(pdf, referenced(pdf, pdf.page_references[page])["Contents"]).stream
        for place, part in enumerate(parts):
            if isinstance(part, pydyf.Dictionary) and part.get("MCID") in aside:
                parts[place - 1 : place + 1] = "/Artifact", pydyf.Dictionary({"Type": "/Pagination"})


def _kids(pdf: Any, element: Any) -> Iterator[Any]:
    """Yield what lies in an element; a number instead is a piece of the page itself."""
    for kid in element["K"]:
        if isinstance(kid, bytes):
            yield referenced(pdf, kid)


def _elements(pdf: Any, element: Any, path: tuple[str, ...]) -> Iterator[tuple[Any, tuple[str, ...], int]]:
    """Yield every element below one, with the roles above it, the nearest last, and its place there."""
    for place, kid in enumerate(_kids(pdf, element)):
        if "S" in kid:
            yield kid, path, place
            yield from _elements(pdf, kid, (*path, kid["S"]))


def _role(pdf: Any, element: Any, path: tuple[str, ...], place: int, figures: Collection[str]) -> str:
    """Return an element's role; WeasyPrint takes it from the HTML tag, wherever that stands."""
    role, above = element["S"], path[-1] if path else ""
    if any(kid.get("Type") == "/OBJR" for kid in _kids(pdf, element)):
        return "/Link"
    if role == "/Figure" and element["Alt"].string not in figures:
        return "/Formula"
    if role == "/Link":
        return "/Span"  # a box inside a link, or what CSS adds to one
    return _role_in_list(pdf, element, above, place)


def _role_in_list(pdf: Any, element: Any, above: str, place: int) -> str:
    """Return the role of an element, which may be part of a list."""
    role = element["S"]
    if role == "/L" and any(kid.get("S") == "/L" for kid in _kids(pdf, element)):
        return "/Div"  # the box around a list that is laid out as a table
    if (role, above) == ("/Div", "/L"):
        return "/LI"  # a term and what it means, grouped
    if (role, above) == ("/LI", "/LI"):
        return "/LBody" if place else "/Lbl"
    if (role == "/LI" and above != "/L") or (role == "/LBody" and above != "/LI"):
        return "/NonStruct"  # the box of a list's item that is laid out as a table
    return str(role)
