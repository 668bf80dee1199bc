"""The corners in which kernels are wrong though they are right elsewhere, each a check with a name.

What was found of the function at a few sizes is computed in double precision for other sizes, strides, types
and scores, and compared row by row within what rounding leaves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from verify.auditing.arrays import unit_roundoff
from verify.auditing.blocks import HIDDEN, Floats, softmax
from verify.auditing.probing.experiments import UNITS, Mask, stored
from verify.auditing.probing.function import STRIDES, Callee, RefusedError, Sizes

_LENGTHS = (1, 2, 3, 7, 9, 15, 17, 31, 33, 63, 65, 100, 127, 129, 255, 257, 383, 513)
_RECTANGLES = (
    *((1, 2), (1, 65), (1, 1025), (1, 4099), (3, 100), (17, 4099), (64, 130), (127, 129), (130, 1025)),
    *((2, 1), (100, 3), (130, 64), (1025, 5)),
)
MOST_KEYS = max(keys for _, keys in _RECTANGLES)
_GRADIENTS = ((16, 16), (65, 65), (100, 100), (1, 33), (17, 130), (130, 17), (5, 257))
_WIDTHS = (1, 8, 40, 80, 96, 128, 256)
_SEQUENCES, _HEADS = (1, 3, 4, 5), (1, 3, 8)
_DTYPES = ("float16", "bfloat16", "float64")
_SCORES = {"30": 30.0, "100": 100.0, "10,000": 1e4}
_SHIFTS = {"+1,000": 1000.0, "-1,000": -1000.0}
_ROOM, _GRADIENT_ROOM = 4.0, 200.0
_TOKENS = 40

CornerOutcome = Literal["right", "wrong", "unknown", "refused"]


class Corner(NamedTuple):
    """How a function is in a corner: as elsewhere, wrong, not understood, or it refuses its arrays.

    ``text`` says how it is wrong, or why it refuses.
    """

    name: str
    outcome: CornerOutcome
    text: str = ""


@dataclass(frozen=True)
class FoundFormula:
    """What a function was found to compute, for arrays of any size.

    ``scale`` is by width, heads and keys. ``wide`` and ``tall`` say how a mask of fewer and of more queries
    than keys lies: "top-left", "bottom-right", None where that is not known.
    """

    scale: Callable[[int, int, int], float]
    mask: Mask
    wide: str | None
    tall: str | None
    softcap: float | None = None
    sink: tuple[float, ...] | None = None
    interleaved: bool = False
    residual: float = 0.0

    def visible(self, queries: int, keys: int) -> Floats | None:
        """Return which keys queries see, [query, key]; None where that is not known."""
        lies = "top-left" if queries == keys or self.mask.shift is None else self.wide
        if queries > keys and self.mask.shift is not None:
            lies = self.tall
        if lies is None or (queries != keys and self.mask.window is not None and self.mask.shift is None):
            return None
        moved = 0 if lies == "top-left" or self.mask.shift is None else keys - queries
        shift = None if self.mask.shift is None else self.mask.shift + moved
        return replace(self.mask, shift=shift).visible(queries, keys)


class CornerCase(NamedTuple):
    """Arrays of a corner, [sequence, head, token, d], in the form in which the function is called."""

    callee: Callee
    query: Floats
    key: Floats
    value: Floats


@dataclass
class Expected:
    """The attention of a case: weights, output, and what rounding may leave of each row."""

    weights: Floats
    output: Floats
    room: Floats
    query: Floats
    key: Floats
    value: Floats
    scale: float
    scores: Floats
    order: list[int]

    def gradients(self, upstream: Floats, softcap: float | None) -> list[Floats]:
        """Return dQ, dK and dV of the sum of output times ``upstream``; source: the chain rule."""
        inner = upstream @ np.swapaxes(self.value, -1, -2)
        slope = self.weights * (inner - (inner * self.weights).sum(-1, keepdims=True))
        if softcap is not None:
            slope *= 1 - (self.scores / softcap) ** 2
        whole = (
            self.scale * slope @ self.key,
            self.scale * np.swapaxes(slope, -1, -2) @ self.query,
            np.swapaxes(self.weights, -1, -2) @ upstream,
        )
        return [whole[0], self._together(whole[1]), self._together(whole[2])]

    def _together(self, array: Floats) -> Floats:
        """Return the sums over query heads that share a key head."""
        summed = np.zeros((array.shape[0], max(self.order) + 1, *array.shape[2:]))
        for head, group in enumerate(self.order):
            summed[:, group] += array[:, head]
        return summed


def computed(formula: FoundFormula, case: CornerCase, unit: float, seen: Floats) -> Expected:
    """Return the attention of a case in float64, with the bound of each row that audits have."""
    heads, key_heads = case.query.shape[1], case.key.shape[1]
    order = [head % key_heads if formula.interleaved else head * key_heads // heads for head in range(heads)]
    key, value = case.key[:, order], case.value[:, order]
    d, keys = case.query.shape[3], key.shape[2]
    scale = formula.scale(d, heads, keys)
    scores = scale * case.query @ np.swapaxes(key, -1, -2)
    if formula.softcap is not None:
        scores = formula.softcap * np.tanh(scores / formula.softcap)
    sink = None if formula.sink is None else np.reshape(formula.sink, (1, heads, 1, 1))
    weights = softmax(np.where(seen, scores, HIDDEN), sink)
    output = weights @ value
    spread = np.sqrt((weights * scores**2).sum(-1))
    square = (value**2).sum(-1)
    mean = np.sqrt((weights * square[..., None, :]).sum(-1))
    size = np.linalg.norm(output, axis=-1)
    sigma = np.sqrt(np.maximum(mean**2 - size**2, 0))
    length = np.sqrt((weights * (key**2).sum(-1)[..., None, :]).sum(-1))
    product = math.sqrt(d) * abs(scale) * np.linalg.norm(case.query, axis=-1) * length
    least = max(unit, 2.0**-24)
    room = unit * (3 * spread * sigma + 2 * mean + size) + least * (product * sigma + math.sqrt(keys) * mean)
    # A softmax of large scores loses what their rounding is, however near the weights are to 0 and 1.
    room = _ROOM * (room + 4 * least * product * sigma) + 8 * formula.residual * mean
    return Expected(weights, output, room, case.query, key, value, scale, scores, order)


@dataclass(frozen=True)
class Corners:
    """The corners of one function; each is computed as it is asked for."""

    callee: Callee
    sizes: Sizes
    formula: FoundFormula

    def names(self, *, gradient: bool = False) -> list[str]:
        """Return the names of all corners."""
        return list(self._checks(gradient=gradient))

    def at(self, name: str) -> Corner:
        """Return how the function is in the corner of this name."""
        check = self._checks(gradient=True)[name]
        try:
            with np.errstate(all="ignore"):
                outcome, text = check()
        except RefusedError as error:
            return Corner(name, "refused", str(error))
        return Corner(name, outcome, text)

    def _checks(self, *, gradient: bool) -> dict[str, Callable[[], tuple[CornerOutcome, str]]]:
        n, sizes = _TOKENS, self.sizes
        made: dict[str, Callable[[], CornerCase]] = {
            **{f"{count} tokens": partial(self._case, count, count) for count in _LENGTHS},
            **{f"{m} queries, {count} keys": partial(self._case, m, count) for m, count in _RECTANGLES},
            **{f"d = {d}": partial(self._case, n, n, replace(sizes, width=d)) for d in _WIDTHS},
            **{f"{count} sequences": partial(self._case, n, n, sequences=count) for count in _SEQUENCES},
            **{
                f"{count * self._shared} heads": partial(
                    self._case, n, n, replace(sizes, heads=count * self._shared, key_heads=count)
                )
                for count in _HEADS
            },
            **{f"{name} arrays": partial(self._strided, name) for name in STRIDES},
            **{
                f"{dtype}, {count} tokens": partial(self._case, count, count, dtype=dtype)
                for dtype in _DTYPES
                for count in (17, 130)
            },
            **{f"scores of {text}": partial(self._case, n, n, size=size) for text, size in _SCORES.items()},
            **{f"scores near {text}": partial(self._shifted, size) for text, size in _SHIFTS.items()},
            "values of 10,000": partial(self._case, n, n, values=1e4),
            "values of 0.0001": partial(self._case, n, n, values=1e-4),
            "keys that are equal": self._equal,
        }
        found: dict[str, Callable[[], tuple[CornerOutcome, str]]] = {
            name: partial(self._of, make) for name, make in made.items()
        }
        found["inputs left as they are"] = self._left_alone
        backwards = {f"{m} queries, {count} keys": partial(self._case, m, count) for m, count in _GRADIENTS}
        backwards["scores of 30"] = partial(self._case, n, n, size=30.0)
        if gradient:
            for name, make in backwards.items():
                for place, which in enumerate(("dQ", "dK", "dV")):
                    found[f"{which}, {name}"] = partial(self._gradient, make, place)
        return found

    def _of(self, make: Callable[[], CornerCase]) -> tuple[CornerOutcome, str]:
        return self._compared(make())

    @property
    def _shared(self) -> int:
        return self.sizes.heads // self.sizes.key_heads

    def _case(
        self,
        queries: int,
        keys: int,
        sizes: Sizes | None = None,
        *,
        sequences: int = 1,
        dtype: str = "",
        size: float = 1.0,
        values: float = 1.0,
    ) -> CornerCase:
        """Return random arrays whose scores have a standard deviation of about ``size``."""
        sizes = sizes or self.sizes
        if sizes.heads != self.sizes.heads and (
            self.formula.sink is not None or "h" not in self.callee.layout
        ):
            raise RefusedError("its heads are given")
        callee = replace(self.callee, dtype=dtype or self.callee.dtype)
        scale = abs(self.formula.scale(sizes.width, sizes.heads, keys))
        if not math.isfinite(scale) or not scale:
            raise RefusedError("its scale is not known at these sizes")
        stretch = math.sqrt(size / (scale * math.sqrt(sizes.width)))
        arrays = (
            sizes.queries(queries, stretch, sequences),
            sizes.keys(keys, stretch, sequences),
            values * sizes.values(keys, sequences),
        )
        return CornerCase(callee, *(stored(one, callee.dtype) for one in arrays))

    def _strided(self, name: str) -> CornerCase:
        case = self._case(_TOKENS, _TOKENS, sequences=2)
        if name == "broadcast":
            key, value = (np.broadcast_to(one[:1], one.shape) for one in (case.key, case.value))
            case = case._replace(key=key, value=value)
        return case._replace(callee=replace(case.callee, strides=name))

    def _shifted(self, size: float) -> CornerCase:
        """Return arrays whose scores are all near one number: a common part of all keys meets all queries."""
        case = self._case(_TOKENS, _TOKENS)
        length = math.sqrt(abs(size / self.formula.scale(self.sizes.width, self.sizes.heads, _TOKENS)))
        query, key = 0 * case.query, case.key.copy()
        query[..., 0], key[..., 0] = length, math.copysign(length, size)
        if self.sizes.width > 1:
            query[..., 1:] = case.query[..., 1:]
        query, key = (stored(one, self.callee.dtype) for one in (query, key))
        return case._replace(query=query, key=key)

    def _equal(self) -> CornerCase:
        case = self._case(_TOKENS, _TOKENS)
        return case._replace(key=np.broadcast_to(case.key[:, :, :1], case.key.shape).copy())

    def _compared(self, case: CornerCase) -> tuple[CornerOutcome, str]:
        """Return how the output of a case is off, row by row."""
        seen = self.formula.visible(case.query.shape[2], case.key.shape[2])
        if seen is None:
            raise RefusedError("how its mask lies there is not known")
        output = case.callee(case.query, case.key, case.value)
        unit = max(UNITS.get(case.callee.dtype, 2.0**-24), unit_roundoff(output))
        wanted = computed(self.formula, case, unit, seen)
        tells = np.broadcast_to(seen.any(axis=-1), output.shape[:3])
        off = np.linalg.norm(output - wanted.output, axis=-1)
        bad = tells & ~(off <= wanted.room)
        if not bad.any():
            # Coarse types hide in one row what all rows together show.
            square = float((wanted.output[tells] ** 2).sum())
            factor = float((output[tells] * wanted.output[tells]).sum()) / square if square else 1.0
            if abs(factor - 1) > max(8 * unit, 1e-3):
                return "wrong", f"the output is {factor:.3g} times what it should be"
            return "right", ""
        sequence, head, row = (int(one) for one in np.argwhere(bad)[0])
        size = float(np.linalg.norm(wanted.output[sequence, head, row]))
        amount = (
            "NaN or infinite" if not math.isfinite(off[bad].max()) else f"off by {off[bad].max() / size:.2g}"
        )
        said = (
            f"{bad.sum():,} of {tells.sum():,} rows are wrong, the first row {row} of head {head}; {amount}"
        )
        if cause := self._cut(case, output, unit, seen):
            return cause
        return "wrong", said

    def _cut(
        self, case: CornerCase, output: Floats, unit: float, seen: Floats
    ) -> tuple[CornerOutcome, str] | None:
        """Return which keys a function leaves out, where that is what is wrong."""
        keys = case.key.shape[2]
        counts = sorted(
            {*(2**power for power in range(3, 13)), *(keys // step * step for step in (8, 16, 32, 64))}
        )
        last = np.arange(keys) - np.arange(case.query.shape[2])[:, None] - (keys - case.query.shape[2])
        for count in [one for one in counts if 0 < one < keys]:
            first = seen & (np.arange(keys) < count)
            if self._fits(case, output, unit, first):
                return "wrong", f"keys beyond the first {count:,} are left out"
            if self.formula.mask.shift is not None and self._fits(case, output, unit, seen & (last > -count)):
                return (
                    "unknown",
                    f"it sees the last {count:,} keys only, a window that is too long to measure",
                )
        return None

    def _fits(self, case: CornerCase, output: Floats, unit: float, seen: Floats) -> bool:
        wanted = computed(self.formula, case, unit, seen)
        tells = seen.any(axis=-1)
        off = np.linalg.norm(output - wanted.output, axis=-1)
        return bool((off <= wanted.room)[..., tells].all())

    def _left_alone(self) -> tuple[CornerOutcome, str]:
        case = self._case(_TOKENS, _TOKENS)
        changed = case.callee.changed(case.query, case.key, case.value)
        return ("wrong", f"it writes to its {' and '.join(changed)}") if changed else ("right", "")

    def _gradient(self, make: Callable[[], CornerCase], place: int) -> tuple[CornerOutcome, str]:
        """Return how dQ, dK or dV differs from the formula's."""
        case = make()
        seen = self.formula.visible(case.query.shape[2], case.key.shape[2])
        if seen is None:
            raise RefusedError("how its mask lies there is not known")
        if not seen.any(axis=-1).all():
            raise RefusedError("some queries see no key there")
        wanted = computed(self.formula, case, 2.0**-24, seen)
        upstream = np.random.default_rng(4).standard_normal(wanted.output.shape)
        given = case.callee.gradients(case.query, case.key, case.value, upstream)[place]
        formula = wanted.gradients(upstream, self.formula.softcap)[place]
        if given is None:
            return "wrong", "there is none"
        spread = float(np.sqrt((wanted.weights * wanted.scores**2).sum(-1)).max())
        unit = max(UNITS[self.callee.dtype], unit_roundoff(given))
        scale = float(np.linalg.norm(formula)) or 1.0
        least = float(np.linalg.norm(case.value)) * 2.0**-24
        off = float(np.linalg.norm(given - formula))
        if off <= _GRADIENT_ROOM * unit * (1 + spread) * scale + least:
            return "right", ""
        ratio = float((given * formula).sum() / (formula**2).sum()) if formula.any() else math.nan
        if math.isfinite(ratio) and np.linalg.norm(given - ratio * formula) <= 0.01 * abs(ratio) * scale:
            return "wrong", f"it is {ratio:.4g} times what it should be"
        return "wrong", f"it is off by {off / scale:.2g} of its size"


def names_of(sizes: Sizes, *, gradient: bool) -> list[str]:
    """Return the names of all corners of a function with these sizes."""
    formula = FoundFormula(lambda *_: math.nan, Mask(), None, None)
    return Corners(Callee(lambda *_: None, "bhtd", "numpy"), sizes, formula).names(gradient=gradient)


def in_words(corners: tuple[Corner, ...], outcome: CornerOutcome) -> Iterator[str]:
    """Yield a line for each way in which corners have this outcome, with the corners."""
    alike: dict[str, list[str]] = {}
    for one in corners:
        if one.outcome == outcome:
            alike.setdefault(one.text if "rows are wrong" not in one.text else "", []).append(one.name)
    first = {one.name: one.text for one in corners}
    for text, names in alike.items():
        some = "; ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
        yield f"{some}: {text or first[names[0]]}"
