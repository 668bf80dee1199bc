"""What is done to a drawn document last leaves its bytes, and gives places further names."""

from io import BytesIO
from types import SimpleNamespace

import pikepdf
import pydyf

from verify.report.finishing import drop_nested_links, name_places, write_once


class Drawn(pydyf.Stream):  # type: ignore[misc]
    """A stream that counts how often its bytes are made."""

    made = 0

    @property
    def data(self) -> bytes:
        """The bytes."""
        self.made += 1
        return bytes(super().data)


def document(drawn: pydyf.Stream) -> pydyf.PDF:
    """Return a document of one page, drawn so, and two places that have names."""
    pdf = pydyf.PDF()
    pdf.add_object(drawn)
    pdf.add_page(pydyf.Dictionary({
        "Type": "/Page", "Parent": pdf.pages.reference, "Contents": drawn.reference,
        "MediaBox": pydyf.Array([0, 0, 200, 200]),
    }))  # fmt: skip
    top, bottom = (pydyf.Array([pdf.page_references[0], "/XYZ", 0, height, 0]) for height in (200, 0))
    pdf.catalog["Names"] = pydyf.Dictionary({
        "Dests": pydyf.Dictionary({
            "Names": pydyf.Array([pydyf.String("bottom"), bottom, pydyf.String("top"), top])
        })
    })  # fmt: skip
    return pdf


def written(pdf: pydyf.PDF) -> bytes:
    """Return the bytes of a document."""
    stream = BytesIO()
    pdf.write(stream, identifier=b"same", compress=True)
    return stream.getvalue()


def test_bytes_are_made_once_and_are_the_same() -> None:
    """Without it, each stream is compressed for the digest and again."""
    usual, once = (Drawn([b"0 0 m 100 100 l S"] * 99, compress=True) for _ in range(2))
    pdf = document(once)
    write_once(pdf)
    assert written(pdf) == written(document(usual))
    assert (once.made, usual.made) == (1, 2)


def test_places_have_further_names() -> None:
    """They lead where the place's own name does, and all names stay sorted."""
    pdf = document(pydyf.Stream())
    name_places(pdf, {"check": "top", "above": "top", "zero": "bottom"})
    opened = pikepdf.open(BytesIO(written(pdf)))
    names = pikepdf.NameTree(opened.Root.Names.Dests)
    assert list(names.keys()) == ["above", "bottom", "check", "top", "zero"]
    heights = {name: int(place[3]) for name, place in names.items()}
    assert heights == {"above": 200, "bottom": 0, "check": 200, "top": 200, "zero": 0}


def test_a_document_without_places_stays_as_it_is() -> None:
    """Nothing is named where there is nothing to name."""
    pdf = pydyf.PDF()
    name_places(pdf, {})
    assert "Names" not in pdf.catalog


def test_of_nested_links_the_outer_one_stays() -> None:
    """Boxes inside a link add nothing; another line of it, another link and another target do."""
    line, inside, below = (0.0, 0.0, 90.0, 12.0), (20.0, -2.0, 90.001, 13.0), (0.0, 12.0, 40.0, 24.0)
    beside = (95.0, 0.0, 120.0, 12.0)
    links = [("internal", "a", line), ("internal", "a", inside), ("internal", "a", below),
             ("internal", "a", beside), ("internal", "b", inside), ("external", "a", inside)]  # fmt: skip
    page = SimpleNamespace(links=[(*link, object()) for link in links])
    drop_nested_links(SimpleNamespace(pages=[page]))
    assert [link[:3] for link in page.links] == [links[0], *links[2:]]
