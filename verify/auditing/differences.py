"""How far the calls of one layer in two recordings differ: array by array, head by head, row by row."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from verify.auditing.arrays import dtype_of, in_memory, to_numpy, unit_of
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
from verify.auditing.recording import ARRAYS, Call
from verify.evidence.comparisons import DifferingRow

COMPARED = ("x", "q", "k", "v", "out")
"""Arrays with rows, by their names in a comparison."""
NUMBERS = ("scale", "softcap", "sink")
"""What a call is given beside arrays with rows; the rounding of single precision makes no difference."""
SURE = 8.0
"""Standard errors of a pooled number from which on it is no rounding."""
_FEWEST_ROWS = 32  # of a head, from which on the factor between two arrays is estimated
_EXAMPLES, _PIECE = 3, 1 << 20
_LARGEST = 1e150  # beyond it squares are out of range: such numbers count as not finite
_SINGLE = 2.0**-22
_OFF = 0.01
_POOLED = {
    SCALE: "another scale than the one that it was given fits",
    FACTOR: "outputs are {:.4g} times the formula’s",
    HIDDEN: "hidden keys keep some weight",
}


@dataclass
class RowSums:
    """Sums over the rows of an array in both recordings, by head; e = b − a for a row.

    ``moments`` are Σa·e, Σ|a|², Σ(a·e)², Σ(a·e)|a|² and Σ|a|⁴, ``error`` is Σ|e|², ``sizes`` Σ|a|² + Σ|b|²,
    ``count`` that of rows. ``lost`` rows are not finite in one recording alone.
    """

    moments: Any = 0.0
    error: Any = 0.0
    sizes: Any = 0.0
    count: Any = 0
    lost: Any = 0
    lost_in_both: Any = 0
    worst: list[DifferingRow] = field(default_factory=list)

    def add(self, a: Floats, b: Floats, use: Flags, call: int) -> None:
        """Add the rows, shape [sequence, head, row, d], for which ``use`` is True."""
        finite = [(np.abs(array) < _LARGEST).all(axis=-1) for array in (a, b)]
        good, lost = use & finite[0] & finite[1], use & (finite[0] != finite[1])
        a, b = (np.where(good[..., None], array, 0.0) for array in (a, b))
        error, of_a, of_b, along = (np.vecdot(*pair) for pair in ((b - a, b - a), (a, a), (b, b), (a, b - a)))
        squares = np.stack([along, of_a, along**2, along * of_a, of_a**2])
        self.moments = self.moments + squares.sum(axis=(1, 3))
        self.error, self.sizes = (
            self.error + error.sum(axis=(0, 2)),
            self.sizes + (of_a + of_b).sum(axis=(0, 2)),
        )
        self.count, self.lost = self.count + good.sum(axis=(0, 2)), self.lost + lost.sum(axis=(0, 2))
        self.lost_in_both = self.lost_in_both + (use & ~finite[0] & ~finite[1]).sum()
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
                size = float(far[at]) if far[at] < math.inf else None
                extra = None if key is None else int(key[at])
                self.worst.append(DifferingRow(size=size, call=call, key=extra, **named))
        self.worst.sort(key=lambda row: -math.inf if row.size is None else -row.size)
        del self.worst[_EXAMPLES:]

    @property
    def farthest(self) -> float:
        """How far apart the worst row is."""
        size = self.worst[0].size if self.worst else 0.0
        return math.inf if size is None else size

    def relative(self, axis: Any = None) -> Any:
        """Return the root mean square of e over that of the rows, of all heads or by head (``axis`` = ())."""
        error, size, lost = (np.sum(array, axis=axis) for array in (self.error, self.sizes, self.lost))
        ratio = np.sqrt(np.divide(2 * error, size, out=np.zeros_like(size), where=size > 0))
        return np.where(lost > 0, math.inf, ratio)

    def factors(self) -> tuple[Floats, Floats, Floats]:
        """Return f for each head, where b is a·(1 + f), its standard error, and its share of the differences.

        The error is infinite for fewer than 32 rows.
        """
        factor, error = pooled(self.moments)
        explained = np.divide(
            factor * self.moments[0], self.error, out=np.zeros_like(factor), where=self.error > 0
        )
        return factor, np.where(self.count >= _FEWEST_ROWS, error, math.inf), explained


@dataclass
class OwnFormula:
    """How outputs of a recording differ from their own formula: rows by head, and what all rows show."""

    off: Any = 0
    rows: int = 0
    is_whole: bool = True
    pooled: set[str] = field(default_factory=set)
    worst: RowSums = field(default_factory=RowSums)

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
            if (off := far > np.maximum(_OFF, SURE * error)).any():
                self.pooled.add(text.format(1 + multiple[off][0]))


@dataclass
class Differences:
    """How far the calls of one layer in two recordings differ.

    ``missing`` says of arrays why they were not compared. ``numbers`` has for each how far it differs, in
    which heads, and, where it does, what A and B have. ``only`` counts the keys that rows see in A alone and
    in B alone, of all ``keys``; ``bias`` is the largest difference of what is added to scores, and the
    largest of these.
    """

    arrays: dict[str, RowSums] = field(default_factory=dict)
    mask: RowSums = field(default_factory=RowSums)
    only: Any = 0
    mask_heads: Any = 0
    keys: int = 0
    bias: tuple[float, float] = (0.0, 0.0)
    numbers: dict[str, tuple[float, tuple[int, ...], str]] = field(default_factory=dict)
    own: tuple[OwnFormula, OwnFormula] = field(default_factory=lambda: (OwnFormula(), OwnFormula()))
    missing: dict[str, str] = field(default_factory=dict)
    dtype: str = ""
    unit: float = 0.0
    heads: tuple[int, int] = (0, 0)
    rows: int = 0
    padding: int = 0
    calls: int = 0

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
        for name in COMPARED:
            pair = [getattr(call, ARRAYS[name]) for call in (a, b)]
            given = [array for array in pair if array is not None]
            if len(given) < 2 or (name == "x" and pair[0].shape != pair[1].shape):
                why = {0: "", 1: "of one recording only", 2: "of two shapes"}[len(given)]
                self.missing |= {name: why} if why else {}
                continue
            arrays = [_by_rows(to_numpy(array), name) for array in pair]
            most = max(array.shape[1] for array in arrays)
            first, second = (np.repeat(array, most // array.shape[1], axis=1) for array in arrays)
            use = used_keys if name in ("k", "v") else used_rows
            use = use if use.shape == first.shape[:3:2] else np.ones(first.shape[:3:2], dtype=bool)
            rows = self.arrays.setdefault(name, RowSums())
            rows.add(first, second, np.repeat(use[:, None], most, axis=1), number)
        self._add_numbers(a, b)
        for own, call in zip(self.own, (a, b), strict=True):
            own.add(call, number)
        return ""

    def _add_numbers(self, a: Call, b: Call) -> None:
        for name in NUMBERS:
            pair = [_scale_of(call) if name == "scale" else getattr(call, name) for call in (a, b)]
            *_, differs = self.numbers.get(name, (0.0, (), ""))
            if differs or all(number is None for number in pair):
                continue
            self.numbers[name], far = (0.0, (), ""), np.ones(1)
            if all(number is not None for number in pair):
                first, second = np.broadcast_arrays(*(np.ravel(to_numpy(np.asarray(n))) for n in pair))
                size = np.maximum(np.abs(first), np.abs(second))
                far = np.divide(np.abs(first - second), size, out=np.zeros_like(size), where=first != second)
            if not float(far.max()) <= _SINGLE:
                head = int(far.argmax())
                texts = ["none" if n is None else f"{np.ravel(n)[head]:.6g}" for n in pair]
                since = f", from call {self.calls - 1} on" if self.calls > 1 else ""
                heads = tuple(np.flatnonzero(~(far <= _SINGLE)).tolist()) if len(far) > 1 else ()
                self.numbers[name] = float(far.max()), heads, f"{texts[0]} in A, {texts[1]} in B{since}"

    def _add_masks(self, a: Call, b: Call, number: int) -> tuple[Flags, Flags]:
        """Add what rows see; return which rows are no padding in both, and which keys are seen in either."""
        sequences, heads, queries, keys = Formula(a, 1.0).scores
        used_keys = np.zeros((sequences, keys), dtype=bool)
        only, first = np.zeros((2, sequences, heads, queries)), np.zeros((sequences, heads, queries), np.intp)
        strip = max(1, _PIECE // (heads * keys))
        for s in range(sequences):
            for start in range(0, queries, strip):
                rows = slice(start, min(start + strip, queries))
                parts = [
                    hidden_and_bias(Formula(call, 1.0), slice(s, s + 1), slice(0, heads), rows, keys)
                    for call in (a, b)
                ]
                whole = (1, heads, rows.stop - start, keys)
                shown = [np.broadcast_to(True if hid is None else ~hid, whole)[0] for hid, _ in parts]
                used_keys[s] |= (shown[0] | shown[1]).any(axis=(0, 1))
                apart = shown[0] != shown[1]
                first[s, :, rows] = apart.argmax(axis=-1)
                for side in (0, 1):
                    only[side, s, :, rows] = (apart & shown[side]).sum(axis=-1)
                bias = [
                    np.zeros(1) if added is None else np.where(shown[0] & shown[1], added, 0.0)
                    for _, added in parts
                ]
                apart_by = np.where(bias[0] == bias[1], 0.0, np.abs(bias[0] - bias[1])).max()
                largest = max(float(np.abs(added).max()) for added in bias)
                self.bias = max(self.bias[0], float(apart_by)), max(self.bias[1], largest)
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


def _by_rows(array: Floats, name: str) -> Floats:
    """Return an array as [sequence, head, row, d]; the input of a module has one head."""
    if name != "x":
        return array
    return array.reshape(len(array) if array.ndim > 2 else 1, 1, -1, array.shape[-1])
