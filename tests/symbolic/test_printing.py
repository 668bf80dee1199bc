"""Printing: queries before keys, minus signs last, and the real names everywhere."""

import pickle
from typing import Any

import pytest
import sympy
from sympy import (
    Float, Integral, Symbol, exp, expand, gamma, oo, sqrt, symbols, sympify,
)  # fmt: skip

from verify.symbolic.kernel.words import E, Ordered, OrderedBase, Var
from verify.symbolic.printing import latex, ordered, plain, unicode_art
from verify.symbolic.scores import (
    d, index, k, mu_k, mu_q, one_product, q, score, sigma_k, sigma_q,
)  # fmt: skip


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        (one_product(), "q_{i} k_{i}"),
        (k[index] * q[index], "q_{i} k_{i}"),
        (score, r"\sum_{i=1}^{d_{k}} q_{i} k_{i}"),
        (mu_k * mu_q * d, r"d_{k} \mu_{q} \mu_{k}"),
        (sigma_k**2 * sigma_q**2 * d, r"d_{k} \sigma_{q}^{2} \sigma_{k}^{2}"),
        (E(k[index]) * E(q[index]), r"\mathbb{E}\left[q_{i}\right] \mathbb{E}\left[k_{i}\right]"),
        (mu_k**2 * sigma_q**2 + mu_q**2 * sigma_k**2,
         r"\mu_{q}^{2} \sigma_{k}^{2} + \mu_{k}^{2} \sigma_{q}^{2}"),
        (score / sqrt(d), r"\frac{\sum_{i=1}^{d_{k}} q_{i} k_{i}}{\sqrt{d_{k}}}"),
    ],
)  # fmt: skip
def test_queries_come_before_keys(expression: Any, wanted: str) -> None:
    """The alphabet says k, q; the field writes q, k."""
    assert latex(expression) == wanted


@pytest.mark.parametrize("expression", [-d + mu_q, mu_q - d**2, E(score**2) - E(score) ** 2])
def test_minus_terms_come_last(expression: Any) -> None:
    """A sum starts with a positive term, where it has one."""
    printed = latex(expression)
    assert not printed.startswith("-")
    assert printed.count(" - ") == 1


@pytest.mark.parametrize(
    "text",
    [
        "x*exp(-y/2)/y",
        "exp(-x)*y**(-x)*z**2",
        "-2**(-x/2)*exp(-x**2/(2*y))/(3*sqrt(pi)*gamma(y))",
        "y**(-2)*(x + y)**(-z)*sin(x)*exp(z)",
        "x*exp(-2)*2**(-sqrt(2))",
    ],
)
def test_products_with_negative_exponents_are_printed_as_sympy_does(text: str) -> None:
    """Powers with constant exponents below the line, all others where they belong by their order."""
    expression = sympify(text, {name: Symbol(name, positive=True) for name in "xyz"})
    assert latex(expression) == sympy.latex(expression, ln_notation=True)


def test_what_is_printed_again_is_the_same() -> None:
    """Decimals in full by themselves, not within an expression; whole and decimal numbers apart."""
    number, name = Float("0.5", 20), Symbol("x")
    for _ in range(2):
        assert plain(number) == "0.50000000000000000000"
        assert plain(number * name) == "0.5*x"
        assert (plain(2 * name), plain(Float(2) * name)) == ("2*x", "2.0*x")
        assert latex(name**2 + 1) == "x^{2} + 1"


def test_plain_text() -> None:
    """Plain text is one line of Python-like mathematics with the printed names."""
    assert plain(score) == "Sum(q[i]*k[i], (i, 1, d_k))"
    assert plain(expand(d * mu_q * (mu_k + 1))) == "d_k*mu_q*mu_k + d_k*mu_q"


def test_unicode_art() -> None:
    """Drawn formulas have queries before keys too, plain or squared."""
    assert unicode_art(one_product()) == "qᵢ⋅kᵢ"
    assert unicode_art(d * sigma_q * sigma_k) == "dₖ⋅σ_q⋅σₖ"
    assert "qᵢ⋅kᵢ" in unicode_art(Var(score))
    assert "qᵢ ⋅kᵢ" in unicode_art(E(q[index] ** 2 * k[index] ** 2))


def test_a_name_in_latex_is_printed_as_it_stands() -> None:
    """What follows the first underscore is not one index: the largest of the scores is no max with one."""
    assert latex(Symbol(r"\max_i s_i")) == r"\max_i s_i"
    assert latex(Symbol("s_max")) == "s_{max}"
    assert latex(Symbol("alpha_1")) == r"\alpha_{1}"


def test_ordered_symbols_survive_pickling() -> None:
    """Derivations can be sent to other processes: name, rank and assumptions come back."""
    copy = pickle.loads(pickle.dumps(d))  # noqa: S301  # what was pickled in this line
    assert copy == d
    assert (copy.name, copy.rank, copy.is_positive, copy.is_integer) == ("d_k", "a", True, True)
    assert pickle.loads(pickle.dumps(score)) == score  # noqa: S301  # what was pickled in this line


def test_a_symbol_is_printed_by_its_name() -> None:
    """What ``str`` gives can be read back: ``d_k**3``, not a power of the rank."""
    assert (str(d), f"{d}", str(d**3), str(q), str(q[1]), str(score)) == (
        "d_k", "d_k", "d_k**3", "q", "q[1]", "Sum(q[i]*k[i], (i, 1, d_k))",
    )  # fmt: skip
    assert sympify(str(d**3)) == Symbol("d_k") ** 3
    assert str(mu_k * mu_q * d) == "d_k*mu_q*mu_k"
    assert type(plain(d)) is str


def test_several_ordered_symbols_in_one_call() -> None:
    """Each is what it is by itself: ranked by its name or another, alone or a family."""
    tau, family, plainly = ordered("tau:a1 v[]:t z", positive=True)
    assert (tau, plainly) == (Ordered("tau", "a1", positive=True), Ordered("z", "z", positive=True))
    assert isinstance(family, OrderedBase)
    assert family.label == Ordered("v", "t", positive=True)
    assert ordered("b", real=True) == Ordered("b", "b", real=True)


def test_an_integral_within_another_stands_behind_the_other_factors() -> None:
    """Never above a line below which a factor of the outer one stands; a single one is as SymPy prints it."""
    x, y = symbols("x y", positive=True)
    inner = Integral(exp(-x / y), (x, 1, oo))
    assert latex(Integral(y * inner / gamma(y), (y, 0, oo))) == (
        r"\int\limits_{0}^{\infty} \frac{y}{\Gamma\left(y\right)} "
        r"\int\limits_{1}^{\infty} e^{- \frac{x}{y}}\, dx\, dy"
    )
    assert latex(Integral((y + 1) * inner, (y, 0, 1))).startswith(
        r"\int\limits_{0}^{1} \left(y + 1\right) \int"
    )
    assert latex(inner) == r"\int\limits_{1}^{\infty} e^{- \frac{x}{y}}\, dx"
