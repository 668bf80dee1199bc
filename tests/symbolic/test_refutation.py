"""The second net finds where honest mistakes are false, and nothing where a line is true."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import Abs, Add, Derivative, Eq, Expr, I, Integral, Le, Limit, Min, Mul, Rational, S, Sum, Symbol
from sympy import Subs, cos, erf, exp, log, oo, pi, sqrt, symbols

from tests.symbolic.lines import refused
from verify.montecarlo.distributions import UNIT_INTERVAL
from verify.montecarlo.quantities import measurement
from verify.symbolic.calculus import expected
from verify.symbolic.chains import Chain, Line, LineCheck
from verify.symbolic.checks import algebra, substitute
from verify.symbolic.notation import latex, plain
from verify.symbolic.refutation import Counterexample, refute
from verify.symbolic.vocabulary import NORMAL_COMPONENTS, NORMAL_ROWS, STANDARD, UNIT, Cov, Dot, E
from verify.symbolic.vocabulary import Family, Indicator, Largest, Law, LogSumExp, Named, Quantile
from verify.symbolic.vocabulary import Softmax, Var, a, d, i, j, k, l, m, n, normal, over_components
from verify.symbolic.vocabulary import over_keys, q, s, score, score_of, sigma, squares

r, x = symbols("r x", real=True)
t, c, w = symbols("t c w", positive=True)
p = Softmax(s[a, j], j)
spread = sigma * s[a, j]
second = Softmax(s[a, l], l)
y, parts = Family("y", d), Family("z", m, 4, d)
gap = s[a, 1] - s[a, 2]
fourth = Law("a fourth moment", (S.One, S.Zero, S.One, Symbol("m_3", real=True), Symbol("m_4", real=True)))

M, length = Symbol("M", real=True), Named(Symbol("N"), over_keys(s[a, j] ** 2))
square, pairs = Named(Symbol(r"\hat{V}"), score**2), Family("z", d, 2)
# The density of the largest is too narrow in long rows for these rules, and a jump is drawn.
DENSITY = n * ((1 + erf(x / sqrt(2))) / 2) ** (n - 1) * exp(-(x**2) / 2) / sqrt(2 * pi)
LARGEST = Integral(x * DENSITY, (x, -oo, oo))
CHANCE = E(Indicator(Sum(pairs[a, i] ** 2, (i, 1, 2)) - 3 * Sum(pairs[j, i] ** 2, (i, 1, 2))))

Said = tuple[Any, str, Any, Any, tuple[Any, ...]]
"""A line: both sides and how they stand, the laws, and the conditions."""


def line(before: Any, relation: str, after: Any, laws: Any = None, *conditions: Any) -> Said:
    """Return a line of a table."""
    return before, relation, after, laws, conditions


MISTAKES: dict[str, tuple[Said, Said]] = {
    "keys of one query are independent": (
        line(Cov(score_of(a, j) ** 2, score_of(a, l) ** 2), "=", 0, NORMAL_COMPONENTS),
        line(Cov(score_of(a, j), score_of(a, l)), "=", 0, NORMAL_COMPONENTS),
    ),
    "mean of a root": (
        line(E(Abs(score)), "=", sqrt(E(score**2)), STANDARD),
        line(E(Abs(score)), "≤", sqrt(E(score**2)), STANDARD),
    ),
    "negative variance": (
        line(Var(score), "=", -d, {q: Law("", (S.One, S.Zero, -S.One)), k: UNIT}),
        line(Var(score), "=", 0, {q: Law("", (S.One, S.Zero, S.Zero)), k: UNIT}),
    ),
    "given the query": (
        line(Var(score), "=", Dot(q, a, q, a) ** 2, {k: UNIT}),
        line(Var(score), "=", Dot(q, a, q, a), {k: UNIT}),
    ),
    "the first weight": (
        line(Softmax(s[1, 1] + 1, 1), "=", exp(s[1, 1]) / over_keys(exp(s[1, j] + 1))),
        line(Softmax(s[1, 1] + 1, 1), "=", exp(s[1, 1]) / over_keys(exp(s[1, j]))),
    ),
    "saturation of many keys": (
        line(1 - E(squares(spread)), "≤", sqrt(Rational(3, 2) * log(n)) / sigma, NORMAL_ROWS),
        line(1 - E(squares(spread)), "≤", sqrt(2 * log(n)) / sigma, NORMAL_ROWS),
    ),
    "derivative of a weight": (
        line(Derivative(p, s[a, j]), "=", p),
        line(Derivative(p, s[a, j]), "=", p * (1 - p)),
    ),
    "integral without end": (
        line(Integral(exp(w), (w, 0, oo)), "=", -1),
        line(Integral(exp(-t * w**2), (w, 0, oo)), "=", sqrt(pi / t) / 2),
    ),
    "two integrals": (
        line(Integral(exp(-(t * w + x)) * exp(-w), (x, 0, oo), (w, 0, oo)), "=", 1 / t),
        line(Integral(exp(-(t * w + x)) * exp(-w), (x, 0, oo), (w, 0, oo)), "=", 1 / (1 + t)),
    ),
    "leading term of nothing": (line(1 / d, "~", 0), line(1 / (d + 1), "~", 1 / d)),
    "one root of two": (
        line(Eq(x**2 * d, 1, evaluate=False), "⇔", Eq(x - 1 / sqrt(d), 0, evaluate=False)),
        line(
            Eq(x**2 * d, 1, evaluate=False), "⇔", Eq((x - 1 / sqrt(d)) * (x + 1 / sqrt(d)), 0, evaluate=False)
        ),
    ),
    "a factor that gives variance 1": (
        line(Eq(Var(r * score), 1, evaluate=False), "⇔", Eq(r * d, 1, evaluate=False), STANDARD),
        line(Eq(Var(r * score), 1, evaluate=False), "⇔", Eq(r**2 * d, 1, evaluate=False), STANDARD),
    ),
    "an event and its opposite": (
        line(E(Indicator(gap)), "=", 1 - E(Indicator(gap)), {s: UNIT}),
        line(E(Indicator(gap)), "=", E(Indicator(-gap)), {s: UNIT}),
    ),
    "no law, and a product": (
        line(E(s[a, 1] * s[a, 2]), "=", E(s[a, 1]) * E(s[a, 2])),
        line(E(s[a, 1] + s[a, 2]), "=", E(s[a, 1]) + E(s[a, 2])),
    ),
    "mean of an inverse length": (
        line(E(1 / Dot(k, j, k, j)), "=", 1 / (d - 1), NORMAL_COMPONENTS, d >= 6),
        line(E(1 / Dot(k, j, k, j)), "=", 1 / (d - 2), NORMAL_COMPONENTS, d >= 3),
    ),
    "a complex mean": (
        line(E(exp(I * r * score)), "=", (1 + r**2) ** (-d), NORMAL_COMPONENTS),
        line(E(exp(I * r * score)), "=", (1 + r**2) ** (-d / 2), NORMAL_COMPONENTS),
    ),
    "of one component": (
        line(over_components(y[i] ** 2), "≤", d * t**2 / 2, None, Le(Abs(y[j]), t)),
        line(over_components(y[i] ** 2), "≤", d * t**2, None, Le(Abs(y[j]), t)),
    ),
    "three ranges": (
        line(E(Sum(parts[a, 2, i] ** 2, (i, 1, d))), "=", 4 * d, {parts: UNIT}),
        line(E(Sum(parts[a, 2, i] ** 2, (i, 1, d))), "=", d, {parts: UNIT}),
    ),
    "a narrow peak": (
        line(E(Largest(spread, j)) / sigma, "=", 2 * LARGEST, NORMAL_ROWS),
        line(E(Largest(spread, j)) / sigma, "=", LARGEST, NORMAL_ROWS),
    ),
    "of two, by a condition": (
        line(M, "=", sqrt(2 / pi), None, Eq(M, LARGEST.subs(n, 2))),
        line(M, "=", 1 / sqrt(pi), None, Eq(M, LARGEST.subs(n, 2))),
    ),
    "a condition on a name": (
        line(1 / length, "≤", S.One, None, length > 0),
        line(length / length, "=", S.One, None, length > 0),
    ),
    "variance of a name": (
        line(E(square), "=", d**2, STANDARD),
        line(E(square), "=", d, STANDARD),
    ),
    "a value put in": (
        line(n * exp(-(sigma**2)), "=", n / exp(2), None, Eq(sigma, 1)),
        line(n * exp(-(sigma**2)), "=", n / exp(1), None, Eq(sigma, 1)),
    ),
    "a jump": (
        line(CHANCE, "=", Rational(1, 3), {pairs: normal()}),
        line(CHANCE, "=", Rational(1, 4), {pairs: normal()}),
    ),
    "smaller of two": (line(Min(r, x), "=", (r + x) / 2), line(Min(r, x), "=", (r + x - Abs(r - x)) / 2)),
}
"""What an honest author might write, and the nearest true line."""


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_refuted_with_a_point_and_its_true_neighbour_nowhere(mistake: str) -> None:
    """A false line in one line that names a point; the nearest true line is evaluated somewhere."""
    with pytest.raises(Counterexample) as caught:
        refute(*MISTAKES[mistake][0])
    assert "\n" not in str(caught.value)
    assert any(word in str(caught.value) for word in ("false", "does not", "no law", "not 1", "0 alone"))
    assert refute(*MISTAKES[mistake][1])


def test_the_point_is_named() -> None:
    """What is said of a counterexample: values, laws, and what both sides are."""
    with pytest.raises(Counterexample, match=r"at d_k = \d, k ∈ \{−1, 1\}, q ∈ \{−1, 1\}: \d = \d is false"):
        refute(Var(score), "=", 2 * d, STANDARD)
    with pytest.raises(Counterexample, match=r"^at r = −1: 1 = −1 is false$"):
        refute(sqrt(r**2), "=", r, None)
    with pytest.raises(Counterexample, match=r"E q = 0, E q² = −1"):
        refute(*MISTAKES["negative variance"][0])


@pytest.mark.parametrize(
    ("tried", "words"),
    [
        (line(Var(score), "=", d, STANDARD), "laws, exactly"),
        (line(E(score**4), "=", 3 * d**2 + 6 * d, NORMAL_COMPONENTS), "by quadrature"),
        (line(E(Abs(score)), "≤", sqrt(d), NORMAL_COMPONENTS, d >= 3), "drawn"),
        (line((r + 1) ** 2, "=", r**2 + 2 * r + 1), "60 points"),
        (line(over_keys(p), "=", 1), "points"),
        (MISTAKES["a jump"][1], "drawn"),
        (
            line(n * (n - 1) * E(p * second), "=", 1 - E(squares(s[a, j])), NORMAL_ROWS, n >= 2),
            "in long rows",
        ),
    ],
)
def test_how_it_was_tried_is_said(tried: Said, words: str) -> None:
    """The words say by what the line was tried."""
    assert words in refute(*tried)


@pytest.mark.parametrize(
    "nowhere",
    [
        line(Symbol("V̂"), "=", E(score**2), STANDARD),
        line(E(Symbol("V̂")), "=", d, STANDARD),
        line(Quantile(score, S.Half), "=", 0, NORMAL_COMPONENTS),
        line(Limit(E(Indicator(r - score / sqrt(d))), d, oo), "=", (1 + erf(r / sqrt(2))) / 2, STANDARD),
        line(r, "=", r + 1, None, r > 1, r < 0),
        line(log(-t), "≤", 1),
        line(Integral(cos(t * w) / (1 + w**2), (w, 0, oo)), "=", pi * exp(-t) / 2),
    ],
)
def test_what_has_a_value_nowhere_is_not_tried(nowhere: Said) -> None:
    """A line of what nothing is said of, or with no point, is neither refuted nor said to be tried."""
    assert not refute(*nowhere)


def test_values_put_in_are_conditions() -> None:
    """A line that puts values in holds with these alone: of symbols, indices, components and derivatives."""
    assert refute(Derivative(r**2, r), "=", 2 * sqrt(2), None, (Eq(r, sqrt(2)),))
    assert refute(s[a, j] + 1, "=", t + 1, None, (Eq(s[a, j], t),))
    assert refute(s[a, j], "=", s[a, 2], None, (Eq(j, 2), n >= 2))
    assert refute(E(over_keys(p)) + c, "=", n - 1, NORMAL_ROWS, (Eq(c, 1), Eq(n, 3)))
    assert refute(s[a, j] + s[a, l], "=", s[a, 2] + s[a, l], None, (Eq(j, 2), n >= 2))
    assert not refute(r, "=", r + 1, None, substitute({r: r + 1}).conditions)
    chain = Chain(n * exp(-(sigma**2)), Line(n / exp(1), "σ is 1", substitute({sigma: 1})))
    assert [line.problem for line in chain.checked] == [""]
    assert chain.checked[0].tried
    wrong = Chain(r, Line(S(2), "r is 2", LineCheck(compare=lambda *_: None, given=(Eq(r, 3),))))
    assert "false" in wrong.checked[0].problem


def test_what_a_rule_does_not_see_refutes_nothing() -> None:
    """A peak between the nodes, or a mean that its nodes do not reach, is neither right nor wrong."""
    for width in (Rational(1, 10), Rational(1, 50), Rational(1, 1000), Rational(1, 10**6)):
        peak = exp(-((x - 5) ** 2) / (2 * width**2)) / sqrt(2 * pi * width**2)
        refute(Integral(peak, (x, -oo, oo)), "=", 1, None)
        refute(Integral(peak, (x, 0, oo)), "≥", Rational(99, 100), None)
    for spread in (2, 5, 10):
        refute(E(exp(spread * over_keys(s[a, j]))), "=", exp(n * S(spread) ** 2 / 2), NORMAL_ROWS)
        refute(E(exp(LogSumExp(spread * s[a, j], j))), "=", n * exp(S(spread) ** 2 / 2), NORMAL_ROWS)


def test_rounding_and_draws_that_are_alike_refute_nothing() -> None:
    """Of 1 + c less 1 ten digits are left in floats; all draws may meet an event that is not certain."""
    small = Eq(c, Rational(1, 10**6))
    assert refute(E((1 + c * y[1] ** 2) ** 2 - 1) / c, "=", 2 + c * fourth.raw[4], {y: fourth}, (small,))
    assert not refute(E(Indicator(t - s[a, j])), "=", (1 + erf(t / sqrt(2))) / 2, NORMAL_ROWS, (Eq(t, 5),))


def test_a_named_expression_is_printed_by_its_name_and_is_what_it_stands_for() -> None:
    """It is derived, tried, and measured as what it stands for."""
    assert (plain(E(square)), latex(2 * square**2)) == ("E[V̂]", r"2 \hat{V}^2")
    assert expected(E(square), STANDARD) == d
    algebra.decide(E(square), E(score**2), "=")
    laws = {q: UNIT_INTERVAL, k: UNIT_INTERVAL}
    named, written = (
        measurement("x", {"x": E(of)}, laws, {d: 2}, tolerance=0.1)[0] for of in (square, score**2)
    )
    assert named == written


def test_derivatives_at_a_point_of_the_characteristic_function() -> None:
    """The second gives the mean square; another order, or another point, does not."""

    def at(point: int, order: int = 2) -> Any:
        return -Subs(Derivative(E(exp(I * t * score)), (t, order)), t, point)

    algebra.decide(E(score**2), at(0), "=")
    assert refute(E(score**2), "=", at(0), NORMAL_COMPONENTS)
    assert latex(at(0)).endswith("_{t = 0}")
    for other in (at(1), at(0, 4)):
        assert refused(algebra, E(score**2), other)


TERMS = st.sampled_from(
    (r, x, t, s[a, j], second, p, exp(-t), log(t + 1), d, over_keys(s[a, j] ** 2), S(2), Rational(-1, 3))
)


@st.composite
def expressions(draw: Any, parts: Any = TERMS) -> Expr:
    """Draw a polynomial of parts."""
    terms = draw(st.lists(st.lists(parts, min_size=1, max_size=3), min_size=1, max_size=3))
    return Add(*(Rational(place + 1, 2) * Mul(*factors) for place, factors in enumerate(terms)))


@given(expressions(), expressions())
@settings(max_examples=12, deadline=None)
def test_true_identities_are_not_refuted(first: Expr, other: Expr) -> None:
    """Products written out, squares and their order hold wherever both sides have a value."""
    assert refute((first + other) ** 2, "=", (first**2 + 2 * first * other + other**2).expand(), None)
    assert refute(2 * first * other, "≤", first**2 + other**2, None)


@given(expressions(), st.sampled_from((1, -2, Rational(1, 1000), t, t * exp(-t))))
@settings(max_examples=12, deadline=None)
def test_what_differs_is_refuted(first: Expr, more: Any) -> None:
    """An expression is not itself and something more, however little."""
    with pytest.raises(Counterexample):
        refute(first, "=", (first + more).expand(), None)


@given(
    expressions(st.sampled_from((y[1], y[2], y[1] ** 2, t))), st.sampled_from((UNIT, NORMAL_ROWS[s], fourth))
)
@settings(max_examples=12, deadline=None)
def test_means_are_linear_under_every_law(first: Expr, law: Law) -> None:
    """Means are linear and squares of them at most means of squares, for any law with the moments."""
    conditions = (d >= 2,)
    assert refute(E(2 * first + y[1]), "=", 2 * E(first), {y: law}, conditions)
    assert refute(E(first) ** 2, "≤", E(first**2), {y: law}, conditions)
    with pytest.raises(Counterexample):
        refute(E(first + y[2] ** 2), "=", E(first) + Rational(101, 100), {y: law}, conditions)
