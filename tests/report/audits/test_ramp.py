"""The colours of a map: they hold every value in order, and what is written on them can be read."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import examples
from verify.files.shipped import folder
from verify.report.audits.ramp import SHADES, Ramp
from verify.text.numbers import as_decimal

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@examples(200)
@given(st.lists(FINITE, min_size=1, max_size=6))
def test_every_value_lies_in_a_step_and_shades_rise(values: list[float]) -> None:
    """Whatever the values, there are at most eight steps between rising edges, and labels tell them apart."""
    ramp = Ramp.over(values)
    assert ramp.edges[0] <= as_decimal(min(values))
    assert ramp.edges[-1] >= as_decimal(max(values))
    assert len(ramp.edges) <= 9
    if ramp.edges[0] < ramp.edges[-1]:
        assert all(one < other for one, other in pairwise(ramp.edges))
    shades = [ramp.shade_of(value) for value in sorted(values)]
    assert shades == sorted(shades)
    labels = ramp.labels()
    assert len(labels) == len(set(ramp.edges))
    assert all(ramp.value(value) for value in values)


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([0.72, 1.32], "0.7 0.8 0.9 1.0 1.1 1.2 1.3 1.4"),
        ([-3, 7], "−4 −2 0 2 4 6 8"),
        ([18.4, 1240], "10 20 50 100 200 500 1000 2000"),
        ([0.5, 0.5], "0.5"),
    ],
)
def test_edges_are_round(values: list[float], labels: str) -> None:
    """Equal steps, ratios beyond a factor of thirty, and one value alone."""
    assert " ".join(Ramp.over(values).labels()) == labels


def _contrast(one: str, other: str) -> float:
    """Return the contrast of two colours as the accessibility guidelines define it."""

    def luminance(colour: str) -> float:
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _dark() -> list[tuple[str, str, str]]:
    """Return fill, ink and line of each step on a dark page."""
    css = (folder("templates") / "page.css").read_text(encoding="utf-8")

    def colours(kind: str, what: str) -> dict[str, str]:
        rules = re.findall(rf"((?:\.{kind}-\d,? ?)+)\{{ {what}: (#[0-9a-f]{{6}}); \}}", css)
        return {name: colour for names, colour in rules for name in re.findall(r"\d", names)}

    found = [colours("fill", "fill"), colours("ink", "fill"), colours("line", "stroke")]
    return [(found[0][str(n)], found[1][str(n)], found[2][str(n)]) for n in range(len(SHADES))]


def test_what_stands_on_a_colour_can_be_read() -> None:
    """With a contrast of 4.5, on light and dark pages; lightness goes one way, so grey shows the order."""
    dark = _dark()
    assert all(_contrast(shade.fill, shade.ink) >= 4.5 for shade in SHADES)
    assert all(_contrast(fill, ink) >= 4.5 and ink == line for fill, ink, line in dark)
    light = [_contrast(shade.fill, "#000000") for shade in SHADES]
    assert light == sorted(light, reverse=True)
    against_black = [_contrast(fill, "#000000") for fill, _, _ in dark]
    assert against_black == sorted(against_black)
