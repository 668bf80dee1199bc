"""Whether a call's output is the attention that the call declares; if not, which other one it is."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from verify.auditing import alternatives, rearrangements
from verify.auditing.rounding import ROUNDINGS, Rounding
from verify.auditing.scale import fitted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from verify.auditing.alternatives import Place, Variant
    from verify.auditing.heads import Floats, Head
    from verify.auditing.scale import Model

    Kind = Callable[[Place], Iterator[Variant]]

_KINDS = ((rearrangements.axes_of_arrays,), (*alternatives.KINDS, *rearrangements.KINDS))
"""The alternatives; what makes all arrays others goes first, and where it fits no other is tried."""

_STEP = 1e-5
_SCREENED, _SCREENED_ROWS = 3, 8
_FAR = 0.1
"""Relative residual after that many iterations beyond which a variant is given up."""
_CLEARLY = 0.5
"""A wrong attention is named where it leaves at most so much of what the declared one does."""
_COARSER = {"11 binary digits (TF32 or float16)": 2.0**-11, "8 binary digits (bfloat16)": 2.0**-8}


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
    for kinds in _KINDS:
        if found := _fitting(place, tried, kinds):
            # One that has an expected scale explains more than one that needs its own.
            return tuple([one for one in found if _is_expected(one, tried)] or found)
    return ()


def _fitting(place: Place, starts: Sequence[float], kinds: Iterable[Kind]) -> list[Explanation]:
    """Return the attentions of these kinds that fit; what fits a few rows must fit them all."""
    few = replace(place, head=place.head.thinned(_SCREENED_ROWS))
    likely: dict[str, Explanation] = {}
    for variant in _variants(few, kinds):
        if (explanation := _explained(variant, few.head.output, starts)) is not None:
            likely[variant.cause] = explanation
    if not likely:
        return []
    most = _CLEARLY * _declared(place.head, starts)
    return [
        explanation
        for variant in _variants(place, kinds)
        if variant.cause in likely
        and (explanation := _explained(variant, place.head.output, (likely[variant.cause].scale,)))
        is not None
        and explanation.residual <= most
    ]


def _declared(head: Head, starts: Iterable[float]) -> float:
    """Return the residual of the declared attention, with the best scale reached from ``starts``."""
    outputs = (head.attend(fitted(head.attended, head.output, start)) for start in starts)
    return min(float(np.linalg.norm(head.output - output)) for output in outputs) / head.size


def _variants(place: Place, kinds: Iterable[Kind]) -> Iterator[Variant]:
    for kind in kinds:
        yield from kind(place)


def _is_expected(found: Explanation, starts: Sequence[float]) -> bool:
    """Return whether an explanation needs no number of its own; a factor may only be the intended scale."""
    known = starts[:1] if found.is_factor else starts
    return any(math.isclose(found.scale, start, rel_tol=0.01) for start in known)


def _explained(variant: Variant, output: Floats, starts: Iterable[float]) -> Explanation | None:
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
        if residual <= ROUNDINGS * math.sqrt(Rounding.of(head.changed(unit=unit), scale).total):
            return name
    return ""
