"""A drawn formula as glyphs and bars: each of them once, at its place."""

from __future__ import annotations

import pytest

from verify.report.math import Formulas
from verify.report.signs import BAR, NotSignsError, signs


@pytest.fixture(scope="module")
def formulas() -> Formulas:
    """Return one drawer."""
    return Formulas()


@pytest.mark.parametrize(
    "latex",
    [r"d", r"\frac{q\cdot k}{\sqrt{d_k}}", r"\sum_{i=1}^{d_k} q_i k_i", r"\left(\frac{a}{b}\right)^2_j"],
)
def test_every_glyph_and_bar_is_a_sign(latex: str, formulas: Formulas) -> None:
    """As many as are drawn, within the formula, from left to right."""
    formula = formulas.display(latex)
    found = signs(formula)
    bars = [sign for sign in found if sign.shape.name == BAR]
    assert len(bars) == formula.body.count("<rect ")
    assert len(found) - len(bars) == formula.body.count("<use ")
    assert [sign.x for sign in found] == sorted(sign.x for sign in found)
    assert found[0].x >= 0
    assert found[-1].x <= 1000 * formula.width
    for sign in found:
        assert -1000 * formula.depth - 10 <= sign.shape.y <= 1000 * (formula.height - formula.depth)
    for bar in bars:
        assert bar.shape.low is not None
        assert bar.shape.high is not None
        assert bar.shape.low < bar.shape.high
        assert bar.x + bar.shape.across <= 1000 * formula.width + 10


def test_places_add_up_through_groups(formulas: Formulas) -> None:
    """An index of an index is small and low: its place is that of its group within those around it."""
    first, second, third = signs(formulas.inline("a_{b_c}"))
    assert (first.x, first.shape.across, first.shape.y) == (0, 1, 0)
    assert (second.shape.across, third.shape.across) == (0.707, 0.5)
    assert first.shape.y > second.shape.y > third.shape.y
    assert first.x < second.x < third.x


def test_a_tall_bracket_is_cut_where_its_window_ends(formulas: Formulas) -> None:
    """The piece that is stretched between a bracket's ends is seen between them only."""
    formula = formulas.display(r"\left[\begin{matrix}a\\b\\c\\d\\e\end{matrix}\right]")
    cut = [sign.shape for sign in signs(formula) if sign.shape.low is not None and sign.shape.name != BAR]
    assert len(cut) == formula.body.count("<svg ") == 2
    for shape in cut:
        assert shape.low is not None
        assert shape.high is not None
        assert -1000 * formula.depth <= shape.low < shape.high <= 1000 * formula.height


def test_what_is_no_sign_is_refused(formulas: Formulas) -> None:
    """A stroke through a formula is neither a glyph nor a bar."""
    with pytest.raises(NotSignsError):
        signs(formulas.inline(r"\cancel{x}"))
