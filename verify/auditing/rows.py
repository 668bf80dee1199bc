"""Every row of attention calls of one shape: how far its output is off.

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

from verify.auditing.arrays import grain_of, to_numpy
from verify.auditing.blocks import HIDING

T = TypeVar("T", bound="tuple[Any, ...]")

if TYPE_CHECKING:
    from verify.auditing.recording import Array, Call

Floats = NDArray[np.float64]
Places = NDArray[np.intp]
Mapper = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
"""A function like ``map``, which may use threads."""

SINGLE = 2.0**-24

LEAST_STEP = 2e-3
"""Relative differences from the declared scale below which no other one is looked for."""

SURE = 8.0
"""Standard errors of what is summed over rows from which on it is no rounding; honest programs reach 4."""

_FEWEST_ROWS = 10
"""Rows from which on a factor of the output is looked for."""
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


class RowCounts(NamedTuple):
    """Rows of blocks that see no key, shape (blocks,): all of them, and those that are no padding.

    A row is padding where the mask hides its own key from all.
    """

    blind: Places
    astray: Places


class Residuals(NamedTuple):
    """How outputs differ from the attention at a scale: arrays of shape (blocks,), sums over rows.

    ``rows`` were compared, of which ``bad`` are off by more than rounding may leave (`_allowed`);
    ``worst`` is the largest error over that, and ``place`` its row. ``broken`` rows have NaN or infinities.
    ``error`` and ``output`` are sums of squares, ``attention`` that of the attention o computed here.

    The rest is of the rows that are not bad, e being a row's error. Arrays of shape (blocks, 3) are along
    three directions d: the slope of the output by the scale, o itself, and the slope by the weight of hidden
    keys: ``along`` is Σ d·e, ``length`` Σ|d|², ``fourth`` Σ|d|⁴, ``noise`` Σ(d·e)², ``mixed`` Σ(d·e)|d|²,
    and ``least`` the variance of Σ d·e that rounding the output alone adds. Of the first one, ``room`` bounds
    |Σ d·e| where there is only rounding, ``bias`` the part of it that noise of scores leaves on average, and
    ``joint`` is Σ d·o. ``alike`` is the largest number of rows that share their errors, ``spread``
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

    @property
    def hidden_weight(self) -> Floats:
        """The weight that hidden keys keep, over that of unhidden ones; 0 where it may be rounding.

        What lies below a rounding in single precision, a bias that millions of rows share may be.
        """
        weight, error = self._with_error(2)
        return np.where(weight > np.maximum(SURE * error, SINGLE), weight, 0.0)

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


Looked = tuple[RowCounts, Residuals | None]


def look(call: Call, blocks: Places, scale: Floats, unit: float, mapper: Mapper = map) -> Looked:
    """Return what some blocks of a call are like, each at its own scale; ``unit`` is one rounding.

    The call's arrays are NumPy's. Without values or output nothing is compared.
    """

    def chunk(some: slice) -> Looked:
        return _chunk(call, blocks[some], scale[some], unit)

    found = list(mapper(chunk, _pieces(call, len(blocks))))
    counts = RowCounts(*map(np.concatenate, zip(*(one for one, _ in found), strict=True)))
    compared = [one for _, one in found if one is not None]
    return counts, Residuals(*map(np.concatenate, zip(*compared, strict=True))) if compared else None


def _pieces(call: Call, blocks: int) -> Iterator[slice]:
    """Yield the places of blocks that are looked at together."""
    _, _, queries, d = map(int, call.query.shape)
    step = max(1, _PIECE // (queries * max(int(call.key.shape[2]), d)))
    return (slice(start, min(start + step, blocks)) for start in range(0, blocks, step))


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
    return _Given(query, key, value, output, squares, scale[:, None], sink, grain, *broken[:4])


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


def _chunk(call: Call, blocks: Places, scale: Floats, unit: float) -> Looked:
    """Return what a few blocks are like, strip by strip of their rows."""
    with np.errstate(all="ignore"):
        given = _given(call, blocks, scale)
        queries, keys = given.query.shape[1], given.key.shape[1]
        size = max(16, _PIECE // keys)
        strips = [
            _strip(call, given, blocks, slice(start, min(start + size, queries)), unit)
            for start in range(0, queries, size)
        ]
        rows = {name: np.concatenate([one[name] for one in strips], axis=1) for name in strips[0]}
        padding, _ = unseen(call, blocks)
        blind = rows["count"] == 0
        astray = blind if padding is None else blind & ~padding
        counts = RowCounts(blind.sum(axis=1), astray.sum(axis=1))
        return counts, None if given.output is None else _sums(given, rows, unit)


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
    shape = len(blocks), rows.stop - rows.start
    count = np.full(shape, keys)
    if hidden is not None:
        # Of what is broadcast, one number stands for all keys.
        count = np.broadcast_to(keys - hidden.sum(axis=2) * (keys // hidden.shape[2]), shape)
    if given.output is None:
        return {"count": count}
    products = given.query[:, rows] @ given.key[:, :keys].mT
    scores = given.scale[:, :, None] * products
    some = _scored(call, given, products, scores, hidden, bias)
    mean, variance = _moments(given, some, scores, count)
    found = {
        "count": count,
        "mean": mean,
        "variance": variance,
        "highest": np.where(count > 0, some.highest, -math.inf),
        "broken": _broken(rows, hidden, keys, shape, (given.broken_queries, given.broken_keys)),
    }
    return found | _comparison(given, _softmax(given, some, rows, unit), rows, keys, found, unit)


def _scored(call: Call, given: _Given, products: Floats, scores: Floats, hidden: Any, bias: Any) -> _Scored:
    rise = None
    if call.softcap is not None:
        bent = np.tanh(scores / call.softcap)
        scores = call.softcap * bent
        rise = products * (1 - bent**2)
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
    allowed = _allowed(given, some, rows, value, attended, sizes, unit)
    slope, by = _by_scale(given, some, value, attended)
    turned = share = None
    if some.hidden is not None:
        theirs = some.everything - some.raised
        share = _over_last(theirs) / some.total
        turned = theirs @ value
        turned /= some.total[..., None]
        turned -= share[..., None] * attended
    bent = 1.5 * _MEAN_SQUARE * unit**2 * square * np.maximum(np.abs(some.top), square) * sigma
    return DeclaredOutput(attended, size, allowed, slope, by, square, bent, some.hidden, turned, share)


def _comparison(
    given: _Given, formula: DeclaredOutput, rows: slice, keys: int, found: dict[str, Any], unit: float
) -> dict[str, Any]:
    """Return how far rows of the output are off, over what rounding may do, and sums along its slopes."""
    output = given.output[:, rows]  # type: ignore[index]
    attended, size, allowed, slope, by, square, bent_by, hidden, turned, share = formula
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
        "kept": np.where(good, size, 0.0),
        "room": np.sqrt(length) * allowed,
        "bias": np.sqrt(length) * bent_by + np.abs(given.scale) * _stepped(found["variance"], unit) * length,
        "least": (_MEAN_SQUARE * unit**2 * size + given.grain[:, None] ** 2 / 3) / output.shape[-1],
        "weak": weak,
        "hidden": weight,
        "scores": square,
        "first": attended[..., 0],
        "last": attended[..., -1],
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
) -> Floats:
    """Return how far rounding may move rows of the output; honest ones reach some 0.4 of it.

    With u of the stored type and u' that of single precision, or u where that is less, it is
    u(√(9S² + 4T²)σ + 2m + |o|) + u'(√d·c|q|Kσ + √n·m). S² = Σps² is of the scores,
    T² = c²Σ_i q_i²Σ_j p_j k_ji² of the inputs, where they may have been
    rounded once more; K² = Σp|k|², m² = Σp|v|², σ² = Σp|v - o|².
    """
    sigma, square, of_values, of_keys, size = sizes
    query, single = given.query[:, rows], min(unit, SINGLE)
    inputs = np.zeros(sigma.shape)
    if unit > SINGLE:
        of_each = some.raised @ given.key[:, : some.products.shape[-1]] ** 2
        inputs = given.scale**2 * np.vecdot(query**2, of_each) / some.total
    width = math.sqrt(query.shape[-1]) * np.abs(given.scale) * np.sqrt(given.squares[0][:, rows] * of_keys)
    room = (unit * np.sqrt(9 * square**2 + 4 * inputs) + single * width) * sigma
    steep = 3 * unit * np.abs(some.highest) > _LINEAR
    if steep.any():
        room[steep] = np.maximum(room, _steep(some, value, attended, unit))[steep]
    found: Floats = room + unit * (2 * np.sqrt(of_values) + size)
    found += single * np.sqrt(given.key.shape[1] * of_values)
    found += given.grain[:, None]
    return found


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


def _sums(given: _Given, rows: dict[str, Any], unit: float) -> Residuals:
    compared, ratio, along, length = rows["compared"], rows["ratio"], rows["along"], rows["slope"]
    several = compared & (rows["count"] > 1)
    many = np.where(several.any(axis=1), several.sum(axis=1), np.nan)
    size, reach = np.sqrt(given.squares[0]), np.sqrt(rows["attention"])
    # Of several sums at once: along the three directions, and their squared lengths.
    along = np.stack([along, rows["factor"], rows["weak"]], axis=1)
    lengths = np.stack([length, rows["kept"], rows["hidden"]], axis=1)
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
