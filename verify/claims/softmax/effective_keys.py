"""Scaled attention spreads over about n/e keys: n·E Σp² tends to e."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from scipy import integrate as quadrature
from sympy import E as EULER
from sympy import (
    Float,
    Function,
    Integral,
    Limit,
    S,
    Sum,
    Symbol,
    exp,
    expand,
    integrate,
    log,
    oo,
    pi,
    simplify,
    sqrt,
)

from verify.claim import Claim, Findings
from verify.designs import prediction
from verify.evidence import Assumption, Axis, Figure, Layer
from verify.montecarlo.blocks import Cell
from verify.montecarlo.components import NORMAL
from verify.montecarlo.estimands import component
from verify.montecarlo.experiment import Allowance, Control, Exact, Experiment, Prediction, Quantity
from verify.montecarlo.rows import NormalRows
from verify.symbolic.derivation import By, Derivation, Route, Step
from verify.symbolic.expectation import E
from verify.symbolic.integrals import runs_over
from verify.symbolic.predict import function
from verify.symbolic.softmax import Quadrature, i, n, p, sigma

KEYS = (4, 16, 64)
MANY = 10**6
_FINE = 0.05
"""Step of the integration in the logarithm of t."""
LABEL = r"$n\,\mathbb{E}\sum p_j^2$"

t = Symbol("t", positive=True)
z = Symbol("z", real=True)
SQUARES = Sum(p[i] ** 2, (i, 1, n))
psi = Function("psi")
"""ψ(t) = E exp(-t·exp(s)), the Laplace transform of one exponential."""


def _one_exponential(points: Any, deviation: float, power: int) -> Any:
    """Return E exp(power·s - t·exp(s)) at the ``points`` t by the trapezoid rule over normal s."""
    grid = np.arange(-9, 9.01, 0.1)
    density = np.exp(-(grid**2) / 2)
    density /= density.sum()
    raised = np.exp(deviation * grid)
    return (np.exp(-np.multiply.outer(points, raised)) * raised**power) @ density


@cache
def times_squares(keys: int, deviation: float = 1.0) -> float:
    """Return n·E Σp² exactly for ``keys`` keys: n²·∫ t·E[e^{2s - t·e^s}]·ψ(t)^(n-1) dt, numerically."""
    log_t = np.arange(-30.0, 12.0, _FINE)
    points = np.exp(log_t)
    integrand = (
        points**2
        * _one_exponential(points, deviation, 2)
        * _one_exponential(points, deviation, 0) ** (keys - 1)
    )
    return float(keys**2 * np.sum(integrand) * _FINE)


def _for_many(of_n: Any) -> Any:
    """Return the limit for ever more keys, unevaluated."""
    return Limit(of_n, n, oo)


def _laplace(before: Any, after: Any) -> bool:
    """For two and three keys the integral agrees with averaging over all scores directly."""
    if not after.has(Integral):
        return False
    scale = after / _for_many(_LAPLACE)
    for keys in (2, 3):
        for deviation in (0.5, 1.0, 2.0):
            direct = Quadrature.value(before.args[0], keys, deviation)
            if abs(direct - float(scale) * times_squares(keys, deviation)) > 1e-8 * max(1.0, direct):
                return False
    return True


_LAPLACE = n**2 * Integral(t * psi(t).diff(t, 2) * psi(t) ** (n - 1), (t, 0, oo))


def _large_numbers(before: Any, after: Any) -> bool:
    """At a million keys the integral has reached the ratio of moments within a thousandth."""
    del before

    def value(integrand: Any, _: Any) -> Any:
        return Float(quadrature.quad(function((z,), integrand), -12, 12, epsabs=1e-12)[0])

    return all(
        abs(times_squares(MANY, deviation) / float(after.subs(sigma, deviation).replace(Integral, value)) - 1)
        < 1e-3
        for deviation in (0.5, 1.0)
    )


def _mean_exponential(power: int) -> Any:
    return Integral(exp(power * sigma * z - z**2 / 2) / sqrt(2 * pi), (z, -oo, oo))


def _completes_the_square(before: Any, after: Any) -> bool:
    """Shift z so that no linear term is left; what remains is the normal density, whose integral is 1."""

    def value(function: Any, _: Any) -> Any:
        exponent = expand(log(function * sqrt(2 * pi)).expand(force=True))
        linear = exponent.coeff(z, 1)
        shifted = expand(exponent.subs(z, z + linear))
        rest = integrate(exp(shifted - shifted.subs(z, 0)) / sqrt(2 * pi), (z, -oo, oo))
        return exp(shifted.subs(z, 0)) * rest

    whole = runs_over(before, (z, -oo, oo))
    return whole and bool(simplify(before.replace(Integral, value) - after) == 0)


def derive() -> Derivation:
    """Derive the limit from an exact integral for any number of keys and the law of large numbers."""
    subject = _for_many(n * E(SQUARES))
    ratio = _mean_exponential(2) / _mean_exponential(1) ** 2
    route = Route(
        "Many keys",
        subject,
        (
            Step(
                _for_many(_LAPLACE),
                r"Exact for every $n$: $1/Z^2 = \int t\,e^{-tZ}\,dt$ makes the keys independent, "
                r"$\psi(t) = \mathbb{E}\,e^{-t e^s}$",
                By("numerical integration on both sides, n = 2, 3 and σ = 0.5, 1, 2", _laplace, "numerical"),
            ),
            Step(
                ratio,
                r"Law of large numbers: numerator and squared denominator become means",
                By("numerically: the integral at a million keys, within 0.1%", _large_numbers, "numerical"),
            ),
            Step(
                exp(sigma**2),
                "Moments of the lognormal law",
                By("SymPy completes the squares", _completes_the_square, "general"),
            ),
        ),
    )
    return Derivation(subject, route.end, (route,))


def _rows(keys: int, name: str, expected: Prediction) -> Quantity:
    cell = Cell(
        f"rows-n{keys}",
        (("n", keys), ("sigma", 1), ("scores", "independent normal")),
        NormalRows(keys, 4096 // keys, 1.0, NORMAL, ("squares",)),
    )
    return Quantity(name, LABEL, cell, component(0, factor=float(keys), positive=True), expected)


def experiment(derivation: Derivation, tolerance: float) -> Experiment:  # noqa: ARG001  # relative to each value
    """Measure n·E Σp² for several numbers of keys, and in real attention of 64 dimensions."""
    exact = {keys: Prediction(times_squares(keys), f"{times_squares(keys):.5f}") for keys in KEYS}
    checks = tuple(_rows(keys, f"squares-n{keys}", exact[keys]) for keys in KEYS)
    limit = Exact(
        "limit",
        f"{LABEL}, from the exact integral",
        (("n", MANY), ("sigma", 1)),
        prediction(derivation.result.subs(sigma, 1)),
        times_squares(MANY),
        allowance=Allowance(1e-3, "the distance from the limit of infinitely many keys"),
    )
    truth = exact[64].value
    controls = (
        Control(
            "attention spreads over all keys: $n\\sum p_j^2$ is 1",
            _rows(64, "over-all-keys", prediction(S.One)),
            truth,
        ),
        Control("it spreads over half of them", _rows(64, "over-half", prediction(S(2))), truth),
        Control(
            "the limit is reached with four keys",
            _rows(4, "limit-at-once", prediction(EULER)),
            exact[4].value,
        ),
    )
    return Experiment((*checks, limit), controls)


def figures(derivation: Derivation, findings: Findings) -> tuple[Figure, ...]:
    """Draw the approach to e."""
    at = tuple(2**k for k in range(1, 13))
    limit = float(derivation.result.subs(sigma, 1))
    checks = [findings.checks[f"squares-n{keys}"] for keys in KEYS]
    return (
        Figure(
            id="towards-e",
            title=r"Scaled attention uses about a share of $1/e$ of its keys",
            alt="The number of keys times the mean sum of squared weights rises with the number of keys "
            "along the exact curve towards e, 2.718; measured values lie on the curve.",
            x=Axis(label="number of keys $n$", scale="log"),
            y=Axis(label=LABEL),
            layers=(
                Layer(
                    kind="line",
                    role="truth",
                    label="exact",
                    x=tuple(map(float, at)),
                    y=tuple(map(times_squares, at)),
                ),
                Layer(kind="line", role="other", label="$e$", x=(2.0, 4096.0), y=(limit, limit)),
                Layer(
                    kind="points",
                    role="measured",
                    label="measured",
                    x=tuple(map(float, KEYS)),
                    y=tuple(check.estimate for check in checks),
                    lo=tuple(check.interval[0] for check in checks),
                    hi=tuple(check.interval[1] for check in checks),
                ),
            ),
        ),
    )


CLAIM = Claim(
    id="effective-keys",
    order=70,
    title="Scaled attention spreads over about n/e keys",
    statement=(
        r"For independent normal scores of standard deviation $\sigma$, $n\,\mathbb{E}\sum p_j^2 \to "
        r"e^{\sigma^2}$ as the "
        r"number of keys grows: at $\sigma = 1$ the effective number of keys, $1/\sum p_j^2$, is about $n/e$."
    ),
    meaning=(
        "At initialisation a head does not look anything up; it averages more than a third of everything "
        "there is, and with twice as many keys it averages over twice as many. The approach is quick: with "
        f"64 keys the product is {times_squares(64):.2f} of {math.e:.2f}."
    ),
    assumptions=(
        Assumption(id="normal", text=r"Scores are independent and normal with standard deviation $\sigma$."),
    ),
    references=(),
    derive=derive,
    experiment=experiment,
    figures=figures,
)
