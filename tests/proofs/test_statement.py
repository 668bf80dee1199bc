"""What is printed for Coq says what the chain says, or nothing; what is recorded is what claims say."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sympy import Eq, Gt, Integral, Le, Rational, S, Sum, Symbol, exp, oo, parse_expr, sqrt
from sympy import symbols

from verify.proofs.__main__ import AXIOMS, scripts, statement
from verify.proofs.statement import NotPrintable, Statement, digest, is_current, library, recorded
from verify.spec import NORMAL_COMPONENTS, STANDARD, Chain, Derivation, E, Entropy, Family
from verify.spec import Softmax, Var, a, algebra, at_most, d, i, j, k, l, moments, n, q, s, score

x, y = symbols("x y", real=True)


def printed(start: Any, end: Any = x, **more: Any) -> str:
    """Return the theorem of a chain of one line."""
    check, relation = more.get("check", algebra), more.get("relation", "=")
    return Statement(Chain(start, given=more.get("given", ())).then(end, "", check, relation)).theorem("t")


def said(expression: Any) -> str:
    """Return a number as it is printed."""
    return re.search(r"  (\S.*) = x\.$", printed(expression))[1]  # type: ignore[index]


def value(text: str, **names: Any) -> Any:
    """Return what a printed sum is by Coq's definitions, in which a sum of n begins with 0."""
    text = re.sub(r"sum (\w+|\([^()]*\)) \(fun (\w+) =>", r"sum_(\1, lambda \2:", text)
    text = re.sub(r"\bINR (\w+)", r"\1", text).replace("INR", "").replace("^", "**")
    return eval(text, {"sum_": lambda count, of: sum(map(of, range(count))), **names})  # noqa: S307


numbers = st.fractions(-9, 9, max_denominator=7).map(lambda f: Rational(f.numerator, f.denominator))
expressions = st.recursive(
    numbers | st.sampled_from([x, y]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: pair[0] + pair[1]),
        st.tuples(inner, inner).map(lambda pair: pair[0] * pair[1]),
        st.tuples(inner, st.integers(-2, 3)).map(lambda pair: pair[0] ** pair[1] if pair[0] != 0 else S.One),
    ),
    max_leaves=8,
)


@given(expressions.filter(lambda e: not e.has(S.ComplexInfinity, S.NaN)))
def test_fractions_are_printed_with_their_own_value(expression: Any) -> None:
    """Coq binds powers, products and sums as SymPy's parser does."""
    read = parse_expr(said(expression).replace("^", "**"), {"x": x, "y": y}, evaluate=False)
    at = {x: Rational(17, 5), y: Rational(-23, 11)}
    assert read.subs(at) == expression.subs(at) or read.subs(at).equals(expression.subs(at))


@pytest.mark.parametrize("low", [1, 2, 3])
def test_places_count_from_0_in_coq_and_from_1_here(low: int) -> None:
    """A sum from any number, one within another, and places in arrays."""
    of_places = Sum(j**2 + 3 * j, (j, low, n))
    nested = Sum(Sum(i * j + low, (i, low, d)), (j, 1, n))
    for total in (of_places, nested):
        exact = total.subs({n: 6, d: 4}).doit()
        assert value(said(total), n=6, d=4) == exact
    entries = said(Sum(s[a, j] * s[a, 2], (j, low, n)))
    places = [int(place) for place in re.findall(r"\+ (\d+)\)%nat", entries)] or [0]
    assert places == [low - 1]
    assert "s a 1%nat" in entries


def test_a_mean_is_over_independent_arrays_with_the_moments_of_the_laws() -> None:
    """The golden text of the claim that everybody quotes."""
    says = printed(Var(score / sqrt(d)), 1, check=moments(STANDARD))
    assert says == (
        "Theorem t (P : space) (d m n a j : nat) (k q : nat -> nat -> P -> R) :\n"
        "  (0 < d)%nat ->\n"
        "  (0 < m)%nat ->\n"
        "  (0 < n)%nat ->\n"
        "  (a < m)%nat ->\n"
        "  (j < n)%nat ->\n"
        "  independent 2 (all2 n d k ++ all2 m d q) ->\n"
        "  (forall i1 i2 : nat, (i1 < n)%nat -> (i2 < d)%nat ->"
        " E (k i1 i2) = 0 /\\ E (fun w => k i1 i2 w^2) = 1) ->\n"
        "  (forall i1 i2 : nat, (i1 < m)%nat -> (i2 < d)%nat ->"
        " E (q i1 i2) = 0 /\\ E (fun w => q i1 i2 w^2) = 1) ->\n"
        "  Var (fun w => dot d (q a) (k j) w/sqrt(INR d)) = 1."
    )


def test_hypotheses_are_those_of_the_claim() -> None:
    """Domains, ranges, different indices, conditions at all places, existence where no law is assumed."""
    c, u = Symbol("c", positive=True), Symbol("u", nonnegative=True)
    says = printed(c * s[a, j] + u * s[a, l], x, given=(c <= 2,))
    for hypothesis in ("0 < c", "0 <= u", "(a < m)%nat", "(j < n)%nat", "(l < n)%nat", "j <> l", "c <= 2"):
        assert f"  {hypothesis} ->\n" in says
    free = Family("z", n)
    assert "  integrable (fun w => z j w^2) ->\n" in printed(Var(free[j]))
    assert "integrable (fun w => z j w^2)" not in printed(E(free[j]))
    above = at_most(Softmax(s[a, j], j), given=(Le(s[a, l] - s[a, j], c),))
    says = printed(Softmax(s[a, j], j), c, check=above, relation="≤")
    assert "  (forall l : nat, (l < n)%nat -> j <> l -> -s a j + s a l <= c) ->\n" in says


w = Symbol("w", real=True)
REFUSED: dict[str, Callable[[], str]] = {
    "integral": lambda: printed(Integral(exp(-w), (w, 0, oo))),
    "infinity": lambda: printed(x, oo),
    "complex": lambda: printed(S.ImaginaryUnit * x),
    "constant": lambda: printed(S.Exp1 * x),
    "not real": lambda: printed(Symbol("z") * x),
    "whole number of either sign": lambda: printed(Symbol("z", integer=True) * x),
    "name": lambda: printed(Symbol("S_{max}", real=True) * x),
    "two of one name": lambda: printed(Symbol("j", real=True) * s[a, j]),
    "power of either sign": lambda: printed(x**y),
    "place": lambda: printed(Sum(s[a, j + 1], (j, 1, n))),
    "range": lambda: printed(Sum(j, (j, 0, n))),
    "size": lambda: printed(Sum(Sum(j, (j, 1, i)), (i, 1, n))),
    "leading term": lambda: printed(x, y, relation="~"),
    "normal law": lambda: printed(E(score), 0, check=moments(NORMAL_COMPONENTS)),
    "laws of some": lambda: printed(E(score), 0, check=moments({q: STANDARD[q]})),
    "drawn in no mean": lambda: printed(E(q[a, i]) * q[a, i]),
    "mean of a mean": lambda: printed(E(q[a, i] * E(k[j, i]))),
    "second derivative": lambda: printed(Sum(Softmax(s[a, j], j).diff(s[a, l], 2), (l, 1, n))),
    "derivative by a free entry": lambda: printed(Softmax(s[a, j], j).diff(s[a, l])),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_the_printer_does_not_know_it_refuses(what: str) -> None:
    """There is no statement that leaves a part out."""
    with pytest.raises(NotPrintable):
        REFUSED[what]()


def test_entropy_weights_and_equations_are_known() -> None:
    """Binders name their index; an equation may be what a chain rewrites."""
    assert said(Entropy(2 * s[a, j], j)) == "entropy n (softmax n (fun j => 2*s a j))"
    assert said(Softmax(s[a, 1], 1)) == "softmax n (fun l => s a l) 0%nat"
    left, right = Eq(x**2, 1, evaluate=False), Eq((x - 1) * (x + 1), 0, evaluate=False)
    assert printed(left, right, relation="⇔").endswith("x^2 = 1 <-> (x - 1)*(x + 1) = 0.")
    assert "x > 1 ->" in printed(x, y, given=(Gt(x, 1),))


# ---- the record --------------------------------------------------------------------------------------------


RECORDED = recorded()["claims"]
term = Symbol("i", positive=True, integer=True)
WORKED = Sum(term * (term + 2), (term, 1, n))


def worked(end: object) -> Derivation:
    """Return a derivation like that of the worked dot products, with any end."""
    return Derivation((Chain(WORKED).then(end, "summed", algebra),))


def test_every_proof_is_of_the_statement_that_is_printed_now() -> None:
    """Each recorded statement is printed again from its claim, and rests on allowed axioms alone."""
    assert RECORDED.keys() == scripts().keys()
    assert recorded()["library"] == library()
    for claim, proof in RECORDED.items():
        assert statement(claim) == proof["statement"], f"{claim}: run python -m verify.proofs --write"
        assert digest(proof["statement"]) == proof["digest"]
        assert proof["statement"].startswith(f"Theorem {proof['theorem']} ")
        assert set(proof["axioms"]) <= AXIOMS


def test_a_stale_record_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A claim that says something else, cannot be printed, or rests on other definitions is not proved."""
    says = n * (n + 1) * (2 * n + 7) / 6
    assert is_current("worked-dot-products", worked(says))
    assert not is_current("worked-dot-products", worked(2 * says))
    assert not is_current("worked-dot-products", worked(says * Symbol("z")))
    assert not is_current("worked-dot-products", Derivation((), "nothing is derived"))
    monkeypatch.setattr("verify.proofs.statement.library", lambda: "another digest")
    assert not is_current("worked-dot-products", worked(says))
