"""Faults planted in attention, each seen in a public program, and what the exact findings say of them.

``python -m tests.auditing.planted`` prints the table.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from ml_dtypes import bfloat16

from tests.auditing.calls import arrays
from verify.auditing.audit import audit_recording, audit_settings
from verify.auditing.recording import Call, Intended, Layer, Recording
from verify.evidence.audits import Finding, Judgement

HEADS = 1
"""How many heads a call has where nothing else is said: the search for a cause takes its time for each."""
EXACT = ("scale", "formula", "overflow")


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
    """A fault: what is wrong, the arrays' options, what the call declares, and what the program computes.

    ``kind`` is the finding that must be refuted, ``named`` what its cause must say. ``compute`` takes
    arithmetic, queries, keys and values. ``seen`` is where it was found.
    """

    what: str
    kind: str
    named: str
    compute: Callable[[Arithmetic, Any, Any, Any], Any]
    options: dict[str, Any] = field(default_factory=dict)
    declared: dict[str, Any] = field(default_factory=dict)
    intended: str = "1/sqrt(d)"
    width: int | None = None
    padded: dict[str, int] = field(default_factory=dict)
    seen: str = ""

    def layer(self, dtype: Any) -> Layer:
        """Return the layer with the fault in it, computed in ``dtype``."""
        arithmetic = Arithmetic(dtype)
        q, k, v = (
            arithmetic.rounded(one) for one in arrays(**{"heads": HEADS, "sequences": 1, **self.options})
        )
        out = self.compute(arithmetic, q, k, v)
        query, key, value, output = (one.astype(np.float32) for one in (q, k, v, out))
        name = np.dtype(dtype).name
        call = Call(query, key, value, output, dtype=name, **self.declared)
        return Layer("attention", (call,), Intended(self.intended, "given"), self.width, padded=self.padded)


def findings_of(layer: Layer, head: int | None = None) -> dict[str, Finding]:
    """Return the exact findings on a middle head of a layer, or on another, by kind, at 1e-3 in all."""
    record = audit_recording(Recording("planted", (layer,)), audit_settings(), workers=1)
    asked = record.layers[0].heads // 2 if head is None else head
    return {
        one.kind: one
        for one in record.findings
        if (not one.heads or asked in one.heads) and one.kind in EXACT
    }


def _scaled(factor: Callable[[int], float]) -> Callable[[Arithmetic, Any, Any, Any], Any]:
    """Return attention whose scale is a function of the width."""
    return lambda a, q, k, v: a.attend(q, k, v, factor(q.shape[-1]))


def _causal(queries: int, keys: int, shift: int = 0) -> Any:
    """Return what a causal mask adds: query i sees the keys up to i + shift."""
    return np.where(np.arange(keys) <= np.arange(queries)[:, None] + shift, 0.0, -np.inf)


RNG = np.random.default_rng(11)
BIAS, BIASES = RNG.standard_normal((1, HEADS, 24, 24)), RNG.standard_normal((1, 2, 24, 24))
SINK = np.array([2.0])
SEEN = RNG.random((1, 1, 24, 24)) < 0.7
SEEN[..., :4] = True
HIDES = np.where(SEEN, 0.0, -np.inf)
CAP, MSCALE = 2.0, 0.1 * np.log(40) + 1
T = 24


def _with_sink(a: Arithmetic, q: Any, k: Any, v: Any, sink: Any) -> Any:
    scores = a.products(q, k, q.shape[-1] ** -0.5)
    column = np.broadcast_to(np.reshape(sink, (1, -1, 1, 1)), (*scores.shape[:3], 1))
    return a.mix(a.softmax(np.concatenate([scores, column], axis=-1))[..., :-1], v)


def _capped(a: Arithmetic, scores: Any, cap: float = CAP) -> Any:
    return a.rounded(cap * a.rounded(np.tanh(a.rounded(scores / cap))))


def _swapped_output(a: Arithmetic, q: Any, k: Any, v: Any) -> Any:
    out = a.attend(q, k, v, q.shape[-1] ** -0.5)
    return np.swapaxes(out, 1, 2).reshape(out.shape)


def _swapped_back(out: Any) -> Any:
    sequences, heads, tokens, d = out.shape
    return np.swapaxes(out.reshape(sequences, tokens, heads, d), 1, 2)


def _reshaped(array: Any) -> Any:
    return np.swapaxes(array.reshape(*array.shape[:2], array.shape[3], array.shape[2]), -1, -2)


def _unit(array: Any) -> Any:
    return array / np.linalg.norm(array, axis=-1, keepdims=True)


def _interleaved(array: Any, heads: int) -> Any:
    return np.tile(array, (1, heads // array.shape[1], 1, 1))


def _root(d: int) -> float:
    return float(d**-0.5)


SCALES = (
    Fault(
        "scaled in the projection and again",
        "scale",
        "applied twice",
        _scaled(lambda d: 1 / d),
        seen="transformers #38290, maxtext #3138",
    ),
    Fault(
        "configured scale ignored",
        "scale",
        "default 1/√d_k",
        _scaled(_root),
        intended="1/(3*sqrt(d))",
        seen="transformers #44397",
    ),
    Fault(
        "YaRN's factor missing",
        "scale",
        "default 1/√d_k",
        _scaled(_root),
        {"d": 192},
        intended="(0.1*log(40) + 1)**2/sqrt(d)",
        seen="transformers #47435",
    ),
    Fault(
        "YaRN's factor inverted",
        "scale",
        "divides where it should multiply",
        _scaled(lambda d: _root(d) / MSCALE**2),
        {"d": 192},
        intended="(0.1*log(40) + 1)**2/sqrt(d)",
        seen="Megatron-LM #1429",
    ),
    Fault(
        "YaRN's factor not squared",
        "scale",
        "once where its square",
        _scaled(lambda d: _root(d) * MSCALE),
        {"d": 192},
        intended="(0.1*log(40) + 1)**2/sqrt(d)",
        seen="maxtext #1370",
    ),
    Fault("no scale", "scale", "no scale is applied", _scaled(lambda _: 1.0), seen="mlc-llm #3426"),
    Fault(
        "1/√heads",
        "scale",
        "number of heads",
        _scaled(lambda _: 12**-0.5),
        {"heads": 12},
        seen="tt-metal #56789",
    ),
    Fault(
        "1/√d_model",
        "scale",
        "model's width",
        _scaled(lambda _: 768**-0.5),
        width=768,
        seen="timm #2385",
    ),
    Fault(
        "width of all heads",
        "scale",
        "all heads together",
        _scaled(lambda d: (4 * d) ** -0.5),
        {"heads": 4},
        seen="set_transformer #18",
    ),
    Fault("1/d_k", "scale", "root is missing", _scaled(lambda d: 1 / d), {"d": 80}),
    Fault(
        "256 for 224",
        "scale",
        "default 1/√d_k",
        _scaled(_root),
        {"d": 256},
        intended="224**-0.5",
        seen="transformers #31891",
    ),
    Fault(
        "absorbed width",
        "scale",
        "absorbed width",
        _scaled(lambda _: 576**-0.5),
        {"d": 256},
        padded={"absorbed width": 576},
        seen="ollama #13893",
    ),
    Fault(
        "padded width",
        "scale",
        "padded width",
        _scaled(lambda _: 128**-0.5),
        {"d": 96},
        padded={"padded width": 128},
        seen="cudnn-frontend #493",
    ),
    Fault(
        "default where none belongs",
        "scale",
        "default 1/√d_k",
        _scaled(_root),
        {"deviation": 0.2},
        intended="1",
        seen="burn-onnx #453",
    ),
    Fault(
        "stale factor 1/16",
        "scale",
        "1/16",
        _scaled(lambda d: _root(d) / 16),
        {"deviation": 4.0, "sequences": 2, "queries": 80},
        seen="sglang #18396",
    ),
    Fault("sign reversed", "scale", "sign", _scaled(lambda d: -_root(d))),
    Fault("2^x without log₂e", "scale", "2^x", _scaled(lambda d: _root(d) * np.log(2))),
    Fault("multiplied by √d_k", "scale", "multiplied by √d_k", _scaled(np.sqrt), {"deviation": 0.05}),
    Fault(
        "one of two roots",
        "scale",
        "one of queries and keys",
        _scaled(lambda d: d**-0.25),
        {"d": 128},
    ),
    Fault(
        "wrong factor given",
        "scale",
        "root is missing",
        _scaled(lambda d: 1 / d),
        declared={"scale": 1 / 64},
    ),
)

RECONSTRUCTIONS = (
    Fault(
        "bias multiplied by the scale",
        "formula",
        "multiplied by the scale",
        lambda a, q, k, v: a.mix(a.softmax(_root(q.shape[-1]) * (a.products(q, k) + BIAS)), v),
        declared={"bias": BIAS},
        seen="tt-metal #42891",
    ),
    Fault(
        "scale after the softmax",
        "formula",
        "after the softmax",
        lambda a, q, k, v: _root(q.shape[-1]) * a.attend(q, k, v, 1.0),
        {"deviation": 0.1},
    ),
    Fault(
        "soft-cap lost",
        "formula",
        "soft-cap is lost",
        _scaled(_root),
        declared={"softcap": CAP},
        options={"deviation": 3.0},
        seen="vllm-metal #665",
    ),
    Fault(
        "soft-cap before the scale",
        "formula",
        "before the scale",
        lambda a, q, k, v: a.mix(a.softmax(_root(q.shape[-1]) * _capped(a, a.products(q, k))), v),
        {"deviation": 3.0},
        {"softcap": CAP},
    ),
    Fault(
        "soft-cap after the mask",
        "formula",
        "after bias and mask",
        lambda a, q, k, v: a.mix(a.softmax(_capped(a, a.products(q, k, _root(q.shape[-1])) + HIDES)), v),
        declared={"softcap": CAP, "mask": SEEN},
    ),
    Fault(
        "foreign soft-cap",
        "formula",
        "soft-cap of 20",
        lambda a, q, k, v: a.mix(a.softmax(_capped(a, a.products(q, k, _root(q.shape[-1])), 20.0)), v),
        {"deviation": 8.0},
    ),
    Fault("mask lost", "formula", "mask is not applied", _scaled(_root), declared={"mask": SEEN}),
    Fault("causal mask lost", "formula", "mask is not applied", _scaled(_root), declared={"causal": True}),
    Fault(
        "mask inverted",
        "formula",
        "inverted",
        lambda a, q, k, v: a.attend(q, k, v, _root(q.shape[-1]), np.where(~SEEN, 0.0, -np.inf)),
        declared={"mask": SEEN},
    ),
    Fault(
        "mask added as 0 and 1",
        "formula",
        "numbers 0 and 1",
        lambda a, q, k, v: a.attend(q, k, v, _root(q.shape[-1]), 1.0 * SEEN),
        declared={"mask": SEEN},
    ),
    Fault(
        "mask transposed",
        "formula",
        "transposed",
        lambda a, q, k, v: a.attend(q, k, v, _root(q.shape[-1]), np.swapaxes(HIDES, -1, -2)),
        declared={"mask": SEEN},
    ),
    Fault(
        "mask after the softmax",
        "formula",
        "after the softmax",
        lambda a, q, k, v: a.mix(np.where(SEEN, a.softmax(a.products(q, k, _root(q.shape[-1]))), 0.0), v),
        declared={"mask": SEEN},
    ),
    Fault(
        "rectangle aligned at the first token",
        "formula",
        "top left",
        lambda a, q, k, v: a.attend(q, k, v, _root(q.shape[-1]), _causal(T, 40)),
        {"keys": 40},
        {"mask": _causal(T, 40, 16) == 0},
    ),
    Fault(
        "rectangle aligned at the last token",
        "formula",
        "bottom right",
        lambda a, q, k, v: a.attend(q, k, v, _root(q.shape[-1]), _causal(T, 40, 16)),
        {"keys": 40},
        {"causal": True},
    ),
    Fault(
        "causal mask off by one",
        "formula",
        "off by one",
        lambda a, q, k, v: a.attend(q, k, v, _root(q.shape[-1]), _causal(T, T, 1)),
        declared={"causal": True},
    ),
    Fault(
        "causal mask where none is declared",
        "formula",
        "the mask is causal",
        lambda a, q, k, v: a.attend(q, k, v, _root(q.shape[-1]), _causal(T, T)),
    ),
    Fault(
        "softmax over the queries",
        "formula",
        "over the queries",
        lambda a, q, k, v: a.mix(a.softmax(a.products(q, k, _root(q.shape[-1])), axis=-2), v),
    ),
    Fault(
        "softmax over the heads",
        "formula",
        "over the heads",
        lambda a, q, k, v: a.mix(a.softmax(a.products(q, k, _root(q.shape[-1])), axis=1), v),
        {"heads": 2},
    ),
    Fault(
        "softmax over the batch",
        "formula",
        "over the sequences",
        lambda a, q, k, v: a.mix(a.softmax(a.products(q, k, _root(q.shape[-1])), axis=0), v),
        {"sequences": 2},
    ),
    Fault(
        "softmax twice",
        "formula",
        "twice",
        lambda a, q, k, v: a.mix(a.softmax(a.softmax(a.products(q, k, _root(q.shape[-1])))), v),
        {"deviation": 4.0},
    ),
    Fault(
        "grouped heads interleaved",
        "formula",
        "tiled",
        lambda a, q, k, v: a.attend(q, _interleaved(k, 4), _interleaved(v, 4), _root(q.shape[-1])),
        {"heads": 4, "key_heads": 2},
    ),
    Fault("bias lost", "formula", "bias is lost", _scaled(_root), declared={"bias": BIAS}),
    Fault(
        "bias with the wrong sign",
        "formula",
        "wrong sign",
        lambda a, q, k, v: a.attend(q, k, v, _root(q.shape[-1]), -BIAS),
        declared={"bias": BIAS},
    ),
    Fault(
        "bias of another head",
        "formula",
        "bias is that of head",
        lambda a, q, k, v: a.attend(q, k, v, _root(q.shape[-1]), np.roll(BIASES, 1, axis=1)),
        {"heads": 2},
        {"bias": BIASES},
    ),
    Fault("sink lost", "formula", "sink is lost", _scaled(_root), declared={"sink": SINK}),
    Fault(
        "sink multiplied by the scale",
        "formula",
        "sink is multiplied",
        lambda a, q, k, v: _with_sink(a, q, k, v, SINK * _root(q.shape[-1])),
        declared={"sink": SINK},
    ),
    Fault(
        "1 added to the denominator",
        "formula",
        "sink of 0",
        lambda a, q, k, v: _with_sink(a, q, k, v, np.zeros(HEADS)),
    ),
    Fault(
        "values reshaped",
        "formula",
        "values are reshaped",
        lambda a, q, k, v: a.attend(q, k, _reshaped(v), _root(q.shape[-1])),
    ),
    Fault(
        "keys reshaped",
        "formula",
        "keys are reshaped",
        lambda a, q, k, v: a.attend(q, _reshaped(k), v, _root(q.shape[-1])),
    ),
    Fault("output reshaped", "formula", "output is reshaped", _swapped_output, {"heads": 2}),
    Fault(
        "values of the token before",
        "formula",
        "values are those of the token before",
        lambda a, q, k, v: a.attend(q, k, np.roll(v, 1, axis=2), _root(q.shape[-1])),
    ),
    Fault(
        "queries and keys exchanged",
        "formula",
        "queries and keys are exchanged",
        lambda a, q, k, v: a.attend(k, q, v, _root(q.shape[-1])),
    ),
    Fault(
        "keys for values",
        "formula",
        "keys are used as values",
        lambda a, q, k, _: a.attend(q, k, k, _root(q.shape[-1])),
    ),
    Fault(
        "vectors normalised",
        "formula",
        "normalised",
        lambda a, q, k, v: a.attend(a.rounded(_unit(q)), a.rounded(_unit(k)), v, 10.0),
        intended="10",
    ),
    Fault(
        "scale times ln n",
        "formula",
        "ln n",
        lambda a, q, k, v: a.attend(
            q * np.log(np.arange(1, T + 1))[:, None], k, v, _root(q.shape[-1]), _causal(T, T)
        ),
        declared={"causal": True},
    ),
    Fault(
        "mask lost beside the causal one",
        "formula",
        "the mask is lost beside",
        lambda a, q, k, v: a.attend(q, k, v, _root(q.shape[-1]), _causal(T, T)),
        declared={"mask": SEEN, "causal": True},
    ),
    Fault(
        "causal mask lost beside the other",
        "formula",
        "the causal mask is lost beside",
        lambda a, q, k, v: a.attend(q, k, v, _root(q.shape[-1]), HIDES),
        declared={"mask": SEEN, "causal": True},
    ),
    Fault(
        "bias added twice",
        "formula",
        "bias is added twice",
        lambda a, q, k, v: a.attend(q, k, v, _root(q.shape[-1]), 2 * BIAS),
        declared={"bias": BIAS},
    ),
    Fault(
        "sink of 0 for another",
        "formula",
        "sink is 0 whatever",
        lambda a, q, k, v: _with_sink(a, q, k, v, np.zeros(HEADS)),
        declared={"sink": SINK},
    ),
    Fault(
        "no softmax",
        "formula",
        "there is no softmax",
        lambda a, q, k, v: a.mix(a.products(q, k, _root(q.shape[-1])), v),
    ),
    Fault(
        "factor on the output",
        "formula",
        "is multiplied by 0.9",
        lambda a, q, k, v: a.rounded(0.9 * a.attend(q, k, v, _root(q.shape[-1]))),
    ),
    Fault(
        "values of another head",
        "formula",
        "values are those of head 0",
        lambda a, q, k, v: a.attend(q, k, np.roll(v, 1, axis=1), _root(q.shape[-1])),
        {"heads": 2},
    ),
    Fault(
        "keys of another head",
        "formula",
        "keys are those of head 0",
        lambda a, q, k, v: a.attend(q, np.roll(k, 1, axis=1), v, _root(q.shape[-1])),
        {"heads": 2},
    ),
    Fault(
        "keys and values of another head",
        "formula",
        "keys and values are those of head 0",
        lambda a, q, k, v: a.attend(q, np.roll(k, 1, 1), np.roll(v, 1, 1), _root(q.shape[-1])),
        {"heads": 2},
    ),
    Fault(
        "output of another head",
        "formula",
        "the output is that of head 0",
        lambda a, q, k, v: np.roll(a.attend(q, k, v, _root(q.shape[-1])), 1, axis=1),
        {"heads": 2},
    ),
    Fault(
        "keys of the token after",
        "formula",
        "keys are those of the token after",
        lambda a, q, k, v: a.attend(q, np.roll(k, -1, axis=2), v, _root(q.shape[-1])),
    ),
    Fault(
        "values for keys",
        "formula",
        "values are used as keys",
        lambda a, q, _, v: a.attend(q, v, v, _root(q.shape[-1])),
    ),
    Fault(
        "keys and values exchanged",
        "formula",
        "keys and values are exchanged",
        lambda a, q, k, v: a.attend(q, v, k, _root(q.shape[-1])),
    ),
    Fault(
        "output reshaped the other way",
        "formula",
        "reshaped from [head, token]",
        lambda a, q, k, v: _swapped_back(a.attend(q, k, v, _root(q.shape[-1]))),
        {"heads": 2},
    ),
)


FAULTS = (*SCALES, *RECONSTRUCTIONS)


def _broken(a: Arithmetic, q: Any, k: Any, v: Any) -> Any:
    k[0, :, 3, 5] = np.nan
    return a.attend(q, k, v, _root(q.shape[-1]))


OVERFLOWS = (
    Fault(
        "products beyond float16",
        "overflow",
        "beyond float16",
        _scaled(_root),
        {"deviation": 6e4, "d": 128},
        seen="pytorch #119131",
    ),
    Fault("NaN in the keys", "overflow", "keys hold NaN", _broken),
)


def dtypes() -> dict[str, Any]:
    """Return the dtypes that faults are planted at."""
    return {"float32": np.float32, "bfloat16": bfloat16}


MANY = {"sequences": 2, "queries": 80}
"""Rows that settle the scale in bfloat16."""

CORRECT = {
    "plain": Fault("", "", "", _scaled(_root), MANY),
    "factor given": Fault("", "", "", _scaled(_root), MANY, declared={"scale": 1 / 8}),
    "large scores": Fault("", "", "", _scaled(_root), {"sequences": 2, "deviation": 3.0, "queries": 200}),
    "causal": Fault(
        "", "", "", lambda a, q, k, v: a.attend(q, k, v, _root(64), _causal(T, T)), declared={"causal": True}
    ),
    "mask": Fault(
        "", "", "", lambda a, q, k, v: a.attend(q, k, v, _root(64), HIDES), declared={"mask": SEEN}
    ),
    "mask as a bias": Fault(
        "",
        "",
        "",
        lambda a, q, k, v: a.attend(q, k, v, _root(64), HIDES),
        declared={"bias": np.where(SEEN, 0.0, -1e9)},
    ),
    "bias": Fault("", "", "", lambda a, q, k, v: a.attend(q, k, v, _root(64), BIAS), declared={"bias": BIAS}),
    "soft-cap": Fault(
        "",
        "",
        "",
        lambda a, q, k, v: a.mix(a.softmax(_capped(a, a.products(q, k, _root(64)))), v),
        declared={"softcap": CAP},
    ),
    "sinks": Fault("", "", "", lambda a, q, k, v: _with_sink(a, q, k, v, SINK), MANY, {"sink": SINK}),
    "grouped heads": Fault("", "", "", _scaled(_root), {**MANY, "heads": 4, "key_heads": 2}),
    "one key head": Fault("", "", "", _scaled(_root), {**MANY, "key_heads": 1}),
    "cross attention": Fault("", "", "", _scaled(_root), {"sequences": 2, "queries": 90, "keys": 40}),
    "no scale intended": Fault("", "", "", _scaled(lambda _: 1.0), {"deviation": 0.1}, intended="1"),
    "YaRN": Fault(
        "",
        "",
        "",
        _scaled(lambda d: MSCALE**2 * _root(d)),
        {"d": 192},
        intended="(0.1*log(40) + 1)**2/sqrt(d)",
    ),
    "padded": Fault(
        "", "", "", _scaled(lambda _: 96**-0.5), {"d": 128}, intended="96**-0.5", padded={"padded width": 128}
    ),
    "scaled with n": Fault(
        "", "", "", _scaled(lambda d: _root(d) * np.log(T)), MANY, intended="log(n)/sqrt(d)"
    ),
}
"""Correct attention of every kind, of which nothing may be said."""


def is_caught(fault: Fault, found: Finding) -> bool:
    """Return whether the finding refutes and names the fault."""
    return found.judgement is Judgement.REFUTED and fault.named in found.cause


def main() -> None:
    """Print what is found of each fault, and of correct attention."""
    rows = [(fault, name, dtype) for fault in FAULTS for name, dtype in dtypes().items()]
    rows += [(fault, "float16", np.float16) for fault in OVERFLOWS]
    print("| fault | seen in | dtype | finding | verdict | named | fix |\n|---|---|---|---|---|---|---|")
    for fault, name, dtype in rows:
        found = findings_of(fault.layer(dtype))[fault.kind]
        verdict = str(found.judgement) if is_caught(fault, found) else f"{found.judgement} (MISSED)"
        cells = (fault.what, fault.seen, name, fault.kind, verdict, found.cause or found.reason, found.fix)
        print(f"| {' | '.join(cells)} |")
    for what, correct in CORRECT.items():
        for name, dtype in dtypes().items():
            verdicts = {str(one.judgement) for one in findings_of(correct.layer(dtype)).values()}
            print(f"| none: {what} | | {name} | all | {', '.join(sorted(verdicts))} | | |")


if __name__ == "__main__":
    main()
