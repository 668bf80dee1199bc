"""Numbers in the words of claims about scores: each is worked out here, and stands in the text so."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from verify.claims.limits.half_precision import _tail
from verify.claims.limits.heavy_tails import _below
from verify.claims.raw_scores.score_normal_limit import _largest_gap
from verify.claims.raw_scores.worked_dot_products import _p_value
from verify.engine import catalogue
from verify.montecarlo.distributions import UNIT_INTERVAL
from verify.montecarlo.inputs import SharedVectors
from verify.montecarlo.reduced import Reduced
from verify.montecarlo.statistics.pairs import AllPairs
from verify.symbolic.law import below

CATALOGUE = catalogue.catalogue()


def percent(share: float, digits: int = 0) -> str:
    """Return a share in per cent."""
    return f"{100 * share:.{digits}f}%"


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ("correlated-components", f"the scaled variance at 64 dimensions is {1 + 63 / 16:.0f}, not 1"),
        ("projected-tokens", f"a factor of {4 / (1 / 9):.0f} in the variance"),
        ("heavy-tails", f"at 64 dimensions {percent(2 * _below(64, 80.0))} of them lie beyond $\\pm 10$"),
        ("half-precision", f"\\ln 65504 \\approx {math.log(65504):.2f}$"),
        ("half-precision", f"{percent(_tail(16, 0.0), 1)} of the raw scores at 16 dimensions"),
        ("half-precision", f"{percent(_tail(64, 0.0))} at 64 and {percent(_tail(256, 0.0))} at 256"),
    ],
)
def test_the_number_is_in_the_words(claim: str, words: str) -> None:
    """A changed number in the text, or in what it comes from, is seen."""
    one = CATALOGUE[claim]
    text = re.sub(r"\s+", " ", " ".join((one.title, one.statement, one.meaning)))
    assert words in text


def test_rounded_words_are_right() -> None:
    """What the texts say in words: thirds, three quarters, one in five or six, two thousandths."""
    assert 0.28 < 2 * below(64, -8.0) < 1 / 3, "almost a third of scaled scores beyond 1"
    assert pytest.approx(3 / 4) == (7 / 144) / (1 / 36) - 1, "overstates by three quarters"
    assert 1 / 6 < _p_value(2) < 1 / 5, "about one in five or six trials"
    assert _largest_gap(64) == pytest.approx(0.002, abs=0.0005), "about two thousandths"
    assert max(_tail(n, -0.5) for n in (16, 64, 256)) < 1e-13, "less than one in 10^13"


@pytest.mark.parametrize(("dimension", "scatter"), [(1, 0.14), (8, 0.125)])
def test_a_single_run_of_the_popular_experiment_scatters(dimension: int, scatter: float) -> None:
    """By 12 to 14%, of which 4950 independent pairs would leave far less."""
    blocks = Reduced(SharedVectors(UNIT_INTERVAL, 100, dimension), AllPairs()).sample(
        np.random.default_rng(1), 4000
    )
    found = blocks[:, 0] - blocks[:, 1]
    assert found.std() / found.mean() == pytest.approx(scatter, abs=0.01)
