"""Powers of scores: against plain loops, and the kurtosis against its definition."""

from __future__ import annotations

import numpy as np
import pytest

from verify.montecarlo.blocks import Outputs
from verify.montecarlo.distributions import NORMAL, UNIFORM, Array
from verify.montecarlo.estimands import kurtosis
from verify.montecarlo.moments import ScorePowers


def test_mean_powers_of_the_same_draws() -> None:
    """Each block's statistics are the mean powers of the sizes of its own scores."""
    sampler = ScorePowers(5, 3, NORMAL, UNIFORM, (1, 2, 4))
    found = sampler.sample(np.random.default_rng(1), 4)
    rng = np.random.default_rng(1)
    queries, keys = NORMAL.draw(rng, (4, 3, 5)), UNIFORM.draw(rng, (4, 3, 5))
    for block in range(4):
        sizes = [abs(sum(q * k)) for q in queries[block] for k in keys[block]]
        expected = [sum(size**power for size in sizes) / 9 for power in (1, 2, 4)]
        assert found[block] == pytest.approx(expected)
    assert (sampler.coordinates, sampler.scores) == (30, 9)
    assert sampler.held > sampler.coordinates


def named(point: Array) -> Outputs:
    """Return the mean square and the mean fourth power by their names."""
    return Outputs(zip(("square", "fourth"), point, strict=True))


def test_kurtosis_and_its_gradient() -> None:
    """The value is m₄/m₂², the gradient that of central differences."""
    estimand, point = kurtosis(), np.array([2.0, 14.0])
    assert estimand.value(named(point)) == 3.5
    step = 1e-6
    differences = [
        (estimand.value(named(point + step * unit)) - estimand.value(named(point - step * unit))) / (2 * step)
        for unit in np.eye(2)
    ]
    assert estimand.gradient(named(point)) == pytest.approx(differences, rel=1e-6)
