"""How far the calls of one layer in two recordings differ: array by array, head by head, row by row."""

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from verify.auditing.arrays import dtype_of, in_memory, to_numpy, unit_of
from verify.auditing.recording import Array, Call
from verify.auditing.rows import SURE, Mapper, hidden_from, look, unseen

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


FEWEST_ROWS = 32
"""Rows of a head from which on the factor between two arrays is estimated."""
ARRAYS = {"x": "input", "q": "query", "k": "key", "v": "value", "out": "output"}
"""Arrays with rows, by their names in a comparison."""
NUMBERS = ("scale", "softcap", "sink")
"""What a call is given beside arrays with rows; the rounding of single precision makes no difference."""
EXAMPLES = 3
"""Rows of each quantity that are kept."""
_LARGEST = 1e150  # beyond it squares are out of range: such numbers count as not finite
_PIECE = 1 << 20
_SINGLE = 2.0**-22
_OFF = 0.01  # relative error of a scale, or weight on hidden keys, that only all rows together show
_SUMS = ("error", "of_a", "of_b", "along", "noise", "mixed", "fourth", "rows", "lost", "lost_in_both")


class RowApart(NamedTuple):
    """A row of one array, and how far apart it is: |b − a| over its length, or the usual one of such rows.

    Of a mask, ``key`` is one that the row sees in one recording alone.
    """

    size: float
    call: int
    sequence: int
    head: int
    row: int
    key: int | None = None


@dataclass
class RowSums:
    """Sums over the rows of an array in both recordings, by head, shape (heads,); e = b − a for a row.

    ``error`` is Σ|e|², ``of_a`` Σ|a|², ``along`` Σ a·e, ``noise`` Σ(a·e)², ``mixed`` Σ(a·e)|a|², ``fourth``
    Σ|a|⁴. ``lost`` rows have numbers that are not finite in one recording alone, ``lost_in_both`` in both.
    """

    sums: dict[str, Any]
    worst: list[RowApart] = field(default_factory=list)

    def add(self, a: Floats, b: Floats, use: Flags, call: int) -> None:
        """Add the rows, shape [sequence, head, row, d], for which ``use`` is True."""
        finite = [(np.abs(one) < _LARGEST).all(axis=-1) for one in (a, b)]
        good, lost = use & finite[0] & finite[1], use & (finite[0] != finite[1])
        a, b = (np.where(good[..., None], one, 0.0) for one in (a, b))
        error, of_a, of_b, along = (
            np.vecdot(b - a, b - a),
            np.vecdot(a, a),
            np.vecdot(b, b),
            np.vecdot(a, b - a),
        )
        numbers = (error, of_a, of_b, along, along**2, along * of_a, of_a**2, good, lost)
        for name, array in zip(_SUMS, (*numbers, use & ~finite[0] & ~finite[1]), strict=True):
            self.sums[name] = self.sums.get(name, 0.0) + array.sum(axis=(0, 2))
        size = np.maximum(of_a, of_b)
        usual = size.sum() / max(int(good.sum()), 1)
        far = np.sqrt(np.divide(error, np.maximum(size, usual), out=np.zeros_like(error), where=error > 0))
        self.note(np.where(lost, math.inf, far), call)

    def note(self, far: Floats, call: int, key: Any = None) -> None:
        """Keep the rows that are farthest apart, [sequence, head, row], each with its ``key`` if any."""
        for place in np.argsort(-far, axis=None, kind="stable")[:EXAMPLES]:
            sequence, head, row = at = tuple(int(one) for one in np.unravel_index(place, far.shape))
            if far[at] > 0:
                self.worst.append(
                    RowApart(float(far[at]), call, sequence, head, row, None if key is None else int(key[at]))
                )
        # The first of those as far apart.
        self.worst = sorted(self.worst, key=lambda one: (-one.size, *one[1:5]))[:EXAMPLES]

    @property
    def by_head(self) -> Floats:
        """The root mean square of e over that of the rows, infinite where some are lost, shape (heads,)."""
        size = (self.sums["of_a"] + self.sums["of_b"]) / 2
        found = np.sqrt(np.divide(self.sums["error"], size, out=np.zeros_like(size), where=size > 0))
        return np.where(self.sums["lost"] > 0, math.inf, found)

    @property
    def relative(self) -> float:
        """The same for all heads together."""
        size = float((self.sums["of_a"] + self.sums["of_b"]).sum()) / 2
        if self.sums["lost"].any():
            return math.inf
        return math.sqrt(float(self.sums["error"].sum()) / size) if size > 0 else 0.0

    def factors(self) -> tuple[Floats, Floats]:
        """Return f for each head, where b is a·(1 + f), and its standard error; infinite for few rows."""
        known = (self.sums["rows"] >= FEWEST_ROWS) & (self.sums["of_a"] > 0)
        whole = np.where(known, self.sums["of_a"], 1.0)
        found = np.where(known, self.sums["along"] / whole, 0.0)
        left = self.sums["noise"] - 2 * found * self.sums["mixed"] + found**2 * self.sums["fourth"]
        many = self.sums["rows"] / np.maximum(self.sums["rows"] - 1, 1)
        return found, np.where(known, np.sqrt(np.maximum(left, 0.0) * many) / whole, math.inf)

    def is_factor(self, head: int) -> bool:
        """Return whether a factor is nearly all in which a head's rows differ."""
        explained = self.factors()[0][head] * self.sums["along"][head]
        return bool(explained > 0.99 * self.sums["error"][head])


@dataclass
class OwnFormula:
    """How outputs of one recording differ from their own formula, by head: rows that do, and by what else."""

    rows: int = 0
    bad: Any = 0
    worst: RowSums = field(default_factory=lambda: RowSums({}))
    pooled: list[str] = field(default_factory=list)
    is_whole: bool = True

    def add(self, call: Call, number: int, mapper: Mapper) -> None:
        """Hold every row of a call's output against the attention that the call declares."""
        sequences, heads = map(int, call.query.shape[:2])
        blocks, scale = np.arange(sequences * heads), _scale(call)
        unit = unit_of(call)
        found = look(call, blocks, np.full(len(blocks), scale), unit, mapper)[1]
        if found is None:
            self.is_whole = False
            return
        self.rows += int(found.rows.sum())
        bad = found.bad + found.broken
        self.bad = self.bad + bad.reshape(sequences, heads).sum(axis=0)
        for block in np.flatnonzero(found.bad)[:1]:
            sequence, head = divmod(int(block), heads)
            self.worst.worst.append(
                RowApart(float(found.worst[block]), number, sequence, head, int(found.place[block]))
            )
        factor = found.off_by_factor(unit)
        step = np.abs(found.step)
        off = (
            (step > _OFF * abs(scale))
            & (step > SURE * np.sqrt(found.variance))
            & (found.room < step * found.slope)
        )
        texts = {
            f"outputs are {1 + factor[np.argmax(np.abs(factor))]:.4g} times the formula’s": factor != 0,
            "hidden keys keep some weight": found.hidden_weight > _OFF,
            "another scale than the one that it was given fits": off,
        }
        self.pooled += [text for text, found_so in texts.items() if found_so.any()]


@dataclass
class NumberApart:
    """A number of calls, in both recordings: how far it differs, relative to the larger one, and where."""

    size: float = 0.0
    first: tuple[int, float | None, float | None] | None = None
    heads: set[int] = field(default_factory=set)
    is_given: bool = False

    def add(self, a: Any, b: Any, call: int) -> None:
        """Add a call's, None where it was given none."""
        if a is None and b is None:
            return
        self.is_given = True
        far = np.ones(1)
        if a is not None and b is not None:
            one, other = np.broadcast_arrays(*(to_numpy(each).reshape(-1) for each in (a, b)))
            larger = np.maximum(np.abs(one), np.abs(other))
            far = np.divide(np.abs(one - other), larger, out=np.zeros_like(larger), where=one != other)
        if not float(far.max()) <= _SINGLE:
            head = int(np.argmax(far))
            given = [None if each is None else float(to_numpy(each).reshape(-1)[head]) for each in (a, b)]
            self.first = self.first or (call, given[0], given[1])
            self.heads |= set(np.flatnonzero(~(far <= _SINGLE)).tolist()) if len(far) > 1 else set()
            self.size = max(self.size, float(far.max()))


@dataclass
class Differences:
    """How far the calls of one layer in two recordings differ.

    ``arrays`` are those that both have, by their names in `ARRAYS`; ``missing`` says of others why not. Of
    ``keys`` of all rows, ``seen_in_one`` counts those that a row sees in A alone, and in B alone. ``bias`` is
    the largest difference of what is added to scores, and the largest of these. ``heads`` are those of
    queries and, at most, of keys; ``rows`` were compared, ``padding`` are those that are so in both.
    """

    arrays: dict[str, RowSums] = field(default_factory=dict)
    mask: RowSums = field(default_factory=lambda: RowSums({}))
    seen_in_one: tuple[int, int] = (0, 0)
    keys: int = 0
    bias: tuple[float, float] = (0.0, 0.0)
    numbers: dict[str, NumberApart] = field(default_factory=lambda: {name: NumberApart() for name in NUMBERS})
    own: tuple[OwnFormula, OwnFormula] = field(default_factory=lambda: (OwnFormula(), OwnFormula()))
    missing: dict[str, str] = field(default_factory=dict)
    dtype: str = ""
    unit: float = 0.0
    heads: tuple[int, int] = (0, 0)
    rows: int = 0
    padding: int = 0
    calls: int = 0

    def add(self, a: Call, b: Call, mapper: Mapper) -> str:
        """Add a call of each recording, or return in words why they cannot be compared."""
        a, b = in_memory(a), in_memory(b)
        if problem := _unlike(a, b):
            return problem
        heads = int(a.query.shape[1]), max(int(one.key.shape[1]) for one in (a, b))
        if self.calls and heads != self.heads:
            return f"has {heads[0]} heads, and {heads[1]} of keys, unlike the calls before"
        number, self.calls = self.calls, self.calls + 1
        self.heads, self.dtype = heads, dtype_of(a)
        self.unit = max(self.unit, unit_of(a), unit_of(b))
        padding, seen = _in_use(a, b)
        self.rows += heads[0] * int((~padding).sum())
        self.padding += heads[0] * int(padding.sum())
        for name, attribute in ARRAYS.items():
            one, other = getattr(a, attribute), getattr(b, attribute)
            if one is None and other is None:
                continue
            if one is None or other is None or (name == "x" and one.shape != other.shape):
                self.missing[name] = (
                    "of one recording only" if one is None or other is None else "of two shapes"
                )
                continue
            one, other = (_rows(each, name) for each in (one, other))
            most = max(one.shape[1], other.shape[1])
            one, other = (np.repeat(each, most // each.shape[1], axis=1) for each in (one, other))
            use = seen if name in ("k", "v") else ~padding
            use = use if use.shape == one.shape[:3:2] else np.ones(one.shape[:3:2], dtype=bool)
            self.arrays.setdefault(name, RowSums({})).add(
                one, other, use[:, None].repeat(most, axis=1), number
            )
        for name in NUMBERS:
            one, other = (_scale(each) if name == "scale" else getattr(each, name) for each in (a, b))
            self.numbers[name].add(one, other, number)
        self._add_masks(a, b, ~padding, number)
        for own, call in zip(self.own, (a, b), strict=True):
            own.add(call, number, mapper)
        return ""

    def _add_masks(self, a: Call, b: Call, use: Flags, number: int) -> None:
        sequences, heads, queries, _ = map(int, a.query.shape)
        keys = int(a.key.shape[2])
        far = np.zeros((sequences, heads, queries), dtype=np.intp)
        first, in_one = far.copy(), list(self.seen_in_one)
        strip = max(1, _PIECE // (heads * keys))
        for sequence in range(sequences):
            blocks = sequence * heads + np.arange(heads)
            for start in range(0, queries, strip):
                rows = slice(start, min(start + strip, queries))
                (hidden, bias), (other, added) = (hidden_from(one, blocks, rows, keys) for one in (a, b))
                if hidden is not None or other is not None:
                    in_a, in_b = (np.ones((1, 1, 1), bool) if no is None else ~no for no in (hidden, other))
                    apart = (in_a != in_b) & use[sequence, rows, None]
                    apart = np.broadcast_to(apart, (heads, rows.stop - start, keys))
                    far[sequence, :, rows], first[sequence, :, rows] = apart.sum(axis=2), apart.argmax(axis=2)
                    in_one = [
                        count + int((apart & sees).sum())
                        for count, sees in zip(in_one, (in_a, in_b), strict=True)
                    ]
                if bias is not None or added is not None:
                    self._add_bias(bias, added, hidden, other)
        self.keys += far.size * keys
        self.seen_in_one = in_one[0], in_one[1]
        self.mask.note(np.where(far > 0, 1.0, 0.0), number, first)
        self.mask.sums["apart"] = self.mask.sums.get("apart", 0) + far.sum(axis=(0, 2))

    def _add_bias(self, bias: Any, added: Any, hidden: Any, other: Any) -> None:
        one, two = (np.zeros((1, 1, 1)) if each is None else each for each in (bias, added))
        for unseen_keys in (hidden, other):
            if unseen_keys is not None:
                one, two = (np.where(unseen_keys, 0.0, each) for each in (one, two))
        largest = max(float(np.abs(one).max()), float(np.abs(two).max()))
        apart = float(np.where(one == two, 0.0, np.abs(one - two)).max())
        self.bias = max(self.bias[0], apart), max(self.bias[1], largest)


def _unlike(a: Call, b: Call) -> str:
    """Return why two calls cannot be compared, nothing where they can."""
    for name, attribute in ARRAYS.items():
        one, other = getattr(a, attribute), getattr(b, attribute)
        if name == "x" or one is None or other is None:
            continue
        shapes = [list(each.shape) for each in (one, other)]
        heads = [shape.pop(1) for shape in shapes]
        if shapes[0] != shapes[1] or (
            heads[0] != heads[1] and (name not in ("k", "v") or max(heads) % min(heads))
        ):
            return f"{name} has shape {list(one.shape)} in A and {list(other.shape)} in B"
    types = [dtype_of(one) for one in (a, b)]
    return "" if types[0] == types[1] else f"is computed in {types[0]} in A and in {types[1]} in B"


def _in_use(a: Call, b: Call) -> tuple[Flags, Flags]:
    """Return which rows are padding in both, [sequence, query], and which keys a row sees in either."""
    sequences, heads, queries, _ = map(int, a.query.shape)
    blocks, keys = np.arange(sequences * heads), int(a.key.shape[2])
    paddings: list[Any] = []
    seens: list[Any] = []
    for call in (a, b):
        padding, seen = unseen(call, blocks)
        shape = (sequences, heads)
        paddings.append(_of_blocks(padding, (*shape, queries), fill=False).all(axis=1))
        seens.append(_of_blocks(seen, (*shape, keys), fill=True).any(axis=1))
    return paddings[0] & paddings[1], seens[0] | seens[1]


def _of_blocks(flags: Flags | None, shape: tuple[int, int, int], *, fill: bool) -> Flags:
    if flags is None:
        return np.full(shape, fill)
    whole: Flags = np.broadcast_to(flags, (shape[0] * shape[1], shape[2])).reshape(shape)
    return whole


def _rows(array: Array, name: str) -> Floats:
    """Return an array as [sequence, head, row, d]; the input of a module has one head."""
    plain: Floats = to_numpy(array)
    if name != "x":
        return plain
    return plain.reshape(len(plain) if plain.ndim > 2 else 1, 1, -1, plain.shape[-1])


def _scale(call: Call) -> float:
    return int(call.query.shape[3]) ** -0.5 if call.scale is None else call.scale
