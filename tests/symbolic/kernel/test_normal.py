"""Means over normal scores: by parts, the largest, the total; one per cent more or less is refused."""

from typing import Any

import pytest
from sympy import Rational, S, Sum, exp, log, sqrt

from tests.symbolic.kernel.proving import proved, refused
from verify.symbolic.kernel.normal import NORMAL_SCORES, ByParts, EvenIsMost, LargestScore, TotalGrows
from verify.symbolic.kernel.words import E, largest, n, p, s, sigma
from verify.symbolic.row_means import row_mean
from verify.symbolic.softmax import ENTROPY, LOG_TOTAL, SQUARES, WEIGHTED_SCORE, i, j

REST = 1 - E(SQUARES)
MORE = Rational(101, 100)
STEPS: dict[str, tuple[Any, Any, Any, str]] = {
    "stein": (ByParts(p[j]), REST, E(WEIGHTED_SCORE) / sigma**2, "="),
    "entropy": (ByParts(sigma**2 * p[j]), E(ENTROPY), E(LOG_TOTAL) - sigma**2 * REST, "="),
    "total": (TotalGrows(), E(LOG_TOTAL) - sigma**2 * REST, log(n) - sigma**2 * REST / 2, "≥"),
    "less of it": (TotalGrows(), -E(LOG_TOTAL), -log(n) - sigma**2 * REST / 2, "≤"),
    "largest": (LargestScore(), E(largest) / sigma**2, sqrt(2 * log(n)) / sigma, "≤"),
    "less": (LargestScore(), 1 - E(largest) / sigma**2, 1 - sqrt(2 * log(n)) / sigma, "≥"),
    "even": (EvenIsMost(), E(ENTROPY), log(n), "≤"),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_step_holds_and_one_per_cent_off_it_does_not(name: str) -> None:
    """Neither in its constants nor as a whole; which way it goes follows from the expression."""
    rule, before, after, relation = STEPS[name]
    found = proved(rule, before, after, relation=relation)
    law = found.hypotheses.law
    assert law == (None if name == "even" else NORMAL_SCORES)
    for wrong in (after * MORE, after / MORE, after.subs(sigma, sigma * MORE), -after):
        if wrong != after:
            refused(rule, before, wrong)


@pytest.mark.parametrize("name", [name for name, step in STEPS.items() if step[3] != "="])
def test_the_bounds_hold_by_integration(name: str) -> None:
    """At a few numbers of keys and deviations, by one-dimensional integrals."""
    _, before, after, relation = STEPS[name]
    for keys in (2, 16, 1000):
        for deviation in (0.5, 2.0, 8.0):
            gap = row_mean(after - before, keys, deviation)
            assert (gap.value if relation == "≤" else -gap.value) > gap.error


@pytest.mark.parametrize(
    ("rule", "before", "after", "words"),
    [
        pytest.param(
            LargestScore(), E(largest) ** 2, 2 * sigma**2 * log(n), "not known to move one way", id="a square"
        ),
        pytest.param(LargestScore(), E(largest), sqrt(log(n)) * sigma, "not this", id="another root"),
        pytest.param(TotalGrows(), E(ENTROPY), log(n), "no such mean in it", id="nothing put in"),
        pytest.param(EvenIsMost(), E(LOG_TOTAL), log(n), "terms are left over", id="not the entropy"),
        pytest.param(EvenIsMost(), log(n), E(ENTROPY), "terms are left over", id="the wrong way round"),
    ],
)
def test_what_does_not_follow_is_refused(rule: Any, before: Any, after: Any, words: str) -> None:
    """A bound in the wrong direction, and one put in where it moves both ways."""
    assert words in refused(rule, before, after)


def divergence(field: Any) -> Any:
    """Return the mean of a divergence, 0 if nothing is lost at infinity."""
    return E(Sum(field.diff(s[j]) - s[j] * field / sigma**2, (j, 1, n)))


@pytest.mark.parametrize("field", [exp(s[j] ** 2), 1 / s[j], s[j] ** Rational(1, 2), exp(s[j]) * p[j]])
def test_fields_that_do_not_vanish_at_infinity_are_refused(field: Any) -> None:
    """However well the sides differ by their divergence, whose mean need not be 0; a tame one's is."""
    proved(ByParts(s[j] ** 3), divergence(s[j] ** 3), S.Zero)
    assert "not known to grow as a polynomial" in refused(ByParts(field), divergence(field), S.Zero)


def test_the_field_may_hold_sums() -> None:
    """F_j = p_j·Σp²: E[Σ s_j F_j] = σ²·E Σ∂F_j/∂s_j, against integration."""
    before = E(WEIGHTED_SCORE * SQUARES) / sigma**2
    cubes = Sum(p[i] ** 3, (i, 1, n))
    known = E((1 - SQUARES) * SQUARES + 2 * (cubes - SQUARES**2))
    proved(ByParts(-p[j] * SQUARES), before, known)
    after = row_mean(before, 3, 1.0).value
    assert row_mean(known, 3, 1.0).value == pytest.approx(after, rel=1e-9)
