"""Statistics of one block: means over the rows of its scores, and the moments of its queries and keys.

Written once against the array API standard, so that it runs where the arrays are. Arrays of less than single
precision are taken to single precision; what is left of each row goes on in double precision. What is of the
second order in means or covariances is taken from two sequences, which are independent: the product of two
such estimates has the product of what they estimate as its mean, a square has not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import array_api_compat
import numpy as np
import scipy

from verify.auditing.arrays import floating, to_numpy
from verify.auditing.blocks import HIDING, sink_of
from verify.symbolic.row_integrals import (
    Approximation,
    mean_entropy,
    mean_jacobian,
    mean_largest_weight,
    mean_squares,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from verify.auditing.blocks import Block
    from verify.auditing.recording import Array

    Floats = NDArray[np.float64]
    OfKeys = Callable[[int], float]

FEWEST_KEYS = 8
"""Rows that see fewer keys say little of a distribution over keys, and are left out."""

_CACHED, _AT_ONCE = 1 << 16, 1 << 24
"""Scores of a strip: NumPy's stay in the processor's cache; elsewhere launching costs more."""

_NEVER = -1e30
"""Stands for the score of a hidden key: its exponential is 0, and a product with that is 0 and no NaN."""

_SEVERAL = 24
"""Different numbers of keys from which on a polynomial in their logarithm stands in for the integrals."""

_ROUGH = 1e-3
"""Relative error from which on an integral is no reference."""


@dataclass(frozen=True)
class RowMeans:
    """What the rows of one head's scores look like on one sequence; means are over the rows that were used.

    ``keys`` are the different numbers of keys that rows see, and ``rows`` how many rows see each. ``few``
    counts rows that see fewer than `FEWEST_KEYS`, ``blind`` those of them that see none. Where ``finite`` is
    False, some score is NaN or infinite. ``largest_score`` is over all rows; means without a row are NaN.

    ``variance`` is the unbiased one of c·q·k_j over the keys j that a query sees, ``between`` the variance
    of the rows' own means, ``scale`` is c. The others are of the softmax, with bias, soft-cap and sink:
    ``entropy`` is over the logarithm of the number of keys, a sink being one; ``squares`` is Σp²,
    ``jacobian`` ‖J‖²_F, ``largest_weight`` max p.
    """

    scale: float
    keys: tuple[int, ...]
    rows: tuple[int, ...]
    few: int
    blind: int
    finite: bool
    largest_score: float
    variance: float = math.nan
    between: float = math.nan
    entropy: float = math.nan
    squares: float = math.nan
    jacobian: float = math.nan
    largest_weight: float = math.nan

    @property
    def unscaled_variance(self) -> float:
        """The variance without the scale, 0 where the scale is."""
        return self.variance / self.scale**2 if self.scale else 0.0

    @property
    def used(self) -> int:
        """Rows that the means are over."""
        return sum(self.rows)


@dataclass(frozen=True)
class _Strip:
    """Sums over the keys that each row of a strip sees, shape (rows,) each.

    ``count`` keys; ``first`` and ``second`` powers of c·q·k less ``shift``; of the scores' exponentials e,
    the largest of which is 1, e, e·(s - ``top``), e² and e³.
    """

    count: Floats
    shift: Floats
    first: Floats
    second: Floats
    top: Floats
    total: Floats
    moved: Floats
    squares: Floats
    cubes: Floats

    def of(self, rows: Any) -> _Strip:
        """Return the sums of some rows."""
        return _Strip(*(getattr(self, one.name)[rows] for one in fields(self)))


def row_means(block: Block) -> RowMeans:
    """Return what the rows of a block look like; never more than one strip of scores is in memory."""
    with np.errstate(all="ignore"):
        strips = list(_strips(block))
        joined = (np.concatenate([getattr(strip, one.name) for strip in strips]) for one in fields(_Strip))
        return _reduced(_Strip(*joined), sink_of(block.call, block.head), block.scale)


def _strips(block: Block) -> Iterator[_Strip]:
    query, key = floating(block.query), floating(block.key)
    xp = array_api_compat.array_namespace(query, key)
    capped = block.call.softcap is not None
    # The softmax does not see what all keys have in common, and without it squares do not cancel. What is
    # hidden may be anything, even NaN.
    common = xp.zeros_like(key[0, :]) if capped else xp.mean(xp.where(xp.isfinite(key), key, 0.0), axis=0)
    shift = block.scale * to_numpy(xp.matmul(query, common))
    turned = (key - common).T
    query = query * block.scale
    limit = _CACHED if array_api_compat.is_numpy_array(query) else _AT_ONCE
    size = max(16, limit // key.shape[0])
    for start in range(0, query.shape[0], size):
        stop = min(start + size, query.shape[0])
        seen = min(stop, key.shape[0]) if block.call.causal else key.shape[0]
        scores = xp.matmul(query[start:stop, :], turned[:, :seen])
        yield _strip(xp, block, scores, start, shift[start:stop])


def _strip(xp: Any, block: Block, scores: Array, start: int, shift: Floats) -> _Strip:
    rows, keys = scores.shape
    visible, bias = _visible(xp, block, start, rows, keys, scores)
    known = scores if visible is None else xp.where(visible, scores, 0.0)
    count = xp.full((rows,), keys, dtype=scores.dtype) if visible is None else None
    if count is None:
        count = xp.sum(xp.astype(visible, scores.dtype), axis=-1)
    first, second = xp.sum(known, axis=-1), xp.vecdot(known, known)
    if block.call.softcap is not None:
        scores = block.call.softcap * xp.tanh(scores / block.call.softcap)
    if bias is not None:
        scores = scores + bias
    if visible is not None:
        scores = xp.where(visible, scores, _NEVER)
    top = xp.max(scores, axis=-1)
    scores -= top[:, None]
    raised = xp.exp(scores)
    squared = raised * raised
    sums = (xp.sum(raised, axis=-1), xp.vecdot(raised, scores), xp.sum(squared, axis=-1))
    found = to_numpy(xp.stack([count, first, second, top, *sums, xp.vecdot(squared, raised)]))
    return _Strip(found[0], shift, *found[1:])


def _visible(
    xp: Any, block: Block, start: int, rows: int, keys: int, scores: Array
) -> tuple[Array | None, Array | None]:
    """Return which keys each row of a strip sees, None where it sees all, and what is added to its scores."""
    call, visible = block.call, None
    place = (block, start, rows, keys)
    if call.causal and start + rows > 1 and keys > start + 1:
        device = array_api_compat.device(scores)
        own = xp.arange(start, start + rows, device=device)
        visible = xp.arange(keys, device=device)[None, :] <= own[:, None]
    if call.mask is not None:
        mask = xp.broadcast_to(_part(call.mask, *place), scores.shape)
        visible = mask if visible is None else xp.logical_and(visible, mask)
    if call.bias is None:
        return visible, None
    bias = xp.astype(_part(call.bias, *place), scores.dtype)
    shown = bias > HIDING
    if not xp.all(shown):
        shown = xp.broadcast_to(shown, scores.shape)
        visible = shown if visible is None else xp.logical_and(visible, shown)
    return visible, bias


def seen_keys(block: Block) -> Array | None:
    """Return which keys some query sees, boolean of shape (keys,), None where all are seen."""
    call, seen = block.call, None
    rows, keys = call.query.shape[2], call.key.shape[2]
    if call.causal and rows < keys:
        xp = array_api_compat.array_namespace(call.query)
        seen = xp.arange(keys, device=array_api_compat.device(call.query)) < rows
    for array, is_bias in ((call.mask, False), (call.bias, True)):
        if array is not None:
            xp = array_api_compat.array_namespace(array)
            part = _part(array, block, 0, rows, keys)
            shown = xp.broadcast_to(xp.any(part > HIDING if is_bias else part, axis=0), (keys,))
            seen = shown if seen is None else xp.logical_and(seen, shown)
    return seen


def _part(array: Array, block: Block, start: int, rows: int, keys: int) -> Array:
    """Return the part of a mask or bias, broadcast to [sequence, head, query, key], that a strip needs."""
    while array.ndim < 4:
        array = array[None, ...]
    array = array[block.sequence if array.shape[0] > 1 else 0, block.head if array.shape[1] > 1 else 0]
    array = array[start : start + rows, :] if array.shape[0] > 1 else array
    return array[:, :keys] if array.shape[1] > 1 else array


def _with_sink(strip: _Strip, sink: float | None) -> tuple[Floats, ...]:
    """Return number, total, Σe·(s - top), Σe², Σe³ and the largest e of a key, the sink counted as a key."""
    if sink is None:
        ones = np.ones_like(strip.total)
        return strip.count, strip.total, strip.moved, strip.squares, strip.cubes, ones
    own = sink - strip.shift
    rise = np.maximum(own - strip.top, 0.0)
    factor, extra, depth = np.exp(-rise), np.exp(own - strip.top - rise), own - strip.top - rise
    return (
        strip.count + 1,
        factor * strip.total + extra,
        factor * (strip.moved - rise * strip.total) + extra * depth,
        factor**2 * strip.squares + extra**2,
        factor**3 * strip.cubes + extra**3,
        factor,
    )


def _reduced(strip: _Strip, sink: float | None, scale: float) -> RowMeans:
    used, seeing = strip.count >= FEWEST_KEYS, strip.count > 0
    keys, rows = np.unique(strip.count[used].astype(int), return_counts=True)
    found = RowMeans(
        scale,
        tuple(map(int, keys)),
        tuple(map(int, rows)),
        few=int(np.sum(~used)),
        blind=int(np.sum(~seeing)),
        finite=bool(np.all(np.isfinite(strip.second[seeing]) & np.isfinite(strip.top[seeing]))),
        largest_score=float(np.max((strip.top + strip.shift)[seeing], initial=-math.inf)),
    )
    return _averaged(found, strip.of(used), sink) if found.used else found


def _averaged(found: RowMeans, strip: _Strip, sink: float | None) -> RowMeans:
    mean = strip.first / strip.count
    variance = (strip.second - strip.first * mean) / (strip.count - 1)
    number, total, moved, squares, cubes, largest = _with_sink(strip, sink)
    squares, cubes = squares / total**2, cubes / total**3
    entropy = (np.log(total) - moved / total) / np.log(number)
    return replace(
        found,
        variance=float(np.mean(variance)),
        between=float(np.var(mean + strip.shift)),
        entropy=float(np.mean(entropy)),
        squares=float(np.mean(squares)),
        jacobian=float(np.mean(squares - 2 * cubes + squares**2)),
        largest_weight=float(np.mean(largest / total)),
    )


@dataclass(frozen=True)
class Spread:
    """Mean, shape (d,), and unbiased covariance, shape (d, d), of the vectors of one sequence.

    Of a single vector the covariance is NaN, of none the mean as well.
    """

    mean: Floats
    covariance: Floats
    vectors: int

    @property
    def mean_square(self) -> float:
        """The mean of the squared components."""
        return float(np.trace(self.second_moment())) / len(self.mean)

    def second_moment(self) -> Floats:
        """Return the mean of x·xᵀ, shape (d, d)."""
        scatter: Floats = (self.vectors - 1) / max(self.vectors, 1) * self.covariance
        return scatter + np.outer(self.mean, self.mean)


def query_spread(block: Block) -> Spread:
    """Return mean and covariance of a block's queries."""
    return _spread(block.query)


def key_spread(block: Block) -> Spread:
    """Return mean and covariance of a block's keys, of those that some query sees."""
    key, seen = block.key, seen_keys(block)
    return _spread(key if seen is None else key[seen, :])


def _spread(vectors: Array) -> Spread:
    vectors = floating(vectors)
    xp = array_api_compat.array_namespace(vectors)
    count = vectors.shape[0]
    if not count:
        nothing = np.full(vectors.shape[1], np.nan)
        return Spread(nothing, np.outer(nothing, nothing), 0)
    with np.errstate(all="ignore"):
        mean = xp.mean(vectors, axis=0)
        moved = vectors - mean
        products = to_numpy(xp.matmul(moved.T, moved))
        return Spread(to_numpy(mean), products / (count - 1) if count > 1 else products * np.nan, count)


def crossed_variance(block: Block, partner: Block) -> float:
    """Return the variance of the queries' scores, each with its scale, over keys of the other sequence.

    The mean of tr(M_q·Σ_k) both ways round, M_q the second moment of one sequence's queries and Σ_k the
    covariance of the other one's keys: what a row varies by where its query knows nothing of the keys.
    """
    found = 0.0
    for one, other in ((block, partner), (partner, block)):
        products = one.once(query_spread).second_moment() * other.once(key_spread).covariance
        found += one.scale**2 * float(np.sum(products)) / 2
    return found


def entropy_share(keys: int) -> float:
    """Return E H/ln n of independent standard normal scores; NaN where that is not known well."""
    return _known(mean_entropy(keys, 1.0)) / math.log(keys)


def squares(keys: int) -> float:
    """Return E Σp² of independent standard normal scores."""
    return _known(mean_squares(keys, 1.0))


def jacobian(keys: int) -> float:
    """Return E‖J‖²_F of independent standard normal scores."""
    return _known(mean_jacobian(keys, 1.0))


def largest_weight(keys: int) -> float:
    """Return E max p of independent standard normal scores."""
    return _known(mean_largest_weight(keys, 1.0))


@lru_cache(maxsize=1024)
def over_rows(of_keys: OfKeys, keys: tuple[int, ...], rows: tuple[int, ...]) -> float:
    """Return the mean of ``of_keys`` over rows: ``rows[i]`` of them see ``keys[i]`` keys."""
    if len(keys) < _SEVERAL:
        values = np.array([of_keys(one) for one in keys])
    else:
        values = _interpolated(of_keys, keys)
    return float(np.average(values, weights=rows))


def _interpolated(of_keys: OfKeys, keys: tuple[int, ...]) -> np.ndarray:
    low, high = math.log(keys[0]), math.log(keys[-1])
    angles = (2 * np.arange(_SEVERAL) + 1) * math.pi / (2 * _SEVERAL)
    nodes = np.unique(np.exp((low + high) / 2 + (high - low) / 2 * np.cos(angles)).round().astype(int))
    values = [math.log(of_keys(int(node))) for node in nodes]
    found: np.ndarray = np.exp(scipy.interpolate.BarycentricInterpolator(np.log(nodes), values)(np.log(keys)))
    return found


def _known(found: Approximation) -> float:
    return found.value if found.error <= _ROUGH * found.value else math.nan
