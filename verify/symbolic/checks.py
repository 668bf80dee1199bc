"""The checks ``algebra``, ``moments(laws)``, ``substitute({…})``, ``cited(…)``, and chains for questions.

A cited line is printed as such, and tried numerically: that the theorem applies is the reader's to judge.
That a law is normal where it has to be is checked; all conditions stand in the table, ``data/theorems.toml``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sympy import Derivative, Eq, Function, Indexed, Integral, S, Sum, collect, expand, factor
from sympy import sympify

from verify.errors import ClaimError, unknown
from verify.files import shipped_table
from verify.symbolic.bounds import put_in
from verify.symbolic.calculus import MomentMissing, NotDerived, expected, no_polynomial
from verify.symbolic.chains import Chain, Line, LineCheck, Relation, Theorem
from verify.symbolic.evaluation import Undecided, ranges_of
from verify.symbolic.modular import Unequal, decide_equality, is_size
from verify.symbolic.vocabulary import Cov, E, Index, Laws, Made, StepError, Var, definition
from verify.symbolic.vocabulary import families_of


def _by_algebra(before: Any, after: Any, _: Relation) -> None:
    try:
        decide_equality(before, after)
    except Unequal as error:
        raise StepError(f"{error}{_difference(sympify(before), sympify(after))}") from None
    except Undecided as error:
        raise StepError(f"algebra could not decide it: {error}") from None


algebra = LineCheck(compare=_by_algebra, words="algebra")
"""The line is the same expression, written otherwise: whatever its symbols stand for, definitions put in."""


def moments(laws: Laws) -> LineCheck:
    """Return the check that both sides have the same value under laws, for every size.

    Example:
        >>> Line(d, "independent components", moments(STANDARD))
    """
    under = "under " + ", ".join(dict.fromkeys(law.words for law in laws.values()))

    def compare(before: Any, after: Any, _: Relation) -> None:
        problem = ""
        try:
            values = [expected(side, laws, partly=True) for side in (before, after)]
            decide_equality(*values)
        except MomentMissing as error:
            raise StepError(str(error)) from None
        except NotDerived as error:
            problem = str(error)
        except StepError as error:
            left = sorted(values[0].atoms(E) | values[1].atoms(E), key=str)
            if not left and isinstance(error, Unequal):
                raise StepError(f"{under} they differ{_difference(*values)}") from None
            if not left:
                raise StepError(f"{under} both have a value, and {error}") from None
            problem = no_polynomial(left[0])
        else:
            return
        # What programs make depends on all that is drawn.
        if any(isinstance(family, Made) for family in families_of(before) | families_of(after)):
            raise StepError(f"{under} the means without a program are put in, and {problem}")
        # If they differ, what is symmetric in the draws may still be seen over drawn laws.
        try:
            decide_equality(before, after, laws)
        except Unequal as error:
            raise StepError(f"{under}, {error}") from None
        except Undecided as error:
            raise StepError(f"moments do not decide it: {problem}; {error}") from None

    return LineCheck(compare=compare, words="moment calculus", laws=laws)


def substitute(values: Mapping[Any, Any]) -> LineCheck:
    """Return the check that a line is the line before at values of symbols, sizes or free indices.

    Example:
        >>> Line(2 * sigma, "two components", substitute({d: 2}))
    """
    put = {sympify(symbol): sympify(value) for symbol, value in values.items()}
    equations = tuple(Eq(symbol, value, evaluate=False) for symbol, value in put.items())
    if any(value.has(*put) for value in put.values()):
        equations = (S.false,)  # nothing is d + 1 where that is put in for d

    def compare(before: Any, after: Any, _: Relation) -> None:
        opened = definition(before)
        for symbol in put:
            if not symbol.is_Symbol:
                raise StepError(
                    f"{symbol} is no symbol; values are put in for symbols, sizes and free indices"
                )
            if symbol not in opened.free_symbols:
                raise StepError(f"{symbol} does not stand in the line before")
        # Two free indices over one range mean different places, which must not become the same.
        places: dict[tuple[Any, Any], Any] = {}
        for index, size in ranges_of(opened):
            value = put.get(index, index)
            if size and (first := places.setdefault((size, value), index)) != index:
                raise StepError(f"{first} and {index} mean different places; both cannot be {value}")
        # A size is put in by evaluating there: families keep their ranges.
        sizes = {symbol: int(x) for symbol, x in put.items() if is_size(symbol) and x.is_Integer}
        others = {symbol: value for symbol, value in put.items() if symbol not in sizes}
        try:
            decide_equality(put_in(opened, others), after, sizes=sizes)
        except Unequal as error:
            at = ", ".join(f"{symbol} = {value}" for symbol, value in put.items())
            raise StepError(f"with {at} put in, {error}") from None
        except Undecided as error:
            raise StepError(f"values put in could not be decided: {error}") from None

    # Which places are meant is no assumption.
    assumed = tuple(Eq(x, put[x], evaluate=False) for x in put if x.is_Symbol and not isinstance(x, Index))
    return LineCheck(compare=compare, words="values put in", needs=equations, assumed=assumed)


def _difference(before: Any, after: Any) -> str:
    """Return by how much two values differ, where that is short to say."""
    difference = before - after
    if difference.atoms(Function, Integral, Sum, Derivative, Indexed) or difference.count_ops() > 200:
        return ""
    return f" by {factor(difference)}"


THEOREMS: Mapping[str, Theorem] = {
    short: Theorem(**{"relations": "=⇔", **entry}) for short, entry in shipped_table("theorems").items()
}
"""Theorems that a line may cite by a short name; any other theorem is given as a ``Theorem``."""


def cited(theorem: str | Theorem, *, laws: Laws | None = None) -> LineCheck:
    """Take a line on the authority of a published theorem, which is printed with it.

    Args:
        theorem: Its short name in ``THEOREMS``, or a theorem that is not in this table.
        laws: The laws of the families that the line speaks of; the line is tried under them.

    Raises:
        ClaimError: there is no theorem of this name.

    Example:
        >>> Line(E(over_keys(p * s[a, j])) / sigma**2, "by parts", cited("stein", laws=NORMAL_ROWS))
    """
    if isinstance(theorem, str) and theorem not in THEOREMS:
        raise ClaimError(unknown("theorem", theorem, THEOREMS, "give a Theorem(…) of your own"))
    known = THEOREMS[theorem] if isinstance(theorem, str) else theorem

    def compare(before: Any, after: Any, _: Relation) -> None:
        families = families_of(before) | families_of(after)
        normal = {family for family, law in (laws or {}).items() if law.is_normal}
        if known.of_normals and not families & normal:
            named = ", ".join(sorted(str(family.label) for family in families)) or "what it speaks of"
            wanted = f"say it of one of {named}, as laws={{s: normal()}}"
            raise StepError(f"{known.name} needs a normal law: {wanted}")

    words = f"cited: {known.name}"
    return LineCheck(
        compare=compare, words=words, relations=known.relations, laws=laws, cites=(known,), is_exact=False
    )


def derive(expression: Any, laws: Laws) -> Chain:
    """Return a chain from an expression in means to its value, by definitions and means of components.

    Raises:
        NotDerived: its value does not follow from the moments.
    """
    start, value = sympify(expression), expected(expression, laws)
    opened = start.replace(lambda x: isinstance(x, Var | Cov), lambda x: x.definition)
    named = [name for kind, name in ((Var, "variance"), (Cov, "covariance")) if start.has(kind)]
    lines = [] if opened == start else [Line(opened, f"definition of the {' and the '.join(named)}", algebra)]
    # Of the forms that SymPy has for the value, a reader is shown the shortest.
    sizes = [1 / symbol for symbol in value.free_symbols if symbol.is_integer]
    forms = (factor(value), expand(value), collect(expand(value), sizes))
    shortest = min(forms, key=lambda form: (form.count_ops(), len(str(form))))
    return Chain(start, *lines, Line(shortest, "the moments of the components", moments(laws)))
