"""Softmax in one pass, its reference raised only where a score exceeds it by more than a threshold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from verify.claims.newer.shared.rounding import rounded
from verify.claims.newer.shared.rows import Rows
from verify.montecarlo.attention import softmax
from verify.montecarlo.blocks import Settings
from verify.montecarlo.distributions import Array
from verify.montecarlo.reference_loops import fixed_normals, in_single_precision, largest_difference


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
    """Return it for scores all ``threshold`` above the first, or each as much above the one before."""
    steps = np.arange(keys, dtype=np.float64)
    scores = threshold * (steps if last else np.minimum(steps, 1))
    return float(one_pass(scores, threshold, last=last)[1])


def distance_from_softmax(threshold: float, *, single: bool = False) -> float:
    """Return how far weights of one pass over fixed scores are from softmax's; in ``single`` too."""
    scores = 3 * fixed_normals(64, 128)
    of_pass = in_single_precision(lambda rows: one_pass(rows, threshold)[0]) if single else None
    weights = of_pass(scores) if of_pass else one_pass(scores, threshold)[0]
    return largest_difference(weights, softmax(scores))


@dataclass(frozen=True)
class OnlineRows(Rows):
    """Squared errors of outputs, exponentials rounded to ``bits``, at two thresholds, 0 and another."""

    threshold: float
    deviation: float = 1.0
    bits: int = 8
    names = ("at-zero", "lagging")
    maps = 2

    @property
    def settings(self) -> Settings:
        return *super().settings, ("t", self.threshold), ("bits", self.bits), ("sigma", self.deviation)

    def reduce(self, *drawn: Array) -> tuple[Array, ...]:
        """Return both for each row; the second numbers are the values."""
        scores, values = self.deviation * drawn[0], drawn[1]
        exact = (softmax(scores) * values).sum(axis=-1)
        return tuple(self._error(scores, values, exact, one) for one in (0.0, self.threshold))

    def _error(self, scores: Array, values: Array, exact: Array, threshold: float) -> Array:
        top = references(scores, threshold)[..., -1:]
        parts = rounded(np.exp(scores - top), self.bits)
        return ((parts * values).sum(axis=-1) / parts.sum(axis=-1) - exact) ** 2
