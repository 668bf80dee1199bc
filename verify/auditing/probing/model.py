"""What an attention function computes, read off what it makes of chosen inputs.

Weights are read off with one-hot values; scores off the logarithms of weights. Each experiment could come out
otherwise.
"""

import bisect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import scipy

from verify.auditing.arrays import unit_roundoff
from verify.auditing.audit import audit
from verify.auditing.formula import FACTOR, SCALE, Flags, Floats, Formula, Rows, compare, pool
from verify.auditing.probing.function import Callee, RefusedError, Sizes
from verify.auditing.recording import Call
from verify.auditing.scales import scale_expression

AXES = ("sequences", "heads", "queries", "keys")
"""What a softmax may run over, by the axes of the weights."""

ALIGNMENTS = ("top-left", "bottom-right")
"""How a causal mask of other numbers of queries than keys can lie."""

UNITS = {"float64": 2.0**-24, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
"""The relative error of one rounding; double precision is held to the same as single."""

_CLOSE, _ADDED_UP = 1e-3, 0.01
_HIDDEN = 1e-20
_SQUARE, _LONG, _MANY = 72, 520, 4096
_FAR, _POINTS = 60.0, 25
_FORMULAS = (
    *("1", "1/sqrt(d)", "1/d", "1/sqrt(h)", "1/sqrt(d*h)", "1/sqrt(n)", "1/n", "d**-0.25", "sqrt(d)"),
    *("log(n)", "log(n)/sqrt(d)", "log(n)/d"),
)
"""What scales of programs follow, with a number before it; the first that fits is given."""


class Mask(NamedTuple):
    """Which keys queries see: those up to ``shift`` places on, at most ``window`` of them; all where None.

    ``known`` is False where no such rule gives what was seen.
    """

    shift: int | None = None
    window: int | None = None
    known: bool = True

    def visible(self, queries: int, keys: int) -> Flags:
        """Return whether a query sees a key, shape [queries, keys]."""
        ahead = np.arange(keys) - np.arange(queries)[:, None]
        last = math.inf if self.shift is None else self.shift
        first = -math.inf if self.window is None else (self.shift or 0) - self.window + 1
        seen: Flags = (ahead <= last) & (ahead >= first)
        return seen


EVERYTHING = Mask()


class MeasuredScale(NamedTuple):
    """The scale at one setting, and how far the output is from the formula with it.

    ``d``, ``h`` and ``n`` are the width, the heads and the number of keys; ``half`` is half the width of the
    scale's interval. ``misfit`` is empty where all rows are the formula's up to rounding.
    """

    d: int
    h: int
    n: int
    dtype: str
    scale: float
    half: float
    misfit: str = ""

    def value(self, expression: str) -> float:
        """Return the value of an expression in d, h, D = d·h and n at this setting."""
        return scale_expression(expression).value(d=self.d, h=self.h, D=self.d * self.h, n=self.n)


@dataclass(frozen=True)
class Model:
    """The attention that a function was found to compute, for arrays of any size.

    ``wide`` and ``tall`` say how a mask of fewer and of more queries than keys lies, None where that is not
    known or there is none. ``factor`` multiplies the output; ``order`` is which key head each query head
    reads, by the number of both. ``is_biased`` says that positions change scores. ``dtype`` is
    what it computes in where that is coarser than its arrays.
    """

    mask: Mask = EVERYTHING
    wide: str | None = None
    tall: str | None = None
    softcap: float | None = None
    sink: tuple[float, ...] | None = None
    factor: float = 1.0
    order: Callable[[int, int], Sequence[int]] = lambda heads, keys: [h * keys // heads for h in range(heads)]
    is_biased: bool = False
    dtype: str = "float64"

    def visible(self, queries: int, keys: int) -> Flags:
        """Return which keys queries see, [query, key].

        Raises:
            RefusedError: it is not known for these sizes.
        """
        shift, lies = self.mask.shift, "top-left"
        if queries != keys and (shift is not None or self.mask.window is not None):
            lies = (self.wide if queries < keys else self.tall) or ""
            if not lies:
                raise RefusedError("how its mask lies there is not known")
        moved = keys - queries if lies == "bottom-right" and shift is not None else 0
        return self.mask._replace(shift=None if shift is None else shift + moved).visible(queries, keys)

    def call(self, query: Floats, key: Floats, value: Floats, output: Floats, dtype: str) -> Call:
        """Return the call that this model makes of arrays of a dtype, with the output of the function."""
        order = list(self.order(query.shape[1], key.shape[1]))
        return Call(
            query=query,
            key=key[:, order],
            value=value[:, order],
            output=output,
            mask=self.visible(query.shape[2], key.shape[2]) if self.mask.known else None,
            softcap=self.softcap,
            sink=None if self.sink is None else np.array(self.sink),
            dtype=dtype,
        )


def stored(array: Floats, dtype: str) -> Floats:
    """Return numbers as an array of this dtype holds them, in float64."""
    return array.astype(dtype).astype(np.float64)


def weights(callee: Callee, query: Floats, key: Floats) -> Floats:
    """Return what the function weights each key's value with, [sequence, head, query, key].

    Values are one-hot, as many keys at a time as values have components.
    """
    width, keys = key.shape[3], key.shape[2]
    parts = []
    for start in range(0, keys, width):
        count = min(width, keys - start)
        value = np.zeros(key.shape)
        value[:, :, np.arange(start, start + count), np.arange(count)] = 1
        parts.append(callee(query, key, value)[..., :count])
    return np.concatenate(parts, axis=-1)


def axis_of(found: Floats) -> str | None:
    """Return what the weights add up to 1 over; None where there is no such axis, or more than one."""
    fitting = [
        name
        for place, name in enumerate(AXES)
        if found.shape[place] > 1 and np.allclose(found.sum(axis=place), 1, atol=_ADDED_UP)
    ]
    return fitting[0] if len(fitting) == 1 else None


def mask_of(callee: Callee, sizes: Sizes, queries: int, keys: int) -> tuple[Mask, Flags]:
    """Return the rule by which keys are hidden, and what the first head sees, [query, key]."""
    query, key, _ = sizes.arrays(queries, keys)
    # Short vectors: no key that is seen has a weight near 0. Rows that are all NaN see none.
    found = np.abs(np.nan_to_num(weights(callee, 0.1 * query, 0.1 * key))) > _HIDDEN
    seen: Flags = found[0, 0]
    ahead = (np.arange(keys) - np.arange(queries)[:, None])[seen]
    if seen.all() or not ahead.size or not (found == seen).all():
        return Mask(known=bool(found.all())), seen
    last, width = int(ahead.max()), int(ahead.max() - ahead.min()) + 1
    for rule in (Mask(last), Mask(last, width)):
        if width > 1 and np.array_equal(rule.visible(queries, keys), seen):
            return rule, seen
    return Mask(known=False), seen


def with_long_window(callee: Callee, sizes: Sizes, mask: Mask) -> Mask:
    """Return the mask with a window that 520 tokens show; the same where that many are not taken."""
    if not mask.known or mask.window is not None:
        return mask
    query, key, _ = sizes.arrays(_LONG, _LONG)

    def weighs_nothing(row: int, shown: Flags) -> bool:
        value = np.broadcast_to(shown[:, None], key.shape).astype(np.float64)
        return bool(abs(callee(0 * query, 0.1 * key, value)[0, 0, row, 0]) <= _HIDDEN)

    def reach(row: int) -> int:
        """Return how many places away the farthest key is that the first row sees, 0, or the last, -1."""
        distance = np.arange(_LONG) if row == 0 else np.arange(_LONG)[::-1]
        if not weighs_nothing(row, distance == _LONG - 1):
            return _LONG - 1
        places = range(_LONG)
        return bisect.bisect_left(places, True, key=lambda at: weighs_nothing(row, distance >= at)) - 1

    try:
        behind, ahead = reach(-1), mask.shift if mask.shift is not None else reach(0)
        if min(behind, ahead) < 0:
            return mask
        shift = None if ahead == _LONG - 1 else ahead
        long = Mask(shift, None if behind == _LONG - 1 else ahead + behind + 1)
        # Keys that are left out for all queries are no mask of positions: corners find them.
        middle = _LONG // 2
        known = long.visible(_LONG, _LONG)[middle]
        ends = [np.arange(_LONG) == end for end in np.flatnonzero(known)[[0, -1]]]
        right = weighs_nothing(middle, ~known) and not any(weighs_nothing(middle, end) for end in ends)
    except RefusedError:
        return mask
    return long if right else mask


def alignment_of(callee: Callee, sizes: Sizes, mask: Mask, queries: int, keys: int) -> str | None:
    """Return how the mask of a rectangle lies, None where no alignment of the square's gives it."""
    try:
        seen = mask_of(callee, sizes, queries, keys)[1]
    except RefusedError:
        return None
    for name in ALIGNMENTS if mask.shift is not None else ():
        if np.array_equal(Model(mask, wide=name, tall=name).visible(queries, keys), seen):
            return name
    return None


def sinks(callee: Callee, sizes: Sizes, unit: float) -> tuple[tuple[float, ...] | None, float]:
    """Return the sinks by head, None where there are none, and the factor of all weights, NaN where none is.

    With queries of 0 the n weights of the last row add up to a·n/(n + exp(sink)): two numbers of keys tell
    the factor a and the sink apart, as well as weights with the relative rounding error ``unit`` can.
    """
    inverse = []
    for keys in (8, 16):
        query, key, _ = sizes.arrays(keys, keys)
        total = weights(callee, 0 * query, key)[0, :, -1].sum(axis=-1)
        if not np.isfinite(total).all() or (total <= 0).any():
            return None, math.nan
        inverse.append(1 / total)
    # 1/total = 1/a + exp(sink)/(a·n)
    factor = 1 / (2 * inverse[1] - inverse[0])
    share = factor * 16 * (inverse[0] - inverse[1])
    room, mean = max(_CLOSE, 32 * unit), float(factor.mean())
    # Weights of each key for itself, as sigmoids, add up to ever more.
    if not math.isfinite(mean) or not np.allclose(factor, factor[0], rtol=room):
        return None, math.nan
    factor_of_all = 1.0 if math.isclose(mean, 1, rel_tol=room) else mean
    if (np.abs(share) < room).all():
        return None, factor_of_all
    return tuple(float(np.log(e)) if e > _CLOSE / 10 else -math.inf for e in share), factor_of_all


def position_scores(callee: Callee, sizes: Sizes, tokens: int) -> Floats:
    """Return the scores of queries of 0 up to a number for each row, [head, query, key]; -inf for hidden."""
    query, key, _ = sizes.arrays(tokens, tokens)
    found = weights(callee, 0 * query, key)[0]
    seen = found > _HIDDEN
    return np.where(seen, np.log(np.where(seen, found, 1)), -np.inf)


def _last_row(callee: Callee, sizes: Sizes, products: Floats) -> Floats:
    """Return scores of the last row of the first head, up to a number, for these products with the keys.

    All vectors lie along one direction; what positions add is taken away.
    """
    direction = sizes.arrays(1, 1)[0][0, 0, 0]
    direction /= np.linalg.norm(direction)
    stretch = math.sqrt(float(np.abs(products).max()))
    shape = (len(products), sizes.width)
    query = np.broadcast_to(stretch * direction, (1, sizes.heads, *shape))
    key = np.broadcast_to(products[:, None] / stretch * direction, (1, sizes.key_heads, *shape))
    flat = position_scores(callee, sizes, len(products))[0, -1]
    with np.errstate(all="ignore"):
        scores: Floats = np.log(weights(callee, query, key)[0, 0, -1]) - flat
    return scores


def small_scale(callee: Callee, sizes: Sizes) -> float:
    """Return the slope of scores by products near 0; 0 where scores do not follow products."""
    size = 1.0
    for _ in range(12):
        last = _last_row(callee, sizes, np.array([0.0, 0.0, 0.0, size]))
        rise = float(last[3] - last[2])
        if not math.isfinite(rise) or abs(rise) > 0.3:
            size /= 8
        elif abs(rise) < 0.01:
            size *= 8
        else:
            return rise / size
    return 0.0


def softcap_of(callee: Callee, sizes: Sizes, scale: float) -> float | None:
    """Return the soft-cap, None where there is none: scaled products run from -60 to 0."""
    wanted = np.concatenate([np.linspace(-_FAR, 0, _POINTS), np.linspace(-1, 0, 8)])
    scores = _last_row(callee, sizes, wanted / scale)
    scores -= scores[_POINTS - 1]
    if not np.isfinite(scores).all() or np.allclose(scores, wanted, atol=_CLOSE, rtol=_CLOSE):
        return None

    def capped(logarithms: Floats) -> Floats:
        cap, slope = np.exp(logarithms)
        bent: Floats = cap * np.tanh(slope * wanted / cap)
        return bent

    def residuals(logarithms: Floats) -> Floats:
        apart: Floats = (capped(logarithms) - scores) / (1 + np.abs(scores))
        return apart

    fit = scipy.optimize.least_squares(residuals, [math.log(_FAR / 2), 0.0])
    cap = float(np.exp(fit.x[0]))
    # A cap far beyond the scores is the rounding of a function that has none.
    is_capped = np.allclose(capped(fit.x), scores, atol=_CLOSE, rtol=10 * _CLOSE) and cap < 10 * _FAR
    return cap if is_capped else None


def heads_read(callee: Callee, sizes: Sizes) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Return which key head and which value head each query head reads; None where that is not taken.

    Values of head g are g + 1 everywhere; keys are 0 but for those of one head at a time.
    """
    try:
        query, key, _ = sizes.arrays(6, 6)
        value = np.broadcast_to(np.arange(1, sizes.key_heads + 1.0)[:, None, None], key.shape)
        total = callee(query, 0 * key, 0 * key + 1)[0, :, -1, 0]
        values = callee(query, 0 * key, value)[0, :, -1, 0] / total
        moved = np.zeros((sizes.heads, sizes.key_heads))
        for group in range(sizes.key_heads):
            alone = np.zeros(key.shape)
            alone[:, group] = 4 * key[:, group]
            moved[:, group] = np.ptp(weights(callee, query, alone)[0, :, -1], axis=-1)
    except RefusedError:
        return None
    if not np.isfinite(values).all() or not np.allclose(values, values.round(), atol=_CLOSE):
        return None
    return tuple(map(int, moved.argmax(axis=1))), tuple(round(number) - 1 for number in values)


def random_call(callee: Callee, sizes: Sizes, model: Model, tokens: int, start: float) -> Call:
    """Return a call of two sequences of random arrays, whose scores at scale ``start`` differ by about 1."""
    size = (abs(start) * math.sqrt(sizes.width)) ** -0.5
    query, key, value = sizes.arrays(tokens, tokens, 2)
    query, key, value = (stored(array, callee.dtype) for array in (size * query, size * key, value))
    output = callee(query, key, value)
    if not np.isfinite(output).all():
        raise RefusedError("returned NaN or infinities for moderate numbers")
    call = model.call(query, key, value, output, "float32")
    if not model.mask.known:
        call = replace(call, mask=mask_of(callee, sizes, tokens, tokens)[1])
    if model.is_biased:
        call = replace(call, bias=position_scores(callee, sizes, tokens)[None])
    return call


class Measured(NamedTuple):
    """A scale, the finest dtype whose rounding all rows are within, and whether its digits say so."""

    scale: MeasuredScale
    dtype: str
    is_shown: bool


def measure(callee: Callee, sizes: Sizes, model: Model, tokens: int, start: float) -> Measured:
    """Return the scale that fits a random call; all heads take part, so that one that mixes them does not."""
    call = random_call(callee, sizes, model, tokens, start)
    scale = np.full(sizes.heads, float(start))
    for _ in range(20):
        rows = compare(Formula(call, scale, factor=model.factor))
        step, error = pool(rows, SCALE, rows.is_compared)
        step = np.clip(step, -0.9, 4.0)
        scale = scale * (1 + step)
        if np.abs(step).max() < 1e-9:
            break
    # A function may compute more coarsely than its arrays are: as its output's digits or its errors say.
    finest = max(UNITS[callee.dtype], unit_roundoff(np.asarray(call.output)))
    for dtype in [dtype for dtype in ("float32", "float16", "bfloat16") if UNITS[dtype] >= finest]:
        rows = compare(Formula(replace(call, dtype=dtype), scale, factor=model.factor))
        if not (misfit := misfit_of(rows)):
            break
    half = float((np.abs(scale) * np.where(np.isfinite(error), error, 0.0)).max()) * 6
    mean = float(scale.mean())
    half = max(half, float(np.ptp(scale)))
    found = MeasuredScale(sizes.width, sizes.heads, tokens, callee.dtype, mean, half, misfit)
    return Measured(found, dtype, UNITS[dtype] <= finest)


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


def causes(call: Call, scale: float) -> list[str]:
    """Return what an audit of a call names as the mistake in it, the likeliest alone."""
    query, key, value, output = (np.float32(a) for a in (call.query, call.key, call.value, call.output))
    sink, cap = (None if call.sink is None else np.float32(call.sink)), call.softcap
    record = audit(
        query, key, v=value, out=output, mask=call.mask, sink=sink, softcap=cap, scale=scale, intended=scale
    )
    return [one.cause for one in record.findings if one.kind == "formula" and one.cause][:1]


def formula_of(measured: Sequence[MeasuredScale]) -> str | None:
    """Return an expression that gives every measured scale: a number, or one times one of `_FORMULAS`."""
    first = measured[0]
    for form in _FORMULAS:
        size = first.scale / first.value(form)
        text = form
        if not math.isclose(size, 1, rel_tol=_CLOSE):
            short = (float(f"{abs(size):.{digits}g}") for digits in (1, 2, 3, 4, 6))
            number = next((one for one in short if math.isclose(one, abs(size), rel_tol=1e-5)), abs(size))
            signed = f"{'-' if size < 0 else ''}{number:g}"
            text = f"{signed}{form[1:]}" if form.startswith("1") else f"{signed}*{form}"
        if all(math.isclose(one.value(text), one.scale, rel_tol=_CLOSE) for one in measured):
            return text
    return None


def sums_in(callee: Callee, sizes: Sizes, model: Model) -> bool | None:
    """Return whether sums over keys lose what the dtype of the arrays loses, None where that cannot be asked.

    4096 equal weights 2^-12 are added up, each of which is lost once a sum in half precision is large enough.
    """
    is_masked = model.mask.shift is not None
    if is_masked and callee.library == "numpy":
        return None  # NumPy's products in half precision would take minutes
    query, key, value = sizes.arrays(_MANY if is_masked else 1, _MANY)
    try:
        total = callee(0 * query, 0 * key, 0 * value + 1)[0, 0, -1, 0]
    except RefusedError:
        return None
    seen = min(model.mask.window or _MANY, _MANY)
    sink = 0.0 if model.sink is None else math.exp(model.sink[0])
    return bool(abs(total / (model.factor * seen / (seen + sink)) - 1) >= _ADDED_UP)


class Found(NamedTuple):
    """What was found of a function: a model, scales at all settings, faults, and what is not understood.

    ``axis`` is what weights add up to 1 over, ``bias`` the largest difference of scores that positions make;
    ``sums`` says of dtypes whether sums over keys lose what these lose.
    """

    model: Model
    measured: tuple[MeasuredScale, ...] = ()
    axis: str | None = None
    groups: str | None = None
    bias: float = 0.0
    sums: Mapping[str, bool] = MappingProxyType({})
    faults: tuple[str, ...] = ()
    unexplained: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def identify(callee: Callee, sizes: Sizes) -> Found:  # noqa: C901 - one experiment after another
    """Return what all experiments find, each using what those before it found.

    Raises:
        RefusedError: the function does not take usual arrays, or is not the same twice.
    """
    query, key, _ = sizes.arrays(6, 6, 2)
    usual, again = (weights(callee, query, key) for _ in range(2))
    if not np.isfinite(usual).all():
        raise RefusedError("returned NaN or infinities for moderate numbers")
    if not np.allclose(usual, again, rtol=_CLOSE, atol=_CLOSE):
        raise RefusedError("gives another output for the same arrays; switch dropout off")
    axis = axis_of(usual)
    if axis not in (None, "keys"):
        return Found(Model(), axis=axis, faults=(f"the softmax is over the {axis}, not the keys",))
    sink, factor = sinks(callee, sizes, unit_roundoff(usual))
    if not math.isfinite(factor):
        return Found(
            Model(), faults=("the weights of a row do not add up to 1: there is no softmax over the keys",)
        )
    faults = [] if factor == 1 else [f"the weights are multiplied by {factor:.4g} after the softmax"]
    start = small_scale(callee, sizes)
    softcap = softcap_of(callee, sizes, start) if start else None
    last = position_scores(callee, sizes, 12)[:, -1]
    bias = max((float(np.ptp(row[np.isfinite(row)])) for row in last if np.isfinite(row).any()), default=0.0)
    mask = mask_of(callee, sizes, _SQUARE, _SQUARE)[0]
    mask = mask if bias > BIASED else with_long_window(callee, sizes, mask)
    wide, tall = (alignment_of(callee, sizes, mask, *shape) for shape in ((5, 9), (9, 5)))
    groups, order, said = _groups(callee, sizes)
    faults += said
    unexplained = () if mask.known else ("keys are hidden by no rule of positions",)
    if mask.known and mask.shift and mask.window != 2 * mask.shift + 1:
        faults.append(f"the mask is causal, but off by {mask.shift:+d}")
    model = Model(mask, wide, tall, softcap, sink, factor, order, is_biased=bias > BIASED)
    usual = sizes.width**-0.5
    start = start if start and not math.isclose(start, usual, rel_tol=0.02) else usual
    first, dtype, is_shown = measure(callee, sizes, model, 16, start)
    model = replace(model, dtype=dtype)
    if not is_shown:
        unexplained = (*unexplained, f"rows are the formula's to the rounding of {dtype} only")
    found = Found(model, (), "keys", groups, bias, unexplained=unexplained)
    if first.misfit:
        likely = causes(random_call(callee, sizes, model, 16, start), start)
        faults += likely or [f"the output is not softmax(c·QKᵀ + mask)·V for any c: {first.misfit}"]
        return found._replace(faults=tuple(faults), unexplained=())
    measured, sums, notes = _varied(callee, sizes, model, first)
    for one in measured:
        if one.misfit:
            at = f"with d = {one.d}, h = {one.h}, n = {one.n} in {one.dtype}"
            faults.append(f"{at} it is not this attention: {one.misfit}")
    return found._replace(measured=measured, sums=sums, notes=notes, faults=tuple(faults))


def _varied(
    callee: Callee, sizes: Sizes, model: Model, first: MeasuredScale
) -> tuple[tuple[MeasuredScale, ...], dict[str, bool], tuple[str, ...]]:
    """Return the scale with width, heads, tokens and types varied, sums by type, and what is not taken."""
    measured, sums, notes = [first], {}, []
    wider, narrower = (sizes._replace(width=max(1, round(times * sizes.width))) for times in (2, 0.5))
    more = sizes._replace(heads=2 * sizes.heads, key_heads=2 * sizes.key_heads)
    settings: list[tuple[str, list[Sizes], int]] = [("d_k", [wider, narrower], 16)]
    if model.sink is None and not model.is_biased:
        settings.append(("the number of heads", [more], 16))
    settings.append(("the number of tokens", [sizes], 32))
    for what, others, tokens in settings:
        try:
            for other in others:
                start = small_scale(callee, other) or first.scale
                measured.append(measure(callee, other, model, tokens, start).scale)
        except RefusedError:
            notes.append(f"{what} could not be varied: nothing is known of how the scale follows it")
    for dtype in ("float16", "bfloat16"):
        half = replace(callee, dtype=dtype)
        try:
            measured.append(measure(half, sizes, model, 64, first.scale).scale)
        except RefusedError:
            continue
        if (answer := sums_in(half, sizes, model)) is not None:
            sums[dtype] = answer
    return tuple(measured), sums, tuple(notes)


BIASED = 1e-4
"""Differences of scores beyond which positions change them."""

GROUPINGS: dict[str, Callable[[int, int], list[int]]] = {
    "interleaved": lambda heads, key_heads: [head * key_heads // heads for head in range(heads)],
    "tiled": lambda heads, key_heads: [head % key_heads for head in range(heads)],
}
"""How grouped heads can be mapped, in PyTorch's words: as repeat_interleave (or enable_gqa), or as repeat."""


def _groups(  # noqa: C901 - a case for each mapping
    callee: Callee, sizes: Sizes
) -> tuple[str | None, Any, list[str]]:
    """Return how query heads are mapped to fewer key heads, by heads, and what is wrong with it."""
    if sizes.heads == 1:
        return None, Model.order, []
    read = heads_read(callee, sizes)
    grouped = sizes
    if sizes.key_heads == sizes.heads:
        if read is not None and read != (tuple(range(sizes.heads)),) * 2:
            return None, Model.order, [f"query heads read the keys and values of other heads: {read[0]}"]
        grouped = sizes._replace(key_heads=sizes.heads // 2)
        read = None if sizes.heads % 2 or sizes.heads < 4 else heads_read(callee, grouped)
    if read is None:
        return None, Model.order, []
    if read[0] != read[1]:
        said = f"query heads read keys of the heads {read[0]} and values of the heads {read[1]}"
        return "otherwise", Model.order, [said]
    for name, rule in GROUPINGS.items():
        if list(read[0]) == rule(grouped.heads, grouped.key_heads):
            return name, rule, []

    def only_here(heads: int, key_heads: int) -> Sequence[int]:
        if (heads, key_heads) != (grouped.heads, grouped.key_heads):
            raise RefusedError("how heads are grouped at other numbers is not known")
        return read[0]

    return "otherwise", only_here if sizes == grouped else Model.order, []
