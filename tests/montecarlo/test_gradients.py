"""Samplers of gradients: against numerical gradients of the same draws."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.montecarlo.samples import SINGLE, Spy
from verify.montecarlo import gradients
from verify.montecarlo.blocks import numbered
from verify.montecarlo.distributions import LAPLACE, NORMAL, Array
from verify.montecarlo.gradients import LayerStack, Normalisation, RowGradients, SingleQueries, sums_within
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
    monkeypatch.setattr(gradients, "NORMAL", spy)
    monkeypatch.setattr(gradients, "bartlett_vectors", spy.vectors)
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


SAMPLER = SingleQueries(5, 4, 3, 2, scale=0.7, edges=(0.0, 0.1, 0.5, 1.0), values=LAPLACE)


def test_statistics_key_by_key() -> None:
    """The same draws, softmax and its gradient in loops, one query at a time."""
    found = SAMPLER.sample(np.random.default_rng(1), 6)
    rng = np.random.default_rng(1)
    query, upstream = (NORMAL.draw(rng, (6, 2, 1, width)) for width in (5, 3))
    keys, values = NORMAL.draw(rng, (6, 1, 4, 5)), LAPLACE.draw(rng, (6, 1, 4, 3))
    for block in range(6):
        rows = [
            _one(query[block, row, 0], keys[block, 0], values[block, 0], upstream[block, row, 0])
            for row in range(2)
        ]
        # A gradient whose terms cancel is off by a rounding of theirs.
        np.testing.assert_allclose(found[block], np.mean(rows, axis=0), rtol=SINGLE, atol=1e-7)


def _one(query: Array, keys: Array, values: Array, upstream: Array) -> Array:
    weights = np.exp(0.7 * keys @ query)
    weights /= weights.sum()
    sent = values @ upstream
    spread, sums = np.zeros(3), np.zeros(3)
    for key in range(4):
        of_score = sum(weights[other] * ((key == other) - weights[key]) * sent[other] for other in range(4))
        place = 0 if weights[key] <= 0.1 else 1 if weights[key] <= 0.5 else 2
        spread[place] += weights[key] * (1 - weights[key])
        sums[place] += abs(of_score) / np.abs(sent).max()
    length = np.sum(upstream**2)
    return np.array([np.sum(weights**2) * length, length, *np.stack([spread, sums], axis=1).ravel()])


def test_it_says_what_it_draws() -> None:
    """Five components each of two queries and four keys, three of each value and of each gradient."""
    assert SAMPLER.coordinates == 6 * 5 + 6 * 3
    assert SAMPLER.scores == 8
    assert SAMPLER.held > SAMPLER.coordinates


def test_without_edges_there_are_two_statistics() -> None:
    """The means of the squared norms; no query sends more to the values than it got."""
    found = SingleQueries(5, 4, 3, 1).sample(np.random.default_rng(1), 100)
    assert found.shape == (100, 2)
    assert np.all(found[:, 0] < found[:, 1])
    assert found[:, 1].mean() == pytest.approx(3, rel=0.3)


def test_sums_within_classes() -> None:
    """What lies on an edge belongs to the class below it; what lies beyond all edges, to none."""
    values = np.array([[0.1, 0.2, 0.3, 0.9], [0.2, 0.25, 0.0, 0.1]])
    weights = np.array([[1.0, 2.0, 4.0, 8.0], [1.0, 2.0, 4.0, 8.0]])
    found = sums_within(values, (weights, -weights), (0.1, 0.2, 0.5))
    assert found.tolist() == [[2, -2, 4, -4], [1, -1, 2, -2]]


def test_nothing_breaks_where_a_row_is_saturated() -> None:
    """Large scores: probabilities that underflow to 0 fall into no class, and all stays finite."""
    sampler = SingleQueries(256, 8, 4, 3, scale=20.0, edges=(0.0, 0.5, 1.0))
    found = sampler.sample(np.random.default_rng(1), 50)
    assert np.all(np.isfinite(found))
    assert np.all(found[:, 0] <= found[:, 1] * (1 + 1e-12))
    assert np.all(found[:, 2:] >= 0)


def test_classes_are_named_by_their_edges() -> None:
    """Two names for each class, in the order of the edges; between no two successive ones there is none."""
    classes = ((0.0, 0.1), (0.1, 0.5), (0.5, 1.0))
    of_classes = [name for ends in classes for name in (SAMPLER.spread(*ends), SAMPLER.length(*ends))]
    assert SAMPLER.names == ("to-values", "from-above", *of_classes)
    assert SAMPLER.length(0.0, 0.5) not in SAMPLER.names


def test_settings_are_what_is_drawn() -> None:
    """Dimensions, sizes, scale, and the distribution of the values."""
    assert dict(SAMPLER.settings) == {
        "d_k": 5,
        "d_v": 3,
        "keys": 4,
        "queries": 2,
        "query, key": "normal",
        "values": "Laplace",
        "scale": 0.7,
    }


def attended(tokens: Array, query: Array, key: Array, value: Array, scale: float) -> Array:
    """Return one head's output, token by token."""
    out = np.zeros_like(tokens)
    for place, token in enumerate(tokens):
        weights = [math.exp(scale * float((token @ query) @ (other @ key))) for other in tokens]
        for weight, other in zip(weights, tokens, strict=True):
            out[place] += weight / math.fsum(weights) * (other @ value)
    return out


def normalised(tokens: Array) -> Array:
    """Return every token over its root mean square."""
    return np.stack([token / math.sqrt(float(token @ token) / len(token)) for token in tokens])


def stack(tokens: Array, weights: list[tuple[Array, ...]], scale: float, where: Normalisation) -> Array:
    """Return the stack's output."""
    for query, key, value in weights:
        seen = normalised(tokens) if where == "before" else tokens
        tokens = tokens + attended(seen, query, key, value, scale)
        if where == "after":
            tokens = normalised(tokens)
    return tokens


def back(
    tokens: Array, weights: list[tuple[Array, ...]], upstream: Array, scale: float, where: Normalisation
) -> Array:
    """Return the gradient of Σ G∘output with respect to the tokens, by central differences."""
    found = np.zeros_like(tokens)
    for place in np.ndindex(tokens.shape):
        ends = []
        for step in (1e-5, -1e-5):
            moved = tokens.copy()
            moved[place] += step
            ends.append(float(np.sum(upstream * stack(moved, weights, scale, where))))
        found[place] = (ends[0] - ends[1]) / 2e-5
    return found


@pytest.mark.parametrize(("where", "d"), [("after", 2), ("before", 2), ("none", 2), ("after", 5)])
def test_growth_over_layers_by_differences(
    monkeypatch: pytest.MonkeyPatch, where: Normalisation, d: int
) -> None:
    """Growth after each layer, and the mean squares at both ends, are those of the numerical gradient."""
    spy: Any = Spy()
    monkeypatch.setattr(gradients, "NORMAL", spy)
    monkeypatch.setattr(gradients, "bartlett_vectors", spy.vectors)
    width, depth, scales, size = 3, 3, (1.0, 0.5), 1.3
    sampler = LayerStack(4, width, d, depth, scales, where, weight_size=size)
    found = sampler.sample(np.random.default_rng(7), 2)
    assert found.shape == (2, len(set(sampler.names))) == (2, 1 + 2 * (1 + depth))
    of_layer = bartlett_components(2 * width, d, width) + width**2
    assert sampler.coordinates == depth * of_layer + 2 * 4 * width
    sizes = (size, size, 1.0)
    for block in range(2):
        *drawn, tokens, upstream = (one[block] for one in spy.drawn)
        weights = [
            tuple(
                s * w / math.sqrt(width)
                for s, w in zip(sizes, (both[width:], both[:width], values), strict=True)
            )
            for both, values in zip(drawn[::2], drawn[1::2], strict=True)
        ]
        assert math.isclose(found[block, 0], float(np.mean(upstream**2)), rel_tol=SINGLE)
        for number, scale in enumerate(scales):
            for passed in range(1, depth + 1):
                before = stack(tokens, weights[: depth - passed], scale, where)
                gradient = back(before, weights[depth - passed :], upstream, scale, where)
                log = math.log(np.linalg.norm(gradient) / np.linalg.norm(upstream))
                assert math.isclose(
                    found[block, sampler.names.index(sampler.log_growth(number, passed))], log, abs_tol=SINGLE
                )
            square = float(np.mean(gradient**2))
            assert math.isclose(
                found[block, sampler.names.index(sampler.input_square(number))], square, rel_tol=1e-5
            )


def test_the_root_scale_undoes_as_much_of_the_weights() -> None:
    """Queries and keys times d^¼ at the scale 1/√d give the unscaled stack, draw by draw."""
    d = 16
    plain = LayerStack(3, 4, d, 2, (1.0,)).sample(np.random.default_rng(1), 5)
    large = LayerStack(3, 4, d, 2, (d**-0.5,), weight_size=d**0.25).sample(np.random.default_rng(1), 5)
    assert np.allclose(plain, large, rtol=SINGLE)


def test_normalising_before_loses_the_size_of_the_tokens() -> None:
    """The three places of normalisation are different stacks."""
    where: tuple[Normalisation, ...] = ("after", "before", "none")
    found = [LayerStack(3, 4, 2, 2, (1.0,), one).sample(np.random.default_rng(2), 4) for one in where]
    assert not np.allclose(found[0], found[1])
    assert not np.allclose(found[1], found[2])


def test_settings_of_a_stack() -> None:
    """Layers, tokens, where they are normalised, the size of the weights and the scales."""
    assert dict(LayerStack(3, 4, 2, 5, (1.0, 0.5), "before", 1.5).settings) == {
        "d_k": 2,
        "layers": 5,
        "tokens": "3 of 4 dimensions",
        "normalisation": "before each layer",
        "weights": "normal, of queries and keys 1.5 times as large",
        "scale": "1, 0.5",
    }
    plain = dict(LayerStack(3, 4, 2, 5, (1.0,), "none").settings)
    assert (plain["normalisation"], plain["weights"]) == ("none", "normal")
    assert "drawn in" not in plain
    assert "4 axes" in str(dict(LayerStack(3, 4, 5, 5, (1.0,)).settings)["drawn in"])
