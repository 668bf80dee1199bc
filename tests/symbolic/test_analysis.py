"""Integrals, limits, leading terms, derivatives and equivalent equations."""

from __future__ import annotations


from sympy import Eq, Integral, Limit, Max, Rational, S, Symbol, besselk
from sympy import exp, gamma, log, oo, pi, sqrt, symbols

from tests.symbolic.lines import refused
from verify.symbolic.analysis import between, equivalent, integral, leading, limit, numerically
from verify.symbolic.bounds import at_least, at_most
from verify.symbolic.chains import Chain, Line, Theorem
from verify.symbolic.checks import cited
from verify.symbolic.vocabulary import NORMAL_ROWS, E, Entropy, Indicator, Largest, Softmax, a, d, j, l, n
from verify.symbolic.vocabulary import over_keys, s, sigma, squares

x, y = symbols("x y", real=True)
t, w, z = symbols("t w z", positive=True)
KNOWN = cited(Theorem("known", "It holds.", "Always.", "A Book, 2020"), laws=NORMAL_ROWS)


def test_an_integral_by_its_primitive() -> None:
    """The rise of the logistic function, and the smaller of two weights, by the author's primitives."""
    peak = 1 / (2 * sigma * sqrt(pi))
    integral(peak / (1 + exp(-x))).decide(
        Integral(exp(x) / (1 + exp(x)) ** 2 * peak, (x, -oo, oo)), peak, "="
    )
    integral(-log(1 + exp(-x))).decide(1 - Integral(1 / (1 + exp(x)), (x, 0, oo)), 1 - log(2), "=")
    assert "derivative" in refused(integral(log(1 + exp(x))), Integral(1 / (1 + exp(x)), (x, 0, oo)), log(2))
    assert "carried out" in refused(
        integral(-log(1 + exp(-x))), Integral(1 / (1 + exp(x)), (x, 0, oo)), log(3)
    )


def test_a_closed_form_to_thirty_digits() -> None:
    """Basset's integral, and what is cut at 0; a constant that is off is refused."""
    mixed = exp(-w / 2 - z**2 / (2 * w)) * w ** (d / 2 - 1) / (2 ** (d / 2) * gamma(d / 2) * sqrt(2 * pi * w))
    bessel = z ** ((d - 1) / S(2)) * besselk((d - 1) / S(2), z)
    density = 2 ** ((1 - d) / S(2)) * bessel / (sqrt(pi) * gamma(d / 2))
    numerically().decide(Integral(mixed, (w, 0, oo)), density, "=")
    off = density * (1 + Rational(1, 10**28))
    assert "at d_k" in refused(numerically(), Integral(mixed, (w, 0, oo)), off)
    normal, above = exp(-(y**2) / 2) / sqrt(2 * pi), exp(sigma * y) - 1
    clipped = Integral(Max(above, 0) * normal, (y, -oo, oo))
    numerically().decide(clipped, Integral(above * normal, (y, 0, oo)), "=")
    assert "and this line" in refused(numerically(), clipped, Integral(above * normal, (y, -oo, oo)))


def test_an_integral_that_does_not_converge_is_refused() -> None:
    """Neither a primitive nor numbers make a value of what has none."""
    over = Integral(1 / x**2, (x, -1, 1))
    assert refused(integral(-1 / x), over, S(-2))
    assert "converge" in refused(integral(log(1 + z)), Integral(1 / (1 + z), (z, 0, oo)), S.One)
    assert "converge" in refused(integral(), Integral(1 / (1 + z), (z, 0, oo)), S.One)
    assert "converge" in refused(numerically(), Integral(1 / (1 + z), (z, 0, oo)), S.One)
    assert refused(numerically(), over, S(-2))


def test_integrals_of_what_is_drawn_by_a_primitive_without_jumps() -> None:
    """The entropy that weights lose grows at the rate of a factor times the variance of the scores."""
    weight, row = Softmax(t * s[a, j], j), s[a, j]
    rate = t * (over_keys(weight * row**2) - over_keys(weight * row) ** 2)
    lost = log(n) - Entropy(t * row, j)
    chain = Chain(Integral(rate, (t, 0, 1)), Line(lost.subs(t, 1), "", integral(lost)))
    assert not any(line.problem for line in chain.checked)
    assert "differ" in refused(integral(lost), Integral(rate, (t, 0, 1)), lost.subs(t, 2))
    assert "jump" in refused(integral(lost), Integral(rate, (t, 0, oo)), lost.subs(t, 1))
    pole, over = 1 / (1 + t * row), Integral(-row / (1 + t * row) ** 2, (t, 0, 1))
    assert "continuous" in refused(integral(pole), over, 1 / (1 + row) - 1)


def test_conditions_of_sympy_have_to_be_given() -> None:
    """An integral that exists for some parameters only has its value under that condition, which is said."""
    p = Symbol("p", real=True)
    power = Integral(z ** (p - 1) * exp(-z), (z, 0, oo))
    assert "given" in refused(integral(), power, gamma(p))
    check = integral(given=(p > 0,))
    check.decide(power, gamma(p), "=")
    assert check.assumes


def test_a_leading_term_is_no_equal() -> None:
    """A leading term is related by ~ and never by =; lower orders do not matter, a factor does."""
    leading(n).decide(n**2 + n * log(n), n**2, "~")
    assert "~" in refused(leading(n), n**2 + n, n**2, "=")
    assert "tends to 1/2" in refused(leading(n), n**2, 2 * n**2, "~")
    assert refused(leading(n), S.Zero, S.Zero, "~")
    assert "no limits of means" in refused(leading(n), n * E(squares(s[a, j])), S.One, "~")


def test_a_limit_of_weights_where_they_are_continuous() -> None:
    """Of scores that vanish they are even; a quotient needs a divisor that does not vanish, too."""
    limit().decide(Limit(Softmax(t * s[a, j], j), t, 0), 1 / n, "=")
    root = sqrt(s[a, j] ** 2 * Softmax(t * s[a, j], j))
    limit(given=(s[a, j] ** 2 / n > 0,)).decide(
        Limit(root / Softmax(t * s[a, l], l), t, 0), sqrt(n * s[a, j] ** 2), "="
    )
    assert refused(limit(), Limit(Softmax(t * s[a, j], j), t, 0), 1 / (n + 1))
    assert "continuous" in refused(
        limit(), Limit(t * s[a, j] / (t * s[a, j]), t, 0) + Limit(s[a, l] / (t * s[a, j]), t, 0), 1
    )
    assert "continuous" in refused(limit(), Limit(Indicator(t * s[a, j]), t, 0), 0)


def test_a_limit_between_two_bounds() -> None:
    """The mean of the squared weights times n lies between two functions that tend to exp(σ²)."""
    quantity = n * E(squares(sigma * s[a, j]))
    many = n > exp(sigma**2) - 1
    upper = Chain(
        quantity, Line(n * exp(sigma**2) / (n - exp(sigma**2) + 1), "upper", KNOWN, "≤"), given=(many,)
    )
    least = n**2 * exp(sigma**2) / (n + exp(2 * sigma**2) - 1) ** 2
    lower = Chain(least, Line(quantity, "lower", KNOWN, "≤"))
    between(lower, upper).decide(Limit(quantity, n, oo), exp(sigma**2), "=")
    assert "tends to" in refused(between(lower, upper), Limit(quantity, n, oo), exp(sigma**2 / 2))
    assert "from below" in refused(between(upper, upper), Limit(quantity, n, oo), exp(sigma**2))
    few = Chain(quantity, *upper.lines, given=(many, n < 10))
    assert "in the end" in refused(between(lower, few), Limit(quantity, n, oo), exp(sigma**2))


def test_a_limit_between_two_bounds_with_means() -> None:
    """Means of one score are numbers there; those of a whole row depend on how long it is."""
    for mean, holds in ((E(exp(s[a, j])), True), (E(exp(Largest(s[a, j], j))), False)):
        lower = Chain(mean, Line(mean / (1 + 1 / n), "below", at_least(mean / (n + 1)), "≥"))
        upper = Chain(mean, Line(mean + 1 / n, "above", at_most(1 / n), "≤"))
        check = between(lower, upper)
        if holds:
            check.decide(Limit(mean, n, oo), mean, "=")
            assert "tends to" in refused(check, Limit(mean, n, oo), 2 * mean)
        else:
            assert "no limits of means" in refused(check, Limit(mean, n, oo), mean)
    largest = E(Largest(s[a, j], j))
    upper = Chain(largest, Line(largest + 1 / t, "above", at_most(1 / t), "≤"))
    check = between(Chain(largest, Line(largest - 1 / t, "below", at_least(1 / t), "≥")), upper)
    check.decide(Limit(largest, t, oo), largest, "=")
    assert "tends to" in refused(check, Limit(largest, t, oo), 2 * largest)
    # It assumes what the bounds do, but for what holds in the end anyway, and cites it.
    shifted, few = cited("change of measure", laws=NORMAL_ROWS), integral(given=(sigma < 2, n > 3))
    lower, upper = (
        Chain(1, Line(n, "lower", few, "≤"), given=(n > 3,)),
        Chain(n, Line(1, "upper", shifted, "≤")),
    )
    check = between(lower, upper)
    assert check.laws == NORMAL_ROWS
    assert check.cites == shifted.cites
    assert check.assumes == few.assumes[:1]


def test_equations_that_are_multiples() -> None:
    """Both roots of c²d = 1; a factor that may vanish, and a lost root, are refused."""
    c = Symbol("c", real=True)
    before = Eq(c**2 * d, 1, evaluate=False)
    both = Eq((c - 1 / sqrt(d)) * (c + 1 / sqrt(d)), 0, evaluate=False)
    equivalent().decide(before, both, "⇔")
    assert refused(equivalent(), before, Eq(c - 1 / sqrt(d), 0, evaluate=False), "⇔")
    assert refused(equivalent(), Eq(x * y, x, evaluate=False), Eq(y, 1, evaluate=False), "⇔")
    assert "⇔" in refused(equivalent(), before, both, "=")
