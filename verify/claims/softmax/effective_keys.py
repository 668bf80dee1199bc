"""Scaled attention spreads over about n/e keys: n·E Σp² tends to e."""

from math import e
from typing import Any

from sympy import E as EULER
from sympy import (
    Function, Integral, Limit, S, Sum, Symbol, diff, exp, expand, integrate, limit, log, oo, pi, simplify,
    sqrt, symbols,
)  # fmt: skip

from verify.spec import (
    E, NORMAL, SQUARES, Allowance, Claim, Control, Derivation, Exact, Experiment, Figure, Findings,
    NormalRows, Quantity, Route, Step, assume, by, cell_of, component, figure, i, integrated, line,
    mean_squares, measured, n, prediction, runs_over, s, sigma, vanishes, wrong,
)  # fmt: skip

KEYS, MANY = (4, 16, 64), 10**6
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


@by(r"SymPy: $1/Z^2 = \int t e^{-tZ}dt$, and the second derivative of $e^{-te^s}$", "general")
def _laplace(before: Any, after: Any) -> bool:
    """One of n alike terms: p² is x²/Z², x² and e^(-tx) of its own key give ψ'', each other key gives ψ."""
    x, total = symbols("x Z", positive=True)
    weight = integrate(t * exp(-t * total), (t, 0, oo)) == total**-2
    own = diff(exp(-t * x), t, 2) == x**2 * exp(-t * x)
    alike = vanishes(SQUARES - Sum(exp(2 * s[i]), (i, 1, n)) / Sum(exp(s[i]), (i, 1, n)) ** 2)
    one_key = Integral(t * psi(t).diff(t, 2) * psi(t) ** (n - 1), (t, 0, oo))
    product = before.args[0].xreplace({E(SQUARES): n * one_key})
    return weight and own and alike and after == _for_many(product) and before.args[1:3] == (n, oo)


@by("SymPy: the integrand’s limit at $t = u/n$, and its integral", "general")
def _large_numbers(before: Any, after: Any) -> bool:
    """With ψ = 1 - m₁t + O(t²) and ψ'' = m₂ + O(t) the integrand over u tends to u·m₂·exp(-m₁u).

    The limit may be taken inside: ψψ'' ≥ ψ'², so ln ψ is convex, ψ(t) ≤ ψ(1)^t for t ≤ 1 bounds the integrand
    there by an exponential of u, and for t ≥ 1 what is left falls as ψ(1)^n.
    """
    u, x, y, first, second = symbols("u x y m_1 m_2", positive=True)
    slack, bend = symbols("r r_2", real=True)
    (integral,) = before.atoms(Integral)
    factor, power = before.args[0] / integral, Symbol("power", positive=True)
    plain = integral.function.xreplace({psi(t).diff(t, 2): second + bend * t, psi(t) ** (n - 1): power})
    known = (n - 1) * log(1 - first * t + slack * t**2)
    inside = limit((factor * plain).subs(t, u / n) / n, n, oo) * exp(limit(known.subs(t, u / n), n, oo))
    found = integrate(inside.subs(power, 1), (u, 0, oo))
    moments = {first: _mean_exponential(1), second: _mean_exponential(2)}
    convex = expand((x**2 + y**2) / 2 - x * y - (x - y) ** 2 / 2) == 0
    whole = runs_over(before, (t, 0, oo)) and before.args[1:3] == (n, oo)
    return convex and whole and bool(after == found.xreplace(moments))


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
    expected = prediction(derivation.result.subs(sigma, 1))
    near = Allowance(1e-4, "the distance from the limit of infinitely many keys")
    return Exact(name, label, settings, expected, times_squares(keys), near, code=times_squares)


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
    assumptions=assume(normal=r"Scores are independent and normal with standard deviation $\sigma$."),
)
