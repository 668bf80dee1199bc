"""What all rows of a layer amount to, head by head: how many are off, and the slopes that they share."""

import math
from typing import Any

import numpy as np

from verify.auditing.formula import FACTOR, HIDDEN, SCALE, SINGLE, Rows, moments, pooled
from verify.auditing.recording import Floats

SURE = 8.0
"""Standard errors from which on what rows share is no rounding; honest programs reached 4."""

ERRORS = 4.0
"""Standard errors to either side of an estimate that its interval holds."""

LEVEL = 0.999936
"""Probability of a normal number within them."""

_ANY_SIZE = np.errstate(over="ignore", invalid="ignore")  # a tried formula may give any output
_ROUNDINGS = 4.0  # up to which rows are alike
_MOST_OFF = 1e6  # misfit of a row at most, so that sums of it are finite


class HeadSums:
    """Sums over the rows of each head, call by call.

    ``rows`` were seen, ``compared`` of them, ``bad`` are off. The ``worst`` row over its bound has a
    ``place``, [head, (sequence, row)]. ``sums`` are the `moments` of rows that are not off; ``room`` is what
    rounding may make of Σd·e of the scale at its worst, ``drift`` on average.
    """

    def __init__(self, heads: int) -> None:
        self.rows, self.compared, self.bad = np.zeros((3, heads), dtype=int)
        self.worst, self.place = np.zeros(heads), np.zeros((heads, 2), dtype=int)
        self.sums = np.zeros((5, heads, 3))
        self.room, self.cross, self.misfit, self.drift = np.zeros((4, heads))
        self.alike = np.ones(heads)

    @_ANY_SIZE
    def add(self, rows: Rows, places: Any, unit: float | None = None) -> None:
        """Add a call whose sequences have the numbers ``places`` among the layer's.

        With a ``unit`` of rounding, rows that are alike up to some roundings are counted: they share errors.
        """
        off, good = rows.is_off, rows.is_good
        # What is shared is summed over good rows alone: a single wild one would decide for all.
        sequences, heads, count = off.shape
        self.rows += sequences * count
        self.compared += rows.is_compared.sum(axis=(0, 2))
        self.bad += off.sum(axis=(0, 2))
        ratio = np.where(off & ~rows.written, math.inf, rows.ratio).swapaxes(0, 1).reshape(heads, -1)
        at, most = ratio.argmax(axis=1), ratio.max(axis=1)
        self.misfit += np.minimum(most, _MOST_OFF)
        place = np.stack([places[at // count], at % count], axis=1)
        self.place = np.where((most > self.worst)[:, None], place, self.place)
        self.worst = np.maximum(most, self.worst)
        self.sums += moments(rows, good)
        size = np.where(good, np.sqrt(rows.length[..., SCALE]), 0.0)
        self.room += (size * rows.bound).sum(axis=(0, 2))
        self.drift += np.where(good, size * rows.drift, 0.0).sum(axis=(0, 2))
        self.cross += np.where(good, rows.cross, 0.0).sum(axis=(0, 2))
        if unit is None:
            return
        # How many rows agree in these numbers up to some roundings.
        numbers = np.stack([rows.size, rows.highest, rows.largest]).swapaxes(1, 2)
        steps = _ROUNDINGS * unit * np.maximum(np.abs(numbers).max(axis=(2, 3), keepdims=True), 1e-300)
        cells = np.round(numbers / steps).astype(np.int64).reshape(*numbers.shape[:2], -1)
        # Large primes make of three numbers one that others hardly share.
        codes = cells[0] + 1_000_003 * cells[1] + 998_244_353 * cells[2]
        most = [np.unique(of_head, return_counts=True)[1].max() for of_head in codes]
        # To the next power of 2, on the safe side.
        self.alike = np.maximum(self.alike, 2.0 ** np.ceil(np.log2(most)))

    @_ANY_SIZE
    def pooled(self, direction: int) -> tuple[Floats, Floats]:
        """Return the multiple of a direction that errors have, and its standard error."""
        return pooled(self.sums[:, :, direction], self.alike)

    def scale(self) -> tuple[Floats, Floats, Floats]:
        """Return by how much ĉ is off, relative, half of its interval, and its standard error.

        The half-width is what rounding at its worst may do, where that is less than four standard errors.
        """
        (value, error), length = self.pooled(SCALE), self.sums[1, :, SCALE]
        worst = np.divide(self.room, length, out=np.full_like(value, math.inf), where=length > 0)
        drift = np.divide(self.drift, length, out=np.zeros_like(value), where=worst < math.inf)
        return value, np.minimum(ERRORS * error + drift, worst), error

    @_ANY_SIZE
    def beside(self, direction: int) -> Floats:
        """Return the multiple of the scale's or the factor's direction, beside that of the other."""
        other = FACTOR if direction == SCALE else SCALE
        along, length = self.sums[0], self.sums[1]
        size = np.where(length[:, other] > 0, length[:, other], 1.0)
        # The slope in a fit of both directions: what the other one explains is taken from each side.
        left = length[:, direction] - self.cross**2 / size
        own = along[:, direction] - along[:, other] * self.cross / size
        value, _ = self.pooled(direction)
        np.divide(own, left, out=value, where=left > 1e-9 * length[:, direction])
        return value

    @_ANY_SIZE
    def factor(self, unit: float) -> Floats:
        """Return the relative factor that outputs are off by, 0 where rounding or another scale may do that.

        Rounding always to one side moves weights and outputs by two roundings at most.
        """
        value, error = self.pooled(FACTOR)
        least = 2 * unit + SURE * error
        return np.where((np.abs(value) > least) & (np.abs(self.beside(FACTOR)) > least), value, 0.0)

    def hidden_weight(self) -> Floats:
        """Return the weight that hidden keys have, over that of visible keys; 0 where it may be rounding."""
        value, error = self.pooled(HIDDEN)
        return np.where(value > np.maximum(SURE * error, SINGLE), value, 0.0)

    def is_off(self, unit: float) -> Any:
        """Return which heads have rows that are off, or are off by what all rows share."""
        return (self.bad > 0) | (self.factor(unit) != 0) | (self.hidden_weight() > 0)
