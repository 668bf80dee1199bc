"""Whatever is fixed is right, keeps the author's words, and says something of the value."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING

from hypothesis import assume, given
from hypothesis import strategies as st

from tests.strategies import examples
from tests.tool import ROOT
from verify.citing.agreement import agrees, fixed
from verify.citing.figures import numbers_in
from verify.citing.values import values_of as values
from verify.evidence.load import load

if TYPE_CHECKING:
    from verify.citing.values import Value

# Without the claims, which Hypothesis would write out at every draw.
QUOTABLE = [
    dataclasses.replace(value, subject=None, part=None)
    for value in values(load(ROOT / "reports/reference/results.json"))
    if value.figures
]
FIGURE = (
    r"(?:[-−–]|&minus;)?(?:\d[\d,\N{NARROW NO-BREAK SPACE}]*(?:\.\d+)?|\.\d+)(?:×10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+|e-?\d+)?"
)
NOTED = st.one_of(
    st.sampled_from(["0", "1", "1.0", "100", "0.3", "99.78", "−0.5", "12,345", "7e-3", "2×10⁻⁶", "5×10³"]),
    st.decimals(-200, 200, places=3, allow_nan=False).map(str),
    st.integers(-(10**9), 10**9).map(str),
)
JOINS = [
    "–",
    "-",
    " – ",
    " to ",
    ", ",
    " [",
    "%–",
    "%-",
    "**–",
    "`–",
    "$–",
    "\N{NO-BREAK SPACE}–",
    " million–",
]
BEFORE = ["", "", "power ", "about ", "**", "`", "$", "x = ", "("]
AFTER = [
    "",
    "%",
    " %",
    "\N{NO-BREAK SPACE}%",
    "‰",
    " million",
    "k",
    " M",
    " billion",
    " bn",
    " K",
    " runs",
    "**",
    "$",
]


@st.composite
def quotations(draw: st.DrawFn) -> tuple[Value, list[str], list[str], str]:
    """Return a value, what stands around its figures in a document, figures, and what follows."""
    value = draw(st.sampled_from(QUOTABLE))
    joins = [draw(st.sampled_from(JOINS)) for _ in value.figures[1:]]
    around = [draw(st.sampled_from(BEFORE)), *joins, draw(st.sampled_from(AFTER))]
    figures = [draw(NOTED) for _ in value.figures]
    return value, around, figures, draw(st.sampled_from(AFTER))


@examples(200)
@given(quotations())
def test_what_is_fixed(drawn: tuple[Value, list[str], list[str], str]) -> None:
    """It agrees, keeps every character that is no figure's, and is never 0 for what is not."""
    value, around, figures, after = drawn
    quoted = around[0] + "".join(figure + mark for figure, mark in zip(figures, around[1:], strict=True))
    new = fixed(quoted, value, after)
    assume(new is not None and new != quoted)
    assert new is not None
    assert agrees(new, value, after)
    assert fixed(new, value, after) == new
    if value.text not in new:
        assert re.fullmatch(FIGURE.join(map(re.escape, around)), new), (quoted, new)
    for now, own, figure, old in zip(
        numbers_in(new, after), numbers_in(value.text), value.figures, figures, strict=True
    ):
        kept = not numbers_in(old)[0].value and figure.rounding in {"down", "up"}
        assert now.value or not own.value or not figure.exact or kept, (quoted, new)
