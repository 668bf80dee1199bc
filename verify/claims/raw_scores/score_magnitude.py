"""E|q·k| grows like the root of the dimension."""

from __future__ import annotations

from typing import Any

from sympy import (
    Abs,
    Rational,
    S,
    Sum,
    Symbol,
    exp,
    expand,
    gamma,
    gammasimp,
    integrate,
    oo,
    pi,
    simplify,
    sqrt,
)

from verify.spec import (
    INDEPENDENT, NORMAL, NORMAL_COMPONENTS, STANDARD, By, Claim, Control, Definition, Derivation, E, Exact,
    Experiment, Figure, Findings, Quantity, Reference, Relation, Route, ScorePowers, Step,
    against_dimension, biased, cell_of, component, curve, d, evaluate, function, index, measured,
    prediction, q, score, score_law,
)  # fmt: skip

DIMENSIONS = (1, 2, 8, 64, 512)
LABEL = r"$\mathbb{E}|q\cdot k|$"
BOUNDED = 64
"""The dimension in which both bounds are compared."""

LENGTH = Symbol(r"\lVert q\rVert", positive=True)
EXACT = 2 * gamma((d + 1) / 2) / (sqrt(pi) * gamma(d / 2))
ASYMPTOTE = sqrt(2 * d / pi)
MEAN_SIZE = component("size", positive=True)


def _averages_over_keys(before: Any, after: Any) -> bool:
    """Given the query a score is normal with its length as deviation; average the size of such a number."""
    y, deviation = Symbol("y", positive=True), Symbol("s", positive=True)
    density = exp(-(y**2) / (2 * deviation**2)) / (deviation * sqrt(2 * pi))
    size = simplify(2 * integrate(y * density, (y, 0, oo)) / deviation)
    return bool(before == E(Abs(score)) and simplify(after - size * E(LENGTH)) == S.Zero)


def _averages_over_lengths(before: Any, after: Any) -> bool:
    """The squared length is chi-square with d degrees of freedom; average its root."""
    w = Symbol("w", positive=True)
    chi_square = w ** (d / 2 - 1) * exp(-w / 2) / (2 ** (d / 2) * gamma(d / 2))
    mean = integrate(sqrt(w) * chi_square, (w, 0, oo), conds="none")
    return bool(gammasimp(simplify(before.subs(E(LENGTH), mean) / after)) == S.One)


def _is_the_mean_of_the_density(before: Any, after: Any) -> bool:
    mean = integrate(2 * score_law.x * score_law.DENSITY, (score_law.x, 0, oo), meijerg=True, conds="none")
    return before == E(Abs(score)) and bool(gammasimp(simplify(mean / after)) == S.One)


def _shares(before: Any, after: Any) -> bool:
    share = before / ASYMPTOTE
    return bool(gammasimp(after / (share * share.subs(d, d + 1))) == S.One)


def _product_of_neighbours(before: Any, after: Any) -> bool:
    return bool(simplify(gammasimp(before) ** 2 - after**2) == S.Zero)


def _is_root_of_the_mean_square(before: Any, after: Any) -> bool:
    """The mean square less the squared mean is the mean of a square, and so not negative."""
    (variable,) = before.args
    mean = Symbol("m", real=True)
    deviation = expand((variable - mean) ** 2)
    average = deviation.coeff(variable, 2) * after**2 + deviation.coeff(variable, 1) * mean
    gap = average + deviation.coeff(variable, 0) - (after**2 - mean**2)
    return before == E(variable) and after == sqrt(E(variable**2)) and bool(simplify(gap) == S.Zero)


def _averages_squared_lengths(before: Any, after: Any) -> bool:
    """The squared length is a sum of d squares of mean 1, by the moment calculus."""
    square = evaluate(E(Sum(q[index] ** 2, (index, 1, d))), STANDARD)
    return bool(simplify(before.subs(E(LENGTH**2), square) - after) == S.Zero)


def derive() -> Derivation:
    """Derive the mean size by averaging over keys first, and from the exact density."""
    by_length = Route(
        "Keys first, then the length of the query",
        E(Abs(score)),
        (
            Step(
                sqrt(2 / pi) * E(LENGTH),
                "Given the query, the score is normal, with the query's length as standard deviation",
                By("SymPy integrates the mean size of a normal number", _averages_over_keys, "general"),
            ),
            Step(
                EXACT,
                "The squared length is chi-square",
                By(
                    "SymPy integrates the mean root of a chi-square number", _averages_over_lengths, "general"
                ),
            ),
        ),
    )
    by_density = Route(
        "From the exact density",
        E(Abs(score)),
        (
            Step(
                EXACT,
                "Twice the integral of x f(x)",
                By("SymPy integrates, symbolic d", _is_the_mean_of_the_density, "general"),
            ),
        ),
    )
    share = EXACT / ASYMPTOTE
    longest = Route(
        r"The length of the query, of which the mean size is $\sqrt{2/\pi}$ times the mean",
        E(LENGTH),
        (
            Step(
                sqrt(E(LENGTH**2)),
                "No variance is negative (Jensen)",
                By("SymPy: the squares differ by a mean of squares", _is_root_of_the_mean_square, "general"),
                relation="≤",
            ),
            Step(
                sqrt(d),
                r"so the mean size is at most $\sqrt{2d_k/\pi}$",
                By("moment calculus, symbolic d", _averages_squared_lengths, "general"),
            ),
        ),
    )
    squeeze = Route(
        r"The share of $\sqrt{2d_k/\pi}$ reached, at most 1, times the next dimension's share",
        EXACT,
        (
            Step(
                share * share.subs(d, d + 1),
                r"Over $\sqrt{2d_k/\pi}$, and times the same one dimension further",
                By("SymPy: the quotient is 1", _shares, "general"),
                "⇒",
            ),
            Step(
                sqrt(d / (d + 1)),
                r"so the share lies between $\sqrt{d_k/(d_k+1)}$ and 1",
                By("SymPy: both squares agree", _product_of_neighbours, "general"),
            ),
        ),
    )
    length = Definition(E(LENGTH), "the mean length of a query")
    return Derivation(
        E(Abs(score)),
        EXACT,
        (by_length, by_density),
        lemmas=(longest, squeeze),
        definitions=(length,),
    )


def _check(n: int, name: str, expected: Any) -> Quantity:
    side = 8 if n < 8 else 32
    cell = cell_of(f"d{n}", ScorePowers(n, side, NORMAL, NORMAL, (1,)))
    return Quantity(name, LABEL, cell, MEAN_SIZE, prediction(expected))


def _size(derivation: Derivation, n: float) -> float:
    """Return the derived mean size in ``n`` dimensions."""
    return float(derivation.result.subs(d, n))


def _bound(derivation: Derivation, name: str, relation: Relation, bound: Any) -> Exact:
    """Return the comparison of the mean size at 64 dimensions with a bound, an expression in d."""
    size = _size(derivation, BOUNDED)
    expected = prediction(bound.subs(d, BOUNDED))
    return Exact(name, LABEL, (("d_k", BOUNDED),), expected, size, relation=relation, code=_size)


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the mean size over the dimensions, and hold it against its bounds at 64."""
    result = derivation.result
    checks = tuple(_check(n, f"magnitude-d{n}", result.subs(d, n)) for n in DIMENSIONS)
    at64 = dict(zip(DIMENSIONS, checks, strict=True))[BOUNDED]
    truth = at64.prediction.value
    least = ASYMPTOTE * sqrt(d / (d + 1))
    bounds = (
        _bound(derivation, "upper-bound", "≤", ASYMPTOTE),
        _bound(derivation, "lower-bound", "≥", least),
    )
    controls = (
        Control(
            r"a typical score has the size of its standard deviation, $\sqrt{d_k}$",
            _check(64, "size-of-deviation", sqrt(S(64))),
            truth,
        ),
        Control(
            r"sizes grow in proportion to $d_k$ from $\sqrt{2/\pi}$ on",
            _check(64, "proportional", 64 * sqrt(2 / pi)),
            truth,
        ),
        biased(at64, tolerance),
        Control(
            "the upper bound holds with 1% less",
            _bound(derivation, "upper-bound-lower", "≤", ASYMPTOTE * Rational(99, 100)),
        ),
        Control(
            "the lower bound holds with 1% more",
            _bound(derivation, "lower-bound-higher", "≥", least * Rational(101, 100)),
        ),
    )
    return Experiment((*checks, *bounds), controls)


def figures(derivation: Derivation, findings: Findings) -> tuple[Figure, ...]:
    """Draw the measured sizes on the exact curve, below its asymptote."""
    span = (DIMENSIONS[0], DIMENSIONS[-1])
    return (
        against_dimension(
            "sizes",
            "A typical raw score grows like the root of the dimension",
            "The measured mean size of a score lies on the exact curve, which from a few dimensions on "
            "is the root of two d over pi.",
            r"$\mathbb{E}|q\cdot k|$",
            (
                curve("exact", "truth", lambda x: _size(derivation, x), span),
                curve(r"$\sqrt{2d_k/\pi}$", "other", function((d,), ASYMPTOTE), span),
                measured((findings.checks[f"magnitude-d{n}"] for n in DIMENSIONS), "measured"),
            ),
        ),
    )


CLAIM = Claim(
    title="The size of a typical score grows like the root of the dimension",
    statement=r"For independent standard normal components, $\mathbb{E}|q\cdot k| = 2\,\Gamma((d_k+1)/2) "
    r"\big/ (\sqrt{\pi}\,\Gamma(d_k/2))$, which tends to $\sqrt{2d_k/\pi}$ from below.",
    meaning="Scores do not grow because vectors with more components point more alike: their mean stays 0. "
    "What grows is their size, about 0.8 times the root of the dimension, half of them positive and half "
    "negative. A raw score of 6 or 7 is ordinary at 64 dimensions.",
    assumptions=(INDEPENDENT, NORMAL_COMPONENTS),
    references=(
        Reference(
            key="dlmf5",
            text="NIST Digital Library of Mathematical Functions, chapter 5 (the gamma function).",
            url="https://dlmf.nist.gov/5",
        ),
    ),
    derive=derive,
    experiment=experiment,
    figures=figures,
)
