"""Formulas become the operators of a PDF page, or are left to WeasyPrint if they are more than outlines."""

import re

import pytest

from verify.report.marks import MARKS
from verify.report.math import Formulas
from verify.report.outlines import outlined, stroked


@pytest.fixture(scope="module")
def formulas() -> Formulas:
    """Return one drawer."""
    return Formulas()


class Stream:
    """Notes what is drawn."""

    def __init__(self) -> None:
        self.stream: list[bytes] = []
        self.moved: dict[str, float] = {}
        self.colours: list[tuple[str, bool]] = []

    def set_color(self, colour: str, *, stroke: bool = False) -> None:
        """Note the colour."""
        self.colours.append((colour, stroke))

    def transform(self, **moved: float) -> None:
        """Note the transformation."""
        self.moved = moved


def test_fills_its_box_in_the_colour_of_the_text(formulas: Formulas) -> None:
    """The drawing is scaled to the width given and starts at the top left corner of its box."""
    formula = formulas.display(r"\frac{a}{b}")
    drawn, stream = outlined(formula, "x"), Stream()
    assert drawn is not None
    left, top, width, height = (float(number) for number in formula.view_box.split())
    assert drawn.get_intrinsic_size(1, 1)[2] == pytest.approx(width / height)
    drawn.draw(stream, 2 * width, 2 * height, {"color": "ink"})
    assert stream.moved == pytest.approx({"a": 2, "d": 2, "e": -2 * left, "f": -2 * top})
    assert stream.colours == [("ink", False), ("ink", True)]


@pytest.mark.parametrize(
    "latex", [r"\overbrace{a + b + c + d}^n", r"\sqrt{\frac{a}{b}}", r"\left(\sum_{i=1}^d q_i k_i\right)^2"]
)
def test_operators_are_balanced(formulas: Formulas, latex: str) -> None:
    """Every saved state is restored, every glyph and bar is filled, and nothing else is drawn."""
    formula = formulas.display(latex)
    drawn, stream = outlined(formula, "x"), Stream()
    assert drawn is not None
    drawn.draw(stream, 1, 1, {"color": "ink"})
    text, _, outlines = b"".join(stream.stream).decode().partition("EMC Q\n")
    assert text.startswith("q /Span")
    words = outlines.split()
    operators = [word for word in words if not re.fullmatch(r"-?[\d.]+(e-?\d+)?", word)]
    assert set(operators) <= {"q", "Q", "cm", "m", "l", "c", "h", "f", "re", "W", "n"}
    assert operators.count("q") == operators.count("Q")
    assert operators.count("f") == formula.body.count("<use") + formula.body.count("<rect")


@pytest.mark.parametrize("latex", [r"\boxed{x}", r"\cancel{x}", r"\begin{array}{c|c} a & b \end{array}"])
def test_more_than_outlines_is_left_to_weasyprint(formulas: Formulas, latex: str) -> None:
    """Strokes are not drawn here."""
    assert outlined(formulas.display(latex), "x") is None


@pytest.mark.parametrize("name", MARKS)
def test_marks_are_stroked(name: str) -> None:
    """Every path of a mark is drawn; only one has a half that is filled."""
    stream = Stream()
    stroked(MARKS[name]).draw(stream, 8, 8, {"color": "ink"})
    words = b"".join(stream.stream).decode().split()
    assert words.count("S") + words.count("B") == MARKS[name].count("<path")
    assert words.count("B") == (name == "half")
