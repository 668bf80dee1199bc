"""What the rounding of a program's own arithmetic does to its output, number by number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from verify.auditing.heads import Floats, Head

ROUNDINGS = 2.0
"""How many times what roundings at their bounds add up to a residual may be: some 4.7 standard deviations.

An audit has thousands of residuals, and where scores are large a few weights make up the whole of one.
"""

_ALIKE = 4.0
"""Rows that differ by so many times their rounding share half the variance of their errors."""
_MEAN_SQUARE = 0.18
"""Mean square of a relative rounding error over its bound, for mantissas uniform in the logarithm."""
_SINGLE = 2.0**-24


@dataclass(frozen=True)
class Rounding:
    """What the rounding of a program's own arithmetic does to the output of a head.

    Rounded are the inputs, where a program casts them; the scaled score, up to three times, with bias and
    soft-cap; the weights; and the output. Sums in single precision lose more the longer they are. Roundings
    count as independent, each with its bound for a standard deviation. ``of_scores`` are the variances of the
    scores, [rows, keys], and ``of_outputs`` those of what comes after, [rows, d_v]. A value
    that gets more weight draws the output away from ``centre``, the output where weights add up to 1, else 0.
    """

    head: Head
    scale: float
    weights: Floats
    output: Floats
    centre: Floats
    of_scores: Floats
    of_outputs: Floats

    @classmethod
    def of(cls, head: Head, scale: float, weights: Floats | None = None) -> Rounding:
        """Return it for a head with this scale; its weights are the softmax over the keys, or ``weights``."""
        is_own = weights is None
        weights = head.weights(scale) if weights is None else weights
        output = weights @ head.value
        centre = output if is_own else np.zeros_like(output)
        single = head.unit <= _SINGLE
        width, keys = (head.query.shape[1], len(head.key)) if single else (0, 1)
        terms = scale**2 * (head.query**2 @ (head.key**2).T)
        added = np.where(np.isfinite(head.added), head.added, 0.0)
        of_scores = 3 * ((scale * head.products) ** 2 + added**2) + (2 + width / 2) * terms
        of_outputs = 2 * (weights**2 @ head.value**2) + keys * output**2
        return cls(head, scale, weights, output, centre, head.unit**2 * of_scores, head.unit**2 * of_outputs)

    @property
    def size_of_terms(self) -> float:
        """The norm of the terms, all taken as positive, that a slope is the sum of."""
        head = self.head
        lengths = np.linalg.norm(head.query, axis=1)[:, None] * np.linalg.norm(head.key, axis=1)
        return float(np.linalg.norm((self.weights * lengths) @ np.abs(head.value)))

    @property
    def total(self) -> float:
        """The expected square of the norm of all errors."""
        # An error of a score moves the output by weight·(value - centre).
        moved = self.weights**2 * self.of_scores
        value, centre = self.head.value, self.centre
        through = (
            moved @ value**2 - 2 * centre * (moved @ value) + centre**2 * moved.sum(axis=1, keepdims=True)
        )
        return float(np.maximum(through, 0).sum() + self.of_outputs.sum())

    def along(self, slope: Floats) -> float:
        """Return the variance of the errors' inner product with ``slope``."""
        return float(
            (self._through_scores(slope) ** 2 * self.of_scores).sum() + (slope**2 * self.of_outputs).sum()
        )

    def shared_along(self, slope: Floats) -> float:
        """Return the part of the variance that comes from rows with the same errors.

        Rows share the errors of their scores, or of their outputs, as far as these differ by less than
        rounding.
        """
        scores = self.weights * (self.scale * self.head.products)
        through = self._through_scores(slope) * np.sqrt(self.of_scores)
        return _MEAN_SQUARE * (
            _covariance(through, scores, self.weights**2 * self.of_scores)
            + _covariance(slope * np.sqrt(self.of_outputs), self.output, self.of_outputs)
        )

    def bias_along(self, slope: Floats) -> float:
        """Return the size of the mean error's inner product with ``slope``, from the scores' noise.

        Where ε_j has variance σ_j², E[O(s + ε)] - O(s) is ½Σ_j σ_j²·∂²O/∂s_j², and the derivative is
        p_j(1 - 2p_j)(v_j - O).
        """
        moved = self.weights * (1 - 2 * self.weights) * self.of_scores * _MEAN_SQUARE / 2
        mean = moved @ self.head.value - moved.sum(axis=1, keepdims=True) * self.output
        return abs(float(np.vdot(slope, mean)))

    def _through_scores(self, slope: Floats) -> Floats:
        """Return by how much an error of each score moves the inner product, [rows, keys]."""
        inner = slope @ self.head.value.T - (slope * self.output).sum(axis=1, keepdims=True)
        return self.weights * inner

    def least_along(self, slope: Floats) -> float:
        """Return the same from the rounding of the output alone: no program has less."""
        return _MEAN_SQUARE * self.head.unit**2 * float(((slope * self.output) ** 2).sum())


def _covariance(moved: Floats, rounded: Floats, variances: Floats) -> float:
    """Return the sum of products of different rows of ``moved``, as far as ``rounded`` is alike in them."""
    centred = rounded - rounded.mean(axis=0)
    squares = (centred**2).sum(axis=1)
    apart = np.maximum(np.add.outer(squares, squares) - 2 * centred @ centred.T, 0.0)
    noise = np.add.outer(variances.sum(axis=1), variances.sum(axis=1)) * _ALIKE**2
    alike = np.divide(noise, noise + apart, out=np.zeros_like(noise), where=noise > 0)
    np.fill_diagonal(alike, 0.0)
    return max(0.0, float((alike * (moved @ moved.T)).sum()))
