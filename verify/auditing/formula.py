"""The formula of attention in double precision, row by row, and how far an output is from it.

    O = softmax(c·QKᵀ + B) V

`compare` evaluates it for every row of a call and returns `Rows`: the distance of each row of the recorded
output from the formula, what rounding may do to that row (`Rows.bound`), and three directions in which a row
may be off together with all others: another scale, another factor of the output, weight on hidden keys.
`pool` sums a direction over rows and returns the multiple that fits best with its standard error.

    rows = compare(Formula(in_memory(call), scale=0.125))
    rows.is_off                        which rows are off by more than rounding, [sequence, head, row]
    pool(rows, SCALE, rows.is_good)    by head: (ĉ − c)/c and its standard error

A `Formula` is a call with what is computed of it. `dataclasses.replace` makes another: other arrays, mask
(``band``), scale, soft-cap or sink, or where that is not enough another softmax (``weigh``). Scores are
computed in small pieces, so that a call of any length takes little memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from verify.auditing.arrays import grain_of, unit_of

if TYPE_CHECKING:
    from verify.auditing.recording import Call

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

HIDING = -9999.0
"""Programs without a mask add this, or something lower, to the scores of hidden keys."""

SINGLE = 2.0**-24
SCALE, FACTOR, HIDDEN = range(3)
"""Directions: the scale, relative; a factor of the output, relative; the weight of hidden keys."""

_PIECE = 1 << 17  # scores of a piece: 1 MB, so that it stays in the processor's cache with all made of it
_NEVER = -1e30  # the score of a hidden key; its exponential is 0, and 0 times it is no NaN
_FAR_ABOVE = 30.0  # hidden keys count as at most so far above those that are seen
_SATURATED = 100.0  # rows whose hidden keys would weigh so much more than the others tell nothing of them
_FLAT = 1e-12  # relative size of a slope that is rounding in double precision
_DRIFT = 0.27  # 1.5 times the mean square of a rounding error over its bound
_STEEP = 0.25  # possible rounding of a row's largest score from which on weights do not follow it linearly
_FEWEST = 10  # rows of equal weight below which their own spread gives no standard error


class Band(NamedTuple):
    """The keys that a query sees by its place: query i sees key j where ``first`` ≤ j − i ≤ ``last``."""

    first: float = -math.inf
    last: float = math.inf


@dataclass(frozen=True)
class Formula:
    """What is computed of a call, whose arrays are NumPy's.

    ``scale`` is a number, or a number for each head. ``band`` hides keys beside the call's own mask and
    bias; None stands for what the call says as ``causal``. ``factor`` multiplies the output. ``weigh`` takes
    scores with bias, [sequence, head, row, key], and which keys are hidden, and returns weights; where it
    ``needs_all`` it is given those of the whole call at once. ``unit`` is the relative error of one rounding,
    None for that of the coarsest type that the call declares.
    """

    call: Call
    scale: Any
    band: Band | None = None
    factor: float = 1.0
    weigh: Callable[[Floats, Any], Floats] | None = None
    needs_all: bool = False
    unit: float | None = None

    @property
    def scores(self) -> tuple[int, int, int, int]:
        """The shape of the scores, [sequence, head, query, key]."""
        sequences, heads, queries, _ = map(int, self.call.query.shape)
        return sequences, heads, queries, int(self.call.key.shape[2])

    @property
    def shown(self) -> Band:
        """The band that hides keys."""
        return self.band or (Band(last=0) if self.call.causal else Band())


class Rows(NamedTuple):
    """What every row of an output is like, arrays of shape [sequence, head, row].

    ``keys`` counts those that the row sees. ``error`` is |O′ − O| of the recorded output O′, and ``bound``
    what rounding may make it. ``finite`` says whether all that the row is made of is finite, ``written``
    whether its recorded output is; ``size`` is |O′|, 0 where it is not finite. ``highest`` is the largest
    score, ``variance`` that of the scores a row sees, ``entropy`` that of its weights in nats,
    ``largest`` its largest weight. ``along`` is d·(O′ − O) and ``length`` |d|² for the directions d,
    shape [sequence, head, row, direction], and ``cross`` the product of the first two directions. ``drift``
    bounds what noise of scores moves the output by on average, since the softmax is not linear.
    """

    keys: NDArray[np.intp]
    error: Floats
    bound: Floats
    finite: Flags
    written: Flags
    size: Floats
    highest: Floats
    variance: Floats
    entropy: Floats
    largest: Floats
    along: Floats
    length: Floats
    cross: Floats
    drift: Floats

    @property
    def is_compared(self) -> Flags:
        """Rows that see a key, and are finite."""
        return (self.keys > 0) & self.finite & self.written

    @property
    def ratio(self) -> Floats:
        """Errors over their bound, 0 where nothing is compared."""
        ratio = np.where(self.error > 0, math.inf, 0.0)
        np.divide(self.error, self.bound, out=ratio, where=self.bound > 0)
        return np.where(self.is_compared, ratio, 0.0)

    @property
    def is_off(self) -> Flags:
        """Rows that are off by more than rounding leaves, or not finite though all they are made of is."""
        return (self.ratio > 1) | ((self.keys > 0) & self.finite & ~self.written)

    @property
    def is_good(self) -> Flags:
        """Rows that were compared, and are not off."""
        return self.is_compared & (self.ratio <= 1)


def moments(rows: Rows, use: Flags) -> Floats:
    """Return Σd·e, Σ|d|², Σ(d·e)², Σ(d·e)|d|² and Σ|d|⁴ over the rows in use, [sum, head, direction]."""
    along, length = (np.where(use[..., None], array, 0.0) for array in (rows.along, rows.length))
    squares = along**2, along * length, length**2
    return np.stack([array.sum(axis=(0, 2)) for array in (along, length, *squares)])


def pooled(sums: Floats, alike: Any = 1.0) -> tuple[Floats, Floats]:
    """Return from its `moments` the multiple of a direction that errors have, and its standard error.

    The error is the sandwich over rows: it needs no model of rounding. It is infinite for fewer than ten
    rows of equal weight, and where the output does not depend on the direction. ``alike`` rows count as one.
    """
    along, length, square, mixed, fourth = sums
    known = length > 0
    value = np.divide(along, length, out=np.zeros_like(along), where=known)
    noise = np.maximum(square - 2 * value * mixed + value**2 * fourth, 0.0)
    many = np.divide(length**2, fourth, out=np.zeros_like(along), where=fourth > 0) / alike
    error, known = np.full_like(along, math.inf), known & (many >= _FEWEST)
    np.divide(np.sqrt(noise * alike * many / np.maximum(many - 1, 1)), length, out=error, where=known)
    return value, error


def pool(rows: Rows, direction: int, use: Flags) -> tuple[Floats, Floats]:
    """Return for each head the multiple of a direction that errors of rows have, and its standard error."""
    return pooled(moments(rows, use)[..., direction])


def compare(formula: Formula, rows: slice = slice(None), sequences: slice = slice(None)) -> Rows:
    """Compare every row of a call's output, or those in ``rows`` and ``sequences``, with the formula.

    Without values or an output only scores and weights are known: ``is_compared`` is False.
    """
    count, heads, queries, keys = formula.scores
    if formula.needs_all:
        whole: Any = _piece(formula, slice(0, count), slice(0, heads), slice(0, queries))
        return Rows(*(array[sequences, :, rows] for array in whole))
    (first, end, _), (start, stop, _) = sequences.indices(count), rows.indices(queries)
    strip = min(stop - start, max(1, _PIECE // keys))
    many_heads = min(heads, max(1, _PIECE // (keys * strip)))
    many = max(1, _PIECE // (keys * strip * heads)) if many_heads == heads else 1
    group = heads // int(formula.call.key.shape[1])
    if 1 < many_heads < heads:  # pieces end where a group of heads ends, or are one head
        many_heads = many_heads // group * group if many_heads >= group else 1
    made: dict[str, Any] = {}
    for s, h, r in product(range(first, end, many), range(0, heads, many_heads), range(start, stop, strip)):
        cuts = (
            slice(s, min(s + many, end)),
            slice(h, min(h + many_heads, heads)),
            slice(r, min(r + strip, stop)),
        )
        place = slice(s - first, cuts[0].stop - first), cuts[1], slice(r - start, cuts[2].stop - start)
        for name, array in _piece(formula, *cuts)._asdict().items():
            if name not in made:
                made[name] = np.empty((end - first, heads, stop - start, *array.shape[3:]), array.dtype)
            made[name][place] = array
    return Rows(**made)


def hidden_and_bias(
    formula: Formula, s: slice, h: slice, r: slice, keys: int
) -> tuple[Flags | None, Floats | None]:
    """Return which of the first ``keys`` keys are hidden from rows, and what is added to scores.

    Both are broadcast to [sequence, head, row, key], and None where there is nothing.
    """
    call, band = formula.call, formula.shown
    hidden: Any = None
    bias: Any = None

    def part(array: Any) -> Any:
        """Return what of an array belongs to the piece; axes of length 1 stay."""
        whole = np.asarray(array)
        whole = whole.reshape((1,) * (4 - whole.ndim) + whole.shape)
        cuts = (s, h, r, slice(0, keys))
        return whole[
            tuple(cut if length > 1 else slice(None) for cut, length in zip(cuts, whole.shape, strict=True))
        ]

    if call.bias is not None:
        bias = part(call.bias).astype(np.float64)
        low = bias <= HIDING
        if low.any():
            hidden, bias = low, np.where(low, 0.0, bias)
        bias = bias if bias.any() else None
    if call.mask is not None:
        masked = ~part(call.mask).astype(bool)
        hidden = masked if hidden is None else hidden | masked
    if band != Band():
        ahead = np.arange(keys) - np.arange(r.start, r.stop)[:, None]
        outside = (ahead < band.first) | (ahead > band.last)
        if outside.any():
            hidden = outside[None, None] if hidden is None else hidden | outside
    return (hidden if hidden is not None and hidden.any() else None), bias


def _finite(array: Any, group: int = 1) -> tuple[Floats, Flags | None]:
    """Return an array in float64 with 0 for what is not finite, and which vectors are, None where all are."""
    wide = np.asarray(array).astype(np.float64)
    finite: Any = None
    if not math.isfinite(float(wide.sum())):
        good = np.isfinite(wide)
        wide, finite = np.where(good, wide, 0.0), good.all(axis=-1)
    if group > 1:
        wide = np.repeat(wide, group, axis=1)
        finite = None if finite is None else np.repeat(finite, group, axis=1)
    return wide, finite


def _scores(formula: Formula, cuts: tuple[slice, slice, slice], query: Floats, key: Floats) -> Any:
    """Return scores, their derivative by log c where it is another, hidden keys, and how many a row sees."""
    scores, rise, keys, cap = query @ key.mT, None, key.shape[2], formula.call.softcap
    if cap is not None:
        bent = np.tanh(scores / cap)
        rise, scores = scores * (1 - bent**2), cap * bent
    hidden, bias = hidden_and_bias(formula, *cuts, keys)
    if bias is not None:
        rise, scores = (scores if rise is None else rise), scores + bias
    count = np.full(query.shape[:3], keys)
    if hidden is not None:
        # Of what is broadcast along the keys, one number stands for all keys.
        count = np.broadcast_to(keys - hidden.sum(axis=-1) * (keys // hidden.shape[-1]), count.shape)
    return scores, rise, hidden, count


def _piece(  # noqa: C901, PLR0915 - one formula, line by line
    formula: Formula, s: slice, h: slice, r: slice
) -> Rows:
    """Return what rows r of heads h of sequences s are like; sums over keys are products of matrices."""
    call = formula.call
    unit = unit_of(call) if formula.unit is None else formula.unit
    _, heads, _, keys = formula.scores
    group = heads // int(call.key.shape[1])
    if math.isfinite(formula.shown.last) and formula.weigh is None:
        # No row sees a key beyond the band of the piece's last row; in causal calls that halves the work.
        keys = max(1, min(keys, r.stop + int(formula.shown.last)))
    shared, repeat = slice(h.start // group, (h.stop - 1) // group + 1), min(group, h.stop - h.start)
    query, good_q = _finite(call.query[s, h, r])
    key, good_k = _finite(call.key[s, shared, :keys], repeat)
    value, good_v = (key, None) if call.value is None else _finite(call.value[s, shared, :keys], repeat)
    scale = np.asarray(formula.scale, dtype=np.float64)
    scale = scale[h, None, None] if scale.ndim else scale.reshape(1, 1, 1)
    sink = None if call.sink is None else np.asarray(call.sink).astype(np.float64).reshape(-1)[h, None]
    with np.errstate(all="ignore"):
        scores, rise, hidden, count = _scores(formula, (s, h, r), query * scale, key)
        seen = scores if hidden is None else np.where(hidden, 0.0, scores)
        mean, ones = _summed(seen) / np.maximum(count, 1), np.ones((*key.shape[:3], 1))
        variance = (np.vecdot(seen, seen) - count * mean**2) / np.maximum(count - 1, 1)
        masked = scores if hidden is None else np.where(hidden, _NEVER, scores)
        highest = masked.max(axis=-1)
        top = highest if sink is None else np.maximum(highest, sink)
        # Weight on hidden keys is estimated in half precision only: in single precision each row shows it.
        is_open = hidden is not None and unit > SINGLE and formula.weigh is None
        logits = scores - top[..., None] if is_open else masked - top[..., None]
        everything = np.exp(np.minimum(logits, _FAR_ABOVE, out=logits) if is_open else logits)
        weights = np.where(hidden, 0.0, everything) if is_open else everything
        if formula.weigh is not None:
            weights, logits = formula.weigh(scores, hidden), seen
            top, sink = np.zeros_like(top), None
        extra = 0.0 if sink is None else np.exp(sink - top)
        of_values, of_keys = np.vecdot(value, value), np.vecdot(key, key)
        sums = weights @ np.concatenate((value, of_values[..., None], of_keys[..., None], ones), axis=-1)
        total = sums[..., -1] + extra if formula.weigh is None else np.ones(count.shape)
        total = np.where(total > 0, total, 1.0)
        sums /= total[..., None]
        output, squared_v, squared_k, whole = sums[..., :-3], sums[..., -3], sums[..., -2], sums[..., -1]
        moved = weights * logits
        slopes = moved @ np.concatenate((value, ones), axis=-1) / total[..., None]
        inner = slopes[..., -1]
        entropy = np.log(total) - inner - (0.0 if sink is None else (1 - whole) * (sink - top))
        # The mean square of the scores by weight: the rounding error of a score is relative to its size.
        square = np.maximum(np.vecdot(moved, logits) / total + 2 * top * inner + top**2 * whole, 0.0)
        size = np.vecdot(output, output)
        sigma = np.sqrt(np.maximum(squared_v - (2 - whole) * size, 0.0))
        # To first order the output moves by Σ p ε s (v − O), at most ε·√(Σ p s²) times the spread of values.
        if formula.weigh is None:
            long = np.sqrt(np.vecdot(query, query) * squared_k) * np.abs(scale[..., 0])
            room = 3 * np.sqrt(square) * sigma
            steep = 3 * unit * np.abs(highest) > _STEEP
            if steep.any():
                other = _steep(logits, top, total, value, output, hidden, unit) / unit
                room = np.where(steep, np.maximum(room, other), room)
        else:  # whatever weights are, each is off by at most so much of its size
            squared_v = (np.abs(weights) @ np.sqrt(of_values)[..., None])[..., 0] ** 2
            long, sigma = np.sqrt(np.vecdot(query, query) * of_keys.max(axis=-1)[..., None]), squared_v**0.5
            long, room = long * np.abs(scale[..., 0]), 3 * np.abs(seen).max(axis=-1) * sigma
        # Rounding of scores, of weights and values, and of the output; then of sums of products, which are in
        # single precision at least; near 0 errors are absolute.
        bound = unit * (room + 2 * np.sqrt(squared_v) + np.sqrt(size))
        bound += min(unit, SINGLE) * (math.sqrt(query.shape[-1]) * long * sigma + np.sqrt(keys * squared_v))
        bound += grain_of(call) * (math.sqrt(value.shape[-1]) + np.sqrt(of_values.sum(axis=-1)))[..., None]
        bound *= abs(formula.factor)
        # Rows are finite themselves, and in the keys and values that they see.
        finite = np.ones(count.shape, dtype=bool) if good_q is None else good_q.copy()
        for good in (good_k, good_v):
            if good is not None:
                wrong = np.broadcast_to(~good[:, :, None], scores.shape)
                finite &= ~(wrong if hidden is None else wrong & ~hidden).any(axis=-1)
        described: dict[str, Any] = {
            "keys": count,
            "bound": bound,
            "finite": finite,
            "highest": np.where(count > 0, highest, 0.0),
            "variance": np.maximum(variance, 0.0),
            "entropy": np.maximum(entropy, 0.0),
            "largest": np.exp(highest - top) / total,
        }
        zero, along, length = np.zeros(count.shape), np.zeros((*count.shape, 3)), np.zeros((*count.shape, 3))
        if call.value is None or call.output is None:
            nothing: Any = dict.fromkeys(("error", "size", "cross", "drift"), zero)
            described |= nothing | {"finite": zero > 0, "written": zero > 0}
            return Rows(**described, along=along, length=length)
        # The derivative of the output by log c: Σ p s (v − O), with the scores s = logits + top.
        slope = slopes[..., :-1] + (top * (1 - whole) - inner)[..., None] * output
        if rise is not None:
            moved = weights * rise
            slope = moved @ value - _summed(moved)[..., None] * output
            slope /= total[..., None]
        # Where scores differ by less than weights are rounded to, or values not at all, the output says
        # nothing of the scale.
        flat = np.vecdot(slope, slope) < (_FLAT * (1 + np.abs(top))) ** 2 * squared_v
        slope[flat | (described["variance"] < (2 * unit) ** 2)] = 0.0
        directions = [slope, output]
        if is_open:
            theirs = everything - weights
            share = _summed(theirs) / total
            turned = theirs @ value / total[..., None] - share[..., None] * output
            flat = np.vecdot(turned, turned) < (_FLAT * share) ** 2 * squared_v
            turned[flat | (share > _SATURATED)] = 0.0
            directions.append(turned)
        recorded, good_o = _finite(call.output[s, h, r])
        error = recorded - formula.factor * output
        for number, direction in enumerate(directions):
            along[..., number] = formula.factor * np.vecdot(direction, error)
            length[..., number] = formula.factor**2 * np.vecdot(direction, direction)
        return Rows(
            **described,
            error=np.sqrt(np.vecdot(error, error)),
            written=zero == 0 if good_o is None else good_o,
            size=np.sqrt(np.vecdot(recorded, recorded)),
            along=along,
            length=length,
            cross=formula.factor**2 * np.vecdot(slope, output),
            drift=_DRIFT * unit**2 * np.sqrt(square) * np.maximum(np.abs(top), np.sqrt(square)) * sigma,
        )


def _summed(array: Floats) -> Floats:
    """Return sums over the last axis, which a product of matrices takes half the time for."""
    ones = np.ones(array.shape[-1])
    sums: Floats = (array.reshape(-1, array.shape[-1]) @ ones).reshape(array.shape[:-1])
    return sums


def _steep(
    logits: Floats, top: Floats, total: Floats, value: Floats, output: Floats, hidden: Any, unit: float
) -> Floats:
    """Return what rounding of large scores may do to rows, where weights do not follow it linearly.

    Where ε bounds the error of a score, a weight p is off by at most min(1, p·exp(2ε)) − p·exp(0).
    """
    error = 6 * unit * np.abs(logits + top[..., None])
    share = logits - np.log(total)[..., None]
    off = np.exp(np.minimum(share + error, 0.0)) * -np.expm1(-error)
    off = off if hidden is None else np.where(hidden, 0.0, off)
    # |v − O|² by its square, so that no array of [query, key, component] is made.
    apart = np.vecdot(value, value)[..., None, :] - 2 * output @ value.mT
    apart += np.vecdot(output, output)[..., None]
    moved: Floats = np.vecdot(off, np.sqrt(np.maximum(apart, 0.0)))
    return moved
