"""Likely mistakes by name: what a program may compute in place of what its call declares.

`CAUSES` is one table: what the program does, what to change, and how the call's arrays then read. A cause is
named only where it gives the output to rounding in every row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from verify.auditing.arrays import unit_of, widened
from verify.auditing.formula import FACTOR, HIDING, SCALE, Band, Formula, Rows, compare, pool
from verify.auditing.heads import HeadSums, Worst
from verify.auditing.masks import described, intended_mask
from verify.auditing.recording import ARRAYS
from verify.auditing.scales import Widths, named_scales

if TYPE_CHECKING:
    from verify.auditing.recording import Call

MOST_OTHERS = 16
"""At most this many other heads or sequences are compared with one."""

MOST_SCORES = 1 << 24
"""Scores of a call up to which softmaxes over another axis are tried."""

_BLOCKS, _CAPS = (8, 16, 32, 64, 128, 256), (20.0, 30.0, 50.0)
_COARSE = (("TensorFloat-32 or float16", 2.0**-11), ("bfloat16", 2.0**-8))
_SAMPLE = 1 << 14  # scores of the rows that are tried first
_LEAST_DROPOUT = 1.01  # factor of the weights that dropout leaves
_STEPS, _FEW_STEPS = 12, 5

Change = Callable[[Formula], Formula | None]


class Cause(NamedTuple):
    """A mistake: what the program does, what to change, and the formula that it computes, None if it cannot.

    ``other`` is by how many places the head that is read lies before one's own. Where it ``is_whole``, rows
    and heads are others than the recorded ones, and it holds for all or none. Where it ``is_coarse`` it is
    the declared formula, to fewer digits.
    """

    does: str
    fix: str
    change: Change
    other: int = 0
    is_whole: bool = False
    is_coarse: bool = False


def _with(formula: Formula, **arrays: Any) -> Formula:
    return replace(formula, call=replace(formula.call, **arrays))


def _hides(call: Call) -> bool:
    """Return whether a call hides any key."""
    low = call.bias is not None and bool((np.asarray(call.bias) <= HIDING).any())
    return call.causal or low or (call.mask is not None and not np.asarray(call.mask).all())


def _shown(formula: Formula) -> Formula:
    """Return the formula with no key hidden."""
    bias = formula.call.bias
    low = None if bias is None else widened(np.asarray(bias))
    kept = None if low is None else np.where(low <= HIDING, 0, low)
    return replace(_with(formula, mask=None, bias=kept, causal=False), band=Band())


def _biased(change: Callable[[Any], Any]) -> Change:
    """Return the change of a bias, where it is more than a mask."""

    def changed(formula: Formula) -> Formula | None:
        if formula.call.bias is None:
            return None
        bias = widened(np.asarray(formula.call.bias))
        seen = np.where(bias <= HIDING, 0, bias)
        return _with(formula, bias=np.where(bias <= HIDING, bias, change(seen))) if seen.any() else None

    return changed


def _hidden(formula: Formula) -> Any:
    """Return which keys the call hides, broadcast to [sequence, head, query, key]; None where none."""
    call, keys = formula.call, int(formula.call.key.shape[2])
    hidden: Any = None if call.mask is None else ~np.asarray(call.mask).astype(bool)
    if call.bias is not None:
        low = np.asarray(call.bias) <= HIDING
        hidden = low if hidden is None else hidden | low
    if call.causal:
        ahead = np.arange(keys) > np.arange(int(call.query.shape[2]))[:, None]
        hidden = ahead if hidden is None else hidden | ahead
    return hidden


def _inverted(formula: Formula) -> Formula | None:
    return _with(_shown(formula), mask=_hidden(formula)) if _hides(formula.call) else None


def _weak(number: float) -> Change:
    def changed(formula: Formula) -> Formula | None:
        if not _hides(formula.call) or formula.call.bias is not None:
            return None
        return _with(_shown(formula), bias=np.where(_hidden(formula), number, 0.0))

    return changed


def _added(formula: Formula) -> Formula | None:
    """The mask as the numbers 0 and 1, added to scores."""
    seen = None if formula.call.mask is None else np.asarray(formula.call.mask).astype(float)
    bias = 0.0 if formula.call.bias is None else widened(np.asarray(formula.call.bias))
    return None if seen is None else _with(formula, mask=None, bias=seen + bias)


def _only(**left: Any) -> Change:
    """Return one mask of two."""
    return lambda f: _with(f, **left) if f.call.causal and f.call.mask is not None else None


def _turned(formula: Formula) -> Formula | None:
    mask = formula.call.mask
    is_square = mask is not None and mask.ndim > 1 and mask.shape[-1] == mask.shape[-2]
    return _with(formula, mask=np.swapaxes(np.asarray(mask), -1, -2)) if is_square else None


def _causal(shift: int, *, last: bool = False) -> Change:
    """Return another causal mask: query i sees key i + shift, aligned at the first or last token."""

    def changed(formula: Formula) -> Formula | None:
        call = formula.call
        queries, keys = int(call.query.shape[2]), int(call.key.shape[2])
        if last and queries == keys:
            return None
        band = Band(last=shift + (keys - queries if last else 0))
        return replace(_with(formula if call.causal else _shown(formula), causal=False), band=band)

    return changed


def _window(longer: int, *, ahead: bool = False) -> Change:
    """Return a window that is longer than the declared one, or sees as far ahead as behind."""

    def changed(formula: Formula) -> Formula | None:
        name = described(formula.call)
        if not name.startswith("window="):
            return None
        width = int(name.removeprefix("window=")) + longer
        shift = int(formula.call.key.shape[2]) - int(formula.call.query.shape[2])
        return replace(_shown(formula), band=Band(shift - width + 1, shift + (width - 1 if ahead else 0)))

    return changed


def _chunks(formula: Formula) -> Formula | None:
    """Chunks in place of a window, or a window in place of chunks."""
    kind, _, width = described(formula.call).partition("=")
    if not width:
        return None
    other = intended_mask(f"{'chunk' if kind == 'window' else 'window'}={width}")
    queries, keys = int(formula.call.query.shape[2]), int(formula.call.key.shape[2])
    return _with(_shown(formula), mask=other.visible(queries, keys))


def _missing(place: int) -> Change:
    def changed(formula: Formula) -> Formula | None:
        call, keys = formula.call, int(formula.call.key.shape[2])
        mask = np.arange(keys) != place % keys
        return None if keys < 2 else _with(formula, mask=mask if call.mask is None else mask & call.mask)

    return changed


def _padded(block: int) -> Change:
    """Keys and values of zeros behind the keys, up to a multiple of a block: each adds e⁰ to the sum."""

    def changed(formula: Formula) -> Formula | None:
        more = -int(formula.call.key.shape[2]) % block
        if formula.call.sink is not None or not more:
            return None
        return _with(formula, sink=np.full(int(formula.call.query.shape[1]), math.log(more)))

    return changed


def _rolled(shift: int, axis: int, *names: str) -> Change:
    """Return arrays of another head or sequence, by how far it lies before one's own."""

    def changed(formula: Formula) -> Formula | None:
        arrays = {name: getattr(formula.call, name) for name in names}
        arrays = {name: array for name, array in arrays.items() if array is not None and array.ndim >= -axis}
        arrays = {name: array for name, array in arrays.items() if array.shape[axis] > shift}
        return _with(formula, **{n: np.roll(a, shift, axis) for n, a in arrays.items()}) if arrays else None

    return changed


def _shifted(name: str, by: int) -> Change:
    return lambda formula: _with(formula, **{name: np.roll(np.asarray(getattr(formula.call, name)), by, 2)})


def _reshaped(name: str) -> Change:
    def changed(formula: Formula) -> Formula:
        array = np.ascontiguousarray(getattr(formula.call, name))
        s, h, n, d = array.shape
        return _with(formula, **{name: np.swapaxes(array.reshape(s, h, d, n), -1, -2)})

    return changed


def _exchanged(**names: str) -> Change:
    """Return arrays in each other's place, where their shapes allow that."""

    def changed(formula: Formula) -> Formula | None:
        arrays = {name: getattr(formula.call, other) for name, other in names.items()}
        same = all(array.shape == getattr(formula.call, name).shape for name, array in arrays.items())
        return _with(formula, **arrays) if same else None

    return changed


def _normalised(formula: Formula) -> Formula:
    arrays = {name: np.asarray(getattr(formula.call, name)).astype(float) for name in ("query", "key")}
    sizes = {name: np.linalg.norm(array, axis=-1, keepdims=True) for name, array in arrays.items()}
    return _with(formula, **{n: array / np.where(sizes[n] > 0, sizes[n], 1) for n, array in arrays.items()})


def _tiled(formula: Formula) -> Formula | None:
    """Grouped heads as ``repeat`` lays them in place of ``repeat_interleave``."""
    call, heads, key_heads = formula.call, int(formula.call.query.shape[1]), int(formula.call.key.shape[1])
    places = np.arange(heads) % key_heads
    grouped = 1 < key_heads < heads
    return _with(formula, key=call.key[:, places], value=call.value[:, places]) if grouped else None  # type: ignore[index]


def _reordered(formula: Formula) -> Formula | None:
    output = np.ascontiguousarray(formula.call.output)
    s, h, t, d = output.shape
    return _with(formula, output=output.reshape(s, t, h, d).swapaxes(1, 2)) if h > 1 else None


def _ordered(formula: Formula) -> Formula | None:
    output = np.asarray(formula.call.output)
    right = np.ascontiguousarray(output.swapaxes(1, 2)).reshape(output.shape)
    return _with(formula, output=right) if output.shape[1] > 1 else None


def _other_axes(formula: Formula) -> Formula | None:
    """Arrays whose second axis are the tokens, and whose third the heads."""
    call = formula.call
    plain = call.mask is None and call.bias is None and call.sink is None and np.ndim(formula.scale) == 0
    if not plain or call.query.shape[2] % call.key.shape[2]:
        return None
    names = ("query", "key", "value", "output")
    return _with(formula, **{name: np.swapaxes(np.asarray(getattr(call, name)), 1, 2) for name in names})


def _log_keys(formula: Formula) -> Formula | None:
    """The scale times ln of the number of keys that a query sees."""
    hidden, keys = _hidden(formula), int(formula.call.key.shape[2])
    if hidden is None:
        return replace(formula, scale=formula.scale * math.log(keys)) if keys > 1 else None
    seen = np.maximum((~np.broadcast_to(hidden, (*hidden.shape[:-1], keys))).sum(axis=-1), 1)
    return _with(formula, query=np.asarray(formula.call.query).astype(float) * np.log(seen)[..., None])


def _capped(cap: float) -> Change:
    return lambda formula: None if formula.call.softcap is not None else _with(formula, softcap=cap)


def _cap(change: Callable[[Formula, float], Any]) -> Change:
    """Return another soft-cap where there is one."""

    def changed(formula: Formula) -> Formula | None:
        cap = formula.call.softcap
        return None if cap is None else _with(formula, softcap=change(formula, cap))

    return changed


def _cap_last(formula: Formula) -> Formula | None:
    cap = formula.call.softcap
    if cap is None:
        return None

    def weigh(scores: Any, hidden: Any) -> Any:
        masked = scores if hidden is None else np.where(hidden, -np.inf, scores)
        return softmax(cap * np.tanh(masked / cap))

    return replace(_with(formula, softcap=None), weigh=weigh)


def _sink(change: Callable[[Formula, Any], Any]) -> Change:
    def changed(formula: Formula) -> Formula | None:
        sink = formula.call.sink
        return None if sink is None else _with(formula, sink=change(formula, np.asarray(sink).astype(float)))

    return changed


def _one_more(formula: Formula) -> Formula | None:
    heads = int(formula.call.query.shape[1])
    return _with(formula, sink=np.zeros(heads)) if formula.call.sink is None else None


def softmax(scores: Any, axis: int = -1) -> Any:
    """Return weights over an axis; where all is −∞ they are 0."""
    top = np.maximum(scores.max(axis=axis, keepdims=True), -1e30)
    raised = np.exp(scores - top)
    total = raised.sum(axis=axis, keepdims=True)
    return raised / np.where(total > 0, total, 1.0)


def _weighed(weigh: Callable[[Any, Any], Any], axis: int | None = None) -> Change:
    """Return another softmax; over an ``axis`` that is not the keys, of a whole call that is not large."""

    def changed(formula: Formula) -> Formula | None:
        call = formula.call
        shape = (*call.query.shape[:3], int(call.key.shape[2]))
        if axis is not None and (shape[axis] < 2 or math.prod(shape) > MOST_SCORES):
            return None
        return replace(formula, weigh=weigh, needs_all=axis is not None)

    return changed


def _hide(scores: Any, hidden: Any, number: float = -np.inf) -> Any:
    return scores if hidden is None else np.where(hidden, number, scores)


def _twice(scores: Any, hidden: Any) -> Any:
    return softmax(_hide(softmax(_hide(scores, hidden)), hidden))


def _over(axis: int) -> Change:
    return _weighed(lambda scores, hidden: softmax(_hide(scores, hidden, -1e30), axis), axis)


def _mask_last(formula: Formula) -> Formula | None:
    def weigh(scores: Any, hidden: Any) -> Any:
        return _hide(softmax(scores), hidden, 0.0)

    return replace(formula, weigh=weigh) if _hides(formula.call) else None


def _one(scale: Any) -> float:
    """Return the scale, of heads that differ the first one's."""
    return float(np.ravel(scale)[0])


def _bias_scaled(formula: Formula) -> Formula | None:
    return _biased(lambda bias: bias * _one(formula.scale))(formula)


def _bias_last(formula: Formula) -> Formula | None:
    bias = formula.call.bias
    if bias is None or math.prod(formula.call.query.shape[:3]) * formula.call.key.shape[2] > MOST_SCORES:
        return None
    wide = widened(np.asarray(bias))
    low, only = wide <= HIDING, np.where(wide <= HIDING, 0, wide)

    def weigh(scores: Any, hidden: Any) -> Any:
        return softmax(_hide(scores, hidden)) + only

    return replace(_with(formula, bias=np.where(low, -np.inf, 0)), weigh=weigh, needs_all=True)


def _dropped(formula: Formula) -> Formula | None:
    """Weights of which some are 0 and the others larger by one factor: where values tell them all apart."""
    call, keys = formula.call, int(formula.call.key.shape[2])
    if keys > call.value.shape[3] or math.prod(call.query.shape[:3]) * keys > MOST_SCORES:  # type: ignore[union-attr]
        return None
    wide = [np.nan_to_num(np.asarray(array).astype(float)) for array in (call.value, call.output)]
    value = np.repeat(wide[0], call.query.shape[1] // call.key.shape[1], axis=1)
    actual = wide[1] @ np.linalg.pinv(value)

    def weigh(scores: Any, hidden: Any) -> Any:
        weights = softmax(_hide(scores, hidden))
        left = actual > weights / 2
        shares = actual[left & (weights > 0)] / weights[left & (weights > 0)]
        factor = float(np.median(shares)) if shares.size else 1.0
        return weights * left * factor if factor > _LEAST_DROPOUT and not left.all() else weights

    return replace(formula, weigh=weigh, needs_all=True)


def _scale_last(formula: Formula) -> Formula:
    return replace(formula, scale=1.0, factor=_one(formula.scale))


def _rounded(unit: float) -> Change:
    return lambda formula: replace(formula, unit=unit)


_SHOW = "let each query see the keys that the call declares, or declare this mask"
_ALL = "let queries see every key, the one just written too"
_FINITE = "add -inf where a key is hidden"
_HEAD = "let every query head read the keys and values of its own group"
_PLACE = "take keys and values of the same position, in their own places"
_AXIS = "take the softmax over the last axis of the scores, the keys, once"
_ORDER = "scale the products first, then cap them, then add bias and mask, then apply the softmax"
_ONCE = "add the bias once to the scaled scores, as it is, each head its own"
_SINK = "let the declared sink, as it is, take part in the softmax’s sum; declare it where there is one"
_TURN = "transpose, do not reshape"
_WIDTH = "let each query see its own key and the W - 1 before it"
_TYPE = "compute in the type that is stored, or accept the precision: --allow-unseen precision"
_WEAK = (-1.0, -2.0, -5.0, -8.0, -10.0, -15.0, -20.0, -50.0, -100.0, -1e3, -1e4)
_OTHERS = range(1, MOST_OTHERS)
_REPEAT = "repeat each key head in a row, as torch.repeat_interleave does"

CAUSES: tuple[Cause, ...] = (
    Cause("the mask is not applied", _SHOW, lambda f: _shown(f) if _hides(f.call) else None),
    Cause("the mask is inverted (in a declared mask True is where a key may be seen)", _SHOW, _inverted),
    Cause("the mask is added as the numbers 0 and 1", _FINITE, _added),
    Cause("the mask is transposed", _SHOW, _turned),
    Cause("the mask is lost beside the causal one", _SHOW, _only(mask=None)),
    Cause("the causal mask is lost beside the other", _SHOW, _only(causal=False)),
    Cause("the mask is applied after the softmax, and weights are not normalised again", _ORDER, _mask_last),
    *(
        Cause(f"the mask is weak: it adds {x:g} to the scores of hidden keys", _FINITE, _weak(x))
        for x in _WEAK
    ),
    Cause("the mask is causal, aligned at the first token (top left)", _SHOW, _causal(0)),
    Cause("the mask is causal, aligned at the last token (bottom right)", _SHOW, _causal(0, last=True)),
    Cause("the mask is causal and off by one: query i sees key i + 1", _SHOW, _causal(1)),
    Cause("the mask is causal and off by one: query i does not see key i", _SHOW, _causal(-1)),
    Cause(
        "the mask is causal, from the last token, and off by one: sees one more", _SHOW, _causal(1, last=True)
    ),
    Cause(
        "the mask is causal, from the last token, and off by one: sees one less",
        _SHOW,
        _causal(-1, last=True),
    ),
    Cause("the window is one key too short", _WIDTH, _window(-1)),
    Cause("the window is one key too long", _WIDTH, _window(1)),
    Cause("the window looks ahead as far as behind", _WIDTH, _window(0, ahead=True)),
    Cause("chunks stand for a window of their size, or a window for chunks", _SHOW, _chunks),
    Cause("the last key is missing", _ALL, _missing(-1)),
    Cause("the first key is missing", _ALL, _missing(0)),
    *(Cause(f"padding is attended to, zeros up to a multiple of {x}", _SHOW, _padded(x)) for x in _BLOCKS),
    *(Cause("the mask is that of another sequence", _SHOW, _rolled(x, -4, "mask", "bias")) for x in _OTHERS),
    Cause("the bias is lost", _ONCE, _biased(lambda bias: 0 * bias)),
    Cause("the bias has the wrong sign", _ONCE, _biased(lambda bias: -bias)),
    Cause("the bias is added twice", _ONCE, _biased(lambda bias: 2 * bias)),
    Cause("the bias (or mask) is multiplied by the scale", _ORDER, _bias_scaled),
    Cause("the bias is added after the softmax", _ORDER, _bias_last),
    *(Cause("the bias is that of head {other}", _ONCE, _rolled(x, -3, "bias"), other=x) for x in _OTHERS),
    Cause("the soft-cap is lost", _ORDER, _cap(lambda _f, _cap: None)),
    Cause("the soft-cap is applied before the scale", _ORDER, _cap(lambda f, cap: cap * abs(_one(f.scale)))),
    Cause("the soft-cap is applied after bias and mask, so that hidden keys get weight", _ORDER, _cap_last),
    *(
        Cause(f"a soft-cap of {x:g} is applied that the call does not declare", _ORDER, _capped(x))
        for x in _CAPS
    ),
    Cause("the sink is lost", _SINK, _sink(lambda _f, _sink: None)),
    Cause("the sink is 0 whatever it should be", _SINK, _sink(lambda _f, sink: 0 * sink)),
    Cause("the sink is multiplied by the scale", _SINK, _sink(lambda f, sink: sink * f.scale)),
    Cause("a sink of 0 is in the softmax (a further 1 in its denominator)", _SINK, _one_more),
    Cause("the softmax is over the queries, not the keys", _AXIS, _over(2)),
    Cause("the softmax is over the heads, not the keys", _AXIS, _over(1)),
    Cause("the softmax is over the sequences, not the keys", _AXIS, _over(0)),
    Cause("the softmax is applied twice", _AXIS, _weighed(_twice)),
    Cause("there is no softmax", _AXIS, _weighed(lambda scores, hidden: _hide(scores, hidden, 0.0))),
    Cause("the scale is applied after the softmax", _ORDER, _scale_last),
    Cause("dropout is on: weights are 0, and the others larger by one factor", "call model.eval()", _dropped),
    Cause(
        "the scale is multiplied by ln n, n the keys that a query sees", "declare it as intended", _log_keys
    ),
    Cause("keys are reshaped where they should be transposed", _TURN, _reshaped("key")),
    Cause("values are reshaped where they should be transposed", _TURN, _reshaped("value")),
    Cause("keys are those of the token before", _PLACE, _shifted("key", 1)),
    Cause("keys are those of the token after", _PLACE, _shifted("key", -1)),
    Cause("values are those of the token before", _PLACE, _shifted("value", 1)),
    Cause("values are those of the token after", _PLACE, _shifted("value", -1)),
    Cause("keys are used as values", _PLACE, _exchanged(value="key")),
    Cause("values are used as keys", _PLACE, _exchanged(key="value")),
    Cause("keys and values are exchanged", _PLACE, _exchanged(key="value", value="key")),
    Cause("queries and keys are exchanged", _PLACE, _exchanged(query="key", key="query")),
    Cause("queries and keys are normalised first", "record them after they are normalised", _normalised),
    Cause("grouped heads are tiled: query head i reads key head i mod h_k", _REPEAT, _tiled),
    *(
        Cause("keys and values are those of head {other}", _HEAD, _rolled(x, -3, "key", "value"), x)
        for x in _OTHERS
    ),
    *(Cause("values are those of head {other}", _HEAD, _rolled(x, -3, "value"), x) for x in _OTHERS),
    *(Cause("keys are those of head {other}", _HEAD, _rolled(x, -3, "key"), x) for x in _OTHERS),
    *(
        Cause("the output is that of head {other}", _HEAD, _rolled(x, -3, "output"), -x, True)
        for x in _OTHERS
    ),
    Cause(
        "the output is reshaped to [token, head] where it should be transposed", _TURN, _reordered, 0, True
    ),
    Cause(
        "the output is reshaped from [head, token] where it should be transposed", _TURN, _ordered, 0, True
    ),
    Cause("the arrays have the axes [sequence, token, head, d]", _TURN, _other_axes, 0, True),
    *(Cause(f"sums or weights are rounded to {x}", _TYPE, _rounded(u), is_coarse=True) for x, u in _COARSE),
)
"""The mistakes that are tried, each seen in a public program."""


class Explanation(NamedTuple):
    """What gives a head's output in every row: in words, what to change, and the scale over the declared one.

    ``misfit`` orders explanations. Where ``is_plain`` it is the declared formula with another scale.
    """

    does: str
    fix: str
    ratio: float
    misfit: float
    is_plain: bool = False
    is_coarse: bool = False


@dataclass(frozen=True)
class Search:
    """Where causes are looked for: all calls of a layer, and the declared formula of each.

    ``calls`` gives them from the beginning, with NumPy's arrays; ``declared`` the formula of a call whose
    scale is multiplied by a number, or one a head.
    """

    calls: Callable[[], Iterable[Call]]
    declared: Callable[[Call, Any], Formula]
    widths: Widths


_AS_DECLARED = Cause("", "", lambda formula: formula)
_FACTOR = Cause(
    "the output (or its values) is multiplied by {factor:.3g}",
    "leave the output as the weighted mean of the values",
    lambda formula: formula,
)
_MOST_TRIES = 2  # heads of a layer for which no cause is known, after which no more is looked for


def explain(search: Search, sums: HeadSums, off: Any) -> dict[int, list[Explanation]]:
    """Return for each head that is ``off`` what gives its output in all rows, the nearest first.

    Coarser arithmetic makes itself felt in most rows: it does not explain a few that are off.
    """
    explained: dict[int, list[Explanation]] = {int(head): [] for head in np.flatnonzero(off)}
    tries = 0
    for head in list(explained):
        if explained[head] or tries == _MOST_TRIES:
            continue
        tries += 1
        sample = _Sample(search, head, sums.worst[head])
        candidates = sample.candidates()
        for other, found in _in_all_rows(search, candidates, list(explained)).items():
            most = 2 * sums.bad[other] >= sums.compared[other]
            explained[other] = explained[other] or [one for one in found if most or not one.is_coarse]
    return explained


class _Candidate(NamedTuple):
    cause: Cause
    ratio: Any = 1.0
    factor: float = 1.0

    def formula(self, search: Search, call: Call) -> Formula | None:
        changed = self.cause.change(search.declared(call, self.ratio))
        return changed and replace(changed, factor=changed.factor * self.factor)


class _Sample:
    """The rows around a head's worst one, by which candidates are chosen."""

    def __init__(self, search: Search, head: int, worst: Worst) -> None:
        self.search, self.head, first = search, head, 0
        for call in search.calls():
            if first + len(call.query) > worst.sequence:
                break
            first += len(call.query)
        # The sequence of the worst row and those before it, of which a mask may have been taken.
        every, place = len(call.query), worst.sequence - first
        chosen = (place + 1 + np.arange(-min(every, MOST_OTHERS), 0)) % every
        arrays = {field: getattr(call, field) for field in ARRAYS.values() if field != "input"}
        cut: dict[str, Any] = {
            field: np.asarray(array)[chosen]
            for field, array in arrays.items()
            if array is not None and (field == "documents" or array.ndim == 4) and len(array) == every
        }
        self.call = replace(call, **cut)
        self.heads, queries, keys = int(call.query.shape[1]), int(call.query.shape[2]), int(call.key.shape[2])
        count = max(min(8, queries), min(queries, _SAMPLE // (self.heads * keys)))
        start = min(max(worst.row - count // 2, 0), queries - count)
        self.rows, self.sequences = slice(start, start + count), slice(len(chosen) - 1, len(chosen))

    def compare(self, candidate: _Candidate) -> Rows | None:
        formula = candidate.formula(self.search, self.call)
        if formula is None:
            return None
        rows = self.rows if formula.call.query.shape == self.call.query.shape else slice(None)
        return compare(formula, rows=rows, sequences=self.sequences)

    def fits(self, candidate: _Candidate, rows: Rows | None) -> bool:
        if rows is None or not rows.is_compared.any():
            return False
        return not (rows.is_off if candidate.cause.is_whole else rows.is_off[:, self.head]).any()

    def scaled(self, cause: Cause, starts: Sequence[float], steps: int) -> Iterator[_Candidate]:
        """Yield the cause with a scale that fits, if there is one: by Newton’s steps from several starts."""
        for start in starts:
            candidate = _Candidate(cause, np.full(self.heads, start))
            for _ in range(steps):
                rows = self.compare(candidate)
                if rows is None or rows.keys.shape[1] != self.heads:
                    return
                step = np.nan_to_num(pool(rows, SCALE, rows.is_compared)[0])
                good = self.fits(candidate, rows)
                # Where it fits, one step more, for the scale to come as near as all rows tell.
                step = np.clip(step, -0.1, 0.1) if good else np.clip(step, -0.7, 2.0)
                candidate = candidate._replace(ratio=candidate.ratio * (1 + step))
                if good:
                    yield candidate
                    return
                if abs(step[self.head]) < 1e-12:
                    break

    def candidates(self) -> list[_Candidate]:
        """Return what fits: another scale, a factor, causes at the declared scale, else at another."""
        intended = _one(self.search.declared(self.call, 1.0).scale)
        named = named_scales(self.search.widths, intended)[:12]
        starts = [1.0, 1 / intended, *(scale.value / intended for scale in named), -1.0]
        found = list(self.scaled(_AS_DECLARED, starts, _STEPS))
        tried = [_Candidate(cause) for cause in CAUSES]
        rows = self.compare(_Candidate(_AS_DECLARED))
        if rows is not None:
            factor = 1 + float(pool(rows, FACTOR, rows.is_compared)[0][self.head])
            tried.append(_Candidate(_FACTOR, factor=factor))
        found += [candidate for candidate in tried if self.fits(candidate, self.compare(candidate))]
        if found:
            return found
        # No cause at the declared scale: the first ones of each kind at any other.
        causes = {cause.fix + cause.does[:12]: cause for cause in reversed(CAUSES) if not cause.is_coarse}
        return [x for cause in causes.values() for x in self.scaled(cause, (1.0, 1 / intended), _FEW_STEPS)]


def _in_all_rows(
    search: Search, candidates: Sequence[_Candidate], heads: Sequence[int]
) -> dict[int, list[Explanation]]:
    """Return by head those candidates that give its output in every row of every call, the nearest first."""
    explained: dict[int, list[Explanation]] = {}
    for candidate in candidates:
        cause = candidate.cause
        sums, first, unit = HeadSums(0), 0, 0.0
        for call in search.calls():
            formula = candidate.formula(search, call)
            # What a cause does not change is as declared.
            rows = compare(search.declared(call, candidate.ratio) if formula is None else formula)
            if not len(sums.bad):
                sums = HeadSums(rows.keys.shape[1])
            sums.add(rows, first + np.arange(len(rows.keys)))
            first, unit = first + len(rows.keys), max(unit, unit_of(call))
            if sums.bad.all() or (cause.is_whole and sums.bad.any()):
                break
        off = sums.is_off(unit) | (sums.compared == 0)
        for head in heads:
            if off.any() if cause.is_whole else off[head]:
                continue
            misfit = float(sums.misfit.mean() if cause.is_whole else sums.misfit[head])
            explained.setdefault(head, []).append(_explanation(call, candidate, head, misfit))
    return {
        head: sorted(found, key=lambda one: (one.is_coarse, one.misfit * (not one.is_coarse)))
        for head, found in explained.items()
    }


def _explanation(call: Call, candidate: _Candidate, head: int, misfit: float) -> Explanation:
    cause, heads, key_heads = candidate.cause, int(call.query.shape[1]), int(call.key.shape[1])
    own, count = head, heads
    if cause.does.startswith(("key", "value")):
        own, count = head // (heads // key_heads), key_heads
    does = cause.does.format(other=(own - cause.other) % count, factor=candidate.factor)
    ratio = float(np.broadcast_to(candidate.ratio, heads)[head])
    return Explanation(does, cause.fix, ratio, misfit, not does, cause.is_coarse)
