"""The hypotheses of a theorem in words: what the page prints as its assumptions, all of it and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sympy import Idx, Indexed, IndexedBase, Interval, Range, S, Symbol, oo

from verify.symbolic.kernel.core import bound_in
from verify.symbolic.kernel.words import E, Var, p
from verify.symbolic.printing import latex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verify.symbolic.kernel.core import Hypotheses, Population, Theorem

_ORDINALS = {3: "third", 4: "fourth", 5: "fifth", 6: "sixth", 7: "seventh", 8: "eighth"}
_ENTRIES = {
    "ordered": "${0}_1$ is the largest of the ${0}_i$, and ${0}_2$ the next",
    "bounded": "every ${0}_i$ lies between $-{1}$ and ${1}$",
}


def assumptions_of(theorem: Theorem) -> tuple[str, ...]:
    """Return what a theorem assumes, a sentence each: laws, domains of its symbols, conditions, definitions."""
    found = theorem.hypotheses
    law = found.law
    sentences = [*_law(law)] if law else []
    if law is None and theorem.lhs.has(E, Var):
        sentences.append("Any law for which the means exist.")
    sentences += [f"{one}." for one in _domains(found, theorem)]
    sentences += [f"{latex(one)}".join("$$") + "." for one in sorted(found.conditions, key=str)]
    sentences += [
        f"{_ENTRIES[kind].format(*map(latex, rest))}." for kind, *rest in sorted(found.entries, key=str)
    ]
    sentences += [f"${_name(one)}$ stands for ${_meaning(one, what)}$." for one, what in found.definitions]
    return tuple(one[0].upper() + one[1:] if one[0].isalpha() else one for one in sentences)


def _name(name: Any) -> str:
    return f"{latex(name)}_{{i}}" if isinstance(name, IndexedBase) else latex(name)


def _meaning(name: Any, meaning: Any) -> str:
    if not isinstance(name, IndexedBase):
        return latex(meaning)
    indices, expression = meaning.args
    named = [Symbol(one, integer=True) for one in "iabcde"]
    return latex(expression.xreplace(dict(zip(indices, named, strict=False))))


def _law(law: Population) -> Iterator[str]:
    """Yield what is assumed of components, those of one law together."""
    groups: dict[Any, list[Any]] = {}
    for one, moments in law.laws:
        groups.setdefault((moments, one in law.normal), []).append(one)
    names = [f"${_name(one)}$" for one, _ in law.laws]
    if len(names) > 1 or any(isinstance(one, IndexedBase) for one, _ in law.laws):
        yield f"{_listed(names)} are independent."
    for (moments, normal), members in groups.items():
        each = _listed([f"${_name(one)}$" for one in members])
        if moments is None:
            yield f"The law of {each} is any for which the means exist."
            continue
        parts = [*_moments(moments)]
        kind = "is normal with" if normal else "has"
        if parts:
            yield (
                f"Each of {each} {kind} {_listed(parts)}."
                if len(members) > 1
                else f"{each} {kind} {_listed(parts)}."
            )


def _moments(moments: tuple[Any, ...]) -> Iterator[str]:
    if len(moments) > 1:
        yield f"mean ${latex(moments[1])}$"
    if len(moments) > 2:
        yield f"variance ${latex((moments[2] - moments[1] ** 2).expand())}$"
    for order in range(3, len(moments)):
        yield f"{_ORDINALS[order]} moment ${latex(moments[order])}$"


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _domains(found: Hypotheses, theorem: Theorem) -> Iterator[str]:
    """Yield the domains of all free symbols, those of one domain together."""
    bound = bound_in(theorem.lhs) | bound_in(theorem.rhs)
    random = set(found.law.moments) if found.law else set()
    names = {one.label for side in (theorem.lhs, theorem.rhs) for one in side.atoms(IndexedBase)} | {p.label}
    free = (theorem.lhs.free_symbols | theorem.rhs.free_symbols) - bound - random - names
    by_domain: dict[str, list[str]] = {}
    for one in sorted(free, key=str):
        if isinstance(one, Symbol) and not isinstance(one, Idx | Indexed | IndexedBase):
            by_domain.setdefault(_in_words(found.domain(one)), []).append(f"${latex(one)}$")
    for words, names_there in by_domain.items():
        if words:
            yield f"{_listed(names_there)} {'are' if len(names_there) > 1 else 'is'} {words}"


def _in_words(domain: Any) -> str:
    if isinstance(domain, Range) and domain.stop == oo:
        return {0: "any whole number from 0 on", 1: "any positive whole number"}.get(
            int(domain.start), f"any whole number from ${domain.start}$ on"
        )
    known = {S.Reals: "any real number", S.Integers: "any whole number", S.Complexes: ""}
    if domain in known:
        return known[domain]
    if domain == Interval.open(0, oo):
        return "any positive number"
    if domain == Interval(0, oo):
        return "any number from 0 on"
    return f"in ${latex(domain)}$"
