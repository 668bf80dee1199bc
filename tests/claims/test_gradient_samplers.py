"""Samplers of the chapter on gradients: each equals a loss differentiated numerically, or plain loops."""

import math
from typing import Any

import numpy as np
import pytest

from tests.montecarlo.samples import SINGLE, Spy
from verify.claims.gradients.shared import samplers
from verify.claims.gradients.shared.samplers import (
    LayerStack,
    Normalisation,
    SingleQueries,
    sums_within,
)
from verify.montecarlo.blocks import output_name
from verify.montecarlo.distributions import LAPLACE, NORMAL, Array
from verify.montecarlo.inputs import bartlett_components


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
def test_layers_by_differences(monkeypatch: pytest.MonkeyPatch, where: Normalisation, d: int) -> None:
    """Growth after each layer, and the mean squares at both ends, are those of the numerical gradient."""
    spy: Any = Spy()
    monkeypatch.setattr(samplers, "NORMAL", spy)
    monkeypatch.setattr(samplers, "bartlett_vectors", spy.vectors)
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
                    found[block, sampler.names.index(output_name("log-growth", number, passed))],
                    log,
                    abs_tol=SINGLE,
                )
            # A square is off by twice as much, relative to it, as the norm, whose logarithm is tested above.
            square = float(np.mean(gradient**2))
            assert math.isclose(
                found[block, sampler.names.index(output_name("input-square", number))],
                square,
                rel_tol=2 * SINGLE,
            )


def test_normalising_before_loses_the_size_of_the_tokens() -> None:
    """The three places of normalisation are different stacks."""
    where: tuple[Normalisation, ...] = ("after", "before", "none")
    found = [LayerStack(3, 4, 2, 2, (1.0,), one).sample(np.random.default_rng(2), 4) for one in where]
    assert not np.allclose(found[0], found[1])
    assert not np.allclose(found[1], found[2])


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
