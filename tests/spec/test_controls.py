"""Controls: what they keep of the check that they are wrong versions of, and what they claim instead."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from sympy import Rational, S

from tests.strategies import measured
from verify.errors import ClaimError
from verify.montecarlo.blocks import Sample
from verify.montecarlo.distributions import NORMAL
from verify.montecarlo.experiment import Exact, Fit, Quantity, Tolerance, route_of
from verify.spec.cells import score_cell
from verify.spec.checks import (
    biased,
    integrated,
    prediction,
    sharper,
    threshold,
    variances,
    wrong,
    wrong_fits,
)
from verify.spec.fitting import Coefficient, fits, linear_fits, misfit
from verify.spec.notation import unmarked
from verify.symbolic.scores import d

if TYPE_CHECKING:
    from verify.montecarlo.experiment import Model

CELLS = [score_cell(n, NORMAL, NORMAL, 0.05) for n in (1, 2, 8)]
POINTS = variances(CELLS, "Var", 3 * d)


def test_the_setting_that_words_name_is_there() -> None:
    """Of a biased prediction and of a fit; another is refused with those that there are."""
    message = r"check variance-d2 has no setting 't'; its settings are d_k, .*query"
    with pytest.raises(ClaimError, match=message):
        biased(POINTS[1], 0.05, at="t")
    with pytest.raises(ClaimError, match=message):
        fits(POINTS[1:], misfit("line"), against="t")


class TestWrong:
    """A wrong version of any comparison."""

    def test_it_differs_by_its_id_and_its_claim_alone(self) -> None:
        """Cell, estimand, label and tolerance are the check's; the truth is what is derived for it."""
        check = replace(POINTS[1], tolerance=Tolerance(2.0))
        control = wrong(check, "a-third", "the variance is a third", Rational(1, 3))
        assert control.what == "the variance is a third"
        assert control.comparison == replace(check, id="a-third", prediction=prediction(Rational(1, 3)))
        assert control.truth == 6.0

    def test_a_prediction_of_its_own_keeps_its_origin(self) -> None:
        """A threshold stays one; relation and tolerance may change with it, and the truth stays known."""
        control = wrong(POINTS[0], "most", "most", threshold(S.Half), relation="≤", tolerance=Tolerance(3.0))
        found = control.comparison
        assert isinstance(found, Quantity)
        assert (found.prediction, found.relation) == (threshold(S.Half), "≤")
        assert (found.tolerance, control.truth) == (Tolerance(3.0), 3.0)

    def test_another_comparison_stands_for_its_prediction(self) -> None:
        """As in: it is the same there as here."""
        control = wrong(POINTS[0], "same", "it is the same in two dimensions", POINTS[1])
        assert control.comparison == replace(POINTS[0], id="same", prediction=POINTS[1].prediction)
        assert control.truth == 3.0

    @pytest.mark.parametrize(
        "change", [{"cell": CELLS[2].cell}, {"estimand": CELLS[0].mean}], ids=["cell", "estimand"]
    )
    def test_nothing_is_known_of_another_world(self, change: dict[str, Any]) -> None:
        """What is measured elsewhere has no derived value, unless the author gives it."""
        assert wrong(POINTS[0], "elsewhere", "it is the same elsewhere", **change).truth is None
        assert wrong(POINTS[0], "elsewhere", "it is the same", truth=24.0, **change).truth == 24.0

    def test_a_bound_is_no_truth(self) -> None:
        """Neither a bound nor a threshold nor a computed value says what is measured."""
        bound, goal = replace(POINTS[0], relation="≤"), replace(POINTS[0], prediction=threshold(S.One))
        exact = Exact("one", "one", (), prediction(S.One), 1.0)
        assert [wrong(one, "off", "it is 9", S(9)).truth for one in (bound, goal, exact)] == [None] * 3

    def test_the_measured_value_may_serve(self) -> None:
        """An author may leave the truth open."""
        assert wrong(POINTS[0], "off", "it is 9", S(9), truth=None).truth is None


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
    assert (unmarked(control.what), control.truth) == ("a variance keeps to 0.75 times its bound", 8.0)
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


def test_a_float_is_shown_as_what_was_integrated() -> None:
    """To six digits, as in ``integrated``."""
    assert wrong(POINTS[0], "off", "it is a third", 1 / 3).comparison.prediction == integrated(1 / 3)
