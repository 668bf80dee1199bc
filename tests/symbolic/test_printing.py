"""Printing: queries before keys, minus signs last, and the real names everywhere."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
import sympy
from sympy import Float, IndexedBase, Symbol, sympify
from sympy.core.sorting import default_sort_key

from verify.symbolic.kernel.words import E, Ordered
from verify.symbolic.printing import latex, plain, unicode_art
from verify.symbolic.scores import d, mu_q, q, score


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


def test_entries_with_several_or_numeric_indices() -> None:
    """Matrix entries and concrete entries print all their indices."""
    weight = IndexedBase("W")
    assert latex(weight[1, 2]) == "W_{1,2}"
    assert latex(q[3]) == "q_{3}"
    assert unicode_art(q[3]) == "q₃"


def test_ordered_symbols_survive_pickling() -> None:
    """Derivations can be sent to other processes: name, rank and assumptions come back."""
    copy = pickle.loads(pickle.dumps(d))  # noqa: S301  # what was pickled in this line
    assert copy == d
    assert (copy.name, copy.rank, copy.is_positive, copy.is_integer) == ("d_k", "a", True, True)
    assert pickle.loads(pickle.dumps(score)) == score  # noqa: S301  # what was pickled in this line


def test_names_sort_by_rank_among_themselves_and_others() -> None:
    """Powers and plain symbols included; a name is still the text that it is."""
    first, last = Ordered("z", "a"), Ordered("b", "y")
    assert sorted([last**2, first, last, first**2, Symbol("m")], key=default_sort_key)[:4] == [
        first, first**2, last, last**2,
    ]  # fmt: skip
    assert str(first) < "m" < str(last)
    assert str(last) > "m" > str(first)
    assert str(first) <= str(last) >= "m"
    assert str(first) == "z"
    assert hash(str(first)) == hash("z")
    assert type(pickle.loads(pickle.dumps(str(first)))) is str  # noqa: S301  # what was pickled in this line
