"""What an attention function computes, from what it makes of chosen arrays, NumPy's or PyTorch's.

Weights are read off with one-hot values, scores off the logarithms of weights. Each experiment rests on those
before it: what is not softmax(c·QKᵀ + mask)·V, with a soft-cap or sinks perhaps, ends them with what it is.
"""

import contextlib
import functools
import importlib
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from verify.auditing.formula import FACTOR, SCALE, Formula, Rows, compare, pool
from verify.auditing.recording import Call, Flags, Floats, to_numpy, unit_roundoff
from verify.auditing.scales import ScaleExpression
from verify.errors import SettingsError, what_is_wrong

STRIDES = ("transposed", "every second", "broadcast")
"""How PyTorch's arrays can lie in memory: turned, behind and between others, one sequence's keys for all."""

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


class Sizes(NamedTuple):
    """Heads of queries, heads of keys, and the width of a head."""

    heads: int
    key_heads: int
    width: int

    def scale(self, expression: ScaleExpression, keys: int) -> float:
        """Return the scale that an expression says, for this number of keys."""
        return expression.value(d=self.width, h=self.heads, D=self.width * self.heads, n=keys)

    def arrays(
        self, queries: int, keys: int, sequences: int = 1, *, stretch: float = 1.0, dtype: str = "float64"
    ) -> tuple[Floats, Floats, Floats]:
        """Return normal queries, keys and values, [sequence, head, token, d], rounded to a dtype, in float64.

        Values are standard normal, queries and keys ``stretch`` times that.
        """
        shapes = (self.heads, queries), (self.key_heads, keys), (self.key_heads, keys)
        query, key, value = (
            factor * np.random.default_rng(seed).standard_normal((sequences, *shape, self.width))
            for seed, (shape, factor) in enumerate(zip(shapes, (stretch, stretch, 1.0), strict=True), 1)
        )
        query, key, value = (array.astype(dtype).astype(np.float64) for array in (query, key, value))
        return query, key, value


class RefusedError(Exception):
    """The function does not take its arrays, or returns no attention output; in one line."""


@dataclass(frozen=True)
class Kernel:
    """An attention function of (q, k, v), and the form in which it takes arrays.

    ``device`` is where PyTorch puts them, None for arrays of NumPy, which JAX takes as well; ``strides`` is
    one of `STRIDES`, empty for arrays without gaps.
    """

    function: Callable[..., Any]
    device: str | None = None
    dtype: str = "float32"
    strides: str = ""

    @property
    def library(self) -> str:
        """The library whose arrays the function is given."""
        return "numpy" if self.device is None else "torch"

    @property
    def name(self) -> str:
        """The function's name, for messages."""
        function = self.function.func if isinstance(self.function, functools.partial) else self.function
        return str(getattr(function, "__qualname__", type(function).__name__))

    def __call__(self, query: Floats, key: Floats, value: Floats) -> Floats:
        """Return the output for arrays of shape [sequence, head, token, d], in float64, without gradients.

        Raises:
            RefusedError: the function raises, or returns something of another shape.
        """
        off = contextlib.nullcontext() if self.device is None else importlib.import_module("torch").no_grad()
        # Overflow is provoked; it shows in what comes back.
        with off, np.errstate(all="ignore"), _refusing():
            returned = self.function(*map(self._given, (query, key, value)))
        return self._taken(returned, (*query.shape[:3], value.shape[3]))

    def changed(self, query: Floats, key: Floats, value: Floats) -> list[str]:
        """Return which of its arrays the function writes to."""
        given, intact = ([self._given(array) for array in (query, key, value)] for _ in range(2))
        with _refusing():
            self.function(*given)
        return [
            name
            for name, array, before in zip(("queries", "keys", "values"), given, intact, strict=True)
            if not np.array_equal(to_numpy(array), to_numpy(before), equal_nan=True)
        ]

    def gradients(self, query: Floats, key: Floats, value: Floats, upstream: Floats) -> list[Floats | None]:
        """Return dQ, dK and dV of the sum of the output times ``upstream``, None where there is none."""
        if self.device is None:
            raise RefusedError("only gradients of PyTorch are compared")
        leaves = [self._given(array).detach().requires_grad_() for array in (query, key, value)]
        with _refusing(), importlib.import_module("torch").enable_grad():
            returned = self.function(*leaves)
            output = returned[0] if isinstance(returned, tuple | list) else returned
            total = (output * self._given(upstream)).sum()
            if total.requires_grad:
                total.backward()
        return [
            None if leaf.grad is None else self._taken(leaf.grad, array.shape)
            for leaf, array in zip(leaves, (query, key, value), strict=True)
        ]

    def _given(self, array: Floats) -> Any:
        """Return an array as the function takes it: library, dtype and strides."""
        if self.device is None:
            if self.strides:
                raise RefusedError("only PyTorch's arrays are laid with strides")
            return array.astype(self.dtype, order="C")
        torch = importlib.import_module("torch")
        tensor = torch.tensor(array, dtype=getattr(torch, self.dtype), device=self.device)
        if self.strides == "broadcast" and bool((tensor == tensor[:1]).all()):
            return tensor[:1].expand(tensor.shape)
        if self.strides == "transposed":
            return tensor.permute(3, 2, 1, 0).contiguous().permute(3, 2, 1, 0)
        if self.strides == "every second":
            whole = tensor.new_full([2 * size + 1 for size in tensor.shape], 7.0)
            places = tuple(slice(1, None, 2) for _ in tensor.shape)
            whole[places] = tensor
            return whole[places]
        return tensor

    def _taken(self, returned: Any, shape: tuple[int, ...]) -> Floats:
        """Return an output as NumPy's of this shape, [sequence, head, token, d]."""
        output = returned[0] if isinstance(returned, tuple | list) and returned else returned
        if output is None:
            raise RefusedError("returned None")
        try:
            array: Floats = to_numpy(output)
        except (TypeError, ValueError) as error:
            raise RefusedError(f"returned a {type(output).__name__}, which is not an array") from error
        if array.shape != shape:
            raise RefusedError(f"returned shape {list(array.shape)} where {list(shape)} is due")
        return array


@contextlib.contextmanager
def _refusing() -> Iterator[None]:
    """Raise a RefusedError in one line for whatever a function raises."""
    try:
        yield
    except RefusedError:
        raise
    except (Exception, SystemExit) as error:
        raise RefusedError(f"raised {what_is_wrong(error)}") from error


def kernel_of(function: Callable[..., Any], device: str | None, sizes: Sizes) -> Kernel:
    """Return the function with the arrays that it takes: NumPy's, else PyTorch's where that is imported.

    Raises:
        SettingsError: it is no function, or takes neither.
    """
    if not callable(function):
        raise SettingsError(f"{function!r}: is not a function; give a function of q, k and v")
    devices = [device] if device is not None else [None, *(["cpu"] if "torch" in sys.modules else [])]
    refusal = ""
    for place in devices:
        kernel = Kernel(function, place)
        try:
            kernel(*sizes.arrays(6, 6))
        except (RefusedError, ImportError) as error:
            # What a function says of the arrays of its own library, the last, is the clearest.
            refusal = f"{error} (with arrays of {kernel.library})"
        else:
            return kernel
    wanted = "give a function of q, k and v with the axes [sequence, head, token, d]"
    raise SettingsError(f"{kernel.name}: {refusal}; {wanted}")


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


_SATURATED = 0.99  # a weight beyond which longer queries change little


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
    # Of equal weights, or of a single key's, lengths say nothing.
    shorter, opposite = _weights(kernel, query / 8, key / 8), _weights(kernel, -query, key)
    tells = not np.allclose(usual, opposite, atol=_CLOSE) and bool((usual.max(axis=-1) < _SATURATED).any())
    if tells and np.allclose(usual, shorter, rtol=_CLOSE, atol=_CLOSE):
        inside = "queries and keys are normalised in it: their lengths change nothing"
        return Identity(faults=(f"{inside}; probe what follows, or audit its arrays",))
    # Weights add up to 1 over the axis of the softmax, and over no other of more than one.
    axes = [
        name
        for place, name in enumerate(_AXES)
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
    # With queries of 0 only positions can tell keys apart.
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
    # The scale is read off small scores, which no soft-cap bends; the cap then off large ones.
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
        with contextlib.suppress(RefusedError):
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
    with contextlib.suppress(RefusedError):
        total = replace(kernel, dtype="float16")(0 * query, 0 * key, 0 * value + 1)[0, 0, -1, 0]
        seen, sink = min(model.window or many, many), math.exp(model.sink[0]) if model.sink else 0.0
        return bool(abs(total * (seen + sink) / seen - 1) >= _ADDED_UP)
    return None
