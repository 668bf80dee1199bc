"""E|q·k| grows like the root of the dimension."""

from sympy import (
    Abs, Expr, Rational, S, Sum, Symbol, exp, expand, gamma, gammasimp, pi, sqrt,
)  # fmt: skip

from verify.spec import (
    DLMF_GAMMA, E, INDEPENDENT, NORMAL, NORMAL_COMPONENTS, STANDARD, By, Claim, Derivation, Experiment,
    Figure, Findings, Route, ScorePowers, Simulated, Step, biased, by, cell_of, component, computed, d,
    euler_integral, evaluate, figure, function, index, is_zero, line, measured, over_cells, q, same, score,
    score_law, wrong,
)  # fmt: skip

SIDES = {1: 8, 2: 8, 8: 32, 64: 32, 512: 32}
"""Dimensions, and how many queries and keys a block has in each."""

LABEL = r"$\mathbb{E}|q\cdot k|$"
BOUNDED = 64
"""The dimension in which both bounds are compared."""

LENGTH = Symbol(r"\lVert q\rVert", positive=True)
EXACT = 2 * gamma((d + 1) / 2) / (sqrt(pi) * gamma(d / 2))
ASYMPTOTE = sqrt(2 * d / pi)


@by("SymPy integrates the mean size of a normal number")
def _over_keys(before: Expr, after: Expr) -> bool:
    """Given the query a score is normal with its length as deviation; average the size of such a number."""
    y, deviation = Symbol("y", positive=True), Symbol("s", positive=True)
    density = exp(-(y**2) / (2 * deviation**2)) / (deviation * sqrt(2 * pi))
    size = 2 * euler_integral(y * density, y) / deviation
    return before == E(Abs(score)) and is_zero(after - size * E(LENGTH))


@by("SymPy integrates the mean root of a chi-square number")
def _over_lengths(before: Expr, after: Expr) -> bool:
    """The squared length is chi-square with d degrees of freedom; average its root."""
    w = score_law.w
    mean = euler_integral(sqrt(w) * score_law.CHI_SQUARE, w)
    return same(before.subs(E(LENGTH), mean), after)


@by("SymPy integrates, symbolic d")
def _mean_of_the_density(before: Expr, after: Expr) -> bool:
    mean = score_law.over_both_sides(score_law.x * score_law.DENSITY)
    return before == E(Abs(score)) and same(mean, after)


@by("SymPy: the quotient is 1")
def _shares(before: Expr, after: Expr) -> bool:
    share = before / ASYMPTOTE
    return bool(gammasimp(after / (share * share.subs(d, d + 1))) == S.One)


@by("SymPy: the squares differ by a mean of squares")
def _root_of_the_mean_square(before: Expr, after: Expr) -> bool:
    """The mean square less the squared mean is the mean of a square, and so not negative."""
    (variable,) = before.args
    mean = Symbol("m", real=True)
    deviation = expand((variable - mean) ** 2)
    average = deviation.coeff(variable, 2) * after**2 + deviation.coeff(variable, 1) * mean
    gap = average + deviation.coeff(variable, 0) - (after**2 - mean**2)
    return before == E(variable) and after == sqrt(E(variable**2)) and is_zero(gap)


@by("moment calculus, symbolic d")
def _squared_lengths(before: Expr, after: Expr) -> bool:
    """The squared length is a sum of d squares of mean 1, by the moment calculus."""
    square = evaluate(E(Sum(q[index] ** 2, (index, 1, d))), STANDARD)
    return is_zero(before.subs(E(LENGTH**2), square) - after)


def derive() -> Derivation:
    """Derive the mean size by averaging over keys first, and from the exact density."""
    normal = "Given the query, the score is normal, with the query's length as standard deviation"
    by_length = Route.of(
        "Keys first, then the length of the query",
        E(Abs(score)),
        Step(sqrt(2 / pi) * E(LENGTH), normal, _over_keys),
        Step(EXACT, "The squared length is chi-square", _over_lengths),
    )
    twice = Step(EXACT, "Twice the integral of x f(x)", _mean_of_the_density)
    by_density = Route.of("From the exact density", E(Abs(score)), twice)
    longest = Route.of(
        r"The length of the query, of which the mean size is $\sqrt{2/\pi}$ times the mean",
        E(LENGTH),
        Step(sqrt(E(LENGTH**2)), "No variance is negative (Jensen)", _root_of_the_mean_square, "≤"),
        Step(sqrt(d), r"so the mean size is at most $\sqrt{2d_k/\pi}$", _squared_lengths),
    ).defining("the mean length of a query")
    share = EXACT / ASYMPTOTE
    further = r"Over $\sqrt{2d_k/\pi}$, and times the same one dimension further"
    squares = By(
        "SymPy: both are positive, and their squares agree",
        lambda a, b: a.is_positive and b.is_positive and is_zero(gammasimp(a) ** 2 - b**2),
    )
    squeeze = Route.of(
        r"The share of $\sqrt{2d_k/\pi}$ reached, at most 1, times the next dimension's share",
        EXACT,
        Step(share * share.subs(d, d + 1), further, _shares, "⇒"),
        Step(sqrt(d / (d + 1)), r"so the share lies between $\sqrt{d_k/(d_k+1)}$ and 1", squares),
    )
    return Derivation.of(by_length, by_density, lemmas=(longest, squeeze))


def _size(derivation: Derivation, n: float) -> float:
    """Return the derived mean size in ``n`` dimensions."""
    return float(derivation.result.subs(d, n))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the mean size over the dimensions, and hold it against its bounds at 64."""
    drawn = (Simulated(NORMAL, NORMAL, side, side, n) for n, side in SIDES.items())
    cells = {one.d: cell_of(f"d{one.d}", one, ScorePowers((1,))) for one in drawn}
    size = component("size", positive=True)
    checks = over_cells("magnitude-d{d_k}", LABEL, cells, size, derivation.result)
    at64 = checks[BOUNDED]
    most = ASYMPTOTE.subs(d, BOUNDED)
    least = (ASYMPTOTE * sqrt(d / (d + 1))).subs(d, BOUNDED)
    where, of64 = {"d_k": BOUNDED}, (derivation, BOUNDED)
    upper = computed("upper-bound", LABEL, where, most, _size, *of64, relation="≤")
    lower = computed("lower-bound", LABEL, where, least, _size, *of64, relation="≥")
    less, more = (most * Rational(99, 100), least * Rational(101, 100))
    return Experiment((*checks.values(), upper, lower), (
        wrong(at64, "size-of-deviation",
              r"a typical score has the size of its standard deviation, $\sqrt{d_k}$", sqrt(S(64))),
        wrong(at64, "proportional", r"sizes grow in proportion to $d_k$ from $\sqrt{2/\pi}$ on",
              64 * sqrt(2 / pi)),
        biased(at64, tolerance),
        wrong(upper, "upper-bound-lower", "the upper bound holds with 1% less", less),
        wrong(lower, "lower-bound-higher", "the lower bound holds with 1% more", more),
    ))  # fmt: skip


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw the measured sizes on the exact curve, below its asymptote."""
    return figure(
        "sizes",
        "A typical raw score grows like the root of the dimension",
        "The measured mean size of a score lies on the exact curve, which from a few dimensions on "
        "is the root of two d over pi.",
        LABEL,
        line("exact", function((d,), derivation.result, "mpmath")),
        line(r"$\sqrt{2d_k/\pi}$", function((d,), ASYMPTOTE), "other"),
        measured(findings.matching("magnitude-d*")),
    )


CLAIM = Claim(
    title="The size of a typical score grows like the root of the dimension",
    statement=r"For independent standard normal components, $\mathbb{E}|q\cdot k| = 2\,\Gamma((d_k+1)/2) "
    r"\big/ (\sqrt{\pi}\,\Gamma(d_k/2))$, which tends to $\sqrt{2d_k/\pi}$ from below.",
    meaning="Scores do not grow because vectors with more components point more alike: their mean stays 0. "
    "What grows is their size, about 0.8 times the root of the dimension, half of them positive and half "
    "negative. A raw score of 6 or 7 is ordinary at 64 dimensions.",
    assumptions=(INDEPENDENT, NORMAL_COMPONENTS),
    references=(DLMF_GAMMA,),
)
