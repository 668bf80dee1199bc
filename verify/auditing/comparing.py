"""Two recordings of the same inputs: the first layer and head where they part, and which quantity it is.

Rounding makes them differ more from layer to layer, so no fixed tolerance tells it from a fault. Masks,
scales, soft-caps and sinks are the same or not. An output is compared with its own formula, never against the
other one. Queries, keys and values differ by rounding about as much as each other, or as what came before.
"""

import datetime as dt
import math
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from verify.auditing.differences import NUMBERS, SURE, Differences, RowSums
from verify.auditing.files import load
from verify.auditing.formula import Mapper
from verify.auditing.recording import Layer, Recording, check_call
from verify.errors import RecordingError, SettingsError, unknown
from verify.evidence.audits import UNSEEN
from verify.evidence.comparisons import (
    QUANTITIES,
    Agreement,
    ComparedLayer,
    ComparedPart,
    ComparisonRecord,
    share,
)
from verify.evidence.runs import Tool
from verify.executors.machine import environment, processors, thread_map
from verify.text.escapes import as_prose, one_line
from verify.version import __version__

_ALIKE = 2.0  # honest queries, keys and values of a layer differ within 1.2 times of each other
_ROUNDINGS = 2.0  # units of rounding by which honest arrays differ where nothing before them does
_GROWTH = 8.0  # by how much more the input of a layer may differ than anything before it
_ROW = 10.0  # how much farther apart than all rows together a single row may be
_SHARE = 0.25  # of what rounding leaves, from which on a factor counts
_MOST = 0.25
"""The power of a unit of rounding beyond which a difference is never called rounding: 1.6% in float32."""
_PACKAGES = ("numpy", "array-api-compat")


def compare_recordings(
    a: Recording | Path | str,
    b: Recording | Path | str,
    *,
    allow_unseen: Iterable[str] = (),
    workers: int | None = None,
) -> ComparisonRecord:
    """Compare two recordings of the same inputs: eager and fused, two libraries, before and after a change.

    Layers are matched by name, or all in their order where no name is in both; calls in their order. Record
    with ``inputs=True`` to tell what a layer is given from what it makes of it. ``allow_unseen`` are reasons
    for which something may be left out: ``calls``, ``output`` or ``unrecorded``, as in `verify.audit`.
    ``workers`` None means one for each processor and changes no result.

    Returns:
        The record of the comparison. Its ``exit_status`` is 1 if something differs, else 3 if something
        could not be compared, else 0. The factor of a head is the one statistical test, with a false-alarm
        rate of 5·10⁻⁹ each; the other limits are those of 42 architectures, in float32 and bfloat16.

    Raises:
        VerifyError: bad input; one line says what, where and how to correct it.
    """
    allowed = (allow_unseen,) if isinstance(allow_unseen, str) else tuple(allow_unseen)
    for reason in allowed:
        if reason not in UNSEEN:
            raise SettingsError(
                "allow-unseen: " + unknown("reason", reason, UNSEEN, f"there are {', '.join(UNSEEN)}")
            )
    one, other = (given if isinstance(given, Recording) else load(Path(given)) for given in (a, b))
    begun, threads = time.perf_counter(), processors(workers)
    left_out = [
        ("unrecorded", f"in {side}: {text}")
        for side, given in (("A", one), ("B", other))
        for text in given.left_out
    ]
    pairs, problems = _matched(one, other)
    left_out += problems
    judge = _Judge(output_may_be_unseen="output" in allowed)
    layers: list[ComparedLayer] = []
    with threadpool_limits(limits=1, user_api="blas"), thread_map(threads) as mapper:
        for first, second in pairs:
            found, problems = _run_through(first, second, mapper)
            left_out += problems
            if found.calls:
                layers.append(
                    ComparedLayer(
                        id=f"layer-{len(layers) + 1}",
                        name=one_line(first.name),
                        other=one_line(second.name) if second.name != first.name else "",
                        heads=found.heads[0],
                        key_heads=found.heads[1],
                        calls=found.calls,
                        rows=found.rows,
                        padding=found.padding,
                        dtype=found.dtype,
                        parts=tuple(judge.parts(found)),
                    )
                )
    return ComparisonRecord(
        tool=Tool(version=__version__),
        a=one_line(one.source if isinstance(a, Recording) else Path(a).name),
        b=one_line(other.source if isinstance(b, Recording) else Path(b).name),
        allow_unseen=allowed,
        layers=tuple(layers),
        left_out=tuple(as_prose(one_line(text)) for _, text in left_out),
        unseen=tuple(sorted({reason for reason, _ in left_out} - set(allowed))),
        factors=judge.factors,
        environment=environment(threads, _PACKAGES),
        created=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        elapsed_s=round(time.perf_counter() - begun, 3),
    ).sealed()


def _matched(a: Recording, b: Recording) -> tuple[list[tuple[Layer, Layer]], list[tuple[str, str]]]:
    """Return the layers of both recordings, and in words what has no counterpart."""
    for side, one in (("A", a), ("B", b)):
        if not one.layers:
            raise RecordingError(
                f"{side}, {one.source}: no attention call was seen; record a program that makes one"
            )
        for name, count in Counter(layer.name for layer in one.layers).items():
            if count > 1:
                raise RecordingError(f"{side}, layer {name}: is the name of two layers; give each its own")
    names = [[layer.name for layer in one.layers] for one in (a, b)]
    if not set(names[0]) & set(names[1]):
        if len(names[0]) == len(names[1]):
            return list(zip(a.layers, b.layers, strict=True)), []
        text = (
            f"no layer of A, such as {names[0][0]}, is in B, such as {names[1][0]}, and their numbers differ"
        )
        return [], [("calls", text)]
    others = {layer.name: layer for layer in b.layers}
    pairs = [(layer, others[layer.name]) for layer in a.layers if layer.name in others]
    alone = [
        (name, side)
        for side, own, its in (("A", *names), ("B", *names[::-1]))
        for name in own
        if name not in its
    ]
    return pairs, [("calls", f"{name} is in {side} only") for name, side in alone]


def _run_through(a: Layer, b: Layer, mapper: Mapper) -> tuple[Differences, list[tuple[str, str]]]:
    """Return how the calls of a layer differ, and in words what could not be compared."""
    found, problems, counts = Differences(), [], [0, 0]
    for one, other in zip_longest(a.calls, b.calls):
        counts = [count + (call is not None) for count, call in zip(counts, (one, other), strict=True)]
        if one is None or other is None:
            continue
        for side, layer, call in (("A", a, one), ("B", b, other)):
            check_call(call, f"{side}, layer {layer.name}")
        if problem := found.add(one, other, mapper):
            problems.append(f"{a.name}: call {counts[0] - 1} {problem}")
    if counts[0] != counts[1]:
        problems.append(f"{a.name}: has {counts[0]} calls in A and {counts[1]} in B")
    if len(problems) > 1:
        problems[1:] = [f"{a.name}: {len(problems) - 1} more of its calls"]
    problems += [f"{a.name}: {name} is {why}" for name, why in found.missing.items()]
    problems += [
        f"{a.name}: calls {text}, in {side}" for side, one in (("A", a), ("B", b)) for text in one.left_out
    ]
    return found, [("calls", text) for text in problems]


class _Judge:
    """Judges layer after layer: what may differ by rounding grows with what differed before.

    ``before`` is the most by which any array differed so far, and ``has_parted`` says whether one did by more
    than rounding: what comes after that follows. ``factors`` counts the factors that were tested.
    """

    def __init__(self, *, output_may_be_unseen: bool) -> None:
        self.before, self.has_parted, self.factors = 0.0, False, 0
        self._output_may_be_unseen = output_may_be_unseen

    def parts(self, found: Differences) -> list[ComparedPart]:
        """Return what is said of each quantity of a layer, in its order."""
        sizes = {name: float(rows.relative()) for name, rows in found.arrays.items()}
        floor = max(self.before, _ROUNDINGS * found.unit)
        least = min(sizes[name] for name in ("q", "k", "v") if name in sizes)
        arriving = sizes.get("x", least)
        parts: list[ComparedPart] = []
        follows = self.has_parted
        if "x" in sizes or arriving > _GROWTH * floor:
            what = "what the layer is given differs"
            if "x" not in sizes:
                what = f"queries, keys and values all differ, so {what}; record with inputs to be sure"
            parts.append(self._array("x", found, what, arriving, _GROWTH * floor, follows=follows))
            follows |= parts[0].outcome is Agreement.DIFFERS
        # Beside what parted before, what a layer is given says nothing of rounding.
        limit = _ALIKE * max(floor, 0.0 if follows else min(least, _GROWTH * max(arriving, floor)))
        for name in [name for name in ("q", "k", "v") if name in sizes]:
            part = self._array(name, found, f"{QUANTITIES[name]} differ", sizes[name], limit, follows=follows)
            parts.append(part if follows else self._factor(part, found, least))
        parts += _exact(found)
        if all(own.is_whole for own in found.own) or not self._output_may_be_unseen:
            parts.append(_output(found, sizes.get("out", math.inf), limit))
        if any(part.outcome is Agreement.DIFFERS for part in parts):
            self.has_parted = True
        elif not self.has_parted:
            self.before = max(self.before, *sizes.values())
        return parts

    def _array(
        self, name: str, found: Differences, what: str, size: float, limit: float, *, follows: bool
    ) -> ComparedPart:
        """Return what is said of an array that differs by ``size``, and may by ``limit``."""
        rows = found.arrays.get(name, RowSums())
        whole, single = not size <= limit, not rows.farthest <= _ROW * limit
        heads: tuple[int, ...] = ()
        outcome = Agreement.SAME
        if whole or single:
            outcome = Agreement.FOLLOWS if follows else Agreement.DIFFERS
            if rows.sums and name != "x":
                by_head = np.flatnonzero(~(rows.relative(axis=()) <= limit)).tolist()
                heads = tuple(by_head or sorted({row.head for row in rows.worst}))
            if size == math.inf:
                what = f"{what}: numbers are not finite in one recording alone"
            elif not whole:
                what = f"{what} in a few rows, the worst by {share(rows.farthest)}"
        elif rows.sums and rows.sums["lost_in_both"].any():
            outcome, what = Agreement.UNKNOWN, "some rows are not finite in both recordings"
        elif size > found.unit**_MOST:
            outcome, what = Agreement.UNKNOWN, "differs by more than can be told from a fault"
        return ComparedPart(
            name=name,
            outcome=outcome,
            size=size if math.isfinite(size) else None,
            allowed=limit if whole or outcome is Agreement.SAME else None,
            heads=heads,
            what=what if outcome in (Agreement.DIFFERS, Agreement.UNKNOWN) else "",
            rows=tuple(rows.worst) if outcome is Agreement.DIFFERS else (),
        )

    def _factor(self, part: ComparedPart, found: Differences, least: float) -> ComparedPart:
        """Return a part that says so where heads are multiples of their counterparts."""
        rows, word = found.arrays[part.name], QUANTITIES[part.name]
        factor, error = rows.factors()
        self.factors += int(np.isfinite(error).sum())
        smallest = _SHARE * max(least, 2 * _ROUNDINGS * found.unit)
        is_far = (np.abs(factor) > SURE * error) & (np.abs(factor) > smallest)
        differs = part.outcome is Agreement.DIFFERS
        heads = part.heads or tuple(np.flatnonzero(is_far).tolist())
        if not heads or (differs and not all(is_far[head] and rows.is_factor(head) for head in heads)):
            return part
        ends = sorted({f"{1 + factor[head]:.4g}" for head in heads}, key=float)
        by = ends[0] if len(ends) == 1 else f"{ends[0]} to {ends[-1]}"
        return part.model_copy(
            update={
                "outcome": Agreement.DIFFERS,
                "heads": heads,
                "what": f"{word} of B are {by} times those of A",
                "allowed": part.allowed if differs else None,
                "rows": tuple(rows.worst),
            }
        )


def _exact(found: Differences) -> Iterator[ComparedPart]:
    """Yield what is said of masks, of what is added to scores, and of numbers."""
    texts = [
        f"{side} sees {int(number):,} keys that {other} hides"
        for number, side, other in zip(found.only, "AB", "BA", strict=True)
        if number
    ]
    yield ComparedPart(
        name="mask",
        outcome=Agreement.DIFFERS if texts else Agreement.SAME,
        size=float(sum(found.only)) / found.keys,
        heads=tuple(np.flatnonzero(found.mask_heads).tolist()),
        what=" and ".join(texts),
        rows=tuple(found.mask.worst),
    )
    apart, largest = found.bias
    if largest or not apart <= 0:
        size, limit = (apart / largest if largest else math.inf), 2 * _ROUNDINGS * found.unit
        yield ComparedPart(
            name="bias",
            outcome=Agreement.SAME if size <= limit else Agreement.DIFFERS,
            size=size if math.isfinite(size) else None,
            allowed=limit,
            what="" if size <= limit else "what is added to scores differs",
        )
    for name in NUMBERS:
        if name in found.numbers:
            far, heads, what = found.numbers[name]
            size_or_none = far if math.isfinite(far) else None
            yield ComparedPart(
                name=name, outcome=Agreement.DIFFERS, size=size_or_none, heads=heads, what=what
            )
        elif name in found.given:
            yield ComparedPart(name=name, outcome=Agreement.SAME, size=0.0)


def _output(found: Differences, size: float, limit: float) -> ComparedPart:
    """Return what is said of outputs: each is held against its own formula, never against the other."""
    known = {"name": "out", "size": size if math.isfinite(size) else None}
    if not all(own.is_whole for own in found.own):
        return ComparedPart(**known, outcome=Agreement.UNKNOWN, what="values or outputs were not recorded")
    wrong = [bool(np.any(own.off)) or bool(own.pooled) for own in found.own]
    if wrong[0] == wrong[1]:
        if wrong[0] and not size <= limit:
            what = "neither output is that of its own formula, so they cannot be compared"
            return ComparedPart(**known, outcome=Agreement.UNKNOWN, what=what)
        return ComparedPart(**known, outcome=Agreement.SAME)
    place = wrong.index(True)
    own, count = found.own[place], int(np.sum(found.own[place].off))
    texts = [f"{count:,} of {own.rows:,} rows are not the attention of their own q, k and v"] if count else []
    what = f"in {'AB'[place]} {'; '.join((*texts, *sorted(own.pooled)))}; in {'BA'[place]} all are"
    heads = tuple(np.flatnonzero(own.off).tolist()) if count else ()
    return ComparedPart(
        **known, outcome=Agreement.DIFFERS, heads=heads, what=what, rows=tuple(own.worst.worst)
    )
