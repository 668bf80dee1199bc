"""Bounds: a sharper or wrong one is false, and what is measured lies between; and what texts say in words."""

import math
from dataclasses import replace
from typing import Any

import pytest
from scipy import optimize
from sympy import Rational, exp, log, sqrt

from tests.catalogue import experiment
from verify.claims.limits.half_precision import overflowing
from verify.claims.raw_scores.score_normal_limit import largest_gap
from verify.claims.softmax import attention_concentration, attention_entropy, effective_keys
from verify.montecarlo.experiment import Quantity, band, excess
from verify.spec import Chain, Derivation, d, n, sigma
from verify.spec.lemmas import ONCE, TWICE, below

LOSS, SPREAD, KEYS = (
    Derivation.of(claim.derive()) for claim in (attention_entropy, attention_concentration, effective_keys)
)
MISTAKES: dict[str, tuple[Chain | None, Any]] = {
    "half of sigma": (LOSS.main, sigma / 2),
    "one per mille less": (LOSS.main, Rational(4995, 10**4) * sigma**2),
    "one per mille more": (LOSS.main, Rational(5005, 10**4) * sigma**2),
    "the largest too small": (SPREAD.main, sqrt(Rational(3, 2) * log(n)) / sigma),
    "a squared length of d - 1": (SPREAD["raw"], sqrt(2 * log(n)) / sqrt(d - 1)),
    "a term too many": (KEYS["lower"], n**2 * exp(sigma**2) / (n + TWICE - 1) ** 2),
    "one key more": (KEYS["upper"], n * exp(sigma**2) / (n + 1 - ONCE)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MISTAKES)
def test_a_wrong_constant_fails_its_line(name: str) -> None:
    """A bound that is false somewhere, or not what the check says, does not hold; the right one does."""
    chain, wrong = MISTAKES[name]
    assert chain is not None
    assert not any(line.problem for line in chain.checked)
    lines = *chain.lines[:-1], replace(chain.lines[-1], expression=wrong)
    *others, last = Chain(chain.start, *lines, given=chain.given).checked
    assert not any(line.problem for line in others)
    assert last.problem


def test_rounded_words_are_right() -> None:
    """What the texts say in words: thirds, three quarters, two thousandths, where two curves meet."""
    assert 0.28 < 2 * below(64, -8.0) < 1 / 3, "almost a third of scaled scores beyond 1"
    assert pytest.approx(3 / 4) == (7 / 144) / (1 / 36) - 1, "overstates by three quarters"
    assert largest_gap(64) == pytest.approx(0.002, abs=0.0005), "about two thousandths"
    assert max(overflowing(n, -0.5) for n in (16, 64, 256)) < 1e-13, "less than one in 10^13"
    crossing = optimize.brentq(lambda at: (1 + at / 10) ** 4 - 1 - at, 1, 10)
    assert 6.6 < crossing < 6.7, "between the points that YaRN's factor is compared at"
    assert math.exp(6.6) == pytest.approx(735, abs=1)


BOUNDED = """
attention-entropy attention-concentration softmax-two-keys softmax-saturation causal-rows length-scaling
jacobian-saturation soft-cap attention-sink
"""


@pytest.mark.parametrize(
    "name",
    [
        name if name == "softmax-two-keys" else pytest.param(name, marks=pytest.mark.slow)
        for name in BOUNDED.split()
    ],
)
def test_a_bound_that_is_a_little_sharper_is_false(name: str) -> None:
    """By the exact value its control is wrong, and right if the bound were looser by a tenth."""
    known = [control for control in experiment(name).controls if control.truth is not None]
    sharper = [control for control in known if control.comparison.id.endswith("-sharper")]
    assert sharper
    for control in sharper:
        truth, wrong = control.truth, control.comparison
        assert truth is not None
        assert isinstance(wrong, Quantity)
        # The tolerance of a bound makes no value beyond it right.
        assert excess(truth, band(wrong.prediction.value, 0.0, wrong.relation)) > 0
        loose = wrong.prediction.value * (1.1 if wrong.relation == "≤" else 1 / 1.1)
        assert excess(truth, band(loose, 0.0, wrong.relation)) < 0
