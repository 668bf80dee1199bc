"""Two recordings of the same inputs: the first layer and head where they part, and which quantity it is.

Rounding makes them differ more from layer to layer, so no fixed tolerance tells it from a fault. Masks,
scales, soft-caps and sinks are the same or not. An output is compared with its own formula, never against the
other one. Queries, keys and values differ by rounding about as much as each other, or as what came before.
"""

import datetime as dt
import math
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from verify.auditing.differences import EXAMPLES, NUMBERS, Differences, NumberApart, RowApart, RowSums
from verify.auditing.files import load
from verify.auditing.recording import Layer, Recording, check_call
from verify.auditing.rows import Mapper
from verify.errors import RecordingError, SettingsError, naming_arguments, unknown
from verify.evidence.audits import UNSEEN
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
from verify.executors.machine import environment, processors, thread_map
from verify.text.escapes import as_prose, one_line
from verify.version import __version__

_ALIKE = 2.0  # honest queries, keys and values of a layer differ within 1.2 times of each other
_ROUNDINGS = 2.0  # units of rounding by which honest arrays differ where nothing before them does
_GROWTH = 8.0  # by how much more the input of a layer may differ than anything before it
_ROW = 10.0  # how much farther apart than all rows together a single row may be
_SURE = 8.0
_SHARE = 0.25
"""Standard errors of a factor, and share of what rounding leaves, from which on it is no rounding."""
_MOST = 0.25
"""The power of a unit of rounding beyond which a difference is never called rounding: 1.6% in float32."""
_PACKAGES = ("numpy", "array-api-compat")


@naming_arguments()
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
    than rounding: what comes after that follows. ``factors`` counts the factors that were tested, and more
    than ``most`` is not called rounding.
    """

    def __init__(self, *, output_may_be_unseen: bool) -> None:
        self.before, self.has_parted, self.factors, self.most = 0.0, False, 0, 0.0
        self._output_may_be_unseen = output_may_be_unseen

    def parts(self, found: Differences) -> list[ComparedPart]:
        """Return what is said of each quantity of a layer, in its order."""
        sizes = {name: rows.relative for name, rows in found.arrays.items()}
        self.most = found.unit**_MOST
        floor = max(self.before, _ROUNDINGS * found.unit)
        least = min(sizes[name] for name in ("q", "k", "v") if name in sizes)
        arriving = sizes.get("x", least)
        parts = []
        given_apart = self.has_parted
        if "x" in sizes or arriving > _GROWTH * floor:
            what = "what the layer is given differs"
            if "x" not in sizes:
                what = f"queries, keys and values all differ, so {what}; record with inputs to be sure"
            one = self._array("x", found.arrays.get("x"), what, (arriving, _GROWTH * floor))
            given_apart |= one.outcome is Agreement.DIFFERS
            parts.append(one)
        # Beside what parted before, what a layer is given says nothing of rounding.
        usual = 0.0 if given_apart else min(least, _GROWTH * max(arriving, floor))
        limit = _ALIKE * max(floor, usual)
        parts += [
            *(
                self._vectors(name, found, limit, least, follows=given_apart)
                for name in ("q", "k", "v")
                if name in sizes
            ),
            *_mask(found),
            *_bias(found),
            *(part for name in NUMBERS for part in _number(name, found.numbers[name])),
        ]
        if all(one.is_whole for one in found.own) or not self._output_may_be_unseen:
            parts.append(self._output(found, sizes, limit))
        if any(part.outcome is Agreement.DIFFERS for part in parts):
            self.has_parted = True
        elif not self.has_parted:
            self.before = max(self.before, *sizes.values())
        return parts

    def _array(
        self, name: str, rows: RowSums | None, what: str, sizes: tuple[float, float], *, follows: bool = False
    ) -> ComparedPart:
        """Return what is said of an array by its ``sizes``: what it differs by, and what it may."""
        size, limit = sizes
        follows |= self.has_parted
        farthest = rows.worst[0].size if rows is not None and rows.worst else 0.0
        whole, single = not size <= limit, not farthest <= _ROW * limit
        heads: tuple[int, ...] = ()
        if whole or single:
            outcome = Agreement.FOLLOWS if follows else Agreement.DIFFERS
            if rows is not None:
                apart = np.flatnonzero(~(rows.by_head <= limit)).tolist()
                heads = tuple(apart or sorted({row.head for row in rows.worst}))
            if size == math.inf:
                what = f"{what}: numbers are not finite in one recording alone"
            elif not whole:
                what = f"{what} in a few rows, the worst by {share(farthest)}"
        elif rows is not None and rows.sums["lost_in_both"].any():
            outcome, what = Agreement.UNKNOWN, "some rows are not finite in both recordings"
        elif size > self.most:
            outcome, what = Agreement.UNKNOWN, "differs by more than can be told from a fault"
        else:
            outcome, what = Agreement.SAME, ""
        return ComparedPart(
            name=name,
            outcome=outcome,
            size=size if math.isfinite(size) else None,
            allowed=limit if whole or outcome is Agreement.SAME else None,
            heads=heads if name != "x" else (),
            what="" if outcome is Agreement.FOLLOWS else what,
            rows=_examples(rows.worst) if rows is not None and outcome is Agreement.DIFFERS else (),
        )

    def _vectors(
        self, name: str, found: Differences, limit: float, least: float, *, follows: bool
    ) -> ComparedPart:
        """Return what is said of queries, keys or values: as a whole, by rows, by a factor of each head."""
        rows, word = found.arrays[name], QUANTITIES[name]
        part = self._array(name, rows, f"{word} differ", (rows.relative, limit), follows=follows)
        factor, error = rows.factors()
        if follows or not np.isfinite(error).any():
            return part
        self.factors += int(np.isfinite(error).sum())
        is_one = (np.abs(factor) > _SURE * error) & (
            np.abs(factor) > _SHARE * max(least, 2 * _ROUNDINGS * found.unit)
        )
        heads = part.heads or tuple(np.flatnonzero(is_one).tolist())
        is_factor = heads and all(is_one[head] and rows.is_factor(head) for head in heads)
        if not heads or (part.outcome is Agreement.DIFFERS and not is_factor):
            return part
        ends = sorted({f"{1 + factor[head]:.4g}" for head in heads}, key=float)
        what = f"{word} of B are {ends[0] if len(ends) == 1 else f'{ends[0]} to {ends[-1]}'} times those of A"
        allowed = part.allowed if part.outcome is Agreement.DIFFERS else None
        change = {
            "outcome": Agreement.DIFFERS,
            "heads": heads,
            "what": what,
            "allowed": allowed,
            "rows": _examples(rows.worst),
        }
        return part.model_copy(update=change)

    def _output(self, found: Differences, sizes: Mapping[str, float], limit: float) -> ComparedPart:
        own, size = found.own, sizes.get("out", math.inf)
        known = {"name": "out", "size": size if math.isfinite(size) else None}
        if not all(one.is_whole for one in own):
            return ComparedPart(
                **known, outcome=Agreement.UNKNOWN, what="values or outputs were not recorded"
            )
        wrong = [bool(np.any(one.bad)) or bool(one.pooled) for one in own]
        if wrong[0] == wrong[1]:
            if wrong[0] and not size <= limit:
                what = "neither output is that of its own formula, so they cannot be compared"
                return ComparedPart(**known, outcome=Agreement.UNKNOWN, what=what)
            return ComparedPart(**known, outcome=Agreement.SAME)
        place = wrong.index(True)
        one, count = own[place], int(np.sum(own[place].bad))
        texts = [f"{count:,} of {one.rows:,} rows are not the attention of their own q, k and v"] * bool(
            count
        )
        texts += dict.fromkeys(one.pooled)
        what = f"in {'AB'[place]} {'; '.join(texts)}; in {'BA'[place]} all are"
        heads = tuple(np.flatnonzero(one.bad).tolist()) if count else ()
        return ComparedPart(
            **known,
            outcome=Agreement.DIFFERS,
            heads=heads,
            what=what,
            rows=_examples(one.worst.worst[:EXAMPLES]),
        )


def _mask(found: Differences) -> Iterator[ComparedPart]:
    count = sum(found.seen_in_one)
    if not count:
        yield ComparedPart(name="mask", outcome=Agreement.SAME, size=0.0)
        return
    texts = [
        f"{side} sees {number:,} keys that {other} hides"
        for number, side, other in zip(found.seen_in_one, "AB", "BA", strict=True)
        if number
    ]
    yield ComparedPart(
        name="mask",
        outcome=Agreement.DIFFERS,
        size=count / found.keys,
        heads=tuple(np.flatnonzero(found.mask.sums["apart"]).tolist()),
        what=" and ".join(texts),
        rows=_examples(found.mask.worst),
    )


def _bias(found: Differences) -> Iterator[ComparedPart]:
    apart, largest = found.bias
    if largest or not apart <= 0:
        size = apart / largest if largest else math.inf
        limit = 2 * _ROUNDINGS * found.unit
        differs = not size <= limit
        yield ComparedPart(
            name="bias",
            outcome=Agreement.DIFFERS if differs else Agreement.SAME,
            size=size if math.isfinite(size) else None,
            allowed=limit,
            what="what is added to scores differs" if differs else "",
        )


def _number(name: str, one: NumberApart) -> Iterator[ComparedPart]:
    if one.first is not None:
        call, *given = one.first
        texts = ["none" if number is None else f"{number:.6g}" for number in given]
        what = f"{texts[0]} in A, {texts[1]} in B" + (f", from call {call} on" if call else "")
        size = one.size if math.isfinite(one.size) else None
        yield ComparedPart(
            name=name, outcome=Agreement.DIFFERS, size=size, heads=tuple(sorted(one.heads)), what=what
        )
    elif name == "scale" or one.is_given:
        yield ComparedPart(name=name, outcome=Agreement.SAME, size=0.0)


def _examples(rows: Sequence[RowApart]) -> tuple[DifferingRow, ...]:
    return tuple(
        DifferingRow(**row._asdict() | {"size": row.size if math.isfinite(row.size) else None})
        for row in rows
    )
