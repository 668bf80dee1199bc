"""Samplers of the gradients of attention: by single query, and back through layers."""

from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Literal

import numpy as np

from verify.montecarlo.attention import gradients, probabilities
from verify.montecarlo.blocks import Settings, double, output_name
from verify.montecarlo.distributions import NORMAL, Array, Distribution
from verify.montecarlo.inputs import bartlett_components, bartlett_setting, bartlett_vectors


@dataclass(frozen=True)
class SingleQueries:
    """Blocks are ``rows`` queries that share keys and values, each with a gradient at its own output.

    Components of the values are of the distribution ``values``, all others are standard normal. Every query's
    gradients are taken by themselves. Statistics, means over the queries: the squared norms of what it sends
    to the values, and of the gradient at its output; then, for the keys whose probabilities p lie between
    each two successive ``edges``, the sum of p(1-p), and the sum of their gradients' norms in units of
    scale·|query|·max|dP|. These last two are called ``spread`` and ``length``, with both edges.
    """

    d: int
    keys: int
    value_d: int
    rows: int
    scale: float = 1.0
    edges: tuple[float, ...] = ()
    values: Distribution = NORMAL

    order, univariate = 3, 0

    @property
    def settings(self) -> Settings:
        return (
            ("d_k", self.d),
            ("d_v", self.value_d),
            ("keys", self.keys),
            ("queries", self.rows),
            ("query, key", NORMAL.name),
            ("values", self.values.name),
            ("scale", self.scale),
        )

    @property
    def names(self) -> tuple[str, ...]:
        of_classes = (
            output_name(one, *ends) for ends in pairwise(self.edges) for one in ("spread", "length")
        )
        return ("to-values", "from-above", *of_classes)

    @property
    def coordinates(self) -> int:
        return (self.keys + self.rows) * (self.d + self.value_d)

    @property
    def scores(self) -> int:
        return self.rows * self.keys

    @property
    def held(self) -> int:
        return self.coordinates + self.scores * (self.d + self.value_d + 4)

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return the statistics of ``count`` blocks, shape (count, 2 + 2·(edges - 1))."""
        query, upstream = (
            NORMAL.draw(rng, (count, self.rows, 1, width), single=True) for width in (self.d, self.value_d)
        )
        keys = NORMAL.draw(rng, (count, 1, self.keys, self.d), single=True)
        values = self.values.draw(rng, (count, 1, self.keys, self.value_d), single=True)
        weights = probabilities(query[:, :, 0], keys[:, 0], self.scale)[:, :, None]
        found = gradients(query, keys, values, weights, upstream, self.scale)
        squares: Array = double(np.stack([_squares(found.values), _squares(upstream)], axis=1)).mean(axis=2)
        if not self.edges:
            return squares
        chances = weights[:, :, 0]
        largest = np.abs(found.probabilities).max(axis=(2, 3))
        unit = (self.scale * np.sqrt(_squares(query)) * largest)[:, :, None]
        lengths = np.sqrt(np.einsum("brnd,brnd->brn", found.keys, found.keys)) / unit
        sums = sums_within(chances, (chances * (1 - chances), lengths), self.edges)
        return np.concatenate([squares, sums / self.rows], axis=1)


def sums_within(values: Array, of_values: tuple[Array, ...], edges: tuple[float, ...]) -> Array:
    """Return each block's sums of what belongs to ``values`` above an edge and at most the next.

    All have shape (blocks, …); the result has shape (blocks, classes·kinds), all kinds of a class together.
    """
    blocks, classes = len(values), len(edges) + 1
    places = np.broadcast_to(classes * np.arange(blocks)[:, None], (blocks, values[0].size)).copy()
    for edge in edges:
        places += values.reshape(places.shape) > edge
    sums = [
        np.bincount(places.ravel(), one.ravel(), minlength=classes * blocks).reshape(blocks, classes)
        for one in of_values
    ]
    return np.stack(sums, axis=2, dtype=np.float64)[:, 1:-1].reshape(blocks, -1)


def _squares(matrices: Array) -> Array:
    """Return the squared norm of each query's matrix, shape (blocks, rows)."""
    return np.einsum("brij,brij->br", matrices, matrices)


Normalisation = Literal["after", "before", "none"]


@dataclass(frozen=True)
class LayerStack:
    """Blocks are stacks X → N(X + A(X)) ("after"), X + A(N(X)) ("before") or X + A(X) ("none").

    A is one head of attention, with weights from ``width`` to ``d`` dimensions for queries and keys and to
    ``width`` for values, all normal with variance 1/width, those of queries and keys times ``weight_size``.
    Of more dimensions than ``width``, weights of queries and keys are drawn in the axes that the keys' span.
    N divides every token by its root mean square. Tokens and the gradient at the output are standard normal.
    All ``scales`` see the same draws. Statistics: the mean square of the gradient's entries at the output;
    then for each scale that at the input, ``input-square``, and the logarithm of the gradient's norm over
    that at the output, ``log-growth``, after 1, 2, …, ``layers`` layers on its way back.
    """

    tokens: int
    width: int
    d: int
    layers: int
    scales: tuple[float, ...]
    normalisation: Normalisation = "after"
    weight_size: float = 1.0

    order, univariate = 3, 0

    @property
    def coordinates(self) -> int:
        of_layer = bartlett_components(2 * self.width, self.d, self.width) + self.width**2
        return self.layers * of_layer + 2 * self.tokens * self.width

    @property
    def scores(self) -> int:
        """Scores that one block holds, of all layers at one scale."""
        return self.layers * self.tokens**2

    @property
    def held(self) -> int:
        of_layer = self.tokens * (2 * min(self.d, self.width) + 4 * self.width + 2 * self.tokens)
        return self.coordinates + self.layers * of_layer

    @property
    def settings(self) -> Settings:
        times = (
            f", of queries and keys {self.weight_size:.4g} times as large" if self.weight_size != 1 else ""
        )
        return (
            ("d_k", self.d),
            ("layers", self.layers),
            ("tokens", f"{self.tokens} of {self.width} dimensions"),
            ("normalisation", "none" if self.normalisation == "none" else f"{self.normalisation} each layer"),
            ("weights", f"{NORMAL.name}{times}"),
            ("scale", ", ".join(f"{scale:.4g}" for scale in self.scales)),
            *bartlett_setting(self.d, self.width, "the keys’ weights"),
        )

    @property
    def names(self) -> tuple[str, ...]:
        of_scales = (
            (
                output_name("input-square", scale),
                *(output_name("log-growth", scale, depth + 1) for depth in range(self.layers)),
            )
            for scale in range(len(self.scales))
        )
        return ("output-square", *chain.from_iterable(of_scales))

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return the statistics of ``count`` stacks, shape (count, 1 + scales·(1 + layers))."""
        width = self.width
        weights = [self._weights(rng, count) for _ in range(self.layers)]
        tokens, upstream = (NORMAL.draw(rng, (count, self.tokens, width), single=True) for _ in range(2))
        entries = self.tokens * width
        at_output = np.einsum("bnd,bnd->b", upstream, upstream)
        squares = self._squares(tokens, upstream, weights)
        logs = np.log(squares / at_output[:, None, None]) / 2
        of_scales = np.concatenate([squares[:, :, -1:] / entries, logs], axis=2)
        return double(np.concatenate([at_output[:, None] / entries, of_scales.reshape(count, -1)], axis=1))

    def _weights(self, rng: np.random.Generator, count: int) -> Array:
        """Return one layer's weights of queries, keys and values side by side, (count, width, columns).

        Keys span no more dimensions than tokens have, and what queries have besides meets no key.
        """
        width = self.width
        both = bartlett_vectors(rng, count, 2 * width, self.d, width)
        values = NORMAL.draw(rng, (count, width, width), single=True)
        weights = np.concatenate([both[:, width:], both[:, :width], values], axis=2)
        weights *= width**-0.5
        if self.weight_size != 1:
            weights[:, :, :-width] *= self.weight_size
        return weights

    def _squares(self, tokens: Array, upstream: Array, weights: list[Array]) -> Array:
        """Return the gradient's squared norm after each layer on its way back, (count, scales, layers)."""
        scales = np.asarray(self.scales, tokens.dtype)[:, None, None]
        tokens, upstream = tokens[:, None], upstream[:, None]
        passes = []
        for layer in weights:
            forward = _StackLayer(layer, scales, self.normalisation)
            tokens = forward(tokens)
            passes.append(forward)
        squares = []
        for forward in reversed(passes):
            upstream = forward.back(upstream)
            squares.append(np.einsum("bsnd,bsnd->bs", upstream, upstream))
        return np.stack(squares, axis=2)


class _StackLayer:
    """One residual attention layer at several scales at once, which keeps what its way back needs.

    ``weights`` of queries, keys and values stand side by side: one larger product is faster than three.
    """

    def __init__(self, weights: Array, scales: Array, normalisation: Normalisation) -> None:
        self.weights, self.scales, self.normalisation = weights, scales, normalisation

    def __call__(self, tokens: Array) -> Array:
        """Return the tokens after the layer."""
        seen = tokens
        if self.normalisation == "before":
            seen, self.size = _normalised(tokens)
        self.seen = seen
        projected, width = _projected(seen, self.weights), seen.shape[-1]
        d = (projected.shape[-1] - width) // 2
        self.queries, self.keys, self.values = np.split(projected, (d, 2 * d), axis=-1)
        self.probabilities = probabilities(self.queries, self.keys, self.scales)
        after = tokens + self.probabilities @ self.values
        if self.normalisation == "after":
            after, self.size = _normalised(after)
            self.after = after
        return after

    def back(self, upstream: Array) -> Array:
        """Return the gradient with respect to the tokens before the layer."""
        if self.normalisation == "after":
            upstream = _through_normalisation(upstream, self.after, self.size)
        found = gradients(self.queries, self.keys, self.values, self.probabilities, upstream, self.scales)
        of_projected = np.concatenate([found.queries, found.keys, found.values], axis=-1)
        branch = _projected(of_projected, np.swapaxes(self.weights, -1, -2))
        if self.normalisation == "before":
            branch = _through_normalisation(branch, self.seen, self.size)
        return upstream + branch


def _projected(tokens: Array, weights: Array) -> Array:
    """Return tokens, shape (stacks, scales, tokens, width), times their stacks' weights, (stacks, width, …).

    All scales' tokens of a stack are one matrix: fewer and larger products are faster.
    """
    stacks, scales, many, width = tokens.shape
    projected: Array = tokens.reshape(stacks, scales * many, width) @ weights
    return projected.reshape(stacks, scales, many, -1)


def _normalised(tokens: Array) -> tuple[Array, Array]:
    size = np.sqrt(np.einsum("...d,...d->...", tokens, tokens) / tokens.shape[-1])[..., None]
    return tokens / size, size


def _through_normalisation(upstream: Array, normalised: Array, size: Array) -> Array:
    """Return the gradient before x/rms(x): its part along the token is lost, the rest divided by the size."""
    along = np.einsum("...d,...d->...", upstream, normalised)[..., None] / normalised.shape[-1]
    return (upstream - normalised * along) / size
