"""Likely mistakes by name: what a program may compute in place of what its call declares.

`causes` yields them: what the program does, what to change, and how the arrays of a call then read, each in a
line. A cause is named only where it gives the output to rounding in every row.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from verify.auditing.arrays import unit_of, widened
from verify.auditing.formula import FACTOR, HIDING, SCALE, Band, Formula, Rows, compare, pool
from verify.auditing.heads import HeadSums, Worst
from verify.auditing.masks import described
from verify.auditing.recording import ARRAYS
from verify.auditing.scales import Widths, named_scales

if TYPE_CHECKING:
    from verify.auditing.recording import Call

_MOST_OTHERS = 16  # other heads or sequences that are compared with a head or sequence
_MOST_SCORES = 1 << 24  # scores of a call up to which softmaxes over another axis are tried
_LEAST_DROPOUT = 1.01  # factor of the weights that dropout leaves
_WEAK = (-1.0, -2.0, -5.0, -8.0, -10.0, -15.0, -20.0, -50.0, -100.0, -1e3, -1e4)
_BLOCKS, _CAPS = (8, 16, 32, 64, 128, 256), (20.0, 30.0, 50.0)
_COARSE = (("TensorFloat-32 or float16", 2.0**-11), ("bfloat16", 2.0**-8))

_SHOW = "let each query see the keys that the call declares, or declare this mask"
_ALL = "let queries see every key, also that of the newest token"
_FINITE = "add -inf where a key is hidden"
_HEAD = "let every query head read the keys and values of its own group"
_PLACE = "take keys and values of the same position, in their own places"
_AXIS = "take the softmax over the last axis of the scores, the keys, once"
_ORDER = "scale the products first, then cap them, then add bias and mask, then apply the softmax"
_ONCE = "add the bias once to the scaled scores, as it is, each head its own"
_SINK = "let the declared sink, as it is, take part in the softmax’s sum; declare it where there is one"
_TURN = "transpose, do not reshape"
_WIDTH = "let each query see its own key and the W - 1 before it"
_REPEAT = "repeat each key head in a row, as torch.repeat_interleave does"
_TYPE = "compute in the type that is stored, or accept the precision: --allow-unseen precision"

Lines = dict[str, dict[str, Callable[[], Formula]]]
"""By what to change, mistakes by what the program does, with the formula that it computes."""


class Cause(NamedTuple):
    """A mistake: what the program does, what to change, and the formula that it computes of a call.

    ``other`` is by how many places the head or sequence that is read lies before the call's own.
    """

    does: str
    fix: str
    formula: Callable[[], Formula]
    other: int = 0

    @property
    def key(self) -> tuple[str, int]:
        """What tells it from other causes of a call."""
        return self.does, self.other

    @property
    def is_whole(self) -> bool:
        """Whether rows and heads are not the recorded ones: it holds for all heads or none."""
        return self.does.startswith(("the output is that", "the output is reshaped"))

    @property
    def is_coarse(self) -> bool:
        """Whether it is the declared formula, to fewer digits."""
        return self.fix == _TYPE


def causes(formula: Formula) -> Iterator[Cause]:
    """Yield the mistakes that a program may make in place of a declared formula, each seen in public code."""
    lines: Lines = defaultdict(dict)
    for add in (_masks, _alignments, _biases, _softmaxes, _places):
        add(formula, lines)
    # Coarser arithmetic is the declared formula with a larger rounding error, so only the bound grows.
    lines[_TYPE] = {
        f"sums or weights are rounded to {x}": partial(replace, formula, unit=u) for x, u in _COARSE
    }
    for fix, changes in lines.items():
        yield from (Cause(does, fix, change) for does, change in changes.items())
    yield from _others(formula)


def _with(formula: Formula, **changes: Any) -> Formula:
    """Return a formula with other arrays of its call, or other fields of its own."""
    own = {field.name: changes.pop(field.name) for field in fields(formula) if field.name in changes}
    return replace(formula, call=replace(formula.call, **changes), **own)


def _bias(formula: Formula) -> tuple[Any, Any]:
    """Return where the bias hides keys, and what it adds to others, 0 where it hides."""
    bias = 0.0 if formula.call.bias is None else widened(np.asarray(formula.call.bias))
    return bias <= HIDING, np.where(bias <= HIDING, 0, bias)


def _hidden(formula: Formula) -> Any:
    """Return which keys a call hides, broadcast to [sequence, head, query, key]."""
    call, hidden = formula.call, np.asarray(_bias(formula)[0])
    hidden = hidden if call.mask is None else hidden | ~np.asarray(call.mask).astype(bool)
    return hidden | ~np.tri(*formula.scores[2:], dtype=bool) if call.causal else hidden


def _shown(formula: Formula) -> Formula:
    """Return a formula with no key hidden."""
    bias = None if formula.call.bias is None else _bias(formula)[1]
    return _with(formula, mask=None, bias=bias, causal=False, band=Band())


def _masks(f: Formula, lines: Lines) -> None:
    """Add masks that are lost or taken for another mask."""
    call, shown, hidden, (low, bias) = f.call, _shown(f), _hidden(f), _bias(f)

    def weak(number: float) -> Callable[[], Formula]:
        return lambda: _with(shown, bias=np.where(hidden, number, 0.0))

    if hidden.any():
        after = replace(f, weigh=lambda scores, hidden: _hide(softmax(scores), hidden, 0.0))
        does = "the mask is applied after the softmax, and weights are not normalised again"
        lines[_ORDER][does] = lambda: after
        lines[_SHOW] |= {"the mask is not applied": lambda: shown}
        inverted = "the mask is inverted (in a declared mask True is where a key may be seen)"
        lines[_SHOW][inverted] = lambda: _with(shown, mask=hidden)
        if call.bias is None:
            does = "the mask is weak: it adds {:g} to the scores of hidden keys"
            lines[_FINITE] |= {does.format(number): weak(number) for number in _WEAK}
        kind, _, number = described(call).partition("=")
        if kind == "window":
            last = f.scores[3] - f.scores[2]
            first = last - int(number) + 1
            lines[_WIDTH] |= {
                "the window is one key too short": lambda: replace(shown, band=Band(first + 1, last)),
                "the window is one key too long": lambda: replace(shown, band=Band(first - 1, last)),
                "the window looks ahead as far as behind": lambda: replace(
                    shown, band=Band(first, 2 * last - first)
                ),
            }
    if call.mask is None:
        return
    mask = np.asarray(call.mask)
    added = np.where(low, -np.inf, bias)
    lines[_FINITE]["the mask is added as the numbers 0 and 1"] = partial(
        _with, f, mask=None, bias=added + mask
    )
    if mask.ndim > 1 and mask.shape[-1] == mask.shape[-2]:
        lines[_SHOW]["the mask is transposed"] = lambda: _with(f, mask=mask.mT)
    if call.causal:
        lines[_SHOW] |= {
            "the mask is lost and only the causal mask applied": lambda: _with(f, mask=None),
            "the causal mask is lost and only the other mask applied": lambda: _with(f, causal=False),
        }


def _alignments(f: Formula, lines: Lines) -> None:
    """Add causal masks that lie elsewhere, and a key that is lost at either end."""
    call, (*_, queries, keys) = f.call, f.scores
    beside, moved = _with(f, causal=False) if call.causal else _shown(f), keys - queries
    mask = np.asarray(True if call.mask is None else call.mask)

    def up_to(last: int) -> Callable[[], Formula]:
        return lambda: replace(beside, band=Band(last=last))

    lines[_SHOW] |= {
        "the mask is causal, aligned at the first token (top left)": up_to(0),
        "the mask is causal and off by one: query i sees key i + 1": up_to(1),
        "the mask is causal and off by one: query i does not see key i": up_to(-1),
    }
    if moved:
        lines[_SHOW] |= {
            "the mask is causal, aligned at the last token (bottom right)": up_to(moved),
            "the mask is causal, from the last token, and off by one: sees one more": up_to(moved + 1),
            "the mask is causal, from the last token, and off by one: sees one less": up_to(moved - 1),
        }
    if keys > 1:
        lines[_ALL] |= {
            "the last key is missing": lambda: _with(f, mask=mask & (np.arange(keys) < keys - 1)),
            "the first key is missing": lambda: _with(f, mask=mask & (np.arange(keys) > 0)),
        }


def _biases(f: Formula, lines: Lines) -> None:
    """Add what goes wrong with a bias, a soft-cap and a sink."""
    call, scale, heads = f.call, _first(f.scale), f.scores[1]
    low, bias = _bias(f)

    def times(factor: float) -> Callable[[], Formula]:
        return lambda: _with(f, bias=np.where(low, -np.inf, factor * bias))

    if bias.any():
        lines[_ORDER]["the bias (or mask) is multiplied by the scale"] = times(scale)
        lines[_ONCE] |= {
            "the bias is lost": times(0),
            "the bias has the wrong sign": times(-1),
            "the bias is added twice": times(2),
        }
    if call.bias is not None and math.prod(f.scores) <= _MOST_SCORES:
        last = replace(f, weigh=lambda scores, hidden: softmax(scores, hidden) + bias, needs_all=True)
        only = np.where(low, -np.inf, 0)
        lines[_ORDER]["the bias is added after the softmax"] = lambda: _with(last, bias=only)
    if (cap := call.softcap) is not None:
        capped = replace(f, weigh=lambda s, h: softmax(cap * np.tanh(_hide(s, h, -np.inf) / cap)))
        lines[_ORDER] |= {
            "the soft-cap is lost": lambda: _with(f, softcap=None),
            "the soft-cap is applied before the scale": lambda: _with(f, softcap=cap * abs(scale)),
        }
        does = "the soft-cap is applied after bias and mask, so that hidden keys get weight"
        lines[_ORDER][does] = lambda: _with(capped, softcap=None)
    else:
        does = "a soft-cap of {:g} is applied that the call does not declare"
        lines[_ORDER] |= {does.format(x): partial(_with, f, softcap=x) for x in _CAPS}
    if call.sink is not None:
        sink = np.asarray(call.sink).astype(float)
        lines[_SINK] |= {
            "the sink is lost": lambda: _with(f, sink=None),
            "the sink is 0 whatever it should be": lambda: _with(f, sink=0 * sink),
            "the sink is multiplied by the scale": lambda: _with(f, sink=f.scale * sink),
        }
    else:
        of_zero = "a sink of 0 is in the softmax (a further 1 in its denominator)"
        lines[_SINK][of_zero] = lambda: _with(f, sink=np.zeros(heads))
        # Keys and values of zeros up to a multiple of a block: each adds e⁰ to the sum.
        more = {block: -f.scores[3] % block for block in _BLOCKS}
        does = "padding is attended to, zeros up to a multiple of {}"
        lines[_SHOW] |= {
            does.format(block): partial(_with, f, sink=np.full(heads, math.log(zeros)))
            for block, zeros in more.items()
            if zeros
        }


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


def _softmaxes(f: Formula, lines: Lines) -> None:
    """Add other weights than the softmax of the scores over the keys, and other places of the scale."""
    call, hidden, keys = f.call, _hidden(f), f.scores[3]
    if math.prod(f.scores) <= _MOST_SCORES:
        for axis, name in ((2, "queries"), (1, "heads"), (0, "sequences")):
            if f.scores[axis] > 1:
                weigh = partial(softmax, axis=axis, number=-1e30)
                over = partial(replace, f, weigh=weigh, needs_all=True)
                lines[_AXIS][f"the softmax is over the {name}, not the keys"] = over
        if call.value is not None and call.output is not None and keys <= call.value.shape[3]:
            does = "dropout is on: weights are 0, and the others larger by a common factor"
            lines["call model.eval()"][does] = lambda: _dropped(f)
    # Weights lie between 0 and 1, so a second softmax leaves no key more than e times another's weight.
    twice = replace(f, weigh=lambda s, hidden: softmax(softmax(s, hidden), hidden))
    lines[_AXIS] |= {
        "the softmax is applied twice": lambda: twice,
        "there is no softmax": lambda: replace(f, weigh=lambda s, hidden: _hide(s, hidden, 0.0)),
    }
    lines[_ORDER]["the scale is applied after the softmax"] = lambda: replace(
        f, scale=1.0, factor=_first(f.scale)
    )

    def by_log_of_keys() -> Formula:
        seen = np.maximum((~np.broadcast_to(hidden, f.scores)).sum(axis=-1), 1)
        return _with(f, query=np.asarray(call.query).astype(float) * np.log(seen)[..., None])

    if keys > 1:
        does = "the scale is multiplied by ln n, n the keys that a query sees"
        lines["declare it as intended"][does] = by_log_of_keys


def _dropped(formula: Formula) -> Formula:
    """Return weights of which a part is 0 and the others larger by a factor, read off the output."""
    call: Any = formula.call
    # No more keys than components of a value: the output then determines the weights, as a linear system.
    wide = [np.nan_to_num(np.asarray(array).astype(float)) for array in (call.value, call.output)]
    actual = wide[1] @ np.linalg.pinv(np.repeat(wide[0], call.query.shape[1] // call.key.shape[1], axis=1))

    def weigh(scores: Any, hidden: Any) -> Any:
        weights = softmax(scores, hidden)
        left = actual > weights / 2
        shares = actual[left & (weights > 0)] / weights[left & (weights > 0)]
        factor = float(np.median(shares)) if shares.size else 1.0
        return weights * left * factor if factor > _LEAST_DROPOUT and not left.all() else weights

    return replace(formula, weigh=weigh, needs_all=True)


def _places(f: Formula, lines: Lines) -> None:
    """Add arrays that stand in each other's places, or are transposed wrongly."""
    call = f.call
    if call.value is None or call.output is None:
        return
    q, k, v, out = (np.ascontiguousarray(array) for array in (call.query, call.key, call.value, call.output))
    (s, h, t, d), key_heads = out.shape, k.shape[1]

    def reshaped(array: Any) -> Any:
        return array.reshape(*array.shape[:2], *array.shape[:1:-1]).mT

    def unit(array: Any) -> Any:
        size = np.linalg.norm(array.astype(float), axis=-1, keepdims=True)
        return array / np.where(size > 0, size, 1)

    lines[_TURN] |= {
        "keys are reshaped where they should be transposed": lambda: _with(f, key=reshaped(k)),
        "values are reshaped where they should be transposed": lambda: _with(f, value=reshaped(v)),
    }
    lines[_PLACE] |= {
        "keys are those of the token before": lambda: _with(f, key=np.roll(k, 1, 2)),
        "keys are those of the token after": lambda: _with(f, key=np.roll(k, -1, 2)),
        "values are those of the token before": lambda: _with(f, value=np.roll(v, 1, 2)),
        "values are those of the token after": lambda: _with(f, value=np.roll(v, -1, 2)),
    }
    if k.shape == v.shape:
        lines[_PLACE] |= {
            "keys are used as values": lambda: _with(f, value=k),
            "values are used as keys": lambda: _with(f, key=v),
            "keys and values are exchanged": lambda: _with(f, key=v, value=k),
        }
    if q.shape == k.shape:
        lines[_PLACE]["queries and keys are exchanged"] = lambda: _with(f, query=k, key=q)
    lines["record them after they are normalised"] |= {
        "queries and keys are normalised first": lambda: _with(f, query=unit(q), key=unit(k))
    }
    if 1 < key_heads < h:
        tiled = np.arange(h) % key_heads
        does = "grouped heads are tiled: query head i reads key head i mod h_k"
        lines[_REPEAT][does] = lambda: _with(f, key=k[:, tiled], value=v[:, tiled])
    if h > 1:
        to, back = out.reshape(s, t, h, d).swapaxes(1, 2), out.swapaxes(1, 2).reshape(s, h, t, d)
        lines[_TURN] |= {
            "the output is reshaped to [token, head] where it should be transposed": lambda: _with(
                f, output=to
            ),
            "the output is reshaped from [head, token] where it should be transposed": lambda: _with(
                f, output=back
            ),
        }


def _others(f: Formula) -> Iterator[Cause]:
    """Yield arrays of another head or sequence."""
    for does, fix, axis, names in (
        ("the mask is that of another sequence", _SHOW, -4, ("mask", "bias")),
        ("the bias is that of head {other}", _ONCE, -3, ("bias",)),
        ("keys and values are those of head {other}", _HEAD, -3, ("key", "value")),
        ("values are those of head {other}", _HEAD, -3, ("value",)),
        ("keys are those of head {other}", _HEAD, -3, ("key",)),
        ("the output is that of head {other}", _HEAD, -3, ("output",)),
    ):
        # What all heads or sequences share has length 1 there, so it cannot be taken from another.
        given = {name: np.asarray(getattr(f.call, name)) for name in names}
        for shift in range(1, _MOST_OTHERS):
            longer = {n: a for n, a in given.items() if a.ndim >= -axis and a.shape[axis] > shift}
            if longer:
                yield Cause(
                    does,
                    fix,
                    partial(_rolled, f, longer, shift, axis),
                    -shift if "output" in names else shift,
                )


def _rolled(formula: Formula, arrays: dict[str, Any], shift: int, axis: int) -> Formula:
    return _with(formula, **{name: np.roll(array, shift, axis) for name, array in arrays.items()})


def _first(scale: Any) -> float:
    """Return the scale, where heads differ that of the first head."""
    return float(np.ravel(scale)[0])


class Explanation(NamedTuple):
    """What gives a head's output in every row: in words, what to change, and its scale over the declared.

    ``misfit`` orders explanations. Where ``is_plain`` it is the declared formula with another scale.
    """

    does: str
    fix: str
    ratio: float
    misfit: float
    is_plain: bool = False
    is_coarse: bool = False


class _Candidate(NamedTuple):
    """A mistake by its key, with what multiplies the declared scale, one number a head, and the output."""

    key: tuple[str, int] = ("", 0)
    ratio: Any = 1.0
    factor: float = 1.0


_FACTOR = "the output (or its values) is multiplied by {factor:.3g}"
_MOST_TRIES = 2  # heads of a layer for which no cause is known, after which no more is searched
_SAMPLE = 1 << 14  # scores of the rows that are tried first
_STEPS, _FEW_STEPS = 12, 5


class Search:
    """A search for what gives outputs that are off, in all calls of a layer.

    ``calls`` gives them from the beginning, with NumPy's arrays; ``declared`` the formula of a call whose
    scale is multiplied by a number, or by a number for each head. Candidates are chosen by a sample of rows
    around the worst row of a head, and then have to give every row.
    """

    def __init__(
        self, calls: Callable[[], Iterable[Call]], declared: Callable[[Call, Any], Formula], widths: Widths
    ) -> None:
        self.calls, self.declared, self.widths = calls, declared, widths

    def explain(self, sums: HeadSums, off: Any) -> dict[int, list[Explanation]]:
        """Return for each head that is ``off`` what gives its output in all rows, the nearest first.

        Coarser arithmetic makes itself felt in most rows: it does not explain a few that are off.
        """
        explained: dict[int, list[Explanation]] = {int(head): [] for head in np.flatnonzero(off)}
        tries = 0
        for head in list(explained):
            if explained[head] or tries == _MOST_TRIES:
                continue
            tries += 1
            self._take_sample(head, sums.worst[head])
            by_head: dict[int, list[Explanation]] = {}
            for candidate in self._candidates():
                self._explain_all_rows(candidate, list(explained), by_head)
            for other, explanations in by_head.items():
                most = 2 * sums.bad[other] >= sums.compared[other]
                fitting = [explanation for explanation in explanations if most or not explanation.is_coarse]
                fitting.sort(key=lambda x: (x.is_coarse, x.misfit * (not x.is_coarse)))
                explained[other] = explained[other] or fitting
        return explained

    def _take_sample(self, head: int, worst: Worst) -> None:
        first = 0
        for call in self.calls():
            if first + len(call.query) > worst.sequence:
                break
            first += len(call.query)
        # The sequence of the worst row and those before it, of which a mask may have been taken.
        every, place = len(call.query), worst.sequence - first
        chosen = (place + 1 + np.arange(-min(every, _MOST_OTHERS), 0)) % every
        cut: dict[str, Any] = {
            field: np.asarray(array)[chosen]
            for field in ARRAYS.values()
            if field != "input" and (array := getattr(call, field)) is not None
            if array.ndim == 4 and len(array) == every
        }
        self.head, self.sample = head, replace(call, **cut)
        _, self.heads, queries, keys = self.declared(call, 1.0).scores
        count = max(min(8, queries), min(queries, _SAMPLE // (self.heads * keys)))
        start = min(max(worst.row - count // 2, 0), queries - count)
        self.rows, self.sequence = slice(start, start + count), slice(len(chosen) - 1, len(chosen))

    def _cause(self, candidate: _Candidate, call: Call) -> Cause:
        """Return a candidate as the cause in a call; where the mistake cannot be made it is as declared."""
        declared = self.declared(call, candidate.ratio)
        if candidate.key[0] == _FACTOR:
            fix = "leave the output as the weighted mean of the values"
            return Cause(_FACTOR, fix, partial(replace, declared, factor=candidate.factor))
        of_call = (cause for cause in causes(declared) if cause.key == candidate.key and candidate.key[0])
        return next(of_call, Cause("", "", lambda: declared))

    def _try(self, cause: Cause) -> tuple[Rows, bool]:
        """Return the sample's rows by a cause, and whether it gives those of the head."""
        formula = cause.formula()
        whole = formula.call.query.shape != self.sample.query.shape
        rows = compare(formula, rows=slice(None) if whole else self.rows, sequences=self.sequence)
        off = rows.is_off if cause.is_whole else rows.is_off[:, self.head]
        return rows, bool(rows.is_compared.any() and not off.any())

    def _candidates(self) -> list[_Candidate]:
        """Return what fits: another scale, a factor, causes at the declared scale, else at another."""
        declared = self.declared(self.sample, 1.0)
        intended = _first(declared.scale)
        named = named_scales(self.widths, intended)[:12]
        starts = [1.0, 1 / intended, *(scale.value / intended for scale in named), -1.0]
        fitting = list(self._scaled(("", 0), starts, _STEPS))
        tried = list(causes(declared))  # at the declared scale first: most mistakes leave it alone
        fitting += [_Candidate(cause.key) for cause in tried if self._try(cause)[1]]
        rows, _ = self._try(Cause("", "", lambda: declared))
        factor = 1 + float(pool(rows, FACTOR, rows.is_compared)[0][self.head])
        by_factor = _Candidate((_FACTOR, 0), factor=factor)
        fitting += [by_factor] if self._try(self._cause(by_factor, self.sample))[1] else []
        if fitting:
            return fitting
        # No cause at the declared scale: the first ones of each kind at any other.
        first = {cause.fix + cause.does[:12]: cause.key for cause in reversed(tried) if not cause.is_coarse}
        starts = [1.0, 1 / intended]
        return [candidate for key in first.values() for candidate in self._scaled(key, starts, _FEW_STEPS)]

    def _scaled(self, key: tuple[str, int], starts: Sequence[float], steps: int) -> Iterator[_Candidate]:
        """Yield the cause with the scale that fits, if any: by Newton’s steps from several starts."""
        for start in starts:
            candidate = _Candidate(key, np.full(self.heads, start))
            for _ in range(steps):
                rows, good = self._try(self._cause(candidate, self.sample))
                if rows.keys.shape[1] != self.heads:
                    return
                step = np.nan_to_num(pool(rows, SCALE, rows.is_compared)[0])
                # Where it fits, one more step brings the scale as near as the rows determine it.
                step = np.clip(step, -0.1, 0.1) if good else np.clip(step, -0.7, 2.0)
                candidate = candidate._replace(ratio=candidate.ratio * (1 + step))
                if good:
                    yield candidate
                    return
                if abs(step[self.head]) < 1e-12:
                    break

    def _explain_all_rows(
        self, candidate: _Candidate, heads: Sequence[int], explained: dict[int, list[Explanation]]
    ) -> None:
        """Add a candidate to what explains those heads whose output it gives in every row of every call."""
        sums, first, unit = HeadSums(0), 0, 0.0
        for call in self.calls():
            cause = self._cause(candidate, call)
            rows = compare(cause.formula())
            sums = sums if len(sums.bad) else HeadSums(rows.keys.shape[1])
            sums.add(rows, first + np.arange(len(rows.keys)))
            first, unit = first + len(rows.keys), max(unit, unit_of(call))
            if sums.bad.all() or (cause.is_whole and sums.bad.any()):
                return
        cause = self._cause(candidate, self.sample)
        off = sums.is_off(unit) | (sums.compared == 0)
        for head in heads:
            if off.any() if cause.is_whole else off[head]:
                continue
            misfit = float(sums.misfit.mean() if cause.is_whole else sums.misfit[head])
            own, count = head, self.heads
            if cause.does.startswith(("key", "value")):
                count = int(self.sample.key.shape[1])
                own = head * count // self.heads
            does = cause.does.format(other=(own - cause.other) % count, factor=candidate.factor)
            ratio = float(np.broadcast_to(candidate.ratio, self.heads)[head])
            explanation = Explanation(does, cause.fix, ratio, misfit, not does, cause.is_coarse)
            explained.setdefault(head, []).append(explanation)
