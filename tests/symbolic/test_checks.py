"""What the checks accept and refuse: right lines of the first chapters, and the same lines spoiled."""

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from sympy import Abs, Add, Derivative, Eq, Integral, KroneckerDelta, I, IndexedBase, Max, Min, Mul
from sympy import Rational, S, Sum, Symbol, exp, gamma, log, oo, pi, sign, sqrt, symbols, sympify, tanh

from tests.symbolic.lines import FOUR, kappa_k, kappa_q, refused
from verify.errors import ClaimError
from verify.symbolic.analysis import equivalent
from verify.symbolic.bounds import earlier
from verify.symbolic.calculus import NotDerived, expected
from verify.symbolic.chains import Chain, Derivation, Line, LineCheck, Theorem
from verify.symbolic.checks import THEOREMS, algebra, cited, moments, substitute
from verify.symbolic.vocabulary import GENERAL, NORMAL_COMPONENTS, NORMAL_ROWS, STANDARD, UNIT, Cov, Dot, E
from verify.symbolic.vocabulary import Entropy, Family, Largest, Law, LogSumExp, Quantile, Softmax
from verify.symbolic.vocabulary import StepError, Var, a, b, d, d_v, e, i, j, k, l, m, mu_k, mu_q, n, normal
from verify.symbolic.vocabulary import over_keys, q, range_of, s, score, score_of, sigma
from verify.symbolic.vocabulary import sigma_k, sigma_q, squares, u, v

x = s[a, j]
p = Softmax(x, j)
other_p = Softmax(s[a, l], l)
c, t = symbols("c t", real=True)
alpha = Symbol("alpha", positive=True)
component = q[a, i] * k[j, i]
N = Symbol("N", integer=True, positive=True)
y = Family("x", N, d)

ALGEBRA: list[tuple[Any, Any]] = [
    (Var(score), E(score**2) - E(score) ** 2),
    (Softmax(x + c, j), p),
    (p / other_p, exp(x - s[a, l])),
    (over_keys(Sum(p * other_p, (l, 1, n))) - squares(x), 1 - squares(x)),
    (LogSumExp(x + c, j), c + LogSumExp(x, j)),
    (log(p), x - LogSumExp(x, j)),
    (Derivative(p, s[a, l]), p * (KroneckerDelta(j, l) - other_p)),
    (Derivative(E(exp(sigma * x)), sigma), E(x * exp(sigma * x))),
    (Sum(KroneckerDelta(j, l) * x, (l, 1, n)), x),
    (Abs(c) * sign(c), c),
    (sqrt(x**2 + 2 * x * c + c**2), Abs(x + c)),
    (gamma((d + 1) / 2) * gamma(d / 2), 2 ** (1 - d) * sqrt(pi) * gamma(d)),
    (tanh(c), (1 - exp(-2 * c)) / (1 + exp(-2 * c))),
    (
        Integral(2 * exp(-(c**2)) + c, (c, -oo, oo)),
        2 * Integral(exp(-(c**2)), (c, -oo, oo)) + Integral(c, (c, -oo, oo)),
    ),
    (
        Largest(x, j) + Quantile(score, Rational(1, 2)) * 2,
        2 * Quantile(score, Rational(2, 4)) + Largest(x, j),
    ),
    (Largest(Softmax(sigma * x, j), j), exp(Largest(sigma * x, j) - LogSumExp(sigma * x, j))),
    (Sum(Derivative(p, s[a, l]) ** 2, (l, 1, n)), p**2 * (1 - 2 * p + squares(x))),
    (exp(I * t * (x + 1)) * exp(-I * t), exp(I * t * x)),
    (
        Derivative(Softmax(score / sqrt(d), j), q[a, i]),
        Softmax(score / sqrt(d), j) * (k[j, i] - over_keys(Softmax(score / sqrt(d), j) * k[j, i])) / sqrt(d),
    ),
    (
        Derivative(Entropy(sigma * x, j), sigma),
        sigma * (over_keys(x * Softmax(sigma * x, j)) ** 2 - over_keys(x**2 * Softmax(sigma * x, j))),
    ),
    (Var(over_keys(x)), over_keys(Sum(Cov(x, s[a, l]), (l, 1, n)))),
]
"""Right lines that need no law."""

MOMENTS: list[tuple[Any, Any, Any]] = [
    (
        E(score**2) - E(score) ** 2,
        d * E(q[a, i] ** 2) * E(k[j, i] ** 2) - d * (E(q[a, i]) * E(k[j, i])) ** 2,
        GENERAL,
    ),
    (Var(score), d * ((mu_q**2 + sigma_q**2) * (mu_k**2 + sigma_k**2) - mu_q**2 * mu_k**2), GENERAL),
    (Var(score * d**-alpha), d ** (1 - 2 * alpha), STANDARD),
    (E(score**4) / Var(score) ** 2, 3 + (kappa_q * kappa_k - 3) / d, FOUR),
    (Cov(score_of(a, j) ** 2, score_of(b, j) ** 2), d * (kappa_k - 1), FOUR),
    (E(squares(x)), n * E(p**2), NORMAL_ROWS),
    (E(Abs(score)) * Var(score), E(Abs(score)) * d, STANDARD),
    (E(exp(I * t * score)), E(exp(I * t * component)) ** d, STANDARD),
    (E(score**8), 105 * d * (d + 2) * (d + 4) * (d + 6), NORMAL_COMPONENTS),
    (E(E(score**2) * score**2), d**2, STANDARD),
    (Sum(E(k[1, i] * k[j, i]), (j, 1, n)), n * mu_k**2 + sigma_k**2, GENERAL),
]
"""Right lines under laws."""


@pytest.mark.parametrize(("before", "after"), ALGEBRA)
def test_algebra_accepts_what_is_written_otherwise(before: Any, after: Any) -> None:
    """Identities of means, softmax, sums, roots, derivatives and special functions are decided."""
    assert refused(algebra, before, after) == ""


@pytest.mark.parametrize(("before", "after", "laws"), MOMENTS)
def test_moments_accept_equal_values(before: Any, after: Any, laws: Any) -> None:
    """Lines of the chapters on raw scores and scaling are decided under their laws."""
    assert refused(moments(laws), before, after) == ""


def spoiled(line: Any) -> list[Any]:
    """Return a line with a factor, a sign, a term or a size that is wrong."""
    line = sympify(line)
    wrong = [2 * line, -line, line + Rational(1, 100), line * n / d]
    wrong += [line + (d - 1) * (d - 2) * (d - 3) * (d - 4)]
    wrong += [line + (d - n) * (d - 3) * (n - 4) + (d - n - 1) * (n - d - 1)]
    if isinstance(line, Add):
        wrong += [line - term for term in line.args]
        wrong += [line - 2 * term for term in line.args]
    if isinstance(line, Mul):
        wrong += [line / term for term in line.args if term != 1]
    if line.has(n) and line.has(d):
        wrong.append(line.xreplace({n: d, d: n}))
    wrong += [line.xreplace({number: number + 1}) for number in line.atoms(Rational) if number.q == 2]
    return [other for other in wrong if other != line]


SPOILED = [(algebra, before, wrong) for before, after in ALGEBRA for wrong in spoiled(after)] + [
    (moments(laws), before, wrong) for before, after, laws in MOMENTS for wrong in spoiled(after)
]


@given(st.sampled_from(SPOILED))
@settings(max_examples=40, deadline=None)
def test_no_spoiled_line_is_accepted(line: tuple[LineCheck, Any, Any]) -> None:
    """A wrong factor, sign, term, size, or polynomial that vanishes at small sizes: none passes."""
    check, before, wrong = line
    if not same_value(before, wrong):
        assert refused(check, before, wrong)


def same_value(before: Any, wrong: Any) -> bool:
    """Return whether a spoiled line is right all the same, as with sizes exchanged where they are alike."""
    return any(wrong == after for start, after, *_ in (*ALGEBRA, *MOMENTS) if start == before)


@pytest.mark.parametrize(
    ("check", "before", "after"),
    [
        (algebra, Sum(i, (i, 1, d)), d * (d + 1) / 2 + (d - 1) * (d - 2) * (d - 3) * (d - 4)),
        (algebra, over_keys(Sum(1, (i, 1, d))), d**2),
        (algebra, Sum(x, (j, 1, n**3)), Sum(2 * x, (j, 1, n**3)) / 2),
        (algebra, over_keys(p * x), x),
        (moments(NORMAL_ROWS), E(x * exp(sigma * x)), sigma * E(exp(sigma * x))),
        (moments(STANDARD), E(score_of(a, j) * score_of(a, j)), E(score_of(a, j) * score_of(a, l))),
        (moments(STANDARD), E(exp(score)), E(exp(q[a, i] * k[j, i])) ** n),
        (moments(NORMAL_ROWS), E(p * other_p), E(p) * E(other_p)),
        # A weight depends on its score, whose mean is not put in beside it.
        (moments({s: UNIT}), E(p * x), S.Zero),
        (moments(STANDARD), E(Abs(score)) * Var(score), E(Abs(score)) * n),
    ],
)
def test_the_traps_that_were_met_are_refused(check: LineCheck, before: Any, after: Any) -> None:
    """What holds at small sizes only, is decided at one only, or needs moments that are not assumed."""
    assert refused(check, before, after)


@pytest.mark.parametrize(
    ("check", "before", "after", "why"),
    [
        (moments(STANDARD), Var(score), 3 * d, r"under mean 0 and variance 1 they differ by -2\*d_k"),
        (moments(NORMAL_ROWS), E(exp(x)), exp(S.Half), "moments do not decide it: .*no mean of a polynomial"),
        (
            moments(STANDARD),
            E(exp(2 * q[a, i])),
            E(exp(q[a, i])) ** 2,
            "under mean 0 and variance 1, the two sides differ",
        ),
        (
            algebra,
            IndexedBase("w")[j],
            IndexedBase("w")[l],
            r"w is no family; declare it with Family\('w', …\)",
        ),
        (algebra, sigma * d, sigma * n, r"the two sides differ by -sigma\*\(-d_k \+ n\)"),
        (algebra, Max(c, t, sigma), Max(c, t), "algebra could not decide it: Max of more than two"),
        (algebra, sum(Abs(x + place) for place in range(6)), 6 * x + 15, "more than 5 different signs"),
        (substitute({d: 2}), Var(score), E(score**2), "with d_k = 2 put in, the two sides differ"),
        (
            substitute({x: 0}),
            p,
            1 / over_keys(exp(x)),
            r"s\[a, j\] is no symbol; values are put in for symbols, sizes",
        ),
    ],
)
def test_why_a_line_is_refused_is_said(check: LineCheck, before: Any, after: Any, why: str) -> None:
    """The refusal names the difference, the sizes, or what could not be evaluated."""
    with pytest.raises(StepError, match=why):
        check.decide(before, after, "=")


@pytest.mark.parametrize("check", [algebra, moments(STANDARD), substitute({d: 2})])
def test_bounds_and_leading_terms_are_left_to_other_checks(check: LineCheck) -> None:
    """An equality is what these three decide, and neither bounds nor leading terms."""
    for relation in ("≤", "<", "≥", ">", "~", "⇔"):
        with pytest.raises(StepError, match=f"related by {relation}, but this check, .*, is for ="):
            check.decide(d, d, relation)


TWO = {n: 2}


@pytest.mark.parametrize(
    ("values", "before", "after"),
    [
        ({d: 4}, d * sigma, 4 * sigma),
        ({d: d + 1}, sqrt(2 * d / pi), sqrt(2 * (d + 1) / pi)),
        ({sigma: 1}, n * exp(-(sigma**2)), n / exp(1)),
        ({d: 2}, score, q[a, 1] * k[j, 1] + q[a, 2] * k[j, 2]),
        ({d: 2}, gamma(d) * log(d), log(2)),
        (TWO, p, 1 / (1 + exp(s[a, l] - x))),
        (TWO, E(Max(p, other_p)), 1 - E(Min(1 / (1 + exp(s[a, l] - x)), 1 / (1 + exp(x - s[a, l]))))),
        (TWO, Derivative(p, x), p * other_p),
        ({c: x}, Sum(c * s[a, j], (j, 1, n)), x * Sum(s[a, l], (l, 1, n))),
        ({j: l}, Sum(x * s[a, l], (l, 1, n)), Sum(s[a, l] * s[a, e], (e, 1, n))),
        ({j: l}, x * over_keys(x), s[a, l] * over_keys(x)),
        ({sigma: 2 * c}, Derivative(exp(sigma * c), sigma), c * exp(2 * c**2)),
        ({sigma: 1}, Derivative(E(exp(sigma * x)), sigma), E(x * exp(x))),
    ],
)
def test_values_are_put_in_by_numbers(values: dict[Any, Any], before: Any, after: Any) -> None:
    """Sizes, symbols, indices, and what a derivative is taken by: no bound index catches a value."""
    assert refused(substitute(values), before, after) == ""
    assert refused(substitute(values), before, after + 1)


def test_what_is_assumed_is_said() -> None:
    """A check of moments names its laws, and values that are put in are printed with the line."""
    assert moments(STANDARD).laws == STANDARD
    assert algebra.laws is None
    assert substitute({d: 2, sigma: 1}).assumes == ("$d_k = 2$.", r"$\sigma = 1$.")
    assert substitute({j: 1}).assumes == ()
    assert substitute({d: 2}).conditions == (Eq(d, 2),)


def test_what_a_weight_stands_for() -> None:
    """A numbered key is the place of a key alone; what is no family has no range, and that is said."""
    assert Softmax(s[1, 1] + 1, 1).definition == exp(s[1, 1] + 1) / Sum(exp(s[1, l] + 1), (l, 1, n))
    assert Softmax(score_of(a, 2), 2).definition == exp(score_of(a, 2)) / Sum(exp(score_of(a, l)), (l, 1, n))
    assert Softmax(y[2, 1], 2).definition == exp(y[2, 1]) / Sum(exp(y[l, 1]), (l, 1, N))
    with pytest.raises(ClaimError, match="no family has the index j"):
        range_of(IndexedBase("w")[j], j)
    # A range is not that of a bound index of the name.
    assert range_of(q[a, i] * Dot(u, a, v, j).definition, i) == d
    assert range_of(Dot(u, a, v, j).definition, i) == d_v


def test_a_relation_that_is_true_or_false_at_once_says_nothing() -> None:
    """SymPy decides some where they are written; one line says how to write them."""
    size = Symbol("size", positive=True)
    written = Eq(size, 1, evaluate=False)
    for start, after in ((written, Eq(size, -1)), (Eq(size, -1), written)):
        (checked,) = Chain(start, Line(after, "turned", equivalent(), "⇔")).checked
        assert "evaluate=False" in checked.problem


def test_scores_beside_other_draws_are_any_rows() -> None:
    """Signs that scores do not depend on are averaged over; a score with itself, or with a law, stays one.

    A square of a mean is no mean of squares, though another family has the law.
    """
    r = Family("r", n)
    weight, other = Softmax(alpha * score, j), Softmax(alpha * score_of(a, l), l)
    mean = E(weight * over_keys(other * (r[j] - r[l]) ** 2, l) / 2)
    signs = moments({r: Law("signs", (S.One, S.Zero, S.One))})
    signs.decide(mean, E(weight * (1 - weight)), "=")
    signs.decide(E(squares(x) * r[j] ** 2), E(squares(x)), "=")
    for before, after in (
        (mean, E(weight)),
        (E(exp(Dot(q, a, q, a)) * r[j] ** 2), E(exp(score_of(a, j)))),
        (E(squares(x) * r[j] ** 2) ** 2, E(squares(x) ** 2)),
        (E(Abs(r[j]) * x) ** 2, E(Abs(r[j]) * x**2) * E(Abs(r[j]))),
    ):
        assert refused(signs, before, after)


def test_arguments_of_a_line_in_the_wrong_places_are_said() -> None:
    """Where the line is written, and with its form."""
    then: Any = Chain(Var(score)).then
    for arguments in ((algebra, "by definition"), ("by definition", moments), (None, algebra)):
        with pytest.raises(ClaimError, match="line d_k: say the reason, then the check: then"):
            then(d, *arguments)


# Means where functions of some families are given: the others' moments are put in, and theirs stay.

CENTRED = {v: Law("mean 0 and variance 1", (S.One, S.Zero, S.One))}
MASK = Family("z", m, n)
MASKED = {**CENTRED, MASK: Law("one in four is dropped", (S.One, *[Rational(3, 4)] * 2))}
scaled = score / sqrt(d)
weight = Softmax(scaled, j)
LENGTH = Dot(q, a, q, a)
OUTPUT, DROPPED = over_keys(weight * v[j, e]), over_keys(weight * MASK[a, j] * v[j, e]) * 4 / 3


@pytest.mark.parametrize(
    ("before", "after", "laws", "wrong"),
    [
        (E(OUTPUT**2), E(squares(scaled)), CENTRED, E(over_keys(weight))),
        (Var(OUTPUT), E(squares(scaled)), CENTRED, n * E(squares(scaled))),
        (E((DROPPED - OUTPUT) ** 2) / E(OUTPUT**2), Rational(1, 3), MASKED, Rational(1, 4)),
        (Cov(DROPPED - OUTPUT, OUTPUT), S.Zero, MASKED, S.One),
        (E(exp(s[a, j]) * v[l, e] ** 2), E(exp(s[a, j])), CENTRED, S.One),
        (sqrt(E(LENGTH * OUTPUT**2)), sqrt(E(LENGTH * squares(scaled))), CENTRED, S.One),
        (E(Abs(s[a, j]) * q[a, 1] * k[j, 1]), S.Zero, STANDARD, E(Abs(s[a, j]))),
        (
            E(Largest(weight, j) * MASK[a, 1] * MASK[a, 2]),
            E(Largest(weight, j)) * 9 / 16,
            MASKED,
            E(Largest(weight, j)),
        ),
    ],
)
def test_what_is_given_stays_in_its_mean(before: Any, after: Any, laws: Any, wrong: Any) -> None:
    """Moments of the others are put in; another value is not accepted."""
    moments(laws).decide(before, after, "=")
    for value in (wrong, 2 * after + int(after == 0)):
        assert refused(moments(laws), before, value)


def test_a_function_of_two_keys_is_left() -> None:
    """At one place it would be another function."""
    with pytest.raises(NotDerived, match="another place of its range"):
        expected(E(over_keys(Entropy(s[a, j] - s[a, l], j) * v[l, e] ** 2, l)), CENTRED, partly=True)


# Published theorems.

row = sigma * x


@pytest.mark.parametrize("name", THEOREMS)
def test_every_theorem_says_what_and_where(name: str) -> None:
    """A theorem has a statement, conditions, and a source with a year; its address is one."""
    theorem = THEOREMS[name]
    assert theorem.says.endswith(".")
    assert theorem.conditions.endswith(".")
    assert any(part.strip("(),").isdigit() for part in theorem.source.split()) or "NIST" in theorem.source
    assert theorem.url is None or theorem.url.startswith("https://")


def test_stein_needs_a_normal_law() -> None:
    """Integration by parts is for normal scores, and an equation; unit variance is not enough."""
    before, after = E(over_keys(Softmax(row, j) * row)), sigma**2 * (1 - E(squares(row)))
    cited("stein", laws=NORMAL_ROWS).decide(before, after, "=")
    assert "normal law" in refused(cited("stein"), before, after)
    assert "normal law" in refused(cited("stein", laws={s: UNIT}), before, after)
    assert "normal law" in refused(cited("stein", laws={k: normal()}), before, after)
    assert "is for = or ⇔" in refused(cited("stein", laws=NORMAL_ROWS), before, after, "≤")


@pytest.mark.parametrize(
    ("name", "relations"), [("normal maximum", "≤ or <"), ("jensen", "≤ or <"), ("delta method", "~")]
)
def test_bounds_and_leading_terms_are_no_equations(name: str, relations: str) -> None:
    """A theorem says how the lines are related that follow from it."""
    check = cited(name, laws=NORMAL_ROWS)
    check.decide(E(row), S.Zero, relations[0])  # type: ignore[arg-type]
    assert f"is for {relations}" in refused(check, E(row), S.Zero, "=")


def test_what_is_cited_is_known_to_the_derivation() -> None:
    """A chain knows its theorems; one of another name is refused with a suggestion."""
    own = Theorem("mine", "It holds.", "Always.", "A. Author, A Book, 2020")
    check = cited(own)
    chain = Chain(c, Line(t, "so it is", check), Line(alpha, "and so it goes on", cited("fubini")))
    assert Derivation.of(chain).cited == (own, THEOREMS["fubini"])
    assert earlier(chain).cites == (own, THEOREMS["fubini"])

    assert check.words == "cited: mine"
    with pytest.raises(ClaimError, match="stein"):
        cited("steim")
    assert THEOREMS["stein"].url == "https://doi.org/10.1214/aos/1176345632"
