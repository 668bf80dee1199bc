"""Keys uniform on a sphere: the nearest stands out only if scores grow like n^(2/(d - 1)), not like ln n."""

from functools import partial

from sympy import Eq, Float, Integral, Interval, Range, Rational, S, exp, oo

from verify.claims.newer.shared import SphereRows, growth_of_scale, mean_of_largest
from verify.former import (
    E, Claim, Derivation, Experiment, Fact, Figure, Findings, Route, Step, beside, biased, capped, cell_of,
    cite, component, d, fact, figure, n, one_step, ordered, over_cells, wrong,
)  # fmt: skip
from verify.former.rules import Assuming, Compared, Hypotheses, Integrated, Jensen, Primitive, PutIn, Replaced

beta, v, w, total = ordered("beta v w T", positive=True)
KEYS, FACTOR = (64, 512, 4096), 20
OTHERS = {2: Rational(1, 8), 5: S.One}
"""Dimensions but three, and the scale over n^(2/(d - 1)) there."""
POWERS = (2, 3, 4, 5, 9, 17)
LABEL = "mean of the largest weight"
m = ordered("m", integer=True, nonnegative=True)
"""The number of keys beyond two."""
BOUND = (m + 2) * (m + 1) * v**m / (2 * beta)
TERMS = BOUND * (1 - exp(-2 * beta * v))
WHOLE = Integral(TERMS, (v, 0, 1)).xreplace({m: n - 2})
"""The mean of the others' exponentials, v being half of one plus the largest cosine."""


def derive() -> Derivation:
    """Derive the bound in three dimensions, where the cosine of a key is uniform between -1 and 1."""
    many = Hypotheses().restricted(n, Range(2, oo))
    given = one_step(
        "One other key, uniform below the largest at $v$", Integral(exp(-2 * beta * (v - w)), (w, 0, v)) / v,
        (1 - exp(-2 * beta * v)) / (2 * beta * v), "Integrated",
        Primitive(w, exp(-2 * beta * (v - w)) / (2 * beta)),
        defines="the mean of another key’s exponential over that of the largest", name="other",
    )  # fmt: skip
    others = Route.of(
        "All others, times the density $nv^{n-1}$ of the largest of $n = m + 2$", TERMS,
        Step(BOUND, "Without the exponential", Compared()),
        Step(Integral(BOUND, (v, 0, 1)), "For every $v$, and so for the integrals",
             Integrated(v, S.Zero, S.One)),
        Step((m + 2) / (2 * beta), "Integrated", Primitive(v, (m + 2) * v ** (m + 1) / (2 * beta))),
        Step(n / (2 * beta), "With $n = m + 2$", PutIn({m: n - 2})),
        under=many.restricted(v, Interval.open(0, 1)),
    )  # fmt: skip
    mean = Route.of(
        "The mean of the others’ exponentials", E(total),
        Step(WHOLE, "Over the place of the largest", Assuming((Eq(E(total), WHOLE),))),
        Step(n / (2 * beta), "Its bound", Replaced(others.proved())),
        defines="the mean of T", name="mean", under=many,
    )  # fmt: skip
    weight = Route.of(
        "The largest weight, T being the sum of the others’ exponentials over its own", E(1 / (1 + total)),
        Step(1 / (1 + E(total)), "Convex in T", Jensen(total, "≥")),
        Step(1 / (1 + n / (2 * beta)), "The bound of that mean", Replaced(mean.proved())),
        under=many,
    )  # fmt: skip
    beyond = ("that the largest weight falls to 0 where the scale grows more slowly than n, and how it must "
              "grow in other dimensions, is integrated and measured only.")  # fmt: skip
    return Derivation.of(
        weight, lemmas=(given, mean, others.defining("the integrand").called("others")), beyond=beyond
    )


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the largest weight at a fixed scale in three dimensions, and at growing scales in others."""
    cells = {keys: cell_of(f"d3-n{keys}", SphereRows(keys, 3, FACTOR)) for keys in KEYS}
    largest, near = component("largest", positive=True), capped(0.25, tolerance)
    bounds = over_cells("bound-{cell}", LABEL, cells, largest, derivation.result, near, "≥")
    grown = {(keys, at): cell_of(f"d{at}-n{keys}", SphereRows(keys, at, _grown(keys, at)))
             for at in OTHERS for keys in (64, 1024)}  # fmt: skip
    fixed = over_cells("value-{cell}", LABEL, cells, largest, partial(mean_of_largest, d=3, factor=FACTOR))
    kept = over_cells(
        "kept-{cell}", LABEL, grown, largest, lambda keys, at: mean_of_largest(keys, at, _grown(keys, at))
    )
    return Experiment((*fixed.values(), *bounds.values(), *kept.values()), (
        wrong(bounds[4096], "smaller-sum", "the bound holds with two and two hundredths in place of two",
              (1 / (1 + n / (Rational(202, 100) * beta))).subs({n: 4096, beta: FACTOR})),
        wrong(kept[1024, 2], "smaller-power", "a power of the number smaller by a twentieth is enough",
              mean_of_largest(1024, 2, _grown(64, 2) * 16**1.9)),
        wrong(kept[1024, 5], "one-half", "at this scale half of the weight is kept in {cell:d_k} dimensions "
                                         "too", S.Half),
        biased(fixed[4096], tolerance, at="n"),
    ))  # fmt: skip


def _grown(keys: int, at: int) -> float:
    """Return a scale that grows like the power 2/(d - 1) of the number of keys."""
    return float(OTHERS[at] * S(keys) ** Rational(2, at - 1))


def facts() -> tuple[Fact, ...]:
    """Return the power of n with which the scale grows that keeps half of the weight, by dimension."""
    label = "power of the number of keys that the scale grows with, 64 to 4096 keys, in {} dimensions"
    return tuple(
        fact(f"power-d{at}", label.format(at), Float(growth_of_scale(at, 64, 4096), 6)) for at in POWERS
    )


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw the largest weight over the number of keys at one scale in three dimensions."""
    return figure(
        "sphere",
        "At a fixed scale the nearest key on a sphere loses its weight as keys are added",
        "Mean of the largest weight over the number of keys on the sphere, on log axes: measured points "
        "just above a falling line, the bound.",
        LABEL, *beside(findings.matching("bound-d3-n*"), "bound", derivation.result.subs(beta, FACTOR), "n",
                       over=(64, 4096)),
        x="number of keys {n}",
    )  # fmt: skip


CLAIM = Claim(
    title="For keys spread evenly over a sphere, scores that grow like the logarithm of the length are not "
    "enough",
    statement="Let {n} keys be uniform on the sphere in three dimensions, and let scores be {beta} times "
    "their cosines with one query. The mean of the largest weight is at least {theorem:result}.",
    meaning="The more keys lie on the sphere, the closer the nearest are to a query and to each other. To "
    "tell them apart in three dimensions, a scale that grows like the number of keys is enough; computed "
    "values show that one like its logarithm is far too small. The bound is close: at {bound-d3-n4096:beta=} "
    "and {bound-d3-n4096:n} keys the weight is measured as {bound-d3-n4096:estimate.3}, against "
    "{bound-d3-n4096:prediction.4}. In {d} dimensions the scale has to grow like the power {power} of {n}: "
    "the scale at which the largest weight is one half grows, from {bound-d3-n64:n} to {bound-d3-n4096:n} "
    "keys, like the power {power-d2:3} in two dimensions, {power-d3:3} in three, {power-d4:3} in four and "
    "{power-d5:3} in five. In nine dimensions it is still {power-d9:3}, in seventeen {power-d17:3}: these "
    "lengths are too short for the power to show. At scales that grow so, the largest weight, as measured, "
    "goes from {kept-d2-n64:estimate.2} for {kept-d2-n64:n} keys to {kept-d2-n1024:estimate.2} for "
    "{kept-d2-n1024:n} in two dimensions, and from {kept-d5-n64:estimate.2} to {kept-d5-n1024:estimate.2} in "
    "five.",
    symbols={"n": n, "beta": beta, "d": d, "power": 2 / (d - 1)},
    references=cite(
        "chen2025",
        "S. Chen et al., Critical Attention Scaling in Long-Context Transformers, 2025.",
        "https://arxiv.org/abs/2510.05554",
    ),
)
