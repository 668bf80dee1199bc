"""Cells: their settings, their blocks shaped from derived variances, and what is drawn in them."""

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sympy import Rational, S, sqrt

from tests.strategies import FALSE_ALARM
from tests.former.biased import BiasedRows
from verify.errors import ClaimError
from verify.montecarlo.distributions import EXPONENTIAL, NORMAL, UNIT_INTERVAL, Distribution, student_t
from verify.montecarlo.experiment import Allowance
from verify.montecarlo.inputs import Simulated
from verify.montecarlo.statistics import PairShares, Reduced
from verify.former.cells import Components, cell_of, for_components, named_by, normal, score_cell
from verify.former.checks import computed, fact, mean_of_rows, prediction
from verify.symbolic.kernel.moments import evaluate
from verify.symbolic.kernel.words import E, Var
from verify.symbolic.row_integrals import mean_beside_sink, mean_lost, mean_squares, over_lengths
from verify.symbolic.scores import GENERAL, d, score, sigma_q

SETTINGS: dict[str, float | str] = {"d_k": 64, "T": 0.5, "law": "normal", "share": "1/3"}


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("x-{dk}", "id 'x-{dk}': cell raw has no setting 'dk'; did you mean 'd_k'?"),
        ("x-{heads}", "id 'x-{heads}': cell raw has no setting 'heads'; its settings are d_k, T, law, share"),
        ("x-{", "id 'x-{': write settings of the cell as {name}"),
        ("x-{}", "id 'x-{}': write settings of the cell as {name}"),
        ("x-{law:d}", "id 'x-{law:d}': write settings of the cell as {name}"),
    ],
)
def test_an_id_that_names_no_setting_is_refused(template: str, message: str) -> None:
    """In one line."""
    with pytest.raises(ClaimError) as caught:
        named_by(template, "raw", SETTINGS)
    assert str(caught.value) == message


def test_normal_queries_and_keys() -> None:
    """The usual input in short."""
    assert normal(2, 3, 4) == Simulated(NORMAL, NORMAL, 2, 3, 4)


def test_query_and_key_are_not_mixed_up() -> None:
    """Each side has its own mean and variance."""
    query, key = Components(NORMAL.moved(2, 3), S(2), S(9)), Components(NORMAL.moved(0, 5), S(0), S(25))
    assert for_components(evaluate(E(score), GENERAL), query, key) == 0
    assert for_components(evaluate(Var(score), GENERAL), query, key) == d * (9 + 4) * 25
    assert for_components(evaluate(Var(score), GENERAL), key, query) == d * 25 * (9 + 4)
    assert for_components(evaluate(E(score), GENERAL), query, query) == 4 * d


class TestScoreCells:
    """Cells of score matrices."""

    @pytest.mark.parametrize(
        ("distribution", "scale"), [(NORMAL, 1.0), (UNIT_INTERVAL, 0.5), (EXPONENTIAL.moved(1, 1), 0.25)]
    )
    def test_derived_variances_are_those_of_the_blocks(
        self, distribution: Distribution, scale: float
    ) -> None:
        """Block means and squared deviations vary as derived, within the samples' own errors at 1e-6."""
        one = score_cell(3, distribution, distribution, 0.05, scale=scale)
        values = one.cell.sampler.sample(np.random.default_rng(1), 6000)
        mean, truth = scale * 3 * float(distribution.mean) ** 2, scale**2 * true_variance(3, distribution)
        squares = values[:, 1] - 2 * mean * values[:, 0] + mean**2
        assert one.mean.block_variance is not None
        assert one.variance.block_variance is not None
        z = stats.norm.isf(FALSE_ALARM / 4)
        for found, derived in (
            (values[:, 0], one.mean.block_variance),
            (squares, one.variance.block_variance * truth**2),
        ):
            deviations = (found - found.mean()) ** 2
            error = deviations.std() / math.sqrt(len(found)) / deviations.mean()
            assert abs(math.log(deviations.mean() / derived)) <= z * error

    def test_a_law_without_fourth_moment_has_no_derived_variance(self) -> None:
        """Nothing is planned from a moment that does not exist."""
        with pytest.raises(ValueError, match=r"t\(4\): no finite moment of order 4"):
            score_cell(8, student_t(4), NORMAL, 0.05)


def true_variance(n: int, distribution: Distribution) -> float:
    """Return Var(q·k) for i.i.d. components: n((v + μ²)² - μ⁴)."""
    second, first = float(distribution.variance + distribution.mean**2), float(distribution.mean)
    return n * (second**2 - first**4)


class TestPredictions:
    """Numbers taken from SymPy."""

    @pytest.mark.parametrize(
        ("expression", "value", "printed"),
        [(S(64), 64.0, "64"), (Rational(7, 144), 7 / 144, r"\frac{7}{144}"), (sqrt(2), 2**0.5, r"\sqrt{2}")],
    )
    def test_value_and_print(self, expression: Any, value: float, printed: str) -> None:
        """A prediction and a fact hold the double nearest the exact value, and its exact form."""
        one, other = prediction(expression), fact("a-fact", "a value", expression)
        assert (one.value, one.latex) == (value, printed)
        assert (other.value, other.latex, other.id) == (value, printed, "a-fact")


def test_a_prediction_is_a_number() -> None:
    """What symbols are left in is refused with their names, for facts as well."""
    for refusing in (lambda: prediction(d * sigma_q), lambda: fact("f", "what", d * sigma_q)):
        with pytest.raises(
            ClaimError, match=r"depends on d_k, .*sigma_q, so it is not a number; put numbers"
        ):
            refusing()


def test_a_computed_value_comes_from_its_code() -> None:
    """What is computed is what the code named beside it makes of the arguments."""
    made = computed("a-sum", "a sum", {"n": 3}, d.subs(d, 6), sum, (1, 2, 3), allowance=Allowance(0.5))
    assert (made.computed, made.prediction, made.settings) == (6.0, prediction(6), (("n", 3),))
    assert (made.code, made.allowance, made.relation) == (sum, Allowance(0.5), "=")
    assert computed("bound", "a sum", {}, prediction(7), sum, (1, 2), relation="≤").prediction.value == 7.0


@pytest.mark.parametrize(("more", "number"), [({}, 0.25), ({"d_k": 4}, 0.5)])
def test_a_statistic_gets_the_number_of_a_scale(more: dict[str, float], number: float) -> None:
    """In the dimension of the drawn vectors, or in that which the claim gives the cell."""
    drawn = Simulated(NORMAL, NORMAL, 8, 8, 16)
    cell = cell_of("scaled", drawn, BiasedRows(0.5), scale=1 / sqrt(d), **more)
    assert isinstance(cell.sampler, Reduced)
    assert cell.sampler.statistic == BiasedRows(0.5, number)
    assert dict(cell.settings)["scale"] == r"$\frac{1}{\sqrt{d_{k}}}$"
    shares = cell_of("shares", drawn, PairShares((0.0,)), scale=2)
    assert isinstance(shares.sampler, Reduced)
    assert shares.sampler.statistic == PairShares((0.0,))
    assert dict(shares.settings)["scale"] == 2


def test_a_scale_is_said_once() -> None:
    """Two that contradict each other are refused; the same twice is harmless."""
    drawn = Simulated(NORMAL, NORMAL, 8, 8, 16)
    message = r"^cell c: its statistic is at scale 0.5, and scale=1/sqrt\(d_k\) is 0.25; give the scale to"
    with pytest.raises(ClaimError, match=message):
        cell_of("c", drawn, BiasedRows(0.5, 0.5), scale=1 / sqrt(d))
    twice, once = (cell_of("c", drawn, BiasedRows(0.5, *one), scale=1 / sqrt(d)) for one in ((0.25,), ()))
    assert twice == once


def test_means_of_rows_are_those_of_the_integrals() -> None:
    """At a scale that is an expression in the dimension or a number."""
    squares, lost = (over_lengths(mean, 8, 16, 0.25).value for mean in (mean_squares, mean_lost))
    assert mean_of_rows(mean_squares, 8, dimension=16, scale=1 / sqrt(d)) == squares
    assert mean_of_rows(mean_lost, 8, dimension=16, scale=0.25) == lost
    kept = over_lengths(partial(mean_beside_sink, sink=2.0), 8, 16, 0.25).value
    assert mean_of_rows(mean_beside_sink, 8, 2.0, dimension=16, scale=0.25) == kept
