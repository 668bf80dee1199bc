"""The hypotheses of a theorem in words: what the page prints as its assumptions, all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sympy import Idx, IndexedBase, Interval, Range, S, Symbol, oo

from verify.symbolic.kernel.core import assumed, bound_in
from verify.symbolic.kernel.words import E, Ordered, Var
from verify.symbolic.printing import latex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verify.symbolic.kernel.core import Hypotheses, Population, Theorem

_ORDINALS = {3: "third", 4: "fourth", 5: "fifth", 6: "sixth", 7: "seventh", 8: "eighth"}
_ENTRIES = {
    "ordered": "${0}_1$ is the largest of all ${0}_i$, and ${0}_2$ the next.",
    "bounded": "Every ${0}_i$ lies between $-{1}$ and ${1}$.",
}


def assumptions_of(theorem: Theorem) -> tuple[str, ...]:
    """Return what a theorem assumes, a sentence each: laws, domains, conditions, definitions."""
    found = theorem.hypotheses
    sentences = [*_law(found.law)] if found.law else []
    if found.law is None and (theorem.lhs.has(E, Var) or theorem.rhs.has(E, Var)):
        sentences.append("Any law for which the means exist.")
    sentences += _domains(found, theorem)
    sentences += [f"${latex(one)}$." for one in sorted(found.conditions, key=str)]
    # That a symbol is constant goes without saying: all others are named as random.
    for kind, *rest in sorted((one for one in found.entries if one[0] in _ENTRIES), key=str):
        sentences.append(_ENTRIES[kind].format(*map(latex, rest)))
    for name, meaning in found.definitions:
        sentences.append("${}$ stands for ${}$.".format(*map(latex, _defined(name, meaning))))
    return tuple(sentences)


def _defined(name: Any, meaning: Any) -> tuple[Any, Any]:
    """Return the name of what is defined, with indices if it is a family, and what it stands for."""
    if not isinstance(name, IndexedBase):
        return name, meaning
    indices, expression = meaning.args
    taken = {one.name for one in expression.atoms(Symbol)} - {one.name for one in indices}
    letters = (Symbol(one, integer=True) for one in "ijabce" if one not in taken)
    named = dict(zip(indices, letters, strict=False))
    return name[tuple(named.values())], expression.xreplace(named)


def _entry(component: Any) -> str:
    """Return a component as it is printed: an entry of a family with an index."""
    return f"${latex(component)}_{{i}}$" if isinstance(component, IndexedBase) else f"${latex(component)}$"


def _law(law: Population) -> Iterator[str]:
    """Yield what is assumed of components, those of one law together."""
    groups: dict[Any, list[str]] = {}
    for one, moments in law.laws:
        groups.setdefault((moments, one in law.normal), []).append(_entry(one))
    several = len(law.laws) > 1 or isinstance(law.laws[0][0], IndexedBase)
    if several:
        yield f"All {_listed([_entry(one) for one, _ in law.laws])} are independent."
    for (moments, normal), members in groups.items():
        each = f"Each {_listed(members, 'and')}" if len(members) > 1 or several else members[0]
        if moments is None:
            yield f"{_listed(members)} may have any law for which the means exist."
        elif parts := [*_moments(moments)]:
            yield f"{each} {'is normal with' if normal else 'has'} {_listed(parts)}."


def _moments(moments: tuple[Any, ...]) -> Iterator[str]:
    if len(moments) > 1:
        yield f"mean ${latex(moments[1])}$"
    if len(moments) > 2:
        yield f"variance ${latex((moments[2] - moments[1] ** 2).expand())}$"
    for order in range(3, len(moments)):
        yield f"{_ORDINALS[order]} moment ${latex(moments[order])}$"


def _listed(parts: list[str], last: str = "and") -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {last} {parts[-1]}"


def _domains(found: Hypotheses, theorem: Theorem) -> Iterator[str]:
    """Yield the domains of all free symbols, those of one domain together."""
    bound = bound_in(theorem.lhs) | bound_in(theorem.rhs)
    random = set(found.law.moments) if found.law else set()
    names = {one.label for side in (theorem.lhs, theorem.rhs) for one in side.atoms(IndexedBase)}
    free = (theorem.lhs.free_symbols | theorem.rhs.free_symbols) - bound - random - names
    by_domain: dict[tuple[str, str], list[str]] = {}
    for one in sorted(free, key=str):
        if type(one) in {Symbol, Ordered}:
            by_domain.setdefault(_in_words(found.domain(one)), []).append(f"${latex(one)}$")
    families = {one for side in (theorem.lhs, theorem.rhs) for one in side.atoms(IndexedBase)} - random
    for one in sorted(families, key=str):
        if (domain := assumed(one[Idx("i")])) not in {S.Complexes, S.Reals}:
            by_domain.setdefault(_in_words(domain), []).append(_entry(one))
    for (single, many), members in by_domain.items():
        if single:
            yield f"{_listed(members)} {f'are {many}' if len(members) > 1 else f'is {single}'}."


def _in_words(domain: Any) -> tuple[str, str]:
    """Return what a domain is called, of one symbol and of several."""
    if isinstance(domain, Range) and domain.stop == oo and domain.start > 1:
        words = f"whole number from ${domain.start}$ on"
        return f"any {words}", words.replace("number", "numbers")
    known = {
        Range(1, oo): "positive whole number",
        Range(0, oo): "whole number from $0$ on",
        S.Integers: "whole number",
        S.Reals: "real number",
        Interval.open(0, oo): "positive number",
        Interval(0, oo): "number from $0$ on",
    }
    if domain == S.Complexes:
        return "", ""
    if words := known.get(domain, ""):
        return f"any {words}", words.replace("number", "numbers")
    inside = f"in ${latex(domain)}$"
    return inside, inside
