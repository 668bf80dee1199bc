"""Faults planted in attention, each seen in a public program, and what the exact findings say of them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from tests.auditing.calls import arrays
from verify.auditing.recording import Call, Intended, Layer


@dataclass(frozen=True)
class Arithmetic:
    """Attention step by step, every intermediate result rounded to a dtype as an eager program rounds it."""

    dtype: Any

    def rounded(self, array: Any) -> Any:
        """Return the array after a rounding to the dtype, in float64."""
        with np.errstate(over="ignore"):
            return np.asarray(array).astype(self.dtype).astype(np.float64)

    def products(self, q: Any, k: Any, scale: float = 1.0) -> Any:
        """Return scaled scores; keys are repeated where there are fewer heads of them."""
        k = np.repeat(k, q.shape[1] // k.shape[1], axis=1)
        return self.rounded(scale * self.rounded(q @ np.swapaxes(k, -1, -2)))

    def softmax(self, scores: Any, axis: int = -1) -> Any:
        """Return the weights; rows without a key give NaN, as programs do."""
        with np.errstate(invalid="ignore"):
            e = np.exp(scores - scores.max(axis=axis, keepdims=True))
            return self.rounded(e / e.sum(axis=axis, keepdims=True))

    def mix(self, weights: Any, v: Any) -> Any:
        """Return the weighted sum of the values."""
        return self.rounded(weights @ np.repeat(v, weights.shape[1] // v.shape[1], axis=1))

    def attend(self, q: Any, k: Any, v: Any, scale: float, added: Any = 0.0) -> Any:
        """Return correct attention."""
        return self.mix(self.softmax(self.products(q, k, scale) + added), v)


@dataclass(frozen=True)
class Fault:
    """A fault: the arrays' options, what the call declares, and what the program computes.

    ``kind`` is the finding that must be refuted, ``named`` what its cause must say, and ``fix`` its fix.
    ``compute`` takes arithmetic, queries, keys and values. Where it ``is_slow``, another fault is like it,
    and it is planted in slow tests alone.
    """

    kind: str
    named: str
    compute: Callable[[Arithmetic, Any, Any, Any], Any]
    options: dict[str, Any] = field(default_factory=dict)
    declared: dict[str, Any] = field(default_factory=dict)
    intended: str = "1/sqrt(d)"
    width: int | None = None
    padded: dict[str, int] = field(default_factory=dict)
    fix: str = ""
    is_slow: bool = False

    def layer(self, dtype: Any) -> Layer:
        """Return the layer with the fault in it, computed in ``dtype``."""
        arithmetic = Arithmetic(dtype)
        # One head where nothing else is said: the search for a cause takes its time for each.
        q, k, v = map(arithmetic.rounded, arrays(**{"sequences": 1, **self.options}))
        out = self.compute(arithmetic, q, k, v)
        query, key, value, output = (array.astype(np.float32) for array in (q, k, v, out))
        name = np.dtype(dtype).name
        call = Call(query, key, value, output, dtype=name, **self.declared)
        return Layer("attention", (call,), Intended(self.intended, "given"), self.width, padded=self.padded)


def _scaled(factor: Callable[[int], float]) -> Callable[[Arithmetic, Any, Any, Any], Any]:
    """Return attention whose scale is a function of the width."""
    return lambda a, q, k, v: a.attend(q, k, v, factor(q.shape[-1]))


def _causal(queries: int, keys: int, shift: int = 0) -> Any:
    """Return what a causal mask adds: query i sees the keys up to i + shift."""
    return np.where(np.arange(keys) <= np.arange(queries)[:, None] + shift, 0.0, -np.inf)


RNG = np.random.default_rng(11)
BIAS, BIASES = RNG.standard_normal((1, 1, 24, 24)), RNG.standard_normal((1, 2, 24, 24))
SEEN = RNG.random((1, 1, 24, 24)) < 0.7
SEEN[..., :4] = True
HIDES = np.where(SEEN, 0.0, -np.inf)
SINK = np.array([2.0])
MASKED, BIASED, SUNK, CAUSAL = {"mask": SEEN}, {"bias": BIAS}, {"sink": SINK}, {"causal": True}
"""What calls declare."""
TWO: dict[str, Any] = {"heads": 2}
CAP, MSCALE = 2.0, 0.1 * np.log(40) + 1
YARN = "(0.1*log(40) + 1)**2/sqrt(d)"
CAPPED, LARGE = {"softcap": CAP}, {"deviation": 3.0}
T, C = 24, 64**-0.5


def _with_sink(a: Arithmetic, q: Any, k: Any, v: Any, sink: Any) -> Any:
    scores = a.products(q, k, q.shape[-1] ** -0.5)
    column = np.broadcast_to(np.reshape(sink, (1, -1, 1, 1)), (*scores.shape[:3], 1))
    return a.mix(a.softmax(np.concatenate([scores, column], axis=-1))[..., :-1], v)


def _capped(a: Arithmetic, scores: Any, cap: float = CAP) -> Any:
    return a.rounded(cap * a.rounded(np.tanh(a.rounded(scores / cap))))


def _reshaped(array: Any) -> Any:
    return np.swapaxes(array.reshape(*array.shape[:2], array.shape[3], array.shape[2]), -1, -2)


def _unit(array: Any) -> Any:
    return array / np.linalg.norm(array, axis=-1, keepdims=True)


def _root(d: int) -> float:
    return float(d**-0.5)


_off, _wrong, _right = partial(Fault, "scale"), partial(Fault, "formula"), partial(Fault, "", "")
_slow_off, _slow = partial(_off, is_slow=True), partial(_wrong, is_slow=True)


def _added(added: Any) -> Any:
    """Return attention that adds this to the scores."""
    return lambda a, q, k, v: a.attend(q, k, v, C, added)


def _over(axis: int) -> Any:
    """Return attention with a softmax over this axis."""
    return lambda a, q, k, v: a.mix(a.softmax(a.products(q, k, C), axis=axis), v)


def _of(change: Any, scale: float = C) -> Any:
    """Return attention of other arrays."""
    return lambda a, q, k, v: a.attend(*map(a.rounded, change(q, k, v)), scale)


def _with(weigh: Any, scale: float = C) -> Any:
    """Return attention with other weights, made of scaled scores."""
    return lambda a, q, k, v: a.mix(weigh(a, a.products(q, k, scale)), v)


def _then(change: Any) -> Any:
    """Return attention whose output is changed."""
    return lambda a, q, k, v: a.rounded(change(a.attend(q, k, v, C)))


SCALES = (
    _off("applied twice", _scaled(lambda d: 1 / d), fix="by √64, not 64: every score is 8 times too small"),
    _off("default 1/√d_k", _scaled(_root), intended="1/(3*sqrt(d))"),
    _off("default 1/√d_k", _scaled(_root), {"d": 192}, intended=YARN),
    _off("divides where it should", _scaled(lambda d: _root(d) / MSCALE**2), {"d": 192}, intended=YARN),
    _slow_off("once where its square", _scaled(lambda d: _root(d) * MSCALE), {"d": 192}, intended=YARN),
    _off("no scale is applied", _scaled(lambda _: 1.0), fix="every score is 8 times too large"),
    _off("the scale is 0.0511", _scaled(lambda _: 0.0511), fix="divide by √64: every"),
    _slow_off("number of heads", _scaled(lambda _: 12**-0.5), {"heads": 12}),
    _slow_off("model's width", _scaled(lambda _: 768**-0.5), width=768),
    _off("over the heads", _scaled(lambda _: 224**-0.5), {"d": 256, "heads": 16}, {}, "1/16", 3584),
    _off("all heads together", _scaled(lambda d: (4 * d) ** -0.5), {"heads": 4}),
    _slow_off("root is missing", _scaled(lambda d: 1 / d), {"d": 80}),
    _off("default 1/√d_k", _scaled(_root), {"d": 256}, intended="224**-0.5"),
    _slow_off("absorbed width", _scaled(lambda _: 576**-0.5), {"d": 256}, padded={"absorbed width": 576}),
    _off("padded width", _scaled(lambda _: 128**-0.5), {"d": 96}, padded={"padded width": 128}),
    _off("default 1/√d_k", _scaled(_root), {"deviation": 0.2}, intended="1", fix="leave scores unscaled"),
    _off("1/16", _scaled(lambda d: _root(d) / 16), {"deviation": 4.0, "sequences": 2, "queries": 80}),
    _off("sign", _scaled(lambda d: -_root(d)), fix="every score has the wrong sign"),
    _off("2^x", _scaled(lambda d: _root(d) * np.log(2))),
    _off("multiplied by √d_k", _scaled(np.sqrt), {"deviation": 0.05}),
    _slow_off("one of queries and keys", _scaled(lambda d: d**-0.25), {"d": 128}),
    _off("root is missing", _scaled(lambda d: 1 / d), declared={"scale": 1 / 64}),
)

RECONSTRUCTIONS = (
    _wrong("multiplied by the scale", _with(lambda a, s: a.softmax(C * (s + BIAS)), 1.0), declared=BIASED),
    _wrong("after the softmax", lambda a, q, k, v: C * a.attend(q, k, v, 1.0), {"deviation": 0.1}),
    _wrong("soft-cap is lost", _scaled(_root), LARGE, CAPPED),
    _wrong("before the scale", _with(lambda a, s: a.softmax(C * _capped(a, s)), 1.0), LARGE, CAPPED),
    _slow("after bias and mask", _with(lambda a, s: a.softmax(_capped(a, s + HIDES))), {}, CAPPED | MASKED),
    _slow("soft-cap of 20", _with(lambda a, s: a.softmax(_capped(a, s, 20.0))), {"deviation": 8.0}),
    _wrong("mask is not applied", _scaled(_root), declared=MASKED),
    _wrong("mask is not applied", _scaled(_root), declared=CAUSAL),
    _slow("inverted", _added(np.where(~SEEN, 0.0, -np.inf)), declared=MASKED),
    _wrong("numbers 0 and 1", _added(1.0 * SEEN), declared=MASKED),
    _slow("transposed", _added(np.swapaxes(HIDES, -1, -2)), declared=MASKED),
    _wrong("after the softmax", _with(lambda a, s: np.where(SEEN, a.softmax(s), 0.0)), declared=MASKED),
    _wrong("top left", _added(_causal(T, 40)), {"keys": 40}, {"mask": _causal(T, 40, 16) == 0}),
    _slow("bottom right", _added(_causal(T, 40, 16)), {"keys": 40}, {"causal": True}),
    _slow("off by one", _added(_causal(T, T, 1)), declared=CAUSAL),
    _wrong("the mask is causal", _added(_causal(T, T))),
    _wrong("over the queries", _over(-2)),
    _slow("over the heads", _over(1), TWO),
    _slow("over the sequences", _over(0), {"sequences": 2}),
    _wrong("twice", _with(lambda a, s: a.softmax(a.softmax(s))), {"deviation": 4.0}),
    _wrong("tiled", _of(lambda q, *kv: (q, *np.tile(kv, (1, 2, 1, 1)))), {"heads": 4, "key_heads": 2}),
    _slow("bias is lost", _scaled(_root), declared=BIASED),
    _wrong("wrong sign", _added(-BIAS), declared=BIASED),
    _slow("bias is that of head", _added(np.roll(BIASES, 1, axis=1)), TWO, {"bias": BIASES}),
    _wrong("sink is lost", _scaled(_root), declared=SUNK),
    _slow("sink is multiplied", lambda a, q, k, v: _with_sink(a, q, k, v, SINK * C), declared=SUNK),
    _slow("sink of 0", lambda a, q, k, v: _with_sink(a, q, k, v, np.zeros(1))),
    _slow("values are reshaped", _of(lambda q, k, v: (q, k, _reshaped(v)))),
    _wrong("keys are reshaped", _of(lambda q, k, v: (q, _reshaped(k), v))),
    _slow("output is reshaped", _then(lambda out: np.swapaxes(out, 1, 2).reshape(out.shape)), TWO),
    _wrong("values are those of the token before", _of(lambda q, k, v: (q, k, np.roll(v, 1, axis=2)))),
    _slow("queries and keys are exchanged", _of(lambda q, k, v: (k, q, v))),
    _wrong("keys are used as values", _of(lambda q, k, _: (q, k, k))),
    _wrong("normalised", _of(lambda q, k, v: (_unit(q), _unit(k), v), 10.0), intended="10"),
    _slow("to the length √d", _of(lambda q, k, v: (8 * _unit(q), 8 * _unit(k), v))),
    _wrong(
        "ln n",
        lambda a, q, k, v: a.attend(q * np.log(np.arange(1, T + 1))[:, None], k, v, C, _causal(T, T)),
        declared=CAUSAL,
    ),
    _wrong("the mask is lost and", _added(_causal(T, T)), declared={"mask": SEEN, "causal": True}),
    _slow("the causal mask is lost and", _added(HIDES), declared={"mask": SEEN, "causal": True}),
    _slow("bias is added twice", _added(2 * BIAS), declared=BIASED),
    _slow("sink is 0 whatever", lambda a, q, k, v: _with_sink(a, q, k, v, np.zeros(1)), declared=SUNK),
    _slow("there is no softmax", _with(lambda _, s: s)),
    _wrong("is multiplied by 0.9", _then(lambda out: 0.9 * out)),
    _slow("values are those of head 0", _of(lambda q, k, v: (q, k, np.roll(v, 1, axis=1))), TWO),
    _slow("keys are those of head 0", _of(lambda q, k, v: (q, np.roll(k, 1, axis=1), v)), TWO),
    _wrong(
        "keys and values are those of head 0",
        _of(lambda q, k, v: (q, np.roll(k, 1, 1), np.roll(v, 1, 1))),
        {"heads": 2},
    ),
    _slow("the output is that of head 0", _then(lambda out: np.roll(out, 1, axis=1)), TWO),
    _slow("keys are those of the token after", _of(lambda q, k, v: (q, np.roll(k, -1, axis=2), v))),
    _slow("values are used as keys", _of(lambda q, _, v: (q, v, v))),
    _wrong("keys and values are exchanged", _of(lambda q, k, v: (q, v, k))),
    _slow("reshaped from [head, token]", _then(lambda out: np.swapaxes(out.reshape(1, T, 2, 64), 1, 2)), TWO),
)


BEHIND = np.arange(T)[:, None] - np.arange(T)
WINDOW = (BEHIND >= 0) & (BEHIND < 6)
SMALL = 0.3 * BIAS
ROOM = ((0, 0), (0, 0), (0, 8), (0, 0))
PADDED = np.arange(T) < np.array([24, 19]).reshape(2, 1, 1, 1)


def _hiding(seen: Any) -> Any:
    """Return attention in which only these keys are seen."""
    return _added(np.where(seen, 0.0, -np.inf))


OTHERS = (
    _wrong("one key too short", _hiding(WINDOW & (BEHIND < 5)), declared={"mask": WINDOW}),
    _slow("one key too long", _hiding((BEHIND >= 0) & (BEHIND < 7)), declared={"mask": WINDOW}),
    _wrong("looks ahead", _hiding(abs(BEHIND) < 6), declared={"mask": WINDOW}),
    _slow("of another sequence", _hiding(PADDED[::-1]), {"sequences": 2}, {"mask": PADDED}),
    _wrong("padding is attended to", _of(lambda q, *kv: (q, *(np.pad(x, ROOM) for x in kv)))),
    _wrong("added after the softmax", _with(lambda a, s: a.softmax(s) + SMALL), {}, {"bias": SMALL}),
    _wrong("dropout is on", _with(lambda a, s: a.softmax(s) * (SEEN & (BEHIND != 2)) / 0.7)),
    _slow("the last key is missing", _of(lambda q, k, v: (q, k[:, :, :-1], v[:, :, :-1]))),
)
FAULTS = (*SCALES, *RECONSTRUCTIONS, *OTHERS)


def _broken(a: Arithmetic, q: Any, k: Any, v: Any) -> Any:
    k[0, :, 3, 5] = np.nan
    return a.attend(q, k, v, C)


OVERFLOWS = (
    Fault("overflow", "beyond float16", _scaled(_root), {"deviation": 6e4, "d": 128}),
    Fault("overflow", "keys hold NaN", _broken),
)


MANY = {"sequences": 2, "queries": 80}
"""Rows that settle the scale in bfloat16."""

CORRECT = {
    "plain": _right(_scaled(_root), MANY),
    "factor given": _right(_scaled(_root), MANY, declared={"scale": 1 / 8}),
    "large scores": _right(_scaled(_root), {"sequences": 2, "deviation": 3.0, "queries": 200}),
    "causal": _right(_added(_causal(T, T)), declared=CAUSAL),
    "mask": _right(_added(HIDES), declared=MASKED),
    "mask as a bias": _right(_added(HIDES), declared={"bias": np.where(SEEN, 0.0, -1e9)}),
    "bias": _right(_added(BIAS), declared=BIASED),
    "soft-cap": _right(_with(lambda a, s: a.softmax(_capped(a, s))), declared={"softcap": CAP}),
    "sinks": _right(lambda a, q, k, v: _with_sink(a, q, k, v, SINK), MANY, {"sink": SINK}),
    "grouped heads": _right(_scaled(_root), {**MANY, "heads": 4, "key_heads": 2}),
    "one key head": _right(_scaled(_root), {**MANY, "key_heads": 1}),
    "cross attention": _right(_scaled(_root), {"sequences": 2, "queries": 90, "keys": 40}),
    "no scale intended": _right(_scaled(lambda _: 1.0), {"deviation": 0.1}, intended="1"),
    "YaRN": _right(_scaled(lambda d: MSCALE**2 * _root(d)), {"d": 192}, intended=YARN),
    "padded": _right(
        _scaled(lambda _: 96**-0.5), {"d": 128}, intended="96**-0.5", padded={"padded width": 128}
    ),
    "scaled with n": _right(_scaled(lambda d: _root(d) * np.log(T)), MANY, intended="log(n)/sqrt(d)"),
}
"""Correct attention of every kind, of which nothing may be said."""
