"""The corners in which kernels are wrong though they are right elsewhere, each a check with a name.

What was found of the function at a few sizes is computed in double precision for other sizes, strides, types
and scores, and compared row by row within what rounding leaves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, NamedTuple, cast

import numpy as np

from verify.auditing.arrays import to_numpy, unit_roundoff
from verify.auditing.blocks import Floats, Head, head_of
from verify.auditing.probing.experiments import UNITS, Mask, stored
from verify.auditing.probing.function import STRIDES, Callee, RefusedError, Sizes
from verify.auditing.recording import Call
from verify.auditing.rows import SINGLE, Residuals, look
from verify.auditing.weighting import SOFTMAX, Weighting

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
_DIRECTIONS, _STEP = 8, 1e-5
"""Random directions along which gradients are compared with differences, and half of their steps."""
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
    weighting: Weighting = SOFTMAX

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
        found["sequences in another order"] = partial(self._permuted, 0)
        if sizes.heads > 1:
            found["heads in another order"] = partial(self._permuted, 1)
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
        if sizes.width % self.formula.weighting.maps:
            raise RefusedError("its vectors are two halves")
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

    def _call(self, case: CornerCase, output: Floats | None = None) -> Call:
        """Return the call that a case should be, each query head with keys and values of its own.

        Raises:
            RefusedError: it is not known which keys queries see.
        """
        formula, heads, key_heads = self.formula, case.query.shape[1], case.key.shape[1]
        seen = formula.visible(case.query.shape[2], case.key.shape[2])
        if seen is None:
            raise RefusedError("how its mask lies there is not known")
        every = np.arange(heads)
        order = every % key_heads if formula.interleaved else every * key_heads // heads
        return Call(
            case.query,
            case.key[:, order],
            case.value[:, order],
            output,
            mask=seen,
            scale=formula.scale(case.query.shape[3], heads, case.key.shape[2]),
            softcap=formula.softcap,
            sink=None if formula.sink is None else np.array(formula.sink),
            weights=formula.weighting.text,
            dtype=case.callee.dtype,
        )

    def _off(self, call: Call) -> Residuals:
        """Return how rows of a call's output differ from its formula, block by block."""
        # A function may go through a coarser type than it is given, or compute more coarsely than it stores.
        unit = _ROOM * max(
            UNITS.get(call.dtype, SINGLE), unit_roundoff(to_numpy(call.output)), self.formula.residual
        )
        blocks = np.arange(call.query.shape[0] * call.query.shape[1])
        return cast("Residuals", look(call, blocks, np.full(len(blocks), call.scale), unit)[1])

    def _compared(self, case: CornerCase) -> tuple[CornerOutcome, str]:
        """Return how the output of a case is off, row by row."""
        call = self._call(case)
        call = replace(call, output=case.callee(case.query, case.key, case.value))
        found = self._off(call)
        bad = found.bad + found.broken
        if not bad.any():
            # Coarse types hide in one row what all rows together show.
            size = float(found.length[:, 1].sum())
            factor = float(found.along[:, 1].sum()) / size if size else 0.0
            unit = max(UNITS.get(call.dtype, SINGLE), unit_roundoff(to_numpy(call.output)))
            if abs(factor) > max(8 * unit, 1e-3):
                return "wrong", f"the output is {1 + factor:.3g} times what it should be"
            return "right", ""
        if cause := self._cut(call):
            return cause
        block = int(np.argmax(found.broken > 0) if found.broken.any() else np.argmax(found.worst))
        of_head = f"head {block % call.query.shape[1]}"
        amount = f"NaN or infinite in {of_head}"
        if not found.broken.any():
            amount = (
                f"row {found.place[block]} of {of_head} is off by {found.worst[block]:.2g} times its room"
            )
        rows = int((found.rows + found.broken).sum())
        return "wrong", f"{int(bad.sum()):,} of {rows:,} rows are wrong; {amount}"

    def _cut(self, call: Call) -> tuple[CornerOutcome, str] | None:
        """Return which keys a function leaves out, where that is what is wrong."""
        (queries, keys), seen = (one.shape[2] for one in (call.query, call.key)), call.mask
        counts = sorted(
            {*(2**power for power in range(3, 13)), *(keys // step * step for step in (8, 16, 32, 64))}
        )
        last = np.arange(keys) - np.arange(queries)[:, None] - (keys - queries)

        def fits(shown: Floats) -> bool:
            found = self._off(replace(call, mask=seen & shown))
            return not (found.bad + found.broken).any()

        for count in [one for one in counts if 0 < one < keys]:
            if fits(np.arange(keys) < count):
                return "wrong", f"keys beyond the first {count:,} are left out"
            if self.formula.mask.shift is not None and fits(last > -count):
                return (
                    "unknown",
                    f"it sees the last {count:,} keys only, a window that is too long to measure",
                )
        return None

    def _permuted(self, axis: int) -> tuple[CornerOutcome, str]:
        """Return whether what stands elsewhere comes out elsewhere, and is else the same."""
        case = self._case(_TOKENS, _TOKENS, sequences=3 if axis == 0 else 1)
        arrays = (case.query, case.key, case.value)
        if axis == 0:
            moved = [one[::-1] for one in arrays]
        else:
            if self.formula.sink is not None:
                raise RefusedError("its heads are given")
            moved = [one[:, ::-1] for one in arrays]
        found, other = case.callee(*arrays), case.callee(*moved)
        other = other[::-1] if axis == 0 else other[:, ::-1]
        room = 64 * max(UNITS[self.callee.dtype], unit_roundoff(found)) * (1 + np.abs(case.value).max())
        worst = float(np.abs(found - other).max())
        return ("right", "") if worst <= room else ("wrong", f"outputs differ by {worst:.2g}")

    def _left_alone(self) -> tuple[CornerOutcome, str]:
        case = self._case(_TOKENS, _TOKENS)
        changed = case.callee.changed(case.query, case.key, case.value)
        return ("wrong", f"it writes to its {' and '.join(changed)}") if changed else ("right", "")

    def _gradient(self, make: Callable[[], CornerCase], place: int) -> tuple[CornerOutcome, str]:
        """Return how dQ, dK or dV differs from the formula's, along random directions."""
        case = make()
        call = self._call(case)
        if not np.any(call.mask, axis=-1).all():
            raise RefusedError("some queries see no key there")
        rng = np.random.default_rng(4)
        upstream = rng.standard_normal(case.query.shape[:3] + case.value.shape[3:])
        arrays = case.query, case.key, case.value
        given = case.callee.gradients(*arrays, upstream)[place]
        if given is None:
            return "wrong", "there is none"
        wanted, found = np.empty(_DIRECTIONS), np.empty(_DIRECTIONS)
        for number in range(_DIRECTIONS):
            way = rng.standard_normal(given.shape)
            ends = []
            for step in (_STEP, -_STEP):
                moved = [one + step * way if at == place else one for at, one in enumerate(arrays)]
                ends.append(float((upstream * _output(self._call(CornerCase(case.callee, *moved)))).sum()))
            wanted[number], found[number] = (ends[0] - ends[1]) / (2 * _STEP), float((given * way).sum())
        spread = _spread(call)
        unit = max(UNITS[self.callee.dtype], unit_roundoff(given))
        scale, least = math.sqrt(float((wanted**2).mean())), float(np.linalg.norm(case.value)) * SINGLE
        off = math.sqrt(float(((found - wanted) ** 2).mean()))
        if off <= _GRADIENT_ROOM * unit * (1 + spread) * scale + least:
            return "right", ""
        ratio = float(found @ wanted / (wanted @ wanted)) if wanted.any() else math.nan
        if np.linalg.norm(found - ratio * wanted) <= 0.01 * abs(ratio) * np.linalg.norm(wanted):
            return "wrong", f"it is {ratio:.4g} times what it should be"
        return "wrong", f"it is off by {off / (scale or 1.0):.2g} of its size"


def _heads(call: Call) -> Iterator[Head]:
    """Yield the heads of a call's sequences, whose outputs do not matter."""
    whole = replace(call, output=np.zeros(call.query.shape[:3] + call.value.shape[3:]))  # type: ignore[union-attr]  # it has values
    for sequence, head in np.ndindex(*call.query.shape[:2]):
        yield head_of(whole, sequence, head, np.arange(call.query.shape[2]))


def _output(call: Call) -> Floats:
    """Return the attention that a call declares, in float64."""
    found = np.stack([one.attend(float(call.scale or 0.0)) for one in _heads(call)])
    return found.reshape(*call.query.shape[:2], *found.shape[1:])


def _spread(call: Call) -> float:
    """Return the largest root mean square of the scores of a row."""
    scale = float(call.scale or 0.0)
    return max(
        float(np.sqrt(np.vecdot(np.abs(one.weights(scale)), (scale * one.products) ** 2)).max())
        for one in _heads(call)
    )


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
