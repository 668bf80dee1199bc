"""The corners in which kernels are wrong though they are right elsewhere, each a check with a name.

What a function computes, as identified at usual sizes, is computed in double precision for other lengths,
rectangles, strides, types and scores, and compared row by row within what rounding leaves.
"""

import importlib
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np

from verify.auditing.arrays import unit_roundoff
from verify.auditing.formula import Floats, Formula, compare
from verify.auditing.probing.function import STRIDES, Kernel, RefusedError, Sizes
from verify.auditing.probing.model import GROUPINGS, MOST_KEYS, UNITS, Model, fitted_scale, misfit_of

_LENGTHS = (1, 2, 3, 7, 9, 15, 17, 31, 33, 63, 65, 100, 127, 129, 255, 257, 383, 513)
_RECTANGLES = (
    *((1, 2), (1, 65), (1, 1025), (1, MOST_KEYS), (3, 100), (17, MOST_KEYS), (64, 130), (127, 129)),
    *((130, 1025), (2, 1), (100, 3), (130, 64), (1025, 5)),
)
_GRADIENTS = ((16, 16), (65, 65), (100, 100), (1, 33), (17, 130), (130, 17), (5, 257))
_WIDTHS = (1, 8, 40, 80, 96, 128, 256)
_ROOM, _GRADIENT_ROOM = 4.0, 200.0


class Corner(NamedTuple):
    """How a function is in a corner: right, wrong, or it refuses its arrays; ``text`` says how or why."""

    name: str
    outcome: Literal["right", "wrong", "refused"]
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
    compared: Literal["output", "inputs", "gradients"] = "output"

    def arrays(self, scale: float, dtype: str) -> tuple[Floats, Floats, Floats]:
        """Return queries, keys and values for a function with this scale, as a dtype holds them."""
        stretch = math.sqrt(self.spread / (abs(scale) * math.sqrt(self.sizes.width)))
        query, key, value = self.sizes.arrays(
            self.queries, self.keys, self.sequences, stretch=stretch, dtype=dtype
        )
        if self.level:  # a common part of all keys meets all queries
            query[..., 0] = np.float32(math.sqrt(abs(self.level / scale)))
            key[..., 0] = math.copysign(query[0, 0, 0, 0], self.level)
        if self.strides == "broadcast":
            key, value = (np.repeat(array[:1], self.sequences, axis=0) for array in (key, value))
        return query, key, value


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
    table |= {f"scores near {level:+,}": usual._replace(level=float(level)) for level in (1000, -1000)}
    table["inputs left as they are"] = usual._replace(compared="inputs")
    if gradient:
        pairs, backwards = "gradients, {} queries, {} keys", usual._replace(compared="gradients")
        table |= {pairs.format(m, n): backwards._replace(queries=m, keys=n) for m, n in _GRADIENTS}
        table["gradients, scores of 30"] = backwards._replace(spread=30.0)
    return table


def problem_in(case: Case, kernel: Kernel, model: Model, scale: float) -> str:
    """Return how a function that computes ``model`` with this scale is wrong in a corner, else nothing.

    Raises:
        RefusedError: it does not take these arrays.
    """
    if model.sink and len(model.sink) != case.sizes.heads:
        raise RefusedError("its heads are given")
    kernel = replace(kernel, dtype=case.dtype or kernel.dtype, strides=case.strides)
    query, key, value = case.arrays(scale, kernel.dtype)
    if case.compared == "inputs":
        changed = kernel.changed(query, key, value)
        return f"it writes to its {' and '.join(changed)}" if changed else ""
    if case.compared == "gradients":
        return "; ".join(_wrong_gradients(kernel, model, case, scale, (query, key, value)))
    call = model.call(query, key, value, kernel(query, key, value), UNITS[kernel.dtype])
    misfit = misfit_of(compare(Formula(call, scale)), _ROOM)
    other = fitted_scale(call, scale) if misfit else scale
    is_explained = abs(other / scale - 1) > 0.01 and not misfit_of(compare(Formula(call, other)), _ROOM)
    return f"the scale is {other:.4g}" if is_explained else misfit


def _wrong_gradients(
    kernel: Kernel, model: Model, case: Case, scale: float, arrays: tuple[Floats, Floats, Floats]
) -> Iterator[str]:
    """Yield how dQ, dK and dV of the sum of output times random numbers differ from the formula's.

    The formula's are PyTorch's, in double precision.
    """
    seen = model.visible(case.queries, case.keys)
    if not seen.any(axis=-1).all():
        raise RefusedError("queries see no key there")
    upstream = np.random.default_rng(4).standard_normal(arrays[0].shape)
    gradients = kernel.gradients(*arrays, upstream)
    torch: Any = importlib.import_module("torch")
    q, k, v = leaves = [torch.tensor(array, requires_grad=True) for array in arrays]
    order = GROUPINGS[model.groups](case.sizes.heads, case.sizes.key_heads)
    with torch.enable_grad():
        scores, cap = scale * q @ k[:, order].mT, model.softcap
        scores = scores if cap is None else cap * torch.tanh(scores / cap)
        scores = scores.masked_fill(~torch.from_numpy(seen), -torch.inf)
        sinks = torch.tensor(model.sink or [-math.inf], dtype=scores.dtype)
        sinks = sinks.reshape(1, -1, 1, 1).expand(*scores.shape[:3], 1)
        weights = torch.cat([scores, sinks], -1).softmax(-1)[..., :-1]
        ((weights @ v[:, order]) * torch.from_numpy(upstream)).sum().backward()
    # Larger scores have larger errors of rounding, and weights pass them on.
    spread = math.sqrt((weights * scores.nan_to_num(neginf=0.0) ** 2).detach().sum(-1).max())
    for name, given, leaf in zip(("dQ", "dK", "dV"), gradients, leaves, strict=True):
        exact: Floats = leaf.grad.numpy()
        if given is None:
            yield f"{name}: there is none"
            continue
        unit = max(UNITS[kernel.dtype], UNITS[model.dtype], unit_roundoff(given))
        size, off = float(np.linalg.norm(exact)) or 1.0, float(np.linalg.norm(given - exact))
        room = _GRADIENT_ROOM * unit * (1 + spread) * size + float(np.linalg.norm(arrays[2])) * 2.0**-24
        ratio = float((given * exact).sum() / max(float((exact**2).sum()), 1e-300))
        if not off <= room and np.linalg.norm(given - ratio * exact) <= 0.01 * abs(ratio) * size:
            yield f"{name} is {ratio:.4g} times what it should be"
        elif not off <= room:
            yield f"{name} is off by {off / size:.2g} of its size"


def in_words(corners: tuple[Corner, ...]) -> Iterator[str]:
    """Yield a line for each way in which corners are wrong, with the corners."""
    alike: dict[str, list[Corner]] = {}
    for wrong in corners:
        if wrong.outcome == "wrong":
            # Numbers differ from corner to corner.
            kinds = [kind for kind in ("rows are wrong", "the scale is") if kind in wrong.text]
            alike.setdefault((kinds or [wrong.text])[0], []).append(wrong)
    for same in alike.values():
        names = "; ".join(wrong.name for wrong in same[:4])
        more = f" and {len(same) - 4} more" if len(same) > 4 else ""
        yield f"at {names}{more}: {same[0].text}"
