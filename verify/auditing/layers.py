"""A layer that is run through: every row of every call, and what explains the rows that are off.

What gives the rows of a head that is off is another scale, or a mistake by name. Candidates are chosen by a
sample of rows around the worst row, and then have to give every row of every call.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from verify.auditing.causes import Cause, mistakes
from verify.auditing.formula import FACTOR, SCALE, SURE, Formula, HeadSums, Rows, compare, pool
from verify.auditing.masks import WrongMask, described, intended_mask, wrong_mask
from verify.auditing.recording import (
    LARGEST,
    Call,
    Intended,
    Layer,
    check_call,
    dtype_of,
    in_memory,
    to_numpy,
)
from verify.auditing.scales import DEFAULT, Widths, named_scales, scale_expression
from verify.errors import RecordingError
from verify.text.escapes import one_line

NEAR = 0.25
"""Share of a type's largest number beyond which products are warned of."""

_BATCH = 1 << 25  # bytes of calls of one shape that are compared at once
_LEAST_STEP = 2e-3  # relative difference from the declared scale below which no other is tried
_SAMPLE = 1 << 14  # scores of the rows that are tried first
_SAME_LENGTH = 0.01  # how far from 1 lengths may be that were normalised, in any type
_STEPS = 12  # of Newton's from each start


class LayerRun:
    """A layer that is run through, and what findings are made of.

    ``ratio`` is by head the scale that gives the output over the declared scale; ``sums`` are at that scale.
    ``causes`` has for heads that are off what gives their output in all rows, the nearest first.

    Raises:
        RecordingError: it has no call, or arrays do not fit each other.
    """

    def __init__(self, layer: Layer) -> None:
        first = next(iter(layer.calls), None)
        if first is None:
            raise RecordingError(f"layer {layer.name}: has no calls; record again")
        self.layer, self.place = layer, f"layer {one_line(layer.name)}"
        check_call(first, self.place)
        self.intended = layer.intended or Intended(DEFAULT, "default")
        self.expression = scale_expression(self.intended.expression)
        _, self.heads, _, self.d_k = map(int, first.query.shape)
        self.key_heads, self.dtype = int(first.key.shape[1]), dtype_of(first)
        self.d_v = None if first.value is None else int(first.value.shape[3])
        self.limit = LARGEST.get(self.dtype, LARGEST["float64"])
        self.meant = intended_mask(layer.mask) if layer.mask else None
        padded = {} if self.d_v in (None, self.d_k) else {"width of the values": self.d_v}
        self.widths = Widths(self.d_k, self.heads, layer.width, padded | dict(layer.padded))
        self.calls = self.sequences = self.blind = self.keys = 0
        self.tokens: set[int] = set()
        self.given: list[tuple[float, float]] = []  # scales that calls were given, and what was intended
        self.masks: dict[str, None] = {}
        self.wrong_mask: WrongMask | None = None
        self.odd_rows: dict[str, list[int]] = {}  # in rows without keys: how many, the first's place
        self.broken: Counter[str] = Counter()  # how many numbers of arrays are not finite
        self.bound = 0.0
        self.has_unit_lengths = self.d_k > 1  # whether all queries and keys have length 1
        self.per_sequence: list[Any] = []  # what describes scores, [summary, sequence]
        # At the declared scale first; where heads have another, they are run through again at that.
        self.ratio: Any = np.ones(self.heads)
        self.sums = self._run(self.ratio, is_first=True)
        self.causes: dict[int, list[Cause]] = {}
        self._settle()

    def intended_scale(self, keys: int) -> float:
        """Return the intended scale for this number of keys."""
        return self.expression.value(d=self.d_k, h=self.heads, D=self.layer.width, n=keys)

    def _all_calls(self) -> Iterator[Call]:
        """Yield all calls, checked, with NumPy's arrays, as they were recorded."""
        count = 0
        for recorded in self.layer.calls:
            count += 1
            call = in_memory(recorded)
            check_call(call, self.place)
            for name, added in (("bias", call.bias), ("sink", call.sink)):
                if added is not None and not np.all(to_numpy(added) < math.inf):
                    problem = f"{name} holds NaN or +inf; give -inf where a key is hidden"
                    raise RecordingError(f"{self.place}: {problem}")
            if call.softcap is not None and not 0 < call.softcap < math.inf:
                raise RecordingError(
                    f"{self.place}: softcap {call.softcap!r}: give a number above 0, or none"
                )
            for name, array, heads in (("q", call.query, self.heads), ("k", call.key, self.key_heads)):
                if (array.shape[1], array.shape[3]) != (heads, self.d_k):
                    shape = f"{array.shape[1]} heads of {array.shape[3]} dimensions"
                    fix = "record different shapes under different names"
                    problem = f"{name} has {shape}, and in earlier calls {heads} of {self.d_k}; {fix}"
                    raise RecordingError(f"{self.place}: {problem}")
            yield call
        self.calls = count

    def _declared(self, call: Call, ratio: Any) -> Formula:
        """Return the formula of a call at the scale that it was given, else as intended, times ratio."""
        scale = self.intended_scale(int(call.key.shape[2])) if call.scale is None else call.scale
        return Formula.of(call, scale * ratio)

    def _run(self, ratio: Any, *, is_first: bool = False) -> HeadSums:
        """Compare all calls with the formula; the first time everything else is noted, too.

        Later the rows that are alike are counted, before anything rests on what rows share.
        """
        sums = HeadSums(self.heads)
        for places, call in _batches(self._all_calls()):
            formula = self._declared(call, ratio)
            rows = compare(formula)
            sums.add(rows, places, formula.unit, find_alike=not is_first)
            if is_first:
                self._note(formula, rows, places)
        return sums

    def _settle(self) -> None:
        """Where outputs are off, find what explains them, and at which scale."""
        shared, bad = self.sums.shared, self.sums.bad
        has_moved = np.isfinite(shared.error) & (
            np.abs(shared.step) > np.maximum(SURE * shared.error, _LEAST_STEP)
        )
        if has_moved.any() or (self.sums.is_off & (bad == 0)).any():
            # A single row that is off needs no count of rows that are alike; what rows share does.
            self.sums = self._run(self.ratio)
        self.causes = self._explain(self.sums.is_off)
        for head, causes in self.causes.items():
            # The nearest first; coarser arithmetic, whose bound is wide, comes last in its own order.
            causes.sort(key=lambda x: (x.is_coarse, x.misfit * (not x.is_coarse)))
            if causes and not causes[0].does:
                self.ratio[head] = causes[0].ratio
        if (self.ratio != 1).any():
            self.sums = self._run(self.ratio)

    # What is tried may be of any size, and what was recorded may be infinite: neither is worth a warning.
    @np.errstate(all="ignore")
    def _explain(self, off: Any) -> dict[int, list[Cause]]:
        """Return for heads that are off what gives their output, a cause without words for another scale."""
        explained: dict[int, list[Cause]] = {head: [] for head in np.flatnonzero(off).tolist()}
        if not explained:
            return explained
        worst = int(np.where(off, self.sums.worst, -1.0).argmax())
        sequence, row = map(int, self.sums.place[worst])
        for call in self._all_calls():
            if sequence < len(call.query):
                break
            sequence -= len(call.query)
        queries, keys = int(call.query.shape[2]), int(call.key.shape[2])
        count = max(min(8, queries), min(queries, _SAMPLE // (self.heads * keys)))
        start = min(max(row - count // 2, 0), queries - count)

        def sample(formula: Formula) -> Rows:
            return compare(formula, slice(start, start + count), slice(sequence, sequence + 1))

        declared = self._declared(call, 1.0)
        # Least squares: the multiple of the formula's output that is nearest to the recorded one.
        rows = sample(declared)
        factor = 1 + pool(rows, FACTOR, rows.is_compared)[0]
        for cause in chain(self._fitted_scales(declared, sample, off), mistakes(declared, factor)):
            wrong: Any = sample(cause.made_in(declared)).is_off.any(axis=(0, 2)) if cause.does else ~off
            if not (wrong if cause.moves_rows else wrong[off]).all():
                for head, confirmed in self._confirmed(cause, factor):
                    explained.get(head, []).append(confirmed)
        return explained

    def _fitted_scales(
        self, declared: Formula, sample: Callable[[Formula], Rows], off: Any
    ) -> Iterator[Cause]:
        """Yield the scales that give heads' samples as a cause without words.

        They are found by Newton’s steps from several starts, for errors have several minima over the scale.
        """
        intended = float(np.ravel(declared.scale)[0])
        # Mistakes by name are where minima are likely; -1 is the sign reversed.
        named = [scale.value / intended for scale in named_scales(self.widths, intended)[:12]]
        fitted = np.full(self.heads, math.nan)
        for start in (1.0, 1 / intended, *named, -1.0):
            ratio = np.full(self.heads, start)
            for _ in range(_STEPS):
                rows = sample(replace(declared, scale=intended * ratio))
                fits = ~rows.is_off.any(axis=(0, 2))
                step = np.nan_to_num(pool(rows, SCALE, rows.is_compared)[0])
                # Where it fits, one more step brings the scale as near as the rows determine it.
                step = np.clip(step, np.where(fits, -0.1, -0.7), np.where(fits, 0.1, 2.0))
                ratio = ratio * (1 + step)
                fitted = np.where(np.isnan(fitted) & fits, ratio, fitted)
                is_done = np.isfinite(fitted[off]).all()
                if is_done or (np.abs(step[off]) < 1e-12).all():
                    break
            if is_done:
                break
        if np.isfinite(fitted[off]).any():
            yield Cause("", ratio=np.where(np.isfinite(fitted), fitted, 1.0))

    def _confirmed(self, cause: Cause, factor: Any) -> Iterator[tuple[int, Cause]]:
        """Yield the heads whose output a cause gives in every row of every call, and how well."""
        sums, ratio = HeadSums(self.heads), np.broadcast_to(cause.ratio, self.heads)
        for call in self._all_calls():
            if call.value is None or call.output is None:
                continue
            formula = self._declared(call, ratio)
            # Its arrays are those of this call; a call in which it cannot be made is as declared.
            for same in mistakes(formula, factor) if cause.does else ():
                if (same.does, same.other) == (cause.does, cause.other):
                    formula = same.made_in(formula)
                    break
            rows = compare(formula)
            sums.add(rows, np.arange(len(rows.keys)), formula.unit)
            if sums.bad.all() or (cause.moves_rows and sums.bad.any()):
                return
        off = sums.is_off | (sums.compared == 0)
        if cause.is_coarse:  # this makes itself felt in most rows: it explains no few that are off
            off |= 2 * self.sums.bad < self.sums.compared
        if cause.moves_rows and off.any():
            return
        count = self.key_heads if cause.of_keys else self.heads
        for head in np.flatnonzero(~off).tolist():
            other = (head * count // self.heads - cause.other) % count
            misfit = float(sums.worst.mean() if cause.moves_rows else sums.worst[head])
            does = cause.does.format(other=other, factor=factor[head])
            yield head, cause._replace(does=does, misfit=misfit, ratio=float(ratio[head]))

    def _note(self, formula: Formula, rows: Rows, places: Any) -> None:
        """Note what a batch of calls is like beside its output."""
        call, (sequences, _, queries, keys) = formula.call, formula.shape
        self.sequences += sequences
        if call.scale is not None:
            self.given.append((call.scale, self.intended_scale(keys)))
        self.tokens.add(queries)
        self.keys = max(self.keys, keys)
        if queries > 1 or keys == 1 or call.causal or not self.masks:
            self.masks[described(formula)] = None
        self.wrong_mask = self.wrong_mask or wrong_mask(formula, self.meant, places)
        self._note_rows_without_keys(formula, rows, places)
        self._note_sizes(formula, rows)
        lengths = (np.linalg.norm(to_numpy(array), axis=-1) for array in (call.query, call.key))
        is_unit = all(np.all(np.abs(length - 1) < _SAME_LENGTH) for length in lengths)
        self.has_unit_lengths = self.has_unit_lengths and is_unit
        # Rows that see a single key have weight 1 whatever is computed, and say nothing of scores.
        several = rows.keys > 1
        counts = np.maximum(several.sum(axis=(1, 2)), 1)
        values = [rows.variance, rows.entropy / np.log(np.maximum(rows.keys, 2)), rows.largest]
        means = [np.where(several, value, 0).sum(axis=(1, 2)) / counts for value in values]
        self.per_sequence.append(np.stack(means)[:, several.any(axis=(1, 2))])

    def _note_rows_without_keys(self, formula: Formula, rows: Rows, places: Any) -> None:
        """Note what stands in rows that see no key: zeros are right, or the mean of all values in padding."""
        blind, hidden = rows.keys == 0, formula.hidden
        self.blind += int(blind.sum())
        if formula.output is None or not blind.any():
            return
        lost, number = blind & ~rows.written, blind & rows.written & (rows.size > 0)
        if number.any() and formula.shape[2] == formula.shape[3]:
            is_mean = compare(replace(formula, hidden=None, bias=None, scale=0.0)).is_good
            number &= ~(np.broadcast_to(hidden, formula.shape).all(axis=2) & is_mean)
        for what, odd in (("NaN or infinities", lost), ("numbers other than 0", number)):
            if odd.any():
                sequence, _, row = (int(place[0]) for place in np.nonzero(odd))
                self.odd_rows.setdefault(what, [0, int(places[sequence]), row])[0] += int(odd.sum())

    def _note_sizes(self, formula: Formula, rows: Rows) -> None:
        """Note how near products come to overflow, and how many numbers are not finite."""
        call, sizes = formula.call, dict[str, float]()
        arrays = {"queries": call.query, "keys": call.key, "values": call.value, "outputs": call.output}
        for plural, array in arrays.items():
            if array is None:
                continue
            with np.errstate(all="ignore"):
                sizes[plural] = max(float(array.max()), -float(array.min()))
            if not math.isfinite(sizes[plural]):
                wrong = ~np.isfinite(to_numpy(array))
                wrong &= (rows.keys > 0)[..., None] if plural == "outputs" else True
                self.broken += Counter({plural: int(wrong.sum())})
        # No product is larger than d times the largest numbers of both.
        bound = self.d_k * sizes["queries"] * sizes["keys"] / self.limit
        if not bound <= NEAR:
            # Only near the limit all pairs are computed: the largest product of finite numbers.
            bare = replace(formula, softcap=None, bias=None, hidden=None)
            ends = (float(compare(replace(bare, scale=sign)).highest.max()) for sign in (1.0, -1.0))
            bound = max(ends) / self.limit
        self.bound = max(self.bound, bound)


def _batches(calls: Iterable[Call]) -> Iterator[tuple[Any, Call]]:
    """Yield calls of one shape, joined up to a size, with the numbers of their sequences among all.

    As often as not a program makes thousands of small calls.
    """
    waiting: dict[Any, list[tuple[Any, Call]]] = {}
    size = sequences = 0
    for call in calls:
        if size >= _BATCH:
            yield from map(_joined, waiting.values())
            waiting, size = {}, 0
        arrays = call.arrays
        shapes = tuple((name, array.shape[1:], array.ndim, array.dtype) for name, array in arrays.items())
        sink = None if call.sink is None else call.sink.tobytes()
        key = shapes, call.causal, call.scale, call.softcap, call.dtype, sink
        waiting.setdefault(key, []).append((sequences + np.arange(len(call.query)), call))
        sequences += len(call.query)
        size += sum(array.nbytes for array in arrays.values())
    yield from map(_joined, waiting.values())


def _joined(pairs: list[tuple[Any, Call]]) -> tuple[Any, Call]:
    if len(pairs) == 1:
        return pairs[0]
    joined, first = dict[str, Any](), pairs[0][1]
    for name in ("query", "key", "value", "output", "mask", "bias"):
        if (array := getattr(first, name)) is not None:
            # Masks and biases may lack axes, and be shared by all sequences of a call.
            shape = np.array(array, ndmin=4, copy=None).shape[1:]
            parts = [np.broadcast_to(getattr(call, name), (len(call.query), *shape)) for _, call in pairs]
            joined[name] = np.concatenate(parts)
    return np.concatenate([places for places, _ in pairs]), replace(first, input=None, **joined)
