"""Figures in one call: what is drawn, from where to where, and with which intervals."""

from __future__ import annotations

import math

import pytest
from sympy import S

from tests.report.builders import check
from verify.errors import ClaimError
from verify.spec.claim import Findings
from verify.spec.figures import beside, expected, figure, line, measured, scatter
from verify.spec.notation import unmarked
from verify.symbolic.kernel.words import n
from verify.symbolic.scores import d

CHECKS = {
    f"variance-d{n}": check(f"variance-d{n}", n + 0.5, float(n), error=0.1, cell={"d_k": n}) for n in (64, 2)
}
FOUND = Findings(CHECKS | {"slope": check("slope", 1.0, 1.0)}, {}, {})


class TestMeasured:
    """Points with intervals."""

    @pytest.mark.parametrize(
        ("against", "message"),
        [
            ("dk", r"^check variance-d64 has no setting 'dk'; did you mean 'd_k'\?$"),
            ("T", "no setting 'T'; its settings are d_k, law$"),
            ("law", "check variance-d64: its setting 'law' is 'normal'; take one that is a number"),
        ],
    )
    def test_against_a_setting_that_there_is(self, against: str, message: str) -> None:
        """Another is refused with those that there are."""
        checks = [check("variance-d64", 64.5, 64.0, cell={"d_k": 64, "law": "normal"})]
        with pytest.raises(ClaimError, match=message):
            measured(checks, against=against)

    def test_what_is_drawn_of_a_value_is_drawn_of_its_ends(self) -> None:
        """Also where that turns the interval around."""
        drawn = measured(FOUND.matching("variance-d*"), as_drawn=lambda place, value: place - value)
        assert drawn.y == (-0.5, -0.5)
        assert all(low < value < high for low, value, high in zip(drawn.lo, drawn.y, drawn.hi, strict=True))


class TestFigure:
    """Lines and points on their axes."""

    def test_lines_are_even_on_their_axis(self) -> None:
        """On a linear one their points have equal distances; a line in another symbol bears no formula."""
        points = measured(FOUND.matching("variance-d*"))
        drawn = figure("f", "F", "f", "y", line("law", 2 * n, points=3), points, x_scale="linear").layers[0]
        assert (drawn.label, drawn.x, drawn.y) == ("law", (2.0, 33.0, 64.0), (4.0, 66.0, 128.0))

    def test_what_is_measured_beside_a_line(self) -> None:
        """The line as it is given, or through what the checks compare with, in the order of their places."""
        checks = FOUND.matching("variance-d*")
        assert beside(checks, "law", d, points=5) == (line("law", d, points=5), measured(checks))
        through = expected(checks, "law")
        assert (through.kind, through.role, through.x, through.y) == (
            "line",
            "truth",
            (2.0, 64.0),
            (2.0, 64.0),
        )

    def test_a_label_stands_once(self) -> None:
        """At the first of the layers that share it."""
        points = measured(FOUND.matching("variance-d*"))
        drawn = figure("f", "F", "f", "y", line("one", d), points, line("two", 2 * d), points).layers
        assert [unmarked(one.label) for one in drawn] == ["one: $d_{k}$", "measured", "two: $2 d_{k}$", ""]
        assert drawn[3].y == drawn[1].y

    def test_a_line_through_given_places(self) -> None:
        """Of a function, of one number, or of a value for each place; points without intervals likewise."""
        assert line("", math.sqrt, at=(1, 4)).y == (1.0, 2.0)
        assert line("", 3, at=(1, 4)).y == (3.0, 3.0)
        assert line("", (5, 6), at=(1, 4)).y == (5.0, 6.0)
        assert unmarked(line("level", S.One, over=(1, 4)).label) == "level: $1$"
        dots = scatter("", (1, 4), math.sqrt)
        assert (dots.kind, dots.role, dots.y) == ("points", "measured", (1.0, 2.0))

    def test_without_anything_measured_a_line_needs_ends(self) -> None:
        """The error names the figure and says what to give."""
        with pytest.raises(ClaimError, match="figure f: it shows nothing measured; give its lines"):
            figure("f", "title", "alt", "y", line("derived", d))
