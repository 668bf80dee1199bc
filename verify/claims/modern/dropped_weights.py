"""Dropout on weights keeps the mean output and adds noise; dropping keys before softmax does not keep it."""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy import special
from sympy import Rational, S, Sum, expand, simplify, sqrt, symbols

from verify.spec import (
    E, LI, NORMAL, SRIVASTAVA, Array, Assumption, Claim, Definition, Derivation, Experiment, Figure, Findings,
    Ordered, OrderedBase, Population, Quantity, Route, Simulated, Smooth, Statistic, Step, Tolerance, Var,
    biased, by, cell_of, d, evaluate, figure, function, j, line, measured, n, p, prediction, ratio, softmax,
    wrong,
)  # fmt: skip

D, KEYS, RATES = 8, 8, (Rational(1, 10), Rational(1, 2))
r, first = Ordered("r", "r", positive=True), Ordered("p_1", "p", positive=True)
v, kept = OrderedBase(Ordered("v", "v")), OrderedBase(Ordered("m", "m"))
DROPPED = Sum(p[j] * kept[j] * v[j], (j, 1, n)) / (1 - r)
"""One component of the output, each weight kept with probability 1 - r and then divided by it."""
NOISE = r"$\mathbb{E}(o' - o)^2/\mathbb{E}o^2$"
BIAS = r"$\mathbb{E}(o' - o)o/\mathbb{E}o^2$"
LEAD = r"share of its lead $2p_1 - 1$ that the larger of two weights loses, keys dropped before softmax"
OF_TWO = Ordered("w_1", "w", positive=True)
"""The weight of the first of two keys of which some are dropped, one at least being kept."""


@by("written out for 1 and 2 masks, which settle it: no term holds more", "general")
def _mean_over_masks(before: Any, after: Any) -> bool:
    for keys in (1, 2):
        masks = symbols(f"m1:{keys + 1}")
        given: dict[Any, Any] = {}
        for at, mask in enumerate(masks, 1):
            given |= {kept[at]: mask, p[at]: symbols(f"p{at}"), v[at]: symbols(f"v{at}")}
        one, other = (side.subs(n, keys).doit().xreplace(given) for side in (before, after))
        (inside,) = one.args
        masked = Population(dict.fromkeys(masks, (S.One, 1 - r, 1 - r)), d)
        square, mean = (evaluate(E(expand(inside**power)), masked) for power in (2, 1))
        if simplify((square - mean**2 if isinstance(before, Var) else mean) - other) != 0:
            return False
    return True


@by("all masks of two keys, one at least being kept", "general")
def _over_masks_of_two(before: Any, after: Any) -> bool:
    weight, chance = S.Zero, S.Zero
    for one, other in product((0, 1), repeat=2):
        if one or other:
            share = (1 - r) ** (one + other) * r ** (2 - one - other)
            chance += share
            weight += share * one * first / (one * first + other * (1 - first))
    return bool(before == E(OF_TWO) and simplify(weight / chance - after) == 0)


def derive() -> Derivation:
    """Derive mean and variance of an output whose weights are dropped, and what dropping keys does to two."""
    mean = Route.of("Mean", E(DROPPED), Step(Sum(p[j] * v[j], (j, 1, n)), "Every weight keeps its mean",
                                             _mean_over_masks))  # fmt: skip
    noise = r / (1 - r) * Sum(p[j] ** 2 * v[j] ** 2, (j, 1, n))
    variance = Route.of("Variance", Var(DROPPED), Step(noise, "Masks are independent", _mean_over_masks))
    keys = Route.of("Two keys, dropped before softmax", E(OF_TWO),
                    Step(first + r * (1 - 2 * first) / (1 + r), "Weights are divided by what is kept",
                         _over_masks_of_two))  # fmt: skip
    definitions = (Definition(Var(DROPPED), "the variance of one component of the output"),
                   Definition(E(OF_TWO), "the mean weight of the first of two keys"))  # fmt: skip
    return Derivation.of(mean, lemmas=(variance, keys), definitions=definitions)


@dataclass(frozen=True)
class Dropped(Statistic):
    """What dropout does to weights and outputs.

    Beyond the first ``D`` components those of a query decide which keys it drops, and a key's is its value.
    """

    scale: float
    rate: float
    names = ("bias", "noise", "size", "lost", "lead")

    def reduce(self, queries: Array, keys: Array) -> Array:
        """Return means of (o' - o)o, (o' - o)², o², what the larger of two weights loses, and 2p - 1."""
        scores = self.scale * queries[:, :, :D] @ keys[:, :, :D].swapaxes(1, 2)
        masks, values = queries[:, :, D:] < special.ndtri(1 - self.rate), keys[:, :, D, None]
        weights, two = softmax(scores), np.sort(softmax(scores[:, :, :2]))
        output = (weights @ values)[..., 0]
        noise = (weights * masks / (1 - self.rate) @ values)[..., 0] - output
        kept, of_two = two * masks[:, :, :2], masks[:, :, :2].any(axis=2)
        lost = (two[..., 1] - kept[..., 1] / np.where(of_two, kept.sum(axis=2), 1)) * of_two
        found = noise * output, noise**2, output**2, lost, (2 * two[..., 1] - 1) * of_two
        return np.stack([one.mean(axis=1) for one in found], axis=1)


def _shares(derivation: Derivation) -> tuple[Any, Any]:
    """Return noise over size, and the share of the lead 2p - 1 that is lost."""
    variance, keys = (lemma.end for lemma in derivation.lemmas)
    squares = Sum(p[j] ** 2 * v[j] ** 2, (j, 1, n))
    return simplify(variance / squares), simplify((first - keys) / (2 * first - 1))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure bias and noise of outputs, and the lead that a key loses where keys are dropped."""
    noise, lead = _shares(derivation)
    unbiased = Smooth(lambda mean: mean["bias"] / mean["size"], positive=False)
    kinds = (
        ("bias", BIAS, unbiased, S.Zero, Tolerance(1.0, 1.0, "the mean square of the output")),
        ("noise", NOISE, ratio("noise", "size"), noise, Tolerance(2.0)),
        ("lead", LEAD, ratio("lost", "lead"), lead, Tolerance(2.0)),
    )
    checks = {}
    for rate in RATES:
        drawn = Simulated(NORMAL, NORMAL, 16, KEYS, D + KEYS), Dropped(D**-0.5, float(rate))
        cell = cell_of(f"r{100 * rate}", *drawn, scale=1 / sqrt(d), d_k=D, n=KEYS, r=float(rate))
        for name, label, estimand, law, band in kinds:
            right = prediction(law.subs(r, rate))
            checks[name, rate] = Quantity(f"{name}-{cell.id}", label, cell, estimand, right, band)
    few, half = RATES
    controls = (
        wrong(checks["bias", half], "not-divided", "without the division by what is kept the mean stays, too",
              -half),
        wrong(checks["noise", half], "rate-alone", "the noise is in proportion to the rate $r$ itself", half),
        wrong(checks["noise", few], "fades", f"{KEYS} keys average the noise away", few / KEYS),
        wrong(checks["lead", half], "order-does-not-matter", "dropping keys keeps mean weights as well", 0,
              tolerance=Tolerance(1.0, 1.0, "the lead")),
        biased(checks["noise", half], tolerance, at="r"),
    )  # fmt: skip
    return Experiment(tuple(checks.values()), controls)


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw noise and lost lead over the rate."""
    rates = np.linspace(0.02, 0.6, 30)
    noise, lead = (function((r,), share) for share in _shares(derivation))
    return figure(
        "noise",
        "Dropout adds noise to the output in one proportion, however attention is spread",
        "Over the rate: the noise of the output over its own mean square, on the curve r over one minus r; "
        "and the share of its lead that the larger of two weights loses where keys are dropped before "
        "softmax, on the curve r over one plus r.",
        "share",
        line("noise over size", noise, at=rates),
        line("lead lost, keys dropped", lead, at=rates),
        measured(findings.matching("noise-*"), "", "r"),
        measured(findings.matching("lead-*"), "measured", "r"),
        x="rate $r$", x_scale="linear", y_scale="linear",
    )  # fmt: skip


CLAIM = Claim(
    title="Dropout on weights keeps the mean output, dropping keys does not",
    statement="Weights dropped with probability $r$ and divided by $1 - r$ leave the mean of the output "
    r"as it is and give each of its components the variance $\tfrac{r}{1-r}\sum_j p_j^2 v_j^2$: for "
    "independent centred values $r/(1 - r)$ of its mean square. Dropped before softmax, two keys of which "
    "one is kept at least have mean weights closer to each other: $p_1 + r(1 - 2p_1)/(1 + r)$.",
    meaning="The noise of dropout is as large beside the output whether attention rests on one key or on "
    "a thousand: with ten per cent dropped, a ninth of its mean square. Where keys are dropped instead, "
    "the weights that remain sum to 1 again, so no output is too small; but the larger weights become "
    "smaller on average, and what is learnt under dropout is not what is used without it.",
    assumptions=(
        Assumption(id="masks", text="What is dropped is independent of everything else."),
        Assumption(
            id="values",
            text="For noise over size: values are independent and centred, alike in variance.",
        ),
    ),
    references=(SRIVASTAVA, LI),
)
