"""Sampler of gradients that go back through a stack of residual attention layers at initialisation."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Literal

import numpy as np

from verify.montecarlo.attention import gradients, probabilities
from verify.montecarlo.distributions import NORMAL

if TYPE_CHECKING:
    from verify.montecarlo.blocks import Settings
    from verify.montecarlo.distributions import Array

Normalisation = Literal["after", "before", "none"]


@dataclass(frozen=True)
class LayerStack:
    """Blocks are stacks X → N(X + A(X)) ("after"), X + A(N(X)) ("before") or X + A(X) ("none").

    A is one head of attention, with weights from ``width`` to ``d`` dimensions for queries and keys and to
    ``width`` for values, all normal with variance 1/width, those of queries and keys times ``weight_size``.
    N divides every token by its root mean square. Tokens and the gradient at the output are standard
    normal. All ``scales`` see the same draws. Statistics: the mean square of the gradient's entries at the
    output; then for each scale that at the input, and the logarithm of the gradient's norm over that at the
    output after 1, 2, …, ``layers`` layers on its way back.
    """

    tokens: int
    width: int
    d: int
    layers: int
    scales: tuple[float, ...]
    normalisation: Normalisation = "after"
    weight_size: float = 1.0

    order = 3

    @property
    def coordinates(self) -> int:
        """Random components drawn for one block."""
        return self.layers * self.width * (2 * self.d + self.width) + 2 * self.tokens * self.width

    @property
    def scores(self) -> int:
        """Scores that one block holds, of all layers at one scale."""
        return self.layers * self.tokens**2

    @property
    def held(self) -> int:
        """Numbers that are in memory at once while one block is drawn and reduced."""
        of_layer = self.tokens * (2 * self.d + 4 * self.width + 2 * self.tokens)
        return self.coordinates + self.layers * of_layer

    @property
    def settings(self) -> Settings:
        """What is drawn, as a cell records it."""
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
        )

    @property
    def names(self) -> tuple[str, ...]:
        """What the statistics are called."""
        of_scales = (
            (self.input_square(scale), *(self.log_growth(scale, depth + 1) for depth in range(self.layers)))
            for scale in range(len(self.scales))
        )
        return ("output-square", *chain.from_iterable(of_scales))

    @staticmethod
    def input_square(scale: int) -> str:
        """Return the name of the input gradient's mean square at the scale of that number."""
        return f"input-square-{scale}"

    @staticmethod
    def log_growth(scale: int, layers: int) -> str:
        """Return the name of the logarithmic growth over so many layers."""
        return f"log-growth-{scale}-{layers}"

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return the statistics of ``count`` stacks, shape (count, 1 + scales·(1 + layers))."""
        width = self.width
        weights = [
            tuple(
                NORMAL.draw(rng, (count, width, columns)) * (size / width**0.5)
                for columns, size in ((self.d, self.weight_size), (self.d, self.weight_size), (width, 1.0))
            )
            for _ in range(self.layers)
        ]
        tokens, upstream = (NORMAL.draw(rng, (count, self.tokens, width)) for _ in range(2))
        entries = self.tokens * width
        at_output = np.einsum("bnd,bnd->b", upstream, upstream)
        squares = self._squares(tokens, upstream, weights)
        logs = np.log(squares / at_output[:, None, None]) / 2
        of_scales = np.concatenate([squares[:, :, -1:] / entries, logs], axis=2)
        return np.concatenate([at_output[:, None] / entries, of_scales.reshape(count, -1)], axis=1)

    def _squares(self, tokens: Array, upstream: Array, weights: list[tuple[Array, ...]]) -> Array:
        """Return the gradient's squared norm after each layer on its way back, (count, scales, layers)."""
        scales = np.asarray(self.scales)[:, None, None]
        tokens, upstream = tokens[:, None], upstream[:, None]
        passes = []
        for layer in weights:
            forward = _Layer(layer, scales, self.normalisation)
            tokens = forward(tokens)
            passes.append(forward)
        squares = []
        for forward in reversed(passes):
            upstream = forward.back(upstream)
            squares.append(np.einsum("bsnd,bsnd->bs", upstream, upstream))
        return np.stack(squares, axis=2)


class _Layer:
    """One residual attention layer at several scales at once, which keeps what its way back needs."""

    def __init__(self, weights: tuple[Array, ...], scales: Array, normalisation: Normalisation) -> None:
        self.weights, self.scales, self.normalisation = weights, scales, normalisation

    def __call__(self, tokens: Array) -> Array:
        """Return the tokens after the layer."""
        seen = tokens
        if self.normalisation == "before":
            seen, self.size = _normalised(tokens)
        self.seen = seen
        self.queries, self.keys, self.values = (_projected(seen, one) for one in self.weights)
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
        query, key, value = (np.swapaxes(one, -1, -2) for one in self.weights)
        branch = _projected(found.queries, query)
        branch += _projected(found.keys, key)
        branch += _projected(found.values, value)
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
    back: Array = (upstream - normalised * along) / size
    return back
