"""Whether a call's output is the attention that it declares: the scale it implies, else which other it is."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from verify.auditing import alternatives
from verify.auditing.alternatives import Place
from verify.auditing.block_statistics import row_means
from verify.auditing.blocks import head_of
from verify.auditing.implied_scale import ROUNDINGS, Rounding, fitted, implied_scale

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from verify.auditing.alternatives import Variant
    from verify.auditing.blocks import Block, Floats, Head
    from verify.auditing.implied_scale import Implied, Model

    Kind = Callable[[Place], Iterator[Variant]]

TOLERANCE = 0.01
"""Relative difference from the intended scale that counts as none."""

_ROWS, _MOST_ROWS, _FEW_ROWS = 16, 256, 4
_MOST_UNEXPLAINED = 2
_LEVEL = 1 - 1e-8
_FEWEST_FITTED = 20

_STEP = 1e-5
_SCREENED, _SCREENED_ROWS = 3, 8
_FAR = 0.1
"""Relative residual after that many iterations beyond which a variant is given up."""
_CLEARLY = 0.5
"""A wrong attention is named where it leaves at most so much of what the declared one does."""
_COARSER = {"11 binary digits (TF32 or float16)": 2.0**-11, "8 binary digits (bfloat16)": 2.0**-8}


@dataclass(frozen=True)
class Examined:
    """What was found of some rows of one block whose call has values and output.

    ``implied`` is None where nothing tells the scale: ``broken`` says that this is for NaN or infinities,
    ``lost`` that the output is 0 throughout where attention is not, ``zero`` that it is so rightly, ``blind``
    that no query sees a key.
    ``explanations`` are wrong attentions that fit where the declared one does not, ``precision`` the coarser
    one that would. ``keys`` is the number of keys, ``rows`` that of the ``queries`` that were looked at.
    """

    intended: float
    keys: int
    queries: int
    d_v: int
    implied: Implied | None
    rows: int = 0
    broken: bool = False
    lost: bool = False
    zero: bool = False
    blind: bool = False
    explanations: tuple[Explanation, ...] = ()
    precision: str = ""


def examine(block: Block) -> Examined | None:
    """Return what is found of a block; None where its call has no output, or enough is known to be wrong.

    The rows are drawn, others in each block. Of the sequences 0, 1, 2, 4, 8 … of a layer there are more, up
    to as many as settle the scale; of the others a few, for a mistake may be in one of them only. When the
    outputs of two sequences of a head are no declared attention, its further ones are not looked at.
    """
    call = block.call
    if call.value is None or call.output is None or len(block.unexplained) >= _MOST_UNEXPLAINED:
        return None
    found = Examined(
        block.intended, int(call.key.shape[2]), int(call.query.shape[2]), int(call.value.shape[3]), None
    )
    is_thorough = not block.place & (block.place - 1)
    rows = _ROWS if is_thorough else _FEW_ROWS
    while True:
        head = _drawn(block, rows)
        found = replace(found, rows=len(head.places))
        finite = np.isfinite(head.output).all(axis=1) & np.isfinite(head.query).all(axis=1)
        if not finite.all() or not (np.isfinite(head.key).all() and np.isfinite(head.value).all()):
            return replace(found, broken=True)
        if not len(head.places):
            return replace(found, blind=block.once(row_means).blind == found.queries)
        if not head.size:
            is_zero = not head.attend(block.intended).any()
            return replace(found, lost=not is_zero, zero=is_zero)
        implied = implied_scale(head, dict.fromkeys((block.intended, block.scale)))
        enough = not is_thorough or len(head.places) < rows or rows >= _MOST_ROWS
        if enough or not implied.fits or _decides(implied, block.intended):
            break
        rows *= 4
    found = replace(found, implied=implied)
    return found if implied.fits else _explained(found, block, head, implied)


def _drawn(block: Block, rows: int) -> Head:
    return head_of(block.call, block.sequence, block.head, rows, seed=block.place)


def _decides(implied: Implied, intended: float) -> bool:
    """Return whether the scale is inside or outside the tolerance at the level of a large audit."""
    low, high = sorted(end / intended for end in implied.interval(_LEVEL))
    is_inside = low >= 1 - TOLERANCE and high <= 1 + TOLERANCE
    return is_inside or high < 1 - TOLERANCE or low > 1 + TOLERANCE


def _explained(found: Examined, block: Block, head: Head, implied: Implied) -> Examined:
    """Return the same with what explains an output that no scale does."""
    block.unexplained.append(block.place)
    starts = dict.fromkeys((block.intended, block.scale, 1.0))
    if len(head.places) < _ROWS:
        places = np.union1d(head.places, _drawn(block, _ROWS).places)
        head = head_of(block.call, block.sequence, block.head, places)
    place = Place(block.call, block.sequence, block.head, head, block.intended)
    if head.output.size < _FEWEST_FITTED:
        return found
    return replace(
        found, explanations=explanations(place, starts), precision=coarser_precision(head, implied.scale)
    )


def implied_unlike_declared(block: Block, before: float | None) -> float | None:
    """Return the scale that a block's output implies; None where the declared one is within the tolerance.

    ``before`` is what was found of the head's last sequence, and stands for a block whose output does not
    tell: scores are what the program made of them, not what it was meant to make.
    """
    found = block.once(examine)
    implied = None if found is None else found.implied
    if implied is None or not implied.fits:
        return before
    low, high = (end - block.declared for end in implied.interval(_LEVEL))
    room = TOLERANCE * abs(block.declared)
    if high < -room or low > room:
        return implied.scale
    return None if -room <= low and high <= room else before


@dataclass(frozen=True)
class Explanation:
    """An attention that gives the output up to rounding: what the program does, what to change.

    ``scale`` is the one it does so with, or where ``is_factor`` the factor of its output.
    """

    cause: str
    fix: str
    scale: float
    is_factor: bool
    residual: float


def explanations(place: Place, starts: Iterable[float]) -> tuple[Explanation, ...]:
    """Return the wrong attentions that give a head's output up to rounding, and better than the declared one.

    ``starts`` are likely scales, the intended one first. If some explain the output with one of these,
    those are returned; else those that do so with any scale that Gauss-Newton reaches from there.
    """
    tried = tuple(dict.fromkeys(starts))
    for kinds in ((alternatives.axes_of_arrays,), alternatives.KINDS):
        if found := _fitting(place, tried, kinds):
            # One that has an expected scale explains more than one that needs its own.
            return tuple([one for one in found if _is_expected(one, tried)] or found)
    return ()


def _fitting(place: Place, starts: Sequence[float], kinds: Iterable[Kind]) -> list[Explanation]:
    """Return the attentions of these kinds that fit; what fits a few rows must fit them all."""
    few = replace(place, head=place.head.thinned(_SCREENED_ROWS))
    likely: dict[str, Explanation] = {}
    for variant in (one for kind in kinds for one in kind(few)):
        if (explanation := _fit(variant, few.head.output, starts)) is not None:
            likely[variant.cause] = explanation
    if not likely:
        return []
    most = _CLEARLY * _declared(place.head, starts)
    return [
        explanation
        for variant in (one for kind in kinds for one in kind(place))
        if variant.cause in likely
        and (explanation := _fit(variant, place.head.output, (likely[variant.cause].scale,))) is not None
        and explanation.residual <= most
    ]


def _declared(head: Head, starts: Iterable[float]) -> float:
    """Return the residual of the declared attention, with the best scale reached from ``starts``."""
    outputs = (head.attend(fitted(head.attended, head.output, start)) for start in starts)
    return min(float(np.linalg.norm(head.output - output)) for output in outputs) / head.size


def _is_expected(found: Explanation, starts: Sequence[float]) -> bool:
    """Return whether an explanation needs no number of its own; a factor may only be the intended scale."""
    known = starts[:1] if found.is_factor else starts
    return any(math.isclose(found.scale, start, rel_tol=0.01) for start in known)


def _fit(variant: Variant, output: Floats, starts: Iterable[float]) -> Explanation | None:
    size = float(np.linalg.norm(output))
    model = _numerical(variant.attend)
    for start in starts:
        scale = fitted(model, output, start, _SCREENED)
        residual = float(np.linalg.norm(output - variant.attend(scale)))
        if residual > _FAR * size:
            continue
        scale = fitted(model, output, scale)
        residual = float(np.linalg.norm(output - variant.attend(scale)))
        if residual <= _allowed(variant, scale, size):
            return Explanation(variant.cause, variant.fix, scale, variant.is_factor, residual / size)
    return None


def _allowed(variant: Variant, scale: float, size: float) -> float:
    """Return the residual that rounding may leave; weights that no model covers lose two more roundings."""
    weights = None if variant.weights is None else variant.weights(scale)
    modelled = Rounding.of(variant.head, 1.0 if variant.is_factor else scale, weights).total
    return ROUNDINGS * math.sqrt(modelled + (2 * variant.head.unit * size) ** 2)


def _numerical(attend: Callable[[float], Floats]) -> Model:
    """Return a model whose derivative is a central difference."""

    def model(scale: float) -> tuple[Floats, Floats]:
        step = _STEP * abs(scale) or _STEP
        return attend(scale), (attend(scale + step) - attend(scale - step)) / (2 * step)

    return model


def coarser_precision(head: Head, scale: float) -> str:
    """Return the coarser precision that would explain the residual at this scale, or nothing."""
    residual = float(np.linalg.norm(head.output - head.attend(scale)))
    for name, unit in _COARSER.items():
        if residual <= ROUNDINGS * math.sqrt(Rounding.of(replace(head, unit=unit), scale).total):
            return name
    return ""
