"""A layer that is run through: every row of every call, and what explains the rows that are off.

What gives the rows of a head that is off is another scale, or a mistake by name. Candidates are chosen by a
sample of rows around the worst row, and then have to give every row of every call.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from verify.auditing.causes import Cause, mistakes
from verify.auditing.formula import FACTOR, SCALE, SURE, Formula, HeadSums, Rows, compare, pool
from verify.auditing.masks import WrongMask, described, intended_mask, wrong_mask
from verify.auditing.recording import (
    ARRAYS,
    LARGEST,
    Call,
    Intended,
    Layer,
    check_call,
    dtype_of,
    in_memory,
    to_numpy,
    unit_of,
)
from verify.auditing.scales import DEFAULT, Widths, named_scales, scale_expression
from verify.errors import RecordingError
from verify.text.escapes import one_line

NEAR = 0.25
"""Share of a type's largest number beyond which products are warned of."""

_BATCH = 1 << 25  # bytes of calls of one shape that are compared at once
_LEAST_STEP = 2e-3  # relative difference from the declared scale below which no other is tried
_MOST_TRIES = 2  # heads of a layer for which no cause is known, after which no more is searched
_SAMPLE = 1 << 14  # scores of the rows that are tried first
_SAME_LENGTH = 0.01  # how far from 1 lengths may be that were normalised, in any type
_STEPS = 12  # of Newton's from each start
_OTHER_SCALE = Cause("")  # the declared formula with another scale, as a cause


class _Explanation(NamedTuple):
    """What gives a head's output in every row: a cause, how well, and the scale over the declared one."""

    cause: Cause
    misfit: float
    ratio: float


class _Sample(NamedTuple):
    """The rows of a ``sequence`` of a call around the worst row of a ``head``."""

    call: Call
    sequence: int
    head: int
    rows: slice

    def fits(self, formula: Formula, *, moves_rows: bool = False) -> tuple[Rows, bool]:
        """Return the rows by a formula, and whether it gives those of the head."""
        rows = compare(formula, rows=self.rows, sequences=slice(self.sequence, self.sequence + 1))
        off = rows.is_off if moves_rows else rows.is_off[:, self.head]
        return rows, bool(rows.is_compared.any() and not off.any())


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
        self.key_heads = int(first.key.shape[1])
        self.d_v = None if first.value is None else int(first.value.shape[3])
        self.dtype, self.unit = dtype_of(first), 0.0
        self.meant = intended_mask(layer.mask) if layer.mask else None
        padded = {} if self.d_v in (None, self.d_k) else {"width of the values": self.d_v}
        self.widths = Widths(self.d_k, self.heads, layer.width, padded | dict(layer.padded))
        self.calls = self.sequences = self.blind = self.keys = 0
        self.tokens: set[int] = set()
        self.given: list[tuple[float, float]] = []  # scales that calls were given, and what was intended
        self.masks: dict[str, None] = {}
        self.wrong_mask: WrongMask | None = None
        self.odd_rows: dict[str, list[int]] = {}  # in rows without keys: how many, the first's place
        self.broken: dict[str, int] = {}  # how many numbers of arrays are not finite
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
            problems = []
            for name, added in (("bias", call.bias), ("sink", call.sink)):
                if added is not None and not np.all(to_numpy(added) < math.inf):
                    problems.append(f"{name} holds NaN or +inf; give -inf where a key is hidden")
            if call.softcap is not None and not 0 < call.softcap < math.inf:
                problems.append(f"softcap {call.softcap!r}: give a number above 0, or none")
            for name, array, heads in (("q", call.query, self.heads), ("k", call.key, self.key_heads)):
                if (array.shape[1], array.shape[3]) != (heads, self.d_k):
                    shape = f"{array.shape[1]} heads of {array.shape[3]} dimensions"
                    fix = "record different shapes under different names"
                    problems.append(f"{name} has {shape}, and in earlier calls {heads} of {self.d_k}; {fix}")
            if problems:
                raise RecordingError(f"{self.place}: {problems[0]}")
            yield call
        self.calls = count

    def _declared(self, call: Call, ratio: Any) -> Formula:
        """Return the formula of a call at the scale that it was given, else as intended, times ratio."""
        scale = self.intended_scale(int(call.key.shape[2])) if call.scale is None else call.scale
        return Formula(call, scale * ratio)

    def _run(self, ratio: Any, *, is_first: bool = False) -> HeadSums:
        """Compare all calls with the formula; the first time everything else is noted, too.

        Later the rows that are alike are counted, before anything rests on what rows share.
        """
        sums = HeadSums(self.heads)
        for places, call in _batches(self._all_calls()):
            rows = compare(self._declared(call, ratio))
            sums.add(rows, places, None if is_first else unit_of(call))
            if is_first:
                self._note(call, rows, places)
        return sums

    def _settle(self) -> None:
        """Where outputs are off, find what explains them, and at which scale."""

        def suspects() -> tuple[Any, Any]:
            """Return which heads are off, and which have another scale than the declared one."""
            step, _, error = self.sums.scale
            moved = (np.abs(step) > np.maximum(SURE * error, _LEAST_STEP)) & np.isfinite(error)
            return self.sums.is_off(self.unit), moved

        off, moved = suspects()
        # A single row that is off needs no count of rows that are alike; what rows share does.
        if moved.any() or (off & (self.sums.bad == 0)).any():
            self.sums = self._run(self.ratio)
            off, moved = suspects()
        ratio = np.where(moved & ~off, 1 + self.sums.scale[0], 1.0)
        for head, explanations in self._explain(np.flatnonzero(off)).items():
            # The nearest first; coarser arithmetic, whose bound is wide, comes last in its own order.
            explanations.sort(key=lambda x: (x.cause.is_coarse, x.misfit * (not x.cause.is_coarse)))
            self.causes[head] = [explanation.cause for explanation in explanations]
            if self.causes[head][:1] == [_OTHER_SCALE]:
                ratio[head] = explanations[0].ratio
        if (ratio != 1).any():
            # A scale that does not give all rows of its head is no scale.
            again = self._run(ratio)
            self.ratio = np.where(again.bad == 0, ratio, 1.0)
            self.sums = again if (again.bad == 0).all() else self._run(self.ratio)

    # What is tried may be of any size, and what was recorded may be infinite: neither is worth a warning.
    @np.errstate(all="ignore")
    def _explain(self, heads: Any) -> dict[int, list[_Explanation]]:
        """Return for heads that are off what gives their output."""
        explained: dict[int, list[_Explanation]] = {int(head): [] for head in heads}
        tries = 0
        for head, known in explained.items():
            if known or tries == _MOST_TRIES:
                continue
            tries += 1
            sequence, row = map(int, self.sums.place[head])
            for call in self._all_calls():
                if sequence < len(call.query):
                    break
                sequence -= len(call.query)
            queries, keys = int(call.query.shape[2]), int(call.key.shape[2])
            count = max(min(8, queries), min(queries, _SAMPLE // (self.heads * keys)))
            start = min(max(row - count // 2, 0), queries - count)
            sample = _Sample(call, sequence, head, slice(start, start + count))
            declared = self._declared(call, 1.0)
            # Least squares: the multiple of the formula's output that is nearest to the recorded one.
            rows, _ = sample.fits(declared)
            factor = 1 + float(pool(rows, FACTOR, rows.is_compared)[0][head])
            candidates = [
                (cause, np.ones(self.heads))
                for cause in mistakes(declared, factor)
                if sample.fits(cause.made_in(declared), moves_rows=cause.moves_rows)[1]
            ]
            if (ratio := self._fitted_scale(sample, float(np.ravel(declared.scale)[0]))) is not None:
                candidates.insert(0, (_OTHER_SCALE, ratio))
            left = {head for head, explanations in explained.items() if not explanations}
            for cause, ratio in candidates:
                for other, explanation in self._confirmed(cause, ratio, factor):
                    if other in left:
                        explained[other].append(explanation)
        return explained

    def _fitted_scale(self, sample: _Sample, intended: float) -> Any:
        """Return by head the multiple of the declared scale that gives the sample, None where none does.

        It is found by Newton’s steps from several starts, for errors have several minima over the scale.
        """
        # Mistakes by name are where minima are likely; -1 is the sign reversed.
        named = [scale.value / intended for scale in named_scales(self.widths, intended)[:12]]
        for start in (1.0, 1 / intended, *named, -1.0):
            ratio = np.full(self.heads, start)
            for _ in range(_STEPS):
                rows, fits = sample.fits(self._declared(sample.call, ratio))
                step = np.nan_to_num(pool(rows, SCALE, rows.is_compared)[0])
                # Where it fits, one more step brings the scale as near as the rows determine it.
                step = np.clip(step, -0.1, 0.1) if fits else np.clip(step, -0.7, 2.0)
                ratio = ratio * (1 + step)
                if fits:
                    return ratio
                if abs(step[sample.head]) < 1e-12:
                    break
        return None

    def _confirmed(self, cause: Cause, ratio: Any, factor: float) -> Iterator[tuple[int, _Explanation]]:
        """Yield the heads whose output a cause gives in every row of every call."""
        sums, unit = HeadSums(self.heads), 0.0
        for call in self._all_calls():
            if call.value is None or call.output is None:
                continue
            formula = self._declared(call, ratio)
            # Its arrays are those of this call; a call in which it cannot be made is as declared.
            for same in mistakes(formula, factor) if cause != _OTHER_SCALE else ():
                if (same.does, same.other) == (cause.does, cause.other):
                    formula = same.made_in(formula)
                    break
            rows = compare(formula)
            sums.add(rows, np.arange(len(rows.keys)))
            unit = max(unit, unit_of(call))
            if sums.bad.all() or (cause.moves_rows and sums.bad.any()):
                return
        off = sums.is_off(unit) | (sums.compared == 0)
        if cause.is_coarse:  # this makes itself felt in most rows: it explains no few that are off
            off |= 2 * self.sums.bad < self.sums.compared
        if cause.moves_rows and off.any():
            return
        count = self.key_heads if cause.of_keys else self.heads
        for head in map(int, np.flatnonzero(~off)):
            does = cause.does.format(other=(head * count // self.heads - cause.other) % count)
            misfit = float(sums.worst.mean() if cause.moves_rows else sums.worst[head])
            yield head, _Explanation(cause._replace(does=does), misfit, float(ratio[head]))

    def _note(self, call: Call, rows: Rows, places: Any) -> None:
        """Note what a batch of calls is like beside its output."""
        sequences, _, queries, keys = Formula(call, 1.0).scores
        self.sequences += sequences
        if call.scale is not None:
            self.given.append((call.scale, self.intended_scale(keys)))
        self.tokens.add(queries)
        self.keys, self.unit = max(self.keys, keys), max(self.unit, unit_of(call))
        if queries > 1 or keys == 1 or call.causal or not self.masks:
            self.masks[described(call)] = None
        self.wrong_mask = self.wrong_mask or wrong_mask(call, self.meant, places)
        self._note_rows_without_keys(call, rows, places)
        self._note_sizes(call, rows)
        self.has_unit_lengths = self.has_unit_lengths and all(
            np.all(np.abs(np.linalg.norm(to_numpy(array), axis=-1) - 1) < _SAME_LENGTH)
            for array in (call.query, call.key)
        )
        # Rows that see a single key have weight 1 whatever is computed, and say nothing of scores.
        several = rows.keys > 1
        counts = np.maximum(several.sum(axis=(1, 2)), 1)
        values = [rows.variance, rows.entropy / np.log(np.maximum(rows.keys, 2)), rows.largest]
        means = [np.where(several, value, 0).sum(axis=(1, 2)) / counts for value in values]
        self.per_sequence.append(np.stack(means)[:, several.any(axis=(1, 2))])

    def _note_rows_without_keys(self, call: Call, rows: Rows, places: Any) -> None:
        """Note what stands in rows that see no key: zeros are right, or the mean of all values in padding."""
        blind = rows.keys == 0
        self.blind += int(blind.sum())
        if call.output is None or not blind.any():
            return
        lost, number = blind & ~rows.written, blind & rows.written & (rows.size > 0)
        if number.any() and call.query.shape[2] == call.key.shape[2]:
            open_call = replace(call, mask=None, bias=None, causal=False)
            is_mean = compare(Formula(open_call, 0.0)).is_good
            hidden: Any = Formula(call, 1.0).hidden_and_bias()[0]
            number &= ~(hidden.all(axis=2) & is_mean)
        for what, odd in (("NaN or infinities", lost), ("numbers other than 0", number)):
            if odd.any():
                sequence, _, row = (int(place[0]) for place in np.nonzero(odd))
                self.odd_rows.setdefault(what, [0, int(places[sequence]), row])[0] += int(odd.sum())

    def _note_sizes(self, call: Call, rows: Rows) -> None:
        """Note how near products come to overflow, and how many numbers are not finite."""
        limit = LARGEST.get(dtype_of(call), LARGEST["float64"])
        arrays = {"queries": call.query, "keys": call.key, "values": call.value, "outputs": call.output}
        sizes = {}
        for plural, array in arrays.items():
            if array is None:
                continue
            with np.errstate(all="ignore"):
                sizes[plural] = max(float(array.max()), -float(array.min()))
            if not math.isfinite(sizes[plural]):
                wrong = ~np.isfinite(to_numpy(array))
                wrong &= (rows.keys > 0)[..., None] if plural == "outputs" else True
                if wrong.any():
                    self.broken[plural] = self.broken.get(plural, 0) + int(wrong.sum())
        # No product is larger than d times the largest numbers of both.
        bound = self.d_k * sizes["queries"] * sizes["keys"] / limit
        if not bound <= NEAR:
            # Only near the limit all pairs are computed: the largest product of finite numbers.
            bare = replace(call, softcap=None, bias=None, mask=None, causal=False)
            bound = max(float(compare(Formula(bare, sign)).highest.max()) for sign in (1.0, -1.0)) / limit
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
        arrays = {name: array for name in ARRAYS.values() if (array := getattr(call, name)) is not None}
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
            shape = ((1,) * (4 - array.ndim) + array.shape)[1:]
            parts = [np.broadcast_to(getattr(call, name), (len(call.query), *shape)) for _, call in pairs]
            joined[name] = np.concatenate(parts)
    return np.concatenate([places for places, _ in pairs]), replace(first, input=None, **joined)
