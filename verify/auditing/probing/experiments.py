"""The experiments of a probe: what weights look like, how scores are made of products, in what precision.

Each could come out otherwise. Weights are read off with one-hot values.
"""

import bisect
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy

from verify.auditing.arrays import LARGEST, unit_roundoff
from verify.auditing.blocks import Floats
from verify.auditing.probing.function import Callee, RefusedError, Sizes
from verify.auditing.reconstruction import explained
from verify.auditing.recording import Call
from verify.auditing.rows import Scales

AXES = ("sequences", "heads", "queries", "keys")
"""What a softmax may run over, by the axes of the weights."""

_CLOSE, _ADDED_UP = 1e-3, 0.01
_ROUNDINGS = 32
_HIDDEN = 1e-20
_SQUARE, _LONG = 72, 520
"""Tokens of the square that a mask is read off, and of that which shows longer windows."""
_FAR, _POINTS = 60.0, 25
_FARTHEST = 10
_TRIALS = 12
UNITS = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24}
"""The relative error of one rounding; double precision is held to the same as single."""

_LEVEL = 1 - 1e-6
_MANY = 4096
_LOSS = 0.01
_MODERATE = 30_000.0
# Distances of neighbouring numbers of size 64 to 128.
_SPACING = {"float16": 2.0**-4, "bfloat16": 0.5}


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
    """Return the mask for as many queries as keys, from 72 tokens."""
    return mask_of(weights(callee, *_short(sizes, _SQUARE, _SQUARE)))


def _short(sizes: Sizes, queries: int, keys: int) -> tuple[Floats, Floats]:
    """Return short vectors: no key that is seen has a weight near 0."""
    return sizes.queries(queries, 0.1), sizes.keys(keys, 0.1)


def with_long_window(callee: Callee, sizes: Sizes, mask: Mask) -> Mask:
    """Return the mask with a window that 520 tokens show; the same where that many are not taken.

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
    found = Mask(shift, None if behind == _LONG - 1 else ahead + behind + 1)
    # Keys that are left out for all queries are no mask of positions: corners find them.
    middle, (query, key) = _LONG // 2, (sizes.queries(_LONG, 0.0), sizes.keys(_LONG, 0.1))
    known = found.visible(_LONG, _LONG)[middle]
    ends = [int(place) for place in np.flatnonzero(known)[[0, -1]]] if known.any() else []
    parts = [(np.arange(_LONG) == end, True) for end in ends] + [(~known, False)]
    for shown, is_seen in parts:
        value = np.broadcast_to(shown[:, None], key.shape).astype(np.float64)
        total = callee(query, key, value)[0, 0, middle, 0]
        if (abs(total) > _HIDDEN) != is_seen:
            return mask
    return found


def _reach(callee: Callee, sizes: Sizes, row: int) -> int:
    """Return how many places away the farthest key is that the first row sees, 0, or the last, -1."""
    distance = np.arange(_LONG) if row == 0 else np.arange(_LONG)[::-1]
    query, key = sizes.queries(_LONG, 0.0), sizes.keys(_LONG, 0.1)

    def sees_none(place: int) -> bool:
        value = np.broadcast_to((distance >= place)[:, None], key.shape).astype(np.float64)
        return bool(abs(callee(query, key, value)[0, 0, row, 0]) <= _HIDDEN)

    if not sees_none(_LONG - 1):
        return _LONG - 1
    return max(0, bisect.bisect_left(range(_LONG), True, key=sees_none) - 1)


def rectangle(callee: Callee, sizes: Sizes, queries: int, keys: int) -> Mask | None:
    """Return the mask for these numbers of queries and keys; None where the function takes no such shapes."""
    try:
        return mask_of(weights(callee, *_short(sizes, queries, keys)))
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
    room, mean = max(_CLOSE, _ROUNDINGS * unit), float(factor.mean())
    # Weights of each key for itself, as sigmoids, add up to ever more.
    if not math.isfinite(mean) or not np.allclose(factor, factor[0], rtol=room):
        return None, math.nan
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
        equal = np.zeros(value.shape)
        total = callee(query, equal, np.ones(value.shape))[0, :, -1, 0]
        values = callee(query, equal, value)[0, :, -1, 0] / total
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


@dataclass(frozen=True)
class AttentionModel:
    """The attention that a function was found to compute, but for its scale.

    ``is_biased`` says that positions change scores.
    """

    mask: Mask
    softcap: float | None = None
    sink: tuple[float, ...] | None = None
    factor: float = 1.0
    normalised: tuple[str, ...] = ()
    is_biased: bool = False


@dataclass(frozen=True)
class MeasuredScale:
    """The scale at one setting, its interval, and how far the output is from the model.

    ``fits`` says whether the model gives the output up to rounding. ``d``, ``h`` and ``n`` are the width, the
    heads and the number of keys.
    """

    d: int
    h: int
    n: int
    dtype: str
    scale: float
    interval: tuple[float, float]
    residual: float
    fits: bool


def normalised(callee: Callee, sizes: Sizes, tokens: int = 8) -> tuple[str, ...]:
    """Return which of "queries" and "keys" are brought to a length of their own: a factor changes nothing."""
    query, key = sizes.queries(tokens), sizes.keys(tokens)
    usual = weights(callee, query, key)
    if not np.nanmax(np.ptp(usual, axis=-1)) > _CLOSE:
        return ()
    changed = {"queries": weights(callee, 3 * query, key), "keys": weights(callee, query, 3 * key)}
    return tuple(
        name for name, other in changed.items() if np.allclose(usual, other, atol=_CLOSE, equal_nan=True)
    )


def small_scale(callee: Callee, sizes: Sizes) -> float:
    """Return the slope of scores by products near 0; 0 where scores do not follow products."""
    size = 1.0
    flat = position_scores(callee, sizes, 4)[0, -1]
    for _ in range(_TRIALS):
        weight = _along(callee, sizes, np.array([0.0, 0.0, 0.0, size]))
        rise = math.inf
        if (weight[2:] > 0).all() and np.isfinite(flat[2:]).all():
            rise = math.log(weight[3] / weight[2]) - (flat[3] - flat[2])
        if not math.isfinite(rise) or abs(rise) > 0.3:
            size /= 8
        elif abs(rise) < 0.01:
            size *= 8
        else:
            return rise / size
    return 0.0


def softcap_of(callee: Callee, sizes: Sizes, scale: float) -> tuple[float | None, bool]:
    """Return the soft-cap, None where there is none, and whether scores are the scaled products but for it.

    Scaled products run from -60 to 0; log weights of the last row show how scores follow them.
    """
    wanted = np.concatenate([np.linspace(-_FAR, 0, _POINTS), np.linspace(-1, 0, 8)])
    weight = _along(callee, sizes, wanted / scale)
    flat = position_scores(callee, sizes, len(wanted))[0, -1]
    if not (np.isfinite(weight).all() and (weight > 0).all() and np.isfinite(flat).all()):
        return None, False
    scores = np.log(weight / weight[_POINTS - 1]) - (flat - flat[_POINTS - 1])
    if np.allclose(scores, wanted, atol=_CLOSE, rtol=_CLOSE):
        return None, True

    def capped(logarithms: Floats) -> Floats:
        cap, slope = np.exp(logarithms)
        return cap * np.tanh(slope * wanted / cap)

    def residuals(logarithms: Floats) -> Floats:
        return (capped(logarithms) - scores) / (1 + np.abs(scores))

    fit = scipy.optimize.least_squares(residuals, [math.log(_FAR / 2), 0.0])
    is_capped = bool(np.allclose(capped(fit.x), scores, atol=_CLOSE, rtol=10 * _CLOSE))
    cap = float(np.exp(fit.x[0]))
    # A cap far beyond the scores is the rounding of a function that has none.
    return (cap if is_capped and cap < _FARTHEST * _FAR else None), is_capped


def _along(callee: Callee, sizes: Sizes, products: Floats) -> Floats:
    """Return the weights of the last row of the first head where its products with the keys are these.

    All vectors lie along one direction.
    """
    direction = sizes.queries(1)[0, 0, 0]
    direction /= np.linalg.norm(direction)
    stretch = math.sqrt(float(np.abs(products).max()))
    query, _ = sizes.rows(np.broadcast_to(stretch * direction, (len(products), sizes.width)))
    _, key = sizes.rows(products[:, None] / stretch * direction)
    return weights(callee, query, key)[0, 0, -1]


def measure(callee: Callee, sizes: Sizes, model: AttentionModel, tokens: int, start: float) -> MeasuredScale:
    """Return the scale on random queries and keys, whose scores at scale ``start`` differ by about 1.

    All heads of two sequences take part, so that a function that mixes them does not fit.
    """
    call = modelled(callee, sizes, model, tokens, start)
    found, scale = explained(call, start)
    known = Scales(found, scale, np.ones(len(scale)), 1 - _LEVEL)
    worst = int(found.worst.argmax())
    value, half = float(known.value[worst]), float(known.half[worst])
    return MeasuredScale(
        d=sizes.width,
        h=sizes.heads,
        n=tokens,
        dtype=callee.dtype,
        scale=value,
        interval=(value - half, value + half),
        residual=math.sqrt(float(found.error[worst]) / (float(found.output[worst]) or 1.0)),
        fits=not found.bad.any(),
    )


def random_arrays(
    callee: Callee, sizes: Sizes, tokens: int, scale: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return queries, keys, values and output of two sequences; scores at ``scale`` differ by about 1."""
    size = (abs(scale) * math.sqrt(sizes.width)) ** -0.5
    arrays = (sizes.queries(tokens, size, 2), sizes.keys(tokens, size, 2), sizes.values(tokens, 2))
    query, key, value = (stored(one, callee.dtype) for one in arrays)
    return query, key, value, callee(query, key, value)


def modelled(callee: Callee, sizes: Sizes, model: AttentionModel, tokens: int, scale: float) -> Call:
    """Return a call with random arrays, and what the model says of it."""
    query, key, value, output = random_arrays(callee, sizes, tokens, scale)
    # A function may go through a coarser type than it is given.
    unit = max(UNITS[callee.dtype], unit_roundoff(output))
    return Call(
        query=_unit(query) if "queries" in model.normalised else query,
        key=_unit(key) if "keys" in model.normalised else key,
        value=value,
        output=output / model.factor,
        mask=model.mask.visible(tokens, tokens),
        bias=position_scores(callee, sizes, tokens)[None] if model.is_biased else None,
        softcap=model.softcap,
        sink=None if model.sink is None else np.array(model.sink),
        dtype=next(name for name, one in UNITS.items() if one == unit),
    )


def stored(array: Floats, dtype: str) -> Floats:
    """Return numbers as an array of this dtype holds them, in float64."""
    return array.astype(dtype).astype(np.float64)


def _unit(array: Floats) -> Floats:
    return array / np.linalg.norm(array, axis=-1, keepdims=True)


@dataclass(frozen=True)
class Precision:
    """How a function computes with arrays of half precision; None where it could not be asked.

    ``sums_in_dtype`` says that the sum over keys loses what the dtype loses; ``scores_in_dtype`` that scores
    are rounded to it before the softmax; ``overflows`` that products beyond its largest number give NaN or
    infinities although they are within its range after the scale.
    """

    dtype: str
    sums_in_dtype: bool | None
    scores_in_dtype: bool | None
    overflows: bool | None


def precision_of(
    callee: Callee, sizes: Sizes, model: AttentionModel, scale: float, dtype: str
) -> Precision | None:
    """Return the precision with arrays of ``dtype``; None where the function does not take them."""
    half = replace(callee, dtype=dtype)
    try:
        half(sizes.queries(4), sizes.keys(4), sizes.values(4))
    except RefusedError:
        return None
    is_plain = model.softcap is None and not model.normalised and sizes.width > 1 and scale > 0
    return Precision(
        dtype,
        _asked(lambda: _rounds_sums(half, sizes, model)),
        _asked(lambda: _rounds_scores(half, sizes, scale)) if is_plain else None,
        _asked(lambda: _overflows(half, sizes, scale)) if is_plain else None,
    )


def _asked(experiment: Callable[[], bool | None]) -> bool | None:
    try:
        return experiment()
    except RefusedError:
        return None


def _rounds_sums(half: Callee, sizes: Sizes, model: AttentionModel) -> bool | None:
    """Add up 4096 equal weights 2^-12, each of which is lost once a sum in half precision is large enough."""
    is_masked = model.mask.shift is not None
    if is_masked and half.library == "numpy":
        return None  # NumPy's products in half precision would take minutes.
    queries = _MANY if is_masked else 1
    query, _ = sizes.rows(np.zeros((queries, sizes.width)))
    _, key = sizes.rows(np.zeros((_MANY, sizes.width)))
    total = half(query, key, key + 1)[0, 0, -1, 0]
    if not math.isfinite(total):
        return None  # Vectors of 0 are none for a function that divides by their length.
    seen = _MANY if model.mask.window is None else min(model.mask.window, _MANY)
    sink = 0.0 if model.sink is None else math.exp(model.sink[0])
    expected = model.factor * seen / (seen + sink)
    return bool(abs(total / expected - 1) >= _LOSS)


def _rounds_scores(half: Callee, sizes: Sizes, scale: float) -> bool | None:
    """Give two keys scaled scores near 90 that differ by a quarter of what rounding to the dtype keeps."""
    step = _SPACING[half.dtype]
    long = 2.0 ** round(math.log2(90 / scale) / 2)
    query, key = 0 * sizes.queries(4), 0 * sizes.keys(4)
    query[..., :2] = long, 1
    key[:, :, :2, 0] = stored(np.array(90 / scale / long), "bfloat16")
    key[:, :, 1, 1] = stored(np.array(step / 4 / scale), "bfloat16")
    apart = scale * float(key[0, 0, 1, 1])
    if not 64 < scale * long * float(key[0, 0, 0, 0]) < 127:
        return None
    last = weights(half, query, key)[0, 0, -1]
    if not (last[:2] > 0).all():
        return None
    return bool(abs(math.log(last[1] / last[0]) - apart) > apart / 2)


def _overflows(half: Callee, sizes: Sizes, scale: float) -> bool | None:
    """Give all keys the same product beyond the dtype's largest number: their weights should be equal."""
    product = 1.25 * LARGEST[half.dtype]
    if half.dtype == "bfloat16" or scale * product > _MODERATE:
        return None
    query, key = 0 * sizes.queries(4), 0 * sizes.keys(4)
    query[..., 0] = key[..., 0] = math.sqrt(product)
    return bool(not np.isfinite(weights(half, query, key)[0, 0, -1]).all())
