"""Samples made from given values, and the bound that counts are held to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from tests.strategies import FALSE_ALARM
from verify.montecarlo.blocks import GROUPS, Outputs, Sample
from verify.montecarlo.distribution_free import SHARE, numbered

if TYPE_CHECKING:
    from verify.montecarlo.distributions import Array

GRID = tuple(float(x) for x in np.geomspace(0.05, 20, 121))
"""Points of a grid for quantiles."""


NAMES = ("mean", "square", "fourth")
"""What the outputs of the samples made here are called, as many as they have."""


def named(values: Array) -> Outputs:
    """Return these values by the names of the samplers made here."""
    return Outputs(zip(NAMES, values, strict=False))


def sample_of(values: Array, scores: int = 1) -> Sample:
    """Return the sample that holds these block vectors, its moments computed directly."""
    mean = values.mean(axis=0)
    centred = values - mean
    third = np.einsum("bi,bj,bk->ijk", centred, centred, centred) / len(values)
    covariance = np.atleast_2d(np.cov(values.T))
    counted = (len(values), 2 * len(values), scores * len(values))
    return Sample(*counted, mean, covariance, third, groups_of(values), NAMES[: len(mean)])


def groups_of(values: Array) -> Array:
    """Return the means of the groups that these block vectors are dealt to in turn."""
    if len(values) < GROUPS:
        return np.zeros((0, 0))
    return np.array([values[first::GROUPS].mean(axis=0) for first in range(GROUPS)])


def at_least(successes: int, trials: int, promised: float) -> bool:
    """Return whether so many successes agree with a rate of at least ``promised``, by the exact bound."""
    return bool(successes >= stats.binom.ppf(FALSE_ALARM, trials, promised))


def shares_of(values: Array) -> Sample:
    """Return the sample whose statistics are shares of each block's values at or below the grid's points."""
    shares = (values[:, :, None] <= np.asarray(GRID)).mean(axis=1)
    return Sample(
        len(values),
        values.size,
        values.size,
        shares.mean(axis=0),
        np.cov(shares.T),
        np.zeros((0, 0, 0)),
        names=numbered(SHARE, len(GRID)),
    )
