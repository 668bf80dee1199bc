"""What an attention function computes, from what it makes of chosen arrays, NumPy's or PyTorch's.

With one-hot values its output is its weights, and the logarithms of weights are its scores, up to a number of
each row. Mask, sinks, scale and soft-cap are read off these. An audit then has to confirm them for other
values, in every row; where it does not, it names the mistake if it can.
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
from scipy.optimize import least_squares

from verify.auditing.audit import audit
from verify.auditing.recording import (
    Call,
    Flags,
    Floats,
    Intended,
    Layer,
    Recording,
    to_numpy,
    unit_roundoff,
)
from verify.auditing.scales import ScaleExpression
from verify.errors import SettingsError, what_is_wrong
from verify.evidence.audits import Judgement

STRIDES = ("transposed", "every second", "broadcast")
"""How PyTorch's arrays can lie in memory: turned, behind and between others, one sequence's keys for all."""

UNITS = {"float64": 2.0**-24, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
"""The relative error of one rounding; double precision is judged as single precision is."""

GROUPINGS: dict[str, Callable[[int, int], list[int]]] = {
    "interleaved": lambda heads, key_heads: [head * key_heads // heads for head in range(heads)],
    "tiled": lambda heads, key_heads: [head % key_heads for head in range(heads)],
}
"""The key head that each query head reads, in PyTorch's words: repeat_interleave (enable_gqa), or repeat."""

TOKENS = 16
MOST_KEYS = 4099

_SEQUENCES = 8  # of queries by which scores are read
_SQUARE = 72  # tokens by which a mask is read: a window has to be shorter to be seen
_AXES = ("sequences", "heads", "queries", "keys")  # what a softmax may run over: the axes of the weights
_CLOSE, _ADDED_UP = 1e-3, 0.01
_ALMOST = 2.0**-30  # times usual queries: scores are 0 to rounding, and lengths are not
_NO_SOFTMAX = 1e-7  # the sum of weights that only a sink of more than 18 would leave
_NO_SUM = (
    "the weights of a row do not add up to 1, but to {:.4g}: "
    "there is no softmax over the keys, or it is multiplied afterwards"
)
_ONE_SINK = 5.0  # how far a sink may seem to vary over rows, whose scores vary by 710
_HIDDEN = 1e-20  # a weight of keys that are hidden, at most
_BIASED = 1e-4  # differences of scores beyond which positions change them
_LEAST = 1e-4  # a weight from which on it is a normal number of every type
_SMALL = (0.01, 0.3)  # sizes of scores that no soft-cap bends and no rounding hides


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
    one of `STRIDES`, empty for arrays without gaps. Whatever the function raises is a RefusedError.
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
        """Return the output for arrays of shape [sequence, head, token, d], in float64, without gradients."""
        off = contextlib.nullcontext() if self.device is None else importlib.import_module("torch").no_grad()
        # Overflow is provoked; it shows in what comes back.
        with off, np.errstate(all="ignore"), _refusing():
            returned = self.function(*map(self._given, (query, key, value)))
        return _taken(returned, (*query.shape[:3], value.shape[3]))

    def weights(self, query: Floats, key: Floats) -> Floats:
        """Return what the function weights each key's value with, [sequence, head, query, key].

        Values are one-hot, as many keys at a time as values have components.
        """
        width, keys = key.shape[3], key.shape[2]
        one_hot = (np.eye(keys, width, -start) for start in range(0, keys, width))
        parts = [self(query, key, np.broadcast_to(value, key.shape)) for value in one_hot]
        return np.concatenate(parts, axis=-1)[..., :keys]

    def changed(self, query: Floats, key: Floats, value: Floats) -> list[str]:
        """Return which of its arrays the function writes to."""
        given, intact = ([self._given(array) for array in (query, key, value)] for _ in range(2))
        with _refusing():
            self.function(*given)
        pairs = zip(("queries", "keys", "values"), map(to_numpy, given), map(to_numpy, intact), strict=True)
        return [name for name, now, before in pairs if not np.array_equal(now, before, equal_nan=True)]

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
        return [None if leaf.grad is None else _taken(leaf.grad, tuple(leaf.shape)) for leaf in leaves]

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


@contextlib.contextmanager
def _refusing() -> Iterator[None]:
    """Raise a RefusedError in one line for whatever a function raises."""
    try:
        yield
    except RefusedError:
        raise
    except (Exception, SystemExit) as error:
        raise RefusedError(f"raised {what_is_wrong(error)}") from error


def _taken(returned: Any, shape: tuple[int, ...]) -> Floats:
    """Return what a function returned as NumPy's array of this shape, [sequence, head, token, d]."""
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
    neither. ``dtype`` is what it computes in if that is coarser than its arrays are, and ``coarse`` says
    whether its sums over keys of float16 lose what float16 loses, None where it was not tried. ``faults`` are
    no attention's; what is ``unexplained`` may be meant.
    """

    scale: float = math.nan
    shift: int | None = None
    window: int | None = None
    alignment: str | None = None
    softcap: float | None = None
    sink: tuple[float, ...] | None = None
    groups: str = "interleaved"
    dtype: str = "float64"
    coarse: bool | None = None
    faults: tuple[str, ...] = ()
    unexplained: tuple[str, ...] = ()

    def visible(self, queries: int, keys: int) -> Flags:
        """Return which keys queries see, [query, key].

        Raises:
            RefusedError: it is not known for these sizes.
        """
        if self.shift is None:
            return np.ones((queries, keys), dtype=bool)
        if queries != keys and self.alignment is None:
            raise RefusedError("how its mask lies there is not known")
        last = self.shift + (keys - queries if self.alignment == "bottom-right" else 0)
        seen: Flags = np.tri(queries, keys, last, dtype=bool)
        return seen if self.window is None else seen & ~np.tri(queries, keys, last - self.window, dtype=bool)

    def call(self, kernel: Kernel, query: Floats, key: Floats, value: Floats) -> Call:
        """Return the call that this model makes of arrays, with the output of a function.

        Its dtype is the coarsest of arrays, model and output.
        """
        if self.sink and len(self.sink) != query.shape[1]:
            raise RefusedError("its heads are given")
        order = GROUPINGS[self.groups](query.shape[1], key.shape[1])
        output = kernel(query, key, value)
        unit = max(UNITS[kernel.dtype], UNITS[self.dtype], unit_roundoff(output))
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


def identify(kernel: Kernel, sizes: Sizes, intended: ScaleExpression) -> Model:
    """Return what a function is; ``intended`` is the scale at which mistakes are looked for by name.

    Raises:
        RefusedError: the function does not take usual arrays, or is not the same twice.
    """
    query, key, _ = sizes.arrays(TOKENS, TOKENS, 2)
    usual, again = (kernel.weights(query, key) for _ in range(2))
    if not np.isfinite(usual).all():
        raise RefusedError("returned NaN or infinities for moderate numbers")
    if not np.allclose(usual, again, rtol=_CLOSE, atol=_CLOSE):
        raise RefusedError("gives another output for the same arrays; switch dropout off")
    # Weights add up to 1 over the axis of the softmax, and over no other of more than one.
    axes = [
        name
        for place, name in enumerate(_AXES)
        if usual.shape[place] > 1 and np.allclose(usual.sum(axis=place), 1, atol=_ADDED_UP)
    ]
    if len(axes) == 1 and axes != ["keys"]:
        return Model(faults=(f"the softmax is over the {axes[0]}, not the keys",))
    # With queries of almost 0 all weights are equal, and only positions can tell keys apart.
    query, key, _ = sizes.arrays(_SQUARE, _SQUARE, 2)
    flat = np.nan_to_num(kernel.weights(_ALMOST * query, key))
    totals = flat[0, :, -1].sum(axis=-1)
    room = 32 * max(unit_roundoff(usual), UNITS["float32"])
    if (wrong := totals[(totals < _NO_SOFTMAX) | (totals > 1 + room)]).size:
        return Model(faults=(_NO_SUM.format(wrong[0]),))
    seen = np.abs(flat) > _HIDDEN
    logs = np.log(np.where(seen, np.abs(flat), 1))
    apart = float((np.where(seen, logs, -np.inf).max(-1) - np.where(seen, logs, np.inf).min(-1)).max())
    if apart > _BIASED and np.allclose(logs[0], logs[1], atol=_BIASED):
        return Model(unexplained=(f"positions change scores by up to {apart:.4g}",))
    model = _mask(kernel, sizes, seen)
    if model is None or model.window == 1:
        # So it looks where the function takes tokens for heads.
        turned = "each query sees its own key only: turn arrays to the axes [sequence, head, token, d]"
        return Model(unexplained=("keys are hidden by no rule of positions" if model is None else turned,))
    for step in (_with_scores, _with_sinks):
        model = step(kernel, sizes, model)
        if model.faults or model.unexplained:
            return model
    return _compared(kernel, sizes, model, intended)


def _mask(kernel: Kernel, sizes: Sizes, seen: Flags) -> Model | None:
    """Return the rule of positions by which keys are hidden, None where they are by another.

    ``seen`` says which keys queries see where there are as many of both, [sequence, head, query, key].
    """
    square = seen[0, 0]
    if not (seen == square).all():
        return None
    if square.all():
        return Model()
    ahead = (np.arange(_SQUARE) - np.arange(_SQUARE)[:, None])[square]
    last = int(ahead.max())
    rules = Model(shift=last), Model(shift=last, window=last - int(ahead.min()) + 1)
    rule = next((rule for rule in rules if np.array_equal(rule.visible(_SQUARE, _SQUARE), square)), None)
    if rule is None:
        return None
    rectangles: dict[tuple[int, int], Flags] = {}
    for shape in ((5, 9), (9, 5)):
        with contextlib.suppress(RefusedError):
            query, key, _ = sizes.arrays(*shape)
            rectangles[shape] = np.abs(np.nan_to_num(kernel.weights(_ALMOST * query, key))) > _HIDDEN
    for alignment in ("top-left", "bottom-right") if rectangles else ():
        aligned = replace(rule, alignment=alignment)
        if all((aligned.visible(*shape) == shown).all() for shape, shown in rectangles.items()):
            return aligned
    return rule


def _with_scores(kernel: Kernel, sizes: Sizes, model: Model) -> Model:
    """Return the model with scale, soft-cap and grouping.

    Every second key is orthogonal to all queries, with score 0, so that the logarithm of another key's weight
    over its weight is a score. Queries grow from row to row, and keys differ from head to head.
    """
    query, key, _ = (np.zeros_like(array) for array in sizes.arrays(TOKENS, TOKENS, _SEQUENCES))
    query[..., 0] = 2.0 ** np.linspace(-16, 16, _SEQUENCES * TOKENS).reshape(-1, 1, TOKENS)
    key[:, :, ::2, 1:2] = 1
    key[:, :, 1::2, 0] = 1 + np.arange(sizes.key_heads)[:, None] / sizes.key_heads
    weights, visible = kernel.weights(query, key), model.visible(TOKENS, TOKENS)
    # Of the keys that a row sees, the first of either kind.
    rows, is_odd = np.arange(TOKENS), np.arange(TOKENS) % 2 == 1
    even, odd = (visible & ~is_odd).argmax(axis=1), (visible & is_odd).argmax(axis=1)
    beside, own = weights[..., rows, even], weights[..., rows, odd]
    # Smaller numbers are coarser in half precision.
    least = _LEAST if unit_roundoff(weights) == UNITS["float16"] else _HIDDEN
    seen = (beside > least) & (own > least) & visible[rows, even] & visible[rows, odd]
    score = np.log(np.where(seen, own, 1) / np.where(seen, beside, 1))
    if not seen.any():
        return replace(model, unexplained=("no weights tell its scores",))
    if np.ptp(score[seen]) < _CLOSE < np.abs(score[seen]).min():
        inside = "queries and keys are normalised in it: their lengths change nothing"
        return replace(model, faults=(f"{inside}; probe what follows, or audit its arrays",))
    small, fits = seen & (np.abs(score) > _SMALL[0]) & (np.abs(score) < _SMALL[1]), []
    for groups, order in GROUPINGS.items():
        products = (query @ key[:, order(sizes.heads, sizes.key_heads)].mT)[..., rows, odd]
        slope = float((products * score)[small].sum() / max((products[small] ** 2).sum(), 1e-300))
        fits.append((float(np.linalg.norm((score - slope * products)[small])), groups, slope, products))
    _, groups, slope, products = min(fits, key=lambda fit: fit[0])

    # The soft-cap c of c·tanh(s/c) bends large scores; it is found by its inverse.
    products, score = products[seen], score[seen]

    def misfit(numbers: Any) -> Any:
        scale, inverse = numbers
        return np.tanh(inverse * scale * products) / inverse - score

    scale = slope or sizes.width**-0.5
    starts = ([scale, inverse] for inverse in np.geomspace(1 / 400, 4, 40))
    start = min(starts, key=lambda numbers: float(np.linalg.norm(misfit(numbers))))
    capped = least_squares(misfit, start, x_scale=np.abs(start))
    # Rounding of a function without a soft-cap is explained by none: by a straight line as well as by a bend.
    straight = score - products * (products @ score) / (products @ products)
    if 2 * capped.cost < 0.25 * straight @ straight and capped.x[1] > 0:
        return replace(model, groups=groups, scale=float(capped.x[0]), softcap=float(1 / capped.x[1]))
    return replace(model, groups=groups, scale=scale)


def _with_sinks(kernel: Kernel, sizes: Sizes, model: Model) -> Model:
    """Return the model with a sink for each head, read off what weights do not add up to.

    Row i has scores s of -10i, beside which low sinks show, too: a sink b leaves m keys m·eˢ/(m·eˢ + eᵇ).
    """
    scores = levels = -10.0 * np.arange(_SQUARE)
    if model.softcap is not None:
        levels = levels + 5.0 * _SQUARE  # a high sink shows beside the highest scores
        scores = model.softcap * np.tanh(levels / model.softcap)
    # No score is low under a soft-cap. Then a single key, of a sequence for each level, shows what all rows
    # of a corner may; functions that do not take one are given as many as without a soft-cap.
    for tokens in (_SQUARE,) if model.softcap is None else (1, _SQUARE):
        query, key, _ = (np.zeros_like(array) for array in sizes.arrays(tokens, tokens, _SQUARE // tokens))
        query[..., 0], key[..., 0] = levels.reshape(-1, 1, tokens) / model.scale, 1
        try:
            weights = kernel.weights(query, key)
            break
        except RefusedError:
            if tokens > 1:
                raise
    totals = weights.sum(axis=-1).swapaxes(0, 1).reshape(sizes.heads, _SQUARE)
    room = (32 if tokens > 1 else 4) * max(unit_roundoff(weights), UNITS["float32"])
    with np.errstate(all="ignore"):
        beside = np.log(1 / totals - 1) + np.log(model.visible(tokens, tokens).sum(axis=-1)) + scores
    sinks = []
    for total, sink in zip(totals, beside, strict=True):
        # A sink only takes; what adds as well, in other rows, is for an audit to name.
        shows = np.flatnonzero((room < total) & (total < 1 - room) & ~(total > 1 + room).any())
        if shows.size and np.ptp(sink[shows]) > _ONE_SINK:  # a factor of the weights is the same in all rows
            return replace(model, faults=(_NO_SUM.format(total[-1]),))
        # Half of the weight tells most of a sink.
        sinks.append(
            float(sink[min(shows, key=lambda row: abs(total[row] - 0.5))]) if shows.size else -math.inf
        )
    return replace(model, sink=tuple(sinks) if max(sinks) > -math.inf else None)


def _compared(kernel: Kernel, sizes: Sizes, model: Model, intended: ScaleExpression) -> Model:
    """Return what a function is whose output should be that of this model, as an audit of it judges."""
    # All heads take part, so that a function that mixes them does not fit.
    stretch = (abs(model.scale) * math.sqrt(sizes.width)) ** -0.5
    arrays = sizes.arrays(TOKENS, TOKENS, 2, stretch=stretch, dtype=kernel.dtype)
    meant = sizes.scale(intended, TOKENS)
    scale = meant if math.isclose(model.scale, meant, rel_tol=0.01) else model.scale
    call = model.call(kernel, *arrays)
    wrong, coarse, ratio = audited(call, scale)
    faults = [f"the mask is causal, but off by {model.shift:+d}"] if model.shift else []
    if wrong:
        # A mistake is known by its name beside the intended scale, and may look like a soft-cap or sink.
        causes, _, _ = audited(replace(call, softcap=None, sink=None), meant)
        faults.append(f"the output is not softmax(c·QKᵀ + mask)·V for any c: {'; '.join(causes or wrong)}")
        return replace(model, scale=math.nan, faults=tuple(faults))
    # Of 4,096 equal weights each is lost once a sum in half precision is large enough.
    lost, many = None, 4096
    if model.shift is None or kernel.library == "torch":  # NumPy's would take minutes for as many queries
        query, key, value = sizes.arrays(1 if model.shift is None else many, many)
        with contextlib.suppress(RefusedError):
            total = replace(kernel, dtype="float16")(0 * query, 0 * key, 0 * value + 1)[0, 0, -1, 0]
            seen, sink = min(model.window or many, many), math.exp(model.sink[0]) if model.sink else 0.0
            lost = bool(abs(total * (seen + sink) / seen - 1) >= _ADDED_UP)
    return replace(
        model,
        scale=scale * ratio,
        dtype=call.dtype,
        coarse=lost,
        faults=tuple(faults),
        unexplained=tuple(coarse),
    )


def audited(call: Call, scale: float) -> tuple[list[str], list[str], float]:
    """Return what an audit refutes of a call with this scale, what only coarser numbers give, and a ratio.

    That is the scale that the output implies over this one, 1 where rounding may be why they differ.
    """
    layer = Layer("probe", [call], Intended(repr(float(scale)), "given"))
    findings = [x for x in audit(Recording("probe", [layer])).findings if x.kind in ("formula", "scale")]
    refuted = [x.cause or x.reason for x in findings if x.judgement is Judgement.REFUTED]
    warned = [x.reason for x in findings if x.judgement is Judgement.WARNED and x.kind == "formula"]
    ratio = 1.0
    for x in findings:
        low, high = x.interval
        if x.kind == "scale" and x.estimate and low and high and not low <= 1 <= high:
            ratio = x.estimate
    return list(dict.fromkeys(refuted)), list(dict.fromkeys(warned)), ratio
