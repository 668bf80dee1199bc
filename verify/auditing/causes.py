"""Likely mistakes by name: what a program may compute in place of what its call declares.

`CAUSES` has them by what to change: what the program does, and how the declared formula then reads, each seen
in public code. `changed` yields those that can be made in a call, and `Cause.of` gives the formula of one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from verify.auditing.formula import Band, Formula
from verify.auditing.masks import described
from verify.auditing.recording import to_numpy

MOST_OTHERS = 16
"""Other heads or sequences that are compared with a head or sequence."""

_MOST_SCORES = 1 << 24  # scores of a call up to which they are all held at once
_LEAST_DROPOUT = 1.01  # factor of the weights that dropout leaves


class _Declared:
    """A declared formula with what its mistakes are made of; its methods return the formula with a change.

    ``hidden`` are the keys that the call hides, and ``bias`` what it adds to others, both broadcast to
    [sequence, head, query, key]. ``moved`` is by how many places the last key lies behind the last query;
    ``window`` is the width of the window that the mask is, 0 where it is none.
    """

    def __init__(self, formula: Formula) -> None:
        self.formula, self.call, self.cap = formula, formula.call, formula.call.softcap
        _, self.heads, self.queries, self.keys = formula.scores
        self.scale, self.moved = float(np.ravel(formula.scale)[0]), self.keys - self.queries
        self.query, self.key, self.value, self.output = (
            np.ascontiguousarray(array)
            for array in (self.call.query, self.call.key, self.call.value, self.call.output)
        )
        hidden, bias = formula.hidden_and_bias()
        self.hidden: Any = np.asarray(False if hidden is None else hidden)
        self.bias: Any = np.asarray(0.0 if bias is None else bias)
        self.sink = None if self.call.sink is None else np.asarray(self.call.sink).astype(float)
        self.mask = np.asarray(self.call.mask)
        self.is_square = self.mask.ndim > 1 and self.mask.shape[-1] == self.mask.shape[-2]
        self.has_both = self.call.causal and self.call.mask is not None

    @property
    def window(self) -> int:
        kind, _, width = described(self.call).partition("=")
        return int(width) if kind == "window" else 0

    def having(self, **changes: Any) -> Formula:
        own = {field.name: changes.pop(field.name) for field in fields(Formula) if field.name in changes}
        return replace(self.formula, call=replace(self.call, **changes), **own)

    def weighing(self, weigh: Callable[[Any, Any], Any], **changes: Any) -> Any:
        # Of more than a row at once, so all scores are held.
        is_small = math.prod(self.formula.scores) <= _MOST_SCORES
        return is_small and self.having(weigh=weigh, needs_all=True, **changes)

    def showing(self, **changes: Any) -> Formula:
        # Nothing is hidden but by a band or mask among the changes.
        return self.having(**{"mask": None, "bias": self.bias, "causal": False, "band": Band()} | changes)

    def masked(self, **changes: Any) -> Any:
        return self.hidden.any() and self.showing(**changes)

    def banded(self, shorter: int, ahead: int = 0) -> Any:
        first = self.moved - self.window + 1 + shorter
        return self.window and self.showing(band=Band(first, self.moved + ahead))

    def causal(self, last: int) -> Formula:
        # In place of the call's own causal mask, else of all masks.
        band = Band(last=last)
        return self.having(causal=False, band=band) if self.call.causal else self.showing(band=band)

    def from_last(self, last: int) -> Any:
        return self.moved and self.causal(self.moved + last)

    def without(self, key: int) -> Any:
        return self.keys > 1 and self.showing(mask=~self.hidden & (np.arange(self.keys) != key))

    def biased(self, factor: float) -> Any:
        return self.bias.any() and self.showing(mask=~self.hidden, bias=factor * self.bias)

    def sunk(self, factor: Any) -> Any:
        return self.sink is not None and self.having(sink=None if factor is None else factor * self.sink)

    def weak(self, number: float) -> Any:
        return self.masked(bias=self.bias + np.where(self.hidden, number, 0.0))

    def capped(self, cap: float) -> Any:
        return self.cap is None and self.having(softcap=cap)

    def over(self, axis: int) -> Any:
        weigh = partial(softmax, axis=axis, number=-1e30)
        return self.formula.scores[axis] > 1 and self.weighing(weigh)

    def made(self, make: Callable[[Any], Any], names: Iterable[str]) -> Formula:
        return self.having(**{name: make(getattr(self, name)) for name in names})

    def placed(self, **arrays: Any) -> Any:
        fits = all(array.shape == getattr(self, name).shape for name, array in arrays.items())
        return fits and self.having(**arrays)

    def rolled(self, names: tuple[str, ...], shift: int, axis: int) -> Any:
        given = {name: np.asarray(getattr(self.call, name)) for name in names}
        # What all heads or sequences share has length 1 there, so it cannot be taken from another.
        longer = {n: array for n, array in given.items() if array.ndim >= -axis and array.shape[axis] > shift}
        return longer and self.having(**{n: np.roll(array, shift, axis) for n, array in longer.items()})


Change = Callable[[_Declared], Any]


class Cause(NamedTuple):
    """A mistake: what the program does, what to change, and the formula that it computes.

    ``other`` is by how many places the head or sequence that is read lies before the call's own, a head of
    the keys where it is ``of_keys``. Where it ``moves_rows``, rows and heads of the output are not the
    recorded ones: it holds for all heads or none. Where it ``is_coarse``, it is the declared formula, to
    fewer digits.
    """

    does: str
    fix: str
    change: Change = lambda given: given.formula
    other: int = 0
    of_keys: bool = False
    moves_rows: bool = False
    is_coarse: bool = False

    def of(self, formula: Formula) -> Formula | None:
        """Return what is computed in place of a formula with values and output, None where it cannot be."""
        return self.change(_Declared(formula)) or None


def softmax(scores: Any, hidden: Any = None, axis: int = -1, number: float = -np.inf) -> Any:
    """Return weights over an axis, with a ``number`` for scores that are hidden; where all are −∞ they are 0.

    Over another axis than the keys, a low finite number keeps hidden scores from spoiling a whole column.
    """
    scores = _hide(scores, hidden, number)
    raised = np.exp(scores - np.maximum(scores.max(axis=axis, keepdims=True), -1e30))
    total = raised.sum(axis=axis, keepdims=True)
    return raised / np.where(total > 0, total, 1.0)


def _hide(scores: Any, hidden: Any, number: float) -> Any:
    return scores if hidden is None else np.where(hidden, number, scores)


def _padded(block: int, given: _Declared) -> Any:
    # Keys and values of zeros up to a multiple of a block: each adds e⁰ to the sum.
    more = given.sink is None and -given.keys % block
    return more and given.having(sink=np.full(given.heads, math.log(more)))


def _as_numbers(given: _Declared) -> Any:
    bias = 0.0 if given.call.bias is None else to_numpy(given.call.bias)
    return given.call.mask is not None and given.having(mask=None, bias=bias + given.call.mask)


def _cap_last(given: _Declared) -> Any:
    def weigh(scores: Any, hidden: Any) -> Any:
        return softmax(given.cap * np.tanh(_hide(scores, hidden, -np.inf) / given.cap))

    return given.cap and given.having(softcap=None, weigh=weigh)


def _dropped(given: _Declared) -> Any:
    """Return weights of which a part is 0 and the others larger by a factor, read off the output."""
    if given.keys > given.value.shape[3]:
        return None
    # No more keys than components of a value: the output then determines the weights, as a linear system.
    value, output = (np.nan_to_num(array.astype(float)) for array in (given.value, given.output))
    actual = output @ np.linalg.pinv(np.repeat(value, given.heads // value.shape[1], axis=1))

    def weigh(scores: Any, hidden: Any) -> Any:
        weights = softmax(scores, hidden)
        left = actual > weights / 2
        shares = actual[left & (weights > 0)] / weights[left & (weights > 0)]
        factor = float(np.median(shares)) if shares.size else 1.0
        return weights * left * factor if factor > _LEAST_DROPOUT and not left.all() else weights

    return given.weighing(weigh)


def _times_log_of_keys(given: _Declared) -> Any:
    seen = np.maximum((~np.broadcast_to(given.hidden, given.formula.scores)).sum(axis=-1), 1)
    return given.keys > 1 and given.having(query=given.query.astype(float) * np.log(seen)[..., None])


def _tiled(given: _Declared) -> Any:
    heads = np.arange(given.heads) % (key_heads := given.key.shape[1])
    is_grouped = 1 < key_heads < given.heads
    return is_grouped and given.having(key=given.key[:, heads], value=given.value[:, heads])


def _reshaped(array: Any) -> Any:
    """Return an array of keys as its rows read where it was reshaped to its transpose."""
    return array.reshape(*array.shape[:2], *array.shape[:1:-1]).mT


def _by_token(output: Any) -> Any:
    sequences, heads, tokens, width = output.shape
    return output.reshape(sequences, tokens, heads, width).swapaxes(1, 2)


def _unit(array: Any) -> Any:
    size = np.linalg.norm(array.astype(float), axis=-1, keepdims=True)
    return array / np.where(size > 0, size, 1)


_ONCE = "add the bias once to the scaled scores, as it is, each head its own"
_SHOW = "let each query see the keys that the call declares, or declare this mask"
_HEAD = "let every query head read the keys and values of its own group"
_TRANSPOSE, _FINER = "transpose, do not reshape", "compute in the type that is stored"

_CHANGES: dict[str, dict[str, Change]] = {
    _SHOW: {
        "the mask is not applied": lambda given: given.masked(),
        "the mask is inverted: True is where a key may be seen": lambda given: given.masked(
            mask=given.hidden
        ),
        "the mask is transposed": lambda given: given.is_square and given.having(mask=given.mask.mT),
        "the mask is lost and only the causal mask applied": lambda given: (
            given.has_both and given.having(mask=None)
        ),
        "the causal mask is lost and only the other applied": lambda given: (
            given.has_both and given.having(causal=False)
        ),
        "the mask is causal, aligned at the first token (top left)": lambda given: given.causal(0),
        "the mask is causal and off by one: query i sees key i + 1": lambda given: given.causal(1),
        "the mask is causal and off by one: query i does not see key i": lambda given: given.causal(-1),
        "the mask is causal, aligned at the last token (bottom right)": lambda given: given.from_last(0),
        "the mask is causal, from the last token, and sees one key more": lambda given: given.from_last(1),
        "the mask is causal, from the last token, and sees one key less": lambda given: given.from_last(-1),
        **{
            f"padding is attended to, zeros up to a multiple of {block}": partial(_padded, block)
            for block in (8, 16, 32, 64, 128, 256)
        },
    },
    "add -inf where a key is hidden": {
        "the mask is added as the numbers 0 and 1": _as_numbers,
        **{
            f"the mask is weak: it adds {number} to the scores of hidden keys": partial(
                _Declared.weak, number=number
            )
            for number in (-1, -2, -5, -8, -10, -15, -20, -50, -100, -1000, -10_000)
        },
    },
    "let each query see its own key and the W - 1 before it": {
        "the window is one key too short": lambda given: given.banded(1),
        "the window is one key too long": lambda given: given.banded(-1),
        "the window looks ahead as far as behind": lambda given: given.banded(0, ahead=given.window - 1),
    },
    "let queries see every key, also that of the newest token": {
        "the last key is missing": lambda given: given.without(given.keys - 1),
        "the first key is missing": lambda given: given.without(0),
    },
    _ONCE: {
        "the bias is lost": lambda given: given.biased(0),
        "the bias has the wrong sign": lambda given: given.biased(-1),
        "the bias is added twice": lambda given: given.biased(2),
    },
    "scale the products first, then cap them, then add bias and mask, then apply the softmax": {
        "the bias (or mask) is multiplied by the scale": lambda given: given.biased(given.scale),
        "the bias is added after the softmax": lambda given: (
            given.bias.any()
            and given.weighing(
                lambda scores, hidden: softmax(scores, hidden) + given.bias,
                mask=~given.hidden,
                bias=None,
                causal=False,
            )
        ),
        "the mask is applied after the softmax, and weights are not normalised again": lambda given: (
            given.hidden.any()
            and given.having(weigh=lambda scores, hidden: _hide(softmax(scores), hidden, 0.0))
        ),
        "the soft-cap is lost": lambda given: given.cap and given.having(softcap=None),
        "the soft-cap is applied before the scale": lambda given: (
            given.cap and given.having(softcap=given.cap * abs(given.scale))
        ),
        "the soft-cap is applied after bias and mask, so that hidden keys get weight": _cap_last,
        **{
            f"a soft-cap of {cap} is applied that the call does not declare": partial(
                _Declared.capped, cap=cap
            )
            for cap in (20, 30, 50)
        },
        "the scale is applied after the softmax": lambda given: given.having(scale=1.0, factor=given.scale),
    },
    "let the declared sink, as it is, take part in the softmax’s sum; declare it where there is one": {
        "the sink is lost": lambda given: given.sunk(None),
        "the sink is 0 whatever it should be": lambda given: given.sunk(0),
        "the sink is multiplied by the scale": lambda given: given.sunk(given.formula.scale),
        "a sink of 0 is in the softmax (a further 1 in its denominator)": lambda given: (
            given.sink is None and given.having(sink=np.zeros(given.heads))
        ),
    },
    "take the softmax over the last axis of the scores, the keys, once": {
        "the softmax is over the queries, not the keys": lambda given: given.over(2),
        "the softmax is over the heads, not the keys": lambda given: given.over(1),
        "the softmax is over the sequences, not the keys": lambda given: given.over(0),
        # Weights lie between 0 and 1, so a second softmax leaves no key more than e times another's weight.
        "the softmax is applied twice": lambda given: given.having(
            weigh=lambda scores, hidden: softmax(softmax(scores, hidden), hidden)
        ),
        "there is no softmax": lambda given: given.having(weigh=partial(_hide, number=0.0)),
    },
    "call model.eval()": {"dropout is on: weights are 0, and the others larger by a common factor": _dropped},
    "declare it as intended": {
        "the scale is multiplied by ln n, n the keys that a query sees": _times_log_of_keys
    },
    _TRANSPOSE: {
        "keys are reshaped where they should be transposed": lambda given: given.made(_reshaped, ["key"]),
        "values are reshaped where they should be transposed": lambda given: given.made(_reshaped, ["value"]),
    },
    "take keys and values of the same position, in their own places": {
        "keys are those of the token before": lambda given: given.having(key=np.roll(given.key, 1, 2)),
        "keys are those of the token after": lambda given: given.having(key=np.roll(given.key, -1, 2)),
        "values are those of the token before": lambda given: given.having(value=np.roll(given.value, 1, 2)),
        "values are those of the token after": lambda given: given.having(value=np.roll(given.value, -1, 2)),
        "keys are used as values": lambda given: given.placed(value=given.key),
        "values are used as keys": lambda given: given.placed(key=given.value),
        "keys and values are exchanged": lambda given: given.placed(key=given.value, value=given.key),
        "queries and keys are exchanged": lambda given: given.placed(query=given.key, key=given.query),
    },
    "record them after they are normalised": {
        "queries and keys are normalised first": lambda given: given.made(_unit, ["query", "key"]),
        "queries and keys are normalised first, to the length √d": lambda given: given.having(
            query=_unit(given.query),
            key=_unit(given.key),
            scale=given.formula.scale * given.query.shape[-1],
        ),
    },
    "repeat each key head in a row, as torch.repeat_interleave does": {
        "grouped heads are tiled: query head i reads key head i mod h_k": _tiled
    },
}

_RESHAPED_OUTPUTS: dict[str, Callable[[Any], Any]] = {
    "the output is reshaped to [token, head] where it should be transposed": _by_token,
    "the output is reshaped from [head, token] where it should be transposed": lambda output: output.swapaxes(
        1, 2
    ).reshape(output.shape),
}
# Coarser arithmetic is the declared formula with a larger rounding error, so only the bound grows.
_COARSE = {
    "sums or weights are rounded to TensorFloat-32 or float16": 2.0**-11,
    "sums or weights are rounded to bfloat16": 2.0**-8,
}


def _rolled(does: str, fix: str, axis: int, *names: str, **more: Any) -> Iterator[Cause]:
    """Yield what reads arrays of other heads or sequences, by their axis from the end."""
    for shift in range(1, MOST_OTHERS):
        change = partial(_Declared.rolled, names=names, shift=shift, axis=axis)
        # An output that was rolled forward is that of a head behind.
        yield Cause(does, fix, change, -shift if names == ("output",) else shift, **more)


CAUSES = (
    *(Cause(does, fix, change) for fix, changes in _CHANGES.items() for does, change in changes.items()),
    *(
        Cause(does, _TRANSPOSE, partial(_Declared.made, make=make, names=("output",)), moves_rows=True)
        for does, make in _RESHAPED_OUTPUTS.items()
    ),
    *(
        Cause(does, _FINER, partial(_Declared.having, unit=unit), is_coarse=True)
        for does, unit in _COARSE.items()
    ),
    *_rolled("the mask is that of another sequence", _SHOW, -4, "mask", "bias"),
    *_rolled("the bias is that of head {other}", _ONCE, -3, "bias"),
    *_rolled("keys and values are those of head {other}", _HEAD, -3, "key", "value", of_keys=True),
    *_rolled("values are those of head {other}", _HEAD, -3, "value", of_keys=True),
    *_rolled("keys are those of head {other}", _HEAD, -3, "key", of_keys=True),
    *_rolled("the output is that of head {other}", _HEAD, -3, "output", moves_rows=True),
)
"""Every mistake, the likeliest of each kind first; arrays of another head or sequence last."""


def changed(formula: Formula) -> Iterator[tuple[Cause, Formula]]:
    """Yield the mistakes that can be made in place of a formula with an output, and what each computes."""
    given = _Declared(formula)
    for cause in CAUSES:
        if other := cause.change(given):
            yield cause, other
