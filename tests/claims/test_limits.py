"""Raw scores, scores beside values, limits of the law and bounds, a second time and by other routes."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import integrate, optimize
from sympy import lambdify

from tests.catalogue import experiment
from verify.claims.limits import half_precision as claim
from verify.claims.limits.heavy_tails import DENSITY, above_zero, below as cauchy_below, transform, x
from verify.claims.raw_scores.score_normal_limit import gap
from verify.claims.raw_scores.score_spread import LEVEL, uniform_point
from verify.montecarlo.experiment import Quantity, band, excess
from verify.spec.score_law import below
from verify.symbolic.chains import Derivation


@pytest.mark.parametrize("t", [0.1, 0.5, 1.0, 3.0])
def test_the_transform_is_that_of_the_density(t: float) -> None:
    """Twice the cosine transform of the derived density, by weighted quadrature to infinity."""
    density = lambdify(x, DENSITY)
    low, _ = integrate.quad(lambda at: density(at) * math.cos(t * at), 0, 0.5, points=[1e-6, 1e-3])
    high, _ = integrate.quad(lambda at: density(at + 1e-12), 0.5, np.inf, weight="cos", wvar=t)
    assert transform(t) == pytest.approx(2 * (low + high), abs=1e-6)


@pytest.mark.parametrize("point", [0.3, 1.0, 3.0, 10.0])
def test_one_product_has_the_derived_law(point: float) -> None:
    """Inverting the transform of a single product gives what integrating its density gives."""
    assert cauchy_below(1, point) == pytest.approx(0.5 - above_zero(point), abs=2e-5)


EVEN = Derivation.of(claim.derive())["even"]


@pytest.mark.parametrize("dimension", [2, 4, 16, 64])
@pytest.mark.parametrize("power", [0.0, -0.25, -0.5])
def test_the_sum_is_the_mixture(dimension: int, power: float) -> None:
    """The mixture of normal tails over the query's length shares no step with it."""
    found, above = claim.by_law(EVEN.end, dimension, power), math.log(65520) * dimension**-power
    assert found == pytest.approx(below(dimension, -above), rel=1e-4, abs=1e-15)


@pytest.mark.parametrize(("floats", "beyond"), [(np.float16, 65520), (np.float32, (2 - 2.0**-24) * 2.0**127)])
def test_the_overflow_point_lies_next_to_the_logarithm_of_what_is_rounded_to_infinity(
    floats: Any, beyond: float
) -> None:
    """The found number has a finite exponential, its upper neighbour has none; 65504 is half's largest."""
    found = floats(claim.last_finite(floats, np.exp))
    above = np.nextafter(found, floats(np.inf))
    with np.errstate(over="ignore"):
        assert np.isfinite(np.exp(found))
        assert not np.isfinite(np.exp(above))
        assert [float(np.float16(number)) for number in (65519.99, 65520.0)] == [65504.0, math.inf]
    assert abs(float(found) - math.log(beyond)) <= float(above - found)
    assert (float(np.finfo(np.float16).max), claim.INFINITE) == (claim.LARGEST, 65520)


_MEAN = 1 / 4
"""Of one product of components from U(0, 1)."""


def inverted(dimension: int) -> float:
    """Return the 95% point above the mean by the Gil-Pelaez formula, which convolves nothing."""
    nodes, weights = np.polynomial.legendre.leggauss(200)
    x, w = (nodes + 1) / 2, weights / 2
    spread = (dimension * 7 / 144) ** 0.5
    step = 0.02 / spread
    t = (np.arange(2000) + 0.5) * step
    # E exp(itxy) given x is (exp(itx) - 1)/(itx).
    z = 1j * np.outer(t, x)
    centred = np.exp(dimension * (np.log((np.expm1(z) / z) @ w) - 1j * t * _MEAN))

    def excess(point: float) -> float:
        waves = np.imag(np.exp(-1j * t * point) * centred) / t
        return float(0.5 - waves.sum() * step / np.pi - float(LEVEL))

    return float(optimize.brentq(excess, spread, 2.5 * spread))


@pytest.mark.parametrize("dimension", [100, 1000])
def test_the_convolved_point_is_that_of_the_inverted_function(dimension: int) -> None:
    """Two numerical routes agree to five digits; a normal law in its place would not."""
    assert uniform_point(dimension) == pytest.approx(inverted(dimension), rel=1e-5)
    normal = 1.6448536 * (dimension * 7 / 144) ** 0.5
    assert abs(normal / inverted(dimension) - 1) > 1e-3


def test_rounded_words_are_right() -> None:
    """What the texts say in words: thirds, three quarters, two thousandths."""
    assert 0.28 < 2 * below(64, -8.0) < 1 / 3, "almost a third of scaled scores beyond 1"
    assert pytest.approx(3 / 4) == (7 / 144) / (1 / 36) - 1, "overstates by three quarters"
    assert max(abs(gap(64, place)) for place in np.linspace(0.1, 4, 40)) == pytest.approx(
        0.002, abs=0.0005
    ), "about two thousandths"
    assert max(claim.by_law(EVEN.end, n, -0.5) for n in (16, 64, 256)) < 1e-13, "less than one in 10^13"


BOUNDS = {
    "attention-entropy": 0.98,
    "attention-concentration": 0.97,
    "softmax-two-keys": 0.97,
    "softmax-saturation": 0.98,
    "causal-rows": 0.95,
    "length-scaling": 1.18,
    "jacobian-saturation": 0.95,
    "soft-cap": 0.98,
    "attention-sink": 0.99,
}
"""The constant of each claim's sharpest control, times its bound's."""


@pytest.mark.parametrize(
    "name",
    [name if name == "softmax-two-keys" else pytest.param(name, marks=pytest.mark.slow) for name in BOUNDS],
)
def test_a_bound_that_is_a_little_sharper_is_false(name: str) -> None:
    """By the exact value its control is wrong, and right if the bound were looser by a tenth."""
    sharper = [one for one in experiment(name).controls if one.comparison.id.endswith("-sharper")]
    assert sharper
    known = [one for one in sharper if one.truth is not None]
    checks: dict[str, Any] = {one.id: one for one in experiment(name).checks}
    factors = []
    for control in known:
        wrong = control.comparison
        assert isinstance(wrong, Quantity)
        assert control.truth is not None
        right = checks[wrong.id.removesuffix("-sharper")]
        # The tolerance of a bound makes no value beyond it right.
        assert excess(control.truth, band(wrong.prediction.value, 0.0, wrong.relation)) > 0
        factors.append(wrong.prediction.value / right.prediction.value)
        loose = wrong.prediction.value * (1.1 if wrong.relation == "≤" else 1 / 1.1)
        assert excess(control.truth, band(loose, 0.0, wrong.relation)) < 0
    assert pytest.approx(BOUNDS[name]) in factors
