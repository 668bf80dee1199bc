"""Scores times s·ln N: a lead beyond 1/s keeps its weight however many the keys, a shorter one fades."""

from functools import partial

from sympy import Expr, Rational, S, exp, log

from verify.claims.newer.shared import LeadingRows, N, mean_of_leader, termwise, weight_of_leader
from verify.former import (
    ROUNDING, Claim, Derivation, Exact, Experiment, Fact, Figure, Findings, beside, biased, capped, cell_of,
    cite, component, computed, fact, figure, in_turn, line, one_step, ordered, over_cells, sharper, wrong,
)  # fmt: skip
from verify.former.rules import Identity

s, g, R = ordered("s g R", positive=True)
FACTOR, LEAD = Rational(43, 100), 5
"""The factor s of published models, and a lead of one score over all others: their product is above 1."""
KEYS = (10, 100, 1000)
LABEL, LEVELS = "mean weight of the leading key", (100, 1000, 10_000)
WIDTH = Rational(1, 5)
"""How much further than by 5 the leader is ahead of some keys that are drawn."""


def derive() -> Derivation:
    """Derive both bounds term by term, and what the weight of a leader tends to."""
    words = "The leader is ahead of each other key by $g$ to $R$, times $s\\ln N$"
    least, most = termwise.between(N ** (-s * R), N ** (-s * g), words)
    named = most.defining("the weight of the leader").called("most")
    plain = one_step("Without a factor, all others alike", 1 / (1 + (N - 1) * exp(-g)), PLAIN,
                     "Both parts times the leader's exponential", Identity(),
                     defines="the weight of the leader", name="plain")  # fmt: skip
    lemmas = (named, plain, *termwise.around_critical("The lead times s", N), termwise.written_out())
    return Derivation.of(least, lemmas=lemmas)


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the weight of a leader among keys drawn within a range; compute it for two levels."""
    near, far = derivation.result, derivation.lemmas[0].end
    cells = {keys: cell_of(f"n{keys}", LeadingRows(keys, LEAD, float(WIDTH), float(FACTOR)))
             for keys in KEYS}  # fmt: skip
    leader, tight = component("leader", positive=True), capped(0.5, tolerance)
    values = over_cells("value-{cell}", LABEL, cells, leader,
                        lambda keys: mean_of_leader(keys, LEAD, float(WIDTH), float(FACTOR)))  # fmt: skip
    least, most = partial(_at, near.subs(g, LEAD)), partial(_at, far.subs(R, LEAD + WIDTH))
    bounds = {
        "least": over_cells("least-{cell}", LABEL, cells, leader, least, tight, "≥"),
        "most": over_cells("most-{cell}", LABEL, cells, leader, most, tight, "≤"),
    }
    levels = {
        keys: _of_levels(f"scalable-n{keys}", keys, _at(near.subs(g, LEAD), keys), FACTOR * log(keys))
        for keys in LEVELS
    }
    plain = {
        keys: _of_levels(f"plain-n{keys}", keys, PLAIN.subs({g: LEAD, N: keys}), S.One) for keys in LEVELS
    }
    return Experiment((*in_turn(values, *bounds.values()), *levels.values(), *plain.values()), (
        sharper(bounds["most"][10], 0.99, values[10].prediction.value),
        wrong(bounds["least"][10], "longer-lead", "the bound for a lead larger by a twentieth holds as well",
              _at(near.subs(g, LEAD * Rational(21, 20)), 10), truth=values[10].prediction.value),
        wrong(levels[10_000], "smaller-factor", "a lead smaller by a twentieth does as well",
              _at(near.subs(g, LEAD * Rational(19, 20)), 10_000)),
        wrong(plain[10_000], "no-factor-needed", "without the factor the leading key keeps the same weight",
              levels[10_000]),
        biased(values[10], tolerance, at="n"),
    ))  # fmt: skip


PLAIN = exp(g) / (N - 1 + exp(g))
"""The weight of a leader among keys that are all alike, without a factor."""


def _at(bound: Expr, keys: int) -> Expr:
    return bound.subs({s: FACTOR, N: keys})


def _of_levels(name: str, keys: int, expected: Expr, factor: Expr) -> Exact:
    where: dict[str, int | float | str] = {"n": keys, "factor on scores": f"{float(factor):.4g}"}
    return computed(name, "weight of a score of 3, all others being -2", where, expected, weight_of_leader,
                    LEAD * float(factor), keys, allowance=ROUNDING)  # fmt: skip


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw the leader's weight over the number of keys, with the factor and without."""
    kept, found = derivation.result.subs({s: FACTOR, g: LEAD}), findings.matching("value-n*")
    return figure(
        "leader",
        "With the factor the leading key keeps its weight; without it the weight fades",
        "Weight of the one key that leads, over the number of keys: with a factor in proportion to the "
        "logarithm of that number it stays near one, without it falls towards zero.",
        LABEL, *beside(found, "drawn",
                       lambda keys: mean_of_leader(round(keys), LEAD, float(WIDTH), float(FACTOR)),
                       "n", over=(10, 1000), points=5),
        line("bound: {theorem:result}", kept, "other", over=(10, 10_000)),
        line("without the factor", PLAIN.subs(g, LEAD), "control", over=(10, 10_000)),
        x="number of keys {n}",
    )  # fmt: skip


CLAIM = Claim(
    title="Multiplying scores by the logarithm of the length preserves a lead that is large enough",
    statement="Let scores be multiplied by {s} times the logarithm of the number {n} of keys, and let one "
    "key lead all others by between {g} and {R}. Its weight is at least {theorem:result} and at most "
    "{most:result}. If it leads all others by exactly {g}, its weight is at least {above:result}, which "
    "tends to one, for {lead} above one by {eps}; it tends to {at:result} for {lead} equal to one; and it is "
    "at most {below:result}, which tends to zero, for {lead} below one by {eps}. Without the factor the "
    "weight is {plain:result}, which tends to zero.",
    meaning="The factor replaces a fixed sharpness by one that grows with the text. Under plain softmax, a "
    "lead of five has a weight of {plain-n100:prediction.3} among {plain-n100:n} keys, of "
    "{plain-n1000:prediction.3} among {plain-n1000:n} and of {plain-n10000:prediction.3} among "
    "{plain-n10000:n}; with the factor, {scalable-n100:prediction.3}, {scalable-n1000:prediction.4} and "
    "{scalable-n10000:prediction.5}. Not every lead is preserved: one smaller than one over {s} still fades, "
    "only more slowly. And for texts of fewer than {crossing} keys, {even:2} for the value of {s} "
    "used here, the factor is below one and makes attention flatter than plain softmax.",
    headline="scalable-n10000",
    symbols={"s": s, "g": g, "R": R, "n": N, "lead": s * g, "eps": termwise.beyond,
             "crossing": exp(1 / s)},
    references=cite(
            "nakanishi2025",
            "K. M. Nakanishi, Scalable-Softmax Is Superior for Attention, 2025.",
            "https://arxiv.org/abs/2501.19399",
        ),
)  # fmt: skip


def facts() -> tuple[Fact, ...]:
    """Return below how many keys the factor is less than one."""
    return (fact("even", "number of keys at which the factor is one", exp(1 / FACTOR)),)
