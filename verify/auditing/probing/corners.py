"""The corners in which kernels are wrong though they are right elsewhere, each a check with a name.

What a function computes, as measured at a few sizes, is computed in double precision for other lengths,
rectangles, strides, types and scores, and compared row by row within what rounding leaves.
"""

import importlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from verify.auditing.arrays import unit_roundoff
from verify.auditing.formula import Floats, Formula, compare
from verify.auditing.probing.function import STRIDES, Kernel, RefusedError, Sizes, rounded
from verify.auditing.probing.model import GROUPINGS, UNITS, Model, misfit_of

_LENGTHS = (1, 2, 3, 7, 9, 15, 17, 31, 33, 63, 65, 100, 127, 129, 255, 257, 383, 513)
_RECTANGLES = (
    *((1, 2), (1, 65), (1, 1025), (1, 4099), (3, 100), (17, 4099), (64, 130), (127, 129), (130, 1025)),
    *((2, 1), (100, 3), (130, 64), (1025, 5)),
)
MOST_KEYS = max(keys for _, keys in _RECTANGLES)
_GRADIENTS = ((16, 16), (65, 65), (100, 100), (1, 33), (17, 130), (130, 17), (5, 257))
_WIDTHS = (1, 8, 40, 80, 96, 128, 256)
_ROOM, _GRADIENT_ROOM = 4.0, 200.0

Outcome = Literal["right", "wrong", "unknown", "refused"]


class Corner(NamedTuple):
    """How a function is in a corner: as elsewhere, wrong, not understood, or it refuses its arrays.

    ``text`` says how it is wrong, or why it refuses.
    """

    name: str
    outcome: Outcome
    text: str = ""


class Case(NamedTuple):
    """The arrays of a corner, and what of the function is compared.

    Scores have a standard deviation of about ``spread``, and are near ``level`` where that is not 0.
    """

    sizes: Sizes
    queries: int = 40
    keys: int = 40
    sequences: int = 1
    dtype: str = ""
    strides: str = ""
    spread: float = 1.0
    level: float = 0.0
    values: float = 1.0
    equal_keys: bool = False
    compared: Literal["output", "inputs", "dQ", "dK", "dV"] = "output"

    def arrays(self, scale: float, dtype: str) -> tuple[Floats, Floats, Floats]:
        """Return queries, keys and values for a function with this scale, as a dtype holds them."""
        stretch = math.sqrt(self.spread / (abs(scale) * math.sqrt(self.sizes.width)))
        query, key, value = self.sizes.arrays(
            self.queries, self.keys, self.sequences, stretch=stretch, dtype=dtype
        )
        if self.level:  # a common part of all keys meets all queries
            query[..., 0] = np.float32(math.sqrt(abs(self.level / scale)))
            key[..., 0] = math.copysign(query[0, 0, 0, 0], self.level)
        if self.equal_keys:
            key = np.repeat(key[:, :, :1], self.keys, axis=2)
        if self.strides == "broadcast":
            key, value = (np.repeat(array[:1], self.sequences, axis=0) for array in (key, value))
        return query, key, rounded(self.values * value, dtype)


def cases(sizes: Sizes, *, gradient: bool = False) -> dict[str, Case]:
    """Return all corners of a function with these sizes by their names."""
    usual, shared = Case(sizes), sizes.heads // sizes.key_heads
    table = {f"{n} tokens": usual._replace(queries=n, keys=n) for n in _LENGTHS}
    table |= {f"{m} queries, {n} keys": usual._replace(queries=m, keys=n) for m, n in _RECTANGLES}
    table |= {f"d = {d}": usual._replace(sizes=sizes._replace(width=d)) for d in _WIDTHS}
    table |= {f"{count} sequences": usual._replace(sequences=count) for count in (1, 3, 4, 5)}
    for count in (1, 3, 8):
        more = sizes._replace(heads=count * shared, key_heads=count)
        table[f"{more.heads} heads"] = usual._replace(sizes=more)
    table |= {f"{name} arrays": usual._replace(sequences=2, strides=name) for name in STRIDES}
    for dtype in ("float16", "bfloat16", "float64"):
        for n in (17, 130):
            table[f"{dtype}, {n} tokens"] = usual._replace(queries=n, keys=n, dtype=dtype)
    table |= {f"scores of {size:,}": usual._replace(spread=float(size)) for size in (30, 100, 10_000)}
    table |= {
        "scores near +1,000": usual._replace(level=1000.0),
        "scores near -1,000": usual._replace(level=-1000.0),
        "values of 10,000": usual._replace(values=1e4),
        "values of 0.0001": usual._replace(values=1e-4),
        "keys that are equal": usual._replace(equal_keys=True),
        "inputs left as they are": usual._replace(compared="inputs"),
    }
    backwards = {f"{m} queries, {n} keys": usual._replace(queries=m, keys=n) for m, n in _GRADIENTS}
    backwards["scores of 30"] = usual._replace(spread=30.0)
    for name, case in backwards.items() if gradient else ():
        table |= {f"d{of}, {name}": case._replace(compared=f"d{of}") for of in "QKV"}  # type: ignore[arg-type]
    return table


@dataclass(frozen=True)
class Corners:
    """The corners of one function, which computes ``model`` with a ``scale`` by width, heads and keys.

    The scale is NaN where it is not known.
    """

    kernel: Kernel
    model: Model
    scale: Callable[[int, int, int], float]

    def at(self, name: str, case: Case) -> Corner:
        """Return how the function is in a corner."""
        try:
            with np.errstate(all="ignore"):
                outcome, text = self._compared(case)
        except RefusedError as error:
            return Corner(name, "refused", str(error))
        return Corner(name, outcome, text)

    def _compared(self, case: Case) -> tuple[Outcome, str]:
        if self.model.sink and len(self.model.sink) != case.sizes.heads:
            raise RefusedError("its heads are given")
        scale = self.scale(case.sizes.width, case.sizes.heads, case.keys)
        if not math.isfinite(scale) or not scale:
            raise RefusedError("its scale is not known at these sizes")
        kernel = replace(self.kernel, dtype=case.dtype or self.kernel.dtype, strides=case.strides)
        query, key, value = case.arrays(scale, kernel.dtype)
        if case.compared == "inputs":
            changed = kernel.changed(query, key, value)
            return ("wrong", f"it writes to its {' and '.join(changed)}") if changed else ("right", "")
        if case.compared != "output":
            return self._gradient(case, scale, query, key, value)

        output = kernel(query, key, value)
        unit = max(UNITS[kernel.dtype], UNITS[self.model.dtype], unit_roundoff(output))
        dtype = next(name for name in ("float32", "float16", "bfloat16") if UNITS[name] >= unit)
        formula = Formula(self.model.call(query, key, value, output, dtype), scale)
        misfit = misfit_of(compare(formula), _ROOM)
        return self._named(formula, misfit) if misfit else ("right", "")

    def _named(self, formula: Formula, misfit: str) -> tuple[Outcome, str]:
        """Return how rows are wrong: keys are left out, or hidden by a window, which may be meant."""
        call = formula.call
        queries, keys, seen = call.query.shape[2], call.key.shape[2], np.asarray(call.mask)
        place, row = np.arange(keys), np.arange(queries)[:, None]
        row = row + (keys - queries if self.model.alignment == "bottom-right" else 0)
        blocks = {2**power for power in range(13)} | {keys // 8 * 8, keys // 16 * 16, keys - 1}
        for count in sorted(block for block in blocks if 0 < block < keys):
            readings: tuple[tuple[Any, Outcome, str], ...] = (
                (place < count, "wrong", f"keys beyond the first {count:,} are left out"),
                (place > row - count, "unknown", f"it sees the last {count:,} keys only"),
            )
            for shown, outcome, text in readings:
                other = replace(formula, call=replace(call, mask=seen & shown))
                if (seen & shown).any() and not misfit_of(compare(other), _ROOM):
                    return outcome, text
        return "wrong", misfit

    def _gradient(
        self, case: Case, scale: float, query: Floats, key: Floats, value: Floats
    ) -> tuple[Outcome, str]:
        """Return how dQ, dK or dV of the sum of output times random numbers differs from the formula's.

        The formula's is PyTorch's, in double precision.
        """
        seen, place = self.model.visible(case.queries, case.keys), ("dQ", "dK", "dV").index(case.compared)
        if not seen.any(axis=-1).all():
            raise RefusedError("queries see no key there")
        upstream = np.random.default_rng(4).standard_normal(query.shape)
        given = self.kernel.gradients(query, key, value, upstream)[place]
        if given is None:
            return "wrong", "there is none"
        torch: Any = importlib.import_module("torch")
        q, k, v = leaves = [torch.tensor(array, requires_grad=True) for array in (query, key, value)]
        order = GROUPINGS[self.model.groups](case.sizes.heads, case.sizes.key_heads)
        with torch.enable_grad():
            scores, cap = scale * q @ k[:, order].mT, self.model.softcap
            scores = scores if cap is None else cap * torch.tanh(scores / cap)
            scores = scores.masked_fill(~torch.from_numpy(seen), -torch.inf)
            sinks = torch.tensor(self.model.sink or [-math.inf], dtype=scores.dtype)
            sinks = sinks.reshape(1, -1, 1, 1).expand(*scores.shape[:3], 1)
            weights = torch.cat([scores, sinks], -1).softmax(-1)[..., :-1]
            ((weights @ v[:, order]) * torch.from_numpy(upstream)).sum().backward()
        exact: Floats = leaves[place].grad.numpy()
        spread = math.sqrt((weights * scores.nan_to_num(neginf=0.0) ** 2).detach().sum(-1).max())
        unit = max(UNITS[self.kernel.dtype], UNITS[self.model.dtype], unit_roundoff(given))
        size, off = float(np.linalg.norm(exact)) or 1.0, float(np.linalg.norm(given - exact))
        if off <= _GRADIENT_ROOM * unit * (1 + spread) * size + float(np.linalg.norm(value)) * 2.0**-24:
            return "right", ""
        ratio = float((given * exact).sum() / max(float((exact**2).sum()), 1e-300))
        if np.linalg.norm(given - ratio * exact) <= 0.01 * abs(ratio) * size:
            return "wrong", f"it is {ratio:.4g} times what it should be"
        return "wrong", f"it is off by {off / size:.2g} of its size"


def in_words(corners: tuple[Corner, ...], outcome: Outcome) -> Iterator[str]:
    """Yield a line for each way in which corners have this outcome, with the corners."""
    alike: dict[str, list[Corner]] = {}
    for corner in corners:
        if corner.outcome == outcome:
            alike.setdefault("" if "rows are wrong" in corner.text else corner.text, []).append(corner)
    for same in alike.values():
        names = "; ".join(corner.name for corner in same[:4])
        more = f" and {len(same) - 4} more" if len(same) > 4 else ""
        yield f"at {names}{more}: {same[0].text}"
