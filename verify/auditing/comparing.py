"""Two recordings of the same inputs: the first layer and head where they part, and which quantity it is.

Rounding makes them differ more from layer to layer, so no fixed tolerance tells it from a fault. Masks,
scales, soft-caps and sinks are the same or not. An output is compared with its own formula, never with the
other one. Queries, keys and values differ by rounding about as much as each other, or as what came before.
"""

import datetime as dt
import math
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from verify.auditing.audit import allowed_reasons
from verify.auditing.differences import NUMBERS, SURE, Differences, RowSums
from verify.auditing.files import load
from verify.auditing.recording import Layer, Recording, check_call
from verify.errors import RecordingError
from verify.evidence.comparisons import (
    QUANTITIES,
    Agreement,
    ComparedLayer,
    ComparedPart,
    ComparisonRecord,
    share,
)
from verify.evidence.runs import Tool
from verify.executors.machine import environment
from verify.text.escapes import as_prose, one_line
from verify.version import __version__

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
        could not be compared, else 0. The factor of a head is the one statistical test, with a false-alarm
        rate of 5·10⁻⁹ each; the other limits are those of 42 architectures, in float32 and bfloat16.

    Raises:
        VerifyError: bad input; one line says what, where and how to correct it.
    """
    begun, allowed = time.perf_counter(), allowed_reasons(allow_unseen)
    given = [each if isinstance(each, Recording) else load(Path(each)) for each in (a, b)]
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
    names = [each.source if isinstance(each, Recording) else Path(each).name for each in (a, b)]
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
                f"{side}, {recording.source}: no attention call was seen; record a program that makes one"
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


def _run_through(a: Layer, b: Layer) -> tuple[Differences, list[str]]:
    """Return how the calls of a layer differ, and in words what could not be compared."""
    differences, problems, counts = Differences(), [], [0, 0]
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
    problems += [f"calls {text}, in A" for text in a.left_out]
    problems += [f"calls {text}, in B" for text in b.left_out]
    return differences, [f"{a.name}: {problem}" for problem in problems]


class _Judge:
    """Judges layer after layer: what may differ by rounding grows with what differed before.

    ``before`` is the most by which any array differed so far, and ``has_parted`` says whether one did by more
    than rounding: what comes after that follows.
    """

    def __init__(self, *, output_may_be_unseen: bool) -> None:
        self.before, self.has_parted = 0.0, False
        self._output_may_be_unseen = output_may_be_unseen

    def parts(self, layer: Differences) -> list[ComparedPart]:
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
    name: str, layer: Differences, what: str, size: float, limit: float, *, follows: bool
) -> ComparedPart:
    """Return what is said of an array that differs by ``size``, and may by ``limit``."""
    rows = layer.arrays.get(name, RowSums())
    whole, single = not size <= limit, not rows.farthest <= _ROW * limit
    heads: tuple[int, ...] = ()
    outcome = Agreement.SAME
    if whole or single:
        outcome = Agreement.FOLLOWS if follows else Agreement.DIFFERS
        if rows.worst and name != "x":
            by_head = np.flatnonzero(~(rows.relative(axis=()) <= limit)).tolist()
            heads = tuple(by_head or sorted({row.head for row in rows.worst}))
        if size == math.inf:
            what = f"{what}: numbers are not finite in one recording alone"
        elif not whole:
            what = f"{what} in a few rows, the worst by {share(rows.farthest)}"
    elif np.any(rows.lost_in_both):
        outcome, what = Agreement.UNKNOWN, "some rows are not finite in both recordings"
    elif size > layer.unit**_MOST:
        outcome, what = Agreement.UNKNOWN, "differs by more than can be told from a fault"
    return ComparedPart(
        name=name,
        outcome=outcome,
        size=_finite(size),
        allowed=limit if whole or outcome is Agreement.SAME else None,
        heads=heads,
        what=what if outcome in (Agreement.DIFFERS, Agreement.UNKNOWN) else "",
        rows=tuple(rows.worst) if outcome is Agreement.DIFFERS else (),
    )


def _factor(part: ComparedPart, layer: Differences, least: float) -> ComparedPart:
    """Return a part that says so where heads are multiples of their counterparts."""
    rows = layer.arrays[part.name]
    factor, error, explained = rows.factors()
    smallest = _SHARE * max(least, 2 * _ROUNDINGS * layer.unit)
    is_far = (np.abs(factor) > SURE * error) & (np.abs(factor) > smallest)
    differs = part.outcome is Agreement.DIFFERS
    heads = part.heads or tuple(np.flatnonzero(is_far).tolist())
    if not heads or (differs and not all(is_far[head] and explained[head] > 0.99 for head in heads)):
        return part
    ends = sorted({f"{1 + factor[head]:.4g}" for head in heads}, key=float)
    by = ends[0] if len(ends) == 1 else f"{ends[0]} to {ends[-1]}"
    changes: dict[str, Any] = {
        "outcome": Agreement.DIFFERS,
        "heads": heads,
        "what": f"{QUANTITIES[part.name]} of B are {by} times those of A",
        "allowed": part.allowed if differs else None,
        "rows": tuple(rows.worst),
    }
    return part.model_copy(update=changes)


def _exact(layer: Differences) -> Iterator[ComparedPart]:
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
    for name in NUMBERS:
        if name in layer.numbers:
            size, heads, what = layer.numbers[name]
            outcome = Agreement.DIFFERS if what else Agreement.SAME
            yield ComparedPart(name=name, outcome=outcome, size=_finite(size), heads=heads, what=what)


def _output(layer: Differences, size: float, limit: float) -> ComparedPart:
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
