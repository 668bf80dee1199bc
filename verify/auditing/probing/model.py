"""What an attention function computes, from what it makes of chosen arrays.

Weights are read off with one-hot values, scores off the logarithms of weights. Each experiment rests on those
before it: what is not softmax(c·QKᵀ + mask)·V, with a soft-cap or sinks perhaps, ends them with what it is.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import scipy

from verify.auditing.arrays import unit_roundoff
from verify.auditing.formula import FACTOR, SCALE, Flags, Floats, Formula, Rows, compare, pool
from verify.auditing.probing.function import Kernel, RefusedError, Sizes
from verify.auditing.recording import Call
from verify.auditing.scales import scale_expression

AXES = ("sequences", "heads", "queries", "keys")
"""What a softmax may run over, by the axes of the weights."""

UNITS = {"float64": 2.0**-24, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
"""The relative error of one rounding; double precision is judged as single precision is."""

GROUPINGS: dict[str, Callable[[int, int], list[int]]] = {
    "interleaved": lambda heads, key_heads: [head * key_heads // heads for head in range(heads)],
    "tiled": lambda heads, key_heads: [head % key_heads for head in range(heads)],
}
"""The key head that each query head reads, in PyTorch's words: repeat_interleave (enable_gqa), or repeat."""

_CLOSE, _ADDED_UP = 1e-3, 0.01
_HIDDEN = 1e-20  # a weight of keys that are hidden, at most
_BIASED = 1e-4  # differences of scores beyond which positions change them
_SQUARE, _MANY = 72, 4096
_FAR = 60.0
_FORMULAS = (
    *("1", "1/sqrt(d)", "1/d", "1/sqrt(h)", "1/sqrt(d*h)", "1/sqrt(n)", "1/n", "d**-0.25", "sqrt(d)"),
    *("log(n)", "log(n)/sqrt(d)", "log(n)/d"),
)
"""What scales of programs follow, with a number before it; the first that fits is given."""


@dataclass(frozen=True)
class Model:
    """The attention that a function computes, for arrays of any size.

    Queries see keys up to ``shift`` places on, at most ``window`` of them; all where these are None.
    ``alignment`` says how that lies where there are fewer or more queries than keys, "top-left" or
    "bottom-right", None where it is neither. ``dtype`` is what it computes in if that is coarser than its
    arrays are.
    """

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

    def call(self, query: Floats, key: Floats, value: Floats, output: Floats, dtype: str) -> Call:
        """Return the call that this model makes of arrays of a dtype, with the output of the function."""
        order = GROUPINGS[self.groups](query.shape[1], key.shape[1])
        return Call(
            query=query,
            key=key[:, order],
            value=value[:, order],
            output=output,
            mask=self.visible(query.shape[2], key.shape[2]),
            softcap=self.softcap,
            sink=None if self.sink is None else np.array(self.sink),
            dtype=dtype,
        )


class MeasuredScale(NamedTuple):
    """The scale with width ``d``, ``h`` heads and ``n`` keys, ± ``half``.

    ``misfit`` says how the output is not the formula's with it, and is empty where it is.
    """

    d: int
    h: int
    n: int
    dtype: str
    scale: float
    half: float = 0.0
    misfit: str = ""

    @property
    def is_half(self) -> bool:
        """Whether arrays were of half precision."""
        return self.dtype in ("float16", "bfloat16")

    def value(self, expression: str) -> float:
        """Return the value of an expression in d, h, D = d·h and n at this setting."""
        return scale_expression(expression).value(d=self.d, h=self.h, D=self.d * self.h, n=self.n)

    def __str__(self) -> str:
        return f"d = {self.d}, h = {self.h}, n = {self.n} in {self.dtype}"


class Identity(NamedTuple):
    """What a function is; ``faults`` are no attention's, and what is ``unexplained`` may be meant.

    ``coarse`` says of types of half precision whether sums over keys lose what these lose.
    """

    model: Model = Model()
    scales: tuple[MeasuredScale, ...] = ()
    coarse: Mapping[str, bool] = MappingProxyType({})
    faults: tuple[str, ...] = ()
    unexplained: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


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
        for place, name in enumerate(AXES)
        if usual.shape[place] > 1 and np.allclose(usual.sum(axis=place), 1, atol=_ADDED_UP)
    ]
    if len(axes) == 1 and axes != ["keys"]:
        return Identity(faults=(f"the softmax is over the {axes[0]}, not the keys",))
    sink, factor = _sinks(kernel, sizes, unit_roundoff(usual))
    if factor != 1:
        fault = f"the weights are multiplied by {factor:.4g} after the softmax"
        if math.isnan(factor):
            fault = "the weights of a row do not add up to 1: there is no softmax over the keys"
        return Identity(faults=(fault,))
    query, key, _ = sizes.arrays(12, 12)
    rows = _weights(kernel, 0 * query, key)[0, :, -1]
    apart = max((float(np.ptp(np.log(row[row > _HIDDEN]))) for row in rows if row.any()), default=0.0)
    if apart > _BIASED:
        return Identity(unexplained=(f"positions change scores by up to {apart:.4g}",))
    mask = _mask(kernel, sizes)
    if mask is None:
        return Identity(unexplained=("keys are hidden by no rule of positions",))
    return _fitted(kernel, sizes, replace(mask, sink=sink))


def _fitted(kernel: Kernel, sizes: Sizes, model: Model) -> Identity:
    """Return what a function with this mask and these sinks is, whose rows are compared with the formula."""
    faults: tuple[str, ...] = ()
    if model.shift and model.window != 2 * model.shift + 1:
        faults = (f"the mask is causal, but off by {model.shift:+d}",)
    slope = _small_scale(kernel, sizes)
    start = slope or sizes.width**-0.5
    model = replace(model, softcap=_softcap(kernel, sizes, slope) if slope else None)
    tried = [replace(model, groups=groups) for groups in GROUPINGS]
    fits = [(other, *measure(kernel, sizes, other, 16, start)) for other in tried]
    model, first, call = next((fit for fit in fits if not fit[1].misfit), fits[0])
    if first.misfit:
        fault = f"the output is not softmax(c·QKᵀ + mask)·V for any c: {first.misfit}"
        return Identity(model, faults=(*faults, f"{fault}; an audit of its arrays may name the mistake"))
    model = replace(model, dtype=call.dtype)
    scales, coarse, notes = _varied(kernel, sizes, model, first)
    faults += tuple(
        f"with {scale} it is not this attention: {scale.misfit}" for scale in scales if scale.misfit
    )
    unexplained: tuple[str, ...] = ()
    if UNITS[model.dtype] > max(UNITS[kernel.dtype], unit_roundoff(np.asarray(call.output))):
        unexplained = (f"rows are the formula's to the rounding of {model.dtype} only",)
    return Identity(model, scales, coarse, faults, unexplained, notes)


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
    last, width = int(ahead.max()), int(ahead.max() - ahead.min()) + 1
    rules = [Model(last), Model(last, width)] if width > 1 else []
    fitting = [rule for rule in rules if np.array_equal(rule.visible(_SQUARE, _SQUARE), square)]
    if not fitting:
        return None
    rectangles: dict[tuple[int, int], Any] = {}
    for shape in ((5, 9), (9, 5)):
        with suppress(RefusedError):
            rectangles[shape] = seen(*shape)
    for alignment in ("top-left", "bottom-right") if rectangles else ():
        rule = replace(fitting[0], alignment=alignment)
        if all(np.array_equal(rule.visible(*shape), shown) for shape, shown in rectangles.items()):
            return rule
    return fitting[0]


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
    """Return the soft-cap, None where there is none: scaled products run from -60 to 0."""
    products = np.concatenate([np.linspace(-_FAR, -1, 24), np.linspace(-1, 0, 8)])
    scores = _last_row(kernel, sizes, products / scale)
    scores -= scores[-1]
    if not np.isfinite(scores).all() or np.allclose(scores, products, atol=_CLOSE, rtol=_CLOSE):
        return None

    def capped(cap: float, slope: float) -> Floats:
        bent: Floats = cap * np.tanh(slope * products / cap)
        return bent

    def residuals(fitted: Floats) -> Floats:
        apart: Floats = (capped(*fitted) - scores) / (1 + np.abs(scores))
        return apart

    fit = scipy.optimize.least_squares(residuals, [_FAR / 2, 1.0])
    # A cap far beyond the scores is the rounding of a function that has none.
    is_capped = np.allclose(capped(*fit.x), scores, atol=_CLOSE, rtol=10 * _CLOSE) and fit.x[0] < 10 * _FAR
    return float(fit.x[0]) if is_capped else None


def measure(
    kernel: Kernel, sizes: Sizes, model: Model, tokens: int, start: float
) -> tuple[MeasuredScale, Call]:
    """Return the scale that fits random arrays whose scores at scale ``start`` differ by about 1.

    With it comes the call, in the finest dtype whose rounding all rows are within. All heads take part, so
    that a function that mixes them does not fit.
    """
    stretch = (abs(start) * math.sqrt(sizes.width)) ** -0.5
    arrays = sizes.arrays(tokens, tokens, 2, stretch=stretch, dtype=kernel.dtype)
    output = kernel(*arrays)
    if not np.isfinite(output).all():
        raise RefusedError("returned NaN or infinities for moderate numbers")
    call = model.call(*arrays, output, "float32")
    scale = np.full(sizes.heads, float(start))
    for _ in range(20):
        rows = compare(Formula(call, scale))
        step, error = pool(rows, SCALE, rows.is_compared)
        step = np.clip(step, -0.9, 4.0)
        scale = scale * (1 + step)
        if np.abs(step).max() < 1e-9:
            break
    # A function may compute more coarsely than its arrays are: as its output's digits or its errors say.
    finest = max(UNITS[kernel.dtype], unit_roundoff(output))
    for dtype in [name for name in ("float32", "float16", "bfloat16") if UNITS[name] >= finest]:
        call = replace(call, dtype=dtype)
        if not (misfit := misfit_of(compare(Formula(call, scale)))):
            break
    half = 6 * float((np.abs(scale) * np.where(np.isfinite(error), error, 0.0)).max())
    half = max(half, float(np.ptp(scale)))
    setting = (sizes.width, sizes.heads, tokens, kernel.dtype)
    return MeasuredScale(*setting, float(scale.mean()), half, misfit), call


def misfit_of(rows: Rows, room: float = 1.0) -> str:
    """Return in words how an output is not the formula's, nothing where it is.

    What rounding hides in one row, all rows of a head show: a factor of more than 1%.
    """
    bad = rows.is_compared & (rows.ratio > room) | (rows.is_off & ~rows.written)
    if bad.any():
        relative = np.where(bad & rows.written, rows.error / np.maximum(rows.size, 1e-300), 0.0)
        worst = f", the worst by {relative.max():.2g} of its size" if relative.any() else ", not finite"
        return f"{int(bad.sum())} of {int((rows.keys > 0).sum())} rows are wrong{worst}"
    factor, error = pool(rows, FACTOR, rows.is_good)
    off = np.abs(factor) > np.maximum(0.01, 8 * error)
    return f"all rows together are {1 + factor[off][0]:.4g} times the formula's" if off.any() else ""


def _varied(
    kernel: Kernel, sizes: Sizes, model: Model, first: MeasuredScale
) -> tuple[tuple[MeasuredScale, ...], dict[str, bool], tuple[str, ...]]:
    """Return the scale with width, heads, tokens and types varied, types whose sums are coarse, and notes."""
    wider, narrower = (sizes._replace(width=max(1, round(times * sizes.width))) for times in (2, 0.5))
    more = sizes._replace(heads=2 * sizes.heads, key_heads=2 * sizes.key_heads)
    scales, coarse, notes = [first], {}, []
    for what, others, tokens in (
        ("d_k", (wider, narrower), 16),
        ("the number of heads", (more,) if model.sink is None else (), 16),
        ("the number of tokens", (sizes,), 32),
    ):
        try:
            for other in others:
                start = _small_scale(kernel, other) or first.scale
                scales.append(measure(kernel, other, model, tokens, start)[0])
        except RefusedError:
            notes.append(f"{what} could not be varied: nothing is known of how the scale follows it")
    for dtype in ("float16", "bfloat16"):
        with suppress(RefusedError):
            half = replace(kernel, dtype=dtype)
            scales.append(measure(half, sizes, model, 64, first.scale)[0])
            if model.shift is not None and kernel.library == "numpy":
                continue  # NumPy's products in half precision would take minutes
            # Of 4096 equal weights each is lost once a sum in half precision is large enough.
            query, key, value = sizes.arrays(1 if model.shift is None else _MANY, _MANY)
            total = half(0 * query, 0 * key, 0 * value + 1)[0, 0, -1, 0]
            seen, sink = min(model.window or _MANY, _MANY), math.exp(model.sink[0]) if model.sink else 0.0
            coarse[dtype] = bool(abs(total * (seen + sink) / seen - 1) >= _ADDED_UP)
    return tuple(scales), coarse, tuple(notes)


def formula_of(scales: Sequence[MeasuredScale]) -> str | None:
    """Return an expression that gives every scale: a number, or a number times one of `_FORMULAS`."""
    first = scales[0]
    for form in _FORMULAS:
        text, size = form, first.scale / first.value(form)
        if not math.isclose(size, 1, rel_tol=_CLOSE):
            numbers = [f"{float(f'{size:.{digits}g}'):g}" for digits in (1, 2, 3, 4, 6)]
            near = [number for number in numbers if math.isclose(float(number), size, rel_tol=1e-5)]
            number = [*near, numbers[-1]][0]
            text = f"{number}{form[1:]}" if form.startswith("1") else f"{number}*{form}"
        if all(math.isclose(scale.value(text), scale.scale, rel_tol=_CLOSE) for scale in scales):
            return text
    return None
