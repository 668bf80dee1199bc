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
from verify.auditing.formula import Flags, Floats, Formula, compare
from verify.auditing.probing.function import STRIDES, Callee, RefusedError, Sizes
from verify.auditing.probing.model import UNITS, Model, misfit_of, stored

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
_ROOM, _GRADIENT_ROOM = 4.0, 200.0
_TOKENS = 40

CornerOutcome = Literal["right", "wrong", "unknown", "refused"]
Scale = Callable[[int, int, int], float]
"""The scale that was found, by width, heads and keys; NaN where it is not known."""


class Corner(NamedTuple):
    """How a function is in a corner: as elsewhere, wrong, not understood, or it refuses its arrays.

    ``text`` says how it is wrong, or why it refuses.
    """

    name: str
    outcome: CornerOutcome
    text: str = ""


class CornerCase(NamedTuple):
    """Arrays of a corner, [sequence, head, token, d], in the form in which the function is called."""

    callee: Callee
    query: Floats
    key: Floats
    value: Floats


@dataclass(frozen=True)
class Corners:
    """The corners of one function; each is computed as it is asked for."""

    callee: Callee
    sizes: Sizes
    model: Model
    scale: Scale

    def checks(self, *, gradient: bool = False) -> dict[str, Callable[[], tuple[CornerOutcome, str]]]:
        """Return all corners by name; each is called to be tried."""
        n, (heads, key_heads, _), case = _TOKENS, self.sizes, self._case
        shared = heads // key_heads
        cases: dict[str, Callable[[], CornerCase]] = {
            **{f"{count} tokens": partial(case, count, count) for count in _LENGTHS},
            **{f"{m} queries, {count} keys": partial(case, m, count) for m, count in _RECTANGLES},
            **{f"d = {d}": partial(case, n, n, self.sizes._replace(width=d)) for d in _WIDTHS},
            **{f"{count} sequences": partial(case, n, n, sequences=count) for count in _SEQUENCES},
            **{
                f"{count * shared} heads": partial(
                    case, n, n, self.sizes._replace(heads=count * shared, key_heads=count)
                )
                for count in _HEADS
            },
            **{f"{name} arrays": partial(case, n, n, sequences=2, strides=name) for name in STRIDES},
            **{
                f"{dtype}, {count} tokens": partial(case, count, count, dtype=dtype)
                for dtype in _DTYPES
                for count in (17, 130)
            },
            **{f"scores of {text}": partial(case, n, n, size=size) for text, size in _SCORES.items()},
            **{f"scores near {sign}1,000": partial(self._shifted, sign) for sign in "+-"},
            "values of 10,000": partial(case, n, n, values=1e4),
            "values of 0.0001": partial(case, n, n, values=1e-4),
            "keys that are equal": self._equal,
        }
        checks = {name: partial(self._compared, make) for name, make in cases.items()}
        found: dict[str, Callable[[], tuple[CornerOutcome, str]]] = {
            **checks,
            "inputs left as they are": self._left_alone,
        }
        backwards = {f"{m} queries, {count} keys": partial(case, m, count) for m, count in _GRADIENTS}
        backwards["scores of 30"] = partial(case, n, n, size=30.0)
        for name, make in backwards.items() if gradient else ():
            for place, which in enumerate(("dQ", "dK", "dV")):
                found[f"{which}, {name}"] = partial(self._gradient, make, place)
        return found

    def at(self, name: str) -> Corner:
        """Return how the function is in the corner of this name."""
        try:
            with np.errstate(all="ignore"):
                outcome, text = self.checks(gradient=True)[name]()
        except RefusedError as error:
            return Corner(name, "refused", str(error))
        return Corner(name, outcome, text)

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
        strides: str = "",
    ) -> CornerCase:
        """Return random arrays whose scores have a standard deviation of about ``size``."""
        sizes = sizes or self.sizes
        if sizes.heads != self.sizes.heads and (self.model.sink or "h" not in self.callee.layout):
            raise RefusedError("its heads are given")
        callee = replace(self.callee, dtype=dtype or self.callee.dtype, strides=strides)
        scale = abs(self.scale(sizes.width, sizes.heads, keys))
        if not math.isfinite(scale) or not scale:
            raise RefusedError("its scale is not known at these sizes")
        stretch = math.sqrt(size / (scale * math.sqrt(sizes.width)))
        query, key, value = sizes.arrays(queries, keys, sequences)
        if strides == "broadcast":
            key, value = (np.broadcast_to(array[:1], array.shape) for array in (key, value))
        arrays = (stored(array, callee.dtype) for array in (stretch * query, stretch * key, values * value))
        return CornerCase(callee, *arrays)

    def _shifted(self, sign: str) -> CornerCase:
        """Return arrays whose scores are all near ±1,000: a common part of all keys meets all queries."""
        case = self._case(_TOKENS, _TOKENS)
        length = math.sqrt(1000 / abs(self.scale(self.sizes.width, self.sizes.heads, _TOKENS)))
        query, key = case.query.copy(), case.key.copy()
        query[..., 0], key[..., 0] = length, float(f"{sign}1") * length
        return case._replace(query=stored(query, "float32"), key=stored(key, "float32"))

    def _equal(self) -> CornerCase:
        case = self._case(_TOKENS, _TOKENS)
        return case._replace(key=np.broadcast_to(case.key[:, :, :1], case.key.shape).copy())

    def _formula(self, case: CornerCase, output: Floats, dtype: str) -> Formula:
        scale = self.scale(case.query.shape[3], case.query.shape[1], case.key.shape[2])
        return Formula(self.model.call(case.query, case.key, case.value, output, dtype), scale)

    def _compared(self, make: Callable[[], CornerCase]) -> tuple[CornerOutcome, str]:
        """Return how the output of a case is off, row by row."""
        case = make()
        self.model.visible(case.query.shape[2], case.key.shape[2])
        output = case.callee(case.query, case.key, case.value)
        unit = max(UNITS[case.callee.dtype], UNITS[self.model.dtype], unit_roundoff(output))
        dtype = next(name for name in ("float32", "float16", "bfloat16") if UNITS[name] >= unit)
        formula = self._formula(case, output, dtype)
        misfit = misfit_of(compare(formula), _ROOM)
        if not misfit:
            return "right", ""
        keys, seen = case.key.shape[2], np.asarray(formula.call.mask)
        for count in sorted({2**power for power in range(13)} | {keys // 8 * 8, keys // 16 * 16, keys - 1}):
            for text, part, outcome in (
                (f"keys beyond the first {count:,} are left out", np.arange(keys) < count, "wrong"),
                (f"it sees the last {count:,} keys only", self._last(case, count), "unknown"),
            ):
                if 0 < count < keys and (seen & part).any():
                    other = replace(formula, call=replace(formula.call, mask=seen & part))
                    if not misfit_of(compare(other), _ROOM):
                        return ("wrong", text) if outcome == "wrong" else ("unknown", text)
        return "wrong", misfit

    def _last(self, case: CornerCase, count: int) -> Flags:
        queries, keys = case.query.shape[2], case.key.shape[2]
        last = np.arange(queries)[:, None] + (keys - queries if self.model.wide == "bottom-right" else 0)
        seen: Flags = np.arange(keys) > last - count
        return seen

    def _left_alone(self) -> tuple[CornerOutcome, str]:
        case = self._case(_TOKENS, _TOKENS)
        changed = case.callee.changed(case.query, case.key, case.value)
        return ("wrong", f"it writes to its {' and '.join(changed)}") if changed else ("right", "")

    def _gradient(self, make: Callable[[], CornerCase], place: int) -> tuple[CornerOutcome, str]:
        """Return how dQ, dK or dV of the sum of output times random numbers differs from the chain rule's."""
        case = make()
        formula = self._formula(case, case.query, "float32")
        call, scale = formula.call, float(formula.scale)
        query, key, value, seen = map(np.asarray, (call.query, call.key, call.value, call.mask))
        scores, bent = scale * query @ key.mT, 1.0
        if call.softcap is not None:
            scores = call.softcap * np.tanh(scores / call.softcap)
            bent = 1 - (scores / call.softcap) ** 2
        if not seen.any(axis=-1).all():
            raise RefusedError("some queries see no key there")
        scores = np.where(seen, scores, -np.inf)
        sink = -np.inf if call.sink is None else np.reshape(call.sink, (1, -1, 1, 1))
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        p = e / (e.sum(axis=-1, keepdims=True) + np.exp(sink - scores.max(axis=-1, keepdims=True)))
        upstream = np.random.default_rng(4).standard_normal(query.shape)
        given = case.callee.gradients(case.query, case.key, case.value, upstream)[place]
        if given is None:
            return "wrong", "there is none"
        inner = upstream @ value.mT
        slope = scale * bent * p * (inner - (inner * p).sum(-1, keepdims=True))
        wanted = (slope @ key, slope.mT @ query, p.mT @ upstream)[place]
        if place:  # query heads that share a key head add up
            order = self.model.order(query.shape[1], case.key.shape[1])
            wanted = np.stack(
                [
                    wanted[:, [h for h, own in enumerate(order) if own == g]].sum(1)
                    for g in range(max(order) + 1)
                ],
                1,
            )
        spread = float(np.sqrt((p * np.where(seen, scores, 0) ** 2).sum(-1)).max())
        unit = max(UNITS[self.callee.dtype], UNITS[self.model.dtype], unit_roundoff(given))
        size, off = float(np.linalg.norm(wanted)) or 1.0, float(np.linalg.norm(given - wanted))
        if off <= _GRADIENT_ROOM * unit * (1 + spread) * size + float(np.linalg.norm(value)) * 2.0**-24:
            return "right", ""
        ratio = float((given * wanted).sum() / max(float((wanted**2).sum()), 1e-300))
        if np.linalg.norm(given - ratio * wanted) <= 0.01 * abs(ratio) * size:
            return "wrong", f"it is {ratio:.4g} times what it should be"
        return "wrong", f"it is off by {off / size:.2g} of its size"


def names_of(sizes: Sizes, *, gradient: bool) -> list[str]:
    """Return the names of all corners of a function with these sizes."""
    nothing = Callee(lambda *_: None, "bhtd", "numpy")
    return list(Corners(nothing, sizes, Model(), lambda *_: math.nan).checks(gradient=gradient))


def in_words(corners: tuple[Corner, ...], outcome: CornerOutcome) -> Iterator[str]:
    """Yield a line for each way in which corners have this outcome, with the corners."""
    alike: dict[str, list[Corner]] = {}
    for corner in corners:
        if corner.outcome == outcome:
            alike.setdefault("" if "rows are wrong" in corner.text else corner.text, []).append(corner)
    for same in alike.values():
        names = "; ".join(corner.name for corner in same[:4])
        more = f" and {len(same) - 4} more" if len(same) > 4 else ""
        yield f"{names}{more}: {same[0].text}"
