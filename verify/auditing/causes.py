"""Likely mistakes by name: what a program may compute in place of what its call declares.

`mistakes` yields those that can be made in a call, each seen in public code: what the program does, how to
mend it, and what stands in place of the call's arrays or of the formula's parts.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from verify.auditing.formula import Band, Formula
from verify.auditing.masks import described

_MOST_OTHERS = 16  # other heads or sequences that are compared with a head or sequence
_MOST_SCORES = 1 << 24  # scores of a call up to which they are all computed at once
_LEAST_DROPOUT = 1.01  # factor of the weights that dropout leaves
_PARTS = {field.name for field in fields(Formula)}

Changes = Mapping[str, Any]
"""What stands in place of fields of a `Formula` or its call: a value, or a function of a call's old array."""

Table = dict[str, dict[str, Changes]]
"""Mistakes by how they are mended, then by what the program does."""

_SHOW = "let each query see the keys that the call declares, or declare this mask"
_ONCE = "add the bias once to the scaled scores, as it is, each head its own"
_HEAD = "let every query head read the keys and values of its own group"
_TRANSPOSE = "transpose, do not reshape"
# Arrays of other heads or sequences: which, by their axis from the end.
_OTHERS = (
    ("the mask is that of another sequence", _SHOW, -4, ("mask", "bias")),
    ("the bias is that of head {other}", _ONCE, -3, ("bias",)),
    ("keys and values are those of head {other}", _HEAD, -3, ("key", "value")),
    ("values are those of head {other}", _HEAD, -3, ("value",)),
    ("keys are those of head {other}", _HEAD, -3, ("key",)),
    ("the output is that of head {other}", _HEAD, -3, ("output",)),
)


class Cause(NamedTuple):
    """A mistake: what the program does, what to do instead, and what it computes with.

    ``other`` is by how many places the head or sequence that is read lies before the call's own, a head of
    the keys where it is ``of_keys``. Where it ``moves_rows``, rows and heads of the output are not the
    recorded ones: it holds for all heads or none. Where it ``is_coarse``, it is the declared formula, to
    fewer digits.
    """

    does: str
    fix: str = ""
    changes: Changes = MappingProxyType({})
    other: int = 0
    of_keys: bool = False
    moves_rows: bool = False
    is_coarse: bool = False

    def made_in(self, formula: Formula) -> Formula:
        """Return what is computed in place of the formula whose mistake this is."""
        parts, of_call = dict[str, Any](), dict[str, Any]()
        for name, change in self.changes.items():
            if name in _PARTS:
                parts[name] = change
            else:
                of_call[name] = change(getattr(formula.call, name)) if callable(change) else change
        return replace(formula, call=replace(formula.call, **of_call), **parts)


def mistakes(formula: Formula, factor: float = 1.0) -> Iterator[Cause]:
    """Yield the mistakes that can be made in a call with an output, the likeliest of each kind first.

    Arrays of another head or sequence come last, and that the output is multiplied by ``factor``.
    """
    hidden, bias = formula.hidden_and_bias()
    for kind in (_of_masks, _of_hidden_keys, _of_scores, _of_softmax, _of_arrays):
        for fix, group in kind(formula, hidden, bias).items():
            yield from (Cause(does, fix, changes) for does, changes in group.items())
    for word, moved in (("to [token, head]", _by_token), ("from [head, token]", _by_head)):
        does = f"the output is reshaped {word} where it should be transposed"
        yield Cause(does, _TRANSPOSE, {"output": moved}, moves_rows=True)
    # Coarser arithmetic is the declared formula with a larger rounding error, so only the bound grows.
    for word, unit in (("TensorFloat-32 or float16", 2.0**-11), ("bfloat16", 2.0**-8)):
        does = f"sums or weights are rounded to {word}"
        yield Cause(does, "compute in the type that is stored", {"unit": unit}, is_coarse=True)
    for does, fix, axis, names in _OTHERS:
        for shift in range(1, _MOST_OTHERS):
            # What all heads or sequences share has length 1 there, so it cannot be taken from another.
            arrays = [(name, getattr(formula.call, name)) for name in names]
            own = [n for n, a in arrays if a is not None and a.ndim >= -axis and a.shape[axis] > shift]
            changes = dict.fromkeys(own, partial(np.roll, shift=shift, axis=axis))
            if "output" in own:  # an output that was rolled forward is that of a head behind
                yield Cause(does, fix, changes, -shift, moves_rows=True)
            elif own:
                yield Cause(does, fix, changes, shift, of_keys=fix == _HEAD)
    if factor != 1:
        does = f"the output (or its values) is multiplied by {factor:.3g}"
        yield Cause(does, "leave the output as the weighted mean of the values", {"factor": factor})


def _of_masks(formula: Formula, hidden: Any, bias: Any) -> Table:
    """Return which masks programs apply in place of the declared one."""
    call, (_, heads, queries, keys) = formula.call, formula.scores
    unmasked, shown, behind = _unmasked(bias), dict[str, Changes](), keys - queries
    if hidden is not None:
        shown["the mask is not applied"] = unmasked
        shown["the mask is inverted: True is where a key may be seen"] = unmasked | {"mask": hidden}
    if call.mask is not None and call.mask.ndim > 1 and call.mask.shape[-1] == call.mask.shape[-2]:
        shown["the mask is transposed"] = {"mask": np.matrix_transpose}
    if call.mask is not None and call.causal:
        shown["the mask is lost and only the causal mask applied"] = {"mask": None}
        shown["the causal mask is lost and only the other applied"] = {"causal": False}
    # In place of the call's own causal mask, else of all masks.
    bare = {"causal": False} if call.causal else unmasked
    shown |= {
        "the mask is causal, aligned at the first token (top left)": bare | {"band": Band(last=0)},
        "the mask is causal and off by one: query i sees key i + 1": bare | {"band": Band(last=1)},
        "the mask is causal and off by one: query i does not see key i": bare | {"band": Band(last=-1)},
    }
    if behind:
        from_last = "the mask is causal, from the last token, and sees one key"
        shown |= {
            "the mask is causal, aligned at the last token (bottom right)": bare
            | {"band": Band(last=behind)},
            f"{from_last} more": bare | {"band": Band(last=behind + 1)},
            f"{from_last} less": bare | {"band": Band(last=behind - 1)},
        }
    if call.sink is None:  # padded keys of zeros add e⁰ each to the sum, and their values nothing
        for block in (block for block in (8, 16, 32, 64, 128, 256) if keys % block):
            padded = np.full(heads, math.log(-keys % block))
            shown[f"padding is attended to, zeros up to a multiple of {block}"] = {"sink": padded}
    return {_SHOW: shown}


def _of_hidden_keys(formula: Formula, hidden: Any, bias: Any) -> Table:
    """Return how programs hide keys too little, and which keys they miss."""
    (_, _, queries, keys), unmasked = formula.scores, _unmasked(bias)
    weak: dict[str, Changes] = {}
    window: dict[str, Changes] = {}
    ends: dict[str, Changes] = {}
    if (mask := formula.call.mask) is not None:

        def with_numbers(given: Any) -> Any:
            return mask + (0.0 if given is None else np.asarray(given).astype(np.float64))

        weak["the mask is added as the numbers 0 and 1"] = {"mask": None, "bias": with_numbers}
    if hidden is not None:

        def weakly(_given: Any, *, number: int) -> Any:
            return np.where(hidden, number, 0.0) + (0.0 if bias is None else bias)

        for size in (1, 2, 5, 8, 10, 15, 20, 50, 100, 1000, 10_000):
            does = f"the mask is weak: it adds {-size} to the scores of hidden keys"
            weak[does] = unmasked | {"bias": partial(weakly, number=-size)}
        kind, _, width = described(formula.call).partition("=")
        if kind == "window":
            last = keys - queries
            first = last - int(width) + 1
            window = {
                "the window is one key too short": unmasked | {"band": Band(first + 1, last)},
                "the window is one key too long": unmasked | {"band": Band(first - 1, last)},
                "the window looks ahead as far as behind": unmasked | {"band": Band(first, 2 * last - first)},
            }
    if keys > 1:
        seen = True if hidden is None else ~hidden
        for end, key in (("last", keys - 1), ("first", 0)):
            ends[f"the {end} key is missing"] = unmasked | {"mask": seen & (np.arange(keys) != key)}
    return {
        "add -inf where a key is hidden": weak,
        "let each query see its own key and the W - 1 before it": window,
        "let queries see every key, also that of the newest token": ends,
    }


def _of_scores(formula: Formula, hidden: Any, bias: Any) -> Table:
    """Return what programs do to a bias, to a soft-cap, to sinks, and in which order."""
    call, cap, scale = formula.call, formula.call.softcap, float(np.ravel(formula.scale)[0])
    masked: dict[str, Any] = {"mask": True if hidden is None else ~hidden, "causal": False, "band": Band()}
    biased: dict[str, Changes] = {}
    ordered: dict[str, Changes] = {}
    if bias is not None:
        biased["the bias is lost"] = masked | {"bias": None}
        biased["the bias has the wrong sign"] = masked | {"bias": -bias}
        biased["the bias is added twice"] = masked | {"bias": 2 * bias}
        ordered["the bias (or mask) is multiplied by the scale"] = masked | {"bias": scale * bias}
        if _is_small(formula):
            late = masked | {"bias": None, "needs_all": True}
            late["weigh"] = lambda scores, hidden: softmax(scores, hidden) + bias
            ordered["the bias is added after the softmax"] = late
    if hidden is not None:
        late = {"weigh": lambda scores, hidden: _hide(softmax(scores), hidden, 0.0)}
        ordered["the mask is applied after the softmax, and weights are not normalised again"] = late
    if cap is not None:

        def capped_last(scores: Any, hidden: Any) -> Any:
            return softmax(cap * np.tanh(_hide(scores, hidden, -np.inf) / cap))

        last = "the soft-cap is applied after bias and mask, so that hidden keys get weight"
        ordered["the soft-cap is lost"] = {"softcap": None}
        ordered["the soft-cap is applied before the scale"] = {"softcap": cap * abs(scale)}
        ordered[last] = {"softcap": None, "weigh": capped_last}
    for size in (20, 30, 50) if cap is None else ():
        ordered[f"a soft-cap of {size} is applied that the call does not declare"] = {"softcap": size}
    ordered["the scale is applied after the softmax"] = {"scale": 1.0, "factor": scale}
    none = {"sink": np.zeros(formula.scores[1])}
    sunk: dict[str, Changes] = {"a sink of 0 is in the softmax (a further 1 in its denominator)": none}
    if call.sink is not None:
        sunk = {
            "the sink is lost": {"sink": None},
            "the sink is 0 whatever it should be": none,
            "the sink is multiplied by the scale": {"sink": formula.scale * call.sink},
        }
    declared = (
        "let the declared sink, as it is, take part in the softmax’s sum; declare it where there is one"
    )
    order = "scale the products first, then cap them, then add bias and mask, then apply the softmax"
    return {_ONCE: biased, order: ordered, declared: sunk}


def _of_softmax(formula: Formula, _hidden: Any, _bias: Any) -> Table:
    """Return what programs do in place of a softmax over the keys."""
    over: dict[str, Changes] = {}
    for axis, name in ((2, "queries"), (1, "heads"), (0, "sequences")):
        if formula.scores[axis] > 1 and _is_small(formula):
            # A low finite number in place of −∞ keeps hidden scores from spoiling a whole column.
            weigh = partial(softmax, axis=axis, number=-1e30)
            over[f"the softmax is over the {name}, not the keys"] = {"weigh": weigh, "needs_all": True}

    def twice(scores: Any, hidden: Any) -> Any:
        # Weights lie between 0 and 1: the second softmax leaves no key more than e times another's weight.
        return softmax(softmax(scores, hidden), hidden)

    over["the softmax is applied twice"] = {"weigh": twice}
    over["there is no softmax"] = {"weigh": partial(_hide, number=0.0)}
    call, dropped = formula.call, dict[str, Changes]()
    value, output = (np.nan_to_num(np.asarray(array).astype(float)) for array in (call.value, call.output))

    def left(scores: Any, hidden: Any) -> Any:
        """Return weights of which a part is 0 and the others larger by a factor, read off the output."""
        weights = softmax(scores, hidden)
        actual = output @ np.linalg.pinv(np.repeat(value, formula.scores[1] // value.shape[1], axis=1))
        left = actual > weights / 2
        shares = actual[left & (weights > 0)] / weights[left & (weights > 0)]
        common = float(np.median(shares)) if shares.size else 1.0
        return weights * left * common if common > _LEAST_DROPOUT and not left.all() else weights

    # No more keys than components of a value: the output then determines the weights, as a linear system.
    if formula.scores[3] <= value.shape[3] and _is_small(formula):
        does = "dropout is on: weights are 0, and the others larger by a common factor"
        dropped[does] = {"weigh": left, "needs_all": True}
    fix = "take the softmax over the last axis of the scores, the keys, once"
    return {fix: over, "call model.eval()": dropped}


def _of_arrays(formula: Formula, hidden: Any, _bias: Any) -> Table:
    """Return where programs take the wrong queries, keys and values."""
    call, (_, heads, _, keys), key_heads = formula.call, formula.scores, int(formula.call.key.shape[1])
    logs: dict[str, Changes] = {}
    tiled: dict[str, Changes] = {}
    if keys > 1:

        def times_log(query: Any) -> Any:
            counts = keys - np.broadcast_to(False if hidden is None else hidden, formula.scores).sum(axis=-1)
            return query.astype(float) * np.log(np.maximum(counts, 1))[..., None]

        logs["the scale is multiplied by ln n, n the keys that a query sees"] = {"query": times_log}
    before, after = partial(np.roll, shift=1, axis=2), partial(np.roll, shift=-1, axis=2)
    placed: dict[str, Changes] = {
        "keys are those of the token before": {"key": before},
        "keys are those of the token after": {"key": after},
        "values are those of the token before": {"value": before},
        "values are those of the token after": {"value": after},
    }
    if call.value is not None and call.key.shape == call.value.shape:
        placed["keys are used as values"] = {"value": call.key}
        placed["values are used as keys"] = {"key": call.value}
        placed["keys and values are exchanged"] = {"key": call.value, "value": call.key}
    if call.query.shape == call.key.shape:
        placed["queries and keys are exchanged"] = {"query": call.key, "key": call.query}
    unit, longer = {"query": _unit, "key": _unit}, formula.scale * call.query.shape[-1]
    if 1 < key_heads < heads:
        by_turns = dict.fromkeys(("key", "value"), lambda array: array[:, np.arange(heads) % key_heads])
        tiled["grouped heads are tiled: query head i reads key head i mod h_k"] = by_turns
    return {
        "declare it as intended": logs,
        _TRANSPOSE: {
            "keys are reshaped where they should be transposed": {"key": _reshaped},
            "values are reshaped where they should be transposed": {"value": _reshaped},
        },
        "take keys and values of the same position, in their own places": placed,
        "record them after they are normalised": {
            "queries and keys are normalised first": unit,
            "queries and keys are normalised first, to the length √d": unit | {"scale": longer},
        },
        "repeat each key head in a row, as torch.repeat_interleave does": tiled,
    }


def softmax(scores: Any, hidden: Any = None, axis: int = -1, number: float = -np.inf) -> Any:
    """Return weights over an axis, a ``number`` standing for hidden scores; where all are −∞ they are 0."""
    scores = _hide(scores, hidden, number)
    raised = np.exp(scores - np.maximum(scores.max(axis=axis, keepdims=True), -1e30))
    total = raised.sum(axis=axis, keepdims=True)
    return raised / np.where(total > 0, total, 1.0)


def _hide(scores: Any, hidden: Any, number: float) -> Any:
    return scores if hidden is None else np.where(hidden, number, scores)


def _unmasked(bias: Any) -> dict[str, Any]:
    """Return the changes after which nothing is hidden but by a band or mask that is given beside them."""
    return {"mask": None, "bias": bias, "causal": False, "band": Band()}


def _is_small(formula: Formula) -> bool:
    """Return whether the scores of the whole call may be computed at once."""
    return math.prod(formula.scores) <= _MOST_SCORES


def _reshaped(array: Any) -> Any:
    """Return an array of keys as its rows read where it was reshaped to its transpose."""
    return array.reshape(*array.shape[:2], *array.shape[:1:-1]).mT


def _by_token(output: Any) -> Any:
    sequences, heads, tokens, width = output.shape
    return output.reshape(sequences, tokens, heads, width).swapaxes(1, 2)


def _by_head(output: Any) -> Any:
    return output.swapaxes(1, 2).reshape(output.shape)


def _unit(array: Any) -> Any:
    size = np.linalg.norm(array.astype(float), axis=-1, keepdims=True)
    return array / np.where(size > 0, size, 1)
