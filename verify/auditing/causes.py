"""Likely mistakes by name: what a program may compute in place of what its call declares.

`mistakes` yields those that can be made in a call, each seen in public code: how to mend it, what the program
does, and what stands in place of the formula's parts.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from verify.auditing.formula import Formula
from verify.auditing.masks import described

_MOST_OTHERS = 16  # other heads or sequences that are compared with a head or sequence
_MOST_SCORES = 1 << 24  # scores of a call up to which they are all computed at once
_LEAST_DROPOUT = 1.01  # factor of the weights that dropout leaves

Changes = Mapping[str, Any]
"""What stands in place of parts of a `Formula`: a value, or a function of the old array."""

Mistakes = Iterator[tuple[str, str, Changes]]
"""Mistakes: how to mend each, what the program does, and what it computes with."""

_SHOW = "let each query see the keys that the call declares, or declare this mask"
_HIDE = "add -inf where a key is hidden"
_WINDOW = "let each query see its own key and the W - 1 before it"
_EVERY = "let queries see every key, also that of the newest token"
_ONCE = "add the bias once to the scaled scores, as it is, each head its own"
_ORDER = "scale the products first, then cap them, then add bias and mask, then apply the softmax"
_SINK = "let the declared sink, as it is, take part in the softmax’s sum; declare it where there is one"
_AXIS = "take the softmax over the last axis of the scores, the keys, once"
_PLACE = "take keys and values of the same position, in their own places"
_HEAD = "let every query head read the keys and values of its own group"
_TRANSPOSE = "transpose, do not reshape"
# Arrays of other heads or sequences: which, by their axis.
_OTHERS = (
    ("the mask is that of another sequence", _SHOW, 0, ("hidden", "bias")),
    ("the bias is that of head {other}", _ONCE, 1, ("bias",)),
    ("keys and values are those of head {other}", _HEAD, 1, ("key", "value")),
    ("values are those of head {other}", _HEAD, 1, ("value",)),
    ("keys are those of head {other}", _HEAD, 1, ("key",)),
    ("the output is that of head {other}", _HEAD, 1, ("output",)),
)


class Cause(NamedTuple):
    """A mistake: what the program does, what to do instead, and what it computes with.

    ``other`` is by how many places the head or sequence that is read lies before the call's own, a head of
    the keys where it is ``of_keys``. Where it ``moves_rows``, rows and heads of the output are not the
    recorded ones: it holds for all heads or none. Where it ``is_coarse``, it is the declared formula, to
    fewer digits. ``ratio`` is the scale over the declared one, and ``misfit`` how near the worst row comes to
    what rounding may do.
    """

    does: str
    fix: str = ""
    changes: Changes = MappingProxyType({})
    other: int = 0
    of_keys: bool = False
    moves_rows: bool = False
    is_coarse: bool = False
    ratio: Any = 1.0
    misfit: float = 0.0

    def made_in(self, formula: Formula) -> Formula:
        """Return what is computed in place of the formula whose mistake this is."""
        parts = {
            name: change(getattr(formula, name)) if callable(change) and name != "weigh" else change
            for name, change in self.changes.items()
        }
        return replace(formula, **parts)


def mistakes(formula: Formula, factor: Any) -> Iterator[Cause]:
    """Yield the mistakes that can be made in a call with an output, the likeliest of each kind first.

    Arrays of another head or sequence come last, and that the output of heads is multiplied by a ``factor``.
    """
    is_small = math.prod(formula.shape) <= _MOST_SCORES
    for kind in (_of_masks, _of_hidden_keys, _of_scores, _of_softmax, _of_arrays):
        for fix, does, changes in kind(formula):
            if is_small or "needs_all" not in changes:
                yield Cause(does, fix, changes)
    output = formula.output
    by_token = output.reshape(len(output), -1, output.shape[1], output.shape[3]).swapaxes(1, 2)
    by_head = output.swapaxes(1, 2).reshape(output.shape)
    for word, moved in (("to [token, head]", by_token), ("from [head, token]", by_head)):
        does = f"the output is reshaped {word} where it should be transposed"
        yield Cause(does, _TRANSPOSE, {"output": moved}, moves_rows=True)
    # Coarser arithmetic is the declared formula with a larger rounding error, so only the bound grows.
    for word, unit in (("TensorFloat-32 or float16", 2.0**-11), ("bfloat16", 2.0**-8)):
        does = f"sums or weights are rounded to {word}"
        yield Cause(does, "compute in the type that is stored", {"unit": unit}, is_coarse=True)
    for does, fix, axis, names in _OTHERS:
        for shift in range(1, _MOST_OTHERS):
            # What all heads or sequences share has length 1 there, so it cannot be taken from another.
            arrays = [(name, getattr(formula, name)) for name in names]
            own = [name for name, array in arrays if array is not None and array.shape[axis] > shift]
            changes = dict.fromkeys(own, partial(np.roll, shift=shift, axis=axis))
            if "output" in own:  # an output that was rolled forward is that of a head behind
                yield Cause(does, fix, changes, -shift, moves_rows=True)
            elif own:
                yield Cause(does, fix, changes, shift, of_keys=fix == _HEAD)
    does = "the output (or its values) is multiplied by {factor:.3g}"
    yield Cause(does, "leave the output as the weighted mean of the values", {"factor": factor})


def _of_masks(formula: Formula) -> Mistakes:
    """Yield which masks programs apply in place of the declared one."""
    call, (_, heads, queries, keys) = formula.call, formula.shape

    def hidden(**changes: Any) -> Changes:
        return {"hidden": Formula.of(replace(call, **changes)).hidden}

    if formula.hidden is not None:
        yield _SHOW, "the mask is not applied", {"hidden": None}
        inverted = "the mask is inverted: True is where a key may be seen"
        yield _SHOW, inverted, {"hidden": np.logical_not}
    if call.mask is not None and call.mask.ndim > 1 and call.mask.shape[-1] == call.mask.shape[-2]:
        yield _SHOW, "the mask is transposed", hidden(mask=call.mask.mT)
    if call.mask is not None and call.causal:
        yield _SHOW, "the mask is lost and only the causal mask applied", hidden(mask=None)
        yield _SHOW, "the causal mask is lost and only the other applied", hidden(causal=False)
    causal = {
        "the mask is causal, aligned at the first token (top left)": 0,
        "the mask is causal and off by one: query i sees key i + 1": 1,
        "the mask is causal and off by one: query i does not see key i": -1,
    }
    if behind := keys - queries:
        causal |= {
            "the mask is causal, aligned at the last token (bottom right)": behind,
            "the mask is causal, from the last token, and sees one key more": behind + 1,
            "the mask is causal, from the last token, and sees one key less": behind - 1,
        }
    # In place of the call's own causal mask, else of all masks.
    others = hidden(causal=False)["hidden"] if call.causal else None
    for does, last in causal.items():
        band = ~np.tri(queries, keys, last, dtype=bool)[None, None]
        yield _SHOW, does, {"hidden": band if others is None else band | others}
    for block in (8, 16, 32, 64, 128, 256):
        if call.sink is None and keys % block:
            # Padded keys of zeros add e⁰ each to the sum, and their values nothing.
            padded = np.full(heads, math.log(-keys % block))
            yield _SHOW, f"padding is attended to, zeros up to a multiple of {block}", {"sink": padded}


def _of_hidden_keys(formula: Formula) -> Mistakes:
    """Yield how programs hide keys too little, and which keys they miss."""
    call, hidden, (_, _, queries, keys) = formula.call, formula.hidden, formula.shape

    def weak(bias: Any, size: int) -> Any:
        return np.where(hidden, -float(size), 0.0) + (0.0 if bias is None else bias)

    if call.mask is not None:
        rest = Formula.of(replace(call, mask=None))
        numbers = call.mask + (np.zeros((1,) * 4) if rest.bias is None else rest.bias)
        added = {"hidden": rest.hidden, "bias": numbers}
        yield _HIDE, "the mask is added as the numbers 0 and 1", added
    for size in (1, 2, 5, 8, 10, 15, 20, 50, 100, 1000, 10_000) if hidden is not None else ():
        does = f"the mask is weak: it adds {-size} to the scores of hidden keys"
        yield _HIDE, does, {"hidden": None, "bias": partial(weak, size=size)}
    # The last query is that of the last key, whatever stands in a cache before it.
    kind, _, width = ("", "", "") if hidden is None else described(formula).partition("=")
    if kind == "window":
        ahead = np.arange(keys) - np.arange(queries)[:, None] + queries - keys
        for does, most, last in (
            ("is one key too short", int(width) - 1, 0),
            ("is one key too long", int(width) + 1, 0),
            ("looks ahead as far as behind", int(width), int(width) - 1),
        ):
            band = (ahead > last) | (ahead <= -most)
            yield _WINDOW, f"the window {does}", {"hidden": band[None, None]}
    for end, key in (("last", keys - 1), ("first", 0)) if keys > 1 else ():
        missing = (np.arange(keys) == key)[None, None, None]
        hides = {"hidden": missing if hidden is None else hidden | missing}
        yield _EVERY, f"the {end} key is missing", hides


def _of_scores(formula: Formula) -> Mistakes:
    """Yield what programs do to a bias, to a soft-cap, to sinks, and in which order."""
    bias, cap, sink, scale = formula.bias, formula.softcap, formula.sink, float(np.ravel(formula.scale)[0])

    def bias_last(scores: Any, hidden: Any) -> Any:
        return softmax(scores, hidden) + bias

    def mask_last(scores: Any, hidden: Any) -> Any:
        return _hide(softmax(scores), hidden, 0.0)

    def cap_last(scores: Any, hidden: Any) -> Any:
        return softmax(cap * np.tanh(_hide(scores, hidden, -np.inf) / cap))

    if bias is not None:
        yield _ONCE, "the bias is lost", {"bias": None}
        yield _ONCE, "the bias has the wrong sign", {"bias": np.negative}
        yield _ONCE, "the bias is added twice", {"bias": 2 * bias}
        yield _ORDER, "the bias (or mask) is multiplied by the scale", {"bias": scale * bias}
        late = {"bias": None, "weigh": bias_last, "needs_all": True}
        yield _ORDER, "the bias is added after the softmax", late
    if formula.hidden is not None:
        does = "the mask is applied after the softmax, and weights are not normalised again"
        yield _ORDER, does, {"weigh": mask_last}
    if cap is not None:
        yield _ORDER, "the soft-cap is lost", {"softcap": None}
        yield _ORDER, "the soft-cap is applied before the scale", {"softcap": cap * abs(scale)}
        does = "the soft-cap is applied after bias and mask, so that hidden keys get weight"
        yield _ORDER, does, {"softcap": None, "weigh": cap_last}
    for size in (20, 30, 50) if cap is None else ():
        yield _ORDER, f"a soft-cap of {size} is applied that the call does not declare", {"softcap": size}
    yield _ORDER, "the scale is applied after the softmax", {"scale": 1.0, "factor": scale}
    none = {"sink": np.zeros(formula.shape[1])}
    if sink is None:
        yield _SINK, "a sink of 0 is in the softmax (a further 1 in its denominator)", none
    else:
        yield _SINK, "the sink is lost", {"sink": None}
        yield _SINK, "the sink is 0 whatever it should be", none
        yield _SINK, "the sink is multiplied by the scale", {"sink": formula.scale * sink.astype(float)}


def _of_softmax(formula: Formula) -> Mistakes:
    """Yield what programs do in place of a softmax over the keys."""

    def twice(scores: Any, hidden: Any) -> Any:
        # Weights lie between 0 and 1: the second softmax leaves no key more than e times another's weight.
        return softmax(softmax(scores, hidden), hidden)

    for axis, name in ((2, "queries"), (1, "heads"), (0, "sequences")):
        if formula.shape[axis] > 1:
            # A low finite number in place of −∞ keeps hidden scores from spoiling a whole column.
            weigh = partial(softmax, axis=axis, number=-1e30)
            does = f"the softmax is over the {name}, not the keys"
            yield _AXIS, does, {"weigh": weigh, "needs_all": True}
    yield _AXIS, "the softmax is applied twice", {"weigh": twice}
    yield _AXIS, "there is no softmax", {"weigh": partial(_hide, number=0.0)}
    value, output = (np.nan_to_num(array.astype(float)) for array in (formula.value, formula.output))

    def dropped(scores: Any, hidden: Any) -> Any:
        weights = softmax(scores, hidden)
        actual = output @ np.linalg.pinv(np.repeat(value, formula.shape[1] // value.shape[1], axis=1))
        left = actual > weights / 2
        shares = actual[left & (weights > 0)] / weights[left & (weights > 0)]
        common = float(np.median(shares)) if shares.size else 1.0
        return weights * left * common if common > _LEAST_DROPOUT and not left.all() else weights

    # No more keys than components of a value: the output then determines the weights, as a linear system.
    if formula.shape[3] <= value.shape[3]:
        does = "dropout is on: weights are 0, and the others larger by a common factor"
        yield "call model.eval()", does, {"weigh": dropped, "needs_all": True}


def _of_arrays(formula: Formula) -> Mistakes:
    """Yield where programs take the wrong queries, keys and values."""
    query, key, value, (_, heads, _, keys) = formula.query, formula.key, formula.value, formula.shape

    def times_log(query: Any) -> Any:
        hidden = False if formula.hidden is None else formula.hidden
        counts = keys - np.broadcast_to(hidden, formula.shape).sum(axis=-1)
        return query.astype(float) * np.log(np.maximum(counts, 1))[..., None]

    if keys > 1:
        does = "the scale is multiplied by ln n, n the keys that a query sees"
        yield "declare it as intended", does, {"query": times_log}
    yield _TRANSPOSE, "keys are reshaped where they should be transposed", {"key": _reshaped}
    yield _TRANSPOSE, "values are reshaped where they should be transposed", {"value": _reshaped}
    for name, word in (("key", "keys"), ("value", "values")):
        yield _PLACE, f"{word} are those of the token before", {name: partial(np.roll, shift=1, axis=2)}
        yield _PLACE, f"{word} are those of the token after", {name: partial(np.roll, shift=-1, axis=2)}
    if key.shape == value.shape:
        yield _PLACE, "keys are used as values", {"value": key}
        yield _PLACE, "values are used as keys", {"key": value}
        yield _PLACE, "keys and values are exchanged", {"key": value, "value": key}
    if query.shape == key.shape:
        yield _PLACE, "queries and keys are exchanged", {"query": key, "key": query}
    unit, longer = {"query": _unit, "key": _unit}, formula.scale * query.shape[-1]
    fix, does = "record them after they are normalised", "queries and keys are normalised first"
    yield fix, does, unit
    yield fix, f"{does}, to the length √d", unit | {"scale": longer}
    if 1 < key.shape[1] < heads:
        tiled = dict.fromkeys(("key", "value"), lambda array: array[:, np.arange(heads) % array.shape[1]])
        fix = "repeat each key head in a row, as torch.repeat_interleave does"
        yield fix, "grouped heads are tiled: query head i reads key head i mod h_k", tiled


def softmax(scores: Any, hidden: Any = None, axis: int = -1, number: float = -np.inf) -> Any:
    """Return weights over an axis, a ``number`` standing for hidden scores; where all are −∞ they are 0."""
    scores = _hide(scores, hidden, number)
    raised = np.exp(scores - np.maximum(scores.max(axis=axis, keepdims=True), -1e30))
    total = raised.sum(axis=axis, keepdims=True)
    return raised / np.where(total > 0, total, 1.0)


def _hide(scores: Any, hidden: Any, number: float) -> Any:
    return scores if hidden is None else np.where(hidden, number, scores)


def _reshaped(array: Any) -> Any:
    """Return an array of keys as its rows read where it was reshaped to its transpose."""
    return array.reshape(*array.shape[:2], *array.shape[:1:-1]).mT


def _unit(array: Any) -> Any:
    size = np.linalg.norm(array.astype(float), axis=-1, keepdims=True)
    return array / np.where(size > 0, size, 1)
