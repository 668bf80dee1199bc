"""Published theorems that lines of derivations rest on, and the check that cites a theorem.

A cited line is printed as such: that the theorem applies is the reader's to judge. Conditions that show in
a line are checked: that a law is normal where it has to be, which way a bound goes, that Jensen's function
bends that way. The rest of the conditions stands in the table, ``data/theorems.toml``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sympy import Dummy, Limit, sqrt

from verify.errors import ClaimError, unknown
from verify.files.names import shipped_table
from verify.symbolic.bounds import equal, slope
from verify.symbolic.chains import LineCheck, Relation, Theorem
from verify.symbolic.signs import Signs
from verify.symbolic.vocabulary import E, Largest, Law, Laws, StepError, families_of, normal

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
    form = _FORMS.get(theorem) if isinstance(theorem, str) else None
    known = THEOREMS[theorem] if isinstance(theorem, str) else theorem

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
