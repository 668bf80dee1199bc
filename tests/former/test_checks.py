"""Checks: comparisons in cells with what a law gives there, fits through them, and negative controls."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sympy import S, Symbol, sqrt

from tests.strategies import measured
from tests.former.biased import BiasedRows
from verify.errors import ClaimError
from verify.montecarlo.blocks import Sample
from verify.montecarlo.distributions import NORMAL
from verify.montecarlo.estimands import component
from verify.montecarlo.experiment import Exact, Fit, Model, Quantity, Tolerance, route_of
from verify.montecarlo.inputs import Simulated
from verify.former.cells import cell_of, cells_of, score_cell
from verify.former.checks import (
    biased, in_turn, integrated, means, over_cells, prediction, sharper, threshold, variances, wrong,
    wrong_fits,
)  # fmt: skip
from verify.former.fitting import Coefficient, fits, in_dimension, linear_fits, misfit, no_slope, slope_of
from verify.symbolic.scores import d

r = Symbol("r")
CELLS = [score_cell(n, NORMAL, NORMAL, 0.05) for n in (1, 2, 8)]
POINTS = variances(CELLS, "Var", 3 * d)


def test_means() -> None:
    """They have a tolerance of their own in each dimension, for they may be 0."""
    made = means(CELLS, "E", 0, lambda n: Tolerance(2.0, n**0.5, "the root"))
    assert [one.id for one in made] == ["mean-d1", "mean-d2", "mean-d8"]
    assert all(one.estimand is cell.mean for one, cell in zip(made, CELLS, strict=True))
    assert made[2].tolerance.width(0.0, 0.01) == pytest.approx(0.02 * 8**0.5)


def test_each_cell_may_have_its_own() -> None:
    """A function of the key gives what is not one for all, also where SymPy's symbols can be called."""
    cells = {(one.d, "c"): one.cell for one in CELLS[:2]}
    own = over_cells(
        "{cell}",
        "E",
        cells,
        lambda n, _: component(f"mean-{n}"),
        lambda n, _: n / 3,
        lambda n, _: Tolerance(n),
    )
    assert [one.id for one in own.values()] == ["d1", "d2"]
    assert [one.tolerance.factor for one in own.values()] == [1, 2]
    assert [one.prediction for one in own.values()] == [integrated(1 / 3), integrated(2 / 3)]
    assert own[1, "c"].estimand != own[2, "c"].estimand
    assert over_cells("c", "E", {1: CELLS[2].cell}, component("mean"), d)[1].prediction.value == 8.0


def test_what_no_setting_says_is_refused() -> None:
    """In the law, and in the id."""
    cells = {0: CELLS[0].cell}
    with pytest.raises(ClaimError, match="depends on r, so it is not a number"):
        over_cells("x", "E", cells, component("mean"), r * d)
    with pytest.raises(ClaimError, match="no setting 'd'; did you mean 'd_k'"):
        over_cells("x-{d}", "E", cells, component("mean"), d)


def test_families_in_turn() -> None:
    """What is compared in one cell stands together."""
    cells = {one.d: one.cell for one in CELLS[:2]}
    families = [over_cells(f"{name}-{{cell}}", "E", cells, component("mean"), 0) for name in "ab"]
    assert [one.id for one in in_turn(*families)] == ["a-d1", "b-d1", "a-d2", "b-d2"]


def test_cells_from_the_names_of_a_functions_parameters() -> None:
    """They are settings, stand in the ids, and a key may be several of them or have a scale of its own."""
    cells = cells_of(
        "m{m}-n{n}", [(0.5, 4), (0.125, 8)],
        lambda m, n: (Simulated(NORMAL, NORMAL, 2, n, 16), BiasedRows(m)), scale=1 / sqrt(d), heads=3,
    )  # fmt: skip
    assert [one.id for one in cells.values()] == ["m05-n4", "m0125-n8"]
    drawn = Simulated(NORMAL, NORMAL, 2, 4, 16)
    assert cells[0.5, 4] == cell_of("m05-n4", drawn, BiasedRows(0.5), scale=1 / sqrt(d), m=0.5, n=4, heads=3)
    own = cells_of("r{r:.0%}", (0.1, 0.5), lambda r: (drawn, BiasedRows(1.0), r / sqrt(d)))
    assert own[0.1] == cell_of("r10", drawn, BiasedRows(1.0), scale=0.1 / sqrt(d), r=0.1)


class TestFits:
    """Coefficients of lines through points."""

    def test_the_point_of_a_dimension(self) -> None:
        """Found by what its cell records."""
        assert in_dimension(POINTS, 8) is POINTS[2]

    def test_a_line(self) -> None:
        """Every expected value is a derivative or value of the result: 3d has slope 3 and exponent 1."""
        made = linear_fits(POINTS, 3 * d, "my-")
        found = {one.id: one for one in made}
        assert {name: one.prediction.value for name, one in found.items()} == {
            "my-slope": 3.0,
            "my-intercept": 0.0,
            "my-curvature": 0.0,
            "my-exponent": 1.0,
            "my-lack-of-fit": 0.0,
        }
        assert found["my-slope"].tolerance.width(3.0, 0.01) == pytest.approx(0.03)
        assert found["my-intercept"].tolerance.width(0.0, 0.01) == pytest.approx(3 * 0.01 * 3)
        assert found["my-curvature"].tolerance.width(0.0, 0.01) == pytest.approx(3 * 0.01 * 3 / 8)
        assert found["my-exponent"].tolerance.width(1.0, 0.01) == pytest.approx(0.01 / 3)
        assert found["my-slope"].label == "slope of Var"

    def test_a_law_with_an_offset_has_no_one_exponent(self) -> None:
        """It has a slope of its own, and is refused where a line through zero is meant."""
        assert slope_of(3 * d + 2, "my-").expected == 3
        with pytest.raises(ClaimError, match=r"depends on d_k, so it is not a number; .*\.subs\(d_k, 64\)"):
            linear_fits(POINTS, 3 * d + 2)

    def test_a_level_has_no_slope(self) -> None:
        """Up to the level over the largest place, whatever it is measured against."""
        (level,) = fits(variances(CELLS, "Var", 5), no_slope(S(5), 8, "my-", against="$d_k$"), label="all")
        assert (level.id, level.label, level.prediction.value) == ("my-slope", "slope of all", 0.0)
        assert level.tolerance.width(0.0, 0.01) == pytest.approx(0.01 * 5 / 8)
        against = no_slope(S(5), 8, against="number of tokens")
        assert against.words == "slope against the number of tokens"
        assert against.tolerance.of == "the level over the largest number of tokens"


def test_the_setting_that_words_name_is_there() -> None:
    """Of a biased prediction and of a fit; another is refused with those that there are."""
    message = r"check variance-d2 has no setting 't'; its settings are d_k, .*query"
    with pytest.raises(ClaimError, match=message):
        biased(POINTS[1], 0.05, at="t")
    with pytest.raises(ClaimError, match=message):
        fits(POINTS[1:], misfit("line"), against="t")


class TestWrong:
    """A wrong version of any comparison."""

    def test_another_comparison_stands_for_its_prediction(self) -> None:
        """As in: it is the same there as here."""
        control = wrong(POINTS[0], "same", "it is the same in two dimensions", POINTS[1])
        assert control.comparison == replace(POINTS[0], id="same", prediction=POINTS[1].prediction)
        assert control.truth == 3.0

    def test_a_bound_is_no_truth(self) -> None:
        """Neither a bound nor a threshold nor a computed value says what is measured."""
        bound, goal = replace(POINTS[0], relation="≤"), replace(POINTS[0], prediction=threshold(S.One))
        exact = Exact("one", "one", (), prediction(S.One), 1.0)
        assert [wrong(one, "off", "it is 9", S(9)).truth for one in (bound, goal, exact)] == [None] * 3


def test_a_biased_control() -> None:
    """The wrong prediction lies two band widths off, and the truth is kept for the power."""
    check = POINTS[1]
    control = biased(check, 0.05)
    found = control.comparison
    assert isinstance(found, Quantity)
    assert found.id == "biased-prediction"
    assert found.prediction.value == pytest.approx(6.0 * 1.1)
    assert control.truth == 6.0
    assert found.cell is check.cell
    # The two bands are disjoint, or no sample could separate them.
    width = found.tolerance.width(found.prediction.value, 0.05)
    assert found.prediction.value - width > 6.0 * 1.0


def test_a_sharper_bound_keeps_all_but_its_constant() -> None:
    """Same cell, estimand and relation, another number, and the truth that it is planned by."""
    one = score_cell(8, NORMAL, NORMAL, 0.05)
    check = Quantity("most", "a variance", one.cell, one.variance, integrated(10.0), relation="≤")
    control = sharper(check, 0.75, truth=8.0)
    found = control.comparison
    assert isinstance(found, Quantity)
    assert (found.id, found.prediction.value, found.prediction.latex) == ("most-sharper", 7.5, "7.5")
    assert (control.what, control.truth) == ("a variance respects 0.75 times its bound", 8.0)
    assert route_of(found) == route_of(check)
    assert found.cell == check.cell


class TestWrongFits:
    """What a fit must refute."""

    @pytest.mark.parametrize("law", [3 * d, S(3) + 0 * d], ids=["rising", "level"])
    def test_each_fit_has_one_through_the_same_code(self, law: Any) -> None:
        """Model and coefficient stay; a coefficient lies two widths off, and truth is the derived value."""
        members = variances(CELLS, "Var", law)
        of_power = Coefficient("power-misfit", "misfit", "power", "misfit", S.Zero, Tolerance())
        lines = (*linear_fits(members, 3 * d), *fits(members, of_power))
        controls = wrong_fits(lines, 0.05)
        assert [route_of(one.comparison) for one in controls] == [route_of(one) for one in lines]
        assert (
            len({one.what for one in controls}) == len({one.comparison.id for one in controls}) == len(lines)
        )
        for line, one in zip(lines, controls, strict=True):
            assert isinstance(one.comparison, Fit)
            off = one.comparison.prediction.value - line.prediction.value
            if line.target == "misfit":
                assert (off, one.truth) == (0.0, None)
            else:
                assert off == pytest.approx(2 * line.tolerance.width(line.prediction.value, 0.05))
                assert one.truth == line.prediction.value

    @pytest.mark.parametrize("power", [-1, 0, 1, 2])
    def test_bent_points_lie_on_no_line_and_no_power(self, power: int) -> None:
        """Points known to a thousandth on d^power: no lack of fit for the right model, much once bent."""
        x = (1.0, 4.0, 16.0, 64.0, 256.0)
        members = variances([score_cell(int(n), NORMAL, NORMAL, 0.05) for n in x], "Var", d**power)
        model: Model = "line" if power in {0, 1} else "power"
        (line,) = fits(members, misfit(model))
        (control,) = wrong_fits([line], 0.05)
        assert isinstance(control.comparison, Fit)
        found = []
        for fit in (line, control.comparison):
            points = []
            for n, member in zip(x, fit.members, strict=True):
                value = member.estimand.measure(_sure(n**power), 1e-6).value
                points.append(measured(value, value / 1000))
            found.append(fit.fit.misfit(points, 1e-6).interval)
        assert found[0][0] == 0
        assert found[1][0] > 0.1


def _sure(variance: float) -> Sample:
    """Return a sample of blocks with mean 0 and this mean square, which hardly vary."""
    mean = np.array([0.0, variance])
    return Sample(
        1000, 1000, 1000, mean, np.diag([1e-12, 1e-12]), np.zeros((2, 2, 2)), names=("mean", "square")
    )


def test_a_computed_bound_may_be_sharper() -> None:
    """Under a name of its own; the code stays that of the check."""
    most = Exact("most", "a move", (), prediction(S.Half), 0.49, relation="≤", code=biased)
    control = sharper(most, 0.9, name="by-a-tenth")
    found = control.comparison
    assert isinstance(found, Exact)
    assert (found.id, found.prediction.value, found.computed) == ("by-a-tenth", 0.45, 0.49)
    assert route_of(found) == route_of(most)
