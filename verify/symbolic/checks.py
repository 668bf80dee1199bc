"""The checks ``algebra``, ``moments(laws)``, ``substitute({…})``, ``cited(…)``, and chains for questions.

A cited line is printed as such: that the theorem applies is the reader's to judge. Conditions that show in
a line are checked: that a law is normal where it has to be, which way a bound goes, that Jensen's function
bends that way. The rest of the conditions stands in the table, ``data/theorems.toml``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from sympy import Derivative, Dummy, Eq, Function, Indexed, Integral, Limit, S, Sum, collect, expand, factor
from sympy import sqrt, sympify

from verify.errors import ClaimError, unknown
from verify.files import shipped_table
from verify.symbolic.bounds import equal, put_in, slope
from verify.symbolic.calculus import MomentMissing, NotDerived, conditional, expected
from verify.symbolic.chains import Chain, Line, LineCheck, Relation, Theorem
from verify.symbolic.evaluation import Undecided
from verify.symbolic.modular import Unequal, decide_equality, is_size
from verify.symbolic.signs import Signs
from verify.symbolic.vocabulary import Cov, E, Index, Largest, Law, Laws, Made, StepError, Var, definition
from verify.symbolic.vocabulary import families_of, free_indices, free_symbols, normal, range_of


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
        try:
            values = [expected(side, laws) for side in (before, after)]
        except MomentMissing as error:
            raise StepError(str(error)) from None
        except NotDerived as error:
            missing = error
        else:
            try:
                decide_equality(*values)
            except Unequal:
                raise StepError(f"{under} they differ{_difference(*values)}") from None
            except Undecided as error:
                raise StepError(f"{under} both have a value, and {error}") from None
            return
        # Functions of some families are given, and the moments of the others put in.
        try:
            decide_equality(conditional(before, laws), conditional(after, laws))
        except (StepError, ClaimError) as error:
            if any(isinstance(family, Made) for side in (before, after) for family in families_of(side)):
                raise StepError(f"{under} the means without a program are put in, and {error}") from None
        else:
            return
        # If they differ, what is symmetric in the draws may still be seen over drawn laws.
        try:
            decide_equality(before, after, laws)
        except Unequal as error:
            raise StepError(f"{under}, {error}") from None
        except Undecided as error:
            raise StepError(f"moments do not decide it: {missing}; {error}") from None

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
                names = ", ".join(sorted(map(str, free_symbols(opened))))
                raise StepError(f"{symbol} does not stand in the line before, where {names} do")
        # Two free indices over one range mean different places, which must not become the same.
        places: dict[tuple[Any, Any], Any] = {}
        for index in sorted(free_indices(opened), key=str):
            with suppress(ClaimError):
                value = put.get(index, index)
                first = places.setdefault((range_of(opened, index), value), index)
                if first != index:
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
    symbols = {x: value for x, value in put.items() if x.is_Symbol and not isinstance(x, Index)}
    assumed = tuple(Eq(symbol, value, evaluate=False) for symbol, value in symbols.items())
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
    form = _FORMS.get(str(theorem))

    def compare(before: Any, after: Any, relation: Relation) -> None:
        families = families_of(before) | families_of(after)
        normals = (family in (laws or {}) and is_normal((laws or {})[family]) for family in families)
        if known.of_normals and not any(normals):
            named = ", ".join(sorted(str(family.label) for family in families)) or "what it speaks of"
            wanted = f"say it of one of {named}, as laws={{s: normal()}}"
            raise StepError(f"{known.name} needs a normal law: {wanted}")
        if form:
            form(known.name, before, after, relation)

    return LineCheck(
        compare=compare,
        words=f"cited: {known.name}",
        relations=known.relations,
        laws=laws,
        cites=(known,),
        is_exact=False,
    )


def is_normal(law: Law) -> bool:
    """Return whether a law is assumed to be normal, and not only to share moments with a normal law."""
    # A law of which 16 moments are given is a law that has these, which need not be the normal law.
    if not law.whole or len(law.raw) < 3:
        return False
    variance = law.raw[2] - law.raw[1] ** 2
    return all(equal(x, y) for x, y in zip(law.raw, normal(law.raw[1], sqrt(variance)).raw, strict=False))


def _in_the_limit(name: str, before: Any, after: Any, relation: Relation) -> None:
    if relation == "=" and not (before.has(Limit) or after.has(Limit)):
        raise StepError(f"{name} is about a limit, and the line has no Limit(…)")


def _maximum(name: str, before: Any, after: Any, relation: Relation) -> None:
    """The mean of a largest stands on the smaller side, which rises with it, and not on the other."""
    less, more = (before, after) if relation in "≤<" else (after, before)
    means = [mean for mean in less.atoms(E) if mean.has(Largest)]
    hole = Dummy("X", real=True)
    if not means or more.has(Largest) or slope(less.xreplace({means[0]: hole}), hole, Signs()) < 0:
        raise StepError(f"{name} bounds the mean of a Largest(…) from above; the line does not read so")


def _jensen(name: str, before: Any, after: Any, relation: Relation) -> None:
    """The mean of f is above f of the mean where f is visibly convex; the function may be hidden from us."""
    for inside, outside in ((before, after), (after, before)):
        for mean in outside.atoms(E):
            (x,) = mean.args
            hole = Dummy("X", real=True, positive=Signs().nonnegative(x) or None)
            function = outside.xreplace({mean: hole})
            if function.has(E) or not equal(E(function.xreplace({hole: x})), inside):
                continue
            # E f(x) on one side, f(E x) on the other: E f(x) is above where f is convex.
            above = relation in ("≥>" if inside is before else "≤<")
            bend = function.diff(hole, 2)
            if Signs().positive(-bend if above else bend):
                shape = "concave" if above else "convex"
                raise StepError(f"{name} goes the other way: {function} is {shape} in {hole}")
            return


_FORMS: Mapping[str, Callable[[str, Any, Any, Relation], None]] = {
    "jensen": _jensen,
    "normal maximum": _maximum,
    "central limit": _in_the_limit,
    "monotone convergence": _in_the_limit,
}
"""Conditions of theorems that can be seen in the line itself."""


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
