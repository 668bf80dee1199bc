"""How an attention function makes scores of queries and keys: scale, soft-cap, normalisation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy

from verify.auditing.heads import HIDDEN, Head, unit_roundoff
from verify.auditing.probing.weights import position_scores, weights
from verify.auditing.scale import implied_scale

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verify.auditing.heads import Floats
    from verify.auditing.probing.callee import Callee
    from verify.auditing.probing.sizes import Sizes
    from verify.auditing.probing.weights import Mask

_CLOSE = 1e-3
_FAR, _POINTS = 60.0, 25
_FARTHEST = 10
_TRIALS = 12
_UNITS = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24}
_LEVEL = 1 - 1e-6


@dataclass(frozen=True)
class Model:
    """The attention that a function was found to compute, but for its scale.

    ``is_biased`` says that positions change scores.
    """

    mask: Mask
    softcap: float | None = None
    sink: tuple[float, ...] | None = None
    factor: float = 1.0
    normalised: tuple[str, ...] = ()
    is_biased: bool = False


@dataclass(frozen=True)
class Measured:
    """The scale at one setting, its interval, and how far the output is from the model.

    ``fits`` says whether the model gives the output up to rounding. ``d``, ``h`` and ``n`` are the width, the
    heads and the number of keys.
    """

    d: int
    h: int
    n: int
    dtype: str
    scale: float
    interval: tuple[float, float]
    residual: float
    fits: bool


def normalised(callee: Callee, sizes: Sizes, tokens: int = 8) -> tuple[str, ...]:
    """Return which of "queries" and "keys" are brought to a length of their own: a factor changes nothing."""
    query, key = sizes.queries(tokens), sizes.keys(tokens)
    usual = weights(callee, query, key)
    if not np.nanmax(np.ptp(usual, axis=-1)) > _CLOSE:
        return ()
    changed = {"queries": weights(callee, 3 * query, key), "keys": weights(callee, query, 3 * key)}
    return tuple(
        name for name, other in changed.items() if np.allclose(usual, other, atol=_CLOSE, equal_nan=True)
    )


def small_scale(callee: Callee, sizes: Sizes) -> float:
    """Return the slope of scores by products near 0; 0 where scores do not follow products."""
    size = 1.0
    flat = position_scores(callee, sizes, 4)[0, -1]
    for _ in range(_TRIALS):
        weight = _along(callee, sizes, np.array([0.0, 0.0, 0.0, size]))
        rise = math.inf
        if (weight[2:] > 0).all() and np.isfinite(flat[2:]).all():
            rise = math.log(weight[3] / weight[2]) - (flat[3] - flat[2])
        if not math.isfinite(rise) or abs(rise) > 0.3:
            size /= 8
        elif abs(rise) < 0.01:
            size *= 8
        else:
            return rise / size
    return 0.0


def softcap_of(callee: Callee, sizes: Sizes, scale: float) -> tuple[float | None, bool]:
    """Return the soft-cap, None where there is none, and whether scores are the scaled products but for it.

    Scaled products run from -60 to 0; log weights of the last row show how scores follow them.
    """
    wanted = np.concatenate([np.linspace(-_FAR, 0, _POINTS), np.linspace(-1, 0, 8)])
    weight = _along(callee, sizes, wanted / scale)
    flat = position_scores(callee, sizes, len(wanted))[0, -1]
    if not (np.isfinite(weight).all() and (weight > 0).all() and np.isfinite(flat).all()):
        return None, False
    scores = np.log(weight / weight[_POINTS - 1]) - (flat - flat[_POINTS - 1])
    if np.allclose(scores, wanted, atol=_CLOSE, rtol=_CLOSE):
        return None, True

    def capped(logarithms: Floats) -> Floats:
        cap, slope = np.exp(logarithms)
        return cap * np.tanh(slope * wanted / cap)

    def residuals(logarithms: Floats) -> Floats:
        return (capped(logarithms) - scores) / (1 + np.abs(scores))

    fit = scipy.optimize.least_squares(residuals, [math.log(_FAR / 2), 0.0])
    is_capped = bool(np.allclose(capped(fit.x), scores, atol=_CLOSE, rtol=10 * _CLOSE))
    cap = float(np.exp(fit.x[0]))
    # A cap far beyond the scores is the rounding of a function that has none.
    return (cap if is_capped and cap < _FARTHEST * _FAR else None), is_capped


def _along(callee: Callee, sizes: Sizes, products: Floats) -> Floats:
    """Return the weights of the last row of the first head where its products with the keys are these.

    All vectors lie along one direction.
    """
    direction = sizes.queries(1)[0, 0, 0]
    direction /= np.linalg.norm(direction)
    stretch = math.sqrt(float(np.abs(products).max()))
    query, _ = sizes.rows(np.broadcast_to(stretch * direction, (len(products), sizes.width)))
    _, key = sizes.rows(products[:, None] / stretch * direction)
    return weights(callee, query, key)[0, 0, -1]


def measure(callee: Callee, sizes: Sizes, model: Model, tokens: int, starts: Sequence[float]) -> Measured:
    """Return the scale on random queries and keys, whose scores at the first of ``starts`` differ by about 1.

    All heads of two sequences take part, so that a function that mixes them does not fit.
    """
    found = [implied_scale(head, starts) for head in heads_of(callee, sizes, model, tokens, starts[0])]
    worst = max(found, key=lambda one: one.residual / one.rounding if one.rounding else math.inf)
    return Measured(
        d=sizes.width,
        h=sizes.heads,
        n=tokens,
        dtype=callee.dtype,
        scale=worst.scale,
        interval=worst.interval(_LEVEL),
        residual=worst.residual,
        fits=all(one.fits for one in found),
    )


def random_arrays(
    callee: Callee, sizes: Sizes, tokens: int, scale: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return queries, keys, values and output of two sequences; scores at ``scale`` differ by about 1."""
    size = (abs(scale) * math.sqrt(sizes.width)) ** -0.5
    arrays = (sizes.queries(tokens, size, 2), sizes.keys(tokens, size, 2), sizes.values(tokens, 2))
    query, key, value = (stored(one, callee.dtype) for one in arrays)
    return query, key, value, callee(query, key, value)


def heads_of(callee: Callee, sizes: Sizes, model: Model, tokens: int, scale: float) -> Iterator[Head]:
    """Yield the heads of random arrays with what the model says of them."""
    query, key, value, output = random_arrays(callee, sizes, tokens, scale)
    seen = model.mask.visible(tokens, tokens)
    bias = position_scores(callee, sizes, tokens) if model.is_biased else np.zeros((sizes.heads, 1, 1))
    added = np.where(seen, bias, HIDDEN)
    telling = np.flatnonzero(seen.sum(axis=1) >= 2)
    for sequence in range(len(query)):
        for head in range(sizes.heads):
            group = head * sizes.key_heads // sizes.heads
            queries, keys = query[sequence, head], key[sequence, group]
            yield Head(
                query=_unit(queries) if "queries" in model.normalised else queries,
                key=_unit(keys) if "keys" in model.normalised else keys,
                value=value[sequence, group],
                output=output[sequence, head] / model.factor,
                added=added[head],
                places=np.arange(tokens),
                # A function may go through a coarser type than it is given.
                unit=max(_UNITS[callee.dtype], unit_roundoff(output)),
                softcap=model.softcap,
                sink=None if model.sink is None else model.sink[head],
            ).at(telling)


def stored(array: Floats, dtype: str) -> Floats:
    """Return numbers as an array of this dtype holds them, in float64."""
    if dtype == "bfloat16":
        bits = array.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)
        return bits.view(np.float32).astype(np.float64)
    return array.astype(dtype).astype(np.float64)


def _unit(array: Floats) -> Floats:
    return array / np.linalg.norm(array, axis=1, keepdims=True)
