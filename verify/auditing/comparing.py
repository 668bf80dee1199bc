"""Two recordings of the same inputs: the first layer and head where they part, and which quantity it is.

Rounding makes recordings differ more from layer to layer, so no fixed tolerance tells it from a fault. Five
rules do:

1. Masks, scales, soft-caps and sinks are the same, or they are not.
2. An output is compared with its own formula, as an audit does, and never with the other output.
3. Queries, keys and values of a layer differ by rounding about as much as each other, or as what came before.
4. A head that is a multiple of its counterpart shows in all its rows together, however small the difference.
5. The input of a layer's module, where it was recorded, shows a fault before the layer.
"""

import datetime as dt
import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from verify.auditing.audit import audit
from verify.auditing.formula import Formula, pooled
from verify.auditing.record import load
from verify.auditing.recording import (
    Call,
    Flags,
    Floats,
    Intended,
    Layer,
    Recording,
    dtype_of,
    in_memory,
    to_numpy,
    unit_of,
)
from verify.errors import RecordingError
from verify.evidence.audits import Finding, Judgement, LayerRecord
from verify.evidence.comparisons import Agreement, ComparedLayer, ComparedPart, ComparisonRecord, share
from verify.evidence.runs import Tool
from verify.text.escapes import one_line
from verify.version import __version__

_SINGLE = 2.0**-22  # numbers are the same up to the rounding of single precision
_SURE = 8.0  # standard errors of a factor from which on it is no rounding
_FEWEST_ROWS = 32  # of a head, from which on the factor between two arrays is estimated
_LARGEST = 1e150  # beyond it squares are out of range: such numbers count as not finite
_ALIKE = 2.0  # honest queries, keys and values of a layer differ within 1.2 times of each other
_ROUNDINGS = 2.0  # units of rounding by which honest arrays differ where nothing before them does
_GROWTH = 8.0  # by how much more the input of a layer may differ than anything before it
_ROW = 10.0  # how much farther apart than all rows together a single row may be
_SHARE = 0.25  # of what rounding leaves, from which on a factor counts
_MOST = 0.25
"""The power of a unit of rounding beyond which a difference is never called rounding: 1.6% in float32."""


def compare_recordings(a: Recording | Path | str, b: Recording | Path | str) -> ComparisonRecord:
    """Compare two recordings of the same inputs: eager and fused, two libraries, before and after a change.

    Layers are matched by name, or all in their order where no name is in both; calls in their order. Record
    with ``inputs=True`` to tell what a layer is given from what it makes of it.

    Returns:
        The record of the comparison. Its ``exit_status`` is 1 if something differs, else 3 if something
        could not be compared, else 0. The factor of a head is the only statistical test, with a false-alarm
        rate of 5·10⁻⁹ each; the other limits are those of 42 architectures, in float32 and bfloat16.

    Raises:
        VerifyError: bad input; one line says what, where and how to correct it.
    """
    given = [source if isinstance(source, Recording) else load(Path(source)) for source in (a, b)]
    audited = [_audited(side, recording) for side, recording in zip("AB", given, strict=True)]
    pairs, left_out = _matched(*given)
    for side, recording in zip("AB", given, strict=True):
        left_out += [f"in {side}: {text}" for text in recording.left_out]
    layers: list[ComparedLayer] = []
    # The most by which any array differed so far; and whether one did by more than rounding, so that later
    # differences follow from that.
    before, has_parted = 0.0, False
    with threadpool_limits(limits=1, user_api="blas"):
        for first, second in pairs:
            layer = _Differences(first, second)
            left_out += [f"{first.name}: {problem}" for problem in layer.problems]
            if not layer.calls:
                continue
            records = audited[0][first.name], audited[1][second.name]
            arrays = _array_parts(layer, before, follows=has_parted)
            parts = (*layer.exact.values(), *arrays, _output_part(layer, *records))
            if any(part.outcome is Agreement.DIFFERS for part in parts):
                has_parted = True
            elif not has_parted:
                before = max(before, *(float(rows.relative()) for rows in layer.arrays.values()))
            compared = ComparedLayer(
                name=one_line(first.name),
                other=one_line(second.name) if second.name != first.name else "",
                heads=records[0].heads,
                key_heads=max(record.key_heads for record in records),
                calls=layer.calls,
                rows=layer.rows,
                parts=parts,
            )
            layers.append(compared)
    names = [source.source if isinstance(source, Recording) else Path(source).name for source in (a, b)]
    return ComparisonRecord(
        tool=Tool(version=__version__),
        a=one_line(names[0]),
        b=one_line(names[1]),
        layers=tuple(layers),
        left_out=tuple(map(one_line, left_out)),
        created=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
    ).sealed()


def _audited(side: str, recording: Recording) -> dict[str, LayerRecord]:
    """Return by layer what an audit says of outputs, of the scale and the mask that the calls declare."""
    layers = []
    for layer in recording.layers:
        first = next(iter(layer.calls), None)
        meant = Intended(repr(float(first.scale)), "given") if first and first.scale else None
        layers.append(replace(layer, intended=meant, mask=""))
    try:
        records = audit(replace(recording, layers=layers)).layers
    except RecordingError as error:
        raise RecordingError(f"{side}, {error}") from error
    return {layer.name: record for layer, record in zip(layers, records, strict=True)}


def _matched(a: Recording, b: Recording) -> tuple[list[tuple[Layer, Layer]], list[str]]:
    """Return the layers of both recordings, and in words what has no counterpart."""
    first, second = ({layer.name: layer for layer in recording.layers} for recording in (a, b))
    if len(first) < len(a.layers) or len(second) < len(b.layers):
        raise RecordingError("layers: two of a recording have one name; give each its own")
    if first.keys().isdisjoint(second):
        if len(first) == len(second):
            return list(zip(a.layers, b.layers, strict=True)), []
        examples = f"no layer of A, such as {next(iter(first))}, is in B, such as {next(iter(second))}"
        return [], [f"{examples}, and their numbers differ"]
    alone = [f"{name} is in A only" for name in first if name not in second]
    alone += [f"{name} is in B only" for name in second if name not in first]
    return [(layer, second[name]) for name, layer in first.items() if name in second], alone


def _misfit(a: Call, b: Call) -> str:
    """Return why two calls cannot be compared, nothing where they can."""
    for name in ("q", "k", "v", "out"):
        x, y = a.arrays.get(name), b.arrays.get(name)
        if x is not None and y is not None:
            heads = sorted((x.shape[1], y.shape[1]))
            is_grouped = name in ("k", "v") and heads[1] % heads[0] == 0
            others = [(len(array), *array.shape[2:]) for array in (x, y)]
            if others[0] != others[1] or (heads[0] != heads[1] and not is_grouped):
                return f"{name} has shape {list(x.shape)} in A and {list(y.shape)} in B"
    dtypes = dtype_of(a), dtype_of(b)
    return "" if dtypes[0] == dtypes[1] else f"is computed in {dtypes[0]} in A and in {dtypes[1]} in B"


class _Rows:
    """Rows of an array in both recordings: sums by head, and the row that is farthest apart; e = b − a.

    ``sums`` are by head the `moments` Σa·e, Σ|a|², Σ(a·e)², Σ(a·e)|a|² and Σ|a|⁴, then Σ|e|², Σ|a|² + Σ|b|²,
    the number of rows, and of those that are not finite in one recording alone.
    """

    def __init__(self) -> None:
        self.sums: Any = np.zeros((9, 1))
        self.farthest, self.head, self.example = 0.0, 0, ""

    def add(self, a: Floats, b: Floats, use: Flags, call: int) -> None:
        """Add the rows, shape [sequence, head, row, d], for which ``use`` is True."""
        # A row that is finite in one recording alone is lost; in neither, it tells nothing.
        finite, also = ((np.abs(array) < _LARGEST).all(axis=-1) for array in (a, b))
        good, lost = use & finite & also, use & (finite != also)
        a, b = (np.where(good[..., None], array, 0.0) for array in (a, b))
        error, of_a, of_b, along = (np.vecdot(*pair) for pair in ((b - a, b - a), (a, a), (b, b), (a, b - a)))
        moments = along, of_a, along**2, along * of_a, of_a**2
        self.sums = self.sums + np.stack([*moments, error, of_a + of_b, good, lost]).sum(axis=(1, 3))
        size = np.maximum(of_a, of_b)
        # A row that is small beside the others is measured by their usual size: it cancels, and rounds more.
        usual = size.sum() / max(int(good.sum()), 1)
        far = np.sqrt(np.divide(error, np.maximum(size, usual), out=np.zeros_like(error), where=error > 0))
        far[lost] = math.inf
        sequence, head, row = map(int, np.unravel_index(far.argmax(), far.shape))
        if far.max() > self.farthest:
            self.farthest, self.head = float(far.max()), head
            self.example = f"call {call}, sequence {sequence}, head {head}, row {row}"

    def relative(self, axis: Any = None) -> Any:
        """Return the root mean square of e over that of the rows, of all heads or by head (``axis`` = ())."""
        error, size, lost = (np.sum(self.sums[place], axis=axis) for place in (5, 6, 8))
        ratio = np.sqrt(np.divide(2 * error, size, out=np.zeros_like(size), where=size > 0))
        return np.where(lost > 0, math.inf, ratio)


class _Differences:
    """How far the calls of a layer in two recordings differ, which are matched in their order.

    ``arrays`` has rows by the array's name, ``exact`` what is the same or not, by its name: of several calls
    the first in which it differs. ``problems`` say what could not be compared.
    """

    def __init__(self, first: Layer, second: Layer) -> None:
        self.arrays: dict[str, _Rows] = {}
        self.exact: dict[str, ComparedPart] = {}
        self.problems: dict[str, None] = {}
        self.unit, self.rows, self.calls, counts = 0.0, 0, 0, [0, 0]
        for number, pair in enumerate(zip_longest(first.calls, second.calls)):
            counts = [count + (call is not None) for count, call in zip(counts, pair, strict=True)]
            if None in pair:
                continue
            a, b = map(in_memory, pair)
            if problem := _misfit(a, b):
                self.problems[f"call {number} {problem}"] = None
                continue
            self.unit = max(self.unit, unit_of(a), unit_of(b))
            used_rows, used_keys, parts = _mask_parts(a, b, self.calls, self.unit)
            self.rows += int(a.query.shape[1]) * int(used_rows.sum())
            for name in ("x", "q", "k", "v", "out"):
                self._add(name, a, b, used_keys if name in ("k", "v") else used_rows)
            usual = int(a.query.shape[3]) ** -0.5
            parts.append(_number_part("scale", *(usual if x.scale is None else x.scale for x in (a, b))))
            parts += [_number_part(name, getattr(a, name), getattr(b, name)) for name in ("softcap", "sink")]
            for part in filter(None, parts):
                if part.name not in self.exact or self.exact[part.name].outcome is Agreement.SAME:
                    self.exact[part.name] = part
            self.calls += 1
        if counts[0] != counts[1]:
            self.problems[f"has {counts[0]} calls in A and {counts[1]} in B"] = None

    def _add(self, name: str, a: Call, b: Call, used: Flags) -> None:
        """Add the rows of an array in both calls; ``used`` has those that are no padding, [sequence, row]."""
        arrays = [to_numpy(call.arrays[name]) for call in (a, b) if name in call.arrays]
        if len(arrays) == 1 or (name == "x" and len({array.shape for array in arrays}) == 2):
            why = "in one recording only" if len(arrays) == 1 else "of two shapes"
            self.problems[f"{name} is {why}"] = None
        elif arrays:
            if name == "x":  # the input of a module has one head
                shape = (len(arrays[0]) if arrays[0].ndim > 2 else 1, 1, -1, arrays[0].shape[-1])
                arrays = [array.reshape(shape) for array in arrays]
            # Heads of keys that one recording repeats stand for as many in the other.
            most = max(array.shape[1] for array in arrays)
            arrays = [np.repeat(array, most // array.shape[1], axis=1) for array in arrays]
            if used.shape != arrays[0].shape[:3:2]:
                used = np.ones(arrays[0].shape[:3:2], dtype=bool)
            used = np.repeat(used[:, None], most, axis=1)
            self.arrays.setdefault(name, _Rows()).add(arrays[0], arrays[1], used, self.calls)


def _mask_parts(a: Call, b: Call, number: int, unit: float) -> tuple[Flags, Flags, list[ComparedPart | None]]:
    """Return rows that are no padding, [sequence, row], keys that are seen in either, and what differs.

    That is which keys one call sees and the other does not, and what is added to scores that both see.
    """
    # Masks are broadcast to the scores: all is computed in as few numbers as they have.
    both = [Formula.of(call) for call in (a, b)]
    shown = [np.array(True, ndmin=4) if x.hidden is None else ~x.hidden for x in both]
    sequences, _, queries, keys = whole = both[0].shape
    used_keys: Flags = np.broadcast_to((shown[0] | shown[1]).any(axis=(1, 2)), (sequences, keys))
    # Where queries and keys are of the same tokens, a row is padding if no row sees its key.
    used_rows: Flags = used_keys if queries == keys else np.ones((sequences, queries), dtype=bool)
    mask, apart = ComparedPart(name="mask"), (shown[0] != shown[1]) & used_rows[:, None, :, None]
    if apart.any():
        times = math.prod(whole) // apart.size
        counts = [times * int((apart & seen).sum()) for seen in shown]
        texts = [
            f"{x} sees {n:,} keys that {y} hides" for x, y, n in zip("AB", "BA", counts, strict=True) if n
        ]
        sequence, head, row, key = np.argwhere(apart)[0].tolist()
        mask = ComparedPart(
            name="mask",
            outcome=Agreement.DIFFERS,
            size=float(apart.mean()),
            heads=tuple(np.flatnonzero(apart.any(axis=(0, 2, 3))).tolist()) if apart.shape[1] > 1 else (),
            what=" and ".join(texts),
            example=f"call {number}, sequence {sequence}, head {head}, row {row}, key {key}",
        )
    visible = shown[0] & shown[1]
    first, second = (np.where(visible, 0.0 if x.bias is None else x.bias, 0.0) for x in both)
    largest, limit = max(np.abs(first).max(), np.abs(second).max()), 2 * _ROUNDINGS * unit
    if not largest:
        return used_rows, used_keys, [mask]
    size = float(np.abs(first - second).max() / largest)
    outcome = Agreement.SAME if size <= limit else Agreement.DIFFERS
    return used_rows, used_keys, [mask, ComparedPart(name="bias", outcome=outcome, size=size, allowed=limit)]


def _number_part(name: str, a: Any, b: Any) -> ComparedPart | None:
    """Return whether two numbers, or a number of each head, are the same; None where there is neither."""
    if a is None and b is None:
        return None
    first, second = (np.ravel(np.nan if n is None else to_numpy(np.asarray(n))) for n in (a, b))
    is_same = np.abs(first - second) <= _SINGLE * np.maximum(np.abs(first), np.abs(second))
    if is_same.all():
        return ComparedPart(name=name)
    head = int(is_same.argmin())
    texts = ["none" if n is None else f"{np.ravel(n)[head]:.6g}" for n in (a, b)]
    heads = tuple(np.flatnonzero(~is_same).tolist()) if is_same.size > 1 else ()
    what = f"{texts[0]} in A, {texts[1]} in B"
    return ComparedPart(name=name, outcome=Agreement.DIFFERS, heads=heads, what=what)


def _array_parts(layer: _Differences, before: float, *, follows: bool) -> Iterator[ComparedPart]:
    """Yield what is said of the input of a layer, and of its queries, keys and values."""
    sizes = {name: float(layer.arrays[name].relative()) for name in "xqkv" if name in layer.arrays}
    floor = max(before, _ROUNDINGS * layer.unit)
    least = min(size for name, size in sizes.items() if name != "x")
    if "x" in sizes:
        part = _array_part(layer, "x", _GROWTH * floor, follows=follows)
        follows = follows or part.outcome is Agreement.DIFFERS
        yield part
    if follows:  # beside what parted before, what a layer is given says nothing of rounding
        limit = _ALIKE * floor
    elif "x" not in sizes and least > _GROWTH * floor:
        # All three differ by more than rounding may grow in a layer: it was given something else.
        limit = _GROWTH * floor
    else:
        # Rounding changes q, k and v alike, so the least of them says how much there is.
        limit = _ALIKE * max(floor, min(least, _GROWTH * max(sizes.get("x", least), floor)))
    smallest = _SHARE * max(least, 2 * _ROUNDINGS * layer.unit)
    for name in [name for name in sizes if name != "x"]:
        yield _array_part(layer, name, limit, follows=follows, smallest=smallest)


def _array_part(
    layer: _Differences, name: str, limit: float, *, follows: bool, smallest: float = math.inf
) -> ComparedPart:
    """Return what is said of an array, which may differ by ``limit``, and heads by a ``smallest`` factor."""
    rows = layer.arrays[name]
    size, sums = float(rows.relative()), rows.sums
    known: dict[str, Any] = {"name": name, "size": None if size == math.inf else size}
    is_same, heads = size <= limit and rows.farthest <= _ROW * limit, tuple[int, ...]()
    if not is_same:
        known |= {"outcome": Agreement.DIFFERS, "example": rows.example}
        known["allowed"] = None if size <= limit else limit
        if name != "x":
            heads = tuple(np.flatnonzero(~(rows.relative(axis=()) <= limit)).tolist()) or (rows.head,)
    if follows and not is_same:
        return ComparedPart(name=name, size=known["size"], heads=heads, outcome=Agreement.FOLLOWS)
    # Heads may be multiples of their counterparts, b = a·(1 + f), by less than all may differ.
    factor, error = pooled(sums[:5])
    is_far = (np.abs(factor) > _SURE * error) & (np.abs(factor) > smallest) & (sums[7] >= _FEWEST_ROWS)
    # Where an array differs by more than rounding, the factor has to explain it: 99% of the squares.
    explained = np.divide(factor * sums[0], sums[5], out=np.zeros_like(factor), where=sums[5] > 0)
    multiples = heads or tuple(np.flatnonzero(is_far).tolist())
    if multiples and not follows and all(is_far[h] and (is_same or explained[h] > 0.99) for h in multiples):
        ends = [f"{1 + end(factor[list(multiples)]):.6g}" for end in (np.min, np.max)]
        what = f"that of B is {' to '.join(dict.fromkeys(ends))} times that of A"
        return ComparedPart(**known | {"outcome": Agreement.DIFFERS, "heads": multiples, "what": what})
    if is_same:
        known["allowed"] = limit
        if size > layer.unit**_MOST:
            known |= {"outcome": Agreement.UNKNOWN, "what": "differs by too much to rule out a fault"}
    elif size == math.inf:
        known["what"] = "numbers are not finite in one of the recordings"
    elif size <= limit:
        known["what"] = f"in a few rows, the worst by {share(rows.farthest)}"
    return ComparedPart(**known, heads=heads)


def _output_part(layer: _Differences, a: LayerRecord, b: LayerRecord) -> ComparedPart:
    """Return what is said of outputs: what the audit of each says, and never how they differ."""
    apart = float(layer.arrays["out"].relative()) if "out" in layer.arrays else math.inf
    known: dict[str, Any] = {"name": "out", "size": None if apart == math.inf else apart}
    wrong, also = (
        [f for f in record.findings if f.kind in ("formula", "scale") and f.judgement is Judgement.REFUTED]
        for record in (a, b)
    )
    if bool(wrong) != bool(also):
        finding: Finding = (wrong or also)[-1]
        why = "; ".join(filter(None, (finding.cause, finding.reason)))
        what = f"not the attention of its own q, k and v in {'A' if wrong else 'B'}: {why}"
        known |= {"outcome": Agreement.DIFFERS, "heads": finding.heads, "what": what}
    elif wrong and apart > _ALIKE * _ROUNDINGS * layer.unit:
        what = "neither output is that of its own formula, so they cannot be compared"
        known |= {"outcome": Agreement.UNKNOWN, "what": what}
    elif any(record.rows_compared + record.rows_without_key < record.rows for record in (a, b)):
        known |= {"outcome": Agreement.UNKNOWN, "what": "not all outputs were recorded"}
    return ComparedPart(**known)
