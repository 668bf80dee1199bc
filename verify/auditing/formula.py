"""The formula of attention in double precision, row by row, and how far an output is from it.

    O = softmax(c·QKᵀ + B) V

`compare` evaluates it for every row of a call and returns `Rows`: the distance of each row of the recorded
output from the formula, what rounding may do to that row, and three directions in which a row may be off
together with all others: another scale, another factor of the output, weight on hidden keys. `pool` gives the
multiple of a direction that fits best with its standard error, and `HeadSums` adds up all calls of a layer.

    rows = compare(Formula.of(in_memory(call), scale=0.125))
    rows.is_off                        which rows are off by more than rounding, [sequence, head, row]
    pool(rows, SCALE, rows.is_good)    by head: (ĉ − c)/c and its standard error

`dataclasses.replace` makes another formula of the same call: other arrays, mask, scale, soft-cap or sink, or
where that is not enough another softmax (``weigh``).
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


@dataclass(frozen=True)
class Formula:
    """What a call computes, and its output; arrays are NumPy's, [sequence, head, token, d].

    ``scale`` and ``factor``, which multiplies the output, are a number, or a number for each head. Keys are
    ``hidden`` from queries, and ``bias`` is added to scaled scores, both broadcast to [sequence, head, query,
    key], None where there is nothing. ``weigh`` takes scores with bias, [sequence, head, row, key], and which
    keys are hidden, and returns weights; where it ``needs_all`` it is given those of the whole call at once.
    ``unit`` is the relative error of one rounding in the coarsest type that the ``call`` declares.
    """

    call: Call
    query: Any
    key: Any
    value: Any
    output: Any
    scale: Any
    hidden: Any
    bias: Any
    softcap: float | None
    sink: Any
    unit: float
    factor: Any = 1.0
    weigh: Callable[[Floats, Any], Floats] | None = None
    needs_all: bool = False

    @classmethod
    def of(cls, call: Call, scale: Any = 1.0) -> Formula:
        """Return the formula that a call declares, whose arrays are NumPy's, at a scale."""
        queries, keys = call.query.shape[2], call.key.shape[2]
        hiding, bias = list[Any](), None
        if call.bias is not None:
            # A number that no score outweighs hides a key, whether it is called mask or bias.
            bias = np.array(call.bias, np.promote_types(call.bias.dtype, np.float32), ndmin=4, copy=None)
            hiding.append(bias <= _HIDING)
            bias = np.where(hiding[0], 0, bias)
        if call.mask is not None:
            hiding.append(~np.array(call.mask, ndmin=4, copy=None))
        if call.causal:
            hiding.append(~np.tri(queries, keys, dtype=bool)[None, None])
        hidden: Any = reduce(operator.or_, hiding) if hiding else None
        return cls(
            *(call, call.query, call.key, call.value, call.output, scale),
            hidden=hidden if hiding and hidden.any() else None,
            bias=bias if bias is not None and bias.any() else None,
            softcap=call.softcap,
            sink=call.sink,
            unit=unit_of(call),
        )

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """The shape of the scores, [sequence, head, query, key]."""
        return (*self.query.shape[:3], self.key.shape[2])


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
    count, heads, queries, keys = formula.shape
    if formula.needs_all:
        whole: Any = _Piece(formula, slice(0, count), slice(0, heads), slice(0, queries)).rows()
        return Rows(*(array[sequences, :, rows] for array in whole))
    (first, end, _), (start, stop, _) = sequences.indices(count), rows.indices(queries)
    # A piece has all heads where a sequence is small, else a single head.
    together = heads if heads * (stop - start) * keys <= _PIECE else 1
    strip = min(stop - start, max(1, _PIECE // (together * keys)))
    many = max(1, _PIECE // (together * keys * strip))
    made: dict[str, Any] = {}
    for s, h, r in product(range(first, end, many), range(0, heads, together), range(start, stop, strip)):
        cuts = slice(s, min(s + many, end)), slice(h, h + together), slice(r, min(r + strip, stop))
        place = slice(s - first, cuts[0].stop - first), cuts[1], slice(r - start, cuts[2].stop - start)
        for name, array in _Piece(formula, *cuts).rows()._asdict().items():
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


def _cut(array: Any, *cuts: slice) -> Any:
    """Return a part of an array that is broadcast: axes of length 1 are shared by all."""
    if array is None:
        return None
    pairs = zip(cuts, array.shape, strict=False)
    return array[tuple(cut if size > 1 else slice(None) for cut, size in pairs)]


class _Piece:
    """Attention on a piece of a call: scores S = c·QKᵀ + B, weights P = softmax(S), output O = P V.

    ``rise`` is the derivative of scores by log c. Weights of keys are exp(``logits``)/``total``, 0 where they
    are ``hidden``; ``top`` is the score whose logit is 0. ``score`` is √(Σ p s²), ``mean_square`` Σ p |v|²,
    ``key_square`` Σ p |k|², ``size`` |O|², ``spread`` √(Σ p |v − O|²).
    """

    def __init__(self, formula: Formula, s: slice, h: slice, r: slice) -> None:
        _, heads, _, keys = formula.shape
        self.formula, self.cuts, self.unit = formula, (s, h, r), formula.unit
        self.hidden = hidden = _cut(formula.hidden, s, h, r)
        # Keys that no row of the piece sees are left out, which halves the work of causal calls. In half
        # precision hidden keys are asked for their weight, but for those that come later.
        may_cut = formula.weigh is None and (self.unit <= _SINGLE or formula.call.causal)
        if hidden is not None and may_cut and hidden.shape[3] == keys:
            keys = int(np.flatnonzero(~hidden.all(axis=(0, 1, 2))).max(initial=0)) + 1
            self.hidden = hidden[..., :keys]
        group = heads // formula.key.shape[1]
        shared, repeat = slice(h.start // group, (h.stop - 1) // group + 1), min(group, h.stop - h.start)
        self.query, self.finite = _finite(formula.query[s, h, r])
        self.key, good = _finite(formula.key[s, shared, :keys], repeat)
        self.value = self.key
        if formula.value is not None:
            self.value, good_values = _finite(formula.value[s, shared, :keys], repeat)
            good = good & good_values
        self.scale = np.broadcast_to(np.asarray(formula.scale, dtype=np.float64), heads)[h, None, None]
        scores = self.rise = (self.scale * self.query) @ self.key.mT
        if formula.softcap is not None:
            bent = np.tanh(scores / formula.softcap)
            self.rise, scores = scores * (1 - bent**2), formula.softcap * bent
        bias = _cut(formula.bias, s, h, r, slice(keys))
        self.scores = scores if bias is None else scores + bias
        self.count = np.full(scores.shape[:-1], keys)
        if self.hidden is not None:
            self.count -= np.broadcast_to(self.hidden, scores.shape).sum(axis=-1)
        if not good.all():
            good = np.broadcast_to(good[:, :, None], scores.shape)
            self.finite = self.finite & self.seen(good, instead=True).all(axis=-1)
        # The variance by its moments: scores that are seen, others as 0.
        seen, self.highest = self.seen(self.scores), self.seen(self.scores, _NEVER).max(axis=-1)
        variance = np.vecdot(seen, seen) - _summed(seen) ** 2 / np.maximum(self.count, 1)
        self.variance = np.maximum(variance / np.maximum(self.count - 1, 1), 0.0)
        self._attend()

    def seen(self, array: Any, instead: float = 0.0) -> Any:
        """Return an array over keys with a number for those that are hidden."""
        return array if self.hidden is None else np.where(self.hidden, instead, array)

    def _attend(self) -> None:
        """Take the softmax over keys and sinks, and its weighted means."""
        weigh, sink = self.formula.weigh, np.array([[-math.inf]])
        if self.formula.sink is not None and weigh is None:
            sink = np.asarray(self.formula.sink).astype(np.float64).reshape(-1)[self.cuts[1], None]
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
        formula, directions = self.formula, self.directions()
        factor = np.broadcast_to(formula.factor, formula.shape[1])[self.cuts[1], None]
        recorded, written = np.zeros_like(self.output), np.zeros(self.count.shape, dtype=bool)
        # Rows without an output count as not compared, whatever their scores are.
        has_output = formula.value is not None and formula.output is not None
        if has_output:
            recorded, written = _finite(np.asarray(formula.output)[self.cuts])
        error = recorded - factor[..., None] * self.output
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


class Shared(NamedTuple):
    """What the rows of each head share.

    ``step`` is by how much ĉ is off, relative, ``half`` half of its interval, which is four standard errors,
    or what rounding at its worst may do where that is less, and ``error`` the standard error; ``beside`` is
    the step in a fit with a factor. ``factor`` is the relative factor that outputs are off by, ``hidden`` the
    weight of hidden keys over that of visible keys, both 0 where rounding may do that.
    """

    step: Floats
    half: Floats
    error: Floats
    beside: Floats
    factor: Floats
    hidden: Floats


class HeadSums:
    """Sums over the rows of each head, call by call.

    ``rows`` were seen, ``compared`` of them, ``bad`` are off. The ``worst`` row over its bound has a
    ``place``, [head, (sequence, row)]. ``unit`` is the largest unit of rounding.
    """

    def __init__(self, heads: int) -> None:
        self.rows, self.compared, self.bad = np.zeros((3, heads), dtype=int)
        self.worst, self.place, self.unit = np.zeros(heads), np.zeros((heads, 2), dtype=int), 0.0
        self._moments, self._limits = np.zeros((5, heads, 3)), np.zeros((3, heads))
        self._alike = np.ones(heads)

    @_ANY_SIZE
    def add(self, rows: Rows, places: Any, unit: float, *, find_alike: bool = False) -> None:
        """Add a call whose sequences have the numbers ``places`` among the layer's.

        Where asked, rows that are alike up to some roundings are counted: they share errors.
        """
        sequences, heads, count = rows.ratio.shape
        self.unit = max(self.unit, unit)
        self.rows += sequences * count
        self.compared += rows.is_compared.sum(axis=(0, 2))
        self.bad += rows.is_off.sum(axis=(0, 2))
        ratio = rows.ratio.swapaxes(0, 1).reshape(heads, -1)
        at, most = ratio.argmax(axis=1), ratio.max(axis=1)
        place = np.stack([places[at // count], at % count], axis=1)
        self.place = np.where((most > self.worst)[:, None], place, self.place)
        self.worst = np.maximum(most, self.worst)
        # Over good rows alone: a single wild row would decide for all.
        self._moments += _moments(rows, rows.is_good)
        size = np.sqrt(rows.length[..., SCALE])
        limits = np.stack([size * rows.bound, size * rows.drift, rows.cross])
        self._limits += limits.sum(axis=(1, 3), where=rows.is_good)
        if find_alike:
            # How many rows agree in these numbers up to some roundings, to the next power of 2.
            numbers = np.stack([rows.size, rows.highest, rows.largest]).swapaxes(1, 2)
            steps = _ROUNDINGS * unit * np.maximum(np.abs(numbers).max(axis=(2, 3), keepdims=True), 1e-300)
            cells = np.round(numbers / steps).astype(np.int64).reshape(*numbers.shape[:2], -1)
            most = [np.unique(cells[:, head], axis=1, return_counts=True)[1].max() for head in range(heads)]
            self._alike = np.maximum(self._alike, 2.0 ** np.ceil(np.log2(most)))

    @property
    @_ANY_SIZE
    def shared(self) -> Shared:
        """What the rows of each head share."""
        (step, error), (factor, of_factor), (hidden, of_hidden) = (
            pooled(self._moments[:, :, direction], self._alike) for direction in (SCALE, FACTOR, HIDDEN)
        )
        (along, other, _), (length, size, _) = np.moveaxis(self._moments[:2], 2, 1)
        worst, drift, cross = self._limits
        half = np.where(length > 0, np.minimum(4 * error + drift / length, worst / length), math.inf)
        # A fit of both at once: a wrong factor of the output looks like another scale, and the reverse.
        determinant = length * size - cross**2
        both = np.stack([along * size - other * cross, other * length - along * cross]) / determinant
        beside, factor_beside = np.where(determinant > 1e-9 * length * size, both, [step, factor])
        # Rounding always to one side moves weights and outputs by two roundings at most.
        least = 2 * self.unit + SURE * of_factor
        is_factor = (np.abs(factor) > least) & (np.abs(factor_beside) > least)
        is_weight = hidden > np.maximum(SURE * of_hidden, _SINGLE)
        factor, hidden = np.where(is_factor, factor, 0), np.where(is_weight, hidden, 0)
        return Shared(step, half, error, beside, factor, hidden)

    @property
    def is_off(self) -> Any:
        """Which heads have rows that are off, or are off by what all rows share."""
        return (self.bad > 0) | (self.shared.factor != 0) | (self.shared.hidden > 0)
