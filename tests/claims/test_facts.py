"""Facts against the same values worked out here by other means: fractions, loops, textbook constants."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from verify.engine import catalogue

CATALOGUE = catalogue.catalogue()


def spread(values: Sequence[int]) -> Fraction:
    """Return the population variance of whole numbers: half the mean squared difference of two of them."""
    pairs = list(product(values, repeat=2))
    return Fraction(sum((a - b) ** 2 for a, b in pairs), 2 * len(pairs))


TWO = spread((8, 29, 98))
"""Of 1·2 + 2·3, 1·5 + 4·6, 8·10 + 9·2."""
THREE = spread((10, 86, 209))
"""Of 3 + 4 + 3, 18 + 28 + 40, 80 + 63 + 66."""

# The variance of the mean over all pairs of 100 vectors, over that of a score: with U(0, 1) that is 7/144,
# and the covariance of two scores that share a vector, as 2·98 others do, is 1/48.
MISSING = (1 + 2 * 98 * Fraction(1, 48) / Fraction(7, 144)) / (100 * 99 // 2)

EXPECTED: dict[str, dict[str, float]] = {
    "score-variance": {"product-variance": 1, **{f"exact-variance-d{n}": n for n in (1, 2, 8, 64, 512)}},
    "score-variance-general": {"uniform-variance-per-dimension": float(Fraction(1, 9) - Fraction(1, 16))},
    "pairwise-estimator": {"relative-bias": float(MISSING)},
    "worked-dot-products": {
        "dot-2": 1 * 3 + 2 * 4,
        "dot-4": 1 * 3 + 2 * 4 + 3 * 5 + 4 * 6,
        "dot-6": 1 * 3 + 2 * 4 + 3 * 5 + 4 * 6 + 5 * 7 + 6 * 8,
        "f-test-p": stats.f.sf(float(THREE / TWO), 2, 2),
    },
    "sqrt-scaling": {"scaled-variance": 1},
    "row-variance": {"total-variance": 7 * 64 / 144},
    "projected-tokens": {
        "fused-xavier-variance": 1,
        "per-head-xavier-variance": (128 / 80) ** 2,
        "packed-xavier-variance": 1 / 4,
        "he-variance": 4,
        "linear-default-variance": 1 / 9,
    },
    "half-precision": {"overflow-score": math.log((2 - 2**-11) * 2**15)},
}
CHAPTERS = {"raw_scores", "scaling", "limits"}
DRAWN = "length-scaling"
"""Its facts are integrals, which are compared with drawn rows."""


@pytest.mark.parametrize("name", [name for name, claim in CATALOGUE.items() if claim.chapter in CHAPTERS])
def test_each_fact_is_what_arithmetic_says(name: str) -> None:
    """Every fact of these chapters is here, and has this value."""
    claim = CATALOGUE[name]
    values = {fact.id: fact.value for fact in claim.exact_values(claim.derived())}
    if name != DRAWN:
        assert values == pytest.approx(EXPECTED.get(name, {}), rel=1e-12)


@pytest.mark.slow
def test_what_growing_scores_keep_is_what_drawn_rows_keep() -> None:
    """Means of plainly drawn rows of a million keys, within five standard errors; the claim draws fewer."""
    claim, keys = CATALOGUE[DRAWN], 10**6
    facts = {fact.id: fact.value for fact in claim.exact_values(claim.derived())}
    assert set(facts) == {"kept-by-n4", "kept-by-n1024", "kept-by-n1000000"}
    scores = np.random.default_rng(7).standard_normal((20, keys)) * 2 * math.sqrt(2 * math.log(keys))
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    squares = (weights**2).sum(axis=1) / weights.sum(axis=1) ** 2
    assert abs(facts[f"kept-by-n{keys}"] - squares.mean()) < 5 * squares.std() / math.sqrt(20)
