"""In what precision an attention function adds up, keeps its scores, and where they overflow."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from verify.auditing.overflow import LARGEST
from verify.auditing.probing.callee import RefusedError
from verify.auditing.probing.scores import stored
from verify.auditing.probing.weights import weights

if TYPE_CHECKING:
    from collections.abc import Callable

    from verify.auditing.probing.callee import Callee
    from verify.auditing.probing.scores import Model
    from verify.auditing.probing.sizes import Sizes

_MANY = 4096
_LOSS = 0.01
_MODERATE = 30_000.0
# Distances of neighbouring numbers of size 64 to 128.
_SPACING = {"float16": 2.0**-4, "bfloat16": 0.5}


@dataclass(frozen=True)
class Precision:
    """How a function computes with arrays of half precision; None where it could not be asked.

    ``sums_in_dtype`` says that the sum over keys loses what the dtype loses; ``scores_in_dtype`` that scores
    are rounded to it before the softmax; ``overflows`` that products beyond its largest number give NaN or
    infinities although they are within its range after the scale.
    """

    dtype: str
    sums_in_dtype: bool | None
    scores_in_dtype: bool | None
    overflows: bool | None


def precision_of(callee: Callee, sizes: Sizes, model: Model, scale: float, dtype: str) -> Precision | None:
    """Return the precision with arrays of ``dtype``; None where the function does not take them."""
    half = callee.in_dtype(dtype)
    try:
        half(sizes.queries(4), sizes.keys(4), sizes.values(4))
    except RefusedError:
        return None
    is_plain = model.softcap is None and not model.normalised and sizes.width > 1 and scale > 0
    return Precision(
        dtype,
        _asked(lambda: _sums(half, sizes, model)),
        _asked(lambda: _scores(half, sizes, scale)) if is_plain else None,
        _asked(lambda: _overflows(half, sizes, scale)) if is_plain else None,
    )


def _asked(experiment: Callable[[], bool | None]) -> bool | None:
    try:
        return experiment()
    except RefusedError:
        return None


def _sums(half: Callee, sizes: Sizes, model: Model) -> bool | None:
    """Add up 4096 equal weights 2^-12, each of which is lost once a sum in half precision is large enough."""
    is_masked = model.mask.shift is not None
    if is_masked and half.library == "numpy":
        return None  # NumPy's products in half precision would take minutes.
    queries = _MANY if is_masked else 1
    query, _ = sizes.rows(np.zeros((queries, sizes.width)))
    _, key = sizes.rows(np.zeros((_MANY, sizes.width)))
    total = half(query, key, key + 1)[0, 0, -1, 0]
    if not math.isfinite(total):
        return None  # Vectors of 0 are none for a function that divides by their length.
    seen = _MANY if model.mask.window is None else min(model.mask.window, _MANY)
    sink = 0.0 if model.sink is None else math.exp(model.sink[0])
    expected = model.factor * seen / (seen + sink)
    return bool(abs(total / expected - 1) >= _LOSS)


def _scores(half: Callee, sizes: Sizes, scale: float) -> bool | None:
    """Give two keys scaled scores near 90 that differ by a quarter of what rounding to the dtype keeps."""
    step = _SPACING[half.dtype]
    long = 2.0 ** round(math.log2(90 / scale) / 2)
    query, key = 0 * sizes.queries(4), 0 * sizes.keys(4)
    query[..., :2] = long, 1
    key[:, :, :2, 0] = stored(np.array(90 / scale / long), "bfloat16")
    key[:, :, 1, 1] = stored(np.array(step / 4 / scale), "bfloat16")
    apart = scale * float(key[0, 0, 1, 1])
    if not 64 < scale * long * float(key[0, 0, 0, 0]) < 127:
        return None
    last = weights(half, query, key)[0, 0, -1]
    if not (last[:2] > 0).all():
        return None
    return bool(abs(math.log(last[1] / last[0]) - apart) > apart / 2)


def _overflows(half: Callee, sizes: Sizes, scale: float) -> bool | None:
    """Give all keys the same product beyond the dtype's largest number: their weights should be equal."""
    product = 1.25 * LARGEST[half.dtype]
    if half.dtype == "bfloat16" or scale * product > _MODERATE:
        return None
    query, key = 0 * sizes.queries(4), 0 * sizes.keys(4)
    query[..., 0] = key[..., 0] = math.sqrt(product)
    return bool(not np.isfinite(weights(half, query, key)[0, 0, -1]).all())
