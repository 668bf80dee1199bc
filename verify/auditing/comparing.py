"""Two recordings of the same inputs: the first layer and head where they part, and which quantity it is.

Rounding makes them differ more from layer to layer, so no fixed tolerance tells it from a fault. Masks,
scales, soft-caps and sinks are the same or not. An output is compared with its own formula, never with the
other output. Queries, keys and values differ by rounding about as much as each
other, or as the layers before.
"""

from __future__ import annotations

import datetime as dt
import math
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from verify.auditing.arrays import dtype_of, in_memory, to_numpy, unit_of
from verify.auditing.audit import allowed_reasons
from verify.auditing.files import load
from verify.auditing.formula import (
    FACTOR,
    HIDDEN,
    SCALE,
    Flags,
    Floats,
    Formula,
    compare,
    hidden_and_bias,
    pool,
    pooled,
)
from verify.auditing.recording import ARRAYS, Call, Layer, Recording, check_call
from verify.errors import RecordingError
from verify.evidence.comparisons import (
    QUANTITIES,
    Agreement,
    ComparedLayer,
    ComparedPart,
    ComparisonRecord,
    DifferingRow,
    share,
)
from verify.evidence.runs import Tool
from verify.executors.machine import environment
from verify.text.escapes import as_prose, one_line
from verify.version import __version__

_COMPARED = ("x", "q", "k", "v", "out")  # arrays with rows, by their names in a comparison
_NUMBERS = ("scale", "softcap", "sink")  # what a call is given beside arrays with rows
_SINGLE = 2.0**-22  # numbers are the same up to the rounding of single precision
_SURE = 8.0  # standard errors of a pooled number from which on it is no rounding
_FEWEST_ROWS = 32  # of a head, from which on the factor between two arrays is estimated
_EXAMPLES, _PIECE = 3, 1 << 20
_LARGEST = 1e150  # beyond it squares are out of range: such numbers count as not finite
_OFF = 0.01  # pooled slope of an output from which on it is not that of its own formula
_POOLED = {
    SCALE: "outputs fit a scale other than the declared scale",
    FACTOR: "outputs are {:.4g} times the formula’s",
    HIDDEN: "hidden keys have weight",
}
_ALIKE = 2.0  # honest queries, keys and values of a layer differ within 1.2 times of each other
_ROUNDINGS = 2.0  # units of rounding by which honest arrays differ where nothing before them does
_GROWTH = 8.0  # by how much more the input of a layer may differ than anything before it
_ROW = 10.0  # how much farther apart than all rows together a single row may be
_SHARE = 0.25  # of what rounding leaves, from which on a factor counts
_MOST = 0.25
"""The power of a unit of rounding beyond which a difference is never called rounding: 1.6% in float32."""


def compare_recordings(
    a: Recording | Path | str, b: Recording | Path | str, *, allow_unseen: Iterable[str] = ()
) -> ComparisonRecord:
    """Compare two recordings of the same inputs: eager and fused, two libraries, before and after a change.

    Layers are matched by name, or all in their order where no name is in both; calls in their order. Record
    with ``inputs=True`` to tell what a layer is given from what it makes of it. ``allow_unseen`` are reasons
    for which something may be left out: ``calls``, ``output`` or ``unrecorded``, as in `verify.audit`.

    Returns:
        The record of the comparison. Its ``exit_status`` is 1 if something differs, else 3 if something
        could not be compared, else 0. The factor of a head is the only statistical test, with a false-alarm
        rate of 5·10⁻⁹ each; the other limits are those of 42 architectures, in float32 and bfloat16.

    Raises:
        VerifyError: bad input; one line says what, where and how to correct it.
    """
    begun, allowed = time.perf_counter(), allowed_reasons(allow_unseen)
    given = [source if isinstance(source, Recording) else load(Path(source)) for source in (a, b)]
    left_out = [
        ("unrecorded", f"in {side}: {text}")
        for side, recording in zip("AB", given, strict=True)
        for text in recording.left_out
    ]
    pairs, problems = _matched(*given)
    left_out += [("calls", problem) for problem in problems]
    judge = _Judge(output_may_be_unseen="output" in allowed)
    layers: list[ComparedLayer] = []
    with threadpool_limits(limits=1, user_api="blas"):
        for first, second in pairs:
            differences, problems = _run_through(first, second)
            left_out += [("calls", problem) for problem in problems]
            if differences.calls:
                layers.append(
                    ComparedLayer(
                        id=f"layer-{len(layers) + 1}",
                        name=one_line(first.name),
                        other=one_line(second.name) if second.name != first.name else "",
                        heads=differences.heads[0],
                        key_heads=differences.heads[1],
                        calls=differences.calls,
                        rows=differences.rows,
                        padding=differences.padding,
                        dtype=differences.dtype,
                        parts=tuple(judge.parts(differences)),
                    )
                )
    names = [source.source if isinstance(source, Recording) else Path(source).name for source in (a, b)]
    return ComparisonRecord(
        tool=Tool(version=__version__),
        a=one_line(names[0]),
        b=one_line(names[1]),
        allow_unseen=allowed,
        layers=tuple(layers),
        left_out=tuple(as_prose(one_line(text)) for _, text in left_out),
        unseen=tuple(sorted({reason for reason, _ in left_out} - set(allowed))),
        environment=environment(1, ("numpy",)),
        created=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        elapsed_s=round(time.perf_counter() - begun, 3),
    ).sealed()


def _matched(a: Recording, b: Recording) -> tuple[list[tuple[Layer, Layer]], list[str]]:
    """Return the layers of both recordings, and in words what has no counterpart."""
    by_name: list[dict[str, Layer]] = []
    for side, recording in (("A", a), ("B", b)):
        if not recording.layers:
            raise RecordingError(
                f"{side}, {recording.source}: no attention call was recorded; "
                "record a program that calls attention"
            )
        for name, count in Counter(layer.name for layer in recording.layers).items():
            if count > 1:
                raise RecordingError(f"{side}, layer {name}: is the name of two layers; give each its own")
        by_name.append({layer.name: layer for layer in recording.layers})
    first, second = by_name
    if first.keys().isdisjoint(second):
        if len(first) == len(second):
            return list(zip(a.layers, b.layers, strict=True)), []
        examples = f"no layer of A, such as {next(iter(first))}, is in B, such as {next(iter(second))}"
        return [], [f"{examples}, and their numbers differ"]
    alone = [f"{name} is in A only" for name in first if name not in second]
    alone += [f"{name} is in B only" for name in second if name not in first]
    return [(layer, second[name]) for name, layer in first.items() if name in second], alone


def _run_through(a: Layer, b: Layer) -> tuple[_Differences, list[str]]:
    """Return how the calls of a layer differ, and in words what could not be compared."""
    differences, problems, counts = _Differences(), [], [0, 0]
    for number, pair in enumerate(zip_longest(a.calls, b.calls)):
        counts = [count + (call is not None) for count, call in zip(counts, pair, strict=True)]
        if None in pair:
            continue
        for side, layer, call in zip("AB", (a, b), pair, strict=True):
            check_call(call, f"{side}, layer {layer.name}")
        if problem := differences.add(*pair):
            problems.append(f"call {number} {problem}")
    if counts[0] != counts[1]:
        problems.append(f"has {counts[0]} calls in A and {counts[1]} in B")
    if len(problems) > 1:
        problems[1:] = [f"{len(problems) - 1} more of its calls"]
    problems += [f"{name} is {why}" for name, why in differences.missing.items()]
    return differences, [f"{a.name}: {problem}" for problem in problems]


class _Rows:
    """Rows of an array in both recordings: sums by head, and those that are farthest apart; e = b − a.

    ``sums`` are by head the `moments` Σa·e, Σ|a|², Σ(a·e)², Σ(a·e)|a|² and Σ|a|⁴, then Σ|e|², Σ|a|² + Σ|b|²,
    the number of rows, and of those that are not finite in one recording alone.
    """

    def __init__(self) -> None:
        self.sums: Any = np.zeros((9, 1))
        self.lost_in_both = 0
        self.worst: list[DifferingRow] = []

    def add(self, a: Floats, b: Floats, use: Flags, call: int) -> None:
        """Add the rows, shape [sequence, head, row, d], for which ``use`` is True."""
        finite = [(np.abs(array) < _LARGEST).all(axis=-1) for array in (a, b)]
        good, lost = use & finite[0] & finite[1], use & (finite[0] != finite[1])
        a, b = (np.where(good[..., None], array, 0.0) for array in (a, b))
        error, of_a, of_b, along = (np.vecdot(*pair) for pair in ((b - a, b - a), (a, a), (b, b), (a, b - a)))
        squares = along**2, along * of_a, of_a**2
        added = np.stack([along, of_a, *squares, error, of_a + of_b, good, lost])
        self.sums = self.sums + added.sum(axis=(1, 3))
        self.lost_in_both += int((use & ~finite[0] & ~finite[1]).sum())
        size = np.maximum(of_a, of_b)
        usual = size.sum() / max(int(good.sum()), 1)
        far = np.sqrt(np.divide(error, np.maximum(size, usual), out=np.zeros_like(error), where=error > 0))
        self.note(np.where(lost, math.inf, far), call)

    def note(self, far: Floats, call: int, key: Any = None) -> None:
        """Keep the rows that are farthest apart, [sequence, head, row], each with its ``key`` if any."""
        for place in np.argsort(-far, axis=None, kind="stable")[:_EXAMPLES]:
            at = tuple(int(index) for index in np.unravel_index(place, far.shape))
            if far[at] > 0:
                named = dict(zip(("sequence", "head", "row"), at, strict=True))
                extra = None if key is None else int(key[at])
                self.worst.append(DifferingRow(size=_finite(float(far[at])), call=call, key=extra, **named))
        self.worst.sort(key=lambda row: -math.inf if row.size is None else -row.size)
        del self.worst[_EXAMPLES:]

    @property
    def farthest(self) -> float:
        """How far apart the worst row is."""
        size = self.worst[0].size if self.worst else 0.0
        return math.inf if size is None else size

    def relative(self, axis: Any = None) -> Any:
        """Return the root mean square of e over that of the rows, of all heads or by head (``axis`` = ())."""
        error, size, lost = (np.sum(self.sums[place], axis=axis) for place in (5, 6, 8))
        ratio = np.sqrt(np.divide(2 * error, size, out=np.zeros_like(size), where=size > 0))
        return np.where(lost > 0, math.inf, ratio)

    def factors(self) -> tuple[Floats, Floats, Floats]:
        """Return f for each head, where b is a·(1 + f), its standard error, and its share of the differences.

        The error is infinite for fewer than 32 rows.
        """
        factor, error = pooled(self.sums[:5])
        left, whole = factor * self.sums[0], self.sums[5]
        explained = np.divide(left, whole, out=np.zeros_like(factor), where=whole > 0)
        return factor, np.where(self.sums[7] >= _FEWEST_ROWS, error, math.inf), explained


class _OwnFormula:
    """How outputs of a recording differ from their own formula: rows by head, and what all rows show."""

    def __init__(self) -> None:
        self.off: Any = 0
        self.rows, self.is_whole = 0, True
        self.pooled: set[str] = set()
        self.worst = _Rows()

    def add(self, call: Call, number: int) -> None:
        """Compare every row of a call's output with the attention that the call declares."""
        if call.value is None or call.output is None:
            self.is_whole = False
            return
        rows = compare(Formula(call, _scale_of(call)))
        self.rows += int(rows.is_compared.sum())
        self.off = self.off + rows.is_off.sum(axis=(0, 2))
        self.worst.note(np.where(rows.is_off, np.where(rows.written, rows.ratio, math.inf), 0.0), number)
        for direction, text in _POOLED.items():
            multiple, error = pool(rows, direction, rows.is_good)
            far = np.abs(multiple) if direction != HIDDEN else multiple
            if (off := far > np.maximum(_OFF, _SURE * error)).any():
                self.pooled.add(text.format(1 + multiple[off][0]))


class _Number(NamedTuple):
    """How far a number differs, in which heads, and, where it does, what A and B have."""

    size: float = 0.0
    heads: tuple[int, ...] = ()
    what: str = ""


class _Differences:
    """How far the calls of one layer in two recordings differ.

    ``missing`` says of arrays why they were not compared. ``only`` counts the keys that rows see in A alone
    and in B alone, of all ``keys``; ``bias`` is the largest difference of what is added to scores, and the
    largest of these.
    """

    def __init__(self) -> None:
        self.arrays: dict[str, _Rows] = {}
        self.own = _OwnFormula(), _OwnFormula()
        self.mask, self.only, self.mask_heads = _Rows(), np.zeros(2), np.zeros(1)
        self.bias = 0.0, 0.0
        self.numbers: dict[str, _Number] = {}
        self.missing: dict[str, str] = {}
        self.dtype, self.unit, self.heads = "", 0.0, (0, 0)
        self.rows = self.padding = self.keys = self.calls = 0

    def add(self, a: Call, b: Call) -> str:
        """Add a call of each recording, or return in words why they cannot be compared."""
        a, b = in_memory(a), in_memory(b)
        heads = int(a.query.shape[1]), max(int(call.key.shape[1]) for call in (a, b))
        if problem := next(_unlike(a, b), ""):
            return problem
        if self.calls and heads != self.heads:
            return f"has {heads[0]} heads, and {heads[1]} of keys, unlike the calls before"
        number, self.calls, self.heads, self.dtype = self.calls, self.calls + 1, heads, dtype_of(a)
        self.unit = max(self.unit, unit_of(a), unit_of(b))
        used_rows, used_keys = self._add_masks(a, b, number)
        self.rows += heads[0] * int(used_rows.sum())
        self.padding += heads[0] * int((~used_rows).sum())
        for name in _COMPARED:
            pair = [array for call in (a, b) if (array := getattr(call, ARRAYS[name])) is not None]
            if len(pair) == 1 or (name == "x" and len({array.shape for array in pair}) == 2):
                self.missing[name] = "in one recording only" if len(pair) == 1 else "of two shapes"
            elif pair:
                use = used_keys if name in ("k", "v") else used_rows
                self._add_array(name, [to_numpy(array) for array in pair], use, number)
        for name in _NUMBERS:
            self._add_number(name, *(_scale_of(c) if name == "scale" else getattr(c, name) for c in (a, b)))
        for own, call in zip(self.own, (a, b), strict=True):
            own.add(call, number)
        return ""

    def _add_array(self, name: str, pair: list[Floats], use: Flags, call: int) -> None:
        if name == "x":  # the input of a module has one head
            pair = [x.reshape(len(x) if x.ndim > 2 else 1, 1, -1, x.shape[-1]) for x in pair]
        most = max(array.shape[1] for array in pair)
        first, second = (np.repeat(array, most // array.shape[1], axis=1) for array in pair)
        use = use if use.shape == first.shape[:3:2] else np.ones(first.shape[:3:2], dtype=bool)
        rows = self.arrays.setdefault(name, _Rows())
        rows.add(first, second, np.repeat(use[:, None], most, axis=1), call)

    def _add_number(self, name: str, a: Any, b: Any) -> None:
        if (a is None and b is None) or self.numbers.get(name, _Number()).what:
            return
        self.numbers[name], far = _Number(), np.ones(1)
        if a is not None and b is not None:
            first, second = np.broadcast_arrays(*(np.ravel(to_numpy(np.asarray(n))) for n in (a, b)))
            size = np.maximum(np.abs(first), np.abs(second))
            far = np.divide(np.abs(first - second), size, out=np.zeros_like(size), where=first != second)
        if not float(far.max()) <= _SINGLE:
            head = int(far.argmax())
            texts = ["none" if n is None else f"{np.ravel(n)[head]:.6g}" for n in (a, b)]
            since = f", from call {self.calls - 1} on" if self.calls > 1 else ""
            heads = tuple(np.flatnonzero(~(far <= _SINGLE)).tolist()) if len(far) > 1 else ()
            self.numbers[name] = _Number(float(far.max()), heads, f"{texts[0]} in A, {texts[1]} in B{since}")

    def _add_masks(self, a: Call, b: Call, number: int) -> tuple[Flags, Flags]:
        """Add what rows see; return which rows are no padding in both, and which keys are seen in either."""
        sequences, heads, queries, keys = Formula(a, 1.0).scores
        used_keys = np.zeros((sequences, keys), dtype=bool)
        only, first = np.zeros((2, sequences, heads, queries)), np.zeros((sequences, heads, queries), np.intp)
        strip = max(1, _PIECE // (sequences * heads * keys))
        for start in range(0, queries, strip):
            rows = slice(start, min(start + strip, queries))
            cuts = slice(0, sequences), slice(0, heads), rows
            parts = [hidden_and_bias(Formula(call, 1.0), *cuts, keys) for call in (a, b)]
            whole = (sequences, heads, rows.stop - start, keys)
            shown = [np.broadcast_to(True if hidden is None else ~hidden, whole) for hidden, _ in parts]
            used_keys |= (shown[0] | shown[1]).any(axis=(1, 2))
            apart = shown[0] != shown[1]
            first[..., rows] = apart.argmax(axis=-1)
            only[..., rows] = np.stack([(apart & side).sum(axis=-1) for side in shown])
            both = shown[0] & shown[1]
            first_bias, second_bias = (
                np.zeros(1) if bias is None else np.where(both, bias, 0.0) for _, bias in parts
            )
            apart_by = np.abs(first_bias - second_bias)
            largest = max(float(np.abs(bias).max()) for bias in (first_bias, second_bias))
            self.bias = max(self.bias[0], float(apart_by.max())), max(self.bias[1], largest)
        # Where queries and keys are of the same tokens, a row is padding if no row sees its key.
        used_rows = used_keys if queries == keys else np.ones((sequences, queries), dtype=bool)
        only *= used_rows[:, None]
        self.only = self.only + only.sum(axis=(1, 2, 3))
        self.mask_heads = self.mask_heads + only.sum(axis=(0, 1, 3))
        self.keys += math.prod((sequences, heads, queries, keys))
        self.mask.note(np.where(only.sum(axis=0) > 0, 1.0, 0.0), number, first)
        return used_rows, used_keys


def _scale_of(call: Call) -> float:
    """Return the scale that a call was given, 1/√d where it was given none."""
    return int(call.query.shape[3]) ** -0.5 if call.scale is None else call.scale


def _unlike(a: Call, b: Call) -> Iterator[str]:
    """Yield why two calls cannot be compared."""
    for name in ("q", "k", "v", "out"):
        shapes = [list(x.shape) for call in (a, b) if (x := getattr(call, ARRAYS[name])) is not None]
        if len(shapes) == 2:
            (s, h, *rest), (s_b, h_b, *rest_b) = shapes
            grouped = name in ("k", "v") and max(h, h_b) % min(h, h_b) == 0
            if (s, rest) != (s_b, rest_b) or (h != h_b and not grouped):
                yield f"{name} has shape {shapes[0]} in A and {shapes[1]} in B"
    types = [dtype_of(call) for call in (a, b)]
    if types[0] != types[1]:
        yield f"is computed in {types[0]} in A and in {types[1]} in B"


class _Judge:
    """Judges layer after layer: what may differ by rounding grows with what differed before.

    ``before`` is the most by which any array differed so far, and ``has_parted`` says whether an array did by
    more than rounding: later differences follow from that.
    """

    def __init__(self, *, output_may_be_unseen: bool) -> None:
        self.before, self.has_parted = 0.0, False
        self._output_may_be_unseen = output_may_be_unseen

    def parts(self, layer: _Differences) -> list[ComparedPart]:
        """Return what is said of each quantity of a layer, in its order."""
        sizes = {name: float(rows.relative()) for name, rows in layer.arrays.items()}
        floor = max(self.before, _ROUNDINGS * layer.unit)
        least = min(sizes[name] for name in ("q", "k", "v") if name in sizes)
        arriving, follows = sizes.get("x", least), self.has_parted
        parts: list[ComparedPart] = []
        if "x" in sizes or arriving > _GROWTH * floor:
            what = "what the layer is given differs"
            if "x" not in sizes:
                what = f"queries, keys and values all differ, so {what}; record with inputs to be sure"
            parts.append(_array("x", layer, what, arriving, _GROWTH * floor, follows=follows))
            follows |= parts[0].outcome is Agreement.DIFFERS
        # Beside what parted before, what a layer is given says nothing of rounding.
        limit = _ALIKE * max(floor, 0.0 if follows else min(least, _GROWTH * max(arriving, floor)))
        for name in [name for name in ("q", "k", "v") if name in sizes]:
            part = _array(name, layer, f"{QUANTITIES[name]} differ", sizes[name], limit, follows=follows)
            parts.append(part if follows else _factor(part, layer, least))
        parts += _exact(layer)
        if all(own.is_whole for own in layer.own) or not self._output_may_be_unseen:
            parts.append(_output(layer, sizes.get("out", math.inf), limit))
        if any(part.outcome is Agreement.DIFFERS for part in parts):
            self.has_parted = True
        elif not self.has_parted:
            self.before = max(self.before, *sizes.values())
        return parts


def _finite(size: float) -> float | None:
    return size if math.isfinite(size) else None


def _array(
    name: str, layer: _Differences, what: str, size: float, limit: float, *, follows: bool
) -> ComparedPart:
    """Return what is said of an array that differs by ``size``, and may by ``limit``."""
    rows = layer.arrays.get(name, _Rows())
    whole, single = not size <= limit, not rows.farthest <= _ROW * limit
    heads: tuple[int, ...] = ()
    outcome = Agreement.SAME
    if whole or single:
        outcome = Agreement.FOLLOWS if follows else Agreement.DIFFERS
        if rows.worst and name != "x":
            by_head = np.flatnonzero(~(rows.relative(axis=()) <= limit)).tolist()
            heads = tuple(by_head or sorted({row.head for row in rows.worst}))
        if size == math.inf:
            what = f"{what}: numbers are not finite in one of the recordings"
        elif not whole:
            what = f"{what} in a few rows, the worst by {share(rows.farthest)}"
    elif rows.lost_in_both:
        outcome, what = Agreement.UNKNOWN, "there are rows that are finite in neither recording"
    elif size > layer.unit**_MOST:
        outcome, what = Agreement.UNKNOWN, "differs by too much to rule out a fault"
    return ComparedPart(
        name=name,
        outcome=outcome,
        size=_finite(size),
        allowed=limit if whole or outcome is Agreement.SAME else None,
        heads=heads,
        what=what if outcome in (Agreement.DIFFERS, Agreement.UNKNOWN) else "",
        rows=tuple(rows.worst) if outcome is Agreement.DIFFERS else (),
    )


def _factor(part: ComparedPart, layer: _Differences, least: float) -> ComparedPart:
    """Return a part that says so where heads are multiples of their counterparts."""
    rows = layer.arrays[part.name]
    factor, error, explained = rows.factors()
    smallest = _SHARE * max(least, 2 * _ROUNDINGS * layer.unit)
    is_far = (np.abs(factor) > _SURE * error) & (np.abs(factor) > smallest)
    differs = part.outcome is Agreement.DIFFERS
    heads = part.heads or tuple(np.flatnonzero(is_far).tolist())
    if not heads or (differs and not all(is_far[head] and explained[head] > 0.99 for head in heads)):
        return part
    # Two digits of what is beside 1, four at least.
    digits = max(4, *(2 + math.ceil(-math.log10(abs(factor[head]))) for head in heads))
    ends = sorted({f"{1 + factor[head]:.{digits}g}" for head in heads}, key=float)
    by = ends[0] if len(ends) == 1 else f"{ends[0]} to {ends[-1]}"
    changes: dict[str, Any] = {
        "outcome": Agreement.DIFFERS,
        "heads": heads,
        "what": f"{QUANTITIES[part.name]} of B are {by} times those of A",
        "allowed": part.allowed if differs else None,
        "rows": tuple(rows.worst),
    }
    return part.model_copy(update=changes)


def _exact(layer: _Differences) -> Iterator[ComparedPart]:
    """Yield what is said of masks, of what is added to scores, and of numbers."""
    texts = [
        f"{side} sees {int(number):,} keys that {other} hides"
        for number, side, other in zip(layer.only, "AB", "BA", strict=True)
        if number
    ]
    yield ComparedPart(
        name="mask",
        outcome=Agreement.DIFFERS if texts else Agreement.SAME,
        size=float(sum(layer.only)) / layer.keys,
        heads=tuple(np.flatnonzero(layer.mask_heads).tolist()),
        what=" and ".join(texts),
        rows=tuple(layer.mask.worst),
    )
    apart, largest = layer.bias
    if largest or not apart <= 0:
        size, limit = (apart / largest if largest else math.inf), 2 * _ROUNDINGS * layer.unit
        yield ComparedPart(
            name="bias",
            outcome=Agreement.SAME if size <= limit else Agreement.DIFFERS,
            size=_finite(size),
            allowed=limit,
            what="" if size <= limit else "what is added to scores differs",
        )
    for name, number in layer.numbers.items():
        outcome = Agreement.DIFFERS if number.what else Agreement.SAME
        yield ComparedPart(
            name=name, outcome=outcome, size=_finite(number.size), heads=number.heads, what=number.what
        )


def _output(layer: _Differences, size: float, limit: float) -> ComparedPart:
    """Return what is said of outputs: each is compared with its own formula, never with the other."""
    known: dict[str, Any] = {"name": "out", "size": _finite(size)}
    if not all(own.is_whole for own in layer.own):
        return ComparedPart(**known, outcome=Agreement.UNKNOWN, what="values or outputs were not recorded")
    wrong = [bool(np.any(own.off)) or bool(own.pooled) for own in layer.own]
    if wrong[0] == wrong[1]:
        if wrong[0] and not size <= limit:
            what = "neither output is that of its own formula, so they cannot be compared"
            return ComparedPart(**known, outcome=Agreement.UNKNOWN, what=what)
        return ComparedPart(**known, outcome=Agreement.SAME)
    place = wrong.index(True)
    own, count = layer.own[place], int(np.sum(layer.own[place].off))
    texts = [f"{count:,} of {own.rows:,} rows are not the attention of their own q, k and v"] if count else []
    known["what"] = f"in {'AB'[place]} {'; '.join((*texts, *sorted(own.pooled)))}; in {'BA'[place]} all are"
    known["heads"] = tuple(np.flatnonzero(own.off).tolist()) if count else ()
    return ComparedPart(**known, outcome=Agreement.DIFFERS, rows=tuple(own.worst.worst))
