"""Whether gradients vanish or explode without scaling: the typical row and the root mean square disagree."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sympy import Function, IndexedBase, Limit, Rational, S, Sum, Symbol, exp, limit, simplify, sqrt

from verify.claim import Claim, Findings
from verify.conditions import INDEPENDENT, NORMAL_COMPONENTS
from verify.designs import biased, prediction, threshold
from verify.evidence import Assumption, Check, Figure, Layer
from verify.montecarlo.blocks import Cell
from verify.montecarlo.distribution_free import Quantile
from verify.montecarlo.estimands import Ratio, Smooth, ratio
from verify.montecarlo.experiment import Control, Experiment, Quantity
from verify.montecarlo.gradients import RowGradients
from verify.pictures import against_dimension, curve, measured
from verify.symbolic.derivation import By, Definition, Derivation, Route, Step
from verify.symbolic.predict import function
from verify.symbolic.printing import Ordered
from verify.symbolic.scores import d
from verify.symbolic.softmax import i, j, n, s

if TYPE_CHECKING:
    from collections.abc import Iterable

TYPICAL = r"median of $\lVert dQ\rVert$, unscaled over scaled"
RMS = r"root mean square of $\lVert dQ\rVert$, unscaled over scaled"
AT_LEAST = r", unscaled norms above 20 units counted as 20, which can only lower the ratio"
OF_KEYS = r"root mean square of $\lVert dK\rVert$, unscaled over scaled"
VALUE_D = 8
CUT = 400.0
"""Squared norms above this count as this, on the unscaled side only: it can but lower the ratio."""

SCALED_GRID = tuple(float(v) for v in np.geomspace(0.7, 1.9, 12))
SPACING, POINTS = 1.1, 17


@dataclass(frozen=True)
class Place:
    """A number of keys and a dimension, the rows of a block, and about where the median norm lies."""

    keys: int
    d: int
    rows: int
    about: float

    @property
    def name(self) -> str:
        """The cell's id."""
        return f"n{self.keys}-d{self.d}"

    @property
    def cell(self) -> Cell:
        """The cell; the grid is laid around where the median is expected, and says so if it misses it."""
        grid = self.about * SPACING ** (np.arange(POINTS) - POINTS // 2)
        settings = (
            ("keys", self.keys),
            ("d_k", self.d),
            ("scale", r"1 and $1/\sqrt{d_k}$"),
            ("query, key, value, upstream", "normal"),
            ("value dimensions", VALUE_D),
            ("block", f"{self.rows} queries, {self.keys} keys"),
        )
        sampler = RowGradients(
            self.keys, self.d, self.rows, VALUE_D, CUT, tuple(float(v) for v in grid), SCALED_GRID
        )
        return Cell(self.name, settings, sampler)


FEW = (Place(16, 4, 64, 1.65), Place(16, 16, 64, 2.6), Place(16, 64, 64, 1.65), Place(16, 128, 64, 0.76),
       Place(16, 256, 32, 0.19))  # fmt: skip
MANY = (Place(128, 64, 16, 10.0), Place(128, 256, 32, 3.35), Place(128, 768, 16, 0.26),
        Place(1024, 64, 8, 40.0))  # fmt: skip
DEAR = (
    Place(128, 512, 32, 0.82),
    Place(128, 1024, 16, 0.087),
    Place(1024, 256, 16, 20.0),
    Place(1024, 2048, 16, 0.12),
)
"""Only for the deep profile."""

g, k = IndexedBase("g"), IndexedBase("k")
a = Symbol("a", integer=True, positive=True)
c, tau = Ordered("c", "b", positive=True), Ordered("tau", "t", positive=True)
delta = Function(r"\delta")
"""δ_j(t): the gradient that reaches the score of key j, at scores t·s, for upstream products g."""


def _even_attention(size: Any) -> Any:
    """Return δ_j(t) in terms of scores and upstream products: p_j(g_j - Σ p_i g_i), scores t·s."""
    weight = exp(size * s[j]) / Sum(exp(size * s[i]), (i, 1, n))
    others = Sum(exp(size * s[i]) * g[i], (i, 1, n)) / Sum(exp(size * s[i]), (i, 1, n))
    return weight * (g[j] - others)


def _norm(size: Any) -> Any:
    return sqrt(Sum(Sum(delta(j, size) * k[j, a], (j, 1, n)) ** 2, (a, 1, d)))


def _numbers(keys: int, dimension: int) -> dict[Any, Any]:
    """Return rational scores, upstream products and keys in general position."""
    values = {s[key]: Rational(3 * key * key - 7 * key + 2, 5) for key in range(1, keys + 1)}
    values |= {g[key]: Rational(key**3 - 4 * key + 3, 3) for key in range(1, keys + 1)}
    return values | {
        k[key, one]: Rational(5 * key - 3 * one * key * key + one, 7)
        for key in range(1, keys + 1)
        for one in range(1, dimension + 1)
    }


def _tends_to(before: Any, after: Any) -> bool:
    """Write the softmax out for a few keys and let SymPy take the limit, for the last key."""
    for keys in (2, 3):
        concrete = before.subs({n: keys}).subs(j, keys).doit()
        value = limit(concrete.args[0] if isinstance(concrete, Limit) else concrete, tau, 0)
        if simplify(value - after.subs({n: keys}).subs(j, keys).doit()) != S.Zero:
            return False
    return True


def _ratio_tends_to(before: Any, after: Any) -> bool:
    """Put the softmax in for δ, with concrete keys, and let SymPy take the limit of the squared ratio."""
    inside = before.args[0]
    for keys, dimension in ((2, 1), (2, 2), (3, 2)):
        concrete = (inside**2).subs({n: keys, d: dimension}).doit()
        written = concrete.replace(delta, lambda key, size, m=keys: _written(key, size, m))
        value = limit(written.xreplace(_numbers(keys, dimension)), tau, 0)
        if simplify(value - after.subs(d, dimension) ** 2) != S.Zero:
            return False
    return True


def _written(key: Any, size: Any, keys: int) -> Any:
    return _even_attention(size).subs({n: keys, j: key}).doit()


def _at_the_root(before: Any, after: Any) -> bool:
    return bool(simplify(before.subs(c, 1 / sqrt(d)) - after) == S.Zero)


def derive() -> Derivation:
    """Derive the ratio where scores hardly vary: attention is even then, and only the factor differs."""
    of_score = Route(
        "What reaches the scores when they hardly vary",
        Limit(_even_attention(tau), tau, 0),
        (
            Step(
                (g[j] - Sum(g[i], (i, 1, n)) / n) / n,
                "Softmax of vanishing scores is even: every probability is one in so many",
                By("SymPy takes the limit, written out for n = 2, 3 keys", _tends_to, "examples"),
            ),
        ),
    )
    start = Limit(_norm(tau) / (c * _norm(c * tau)), tau, 0)
    route = Route(
        r"One query’s gradient $c\sum_j\delta_j k_j$ at scale 1, over that at scale $c$",
        start,
        (
            Step(
                1 / c,
                "Both sums over keys tend to that of even attention; the factor before the keys is left",
                By("SymPy takes the limit for 2 and 3 keys of rational numbers", _ratio_tends_to, "examples"),
            ),
            Step(
                sqrt(d),
                r"At the scale $c = 1/\sqrt{d_k}$",
                By("SymPy puts the scale in", _at_the_root, "general"),
                "⇒",
            ),
        ),
    )
    return Derivation(
        start,
        route.end,
        (route,),
        lemmas=(of_score,),
        definitions=(
            Definition(Limit(_even_attention(tau), tau, 0), "the gradient at a score, of scores that vanish"),
        ),
        beyond="all that is said of scores at full size, both ratios and where that of medians crosses 1, is "
        "only measured.",
    )


def _places(tolerance: float) -> tuple[Place, ...]:
    if tolerance > 0.02:
        return FEW[1:]
    return (*FEW, *MANY, *DEAR) if tolerance < 0.005 else (*FEW, *MANY)


def _median(place: Place) -> Ratio:
    first = 6
    return Ratio(
        Quantile(place.cell.sampler.grid, first),  # type: ignore[attr-defined]  # these are row gradients
        Quantile(SCALED_GRID, first + POINTS),
    )


def _rms_at_least() -> Smooth:
    return ratio(2, 1, 0.5)


def _small(result: Any) -> tuple[Quantity, ...]:
    checks = []
    for dimension in (16, 64):
        size = 0.001 / math.sqrt(dimension)
        sampler = RowGradients(16, dimension, 64, VALUE_D, CUT, query_size=size)
        settings = (
            ("keys", 16),
            ("d_k", dimension),
            ("query", "normal, so small that raw scores have deviation 0.001"),
            ("key, value, upstream", "normal"),
            ("block", "64 queries, 16 keys"),
        )
        cell = Cell(f"small-scores-d{dimension}", settings, sampler)
        expected = prediction(result.subs(d, dimension))
        checks.append(Quantity(f"small-scores-d{dimension}", RMS, cell, ratio(0, 1, 0.5), expected))
    return tuple(checks)


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure medians and root mean squares on both sides of the crossing, and the limit of small scores."""
    places = {place.name: place for place in _places(tolerance)}
    one = threshold(S.One)
    few, high = places["n16-d16"], places["n16-d256"]
    checks: list[Quantity] = [
        Quantity("median-vanishes", TYPICAL, high.cell, _median(high), one, relation="≤"),
        Quantity("rms-grows", RMS + AT_LEAST, high.cell, _rms_at_least(), one, relation="≥"),
        Quantity("rms-grows-keys", OF_KEYS + AT_LEAST, high.cell, ratio(5, 4, 0.5), one, relation="≥"),
    ]
    for place in places.values():
        if place == high:
            continue
        side = "below" if _crossed(place) else "above"
        checks.append(
            Quantity(
                f"median-{side}-1-{place.name}",
                TYPICAL,
                place.cell,
                _median(place),
                one,
                relation="≤" if _crossed(place) else "≥",
            )
        )
        if place.name in {"n16-d64", "n128-d256"}:
            rms = Quantity(
                f"rms-{place.name}", RMS + AT_LEAST, place.cell, _rms_at_least(), one, relation="≥"
            )
            checks.append(rms)
    small = _small(derivation.result)
    controls = (
        Control(
            "gradients vanish in the root mean square, too: without scaling it is smaller",
            Quantity("rms-vanishes", RMS + AT_LEAST, high.cell, _rms_at_least(), one, relation="≤"),
        ),
        Control(
            "the typical gradient is smaller without scaling in every dimension, such as 16",
            Quantity("vanishes-in-every-dimension", TYPICAL, few.cell, _median(few), one, relation="≤"),
        ),
        Control(
            "the typical gradient explodes: without scaling it is larger in high dimension, too",
            Quantity("typical-explodes", TYPICAL, high.cell, _median(high), one, relation="≥"),
        ),
        biased(small[0], tolerance),
    )
    return Experiment((*checks, *small), controls)


def _crossed(place: Place) -> bool:
    """Return whether the typical unscaled gradient is the smaller one there: what its check asserts."""
    return place.d >= {16: 128, 128: 512, 1024: 2048}[place.keys]


def _of_keys(checks: Iterable[Check], keys: int) -> list[Check]:
    return [one for one in checks if one.quantity == TYPICAL and one.cell["keys"] == keys]


def _rms_line(findings: Findings, keys: int) -> Layer:
    """Return the full ratio of root mean squares as it came out: rare rows are too heavy for an interval."""
    places = (one for one in (*FEW, *MANY, *DEAR) if one.keys == keys and one.name in findings.samples)
    means = {one.d: findings.samples[one.name].mean for one in places}
    ratios = {dimension: math.sqrt(mean[0] / mean[1]) for dimension, mean in sorted(means.items())}
    label = f"root mean square, {keys} keys, all norms in full"
    return Layer(kind="line", role="other", label=label, x=tuple(ratios), y=tuple(ratios.values()))


def figures(derivation: Derivation, findings: Findings) -> tuple[Figure, ...]:
    """Draw both ratios over the dimension: the root mean square rises where the median falls below 1."""
    layers = []
    for keys in (16, 128):
        medians = _of_keys(findings.checks.values(), keys)
        if medians:
            layers += [_rms_line(findings, keys), measured(medians, f"median, {keys} keys")]
    level = Layer(kind="line", role="control", label="no difference", x=(4.0, 1024.0), y=(1.0, 1.0))
    limit_of_small = curve(
        r"small scores: $\sqrt{d_k}$", "truth", function((d,), derivation.result), (4, 1024)
    )
    return (
        against_dimension(
            "two-answers",
            "Without scaling the typical gradient dies while the root mean square grows",
            "Ratio of the query gradient's norm without scaling to that with it. The root mean square rises "
            "steadily with the dimension; the median rises first, then falls below one, for 16 keys between "
            "64 and 128 dimensions. The root mean squares drawn count every norm in full; the table’s cut "
            "the largest unscaled ones off, never scaled ones, and so are lower.",
            "norm of a query’s gradient, unscaled over scaled",
            (limit_of_small, level, *layers),
        ),
    )


CLAIM = Claim(
    id="vanishing-or-exploding",
    order=60,
    title="Without scaling the typical gradient vanishes in high dimension while the root mean square grows",
    statement=(
        r"Let $R$ compare the norm of one query’s gradient at scale 1 with that at scale $1/\sqrt{d_k}$, for "
        r"standard normal components. Where scores hardly vary, $R = \sqrt{d_k}$ in the limit. At full size "
        "the ratio of root mean squares is above 1 wherever it was measured; the ratio of medians starts "
        "above 1 and falls below it, for 16 keys between 64 and 128 dimensions and for more keys later: for "
        "128 keys between 256 and 768, for 1024 keys beyond 64."
    ),
    meaning=(
        "“Gradients vanish” and “gradients explode” are both half true. Most rows saturate and send almost "
        "nothing back, but the rare row that is still undecided between two keys sends back a gradient that "
        "lacks the damping factor, and it dominates every mean square. In low dimension, or with many keys, "
        "even the typical gradient is larger without scaling. Say which norm, which statistic and which path "
        "is meant. All this is at initialisation: trained weights are not independent."
    ),
    assumptions=(
        INDEPENDENT,
        NORMAL_COMPONENTS,
        Assumption(
            id="upstream", text="Values and the gradient at the output are standard normal and independent."
        ),
    ),
    references=(),
    derive=derive,
    experiment=experiment,
    figures=figures,
)
