"""What an attention function computes, from what it makes of chosen arrays.

Weights are read off with one-hot values, scores off the logarithms of weights. Each experiment rests on those
before it: what is not softmax(c·QKᵀ + mask)·V, with a soft-cap or sinks perhaps, ends them with what it is.
"""

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from verify.auditing.arrays import unit_roundoff
from verify.auditing.formula import FACTOR, SCALE, Flags, Floats, Formula, Rows, compare, pool
from verify.auditing.probing.function import Kernel, RefusedError, Sizes
from verify.auditing.recording import Call

UNITS = {"float64": 2.0**-24, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
"""The relative error of one rounding; double precision is judged as single precision is."""

GROUPINGS: dict[str, Callable[[int, int], list[int]]] = {
    "interleaved": lambda heads, key_heads: [head * key_heads // heads for head in range(heads)],
    "tiled": lambda heads, key_heads: [head % key_heads for head in range(heads)],
}
"""The key head that each query head reads, in PyTorch's words: repeat_interleave (enable_gqa), or repeat."""

MOST_KEYS = 4099

_AXES = ("sequences", "heads", "queries", "keys")  # what a softmax may run over: the axes of the weights
_CLOSE, _ADDED_UP = 1e-3, 0.01
_HIDDEN = 1e-20  # a weight of keys that are hidden, at most
_BIASED = 1e-4  # differences of scores beyond which positions change them
_SQUARE, _TOKENS = 72, 16
_FAR = 60.0


@dataclass(frozen=True)
class Model:
    """The attention that a function computes, for arrays of any size.

    ``scale`` is that of the arrays that were tried, NaN where nothing gives it. Queries see keys up to
    ``shift`` places on, at most ``window`` of them; all where these are None. ``alignment`` says how that
    lies where there are fewer or more queries than keys, "top-left" or "bottom-right", None where it is
    neither. ``dtype`` is what it computes in if that is coarser than its arrays are.
    """

    scale: float = math.nan
    shift: int | None = None
    window: int | None = None
    alignment: str | None = None
    softcap: float | None = None
    sink: tuple[float, ...] | None = None
    groups: str = "interleaved"
    dtype: str = "float64"

    def visible(self, queries: int, keys: int) -> Flags:
        """Return which keys queries see, [query, key].

        Raises:
            RefusedError: it is not known for these sizes.
        """
        ahead = np.arange(keys) - np.arange(queries)[:, None]
        if self.shift is None:
            return np.ones(ahead.shape, bool)
        if queries != keys and self.alignment is None:
            raise RefusedError("how its mask lies there is not known")
        ahead -= keys - queries if self.alignment == "bottom-right" else 0
        seen: Flags = ahead <= self.shift
        return seen if self.window is None else seen & (ahead > self.shift - self.window)

    def call(self, query: Floats, key: Floats, value: Floats, output: Floats, unit: float) -> Call:
        """Return the call that this model makes of arrays, with the output of the function.

        It is computed in the finest type whose rounding, ``unit`` at least, is that of the model.
        """
        order = GROUPINGS[self.groups](query.shape[1], key.shape[1])
        unit = max(unit, UNITS[self.dtype], unit_roundoff(output))
        return Call(
            query=query,
            key=key[:, order],
            value=value[:, order],
            output=output,
            mask=self.visible(query.shape[2], key.shape[2]),
            softcap=self.softcap,
            sink=None if self.sink is None else np.array(self.sink),
            dtype=next(name for name in ("float32", "float16", "bfloat16") if UNITS[name] >= unit),
        )


class Identity(NamedTuple):
    """What a function is; ``faults`` are no attention's, and what is ``unexplained`` may be meant.

    ``coarse`` says whether sums over keys of float16 lose what float16 loses, None where it was not tried.
    """

    model: Model = Model()
    coarse: bool | None = None
    faults: tuple[str, ...] = ()
    unexplained: tuple[str, ...] = ()


def identify(kernel: Kernel, sizes: Sizes) -> Identity:
    """Return what all experiments say of a function.

    Raises:
        RefusedError: the function does not take usual arrays, or is not the same twice.
    """
    query, key, _ = sizes.arrays(6, 6, 2)
    usual, again = (_weights(kernel, query, key) for _ in range(2))
    if not np.isfinite(usual).all():
        raise RefusedError("returned NaN or infinities for moderate numbers")
    if not np.allclose(usual, again, rtol=_CLOSE, atol=_CLOSE):
        raise RefusedError("gives another output for the same arrays; switch dropout off")
    axes = [
        name
        for place, name in enumerate(_AXES)
        if usual.shape[place] > 1 and np.allclose(usual.sum(axis=place), 1, atol=_ADDED_UP)
    ]
    if len(axes) == 1 and axes != ["keys"]:
        return Identity(faults=(f"the softmax is over the {axes[0]}, not the keys",))
    sink, factor = _sinks(kernel, sizes, unit_roundoff(usual))
    if math.isnan(factor):
        return Identity(
            faults=("the weights of a row do not add up to 1: there is no softmax over the keys",)
        )
    if factor != 1:
        return Identity(faults=(f"the weights are multiplied by {factor:.4g} after the softmax",))
    query, key, _ = sizes.arrays(12, 12)
    rows = _weights(kernel, 0 * query, key)[0, :, -1]
    apart = max((float(np.ptp(np.log(row[row > _HIDDEN]))) for row in rows if row.any()), default=0.0)
    if apart > _BIASED:
        return Identity(unexplained=(f"positions change scores by up to {apart:.4g}",))
    mask = _mask(kernel, sizes)
    if mask is None or mask.window == 1:
        # So it looks where the function takes tokens for heads.
        turned = "each query sees its own key only: turn arrays to the axes [sequence, head, token, d]"
        return Identity(unexplained=("keys are hidden by no rule of positions" if mask is None else turned,))
    return _fitted(kernel, sizes, replace(mask, sink=sink))


def _fitted(kernel: Kernel, sizes: Sizes, model: Model) -> Identity:
    """Return what a function with this mask and these sinks is, whose rows are compared with the formula."""
    faults: tuple[str, ...] = ()
    if model.shift:
        faults = (f"the mask is causal, but off by {model.shift:+d}",)
    slope = _small_scale(kernel, sizes)
    model = replace(model, softcap=_softcap(kernel, sizes, slope) if slope else None)
    start = slope or sizes.width**-0.5
    # All heads take part, so that a function that mixes them does not fit.
    stretch = (abs(start) * math.sqrt(sizes.width)) ** -0.5
    arrays = sizes.arrays(_TOKENS, _TOKENS, 2, stretch=stretch, dtype=kernel.dtype)
    output = kernel(*arrays)
    if not np.isfinite(output).all():
        raise RefusedError("returned NaN or infinities for moderate numbers")
    misfits = []
    for groups in GROUPINGS:
        # A function may compute more coarsely than its arrays are.
        for dtype in ("float32", "float16", "bfloat16"):
            fit = replace(model, groups=groups, dtype=dtype)
            call = fit.call(*arrays, output, UNITS[kernel.dtype])
            scale = fitted_scale(call, start)
            if misfit := misfit_of(compare(Formula(call, scale))):
                misfits.append(misfit)
                continue
            fit, unexplained = replace(fit, scale=scale), tuple[str, ...]()
            if UNITS[dtype] > max(UNITS[kernel.dtype], unit_roundoff(output)):
                unexplained = (f"rows are the formula's to the rounding of {dtype} only",)
            fit = replace(fit, dtype=call.dtype)
            return Identity(fit, _coarse(kernel, sizes, fit), faults, unexplained)
    fault = f"the output is not softmax(c·QKᵀ + mask)·V for any c: {misfits[0]}"
    return Identity(model, faults=(*faults, f"{fault}; an audit of its arrays may name the mistake"))


def _weights(kernel: Kernel, query: Floats, key: Floats) -> Floats:
    """Return what the function weights each key's value with, [sequence, head, query, key].

    Values are one-hot, as many keys at a time as values have components.
    """
    width, keys = key.shape[3], key.shape[2]
    parts = []
    for start in range(0, keys, width):
        count = min(width, keys - start)
        value = np.zeros(key.shape)
        value[:, :, np.arange(start, start + count), np.arange(count)] = 1
        parts.append(kernel(query, key, value)[..., :count])
    return np.concatenate(parts, axis=-1)


def _sinks(kernel: Kernel, sizes: Sizes, unit: float) -> tuple[tuple[float, ...] | None, float]:
    """Return the sinks by head, None where there are none, and the factor of all weights, NaN where none is.

    With queries of 0 the n weights of the last row add up to a·n/(n + exp(sink)): two numbers of keys tell
    the factor a and the sink apart, as well as weights with the relative rounding error ``unit`` can.
    """
    totals = []
    for keys in (8, 16):
        query, key, _ = sizes.arrays(keys, keys)
        totals.append(_weights(kernel, 0 * query, key)[0, :, -1].sum(axis=-1))
    # 1/total = 1/a + exp(sink)/(a·n)
    few, many = 1 / np.array(totals)
    factor = 1 / (2 * many - few)
    share = factor * 16 * (few - many)
    room, mean = max(_CLOSE, 32 * unit), float(factor.mean())
    # Weights of each key for itself, as sigmoids, add up to ever more.
    if not np.isfinite(share).all() or factor[0] <= 0 or not np.allclose(factor, factor[0], rtol=room):
        return None, math.nan
    factor_of_all = 1.0 if math.isclose(mean, 1, rel_tol=room) else mean
    if (np.abs(share) < room).all():
        return None, factor_of_all
    return tuple(float(np.log(e)) if e > _CLOSE / 10 else -math.inf for e in share), factor_of_all


def _mask(kernel: Kernel, sizes: Sizes) -> Model | None:
    """Return the rule of positions by which keys are hidden, None where they are by another."""

    def seen(queries: int, keys: int) -> Flags | None:
        """Return which keys queries see, None where heads differ in that."""
        query, key, _ = sizes.arrays(queries, keys)
        # Short vectors: no key that is seen has a weight near 0. Rows that are all NaN see none.
        shown = np.abs(np.nan_to_num(_weights(kernel, 0.1 * query, 0.1 * key))) > _HIDDEN
        first: Flags = shown[0, 0]
        return first if first.any() and (shown == first).all() else None

    square = seen(_SQUARE, _SQUARE)
    if square is None or square.all():
        return None if square is None else Model()
    ahead = (np.arange(_SQUARE) - np.arange(_SQUARE)[:, None])[square]
    last = int(ahead.max())
    rules = Model(shift=last), Model(shift=last, window=last - int(ahead.min()) + 1)
    rule = next((rule for rule in rules if np.array_equal(rule.visible(_SQUARE, _SQUARE), square)), None)
    if rule is None:
        return None
    rectangles: dict[tuple[int, int], Any] = {}
    for shape in ((5, 9), (9, 5)):
        with suppress(RefusedError):
            rectangles[shape] = seen(*shape)
    for alignment in ("top-left", "bottom-right") if rectangles else ():
        aligned = replace(rule, alignment=alignment)
        if all(np.array_equal(aligned.visible(*shape), shown) for shape, shown in rectangles.items()):
            return aligned
    return rule


def _last_row(kernel: Kernel, sizes: Sizes, products: Floats) -> Floats:
    """Return the scores of the last row of the first head, up to a number, for these products with the keys.

    All vectors lie along one direction.
    """
    direction = sizes.arrays(1, 1)[0][0, 0, 0]
    direction /= np.linalg.norm(direction)
    stretch = math.sqrt(float(np.abs(products).max()))
    shape = (len(products), sizes.width)
    query = np.broadcast_to(stretch * direction, (1, sizes.heads, *shape))
    key = np.broadcast_to(products[:, None] / stretch * direction, (1, sizes.key_heads, *shape))
    with np.errstate(all="ignore"):
        scores: Floats = np.log(_weights(kernel, query, key)[0, 0, -1])
    return scores


def _small_scale(kernel: Kernel, sizes: Sizes) -> float:
    """Return the slope of scores by products near 0; 0 where scores do not follow products."""
    size = 1.0
    for _ in range(12):
        last = _last_row(kernel, sizes, np.array([0.0, 0.0, 0.0, size]))
        rise = float(last[3] - last[2])
        if math.isfinite(rise) and 0.01 <= abs(rise) <= 0.3:
            return rise / size
        size *= 8 if abs(rise) < 0.01 else 1 / 8
    return 0.0


def _softcap(kernel: Kernel, sizes: Sizes, scale: float) -> float | None:
    """Return the soft-cap c, None where there is none: c·tanh(s/c) of scaled products s from -60 to 0."""
    products = np.concatenate([np.linspace(-_FAR, -1, 24), np.linspace(-1, 0, 8)])
    scores = _last_row(kernel, sizes, products / scale)
    scores -= scores[-1]
    # A cap far beyond the scores is the rounding of a function that has none.
    if not np.isfinite(scores).all() or not -0.99 * _FAR < scores[0] < 0:
        return None
    cap = brentq(lambda c: c * math.tanh(_FAR / c) + scores[0], -scores[0] / 2, 100 * _FAR)
    is_capped = np.allclose(cap * np.tanh(products / cap), scores, atol=_CLOSE, rtol=0.05)
    return float(cap) if is_capped else None


def fitted_scale(call: Call, start: float) -> float:
    """Return the scale that fits a call's output best, by Newton's method from ``start``."""
    scale = float(start)
    for _ in range(30):
        rows = compare(Formula(call, scale))
        step = float(np.clip(np.nan_to_num(pool(rows, SCALE, rows.is_compared)[0]).mean(), -0.9, 4.0))
        scale *= 1 + step
        if abs(step) < 1e-9:
            break
    return scale


def misfit_of(rows: Rows, room: float = 1.0) -> str:
    """Return in words how an output is not the formula's, nothing where it is.

    What rounding hides in one row, all rows of a head show: a factor or another scale, of more than 1%.
    """
    bad = rows.is_compared & (rows.ratio > room) | (rows.is_off & ~rows.written)
    if bad.any():
        relative = np.where(bad & rows.written, rows.error / np.maximum(rows.size, 1e-300), 0.0)
        worst = f", the worst by {relative.max():.2g} of its size" if relative.any() else ", not finite"
        return f"{int(bad.sum())} of {int((rows.keys > 0).sum())} rows are wrong{worst}"
    for direction, what in ((FACTOR, "outputs are"), (SCALE, "the scale is")):
        factor, error = pool(rows, direction, rows.is_good)
        if (off := np.abs(factor) > np.maximum(0.01, 8 * error)).any():
            return f"{what} {1 + factor[off][0]:.4g} times the formula's"
    return ""


def _coarse(kernel: Kernel, sizes: Sizes, model: Model) -> bool | None:
    """Return whether sums over keys of float16 lose what float16 loses, None where it cannot be tried.

    Of 4,096 equal weights each is lost once a sum in half precision is large enough.
    """
    many = 4096
    if model.shift is not None and kernel.library == "numpy":
        return None  # NumPy's products in half precision would take minutes
    query, key, value = sizes.arrays(1 if model.shift is None else many, many)
    with suppress(RefusedError):
        total = replace(kernel, dtype="float16")(0 * query, 0 * key, 0 * value + 1)[0, 0, -1, 0]
        seen, sink = min(model.window or many, many), math.exp(model.sink[0]) if model.sink else 0.0
        return bool(abs(total * (seen + sink) / seen - 1) >= _ADDED_UP)
    return None
