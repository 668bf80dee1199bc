"""From a point where an inequality is tight to where it is tighter: many steps at once, in floats."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import fmpq
from sympy import Symbol

from verify.symbolic.arithmetics import Unknown, plain_float, rational
from verify.symbolic.balls import Scene, value
from verify.symbolic.means import ComponentLaw
from verify.symbolic.places import contains, is_simplex, orders, refuse_outside

if TYPE_CHECKING:
    from verify.symbolic.layouts import Layout

ROWS, GENERATIONS, PATIENCE = 128, 60, 15


@dataclass(frozen=True)
class _Coordinates:
    """Coordinates that stand for one thing: a symbol, a family's entries, a law's points or its weights."""

    about: Any
    kind: str
    at: slice
    low: float = -np.inf
    high: float = np.inf


class Climb:
    """The neighbourhood of a point: all that may vary as one vector of floats without bounds."""

    def __init__(self, layout: Layout, at: Scene, sign: int, rng: np.random.Generator) -> None:
        self.layout, self.at, self.sign, self.rng = layout, at, sign, rng
        self.parts: list[_Coordinates] = []
        self.start = np.zeros(0)
        for one in layout.symbols:
            if layout.moves(one) and one not in layout.limits:
                self._add_reals(one, "symbol", layout.domain(one), [at.values[one]])
        for base in layout.bases:
            if base not in layout.random:
                self._add_family(base)
        for one, law in at.laws.items():
            if isinstance(one, Symbol) and layout.moments.get(one, ()) is None and law.kind == "points":
                self._add_reals(one, "points", layout.domain(one), [x for x, _ in law.points])
                self._add(one, "weights", np.log([plain_float(w) for _, w in law.points]))

    def _add(self, about: Any, kind: str, start: Any, low: float = -np.inf, high: float = np.inf) -> None:
        size = len(self.start)
        self.parts.append(_Coordinates(about, kind, slice(size, size + len(start)), low, high))
        self.start = np.concatenate([self.start, start])

    def _add_reals(self, about: Any, kind: str, domain: Any, now: list[Any]) -> None:
        low, high = _ends(domain)
        self._add(about, kind, _opened(np.array([plain_float(x) for x in now]), low, high), low, high)

    def _add_family(self, base: Any) -> None:
        now = np.array([plain_float(x) for key, x in self.at.entries.items() if key[0] == base])
        bound = self.layout.bound_of(base, self.at)
        if is_simplex(base):
            self._add(base, "simplex", np.log(now))
        elif bound is not None:
            far = plain_float(bound)
            self._add(base, "reals", _opened(now, -far, far), -far, far)
        else:
            low, high = _ends(self.layout.domain(base))
            self._add(base, "reals", _opened(now, low, high), low, high)

    def suspects(self, until: float) -> Iterator[Scene]:
        """Yield points at which floats say that the inequality is false, until a time."""
        if not len(self.start):
            return
        best = np.tile(self.start, (8, 1))
        least, idle, told = np.inf, 0, 0
        for _ in range(GENERATIONS):
            if time.thread_time() > until or idle > PATIENCE or told > 3:
                return
            tried = self._stepped(best)
            slack = self._slack(tried)
            order = np.argsort(slack)
            best = tried[order[:8]]
            idle = 0 if slack[order[0]] < least - 1e-12 else idle + 1
            least = min(least, float(slack[order[0]]))
            if least < -1e-9:
                told += 1
                yield self._exact(best[0])

    def _stepped(self, best: Any) -> Any:
        """Return the best again, and steps from them in some coordinates, of many sizes."""
        rng, shape = self.rng, (ROWS - len(best), best.shape[1])
        parents = best[rng.integers(len(best), size=shape[0])]
        size = 10 ** rng.uniform(-3, 0.7, size=(shape[0], 1))
        chosen = rng.random(shape) < rng.choice([0.2, 0.6, 1.0], size=(shape[0], 1))
        step = size * rng.standard_normal(shape) * np.where(self._is_open(), 1 + abs(parents), 1)
        return np.vstack([best, parents + np.where(chosen, step, 0)])

    def _is_open(self) -> Any:
        found = np.zeros(len(self.start), dtype=bool)
        for part in self.parts:
            unbounded = np.isinf(part.low) and np.isinf(part.high)
            found[part.at] = unbounded and part.kind in {"symbol", "reals", "points"}
        return found

    def _slack(self, tried: Any) -> Any:
        scene = self._in_floats(tried)
        with np.errstate(all="ignore"):
            left, right = (np.broadcast_to(value(side, scene), (len(tried),)) for side in self.layout.sides)
            slack = (right - left) * self.sign / (abs(left) + abs(right) + 1e-300)
        return np.where(np.isfinite(slack), slack, np.inf)

    def _in_floats(self, tried: Any) -> Scene:
        tables: dict[Any, Any] = {}
        values: dict[Any, Any] = {}
        laws = dict(self.at.laws)
        for part, found in self._decoded(tried):
            if part.kind == "symbol":
                values[part.about] = found[0]
            elif part.kind in {"simplex", "reals"}:
                tables[part.about] = found.reshape(*self.at.shapes[part.about], len(tried))
            elif part.kind == "points":
                points = found
            else:
                laws[part.about] = ComponentLaw(tuple(zip(points, found, strict=True)))
        return self.at.in_floats(tables=tables).having(values, laws=laws)

    def _decoded(self, tried: Any) -> Iterator[tuple[_Coordinates, Any]]:
        """Yield the parts with their values, which run over the first axis."""
        for part in self.parts:
            raw = tried[:, part.at].T
            if part.kind in {"simplex", "weights"}:
                found = np.exp(np.clip(raw - raw.max(axis=0), -60, 0))
                found = found / found.sum(axis=0)
            else:
                found = _closed(raw, part.low, part.high)
            if part.kind in {"simplex", "reals"} and orders(self.layout, part.about):
                found = -np.sort(-found, axis=0)
            yield part, found

    def _exact(self, vector: Any) -> Scene:
        """Return a point in fractions.

        Raises:
            Outside: a hypothesis does not hold there.
        """
        at = self.at.having({}, entries=dict(self.at.entries), laws=dict(self.at.laws), memo={})
        for part, found in self._decoded(vector[None, :]):
            numbers = [fmpq(*float(x).as_integer_ratio()) for x in found[:, 0]]
            if part.kind in {"simplex", "weights"}:
                total = sum(numbers, fmpq(0))
                numbers = [x / total for x in numbers]
            if part.kind in {"symbol", "points"}:
                self._check(part.about, numbers)
            if part.kind == "symbol":
                at.values[part.about] = numbers[0]
            elif part.kind in {"simplex", "reals"}:
                keys = [key for key in at.entries if key[0] == part.about]
                at.entries.update(zip(keys, numbers, strict=True))
            elif part.kind == "points":
                points = numbers
            else:
                at.laws[part.about] = ComponentLaw(tuple(zip(points, numbers, strict=True)))
        refuse_outside(self.layout, at)
        return at

    def _check(self, about: Any, numbers: list[fmpq]) -> None:
        if not all(contains(self.layout.domain(about), rational(x)) for x in numbers):
            raise Unknown("a step out of the domain")


def _ends(domain: Any) -> tuple[float, float]:
    return float(domain.inf), float(domain.sup)


def _opened(x: Any, low: float, high: float) -> Any:
    """Return numbers of a range as such without bounds."""
    if np.isinf(low) and np.isinf(high):
        return x
    if np.isinf(high):
        return np.log(np.maximum(x - low, 1e-12))
    if np.isinf(low):
        return np.log(np.maximum(high - x, 1e-12))
    part = np.clip((x - low) / (high - low), 1e-9, 1 - 1e-9) if high > low else np.full(x.shape, 0.5)
    return np.log(part / (1 - part))


def _closed(y: Any, low: float, high: float) -> Any:
    """Return numbers without bounds as such of a range; the opposite of ``_opened``."""
    if np.isinf(low) and np.isinf(high):
        return y
    if np.isinf(high):
        return low + np.exp(np.clip(y, -60, 60))
    if np.isinf(low):
        return high - np.exp(np.clip(y, -60, 60))
    return low + (high - low) / (1 + np.exp(-np.clip(y, -40, 40)))
