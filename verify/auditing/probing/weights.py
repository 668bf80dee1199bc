"""What the weights of an attention function look like: read off with one-hot values."""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from verify.auditing.probing.callee import RefusedError

if TYPE_CHECKING:
    from verify.auditing.heads import Floats
    from verify.auditing.probing.callee import Callee
    from verify.auditing.probing.sizes import Sizes

AXES = ("sequences", "heads", "queries", "keys")
"""What a softmax may run over, by the axes of the weights."""

_CLOSE, _ADDED_UP = 1e-3, 0.01
_ROUNDINGS = 32
_HIDDEN = 1e-20
_SQUARE, _LONG = 72, 520
"""Tokens of the square that a mask is read off, and of that which shows longer windows."""


@dataclass(frozen=True)
class Mask:
    """Which keys queries see: those up to ``shift`` places on, at most ``window`` of them; all where None.

    ``known`` is False where no such rule gives what was seen.
    """

    shift: int | None = None
    window: int | None = None
    known: bool = True

    def visible(self, queries: int, keys: int) -> Floats:
        """Return whether a query sees a key, shape [queries, keys]."""
        ahead = np.arange(keys) - np.arange(queries)[:, None]
        seen = np.ones((queries, keys), dtype=bool)
        if self.shift is not None:
            seen &= ahead <= self.shift
        if self.window is not None:
            seen &= ahead > (self.shift or 0) - self.window
        return seen


def weights(callee: Callee, query: Floats, key: Floats) -> Floats:
    """Return what the function weights each key's value with, [sequence, head, query, key].

    Values are one-hot, as many keys at a time as values have components, which are as many as keys have.
    """
    width, keys = key.shape[3], key.shape[2]
    found = []
    for start in range(0, keys, width):
        count = min(width, keys - start)
        value = np.zeros(key.shape)
        value[:, :, np.arange(start, start + count), np.arange(count)] = 1
        found.append(callee(query, key, value)[..., :count])
    return np.concatenate(found, axis=-1)


def axis_of(found: Floats) -> str | None:
    """Return what the weights add up to 1 over; None where there is no such axis, or more than one."""
    fitting = [
        name
        for place, name in enumerate(AXES)
        if found.shape[place] > 1 and np.allclose(found.sum(axis=place), 1, atol=_ADDED_UP)
    ]
    return fitting[0] if len(fitting) == 1 else None


def mask_of(found: Floats) -> Mask:
    """Return the rule by which keys are hidden; rows that are all NaN see none."""
    seen = np.abs(np.nan_to_num(found)) > _HIDDEN
    queries, keys = found.shape[2:]
    if not (seen == seen[:1, :1]).all():
        return Mask(known=False)
    if seen.all():
        return Mask()
    ahead = (np.arange(keys) - np.arange(queries)[:, None])[seen[0, 0]]
    if not ahead.size:
        return Mask(known=False)
    last, width = int(ahead.max()), int(ahead.max() - ahead.min()) + 1
    for rule in (Mask(last), Mask(last, width)):
        if width > 1 and np.array_equal(rule.visible(queries, keys), seen[0, 0]):
            return rule
    return Mask(known=False)


def square_mask(callee: Callee, sizes: Sizes) -> Mask:
    """Return the mask for as many queries as keys, from 72 tokens; short vectors let no weight be 0."""
    return mask_of(weights(callee, sizes.queries(_SQUARE, 0.1), sizes.keys(_SQUARE, 0.1)))


def with_long_window(callee: Callee, sizes: Sizes, mask: Mask) -> Mask:
    """Return the mask with a window that 520 tokens show; the same where so many are not taken.

    Positions must change no score.
    """
    if not mask.known or mask.window is not None:
        return mask
    try:
        behind = _reach(callee, sizes, -1)
        ahead = mask.shift if mask.shift is not None else _reach(callee, sizes, 0)
    except RefusedError:
        return mask
    shift = None if ahead == _LONG - 1 else ahead
    return Mask(shift, None if behind == _LONG - 1 else ahead + behind + 1)


def _reach(callee: Callee, sizes: Sizes, row: int) -> int:
    """Return how many places away the farthest key is that the first row sees, 0, or the last, -1."""
    distance = np.arange(_LONG) if row == 0 else np.arange(_LONG)[::-1]
    query, key = 0 * sizes.queries(_LONG), sizes.keys(_LONG)

    def sees_none(place: int) -> bool:
        value = np.broadcast_to((distance >= place)[:, None], key.shape).astype(np.float64)
        return bool(abs(callee(query, key, value)[0, 0, row, 0]) <= _HIDDEN)

    if not sees_none(_LONG - 1):
        return _LONG - 1
    return max(0, bisect.bisect_left(range(_LONG), True, key=sees_none) - 1)


def rectangle(callee: Callee, sizes: Sizes, queries: int, keys: int) -> Mask | None:
    """Return the mask for so many queries and keys; None where the function takes no such shapes."""
    try:
        return mask_of(weights(callee, sizes.queries(queries, 0.1), sizes.keys(keys, 0.1)))
    except RefusedError:
        return None


def sinks(callee: Callee, sizes: Sizes, unit: float) -> tuple[tuple[float, ...] | None, float]:
    """Return the sinks by head, None where there are none, and the factor of all weights.

    With queries of 0 the n weights of the last row add up to a·n/(n + exp(sink)): two numbers of keys tell
    the factor a and the sink apart, as well as weights with the relative rounding error ``unit`` can.
    """
    inverse = []
    for keys in (8, 16):
        total = weights(callee, 0 * sizes.queries(keys), sizes.keys(keys))[0, :, -1].sum(axis=-1)
        if not np.isfinite(total).all() or (total <= 0).any():
            return None, math.nan
        inverse.append(1 / total)
    # 1/total = 1/a + exp(sink)/(a·n)
    factor = 1 / (2 * inverse[1] - inverse[0])
    share = factor * 16 * (inverse[0] - inverse[1])
    if not np.allclose(factor, factor[0], rtol=max(_CLOSE, _ROUNDINGS * unit)):
        return None, math.nan
    mean = float(factor.mean())
    room = max(_CLOSE, _ROUNDINGS * unit)
    factor_found = 1.0 if math.isclose(mean, 1, rel_tol=room) else mean
    if (np.abs(share) < room).all():
        return None, factor_found
    return tuple(float(np.log(one)) if one > _CLOSE / 10 else -math.inf for one in share), factor_found


def position_scores(callee: Callee, sizes: Sizes, tokens: int) -> Floats:
    """Return the scores that queries of 0 have, up to a number for each row, [head, query, key].

    Where no key is seen they are -inf.
    """
    found = weights(callee, 0 * sizes.queries(tokens), sizes.keys(tokens))[0]
    seen = found > _HIDDEN
    return np.where(seen, np.log(np.where(seen, found, 1)), -np.inf)


def position_bias(callee: Callee, sizes: Sizes, tokens: int = 12) -> float:
    """Return the largest difference of scores in the last row that is there for queries of 0."""
    last = position_scores(callee, sizes, tokens)[:, -1]
    return max((float(np.ptp(row[np.isfinite(row)])) for row in last if np.isfinite(row).any()), default=0.0)


def groups_of(callee: Callee, sizes: Sizes) -> tuple[tuple[int, int], ...] | None:
    """Return which key head and which value head each query head reads; None where that is not taken.

    Values of key head g are g + 1 everywhere; keys are 0 but for those of one head at a time.
    """
    tokens = 6
    query, keys = sizes.queries(tokens), sizes.keys(tokens, 4.0)
    try:
        value = np.broadcast_to(np.arange(1, sizes.key_heads + 1.0)[:, None, None], keys.shape)
        total = callee(query, np.zeros(value.shape), np.ones(value.shape))[0, :, -1, 0]
        values = callee(query, np.zeros(value.shape), value)[0, :, -1, 0] / total
        moved = np.zeros((sizes.heads, sizes.key_heads))
        for group in range(sizes.key_heads):
            key = np.zeros(keys.shape)
            key[:, group] = keys[:, group]
            last = weights(callee, query, key)[0, :, -1]
            moved[:, group] = np.ptp(last, axis=-1)
    except RefusedError:
        return None
    if not np.isfinite(values).all() or not np.allclose(values, values.round(), atol=_CLOSE):
        return None
    return tuple(
        (int(key), round(value) - 1) for key, value in zip(moved.argmax(axis=1), values, strict=True)
    )
