"""The formula of attention in double precision, row by row, and how far an output is from it.

    O = softmax(c·QKᵀ + B) V

`compare` evaluates it for every row of a call and returns `Rows`: the distance of each row of the recorded
output from the formula, what rounding may do to that row, and three directions in which a row may be off
together with all others: another scale, another factor of the output, weight on hidden keys. `pool` gives the
multiple of a direction that fits best with its standard error, and `HeadSums` adds up all calls of a layer.

    rows = compare(Formula(in_memory(call), scale=0.125))
    rows.is_off                        which rows are off by more than rounding, [sequence, head, row]
    pool(rows, SCALE, rows.is_good)    by head: (ĉ − c)/c and its standard error

A `Formula` is a call with what is computed of it. `dataclasses.replace` makes another: other arrays, mask
(``band``), scale, soft-cap or sink, or where that is not enough another softmax (``weigh``).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.special import entr

from verify.auditing.recording import GRAINS, Call, Flags, Floats, declared_dtypes, unit_of

Cuts = tuple[slice, slice, slice]  # of sequences, heads, rows
_ALL = (slice(None),) * 3

SCALE, FACTOR, HIDDEN = range(3)
"""Directions: the scale, relative; a factor of the output, relative; the weight of hidden keys."""

SURE = 8.0
"""Standard errors from which on what rows share is no rounding; honest programs reached 4."""

LEVEL = 0.999936
"""Probability of the interval of an estimate, of four standard errors to either side."""

_SINGLE = 2.0**-24
_HIDING = -9999.0  # programs without a mask add this, or something lower, to the scores of hidden keys
_PIECE = 1 << 17  # scores of a piece: 1 MB, so that it stays in the processor's cache with all made of it
_NEVER = -1e30  # the score of a hidden key; its exponential is 0, and 0 times it is no NaN
_FAR_ABOVE = 30.0  # hidden keys count as at most so far above those that are seen
_SATURATED = 100.0  # rows whose hidden keys would weigh so much more than the others tell nothing of them
_FLAT = 1e-12  # relative size of a slope that is rounding in double precision
_DRIFT = 0.27  # 1.5 times the mean square of a rounding error over its bound
_STEEP = 0.25  # possible rounding of a row's largest score from which on weights do not follow it linearly
_FEWEST = 10  # rows of equal weight below which their own spread gives no standard error
_ROUNDINGS = 4.0  # up to which rows are alike
_ANY_SIZE = np.errstate(all="ignore")  # what is tried may be of any size


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

    def hidden_and_bias(self, cuts: Cuts = _ALL, keys: int | None = None) -> tuple[Any, Any]:
        """Return which of the first ``keys`` keys are hidden from rows, and what is added to scores.

        Both are broadcast to [sequence, head, row, key], and None where there is nothing.
        """
        call, band, bias, hiding = self.call, self.shown, None, list[Any]()

        def part(array: Any) -> Any:
            # Axes of length 1 stay: they are shared by all.
            whole = np.asarray(array)
            whole = whole.reshape((1,) * (4 - whole.ndim) + whole.shape)
            own = zip((*cuts, slice(keys)), whole.shape, strict=True)
            return whole[tuple(cut if length > 1 else slice(None) for cut, length in own)]

        if call.bias is not None:
            bias = part(call.bias).astype(np.float64)
            hiding.append(bias <= _HIDING)
            bias = np.where(hiding[0], 0.0, bias)
            bias = bias if bias.any() else None
        if call.mask is not None:
            hiding.append(~part(call.mask).astype(bool))
        if band != Band():
            ahead = np.arange(self.scores[3])[:keys] - np.arange(self.scores[2])[cuts[2], None]
            hiding.append(((ahead < band.first) | (ahead > band.last))[None, None])
        hiding = [array for array in hiding if array.any()]
        return (reduce(operator.or_, hiding) if hiding else None), bias


class Rows(NamedTuple):
    """What every row of an output is like, arrays of shape [sequence, head, row].

    ``keys`` counts those that the row sees. ``is_compared`` are rows that see a key and are finite with all
    that they are made of. ``ratio`` is the error |O′ − O| of the recorded output O′ over its ``bound``, what
    rounding may make it: infinite where only O′ is not finite, 0 where nothing is compared. Where it exceeds
    1 a row ``is_off``, else a compared row ``is_good``. ``written`` says whether O′ is finite; ``size`` is
    |O′|, 0 where it is not. ``highest`` is the largest score, ``variance`` that of the scores a row sees,
    ``entropy`` that of its weights in nats, ``largest`` its largest weight. ``along`` is d·(O′ − O) and
    ``length`` |d|² for the directions d, shape [sequence, head, row, direction], and ``cross`` the product of
    the first two. ``drift`` bounds what noise of scores moves the output by on average, since the softmax is
    not linear.
    """

    keys: np.ndarray
    is_compared: Flags
    is_off: Flags
    is_good: Flags
    ratio: Floats
    bound: Floats
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


def _moments(rows: Rows, use: Flags) -> Floats:
    """Return Σd·e, Σ|d|², Σ(d·e)², Σ(d·e)|d|² and Σ|d|⁴ over the rows in use, [sum, head, direction]."""
    along, length, use = rows.along, rows.length, use[..., None]
    sums = along, length, along**2, along * length, length**2
    return np.stack([array.sum(axis=(0, 2), where=use) for array in sums])


def pooled(sums: Floats, alike: Any = 1.0) -> tuple[Floats, Floats]:
    """Return from its moments the multiple of a direction that errors have, and its standard error.

    The error is the sandwich over rows: it needs no model of rounding. It is infinite for fewer than ten
    rows of equal weight, and where the output does not depend on the direction. ``alike`` rows count as one.
    """
    along, length, square, mixed, fourth = sums
    with np.errstate(all="ignore"):
        value = np.where(length > 0, along / length, 0.0)
        # Σ(d·e − value·|d|²)², written out. Rows count by |d|²: (Σ|d|²)²/Σ|d|⁴ of equal weight tell as much.
        noise = np.maximum(square - 2 * value * mixed + value**2 * fourth, 0.0)
        many = np.where(fourth > 0, length**2 / fourth, 0.0) / alike
        error = np.sqrt(noise * alike * many / np.maximum(many - 1, 1)) / length
        return value, np.where((length > 0) & (many >= _FEWEST), error, math.inf)


def pool(rows: Rows, direction: int, use: Flags) -> tuple[Floats, Floats]:
    """Return for each head the multiple of a direction that errors of rows have, and its standard error."""
    return pooled(_moments(rows, use)[..., direction])


@_ANY_SIZE
def compare(formula: Formula, rows: slice = slice(None), sequences: slice = slice(None)) -> Rows:
    """Compare every row of a call's output, or those in ``rows`` and ``sequences``, with the formula.

    Without values or an output only scores and weights are known: ``is_compared`` is False.
    """
    count, heads, queries, keys = formula.scores
    (first, end, _), (start, stop, _) = sequences.indices(count), rows.indices(queries)
    if formula.needs_all:
        whole: Any = _Piece(formula, (slice(0, count), slice(0, heads), slice(0, queries))).rows()
        return Rows(*(array[sequences, :, rows] for array in whole))
    # A piece has all heads where a sequence is small, else a single head.
    together = heads if heads * (stop - start) * keys <= _PIECE else 1
    strip = min(stop - start, max(1, _PIECE // (together * keys)))
    many = max(1, _PIECE // (together * keys * strip))
    made: dict[str, Any] = {}
    for s, h, r in product(range(first, end, many), range(0, heads, together), range(start, stop, strip)):
        cuts = slice(s, min(s + many, end)), slice(h, h + together), slice(r, min(r + strip, stop))
        place = slice(s - first, cuts[0].stop - first), cuts[1], slice(r - start, cuts[2].stop - start)
        for name, array in _Piece(formula, cuts).rows()._asdict().items():
            if name not in made:
                made[name] = np.empty((end - first, heads, stop - start, *array.shape[3:]), array.dtype)
            made[name][place] = array
    return Rows(**made)


def _finite(array: Any, group: int = 1) -> tuple[Floats, Flags]:
    """Return an array in float64 with 0 for what is not finite, and which vectors are."""
    wide = np.asarray(array).astype(np.float64)
    good: Any = np.ones(wide.shape[:-1], dtype=bool)
    if not math.isfinite(float(wide.sum())):
        numbers = np.isfinite(wide)
        wide, good = np.where(numbers, wide, 0.0), numbers.all(axis=-1)
    return (np.repeat(wide, group, axis=1), np.repeat(good, group, axis=1)) if group > 1 else (wide, good)


class _Piece:
    """Attention on a piece of a call: scores S = c·QKᵀ + B, weights P = softmax(S), output O = P V.

    ``rise`` is the derivative of scores by log c. Weights of keys are exp(``logits``)/``total``, 0 where they
    are ``hidden``; ``top`` is the score whose logit is 0. ``score`` is √(Σ p s²), ``mean_square`` Σ p |v|²,
    ``key_square`` Σ p |k|², ``size`` |O|², ``spread`` √(Σ p |v − O|²).
    """

    def __init__(self, formula: Formula, cuts: Cuts) -> None:
        call, (s, h, r), (_, heads, _, keys) = formula.call, cuts, formula.scores
        self.formula, self.cuts, last = formula, cuts, formula.shown.last
        self.unit = unit_of(call) if formula.unit is None else formula.unit
        if math.isfinite(last) and formula.weigh is None:
            # No row sees a key beyond the band of the piece's last row; in causal calls that halves the work.
            keys = max(1, min(keys, r.stop + int(last)))
        group = heads // int(call.key.shape[1])
        shared, repeat = slice(h.start // group, (h.stop - 1) // group + 1), min(group, h.stop - h.start)
        self.query, self.finite = _finite(call.query[s, h, r])
        self.key, good_keys = _finite(call.key[s, shared, :keys], repeat)
        self.value, good_values = self.key, good_keys
        if call.value is not None:
            self.value, good_values = _finite(call.value[s, shared, :keys], repeat)
        self.scale = np.broadcast_to(np.asarray(formula.scale, dtype=np.float64), heads)[h, None, None]
        scores = self.rise = (self.scale * self.query) @ self.key.mT
        if call.softcap is not None:
            bent = np.tanh(scores / call.softcap)
            self.rise, scores = scores * (1 - bent**2), call.softcap * bent
        self.hidden, bias = formula.hidden_and_bias(cuts, keys)
        self.scores = scores if bias is None else scores + bias
        self.count = np.full(scores.shape[:-1], keys)
        if self.hidden is not None:
            self.count -= np.broadcast_to(self.hidden, scores.shape).sum(axis=-1)
        if not (good := good_keys & good_values).all():
            good = np.broadcast_to(good[:, :, None], scores.shape)
            self.finite = self.finite & self.seen(good, instead=True).all(axis=-1)
        # The variance by its moments: scores that are seen, others as 0.
        seen, self.highest = self.seen(self.scores), self.seen(self.scores, _NEVER).max(axis=-1)
        variance = np.vecdot(seen, seen) - _summed(seen) ** 2 / np.maximum(self.count, 1)
        self.variance = np.maximum(variance / np.maximum(self.count - 1, 1), 0.0)
        self._attend()

    def _attend(self) -> None:
        """Take the softmax over keys and sinks, and its weighted means."""
        call, weigh, sink = self.formula.call, self.formula.weigh, np.array([[-math.inf]])
        if call.sink is not None and weigh is None:
            sink = np.asarray(call.sink).astype(np.float64).reshape(-1)[self.cuts[1], None]
        # The largest score is taken from all, so that no exponential overflows.
        self.top = np.maximum(self.highest, sink)
        self.logits = np.minimum(self.scores - self.top[..., None], _FAR_ABOVE)
        weights, beside = self.seen(np.exp(self.logits)), np.exp(sink - self.top)
        total = _summed(weights) + beside
        self.total = np.where(total > 0, total, 1.0)
        weights, beside = weights / self.total[..., None], beside / self.total
        self.entropy = (1 - beside) * np.log(self.total) - np.vecdot(weights, self.logits) + entr(beside)
        if weigh is not None:
            weights = weigh(self.scores, self.hidden)
        # Sums over keys are products of matrices: Σ p v, Σ p |v|² and Σ p |k|² are a single one.
        self.values_squared, keys_squared = np.vecdot(self.value, self.value), np.vecdot(self.key, self.key)
        columns = self.value, self.values_squared[..., None], keys_squared[..., None]
        sums = weights @ np.concatenate(columns, axis=-1)
        self.output, self.mean_square, self.key_square = sums[..., :-2], sums[..., -2], sums[..., -1]
        self.size, self.moved = np.vecdot(self.output, self.output), weights * self.rise
        if weigh is None:
            self.spread = np.sqrt(np.maximum(self.mean_square - (1 + beside) * self.size, 0.0))
            square = self.moved if self.rise is self.scores else weights * self.scores
            self.score = np.sqrt(np.maximum(np.vecdot(square, self.scores), 0.0))
        else:  # whatever weights are, each is off by at most so much of its size
            self.spread = (np.abs(weights) @ np.sqrt(self.values_squared)[..., None])[..., 0]
            self.mean_square, self.score = self.spread**2, np.abs(self.seen(self.scores)).max(axis=-1)
            self.key_square = keys_squared.max(axis=-1)[..., None]

    def seen(self, array: Any, instead: float = 0.0) -> Any:
        """Return an array over keys with a number for those that are hidden."""
        return array if self.hidden is None else np.where(self.hidden, instead, array)

    def bound(self) -> Floats:
        """Return what rounding may do to rows of the output.

        Rounding of scores moves the output by Σ p ε s (v − O) to first order, at most ε·√(Σ p s²) times the
        spread of values; then of weights and values, and of the output.
        """
        room, unit = 3 * self.score * self.spread, self.unit
        if self.formula.weigh is None and (steep := 3 * unit * np.abs(self.highest) > _STEEP).any():
            # Weights do not follow the rounding of large scores linearly: where ε bounds the error of a
            # score, a weight p is off by at most min(1, p·exp(2ε)) − p·exp(0).
            error = 6 * unit * np.abs(self.scores)
            log_weights = self.logits - np.log(self.total)[..., None]
            off = np.exp(np.minimum(log_weights + error, 0.0)) * -np.expm1(-error)
            # |v − O|² by its square, so that no array of [query, key, component] is made.
            apart = self.values_squared[..., None, :] - 2 * self.output @ self.value.mT
            apart += self.size[..., None]
            steep_room = np.vecdot(self.seen(off), np.sqrt(np.maximum(apart, 0.0))) / unit
            room = np.where(steep, np.maximum(room, steep_room), room)
        bound: Floats = unit * (room + 2 * np.sqrt(self.mean_square) + np.sqrt(self.size))
        # Sums of products are in single precision at least; near 0 errors are absolute.
        products = np.abs(self.scale[..., 0]) * np.sqrt(np.vecdot(self.query, self.query) * self.key_square)
        products = math.sqrt(self.query.shape[-1]) * products * self.spread
        bound += min(unit, _SINGLE) * (products + np.sqrt(self.key.shape[2] * self.mean_square))
        grain = max(GRAINS.get(name, 0.0) for name in declared_dtypes(self.formula.call))
        sums = math.sqrt(self.value.shape[-1]) + np.sqrt(self.values_squared.sum(axis=-1))
        bound += grain * sums[..., None]
        return bound

    def directions(self) -> list[Floats]:
        """Return the derivatives of the output by log c, Σ p s (v − O), by its size, and by hidden weight.

        Where scores differ by less than weights are rounded to, or values not at all, the output says nothing
        of the scale. Weight on hidden keys is estimated in half precision only: in single precision each row
        shows it.
        """
        # ∂O/∂log c: weights change by p (s − Σ p s), so Σ p s v loses its share of the mean score.
        slope = self.moved @ self.value - _summed(self.moved)[..., None] * self.output
        flat = np.vecdot(slope, slope) < (_FLAT * (1 + np.abs(self.top))) ** 2 * self.mean_square
        slope[flat | (self.variance < (2 * self.unit) ** 2)] = 0.0
        if self.hidden is None or self.unit <= _SINGLE or self.formula.weigh is not None:
            return [slope, self.output]
        theirs = np.where(self.hidden, np.exp(self.logits), 0.0) / self.total[..., None]
        share = _summed(theirs)
        turned = theirs @ self.value - share[..., None] * self.output
        flat = np.vecdot(turned, turned) < (_FLAT * share) ** 2 * self.mean_square
        turned[flat | (share > _SATURATED)] = 0.0
        return [slope, self.output, turned]

    def rows(self) -> Rows:
        """Return what the rows are like, beside those of the recorded output."""
        call, directions, factor = self.formula.call, self.directions(), self.formula.factor
        recorded, written = np.zeros_like(self.output), np.zeros(self.count.shape, dtype=bool)
        # Rows without an output count as not compared, whatever their scores are.
        has_output = call.value is not None and call.output is not None
        if has_output:
            recorded, written = _finite(np.asarray(call.output)[self.cuts])
        error = recorded - factor * self.output
        along, length = np.zeros((2, *self.count.shape, 3))
        for number, direction in enumerate(directions):
            along[..., number] = factor * np.vecdot(direction, error)
            length[..., number] = factor**2 * np.vecdot(direction, direction)
        off, bound = np.sqrt(np.vecdot(error, error)), self.bound() * abs(factor)
        known = (self.count > 0) & self.finite & has_output
        is_compared = known & written
        ratio = np.where(is_compared & (off > 0), off / bound, np.where(known & ~written, math.inf, 0.0))
        return Rows(
            keys=self.count,
            is_compared=is_compared,
            is_off=ratio > 1,
            is_good=is_compared & (ratio <= 1),
            ratio=ratio,
            bound=bound,
            written=written,
            size=np.sqrt(np.vecdot(recorded, recorded)),
            highest=np.where(self.count > 0, self.highest, 0.0),
            variance=self.variance,
            entropy=np.maximum(self.entropy, 0.0),
            largest=np.exp(self.highest - self.top) / self.total,
            along=along,
            length=length,
            cross=factor**2 * np.vecdot(directions[SCALE], self.output),
            drift=_DRIFT * self.unit**2 * self.score * np.maximum(np.abs(self.top), self.score) * self.spread,
        )


def _summed(array: Floats) -> Floats:
    """Return sums over the last axis, which a product of matrices takes half the time for."""
    ones = np.ones(array.shape[-1])
    sums: Floats = (array.reshape(-1, array.shape[-1]) @ ones).reshape(array.shape[:-1])
    return sums


class HeadSums:
    """Sums over the rows of each head, call by call.

    ``rows`` were seen, ``compared`` of them, ``bad`` are off. The ``worst`` row over its bound has a
    ``place``, [head, (sequence, row)]. ``sums`` are the moments of rows that are not off. ``shared`` are
    what rounding may make of Σd·e of the scale at its worst, the same on average, and the product of the
    scale's and the factor's direction.
    """

    def __init__(self, heads: int) -> None:
        self.rows, self.compared, self.bad = np.zeros((3, heads), dtype=int)
        self.worst, self.place = np.zeros(heads), np.zeros((heads, 2), dtype=int)
        self.sums, self.alike = np.zeros((5, heads, 3)), np.ones(heads)
        self.shared = np.zeros((3, heads))

    @_ANY_SIZE
    def add(self, rows: Rows, places: Any, unit: float | None = None) -> None:
        """Add a call whose sequences have the numbers ``places`` among the layer's.

        With a ``unit`` of rounding, rows that are alike up to some roundings are counted: they share errors.
        """
        off, good = rows.is_off, rows.is_good
        sequences, heads, count = off.shape
        self.rows += sequences * count
        self.compared += rows.is_compared.sum(axis=(0, 2))
        self.bad += off.sum(axis=(0, 2))
        ratio = rows.ratio.swapaxes(0, 1).reshape(heads, -1)
        at, most = ratio.argmax(axis=1), ratio.max(axis=1)
        place = np.stack([places[at // count], at % count], axis=1)
        self.place = np.where((most > self.worst)[:, None], place, self.place)
        self.worst = np.maximum(most, self.worst)
        # What is shared is summed over good rows alone: a single wild row would decide for all.
        self.sums += _moments(rows, good)
        size = np.sqrt(rows.length[..., SCALE])
        of_rows = np.stack([size * rows.bound, size * rows.drift, rows.cross])
        self.shared += of_rows.sum(axis=(1, 3), where=good)
        if unit is None:
            return
        # How many rows agree in these numbers up to some roundings.
        numbers = np.stack([rows.size, rows.highest, rows.largest]).swapaxes(1, 2)
        steps = _ROUNDINGS * unit * np.maximum(np.abs(numbers).max(axis=(2, 3), keepdims=True), 1e-300)
        cells = np.round(numbers / steps).astype(np.int64).reshape(*numbers.shape[:2], -1)
        counts = [np.unique(cells[:, head], axis=1, return_counts=True)[1] for head in range(heads)]
        # To the next power of 2, on the safe side.
        self.alike = np.maximum(self.alike, 2.0 ** np.ceil(np.log2([most.max() for most in counts])))

    @property
    def scale(self) -> tuple[Floats, Floats, Floats]:
        """By how much ĉ is off, relative, half of its interval, and its standard error.

        The half-width is what rounding at its worst may do, where that is less than four standard errors.
        """
        (value, error), length = self._pooled(SCALE), self.sums[1, :, SCALE]
        with np.errstate(all="ignore"):
            worst, drift = np.where(length > 0, self.shared[:2] / length, [[math.inf], [0.0]])
        return value, np.minimum(4 * error + drift, worst), error

    @_ANY_SIZE
    def beside(self, direction: int) -> Floats:
        """Return the multiple of the scale's or the factor's direction in a fit of both."""
        other, cross = FACTOR if direction == SCALE else SCALE, self.shared[2]
        along, length = self.sums[:2]
        size = np.where(length[:, other] > 0, length[:, other], 1.0)
        # What the other direction explains is taken from each side.
        left = length[:, direction] - cross**2 / size
        own = along[:, direction] - along[:, other] * cross / size
        alone, _ = self._pooled(direction)
        return np.where(left > 1e-9 * length[:, direction], own / left, alone)

    @_ANY_SIZE
    def factor(self, unit: float) -> Floats:
        """Return the relative factor that outputs are off by, 0 where rounding or another scale may do that.

        Rounding always to one side moves weights and outputs by two roundings at most.
        """
        value, error = self._pooled(FACTOR)
        least = 2 * unit + SURE * error
        return np.where((np.abs(value) > least) & (np.abs(self.beside(FACTOR)) > least), value, 0.0)

    @property
    def hidden_weight(self) -> Floats:
        """The weight that hidden keys have, over that of visible keys; 0 where it may be rounding."""
        value, error = self._pooled(HIDDEN)
        return np.where(value > np.maximum(SURE * error, _SINGLE), value, 0.0)

    def is_off(self, unit: float) -> Any:
        """Return which heads have rows that are off, or are off by what all rows share."""
        return (self.bad > 0) | (self.factor(unit) != 0) | (self.hidden_weight > 0)

    def _pooled(self, direction: int) -> tuple[Floats, Floats]:
        return pooled(self.sums[:, :, direction], self.alike)
