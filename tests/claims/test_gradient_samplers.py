"""The sampler of row gradients: its statistics equal those of a loss differentiated numerically."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.montecarlo.spy import Spy
from verify.claims.gradients.shared import samplers
from verify.claims.gradients.shared.samplers import RowGradients
from verify.montecarlo.blocks import numbered
from verify.montecarlo.inputs import bartlett_components

if TYPE_CHECKING:
    from verify.montecarlo.distributions import Array

GRID, SCALED_GRID = (0.2, 0.9, 2.5), (0.4, 1.1)


def loss(queries: Array, keys: Array, values: Array, upstream: Array, scale: float) -> float:
    """Return Σ G∘O of attention written out in loops, whose gradient at the output is G."""
    total = 0.0
    for query, g in zip(queries, upstream, strict=True):
        weights = [math.exp(scale * float(query @ key)) for key in keys]
        for weight, value in zip(weights, values, strict=True):
            total += weight / math.fsum(weights) * float(value @ g)
    return total


def numeric(of: int, arrays: list[Array], scale: float) -> Array:
    """Return the gradient of the loss with respect to one of its arrays by central differences."""
    found = np.zeros_like(arrays[of])
    for place in np.ndindex(found.shape):
        ends = []
        for step in (1e-5, -1e-5):
            moved = [one.copy() for one in arrays]
            moved[of][place] += step
            queries, keys, values, upstream = moved
            ends.append(loss(queries, keys, values, upstream, scale))
        found[place] = (ends[0] - ends[1]) / 2e-5
    return found


@pytest.mark.parametrize(
    ("keys", "d", "rows", "size"), [(3, 4, 2, 1.0), (2, 1, 3, 1.0), (4, 9, 2, 0.3), (3, 12, 3, 0.5)]
)
def test_statistics_by_differences(
    monkeypatch: pytest.MonkeyPatch, keys: int, d: int, rows: int, size: float
) -> None:
    """Every statistic is that of the numerically differentiated gradients, row by row and key by key."""
    spy: Any = Spy()
    monkeypatch.setattr(samplers, "NORMAL", spy)
    monkeypatch.setattr(samplers, "bartlett_vectors", spy.vectors)
    value_d = 2
    sampler = RowGradients(keys, d, rows, value_d, GRID, SCALED_GRID, query_size=size)
    found = sampler.sample(np.random.default_rng(d), 3)
    assert found.shape == (3, 6 + len(GRID) + len(SCALED_GRID))
    vectors = keys + rows
    assert sampler.coordinates == bartlett_components(vectors, d) + vectors * value_d
    for block in range(3):
        both, *others = (one[block] for one in spy.drawn)
        arrays = [both[keys:], both[:keys], *others]
        arrays[0] = size * arrays[0]
        norms = []
        for scale in (1.0, 1 / math.sqrt(d)):
            of_queries, of_keys, of_values = (
                (numeric(which, arrays, scale) ** 2).sum(axis=1) for which in range(3)
            )
            unit = keys**2 / (rows * value_d)
            norms.append((of_queries * keys / value_d, of_keys * unit, of_values * unit))
        expected = [float(np.mean(one[which])) for which in range(3) for one in norms]
        for grid, (squares, *_) in zip((GRID, SCALED_GRID), norms, strict=True):
            expected += [sum(math.sqrt(one) <= point for one in squares) / rows for point in grid]
        assert np.allclose(found[block], expected, rtol=1e-6, atol=1e-8)


def test_at_one_dimension_both_scales_are_the_same() -> None:
    """With d = 1 the scale is 1: every statistic of the scaled side equals the unscaled one."""
    sampler = RowGradients(5, 1, 4, 3, GRID, GRID)
    found = sampler.sample(np.random.default_rng(3), 6)
    at = dict(zip(sampler.names, found.T, strict=True))
    for path in sampler.PATHS:
        raw, scaled = (at[sampler.mean_square(path, scaled=one)] for one in (False, True))
        assert np.array_equal(raw, scaled)
    raws, shares = (numbered(sampler.share(scaled=one), len(GRID)) for one in (False, True))
    assert all(np.array_equal(at[raw], at[scaled]) for raw, scaled in zip(raws, shares, strict=True))


def test_every_statistic_has_a_name_of_its_own() -> None:
    """Mean squares come first, path by path; then the shares of both grids."""
    sampler = RowGradients(5, 2, 4, 3, GRID, SCALED_GRID)
    squares = [sampler.mean_square(path, scaled=one) for path in sampler.PATHS for one in (False, True)]
    raw, scaled = sampler.share(scaled=False), sampler.share(scaled=True)
    assert sampler.names == (*squares, *numbered(raw, len(GRID)), *numbered(scaled, len(SCALED_GRID)))
    assert len(set(sampler.names)) == len(sampler.names)


def test_settings_say_how_large_queries_are() -> None:
    """Of another size, by the deviation that unscaled scores then have."""
    usual = dict(RowGradients(5, 4, 3, 2).settings)
    assert usual["query, key, value, upstream"] == "normal"
    assert (usual["keys"], usual["d_k"], usual["value dimensions"]) == (5, 4, 2)
    assert usual["block"] == "3 queries, 5 keys"
    assert "drawn in" not in usual
    assert "8 axes" in str(dict(RowGradients(5, 9, 3, 2).settings)["drawn in"])
    small = dict(RowGradients(5, 4, 3, 2, query_size=0.25).settings)
    assert str(small["query"]).endswith("raw scores have deviation 0.5")
    assert small["key, value, upstream"] == "normal"
