"""Scaled attention spreads over about n/e keys: n·E Σp² tends to e."""

from math import e
from typing import Any

import numpy as np
import scipy
from sympy import E as EULER
from sympy import (
    Float, Function, Integral, Limit, S, Symbol, exp, expand, integrate, log, oo, pi, simplify, sqrt, symbols,
)  # fmt: skip

from verify.spec import (
    E, NORMAL, SQUARES, Allowance, Assumption, Claim, Control, Derivation, Exact, Experiment, Figure,
    Findings, NormalRows, Quadrature, Quantity, Route, Step, by, cell_of, component, figure, function,
    integrated, line, mean_squares, measured, n, prediction, runs_over, sigma, wrong,
)  # fmt: skip

KEYS, MANY = (4, 16, 64), 10**6
_FINE = 0.05
"""Step of the integration in the logarithm of t."""
LABEL = r"$n\,\mathbb{E}\sum p_j^2$"

t = Symbol("t", positive=True)
z = Symbol("z", real=True)
psi = Function("psi")
"""ψ(t) = E exp(-t·exp(s)), the Laplace transform of one exponential."""


def times_squares(keys: int) -> float:
    """Return n·E Σp² for ``keys`` keys with scores of deviation 1, integrated."""
    return keys * mean_squares(keys, 1.0).value


def _for_many(of_n: Any) -> Any:
    """Return the limit for ever more keys, unevaluated."""
    return Limit(of_n, n, oo)


_LAPLACE = n**2 * Integral(t * psi(t).diff(t, 2) * psi(t) ** (n - 1), (t, 0, oo))


def _one_exponential(points: Any, deviation: float, power: int) -> Any:
    """Return E exp(power·s - t·exp(s)) at the ``points`` t by the trapezoid rule over normal s."""
    grid = np.arange(-9, 9.01, 0.1)
    density = np.exp(-(grid**2) / 2)
    density /= density.sum()
    raised = np.exp(deviation * grid)
    return (np.exp(-np.multiply.outer(points, raised)) * raised**power) @ density


def _by_laplace(expression: Any, keys: int, deviation: float) -> float:
    """Return an expression's integral over t, with ψ and its second derivative integrated over one score."""
    (integral,) = expression.atoms(Integral)
    value, bend = symbols("value bend")
    plain = integral.function.subs(psi(t).diff(t, 2), bend).subs(psi(t), value).subs(n, keys)
    log_t = np.arange(-30.0, 12.0, _FINE)
    points = np.exp(log_t)
    parts = (points, *(_one_exponential(points, deviation, power) for power in (0, 2)))
    total = float(np.sum(points * function((t, value, bend), plain, "numpy")(*parts)) * _FINE)
    return float((expression / integral).subs(n, keys)) * total


@by("numerical integration on both sides, n = 2, 3 and σ = 0.5, 1, 2", "numerical")
def _laplace(before: Any, after: Any) -> bool:
    """For two and three keys the integral agrees with averaging over all scores directly."""
    one, other = before.args[0], after.args[0]
    return (
        before == _for_many(one)
        and after == _for_many(other)
        and runs_over(other, (t, 0, oo))
        and all(
            abs(Quadrature.value(one, keys, deviation) - _by_laplace(other, keys, deviation)) < 1e-8
            for keys in (2, 3)
            for deviation in (0.5, 1.0, 2.0)
        )
    )


@by("numerically: the integral at a million keys, within 0.1%", "numerical")
def _large_numbers(before: Any, after: Any) -> bool:
    """At a million keys the integral has reached the ratio of moments within a thousandth."""

    def value(integrand: Any, _: Any) -> Any:
        return Float(scipy.integrate.quad(function((z,), integrand), -12, 12, epsabs=1e-12)[0])

    def share(deviation: float) -> float:
        limit = float(after.subs(sigma, deviation).replace(Integral, value))
        return MANY * mean_squares(MANY, deviation).value / limit

    return before == _for_many(_LAPLACE) and all(abs(share(one) - 1) < 1e-3 for one in (0.5, 1.0))


def _mean_exponential(power: int) -> Any:
    return Integral(exp(power * sigma * z - z**2 / 2) / sqrt(2 * pi), (z, -oo, oo))


@by("SymPy completes the squares", "general")
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
    route = Route.of(
        "Many keys",
        subject,
        Step(_for_many(_LAPLACE),
             r"Exact for every $n$: $1/Z^2 = \int t\,e^{-tZ}\,dt$ makes the keys independent, "
             r"$\psi(t) = \mathbb{E}\,e^{-t e^s}$", _laplace),
        Step(ratio, r"Law of large numbers: numerator and squared denominator become means", _large_numbers),
        Step(exp(sigma**2), "Moments of the lognormal law", _completes_the_square),
    )  # fmt: skip
    return Derivation.of(route)


def _rows(keys: int) -> Quantity:
    cell = cell_of(f"rows-n{keys}", NormalRows(keys, 4096 // keys, 1.0, NORMAL, ("squares",)))
    mean = component("squares", factor=float(keys), positive=True)
    return Quantity(f"squares-n{keys}", LABEL, cell, mean, integrated(times_squares(keys)))


def _limit(name: str, derivation: Derivation, keys: int) -> Exact:
    """Return the comparison of the integral for so many keys with the limit for ever more."""
    label, settings = f"{LABEL}, from the exact integral", (("n", keys), ("sigma", 1))
    limit = prediction(derivation.result.subs(sigma, 1))
    near = Allowance(1e-4, "the distance from the limit of infinitely many keys")
    return Exact(name, label, settings, limit, times_squares(keys), near, code=times_squares)


def experiment(derivation: Derivation) -> Experiment:
    """Measure n·E Σp² for several numbers of keys, and compare that of very many with the limit."""
    few, some, many = (_rows(keys) for keys in KEYS)
    thousand = _limit("limit-at-thousand", derivation, 1000)
    controls = (
        wrong(many, "over-all-keys", "attention spreads over all keys: $n\\sum p_j^2$ is 1", S.One),
        wrong(many, "over-half", "it spreads over half of them", S(2)),
        wrong(few, "limit-at-once", "the limit is reached with four keys", EULER),
        Control("a thousand keys are as good as infinitely many", thousand),
    )
    return Experiment((few, some, many, _limit("limit", derivation, MANY)), controls)


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw the approach to e."""
    limit, span = float(derivation.result.subs(sigma, 1)), (2.0, 4096.0)
    return figure(
        "towards-e",
        r"Scaled attention uses about a share of $1/e$ of its keys",
        "The number of keys times the mean sum of squared weights rises with the number of keys "
        "along the exact curve towards e, 2.718; measured values lie on the curve.",
        LABEL,
        line("exact", lambda keys: times_squares(round(keys)), over=span, points=12),
        line("$e$", limit, "other", over=span, points=2),
        measured(findings.matching("squares-n*"), against="n"),
        x="number of keys $n$",
        y_scale="linear",
    )


CLAIM = Claim(
    title="Scaled attention spreads over about n/e keys",
    statement=r"For independent normal scores of standard deviation $\sigma$, $n\,\mathbb{E}\sum p_j^2 \to "
    r"e^{\sigma^2}$ as the number of keys grows: at $\sigma = 1$ the effective number of keys, $1/\sum "
    "p_j^2$, is about $n/e$.",
    meaning="At initialisation a head does not look anything up; it averages more than a third of everything "
    "there is, and with twice as many keys it averages over twice as many. The approach is quick: with "
    f"64 keys the product is {times_squares(64):.2f} of {e:.2f}.",
    assumptions=(
        Assumption(id="normal", text=r"Scores are independent and normal with standard deviation $\sigma$."),
    ),
    derive=derive,
    experiment=experiment,
    figures=figures,
)
