"""Bounds: the excess of the larger side is stated and visibly not negative; earlier chains are put in.

``at_most(excess)`` says that the line before is at most this line, and by how much; ``signs`` sees that the
excess is not negative. ``earlier(chain)`` puts a chain's result into a part of a line, which may stand
inside of ``E``, ``Sum``, ``Integral`` and functions that visibly go one way; so a bound is averaged, summed
and integrated where it is put in, and needs no step of its own for that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sympy import Add, Derivative, Dummy, Eq, Indexed, IndexedBase, Integral, Limit, Max, Min, Mul, Pow
from sympy import S, Subs, Sum, Tuple, sympify

from verify.symbolic.chains import Chain, LineCheck, Relation
from verify.symbolic.evaluation import derived, ranges_of
from verify.symbolic.modular import decide_equality
from verify.symbolic.signs import INEQUALITIES, MEANS, RISING, Signs
from verify.symbolic.vocabulary import BINDERS, E, Given, Index, Largest, LogSumExp, Softmax, StepError
from verify.symbolic.vocabulary import as_drawn, families_of

_RUNNING = (Sum, Integral, Derivative, Limit, Subs, *BINDERS)

TURNED: dict[Relation, Relation] = {"≤": "≥", "≥": "≤", "<": ">", ">": "<", "=": "=", "~": "~", "⇔": "⇔"}
"""How the sides of a line, or the negatives of both, stand to each other when they change places."""


def at_most(excess: Any, *, given: tuple[Any, ...] = ()) -> LineCheck:
    """Decide that the line before is at most this line, which is larger by the ``excess``.

    Args:
        excess: This line less the line before, written so that it is visibly not negative (for "<" positive).
        given: Inequalities between symbols that it needs, such as ``(n > 2,)`` or ``(Le(Abs(x[j]), M),)``.

    Example:
        >>> Line(E(Largest(s[a, j], j)), "No average exceeds the largest",
        ...      at_most(E(over_keys(Softmax(s[a, j], j) * (Largest(s[a, l], l) - s[a, j])))), "≤")
    """

    def compare(before: Any, after: Any, relation: Relation) -> None:
        less, more = (before, after) if relation in "≤<" else (after, before)
        try:
            decide_equality(more - less, as_drawn(excess))
        except StepError as error:
            raise StepError(f"the lines do not differ by the stated excess {excess}: {error}") from error
        if not Signs(given).nonnegative(excess, strict=relation in "<>"):
            wanted = "positive" if relation in "<>" else "not negative"
            raise StepError(
                f"it is not visible that the excess {excess} is {wanted}; write it in squares, weights, "
                "1 less a weight, … or state what it needs as given=(…)"
            )

    words = "what one side has more is not negative"
    return LineCheck(compare=compare, words=words, relations="≤<", given=given)


def at_least(excess: Any, *, given: tuple[Any, ...] = ()) -> LineCheck:
    """Decide that the line before is at least this line, smaller by the ``excess``; else as ``at_most``."""
    return replace(at_most(excess, given=given), relations="≥>")


def earlier(chain: Chain, at: Mapping[Any, Any] | None = None, *, given: tuple[Any, ...] = ()) -> LineCheck:
    """Decide a line by the result of an established chain, put in for a part of the line before.

    An equation may be put in anywhere and read from either side. A bound may be put in where the line
    visibly goes one way: inside of E, sums, integrals, functions that rise or fall, and products with what
    has a sign.

    Args:
        chain: The chain, whose lines hold.
        at: Values of the chain's symbols, where it is put in at these. A value may be drawn, such as the
            length of a query, from families that are not in the chain: then both sides are averaged over it.
            The value of an entry of given numbers, such as ``A[i, j]``, is an expression for every i and j.
        given: Inequalities under which the line goes one way, or the chain holds at these values.

    Example:
        >>> tangent = Chain(1/Z - x/Z**2, Line(1/(Z + x), "convex", at_most(x**2/(Z**2*(Z + x))), "≤"))
        >>> put_in = earlier(tangent, at={Z: total, x: exp(s[a, j])})
        >>> Line(E(1 / (total + exp(s[a, j]))), "averaged", put_in, "≤")
    """
    values = {symbol: sympify(value) for symbol, value in (at or {}).items()}
    rests = resting_on(chain)
    moments = Tuple(*(moment for law in (rests["laws"] or {}).values() for moment in law.raw))
    there = (put_in(condition, values) for line in chain.lines for condition in line.check.conditions)
    # Values of symbols are conditions where the laws speak of these.
    known = (Eq(x, value, evaluate=False) for x, value in values.items() if moments.has(x))
    needs = (*(condition for condition in there if condition != S.true), *known)
    words = f"by {chain.title or chain.name or 'an earlier chain'}"

    def compare(before: Any, after: Any, relation: Relation) -> None:
        if chain.problem:
            raise StepError(chain.problem)
        try:
            _decide_put_in(before, after, relation, chain, values, given)
        except StepError as error:
            raise StepError(f"{words}: {error}") from None

    rests["assumed"] = (*needs, *chain.given, *rests["assumed"])
    return LineCheck(
        compare=compare, relations="".join(TURNED), words=words, given=given, needs=needs, **rests
    )


def resting_on(*chains: Chain) -> dict[str, Any]:
    """Return the assumptions, laws and citations that a line has from the chains that it rests on."""
    checks = [line.check for chain in chains for line in chain.lines]
    laws = {family: law for check in checks for family, law in (check.laws or {}).items()}
    return {
        "assumed": tuple(dict.fromkeys(x for check in checks for x in (*check.given, *check.assumed))),
        "laws": laws if any(check.laws is not None for check in checks) else None,
        "cites": tuple(dict.fromkeys(theorem for check in checks for theorem in check.cites)),
    }


def _decide_put_in(
    before: Any, after: Any, relation: Relation, chain: Chain, values: dict[Any, Any], given: tuple[Any, ...]
) -> None:
    """Return where the line before comes to this line with a chain put in, at values of its symbols."""
    signs, facts = Signs(given), list[Any]()
    for symbol, value in values.items():
        demands = (
            ("positive", not symbol.is_positive or signs.positive(value)),
            ("not negative", not symbol.is_nonnegative or signs.nonnegative(value)),
            ("real", not symbol.is_real or signs.real(value) or signs.positive(value)),
            ("a whole number", not symbol.is_integer or value.is_integer),
        )
        for word in (word for word, holds in demands if not holds):
            raise StepError(f"{symbol} is {word}; that {value} is so is not visible")
    for condition in chain.given:
        there = put_in(condition, values)
        facts += [there] * isinstance(there, INEQUALITIES)
        if there not in {condition, S.true} and not (isinstance(there, INEQUALITIES) and signs.holds(there)):
            raise StepError(f"it holds for {condition}; state {there} as given=(…)")
    if isinstance(before, Eq) and chain.relation == "=" and relation == "⇔":
        relation = "="  # an equation put into a side of another: the two say the same
    start, end = (put_in(side, values) for side in _averaged(chain, values))
    problems = list[str]()
    # The chain is read from either side; a bound read from its end is turned.
    for old, new, kind in ((start, end, chain.relation), (end, start, TURNED[chain.relation])):
        problem = _problem(before, after, relation, old, new, kind, Signs((*given, *facts)))
        problems.append(problem or _runs_over_others(before, old, chain, values, given, facts))
        if not problems[-1]:
            return
    # What is written nowhere says less than what does not follow.
    raise StepError(min(problems, key=lambda text: text.startswith("put in for")))


def _averaged(chain: Chain, values: dict[Any, Any]) -> tuple[Any, Any]:
    """Return a chain's sides; where a value is drawn, as means over that too, by the tower rule.

    Its families must not stand in the chain, and each side must be linear in its means.
    """
    drawn, sides = set[Any]().union(*map(families_of, values.values())), (chain.start, chain.end)
    # A chain without means speaks of values, whatever they are drawn of.
    if not drawn or not any(side.has(E) for side in sides):
        return sides
    averaged = []
    for side in sides:
        holes = {mean: Dummy() for mean in side.atoms(E)}
        opened = side.xreplace(holes)
        slopes = [opened.diff(hole) for hole in holes.values()]
        random = {family for family in families_of(opened) if not isinstance(family, Given)}
        if random or any(slope.has(*holes.values()) for slope in slopes):
            raise StepError(f"{side} is not linear in means, so it cannot be averaged again")
        if drawn & families_of(side):
            raise StepError("a value put in is drawn of what the chain is about")
        # E over the value and E of the chain are one mean, for their families are different.
        inside = side.xreplace({mean: mean.args[0] for mean in holes})
        averaged.append(E(inside) if families_of(put_in(inside, values)) else inside)
    return averaged[0], averaged[1]


def _problem(
    before: Any, after: Any, relation: Relation, old: Any, new: Any, kind: Relation, signs: Signs
) -> str:
    """Return why ``before`` with ``old`` replaced does not come to ``after``; empty where it does."""
    # In a bound the hole has the signs that both sides have, so that slopes in it are as visible as in them.
    facts = {"real": signs.real, "positive": signs.positive, "nonnegative": signs.nonnegative}
    known = {fact: all(map(holds, (old, new))) or None for fact, holds in facts.items() if kind in "≤<≥>"}
    hole = Dummy("X", **known)
    # The hole is where ``old`` stands; where that is written nowhere, x is also (x/old)·old, and for sums
    # (x - old) + old.
    opened = replaced(before, old, hole) if kind == "=" or not old.is_number else before
    ways = [opened] if opened.has(hole) else []
    if not ways or kind != "=":
        if equal(before, old):
            ways.append(hole)
        elif not (old.is_number or before.is_number):
            ways += [before / old * hole, before * old / hole]
            ways += [before - old + hole, before + old - hole] * (before.is_Add or old.is_Add)
    opened = next((way for way in ways if equal(way.xreplace({hole: new}), after)), None)
    if opened is None:
        return f"put in for {old}, it gives {replaced(before, old, new)}, which is not this line"
    if kind in "=⇔~" or relation in "⇔~":
        is_same = kind == relation and (kind == "=" or opened == hole)
        return "" if is_same else f"it shows {kind}, so the line does not follow with {relation}"
    way = slope(opened, hole, signs, strict=relation in "<>")
    if way == 0:
        return f"a bound is put in where it is not visible that {opened} goes one way in {hole}"
    follows = kind if way > 0 else TURNED[kind]
    is_given = relation in {follows, {"<": "≤", ">": "≥"}.get(follows)}
    return "" if is_given else f"put in there the bound gives {follows}, not {relation}"


def _runs_over_others(
    line: Any, old: Any, chain: Chain, values: dict[Any, Any], given: tuple[Any, ...], facts: list[Any]
) -> str:
    """Return why the chain does not hold for all that a sum or an integral around it runs over."""
    around = [part for part in line.atoms(Sum, Integral) if replaced(part, old, S.Zero) != part]
    limits = [limit for part in around for limit in part.limits]
    signs, running = Signs(given).within(limits), {limit[0] for limit in limits}
    for condition in (fact for fact in facts if fact.free_symbols & running):
        # At an end alone an integral does not mind.
        strict = condition.rel_op in "<>" and any(isinstance(part, Sum) for part in around)
        if not signs.nonnegative(condition.gts - condition.lts, strict=strict):
            other = (condition.free_symbols & running).pop()
            return f"it holds for {condition}, and the line goes over other {other}, too"
    # A line about places j ≠ l says nothing of the terms j = l of a sum over both.
    of_size: dict[Any, set[Any]] = {}
    for index, size in ranges_of(chain.start, chain.end):
        of_size.setdefault(size, set()).add(values.get(index, index))
    for size, places in of_size.items():
        if size and len(places) > 1 and running & places:
            both = " and ".join(sorted(map(str, places)))
            return f"it speaks of different {both}, which the line sums over, equal ones too"
    return ""


def equal(before: Any, after: Any) -> bool:
    """Return whether two expressions, or sides of equations, are decided to be equal, by algebra alone."""
    if isinstance(before, Eq) and isinstance(after, Eq):
        return all(map(equal, before.args, after.args))
    try:
        decide_equality(before, after)
    except StepError:
        return False
    return True


def slope(x: Any, hole: Any, signs: Signs, *, strict: bool = False) -> int:
    """Return 1 where an expression visibly rises with a symbol, -1 where it falls, 0 where that is hidden.

    Where not ``strict``, it may also stay level.
    """
    if x == hole:
        return 1
    moving = [part for part in x.args if part.has(hole)]
    if isinstance(x, MEANS):
        is_averaged = signs.forward(x) and moving == [x.args[0]]
        return slope(x.args[0], hole, signs.within(x.args[1:]), strict=strict) if is_averaged else 0
    rest = S.Zero
    if isinstance(x, (Add, Largest, LogSumExp, *RISING)) or (isinstance(x, Max | Min) and not strict):
        rest = S.One
    elif isinstance(x, Mul) and len(moving) == 1:
        rest = x / moving[0]
    # The slope of xᵉ has the sign of e, where x is not negative.
    elif (
        isinstance(x, Pow)
        and moving == [x.base]
        and signs.nonnegative(x.base, strict=not x.exp.is_nonnegative)
    ):
        rest = x.exp
    # Where it stands in several parts, all of them have to go the same way.
    ways = {slope(part, hole, signs, strict=strict) for part in moving} if rest != 0 else {0}
    way = ways.pop() if len(ways) == 1 else 0
    return way and way * signs.sign(rest, strict=strict)


def replaced(x: Any, old: Any, new: Any) -> Any:
    """Return an expression with ``new`` wherever ``old`` is written, also as a part of a product."""
    if x == old:
        return new
    if isinstance(x, IndexedBase) or not x.args:
        return x
    # Nothing is put in for the variable of a sum or a derivative, nor into its ends.
    inner = x.args[:1] if isinstance(x, _RUNNING) else x.args
    args = [*(replaced(part, old, new) for part in inner), *x.args[len(inner) :]]
    if any(part is not before for part, before in zip(args, x.args, strict=True)):
        x = x.func(*args)
    number, factors = old.as_coeff_Mul()
    if isinstance(x, Mul) and isinstance(old, Mul) and set(Mul.make_args(factors)) <= set(x.args):
        return x / factors * new / number
    return x


def put_in(x: Any, values: Mapping[Any, Any]) -> Any:
    """Return an expression at values of its symbols; a variable that is summed over is none of them.

    Such a variable gets another name where a value speaks of a symbol of its name. A derivative by a symbol
    with a value is taken first. Of given numbers the value of an entry is that of all, at their own indices.
    """
    if x in values:
        return values[x]
    if isinstance(x, Indexed) and isinstance(x.base, Given):
        for entry, value in values.items():
            if isinstance(entry, Indexed) and entry.base == x.base:
                return put_in(value, dict(zip(entry.indices, x.indices, strict=True)))
    if isinstance(x, IndexedBase) or not x.args:
        return x
    if isinstance(x, Derivative) and any(variable in values for variable in x.variables):
        return put_in(derived(x), values)
    bound = [limit[0] for limit in x.limits] if isinstance(x, Sum | Integral) else []
    if isinstance(x, BINDERS) and not isinstance(x, Softmax):
        bound = [x.args[1]]
    inner = {symbol: value for symbol, value in values.items() if symbol not in bound}
    taken = set().union(*(value.free_symbols for value in inner.values())) & set(bound)
    fresh = {name: type(name)(f"{name}'") if isinstance(name, Index) else name.as_dummy() for name in taken}
    return x.func(*(put_in(part.xreplace(fresh), inner) for part in x.args)) if inner else x
