"""Softmax in one pass, its reference raised only where a score exceeds it by more than a threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from verify.claims.newer.shared.rounding import rounded
from verify.claims.newer.shared.rows import Rows
from verify.montecarlo.attention import softmax
from verify.montecarlo.reference_loops import fixed_normals, largest_difference

if TYPE_CHECKING:
    from verify.montecarlo.blocks import Settings
    from verify.montecarlo.distributions import Array


def references(scores: Array, threshold: float, *, last: bool = False) -> Array:
    """Return the reference that is stored at each key: a maximum of the scores so far, or one that lags.

    It becomes the score of a key that exceeds it by more than ``threshold``; with ``last``, one that exceeds
    the maximum so far by more.
    """
    stored, highest = scores[..., 0].copy(), scores[..., 0].copy()
    found = np.empty_like(scores)
    for key in range(scores.shape[-1]):
        score = scores[..., key]
        stored = np.where(score - (highest if last else stored) > threshold, score, stored)
        highest = np.maximum(highest, score)
        found[..., key] = stored
    return found


def one_pass(scores: Array, threshold: float, *, last: bool = False) -> tuple[Array, Array]:
    """Return the weights, and the largest partial sum of exponentials over the reference of its time."""
    stored = references(scores, threshold, last=last)
    partial = np.zeros(scores.shape[:-1])
    most, before = np.zeros_like(partial), stored[..., 0]
    for key in range(scores.shape[-1]):
        reference = stored[..., key]
        partial = partial * np.exp(before - reference) + np.exp(scores[..., key] - reference)
        most, before = np.maximum(most, partial), reference
    weights: Array = np.exp(scores - before[..., None]) / partial[..., None]
    return weights, most


def largest_partial_sum(keys: int, threshold: float, *, last: bool = False) -> float:
    """Return it for scores that are all ``threshold`` above the first, or each as much above the one before."""
    scores = threshold * (np.arange(keys) if last else np.minimum(np.arange(keys), 1.0))
    return float(one_pass(scores, threshold, last=last)[1])


def distance_from_softmax(threshold: float, *, single: bool = False) -> float:
    """Return how far the weights of one pass over fixed scores, in ``single`` precision, are from softmax's."""
    scores = 3 * fixed_normals(64, 128)
    of_pass = scores.astype(np.float32) if single else scores
    return largest_difference(one_pass(of_pass, threshold)[0], softmax(scores))


@dataclass(frozen=True)
class OnlineRows(Rows):
    """Squared errors of outputs whose exponentials are rounded to ``bits``, at two thresholds, 0 and another."""

    threshold: float
    deviation: float = 1.0
    bits: int = 8
    names = ("at-zero", "lagging")
    maps = 2

    @property
    def settings(self) -> Settings:
        """What is drawn, as a cell records it."""
        return *super().settings, ("t", self.threshold), ("bits", self.bits), ("sigma", self.deviation)

    def reduce(self, *drawn: Array) -> tuple[Array, ...]:
        """Return both for each row; the second numbers are the values."""
        scores, values = self.deviation * drawn[0], drawn[1]
        exact = (softmax(scores) * values).sum(axis=-1)
        return tuple(self._error(scores, values, exact, one) for one in (0.0, self.threshold))

    def _error(self, scores: Array, values: Array, exact: Array, threshold: float) -> Array:
        top = references(scores, threshold)[..., -1:]
        parts = rounded(np.exp(scores - top), self.bits)
        error: Array = ((parts * values).sum(axis=-1) / parts.sum(axis=-1) - exact) ** 2
        return error
