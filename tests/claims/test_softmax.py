"""Bounds of the claims about softmax: a wrong constant fails its line, and what is measured lies between."""

from dataclasses import replace
from typing import Any

import pytest
from sympy import Rational, exp, log, sqrt

from verify.claims.softmax import attention_concentration, attention_entropy, effective_keys
from verify.spec.many_keys import ONCE, TWICE
from verify.spec import Chain, Derivation, E, a, d, j, n, s, sigma, squares
from verify.spec.integrals import integrated

LOSS, SPREAD, KEYS = (
    Derivation.of(claim.derive()) for claim in (attention_entropy, attention_concentration, effective_keys)
)
LOWER, UPPER = KEYS["lower"], KEYS["upper"]
MISTAKES: dict[str, tuple[Chain | None, Any]] = {
    "half of sigma": (LOSS.main, sigma / 2),
    "one per mille less": (LOSS.main, Rational(4995, 10**4) * sigma**2),
    "one per mille more": (LOSS.main, Rational(5005, 10**4) * sigma**2),
    "the largest too small": (SPREAD.main, sqrt(Rational(3, 2) * log(n)) / sigma),
    "a squared length of d - 1": (SPREAD["raw"], sqrt(2 * log(n)) / sqrt(d - 1)),
    "a term too many": (LOWER, n**2 * exp(sigma**2) / (n + TWICE - 1) ** 2),
    "one key more": (UPPER, n * exp(sigma**2) / (n + 1 - ONCE)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MISTAKES)
def test_a_wrong_constant_fails_its_line(name: str) -> None:
    """A bound that is false somewhere, or not what the check says, does not hold; the right one does."""
    chain, wrong = MISTAKES[name]
    assert chain is not None
    assert all(line.holds for line in chain.checked)
    changed = Chain(
        chain.start, *chain.lines[:-1], replace(chain.lines[-1], expression=wrong), given=chain.given
    )
    *others, last = changed.checked
    assert all(line.holds for line in others)
    assert not last.holds


@pytest.mark.parametrize(("keys", "deviation"), [(8, 0.5), (64, 1.0), (1024, 1.5)])
def test_the_squares_lie_between_their_bounds(keys: int, deviation: float) -> None:
    """Closely, for many keys; a per cent more of the limit would be passed."""
    at = {n: keys, sigma: deviation}
    low, high = (float(chain.end.subs(at)) for chain in (LOWER, UPPER))
    assert low < integrated(n * E(squares(sigma * s[a, j])), at) < high
    assert high / low < 1 + 4 * float(exp(2 * deviation**2)) / keys
