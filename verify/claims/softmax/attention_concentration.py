"""Attention concentrates as the scores' spread passes the root of 2 ln n: raw scores around d_k = 2 ln n."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from sympy import Float, Rational, S, Sum, log, sqrt

from verify.spec import (
    INDEPENDENT, KEYS, NORMAL, NORMAL_COMPONENTS, AttentionRows, Axis, Cell, Claim, Comparison, Control,
    Derivation, E, Exact, Experiment, Fact, Figure, Findings, Layer, NormalRows, Quantity, Reference, Route,
    RowMeans, Step, Tolerance, capped, cell_of, complement, component, curve, d, extremes, fact, i,
    integrated, largest, mean_largest, mean_squares, measured, n, over_lengths, p, prediction, s, scaled,
    sharper, sigma, threshold,
)  # fmt: skip

ROWS = ((16, 4), (16, 16), (1024, 8))
"""Numbers of keys and standard deviations of independent normal scores."""
RAW = {16: (1, 6, 11, 64, 256), 256: (4, 11, 22, 32, 64, 256)}
"""Dimensions for each number of keys: 2 ln n is 5.5 and 11.1."""

LABEL = r"$\mathbb{E}\sum p_j^2$"
REST = r"$1 - \mathbb{E}\sum p_j^2$"
TWO = Tolerance(2.0)
MEAN, FEW = component(0, positive=True), complement(0)
SQUARES = Sum(p[i] ** 2, (i, 1, n))


def derive() -> Derivation:
    """Derive the bound from the largest of n scores."""
    subject = 1 - E(SQUARES)
    route = Route(
        r"Independent normal scores of standard deviation $\sigma$",
        subject,
        (
            Step(E(Sum(p[i] * s[i], (i, 1, n))) / sigma**2, "Integration by parts (Stein)", RowMeans()),
            Step(
                E(largest) / sigma**2,
                "No average of scores exceeds the largest",
                RowMeans("≤", reaches=0.999, for_each=True),
                relation="≤",
            ),
            Step(
                sqrt(2 * log(n)) / sigma,
                r"The largest of $n$ normal scores is at most $\sigma\sqrt{2\ln n}$ on average",
                RowMeans("≤", reaches=0.925),
                relation="≤",
            ),
        ),
    )
    return Derivation(
        subject,
        route.end,
        (route,),
        relation="≤",
        beyond="how concentrated the attention of raw and of scaled scores is in a given dimension is "
        "integrated numerically over the scores and the query’s length, and measured.",
    )


def _rows(keys: int, deviation: int) -> Cell:
    sampler = NormalRows(keys, 16, float(deviation), NORMAL, ("squares",))
    return cell_of(f"rows-n{keys}-s{deviation}", sampler)


def _attention(keys: int, d_k: int, scale: Any = S.One) -> Quantity:
    """Return the comparison of attention's concentration with its integral."""
    name, factor = f"{'raw' if scale == 1 else 'scaled'}-n{keys}-d{d_k}", scaled(scale, d_k)
    sampler = AttentionRows(d_k, max(8, d_k // 2), keys, NORMAL, NORMAL, factor, ("squares",))
    exact = integrated(over_lengths(mean_squares, keys, d_k, factor).value)
    return Quantity(name, LABEL, cell_of(name, sampler, scale=scale), MEAN, exact, TWO)


def _largest(keys: int) -> float:
    """Return the mean of the largest of ``keys`` standard normal scores."""
    return mean_largest(keys).value


def _of_largest(name: str, bound: Rational) -> Exact:
    """Return the comparison of the largest of very many scores with √(bound·ln n)."""
    many = KEYS[-1]
    return Exact(
        name,
        "mean of the largest of standard normal scores",
        (("n", many),),
        prediction(sqrt(bound * log(S(many)))),
        _largest(many),
        relation="≤",
        code=_largest,
    )


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure both bounds where they are tight, and real attention below, at and beyond 2 ln n."""
    first, result = derivation.routes[0].steps[1].expression, derivation.result
    near = capped(0.5, tolerance)
    bounds: dict[tuple[int, int], Quantity] = {
        (keys, deviation): Quantity(
            f"bound-n{keys}-s{deviation}",
            REST,
            _rows(keys, deviation),
            FEW,
            prediction(result.subs({n: keys, sigma: deviation})),
            near,
            "≤",
        )
        for keys, deviation in ROWS
    }
    of_largest = first.subs({E(largest): sigma * extremes.LARGEST}).subs(
        {extremes.LARGEST: _largest(16), sigma: 16}
    )
    tight = replace(
        bounds[16, 16], id="by-the-largest-n16-s16", prediction=integrated(float(of_largest)), tolerance=near
    )
    raw = [_attention(keys, one) for keys, dimensions in RAW.items() for one in dimensions]
    even = [_attention(keys, 64, 1 / sqrt(d)) for keys in RAW]
    exact = _of_largest("largest-n1000000", S(2))
    checks: tuple[Comparison, ...] = (*bounds.values(), tight, exact, *raw, *even)
    return Experiment(checks, _controls(tight, bounds[1024, 8], {one.id: one for one in (*raw, *even)}))


def _controls(tight: Quantity, loose: Quantity, attention: dict[str, Quantity]) -> tuple[Control, ...]:
    at_equal, scaled = attention["raw-n256-d64"], attention["scaled-n256-d64"]
    at_once = attention["raw-n256-d11"]
    return (
        sharper(tight, 0.97, 1 - mean_squares(16, 16.0).value),
        sharper(loose, 0.83, 1 - mean_squares(1024, 8.0).value),
        Control(
            r"the largest is at most $\sqrt{1.5\ln n}$", _of_largest("largest-too-small", Rational(3, 2))
        ),
        Control(
            "attention freezes only when there are more dimensions than keys: 256 keys, 64 dimensions",
            replace(at_equal, id="freezes-at-d-equal-n", prediction=threshold(0.2)),
            at_equal.prediction.value,
        ),
        Control(
            r"all weight is on one key as soon as $d_k$ reaches $2\ln n$",
            replace(at_once, id="freezes-at-once", prediction=threshold(S.One)),
            at_once.prediction.value,
        ),
        Control(
            "scaled attention concentrates as well",
            replace(scaled, id="scaled-concentrates", prediction=at_equal.prediction),
            scaled.prediction.value,
        ),
    )


def facts(derivation: Derivation) -> tuple[Fact, ...]:
    """Return where raw attention begins to concentrate, and how much is left of the bounds at most."""
    dimensions = (
        fact(f"freezing-dimension-n{keys}", rf"$2\ln n$ at $n = {keys}$", 2 * log(keys))
        for keys in (16, 256, 4096)
    )
    bound = derivation.result * sigma
    reached = (
        fact(
            f"largest-reached-n{keys}",
            rf"mean of the largest of {keys} standard normal scores over $\sqrt{{2\ln n}}$",
            Float(_largest(keys) / float(bound.subs(n, keys)), 6),
        )
        for keys in (2, 1024, KEYS[-1])
    )
    return (*dimensions, *reached)


def figures(findings: Findings) -> tuple[Figure, ...]:
    """Draw the concentration of raw attention over the dimension, with 2 ln n of each length."""
    layers = []
    for keys, dimensions in RAW.items():
        span, freezing = (float(dimensions[0]), float(dimensions[-1])), 2 * math.log(keys)

        def exact(x: float, keys: int = keys) -> float:
            return over_lengths(mean_squares, keys, x, 1.0).value

        layers += [
            curve("exact" if keys == 16 else "", "truth", exact, span, 17),
            measured((findings.checks[f"raw-n{keys}-d{one}"] for one in dimensions), f"$n = {keys}$"),
            Layer(
                kind="line",
                role="other",
                label=rf"$2\ln {keys}$",
                x=(freezing, freezing + 1e-6),
                y=(0.0, 1.0),
            ),
        ]
    return (
        Figure(
            id="freezing",
            title="Unscaled attention concentrates as the dimension passes twice the logarithm of the length",
            alt="The mean sum of squared weights of unscaled attention over the dimension, for 16 and 256 "
            "keys: it rises steadily, is a quarter to a third where the dimension is twice the logarithm of "
            "the number of keys, about a half at two to three times that, and nears one far beyond.",
            x=Axis(label="dimension $d_k$", scale="log"),
            y=Axis(label=r"mean of $\sum p_j^2$"),
            layers=tuple(layers),
        ),
    )


CLAIM = Claim(
    title="Unscaled attention concentrates on few keys as the dimension passes 2 ln n",
    statement=(
        r"For independent normal scores of standard deviation $\sigma$ over $n$ keys, $1 - \mathbb{E}\sum "
        r"p_j^2 \le \mathbb{E}\max_j s_j/\sigma^2 \le \sqrt{2\ln n}/\sigma$. Raw scores have $\sigma \approx "
        r"\sqrt{d_k}$: over 256 keys $\mathbb{E}\sum p_j^2$ is 0.25 at $d_k = 11 \approx 2\ln n$, 0.42 at "
        r"twice and 0.51 at three times that, and 0.82 at $d_k = 256$; scaled, in 64 dimensions, it is 0.01."
    ),
    meaning=(
        "How many dimensions saturate the softmax depends on the number of keys, but only through its "
        "logarithm: 5.5 dimensions for 16 keys, 17 for 4096. It does not happen at a stroke: there about a "
        "quarter or a third of the weight has come together, and the rest follows slowly. Heads in use, with "
        "64 dimensions and more, are far beyond; without scaling their attention would start out as a lookup "
        "of one or two random keys."
    ),
    assumptions=(INDEPENDENT, NORMAL_COMPONENTS),
    references=(
        Reference(
            key="derrida1981",
            text="B. Derrida, Random-energy model: An exactly solvable model of disordered systems, Phys. "
            "Rev. B 24 (1981), 2613-2626: the freezing point, for ever more keys.",
        ),
    ),
    derive=derive,
    experiment=experiment,
    facts=facts,
    figures=figures,
)
