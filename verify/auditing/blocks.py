"""What an audit looks at: the head that findings are about, and some rows of one sequence in float64."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from verify.auditing.arrays import to_numpy, unit_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verify.auditing.recording import Array, Call

    T = TypeVar("T")

Floats = Any
"""A NumPy array of float64."""

HIDDEN = -math.inf
"""What is added to the score of a key that a query may not see."""

HIDING = -9999.0
"""Programs without a mask add this, or something lower, to the scores of hidden keys."""


@dataclass(frozen=True)
class Head:
    """Rows of one head on one sequence: what went in, and what came out.

    Shapes: ``query`` [rows, d], ``key`` [keys, d], ``value`` [keys, d_v], ``output`` [rows, d_v]. ``added``
    is what is added to the scaled scores, [rows, keys]: the bias, and -inf where a key may not be seen.
    ``places`` are the rows' positions among the queries; ``unit`` is the relative rounding error of one
    operation, 2^-24 for single precision. ``sink`` is None where there is none.
    """

    query: Floats
    key: Floats
    value: Floats
    output: Floats
    added: Floats
    places: Floats
    unit: float
    softcap: float | None = None
    sink: float | None = None

    @cached_property
    def products(self) -> Floats:
        """The products q·k before any scale, shape [rows, keys]."""
        return self.query @ self.key.T

    @cached_property
    def size(self) -> float:
        """The norm of the output."""
        return float(np.linalg.norm(self.output))

    def scores(self, scale: float) -> Floats:
        """Return the scores that go into the softmax, shape [rows, keys]."""
        scaled = scale * self.products
        if self.softcap is not None:
            scaled = self.softcap * np.tanh(scaled / self.softcap)
        return scaled + self.added

    def weights(self, scale: float) -> Floats:
        """Return the attention weights, shape [rows, keys]; with a sink they add up to less than 1."""
        return softmax(self.scores(scale), self.sink)

    def attend(self, scale: float) -> Floats:
        """Return the output that this scale gives, shape [rows, d_v]."""
        return self.weights(scale) @ self.value

    def attended(self, scale: float) -> tuple[Floats, Floats]:
        """Return the output that this scale gives, and its derivative by the scale, both [rows, d_v]."""
        rise = self.products
        if self.softcap is not None:
            rise = rise * (1 - np.tanh(scale * rise / self.softcap) ** 2)
        weights = self.weights(scale)
        moved = weights * rise
        # Weights and sink together add up to 1, and the sink's score does not move.
        slope = moved - weights * moved.sum(axis=1, keepdims=True)
        return weights @ self.value, slope @ self.value

    def thinned(self, rows: int) -> Head:
        """Return this head with at most ``rows`` of its rows, spread evenly."""
        length = len(self.places)
        count = min(rows, length)
        return self.at(np.unique(np.linspace(0, max(length - 1, 0), count).round().astype(np.intp)))

    def at(self, rows: NDArray[np.intp]) -> Head:
        """Return this head with these of its rows."""
        names = ("query", "output", "added", "places")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})


def softmax(scores: Floats, sink: Floats | None = None) -> Floats:
    """Return exp(s)/(Σexp(s) + exp(sink)) over the last axis; rows without a finite score give zeros."""
    top = scores.max(axis=-1, keepdims=True)
    if sink is not None:
        top = np.maximum(top, sink)
    top = np.where(np.isfinite(top), top, 0.0)
    exponentials = np.exp(scores - top)
    total = exponentials.sum(axis=-1, keepdims=True)
    if sink is not None:
        total = total + np.exp(sink - top)
    return exponentials / np.where(total > 0, total, 1.0)


def head_of(call: Call, sequence: int, head: int, rows: int | NDArray[np.intp], *, seed: int = 0) -> Head:
    """Return one head of one sequence of a call that has values and output.

    ``rows`` are positions of queries, or about how many to draw: one in each of as many equal stretches, by
    ``seed``, sequence and head. Only rows that see at least two keys are kept, for the others say nothing of
    the scale; there may be none.
    """
    rng = np.random.default_rng([seed, sequence, head])
    # More than are wanted, for some rows may see nothing.
    places = _drawn(call.query.shape[2], 4 * rows, rng) if isinstance(rows, int) else rows
    added = added_to(call, sequence, head, places)
    if isinstance(rows, int):
        telling = np.flatnonzero((added > HIDDEN).sum(axis=1) >= 2)
        telling = telling[_drawn(len(telling), rows, rng)]
        places, added = places[telling], added[telling]
    shared = call.query.shape[1] // call.key.shape[1]
    query = to_numpy(call.query[sequence, head][places])
    output = to_numpy(call.output[sequence, head][places])  # type: ignore[index]  # the caller saw to it
    return Head(
        query=query,
        key=to_numpy(call.key[sequence, head // shared]),
        value=to_numpy(call.value[sequence, head // shared]),  # type: ignore[index]  # the caller saw to it
        output=output,
        added=added,
        places=places,
        unit=unit_of(call),
        softcap=call.softcap,
        sink=None if call.sink is None else float(to_numpy(call.sink).reshape(-1)[head]),
    )


def added_to(call: Call, sequence: int, head: int, places: NDArray[np.intp]) -> Floats:
    """Return what a call adds to the scaled scores of some rows, [rows, keys]: bias, -inf where hidden."""
    keys = call.key.shape[2]
    added = np.zeros((len(places), keys))
    if call.bias is not None:
        bias = rows_of(call.bias, sequence, head, places)
        added += np.where(bias <= HIDING, HIDDEN, bias)
    if call.mask is not None:
        added[~np.broadcast_to(rows_of(call.mask, sequence, head, places) != 0, added.shape)] = HIDDEN
    if call.causal:
        added[places[:, None] < np.arange(keys)] = HIDDEN
    return added


def rows_of(array: Array, sequence: int, head: int, places: NDArray[np.intp]) -> Floats:
    """Return rows of a mask or bias that is broadcast to [sequence, head, query, key]."""
    part = array.reshape((1,) * (4 - array.ndim) + tuple(array.shape))
    part = part[sequence if part.shape[0] > 1 else 0, head if part.shape[1] > 1 else 0]
    return to_numpy(part[places] if part.shape[0] > 1 else part)


def _drawn(length: int, count: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return a position from each of ``count`` equal stretches, or all there are where these are fewer."""
    if length <= count:
        return np.arange(length)
    return ((np.arange(count) + rng.random(count)) * (length / count)).astype(np.intp)
