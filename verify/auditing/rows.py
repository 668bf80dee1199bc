"""Every row of attention calls of one shape: what its scores are like, and how far its output is off.

Rows are looked at in float64, in pieces over sequences, heads and queries that stay in the processor's cache.
A block is one head of one sequence; blocks are numbered sequence by sequence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from verify.auditing.arrays import grain_of, to_numpy, unit_of
from verify.auditing.blocks import HIDING
from verify.auditing.weighting import OF_SCORES, Weighting, weighting

T = TypeVar("T", bound="tuple[Any, ...]")

if TYPE_CHECKING:
    from verify.auditing.recording import Array, Call

Floats = NDArray[np.float64]
Places = NDArray[np.intp]
Mapper = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
"""A function like ``map``, which may use threads."""

FEWEST_KEYS = 8
"""Rows that see fewer keys say little of a distribution over keys, and are left out of statistics."""

SINGLE = 2.0**-24

LEAST_STEP = 2e-3
"""Relative differences from the declared scale below which no other one is looked for."""

SURE = 8.0
"""Standard errors of what is summed over rows from which on it is no rounding; honest programs reach 4."""

_FEWEST_ROWS, _FEWEST_OF_COLUMNS = 10, 32
"""Rows from which on a factor is looked for: of the whole output, and of each of its many columns."""
_FEWEST_DF = 5.0
_MOST_LEVELLED = 512  # powers of 2 by which columns of values are divided at most
_PIECE = 1 << 17
"""Numbers of an array of a piece, 1 MB of float64: with what is made of them they stay in the cache."""
_NEVER = -1e30
"""Stands for the score of a hidden key: its exponential is 0, and a product with that is 0 and no NaN."""
_FAR_ABOVE = 30.0  # hidden keys count as at most so far above those that are seen
_SATURATED = 100.0
"""Rows whose hidden keys would have this many times the weight of the others do not follow it linearly."""
_LINEAR = 0.25  # possible error of a row's largest score from which on weights do not follow it linearly
_MEAN_SQUARE = 0.18
"""Mean square of a relative rounding error over its bound, for mantissas uniform in the logarithm."""
_ALIKE = 4.0  # roundings up to which two rows are alike, and share their errors


class RowMeans(NamedTuple):
    """What the rows of blocks look like: arrays of shape (blocks,), means over the rows that were used.

    ``patterns`` are pairs of the different numbers of keys that rows see and how many rows see each. ``few``
    counts rows that see fewer than `FEWEST_KEYS`, ``padding`` rows whose own key the mask hides from all,
    ``blind`` all rows that see no key, and ``astray`` those of them that are no padding. Where ``finite`` is
    False, some score is NaN or infinite. ``largest_score`` is over all rows; means without a row are NaN.

    ``variance`` is the unbiased one of c·q·k_j over the keys j that a query sees, ``between`` the variance
    of the rows' own means, ``scale`` is c. The others are of the softmax, with bias, soft-cap and sink:
    ``entropy`` is over the logarithm of the number of keys, a sink being one; ``squares`` is Σp²,
    ``jacobian`` ‖J‖²_F, ``largest_weight`` max p.
    """

    scale: Floats
    patterns: NDArray[np.object_]
    used: Places
    few: Places
    blind: Places
    astray: Places
    padding: Places
    finite: NDArray[np.bool_]
    largest_score: Floats
    variance: Floats
    between: Floats
    entropy: Floats
    squares: Floats
    jacobian: Floats
    largest_weight: Floats


class BlockVectors(NamedTuple):
    """Numbers of the vectors of blocks, ``queries`` and ``keys``; padding and keys that none sees are none.

    ``query`` and ``key`` are their means, shape (blocks, d), and ``of_query`` and ``of_key`` their unbiased
    covariances, shape (blocks, d, d), or of fewer than d vectors a smaller A, shape (blocks, vectors, d), of
    which AᵀA is that.
    """

    queries: Floats
    keys: Floats
    query: Floats
    key: Floats
    of_query: Floats
    of_key: Floats


class Residuals(NamedTuple):
    """How outputs differ from the attention at a scale: arrays of shape (blocks,), sums over rows.

    ``rows`` were compared, of which ``bad`` are off by more than rounding may leave (`_allowed`);
    ``worst`` is the largest error over that, and ``place`` its row. ``broken`` rows have NaN or infinities.
    ``error`` and ``output`` are sums of squares, ``attention`` that of the attention o computed here.

    The rest is of the rows that are not bad, e being a row's error. Arrays of shape (blocks, 3) are along
    three directions d: the slope of the output by the scale, o itself, and the slope by the weight of hidden
    keys, or of a difference by the multiple of its second map: ``along`` is Σ d·e, ``length`` Σ|d|²,
    ``fourth`` Σ|d|⁴, ``noise`` Σ(d·e)², ``mixed`` Σ(d·e)|d|², and
    ``least`` the variance of Σ d·e that rounding the output alone adds. Of the first one, ``room`` bounds
    |Σ d·e| where there is only rounding, ``bias`` the part of it that noise of scores leaves on average, and
    ``joint`` is Σ d·o. Of the columns of the output, ``column`` is the largest root of Σe² over that of what
    rounding may leave in it, and ``number`` which one it is. ``of_columns``, shape (blocks, 6, d_v), are sums
    over rows of o·e, o², o⁴, (o·e)², o·e·o² and o times the slope by the scale; of single precision, whose
    columns need none, of width 0. ``alike`` is the largest number of rows that share their errors, ``spread``
    the mean variance of scores inside rows that see several keys, NaN without one.
    """

    rows: Places
    bad: Places
    broken: Places
    worst: Floats
    place: Places
    error: Floats
    output: Floats
    attention: Floats
    along: Floats
    length: Floats
    fourth: Floats
    noise: Floats
    mixed: Floats
    room: Floats
    bias: Floats
    least: Floats
    joint: Floats
    column: Floats
    number: Places
    of_columns: Floats
    alike: Any
    spread: Floats

    @property
    def slope(self) -> Floats:
        """Σ|d|² of the slope by the scale: 0 where the output does not depend on it."""
        return self.length[..., 0]

    @property
    def step(self) -> Floats:
        """How far the scale that fits best is from the one that was tried, 0 where nothing tells."""
        return self._pooled()[0][..., 0]

    @property
    def variance(self) -> Floats:
        """The variance of `step`, infinite where nothing tells."""
        noise = self.alike * self._pooled()[1][..., 0]
        found: Floats = np.full_like(noise, math.inf)
        np.divide(noise, self.slope**2, out=found, where=self.slope**2 > 0)
        return found

    @property
    def freedom(self) -> Floats:
        """The degrees of freedom of `variance`: rows of equal weight, less one."""
        found: Floats = self._many()[..., 0] - 1
        return found

    def off_by_factor(self, unit: float) -> Floats:
        """Return the relative factor that outputs are off by, 0 where rounding or another scale may do that.

        Rounding always to one side moves weights and outputs by two roundings at most.
        """
        factor, error = self._with_error(1)
        # Beside the scale that fits best, of least squares in both.
        slope = np.where(self.slope > 0, self.slope, 1.0)
        left = self.length[..., 1] - self.joint**2 / slope
        own = self.along[..., 1] - self.along[..., 0] * self.joint / slope
        beside = np.divide(own, left, out=factor.copy(), where=left > 0)
        least = 2 * unit + SURE * error
        return np.where((np.abs(factor) > least) & (np.abs(beside) > least), factor, 0.0)

    def off_columns(self, unit: float, scale: Floats) -> Floats:
        """Return the relative factors that columns of the output are off by, shape (blocks, d_v).

        They are 0 where rounding, or a scale that is off by less than is looked for, may do that.
        """
        along, length, fourth, noise, mixed, joint = np.moveaxis(self.of_columns, 1, 0)
        size = np.where(length > 0, length, 1.0)
        alike = np.maximum(self.alike, 1)[..., None]
        many = np.where(fourth > 0, length**2 / np.where(fourth > 0, fourth, 1.0), 1.0) / alike
        factor = along / size
        left = np.maximum(noise - 2 * factor * mixed + factor**2 * fourth, 0.0) * alike
        error = np.sqrt(left * many / np.maximum(many - 1, 0.5)) / size
        by_scale = np.abs(joint) / size * (np.abs(self.step) + LEAST_STEP * np.abs(scale))[..., None]
        is_off = np.abs(factor) > 2 * unit + SURE * error + by_scale
        return np.where(is_off & (many >= _FEWEST_OF_COLUMNS), factor, 0.0)

    @property
    def hidden_weight(self) -> Floats:
        """The weight that hidden keys keep, over that of unhidden ones; 0 where it may be rounding.

        What lies below a rounding in single precision, a bias that millions of rows share may be.
        """
        weight, error = self._with_error(2)
        return np.where(weight > np.maximum(SURE * error, SINGLE), weight, 0.0)

    def off_multiple(self, unit: float, declared: float) -> Floats:
        """Return how far off the declared one a second map's multiple is, 0 where it may be rounding."""
        found, error = self._with_error(2)
        return np.where(np.abs(found) > 2 * unit * abs(declared) + SURE * error, found, 0.0)

    def _many(self) -> Floats:
        """Return how many rows of equal weight and errors of their own tell of each direction."""
        many = np.ones_like(self.length)
        np.divide(self.length**2, self.fourth, out=many, where=self.fourth > 0)
        many /= np.maximum(self.alike, 1)[..., None]
        return many

    def _pooled(self) -> tuple[Floats, Floats]:
        """Return the multiple of each direction that errors have, and the sum of their squares beside it.

        Rows are independent but where they are alike: the sandwich over rows, for as many as have weight; at
        least what rounding of the output adds.
        """
        found = np.divide(self.along, self.length, out=np.zeros_like(self.along), where=self.length > 0)
        left = np.maximum(self.noise - 2 * found * self.mixed + found**2 * self.fourth, 0.0)
        many = self._many()
        return found, np.maximum(left * (many / np.maximum(many - 1, 0.5)) ** 2, self.least)

    def _with_error(self, direction: int) -> tuple[Floats, Floats]:
        """Return the multiple of a direction and its standard error, infinite for few rows."""
        found, noise = (one[..., direction] for one in self._pooled())
        size = np.where(self.length[..., direction] > 0, self.length[..., direction], 1.0)
        enough = self._many()[..., direction] >= _FEWEST_ROWS
        return found, np.where(enough, np.sqrt(self.alike * noise) / size, math.inf)


class Scales:
    """The implied scale over the intended one, of one or more blocks: value, half of its interval, error.

    The half-width is what rounding at its worst may move the scale by, or where that is less, Student's of
    the rows' own errors, which are independent but for rows that are alike.
    """

    def __init__(self, found: Residuals, scale: Floats, intended: Floats, alpha: float) -> None:
        size = np.abs(intended)
        with np.errstate(all="ignore"):
            self.value = (scale + found.step) / intended
            self.error = np.sqrt(found.variance) / size
            self.half = np.minimum(
                found.room / found.slope / size,
                _student(self.error, found.freedom, alpha) + found.bias / found.slope / size,
            )
        self.half = np.where(np.isfinite(self.value) & ~np.isnan(self.half), self.half, math.inf)


def _student(error: Floats, freedom: Floats, alpha: float) -> Floats:
    """Return the half-width of Student's interval, infinite with few degrees of freedom.

    Source: R. M. Bell and D. F. McCaffrey, Bias reduction in standard errors for linear regression with
    multi-stage samples, Survey Methodology 28 (2002), 169-181.
    """
    known = (freedom >= _FEWEST_DF) & np.isfinite(error)
    quantile = -special.stdtrit(np.where(known, freedom, 1.0), alpha / 2)
    return np.where(known, quantile * np.where(known, error, 1.0), math.inf)


Looked = tuple[RowMeans, Residuals | None]


def look(
    call: Call,
    blocks: Places,
    scale: Floats,
    unit: float,
    mapper: Mapper = map,
    into: BlockVectors | None = None,
) -> Looked:
    """Return what some blocks of a call are like, each at its own scale; ``unit`` is one rounding.

    The call's arrays are NumPy's. Without values or output nothing is compared. What their vectors are like
    is put ``into`` what `room_for` returned.
    """

    def chunk(some: slice) -> tuple[RowMeans, Residuals | None]:
        own = None if into is None else each(into, lambda array: array[some])
        return _chunk(call, blocks[some], scale[some], unit, own)

    found = list(mapper(chunk, _pieces(call, len(blocks))))
    means = RowMeans(*map(np.concatenate, zip(*(one for one, _ in found), strict=True)))
    compared = [one for _, one in found if one is not None]
    return means, Residuals(*map(np.concatenate, zip(*compared, strict=True))) if compared else None


def _pieces(call: Call, blocks: int) -> Iterator[slice]:
    """Yield the places of blocks that are looked at together."""
    _, _, queries, d = map(int, call.query.shape)
    step = max(1, _PIECE // (queries * max(int(call.key.shape[2]), d)))
    return (slice(start, min(start + step, blocks)) for start in range(0, blocks, step))


def room_for(call: Call) -> BlockVectors:
    """Return room for what the vectors of all blocks of a call are like."""
    (sequences, heads, queries, d), keys = map(int, call.query.shape), int(call.key.shape[2])
    blocks = sequences * heads
    return BlockVectors(
        *(np.empty(blocks) for _ in "qk"),
        *(np.empty((blocks, d)) for _ in "qk"),
        *(np.empty((blocks, min(count, d), d)) for count in (queries, keys)),
    )


def each(found: T, change: Callable[[Any], Any]) -> T:
    """Return what was found with every array changed."""
    made: T = type(found)(*map(change, found))
    return made


def replaced(found: Looked, places: Places, other: Looked) -> None:
    """Let some blocks, by their places, be as the others."""
    for one, another in zip(found, other, strict=True):
        for array, values in zip(one or (), another or (), strict=True):
            array[places] = values


class _Given(NamedTuple):
    """The arrays of a few blocks in float64, what is not finite replaced by 0, and where that is.

    ``squares`` are |q|², |k|², |v|² and |o|². Numbers of a type do not get finer without end: ``grain``
    bounds what that moves a row of the output by, by the numbers of the output and by the weights.
    """

    query: Floats
    key: Floats
    value: Floats | None
    output: Floats | None
    squares: list[Any]
    scale: Floats
    sink: Floats | None
    grain: Floats
    is_half: bool
    broken_queries: NDArray[np.bool_] | None
    broken_keys: NDArray[np.bool_] | None
    broken_values: NDArray[np.bool_] | None
    broken_outputs: NDArray[np.bool_] | None


def _sides(call: Call, blocks: Places) -> list[tuple[Array, Places]]:
    """Return queries, keys, values and output with the places of some blocks among all heads of sequences."""
    sequence, head = np.divmod(blocks, call.query.shape[1])
    shared = head // (call.query.shape[1] // call.key.shape[1])
    sides = ((call.query, head), (call.key, shared), (call.value, shared), (call.output, head))
    return [(array, sequence * (0 if array is None else array.shape[1]) + own) for array, own in sides]


def _taken(array: Array, places: Places) -> tuple[Floats, Floats, Any]:
    """Return the vectors of blocks, their squared lengths, and which are not finite, None where all are."""
    whole, first = np.asarray(array), int(places[0])
    whole = whole.reshape(-1, *whole.shape[2:])
    # Neighbours need no copy before they are converted.
    are_neighbours = np.array_equal(places, np.arange(first, first + len(places)))
    part = whole[first : first + len(places)] if are_neighbours else whole[places]
    taken = part.astype(np.float64)
    squares = np.vecdot(taken, taken)
    # One number that is not finite makes the sum so.
    if math.isfinite(float(squares.sum())) or (finite := np.isfinite(taken)).all():
        return taken, squares, None
    taken = np.where(finite, taken, 0.0)
    return taken, np.vecdot(taken, taken), ~finite.all(axis=-1)


def _given(call: Call, blocks: Places, scale: Floats) -> _Given:
    is_compared = call.value is not None and call.output is not None
    sides = _sides(call, blocks)[: 4 if is_compared else 2]
    arrays, squares, broken = (
        [*some, None, None][:4] for some in zip(*(_taken(*one) for one in sides), strict=True)
    )
    grain = np.zeros(len(blocks))
    if is_compared:
        levelled = _level(*arrays[2:])
        if levelled is not None:
            squares[2:] = (np.vecdot(one, one) for one in arrays[2:])
        else:
            levelled = np.full(len(blocks), math.sqrt(arrays[2].shape[-1]))
        grain = grain_of(call) * (levelled + np.sqrt(squares[2].sum(axis=1)))
    head = blocks % call.query.shape[1]
    sink = None if call.sink is None else to_numpy(call.sink).reshape(-1)[head][:, None]
    query, key, value, output = arrays
    is_half = unit_of(call) > SINGLE
    return _Given(query, key, value, output, squares, scale[:, None], sink, grain, is_half, *broken[:4])


def _level(value: Floats, output: Floats) -> Floats | None:
    """Divide columns that differ in size by powers of 2: a large one would hide what is wrong in others.

    Each column of the output is a mean of that of the values, and is rounded for itself. Returned is the
    length of what a row of ones has become, shape (blocks,); None where columns are of one size.
    """
    sizes = np.frexp(np.maximum(value.max(axis=1), -value.min(axis=1)))
    powers = np.where(sizes[0] > 0, sizes[1], np.iinfo(np.int32).max)
    least = powers.min(axis=1, keepdims=True)
    powers = np.minimum(np.where(sizes[0] > 0, sizes[1], least) - least, _MOST_LEVELLED)
    if not (powers > 1).any():
        return None
    factor = np.ldexp(1.0, -powers)
    value *= factor[:, None]
    output *= factor[:, None]
    found: Floats = np.sqrt((factor**2).sum(axis=1))
    return found


def _chunk(
    call: Call, blocks: Places, scale: Floats, unit: float, into: BlockVectors | None
) -> tuple[RowMeans, Residuals | None]:
    """Return what a few blocks are like, strip by strip of their rows."""
    with np.errstate(all="ignore"):
        given = _given(call, blocks, scale)
        padding, seen = unseen(call, blocks)
        if into is not None:
            _spread(given.query, None if padding is None else ~padding, list(into[0::2]))
            _spread(given.key, seen, list(into[1::2]))
        queries, keys = given.query.shape[1], given.key.shape[1]
        size = max(16, _PIECE // keys)
        strips = [
            _strip(call, given, blocks, slice(start, min(start + size, queries)), unit)
            for start in range(0, queries, size)
        ]
        rows = {name: np.concatenate([one[name] for one in strips], axis=1) for name in strips[0]}
        means = _means(call, given, blocks, rows, padding)
        return means, None if given.output is None else _sums(given, rows, unit)


def hidden_from(
    call: Call, blocks: Places, rows: slice, keys: int
) -> tuple[NDArray[np.bool_] | None, Floats | None]:
    """Return which keys are hidden from rows of some blocks, and what is added to their scores.

    Both are broadcast to [block, row, key], and None where there are none.
    """
    hidden, bias = None, None
    if call.bias is not None:
        bias = to_numpy(_part(call, call.bias, blocks, rows, keys))
        low = bias <= HIDING
        hidden = low if low.any() else None
        bias = np.where(low, 0.0, bias) if hidden is not None else bias
        bias = bias if bias.any() else None
    if call.mask is not None:
        masked = ~_part(call, call.mask, blocks, rows, keys).astype(bool)
        hidden = masked if hidden is None else hidden | masked
    if call.causal and keys > rows.start + 1:
        ahead = np.arange(keys) > np.arange(rows.start, rows.stop)[:, None]
        hidden = ahead[None] if hidden is None else hidden | ahead
    return hidden, bias


def _part(call: Call, array: Array, blocks: Places, rows: slice, keys: int) -> Any:
    """Return the part of a mask or bias, broadcast to [sequence, head, query, key], that blocks need."""
    four = np.asarray(array)
    four = four.reshape((1,) * (4 - four.ndim) + four.shape)
    sequence, head = np.divmod(blocks, call.query.shape[1])
    if four.shape[0] == 1 and four.shape[1] == 1:
        part = four[0]
    else:
        part = four[sequence if four.shape[0] > 1 else 0, head if four.shape[1] > 1 else 0]
    part = part[:, rows] if part.shape[1] > 1 else part
    return part[..., :keys] if part.shape[2] > 1 else part


def unseen(call: Call, blocks: Places) -> tuple[NDArray[np.bool_] | None, NDArray[np.bool_] | None]:
    """Return which rows are padding, and which keys some query sees, each [block or 1, …] or None for all.

    A row is padding where queries and keys are of the same tokens and its own key is hidden from all.
    """
    seen = None
    queries, keys = int(call.query.shape[2]), int(call.key.shape[2])
    for array, is_bias in ((call.mask, False), (call.bias, True)):
        if array is not None:
            part = _part(call, array, blocks, slice(0, queries), keys)
            shown = np.any(part > HIDING if is_bias else part, axis=1)
            seen = shown if seen is None else seen & shown
    if seen is not None:
        seen = None if seen.all() else np.broadcast_to(seen, (len(seen), keys))
    padding = None if seen is None or queries != keys else ~seen
    if call.causal and queries < keys:
        within = np.arange(keys)[None] < queries
        seen = within if seen is None else seen & within
    return padding, seen


class _Scored(NamedTuple):
    """Scores of a strip, [block, row, key], less ``top``, and what their softmax is made of.

    ``raised`` are their exponentials, 0 for hidden keys, and ``everything`` those of all keys; ``moved`` is
    raised·scores, and ``inner`` its sum. ``extra`` is the exponential of a sink, ``total`` the sum of all.
    ``rise`` is what scores rise by with the scale where that is not as scores themselves do.
    """

    hidden: Any
    products: Floats
    scores: Floats
    rise: Any
    top: Floats
    highest: Floats
    raised: Floats
    everything: Floats
    moved: Floats
    inner: Floats
    extra: Floats
    total: Floats


def _strip(call: Call, given: _Given, blocks: Places, rows: slice, unit: float) -> dict[str, Any]:
    """Return numbers of each row of a strip, shape [block, row]."""
    keys = min(rows.stop, given.key.shape[1]) if call.causal else given.key.shape[1]
    hidden, bias = hidden_from(call, blocks, rows, keys)
    products = given.query[:, rows] @ given.key[:, :keys].mT
    scores = given.scale[:, :, None] * products
    shape = scores.shape[:2]
    count = np.full(shape, keys)
    if hidden is not None:
        # Of what is broadcast, one number stands for all keys.
        count = np.broadcast_to(keys - hidden.sum(axis=2) * (keys // hidden.shape[2]), shape)
    some = _scored(call, given, products, scores, hidden, bias)
    mean, variance = _moments(given, some, scores, count)
    sink = 0.0 if given.sink is None else some.extra * (given.sink - some.top)
    number = count + (given.sink is not None)
    squared = some.raised * some.raised
    found = {
        "count": count,
        "mean": mean,
        "variance": variance,
        "highest": np.where(count > 0, some.highest, -math.inf),
        "entropy": (np.log(some.total) - (some.inner + sink) / some.total) / np.log(np.maximum(number, 2)),
        "squares": (_over_last(squared) + some.extra**2) / some.total**2,
        "cubes": (np.vecdot(squared, some.raised) + some.extra**3) / some.total**3,
        "largest": np.exp(some.highest - some.top) / some.total,
        "broken": _broken(rows, hidden, keys, shape, (given.broken_queries, given.broken_keys)),
    }
    declared = weighting(call.weights)
    if not declared.is_softmax:
        found |= dict.fromkeys(("entropy", "squares", "cubes", "largest"), np.full(shape, math.nan))
    if given.output is None:
        return found
    if declared.is_softmax:
        formula = _softmax(given, some, rows, unit)
    elif declared.maps == 2:
        formula = _difference(call, given, declared, rows, keys, (hidden, bias), unit)
    else:
        arrays = given.query[:, rows], given.key[:, :keys], given.value[:, :keys]  # type: ignore[index]
        formula = of_scores(declared, *arrays, given.scale, hidden, bias, unit)
        formula = formula._replace(allowed=formula.allowed + given.grain[:, None])
    return found | _comparison(given, formula, rows, keys, found, unit)


def _scored(call: Call, given: _Given, products: Floats, scores: Floats, hidden: Any, bias: Any) -> _Scored:
    rise = None
    if call.softcap is not None:
        bent = np.tanh(scores / call.softcap)
        scores = call.softcap * bent
        rise = products * (1 - bent**2)
    elif (declared := weighting(call.weights)).kind == "clipped":
        most = declared.number
        rise = np.where(np.abs(scores) < most, products, 0.0)
        scores = np.clip(scores, -most, most)
    if bias is not None:
        scores = scores + bias
        rise = products if rise is None else rise
    highest = (scores if hidden is None else np.where(hidden, _NEVER, scores)).max(axis=-1)
    top = highest if given.sink is None else np.maximum(highest, given.sink)
    scores -= top[:, :, None]
    if hidden is not None:
        np.minimum(scores, _FAR_ABOVE, out=scores)
    raised = everything = np.exp(scores)
    if hidden is not None:
        raised = np.where(hidden, 0.0, raised)
    moved = raised * scores
    extra = np.zeros(top.shape) if given.sink is None else np.exp(given.sink - top)
    total = _over_last(raised) + extra
    total = np.where(total > 0, total, 1.0)
    inner = _over_last(moved)
    return _Scored(
        hidden, products, scores, rise, top, highest, raised, everything, moved, inner, extra, total
    )


def _moments(given: _Given, some: _Scored, scores: Floats, count: Any) -> tuple[Floats, Floats]:
    """Return mean and variance of c·q·k over the keys that rows see; ``scores`` are that where it is bent."""
    shift, number = some.top, np.maximum(count, 1)
    moved = some.scores
    if some.rise is not None or given.sink is not None:
        # Numbers near 0 lose nothing to rounding.
        shift = shift if some.rise is None else np.zeros(shift.shape)
        moved = moved if some.rise is None else scores
        most = moved.max(axis=-1)
        moved, shift = moved - most[:, :, None], shift + most
    moved = moved if some.hidden is None else np.where(some.hidden, 0.0, moved)
    total = _over_last(moved)
    variance = (np.vecdot(moved, moved) - total**2 / number) / np.maximum(count - 1, 1)
    return shift + total / number, np.maximum(variance, 0.0)


def _over_last(array: Floats) -> Floats:
    """Return sums over the last axis, which a product of matrices takes half the time for."""
    ones = np.ones(array.shape[-1])
    found: Floats = (array.reshape(-1, len(ones)) @ ones).reshape(array.shape[:-1])
    return found


class DeclaredOutput(NamedTuple):
    """What the declared attention gives rows of a strip: the output, and how far rounding may move it.

    ``size`` is the square of the output's length.
    ``slope`` times ``by`` is its derivative by the scale. ``square`` is the root mean square of scores,
    ``bent`` how far their noise moves the output to one side on average. ``turned`` is the slope by the
    weight of hidden keys, which have ``share`` of the weight of the others; both None where none are hidden.
    Of a difference it is the slope by the multiple of the second map, and the share 1.
    ``has_factor`` is False where rounding alone may move all rows by one factor. Rounding moves a number of
    a row by at most the root of ``rate`` Σ_j ``weights``_j v_j², v its column: infinite where that is not
    known, None where it is not for all.
    """

    attended: Floats
    size: Floats
    allowed: Floats
    slope: Floats
    by: Any
    square: Floats
    bent: Floats
    hidden: Any
    turned: Floats | None = None
    share: Floats | None = None
    has_factor: bool = True
    rate: Floats | None = None
    weights: Floats | None = None


def _softmax(given: _Given, some: _Scored, rows: slice, unit: float) -> DeclaredOutput:
    keys = some.products.shape[-1]
    value = given.value[:, :keys]  # type: ignore[index]
    lengths = some.raised @ np.stack([given.squares[2][:, :keys], given.squares[1][:, :keys]], axis=-1)
    lengths /= some.total[..., None]
    of_values, of_keys = lengths[..., 0], lengths[..., 1]
    attended = some.raised @ value
    attended /= some.total[..., None]
    size = np.vecdot(attended, attended)
    whole = (some.total - some.extra) / some.total
    sigma = np.sqrt(np.maximum(of_values - (2 - whole) * size, 0.0))
    square = np.vecdot(some.moved, some.scores) + 2 * some.top * some.inner
    square = np.sqrt(np.maximum(square / some.total + some.top**2 * whole, 0.0))
    sizes = sigma, square, of_values, of_keys, np.sqrt(size)
    allowed, rate = _allowed(given, some, rows, value, attended, sizes, unit)
    slope, by = _by_scale(given, some, value, attended)
    turned = share = None
    if some.hidden is not None:
        theirs = some.everything - some.raised
        share = _over_last(theirs) / some.total
        turned = theirs @ value
        turned /= some.total[..., None]
        turned -= share[..., None] * attended
    bent = 1.5 * _MEAN_SQUARE * unit**2 * square * np.maximum(np.abs(some.top), square) * sigma
    return DeclaredOutput(
        attended, size, allowed, slope, by, square, bent, some.hidden, turned, share,
        rate=rate / some.total, weights=some.raised,
    )  # fmt: skip


def _difference(
    call: Call, given: _Given, declared: Weighting, rows: slice, keys: int, seen: Any, unit: float
) -> DeclaredOutput:
    """Return the first half's attention less a multiple of the second's, each with its own rounding."""
    half, times = given.query.shape[-1] // 2, abs(declared.number)
    maps = []
    for part in (slice(half), slice(half, None)):
        own = given._replace(query=given.query[..., part], key=given.key[..., part])
        lengths = (np.vecdot(one, one) for one in (own.query, own.key))
        own = own._replace(squares=[*lengths, *given.squares[2:]])
        products = own.query[:, rows] @ own.key[:, :keys].mT
        scored = _scored(call, own, products, own.scale[:, :, None] * products, *seen)
        maps.append(_softmax(own, scored, rows, unit))
    one, other = maps
    attended = one.attended - declared.number * other.attended
    size = np.vecdot(attended, attended)
    rounded = np.sqrt(size) + times * np.sqrt(other.size)
    return DeclaredOutput(
        attended=attended,
        size=size,
        allowed=one.allowed + times * other.allowed + unit * rounded,
        slope=one.slope * one.by[..., None] - declared.number * other.slope * other.by[..., None],
        by=1.0,
        square=np.maximum(one.square, other.square),
        bent=one.bent + times * other.bent,
        hidden=one.hidden,
        turned=-other.attended,
        share=np.ones(rounded.shape),
    )


def of_scores(
    declared: Weighting,
    query: Floats,
    key: Floats,
    value: Floats,
    scale: Floats,
    hidden: Any,
    bias: Any,
    unit: float,
) -> DeclaredOutput:
    """Return attention whose weights are another function of the scores than the softmax.

    Arrays have the shapes [block, row, d] and [block, key, d], ``scale`` [block, 1]. With r the most that an
    error ε of a score moves a weight by, over ε, the bound is that of the softmax with r for its weights:
    u(√(9S² + 4T²)M + 2√R·M + |o|) + u'(√d·c|q|KM + √n·√R·M), R = Σr, S² = Σrs², K² = Σr|k|² and
    M² = Σr(|v| + |o|)², without |o| where weights do not depend on each other.
    """
    rise = query @ key.mT
    scores = scale[:, :, None] * rise
    scores = scores if bias is None else scores + bias
    some = OF_SCORES[declared.kind](scores, rise, np.False_ if hidden is None else hidden)
    attended = some.weights @ value
    size = np.sqrt(np.vecdot(attended, attended))
    lengths = np.sqrt(np.vecdot(value, value))[:, None, :] + (size[..., None] if some.is_shared else 0.0)
    carried, single = some.carried, min(unit, SINGLE)
    # What ln n takes from scores is rounded with them.
    sizes = np.abs(scores) + (math.log(key.shape[1] + 1) if declared.kind == "sigmoid-ln-n" else 0.0)
    spread = np.sqrt(np.vecdot(carried, lengths**2))
    square = np.sqrt(np.vecdot(carried, sizes**2))
    whole = np.sqrt(carried.sum(axis=-1))
    inputs = np.zeros(spread.shape)
    if unit > SINGLE:
        inputs = scale**2 * np.vecdot(query**2, carried @ key**2)
    of_keys = (carried @ np.vecdot(key, key)[..., None])[..., 0]
    width = math.sqrt(query.shape[-1]) * np.abs(scale) * np.sqrt(np.vecdot(query, query) * of_keys)
    room = unit * np.sqrt(9 * square**2 + 4 * inputs) + single * width
    largest = np.where(carried > 0, sizes, 0.0).max(axis=-1)
    steep = 3 * unit * largest > _LINEAR
    moved = room * spread
    if steep.any():
        off = np.minimum(carried * np.expm1(np.minimum(6 * unit * sizes, _FAR_ABOVE)), 2.0)
        moved = np.where(steep, np.maximum(moved, np.vecdot(off, lengths)), moved)
    allowed = moved + unit * (2 * whole * spread + size)
    allowed += single * math.sqrt(key.shape[1]) * whole * spread
    bent_by = 1.5 * _MEAN_SQUARE * unit**2 * square * np.maximum(largest, 1.0) * spread
    return DeclaredOutput(
        attended=attended,
        size=size**2,
        allowed=allowed,
        slope=some.slope @ value,
        by=1.0,
        square=square,
        bent=bent_by,
        hidden=hidden,
        # Rows share the rounding of ln n.
        has_factor=declared.kind != "sigmoid-ln-n",
    )


def _comparison(
    given: _Given, formula: DeclaredOutput, rows: slice, keys: int, found: dict[str, Any], unit: float
) -> dict[str, Any]:
    """Return how far rows of the output are off, over what rounding may do, and sums along its slopes."""
    output = given.output[:, rows]  # type: ignore[index]
    attended, size, allowed, slope, by, square, bent_by, hidden, turned, share, *more = formula
    has_factor, rate, weights = more
    error = output - attended
    shape = size.shape
    broken = _broken(rows, hidden, keys, shape, (given.broken_outputs, given.broken_values))
    broken |= found["broken"]
    compared = (found["count"] > 0) & ~broken
    distance = np.sqrt(np.vecdot(error, error))
    ratio = np.divide(distance, allowed, out=np.where(distance > 0, math.inf, 0.0), where=allowed > 0)
    ratio = np.where(compared, ratio, 0.0)
    good = compared & (ratio <= 1)
    length = np.where(good, np.vecdot(slope, slope) * by**2, 0.0)
    columns = np.zeros((2, len(error), output.shape[-1]))
    if rate is not None and weights is not None:
        use = good & np.isfinite(rate)
        columns[0] = (use[:, None].astype(float) @ error**2)[:, 0]
        over = np.where(use, rate, 0.0)[:, None] @ weights
        columns[1] = (over @ given.value[:, : over.shape[-1]] ** 2)[:, 0]  # type: ignore[index]
    of_columns = np.zeros((6, len(error), output.shape[-1] if given.is_half else 0))
    if given.is_half:
        one = np.where(good[..., None], attended, 0.0)
        own, its = one * error, one * one
        by_scale = slope * np.broadcast_to(by, shape)[..., None]
        sums = (own, its, its**2, own**2, own * its, one * by_scale)
        of_columns[:] = [array.sum(axis=1) for array in sums]
    weak, weight = np.zeros(shape), np.zeros(shape)
    if turned is not None and share is not None:
        use = good & (share > 0) & (share < _SATURATED)
        weak = np.where(use, np.vecdot(turned, error), 0.0)
        weight = np.where(use, np.vecdot(turned, turned), 0.0)
    return {
        "compared": compared,
        "ratio": ratio,
        "lost": broken,
        "error": np.where(compared, distance**2, 0.0),
        "output": np.where(compared, given.squares[3][:, rows], 0.0),
        "attention": np.where(compared, size, 0.0),
        "along": np.where(good, np.vecdot(slope, error) * by, 0.0),
        "slope": length,
        "joint": np.where(good, np.vecdot(slope, attended) * by, 0.0),
        "factor": np.where(good, np.vecdot(attended, error), 0.0),
        "kept": np.where(good & has_factor, size, 0.0),
        "room": np.sqrt(length) * allowed,
        "bias": np.sqrt(length) * bent_by + np.abs(given.scale) * _stepped(found["variance"], unit) * length,
        "least": (_MEAN_SQUARE * unit**2 * size + given.grain[:, None] ** 2 / 3) / output.shape[-1],
        "weak": weak,
        "hidden": weight,
        "scores": square,
        "first": attended[..., 0],
        "last": attended[..., -1],
        "columns": columns.transpose(1, 0, 2)[:, None],
        "of_columns": of_columns.transpose(1, 0, 2)[:, None],
    }


def _stepped(variance: Floats, unit: float) -> Floats:
    """Return the share by which rounding weights to a grid may change what they rise by with the scores.

    Weights of scores that differ by less than the grid's step are rounded to one or two numbers, all of them
    to the same side of theirs: their errors rise or fall with the scores. A normal score of deviation σ on
    steps of Δ is off by at most 2Σ_m exp(-2π²m²σ²/Δ²) of its own rise; here Δ is 2u, relative to a weight.
    Source: B. Widrow and I. Kollár, Quantization Noise (Cambridge University Press 2008), chapter 5.
    """
    rate = 2 * math.pi**2 * variance / (2 * unit) ** 2
    return 2 / np.expm1(np.clip(rate, 1e-9, 700.0))


def _allowed(
    given: _Given, some: _Scored, rows: slice, value: Floats, attended: Floats, sizes: Any, unit: float
) -> tuple[Floats, Floats]:
    """Return how far rounding may move rows of the output; honest ones reach some 0.4 of it.

    With u of the stored type and u' that of single precision, or u where that is less, it is
    u(√(9S² + 4T²)σ + 2m + |o|) + u'(√d·c|q|Kσ + √n·m). S² = Σps² is of the scores,
    T² = c²Σ_i q_i²Σ_j p_j k_ji² of the inputs, where they may have been
    rounded once more; K² = Σp|k|², m² = Σp|v|², σ² = Σp|v - o|².

    The same holds of a column, with its numbers in place of |v| and |o|: σ and |o| are at most m there.
    Returned, too, is the square of what multiplies m then, infinite where scores are so large that weights
    are not linear in their errors.
    """
    sigma, square, of_values, of_keys, size = sizes
    query, single = given.query[:, rows], min(unit, SINGLE)
    inputs = np.zeros(sigma.shape)
    if unit > SINGLE:
        of_each = some.raised @ given.key[:, : some.products.shape[-1]] ** 2
        inputs = given.scale**2 * np.vecdot(query**2, of_each) / some.total
    width = math.sqrt(query.shape[-1]) * np.abs(given.scale) * np.sqrt(given.squares[0][:, rows] * of_keys)
    per_length = unit * np.sqrt(9 * square**2 + 4 * inputs) + single * width
    room = per_length * sigma
    steep = 3 * unit * np.abs(some.highest) > _LINEAR
    if steep.any():
        room[steep] = np.maximum(room, _steep(some, value, attended, unit))[steep]
    found: Floats = room + unit * (2 * np.sqrt(of_values) + size)
    found += single * np.sqrt(given.key.shape[1] * of_values)
    found += given.grain[:, None]
    rate = (per_length + 3 * unit + single * math.sqrt(given.key.shape[1])) ** 2
    return found, np.where(steep, math.inf, rate)


def _by_scale(given: _Given, some: _Scored, value: Floats, attended: Floats) -> tuple[Floats, Floats]:
    """Return the derivative of the output by the scale: vectors, and what they are to be multiplied by."""
    moved, inner, by = some.moved, some.inner - some.top * some.extra, 1 / some.total
    if some.rise is not None or not given.scale.all():
        moved = some.raised * (some.products if some.rise is None else some.rise)
        inner = moved.sum(axis=-1)
    else:
        # Scores are c·q·k - top: what rows have in common moves no softmax but for a sink.
        by = by / given.scale
    slope = moved @ value
    slope -= inner[..., None] * attended
    return slope, by


def _steep(some: _Scored, value: Floats, attended: Floats, unit: float) -> Floats:
    """Return what rounding of large scores may do to rows: errors of a score multiply weights by e to them.

    Where ε bounds the error of a score, a weight p is off by at most min(1, p·(e^2ε - 1)).
    """
    error = 6 * unit * np.abs(some.scores + some.top[..., None])
    share = some.scores - np.log(some.total)[..., None]
    off = np.exp(np.minimum(share + error, 0.0)) * -np.expm1(-error)
    off = off if some.hidden is None else np.where(some.hidden, 0.0, off)
    apart = np.vecdot(value, value)[:, None] - 2 * attended @ value.mT
    apart += np.vecdot(attended, attended)[..., None]
    found: Floats = np.vecdot(off, np.sqrt(np.maximum(apart, 0.0)))
    return found


def _broken(
    rows: slice, hidden: Any, keys: int, shape: tuple[int, ...], sides: tuple[Any, Any]
) -> NDArray[np.bool_]:
    """Return which rows have a number that is not finite in themselves, or in a key that they see."""
    of_rows, of_keys = sides
    found = np.zeros(shape, dtype=bool) if of_rows is None else of_rows[:, rows].copy()
    if of_keys is not None:
        wrong = np.broadcast_to(of_keys[:, None, :keys], (*shape, keys))
        found |= (wrong if hidden is None else wrong & ~hidden).any(axis=-1)
    return found


def _means(call: Call, given: _Given, blocks: Places, rows: dict[str, Any], padding: Any) -> RowMeans:
    count, broken = rows["count"], rows["broken"]
    padded = np.zeros(count.shape, dtype=bool) if padding is None else np.broadcast_to(padding, count.shape)
    use = (count >= FEWEST_KEYS) & ~padded & ~broken
    used = use.sum(axis=1)

    def mean(values: Floats) -> Floats:
        found: Floats = _over_last(np.where(use, values, 0.0)) / used
        return found

    patterns = np.empty(len(blocks), dtype=object)
    known: dict[bytes, Any] = {}
    numbers = np.where(use, count, 0)
    for place, row in enumerate(numbers):
        code = row.tobytes()
        if code not in known:
            keys, times = np.unique(row[row > 0], return_counts=True)
            known[code] = (tuple(map(int, keys)), tuple(map(int, times)))
        patterns[place] = known[code]
    middle = mean(rows["mean"])
    squares = rows["squares"]
    finite = ~broken.any(axis=1) & np.isfinite(np.where(count > 0, rows["variance"], 0.0)).all(axis=1)
    largest = rows["highest"].max(axis=1)
    if broken.any():
        largest = np.where(broken.any(axis=1), _largest_of_all(call, blocks, given.scale), largest)
    return RowMeans(
        scale=given.scale[:, 0],
        patterns=patterns,
        used=used,
        few=((count < FEWEST_KEYS) & ~padded).sum(axis=1),
        blind=(count == 0).sum(axis=1),
        astray=((count == 0) & ~padded).sum(axis=1),
        padding=padded.sum(axis=1),
        finite=finite,
        largest_score=largest,
        variance=mean(rows["variance"]),
        between=mean((rows["mean"] - middle[:, None]) ** 2),
        entropy=mean(rows["entropy"]),
        squares=mean(squares),
        jacobian=mean(squares - 2 * rows["cubes"] + squares**2),
        largest_weight=mean(rows["largest"]),
    )


def _largest_of_all(call: Call, blocks: Places, scale: Floats) -> Floats:
    """Return the largest score of blocks as it is, NaN or infinite where it is."""
    sequence, head = np.divmod(blocks, call.query.shape[1])
    query = to_numpy(np.asarray(call.query)[sequence, head])
    key = to_numpy(np.asarray(call.key)[sequence, head // (call.query.shape[1] // call.key.shape[1])])
    scores = scale[:, :, None] * (query @ key.mT)
    hidden, bias = hidden_from(call, blocks, slice(0, query.shape[1]), key.shape[1])
    scores = scores if call.softcap is None else call.softcap * np.tanh(scores / call.softcap)
    scores = scores if bias is None else scores + bias
    found: Floats = (scores if hidden is None else np.where(hidden, -math.inf, scores)).max(axis=(1, 2))
    return found


def _spread(vectors: Floats, use: Any, into: list[Floats]) -> None:
    """Put number, mean and spread of the vectors of each block that are of ``use``; see `BlockVectors`."""
    number, mean, spread = into
    shown = np.ones((1, vectors.shape[1])) if use is None else use.astype(np.float64)
    number[:] = shown.sum(axis=1)
    np.divide((shown[:, None] @ vectors)[:, 0], number[:, None], out=mean)
    is_small = vectors.shape[1] < vectors.shape[2]
    moved = np.subtract(vectors, mean[:, None], out=spread if is_small else None)
    moved *= (shown / np.sqrt(np.where(number > 1, number - 1, np.nan))[:, None])[..., None]
    if not is_small:
        np.matmul(moved.mT, moved, out=spread)


def _sums(given: _Given, rows: dict[str, Any], unit: float) -> Residuals:
    compared, ratio, along, length = rows["compared"], rows["ratio"], rows["along"], rows["slope"]
    several = compared & (rows["count"] > 1)
    many = np.where(several.any(axis=1), several.sum(axis=1), np.nan)
    size, reach = np.sqrt(given.squares[0]), np.sqrt(rows["attention"])
    # Of several sums at once: along the three directions, and their squared lengths.
    along = np.stack([along, rows["factor"], rows["weak"]], axis=1)
    lengths = np.stack([length, rows["kept"], rows["hidden"]], axis=1)
    squares = rows["columns"].sum(axis=1)
    room = np.sqrt(squares[:, 1]) + (given.grain * np.sqrt(compared.sum(axis=1)))[:, None]
    off = np.sqrt(squares[:, 0])
    columns = np.divide(off, room, out=np.where(off > 0, math.inf, 0.0), where=room > 0)
    named = {
        name: _over_last(rows[name]) for name in ("error", "output", "attention", "joint", "room", "bias")
    }
    alike = _alike((size, rows["mean"], rows["highest"]), (size, rows["scores"]), length > 0, unit)
    if unit <= SINGLE:
        # Outputs that are alike share their errors; three numbers of a coarser type are so by chance.
        outputs = reach, rows["first"], rows["last"]
        alike = np.maximum(alike, _alike(outputs, (reach, reach), length > 0, unit))
    return Residuals(
        rows=compared.sum(axis=1),
        bad=(compared & (ratio > 1)).sum(axis=1),
        broken=rows["lost"].sum(axis=1),
        worst=ratio.max(axis=1),
        place=ratio.argmax(axis=1),
        along=_over_last(along),
        length=_over_last(lengths),
        fourth=np.vecdot(lengths, lengths),
        noise=np.vecdot(along, along),
        mixed=np.vecdot(along, lengths),
        least=np.vecdot(rows["least"][:, None], lengths),
        column=columns.max(axis=1),
        number=columns.argmax(axis=1),
        of_columns=rows["of_columns"].sum(axis=1),
        alike=alike,
        spread=_over_last(
            np.where(several, rows["variance"] * (rows["count"] - 1) / np.maximum(rows["count"], 1), 0.0)
        )
        / many,
        **named,
    )


def _alike(
    numbers: tuple[Floats, ...], sizes: tuple[Floats, Floats], tells: NDArray[np.bool_], unit: float
) -> Places:
    """Return at most how many rows of each block share their errors: a power of 2, 1 where none do.

    Rows do where three numbers agree up to some roundings, of the first size, and of the second one.
    """
    coarse = _ALIKE * unit * np.stack([sizes[0], *(np.maximum(np.abs(sizes[1]), 1e-30),) * 2])
    step = np.maximum(coarse.max(axis=-1, keepdims=True), 1e-300)
    cells = np.round(np.stack(numbers) / step).view(np.uint64)
    # Odd factors, so that different cells hardly ever add up to the same.
    codes = cells[0] + cells[1] * np.uint64(0x9E3779B97F4A7C15) + cells[2] * np.uint64(0xC2B2AE3D27D4EB4F)
    codes = np.where(tells, codes, np.arange(codes.shape[1], dtype=np.uint64))
    codes = np.sort(codes, axis=1)
    found, reach = np.ones(len(codes), dtype=np.intp), 1
    while reach < codes.shape[1] and (same := (codes[:, reach:] == codes[:, :-reach]).any(axis=1)).any():
        found[same] = 2 * reach
        reach *= 2
    return found
