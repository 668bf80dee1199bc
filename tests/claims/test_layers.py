"""The sampler of layer stacks: its statistics equal those of a stack differentiated numerically."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.montecarlo.samples import SINGLE
from tests.montecarlo.spy import Spy
from verify.claims.gradients.shared import samplers
from verify.claims.gradients.shared.samplers import LayerStack, Normalisation
from verify.montecarlo.inputs import bartlett_components

if TYPE_CHECKING:
    from verify.montecarlo.distributions import Array


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
def test_statistics_by_differences(monkeypatch: pytest.MonkeyPatch, where: Normalisation, d: int) -> None:
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


def test_settings_are_what_is_drawn() -> None:
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
