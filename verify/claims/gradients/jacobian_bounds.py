"""How large the Jacobian of softmax can be, and that it does not simply fall as scores grow."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product

import numpy as np
from sympy import Expr, Rational, S, log

from verify.claims.gradients.shared import OfRows, jacobian, largest_ratio, spectral_norms
from verify.former import (
    Allowance, Array, Claim, Control, Derivation, Exact, Experiment, Fact, Figure, Notation, cite,
    complex_step, computed, fact, figure, function, in_single_precision, line, n, p, scatter,
    softmax,
)  # fmt: skip

Sides = tuple[OfRows, OfRows]
"""What must not be larger than what."""

FORM, LENGTH = Notation(r"x^{\mathsf T}Jx", jacobian.FORM), Notation("|x|^2", jacobian.LENGTH)
SIZES = (2, 3, 8)
ROUNDING = Allowance(1e-10)
"""What eigenvalues of matrices near 0 lose."""


def derive() -> Derivation:
    """Bound xᵀJx from above for every x, and from below by choosing x."""
    routes = jacobian.by_largest(), jacobian.never_above_half(), *jacobian.from_below()
    bounds = zip(("largest", "half", "first", "second"), routes, strict=True)
    lemmas = (*(route.called(name) for name, route in bounds), *jacobian.one_ahead())
    return Derivation.of(jacobian.by_row_sums(), lemmas=lemmas)


@cache  # so that equal expressions give the same function, and the search finds its own result again
def _of_rows(expression: Expr, keys: int) -> OfRows:
    """Return a function of the two largest probabilities for rows of sorted ones, shape (rows, keys)."""
    of_two = function((p[1], p[2]), expression.subs(n, keys), "numpy")
    return lambda weights: np.broadcast_to(of_two(weights[:, 0], weights[:, 1]), len(weights))


@dataclass(frozen=True)
class Bound:
    """A derived bound of the norm: its expression, a row of probabilities that attains it, and words."""

    expression: Expr
    upper: bool
    attained: Callable[[int], Array]
    words: str

    def sides(self, keys: int, factor: Expr = S.One) -> Sides:
        """Return what must not be larger than what, the bound times ``factor``."""
        sides = (spectral_norms, _of_rows(self.expression * factor, keys))
        return sides if self.upper else sides[::-1]


def _even(keys: int, among: int | None = None) -> Array:
    """Return a row of equal probabilities, of all keys or the first few."""
    return np.where(np.arange(keys) < (among or keys), 1 / (among or keys), 0.0)


TWO, ONE_LEADS = partial(_even, among=2), lambda keys: np.where(np.arange(keys) == 0, 3.0, 1.0) / (keys + 2)
"""Rows of two equal probabilities, and of one that is three times the others."""


def _bounds(derivation: Derivation) -> dict[str, Bound]:
    """Return every derived bound by name."""
    largest, half, first, second, *_ = (route.end for route in derivation.lemmas)
    return {
        "rows": Bound(derivation.result / jacobian.LENGTH, True, TWO, r"$\|J\|_2$ over $2p_1(1-p_1)$"),
        "largest": Bound(largest / jacobian.LENGTH, True, _even, r"$\|J\|_2$ over $p_1$"),
        "half": Bound(half, True, TWO, r"$\|J\|_2$ over $\frac12$"),
        "first": Bound(first, False, ONE_LEADS, r"$\frac{n}{n-1}p_1(1-p_1)$ over $\|J\|_2$"),
        "second": Bound(second, False, _even, r"$p_2$ over $\|J\|_2$"),
    }


def experiment(derivation: Derivation) -> Experiment:
    """Search for rows that break a bound, look at one that attains it; compare the norm for one key ahead."""
    bounds, ahead = _bounds(derivation), derivation.lemmas[-2].end
    checks = []
    for (name, bound), keys in product(bounds.items(), SIZES):
        label = f"largest found: {bound.words}"
        checks.append(_search(f"{name}-n{keys}", label, keys, bound.sides(keys)))
        checks.append(_attained(f"{name}-attained-n{keys}", bound, keys, bound.attained(keys)))
    leads = {"none": S.One, "most": n - 1, "far": (n - 1) ** 2}
    for keys, (name, lead) in product((3, 128), leads.items()):
        checks.append(_one_ahead(f"one-ahead-n{keys}-{name}", softmax, ahead, keys, lead.subs(n, keys)))
    return Experiment(tuple(checks), (*_wrong_bounds(bounds), *_wrong_norms(bounds, ahead)))


def _search(
    name: str, label: str, keys: int, sides: Sides, most: Expr = S.One, multiple_of: Sides | None = None
) -> Exact:
    settings: dict[str, int | str] = {"keys": keys, "rows": "searched by differential evolution"}
    search = largest_ratio, *sides, keys, multiple_of
    return computed(name, label, settings, most, *search, allowance=ROUNDING, relation="≤")


def _ratio_at(row: Array, sides: Sides) -> float:
    """Return what must not be larger over what must not be smaller, at one row of probabilities."""
    over, under = (side(row[None]) for side in sides)
    return float(over[0] / under[0])


def _attained(name: str, bound: Bound, keys: int, row: Array) -> Exact:
    settings = {"keys": keys, "p_1": round(float(row[0]), 4), "p_2": round(float(row[1]), 4)}
    label, sides = f"at one row: {bound.words}", bound.sides(keys)
    return computed(name, label, settings, S.One, _ratio_at, row, sides, allowance=ROUNDING)


def _norm_ahead(code: Callable[[Array], Array], keys: int, lead: float) -> float:
    """Return the spectral norm of the Jacobian of ``code`` where the first score leads."""
    row = np.zeros(keys)
    row[0] = lead
    return float(np.linalg.norm(complex_step(code, row), 2))


def _one_ahead(name: str, code: Callable[[Array], Array], expected: Expr, keys: int, lead: Expr) -> Exact:
    label, settings = r"$\|J\|_2$ of the array code, one key ahead by $\ln t$", {"keys": keys, "t": int(lead)}
    norm, first = expected.subs({n: keys, jacobian.t: lead}), float(log(lead))
    return computed(name, label, settings, norm, _norm_ahead, code, keys, first, allowance=ROUNDING)


def _wrong_bounds(bounds: dict[str, Bound]) -> tuple[Control, ...]:
    """Return every bound with one per cent less room, and one held to be attained where it is not."""
    controls, less = [], "one per cent less room"
    for name, bound in bounds.items():
        tighter = bound.sides(3, Rational(99 if bound.upper else 101, 100))
        label = f"largest found, {less}: {bound.words}"
        check = _search(f"{name}-one-per-cent-less", label, 3, tighter, multiple_of=bound.sides(3))
        controls.append(Control(f"a bound holds with {less}: {bound.words}", check))
    even = _attained("attained-by-even-rows", bounds["rows"], 8, _even(8))
    spread = Control("spread evenly, a row passes all that the bound by sums of rows allows", even)
    return (*controls, spread)


def _wrong_norms(bounds: dict[str, Bound], ahead: Expr) -> tuple[Control, ...]:
    half, entry = bounds["half"], (spectral_norms, _of_rows(p[1] * (1 - p[1]), 3))
    slope = half.sides(3, S(2))
    single = in_single_precision(softmax)
    at_two = _one_ahead("falls-with-the-scores", softmax, ahead.subs(jacobian.t, 1), 3, S(2))
    return (
        Control("the norm never exceeds the largest slope of the logistic function, a quarter",
                _search("a-quarter", r"largest $\|J\|_2$ found", 3, slope, Rational(1, 4), half.sides(3))),
        Control("the norm is at most the largest entry",
                _search("largest-entry", r"$\|J\|_2$ over $p_1(1-p_1)$", 3, entry)),
        Control("larger scores always make the Jacobian smaller", replace(at_two, relation="≤")),
        Control("single precision is exact", _one_ahead("in-single-precision", single, ahead, 3, S(2))),
    )  # fmt: skip


def facts(derivation: Derivation) -> tuple[Fact, ...]:
    """Return the counterexample's three norms, and what 128 keys pass at most with one ahead."""
    scores = {1: "equal scores", 2: r"scores $(\ln 2, 0, 0)$", 4: r"scores $(2\ln 2, 0, 0)$"}
    named = [(f"norm-t{lead}", rf"$\|J\|_2$ for {words}", 3, lead) for lead, words in scores.items()]
    named.append(("norm-n128", "the same for 128 keys, one ahead by ln 127", 128, 127))
    return tuple(
        fact(name, what, derivation.lemmas[-2].end.subs({n: keys, jacobian.t: lead}))
        for name, what, keys, lead in named
    )


def figures(derivation: Derivation) -> Figure:
    """Draw the norm against the lead of one key, for few and for many keys."""
    leads, points = np.linspace(0, 10, 101), np.linspace(0, 10, 11)
    layers = []
    for keys in (2, 16, 128):
        ahead = derivation.lemmas[-2].end.subs(n, keys)
        of_lead = function((jacobian.t,), ahead, "numpy")
        layers.append(line(f"{keys} keys", np.asarray(of_lead(np.exp(leads))), at=leads))
        found = [_norm_ahead(softmax, keys, float(lead)) for lead in points]
        layers.append(scatter("", points, found))
    return figure(
        "lead",
        "With many keys, larger scores first open the softmax and only then close it",
        "Norm of the softmax Jacobian against the lead of one key over all others, for two, sixteen and many "
        "keys: with two keys it only falls; with more it starts near zero, rises to just above a quarter "
        "where the lead is the logarithm of the number of keys, and falls again.",
        "norm of the Jacobian",
        *layers,
        x="lead of one score over all others",
        x_scale="linear",
        y_scale="linear",
    )


CLAIM = Claim(
    title="How much gradient a softmax row can transmit",
    statement="Let {p_1} and {p_2} be the largest probabilities of a row of {n} keys, two at least, and J "
    "the Jacobian of its softmax. The norm of J, the largest {form} over unit vectors as J is symmetric, is "
    "at least {second:result} and {first:result}; for every {x}, {largest} and {theorem}, and {half}. It is "
    "not monotone in the temperature: where one of three scores leads the others by zero, the logarithm "
    "of two or twice that, it is {norm-t1}, {norm-t2} and {norm-t4}.",
    meaning="A row transmits gradient only if its largest probability is near neither zero nor one: a row "
    "that is spread over very many keys blocks it as much as a saturated one. So making scores smaller does "
    "not always let more gradient through; with many keys a uniform row transmits almost nothing, and some "
    "spread of the scores is needed. Some row attains each bound. The bounds concern one row; what reaches "
    "queries and keys is multiplied by these, and by the scale.",
    symbols={"n": n, "x": jacobian.x, "p_1": p[1], "p_2": p[2], "form": FORM, "length": LENGTH},
    references=cite(
        "storn1997",
        "R. Storn and K. Price, Differential Evolution, J. Global Optimization 11 (1997), 341-359: the "
        "search for rows that break the bounds.",
        "https://doi.org/10.1023/A:1008202821328",
    ),
)
