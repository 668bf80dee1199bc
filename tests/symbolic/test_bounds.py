"""Bounds whose excess is stated, and earlier chains put into lines."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given as drawn, settings, strategies as st
from sympy import Abs, Eq, Ge, Gt, Integer, Integral, Le, Max, Min, Ne, S, cos, exp
from sympy import Sum, log, oo
from sympy import Symbol, sqrt, symbols, tanh

from tests.symbolic.lines import refused
from verify.symbolic.vocabulary import GENERAL, NORMAL_COMPONENTS, STANDARD, Dot, E, Family
from verify.symbolic.vocabulary import Largest, LogSumExp, Softmax, Var, a, b, d, j, l
from verify.symbolic.vocabulary import mu_k, mu_q, n, over_keys, q, s, score, score_of, sigma, sigma_k
from verify.symbolic.vocabulary import sigma_q, squares
from verify.symbolic.bounds import at_least, at_most, earlier
from verify.symbolic.analysis import leading
from verify.symbolic.chains import Chain, Line
from verify.symbolic.checks import algebra, moments
from verify.symbolic.checks import cited
from verify.symbolic.signs import Signs

x, y = symbols("x y", real=True)
t, u, w, Z, c, M = symbols("t u w Z c M", positive=True)
count = Symbol("count", nonnegative=True, integer=True)
bounded, ordered = Family("x", n), Family("z", n)
row = s[a, j]
p = Softmax(row, j)
p_l = Softmax(s[a, l], l)

VISIBLE: tuple[tuple[Any, tuple[Any, ...]], ...] = (
    (row**2, ()),
    (1 - p, ()),
    (Sum(p * Sum(p_l, (l, 2, j - 1)), (j, 2, n)), ()),
    (1 - squares(row), ()),
    (over_keys(p * (Largest(s[a, l], l) - row)) / sigma**2, ()),
    (LogSumExp(row, j) - row.xreplace({j: l}), ()),
    (E(LogSumExp(sigma * s[a, j], j) - sigma * Largest(s[a, l], l)) / sigma, ()),
    (x**2 - 2 * x * y + y**2, ()),
    (u**3 - 3 * u + 2, ()),
    (1 - exp(-(x**2) / (4 * sigma**2)), ()),
    (Z**-2 - (Z + c * u) ** -2, ()),
    (1 / (1 + exp(x)), ()),
    (log(1 + u + t) - log(1 + u), ()),
    (Integral(exp(-w) * w ** (d / 2 - 1), (w, 0, oo)), ()),
    (Integral(x, (x, 0, u)), ()),
    (M - bounded[j], (Le(Abs(bounded[j]), M),)),
    (ordered[1] - ordered[l], (Ge(ordered[1], ordered[j]),)),
    (n - exp(sigma**2) + 1, (n > exp(sigma**2) - 1,)),
    (x * (1 - x), (Ge(x, 0), Le(x, 1))),
    (Max(u - x, 0), ()),
)
HIDDEN: tuple[tuple[Any, tuple[Any, ...]], ...] = (
    (row, ()),
    (1 - p - p, ()),
    (over_keys(1 - p - p_l), ()),
    (over_keys(1 - Softmax(s[a, 1], 1) - p), ()),
    (Sum(1 - p - p_l, (l, 1, j), (j, 1, n)), ()),
    (1 - Softmax(row, j) - Softmax(2 * s[a, l], l), ()),
    (row - Largest(s[a, l], l), ()),
    (LogSumExp(sigma * s[a, j], j) - 2 * sigma * Largest(s[a, l], l), ()),
    (LogSumExp(x * s[a, j], j) - x * Largest(s[a, l], l), ()),
    (Largest(s[a, l], l) - s[b, j], ()),
    (over_keys(row), ()),
    (u**3 - 3 * u + S(19) / 10, ()),
    (x**4 - 3 * x + 1, ()),
    (n - 2, ()),
    (Integral(u, (u, 1, 0)), ()),
    (Integral(x, (x, -1, u)), ()),
    (M - bounded[j], ()),
    (bounded[j] - M, (Le(Abs(bounded[j]), M),)),
    (ordered[2] - ordered[l], (Ge(ordered[1], ordered[j]),)),
    (1 - x**2, (Ge(x, 0),)),
    (1 + x - exp(x), ()),
    (Min(x, u) - u, ()),
    (2 * count - 1, ()),
)


@pytest.mark.parametrize(("expression", "given"), VISIBLE, ids=str)
def test_that_it_is_not_negative_is_visible(expression: Any, given: tuple[Any, ...]) -> None:
    """Each kind of the closed list is seen, and its negative is not."""
    assert Signs(given).nonnegative(expression)
    assert not Signs(given).positive(-expression)


@pytest.mark.parametrize(("expression", "given"), HIDDEN, ids=str)
def test_what_may_be_negative_is_not_visible(expression: Any, given: tuple[Any, ...]) -> None:
    """What is negative somewhere is never taken."""
    assert not Signs(given).nonnegative(expression)


LEAVES = st.sampled_from([x, y, t, u, n, p, p_l, row, *map(Integer, range(-2, 4))])


def _larger(parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    two = st.tuples(parts, parts)
    return st.one_of(
        two.map(lambda pair: pair[0] + pair[1]),
        two.map(lambda pair: pair[0] - pair[1]),
        two.map(lambda pair: pair[0] * pair[1]),
        parts.map(lambda part: part**2),
        LEAVES.map(exp),
        parts.map(lambda part: 1 / (1 + part**2)),
        parts.map(lambda part: log(1 + part**2)),
        parts.map(tanh),
        two.map(lambda pair: exp(-(pair[0] ** 2)) - exp(-(pair[1] ** 2))),
    )


@settings(max_examples=80, deadline=None)
@drawn(st.recursive(LEAVES, _larger, max_leaves=6), st.lists(st.floats(0.001, 0.999), min_size=8, max_size=8))
def test_what_is_visible_is_so(expression: Any, draws: list[float]) -> None:
    """Whatever is said to be not negative, or positive, is so at any point."""
    signs = Signs()
    if not signs.nonnegative(expression):
        return
    real = [8 * draw - 4 for draw in draws[:3]]
    positive = [-log(draw) for draw in draws[3:5]]
    shares = [draws[5], (1 - draws[5]) * draws[6]]
    whole = 1 + int(9 * draws[7])
    point = dict(zip((x, y, row, t, u, p, p_l, n), (*real, *positive, *shares, whole), strict=True))
    value = expression.xreplace({symbol: S(place) for symbol, place in point.items()}).evalf(30)
    assert value >= -1e-20
    if signs.positive(expression):
        assert value > 0


def test_an_end_that_is_reached_is_not_strict() -> None:
    """Where x may be 1, 1 - x may be 0."""
    assert Signs((Ge(x, 0), x < 1)).positive(1 - x)
    assert not Signs((Ge(x, 0), Le(x, 1))).positive(1 - x)
    assert Signs((Ge(x, 0), Le(x, 1))).positive(2 - x)


def tangent() -> Chain:
    """Return that 1/Z lies above its tangent, for any positive symbols."""
    return Chain(
        1 / Z - c * u / Z**2,
        Line(1 / (Z + c * u), "convex", at_most(c**2 * u**2 / (Z**2 * (Z + c * u))), "≤"),
    )


def test_a_bound_is_put_in_under_means_and_sums() -> None:
    """A bound at values of its symbols is averaged, summed and integrated where it is put in."""
    total, term = over_keys(exp(s[a, l]), l), exp(row)
    check = earlier(tangent(), at={Z: total, u: term, c: 1})
    before, after = 1 / total - term / total**2, 1 / (total + term)
    check.decide(E(over_keys(before)), E(over_keys(after)), "≤")
    check.decide(-E(over_keys(after)), -E(over_keys(before)), "≤")
    falling = earlier(tangent(), at={u: w, Z: 1})
    falling.decide(Integral(1 - c * w, (w, 0, 1)), Integral(1 / (1 + c * w), (w, 0, 1)), "≤")
    assert "gives ≤" in refused(check, E(over_keys(before)), E(over_keys(after)), "≥")
    # What was shown for positive numbers is not put in for any number.
    check = earlier(tangent(), at={Z: row, u: 1, c: 1})
    assert "Z is positive" in refused(check, 1 / row - 1 / row**2, 1 / (row + 1), "≤")


SMALL = Chain(S.One / (1 + x**2), Line(S.One, "a square", at_most(x**2 / (1 + x**2)), "≤"))


def test_a_bound_is_put_in_where_the_slope_is_visible() -> None:
    """A bound turns under what falls, stays under what rises, and is refused under what does neither."""
    small, check = SMALL.start, earlier(SMALL)
    check.decide(exp(small), exp(S.One), "≤")
    check.decide(t * small, t, "≤")
    check.decide(t / small, t, "≥")
    check.decide(Z - log(small), Z, "≥")
    assert "gives ≥" in refused(check, t / small, t, "≤")
    assert "one way" in refused(check, y * small, y, "≤")
    assert "one way" in refused(check, cos(7 * small), cos(7), "≤")
    assert refused(check, small**2 - small, S.Zero, "≤")
    assert "gives ≤" in refused(check, small, S.One, "<")
    # From high to low an integral has the other sign.
    inside = Chain(w * exp(-w), Line(w, "below 1", at_most(w * (1 - exp(-w))), "≤"))
    earlier(inside).decide(Integral(w * exp(-w), (w, 0, 1)), Integral(w, (w, 0, 1)), "≤")
    assert refused(earlier(inside), Integral(w * exp(-w), (w, 1, 0)), Integral(w, (w, 1, 0)), "≤")


def test_an_equation_is_put_in_anywhere_and_read_from_either_side() -> None:
    """An equation needs no slope, and may be read backwards."""
    size = Chain(E(score**2), Line(d, "variance", moments(STANDARD)))
    check = earlier(size)
    check.decide(cos(E(score**2)), cos(d), "=")
    check.decide(Var(score) / d, Var(score) / E(score**2), "=")
    check.decide(Eq(c * E(score**2), 1), Eq(c * d, 1), "⇔")
    assert "put in" in refused(check, cos(E(score**2)), cos(2 * d), "=")
    assert "not this line" in refused(check, cos(E(score**3)), d, "=")


def test_a_leading_term_never_becomes_equal() -> None:
    """What is only the leading term may be put in for the whole line, and nowhere else."""
    square = Chain(n**2 + n, Line(n**2, "leading", leading(n), "~"))
    earlier(square).decide(n**2 + n, n**2, "~")
    assert "~" in refused(earlier(square), n**2 + n, n**2, "=")
    assert "~" in refused(earlier(square), n**2 + n, n**2, "≤")
    assert "~" in refused(earlier(square), n**2 + n + x, n**2 + x, "~")
    assert "~" in refused(earlier(SMALL), SMALL.start, S.One, "~")


def test_a_chain_holds_for_all_that_the_line_runs_over() -> None:
    """What was shown for x > 0 is not integrated over all x."""
    half = Chain(x * exp(-x), Line(x, "", at_most(x * (1 - exp(-x)), given=(x > 0,)), "≤"), given=(x > 0,))
    line = [(Integral(x * exp(-x), (x, low, 1)), Integral(x, (x, low, 1))) for low in (0, -1)]
    earlier(half).decide(*line[0], "≤")
    assert "other x" in refused(earlier(half), *line[1], "≤")
    # A line rests on what was derived.
    wrong = Chain(x, Line(x - 1, "wrong", at_most(-S.One), "≤"))
    assert "line 1" in refused(earlier(wrong), x, x - 1, "≤")


def test_conditions_of_a_chain_hold_where_it_is_put_in() -> None:
    """A chain for n > 2 is not put in at n = 2, and its condition is said."""
    many = Chain(n, Line(S(2), "more", at_least(n - 2, given=(n > 2,)), "≥"), given=(n > 2,))
    assert earlier(many).assumes
    earlier(many, at={n: d + 2}).decide(d + 2, S(2), "≥")
    assert "state" in refused(earlier(many, at={n: d}), d, S(2), "≥")
    earlier(many, at={n: d}, given=(d > 2,)).decide(d, S(2), "≥")
    # What a chain needs of n says nothing of the n of a line into which it is put at another number.
    many = Chain(x, Line(x + n - 2, "more", at_most(n - 2, given=(n > 2,)), "≤"), given=(n > 2,))
    check = earlier(many, at={n: d}, given=(d > 2,))
    assert "one way" in refused(check, (n - 2) * x, (n - 2) * (x + d - 2), "≤")
    odd = Chain(1 / y, Line(y / y**2, "widened", algebra), given=(Ne(y, 0),))
    earlier(odd).decide(1 / y + x, y / y**2 + x, "=")
    assert "holds for" in refused(earlier(odd, at={y: t - u}), 1 / (t - u), 1 / (t - u), "=")


def test_a_bound_at_a_drawn_value_is_averaged() -> None:
    """What holds at any deviation holds on average over the length of a query, apart from the scores."""
    weight, squares = Softmax(sigma * s[a, j], j), Dot(q, a, q, a)
    length = sqrt(squares)
    bound = Chain(1 - E(weight) / sigma, Line(S.One, "a mean", at_most(E(weight) / sigma), "≤"))
    at, sure = {sigma: length}, (Gt(squares, 0),)
    before = E(1 - weight.xreplace({sigma: length}) / length)
    earlier(bound, at=at, given=sure).decide(before, E(S.One), "≤")
    assert "not this line" in refused(earlier(bound, at=at, given=sure), 1 - E(weight) / length, S.One, "≤")
    own = Chain(E(score**2 / sigma), Line(d / sigma, "moments", moments(STANDARD)))
    assert "drawn of" in refused(earlier(own, at=at, given=sure), E(score**2 / length), E(d / length), "=")
    squared = Chain(E(weight) ** 2, Line(E(weight) ** 2 + 1, "more", at_most(1), "≤"))
    assert "not linear" in refused(earlier(squared, at=at, given=sure), E(weight**2), E(weight**2) + 1, "≤")


def test_laws_of_a_chain_are_handed_over() -> None:
    """What rests on a chain is tried under its laws, those of what it cites too, and at values put in."""
    spreads = sigma_q**2 * sigma_k**2 + mu_q**2 * sigma_k**2 + mu_k**2 * sigma_q**2
    variance = Chain(Var(score), Line(d * spreads, "independent components", moments(GENERAL)))
    at = {mu_q: 0, mu_k: 0, sigma_q: 1, sigma_k: 1}
    scaled = Chain(Var(score) / d, Line(S.One, "put in", earlier(variance, at=at)))
    assert [line.problem for line in scaled.checked] == [""]
    assert earlier(scaled).laws == GENERAL
    assert earlier(scaled).conditions == earlier(variance, at=at).conditions
    kurtosis = Chain(E(score**4), Line(3 * d**2 + 6 * d, "known", cited("rotation", laws=NORMAL_COMPONENTS)))
    ratio = Chain(E(score**4) / d, Line(3 * d + 6, "put in", earlier(kurtosis)))
    assert not ratio.checked[0].problem
    assert ratio.checked[0].tried
    assert earlier(ratio).laws == NORMAL_COMPONENTS


def test_different_places_are_not_summed_over_as_equal_ones() -> None:
    """What holds for two different keys is not put into a sum over all pairs."""
    products = Chain(E(score_of(a, j) * score_of(a, l)), Line(S.Zero, "independent", moments(STANDARD)))
    double = over_keys(over_keys(E(score_of(a, j) * score_of(a, l)), j), l)
    assert "different" in refused(earlier(products), double, over_keys(over_keys(S.Zero, j), l), "=")
