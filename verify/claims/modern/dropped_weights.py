"""Dropout on weights keeps the mean output and adds noise; dropping keys before softmax does not keep it."""

import numpy as np
from sympy import Expr, Rational, Sum, Symbol, simplify, sqrt

from verify.spec import (
    E, LI, NORMAL, SRIVASTAVA, Claim, Derivation, DroppedWeights, Experiment, Families, Figure, Findings,
    Identity, Ordered, OrderedBase, Route, Simulated, Smooth, Step, SumIdentity, Tolerance, assume, biased,
    cell_of, d, figure, function, in_turn, j, line, measured, n, over_cells, p, ratio, wrong,
)  # fmt: skip

D, KEYS, RATES = 8, 8, (Rational(1, 10), Rational(1, 2))
r, first = Ordered("r", "r", positive=True), Ordered("p_1", "p", positive=True)
v, z = OrderedBase(Ordered("v", "v")), OrderedBase(Ordered("z", "z"))
OUTPUT = Sum(p[j] * v[j], (j, 1, n))
DROPPED = Sum(p[j] * (1 - r + z[j]) * v[j], (j, 1, n)) / (1 - r)
"""One component of the output, and what dropout makes of it: a weight is multiplied by 1 with probability
1 - r, else by 0, that is by 1 - r and what it is off that, then divided by 1 - r."""
MASKS = Families(variances={z: r * (1 - r)})
VALUES = SumIdentity(Families(variances={v: Symbol("u", positive=True)}))
BOTH, ONE = (1 - r) ** 2, r * (1 - r)
OF_TWO = (BOTH * first + ONE * 1 + ONE * 0) / (BOTH + 2 * ONE)
"""The mean weight of the first of two keys: both are kept, it alone, or the other alone."""
NOISE = r"$\mathbb{E}(o' - o)^2/\mathbb{E}o^2$"
BIAS = r"$\mathbb{E}(o' - o)o/\mathbb{E}o^2$"
LEAD = r"share of its lead $2p_1 - 1$ that the larger of two weights loses, keys dropped before softmax"


def derive() -> Derivation:
    """Derive mean and variance of an output whose weights are dropped, and what dropping keys does to two."""
    mean = Route.of("Mean", E(DROPPED), Step(OUTPUT, "Every weight keeps its mean", SumIdentity(MASKS)))
    noise = r / (1 - r) * Sum(p[j] ** 2 * v[j] ** 2, (j, 1, n))
    independent = Step(noise, "Masks are independent, of variance $r(1 - r)$", SumIdentity(MASKS))
    noisy = "the variance of one component of the output"
    variance = Route.of("Variance", E((DROPPED - OUTPUT) ** 2), independent).defining(noisy)
    simpler = Step(first + r * (1 - 2 * first) / (1 + r), "Over the common denominator", Identity())
    keys = Route.of("Two keys, dropped before softmax, one at least being kept", OF_TWO, simpler)
    keys = keys.defining("the mean weight of the first of two keys")
    squares = E(Sum(p[j] ** 2 * v[j] ** 2, (j, 1, n)))
    centred = Step(squares, "Values are independent and centred: products of two average to 0", VALUES)
    size = Route.of("Mean square of an output over its values", E(OUTPUT**2), centred)
    size = size.defining("the mean square of one component of the output")
    return Derivation.of(mean, lemmas=(variance, keys, size))


def _shares(derivation: Derivation) -> tuple[Expr, Expr]:
    """Return noise over size, and the share of the lead 2p - 1 that is lost."""
    variance, keys, size = (lemma.end for lemma in derivation.lemmas)
    (squares,) = size.args
    return simplify(variance / squares), simplify((first - keys) / (2 * first - 1))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure bias and noise of outputs, and the lead that a key loses where keys are dropped."""
    noise, lead = _shares(derivation)
    unbiased = Smooth(lambda mean: mean["bias"] / mean["size"], positive=False)
    cells = {
        rate: cell_of(f"r{100 * rate}", Simulated(NORMAL, NORMAL, 16, KEYS, D + KEYS),
                      DroppedWeights(float(rate), D), scale=1 / sqrt(d), d_k=D, n=KEYS, r=float(rate))
        for rate in RATES
    }  # fmt: skip
    of_output, wide = Tolerance(1.0, 1.0, "the mean square of the output"), Tolerance(2.0)
    biases = over_cells("bias-{cell}", BIAS, cells, unbiased, 0, of_output)
    noises = over_cells("noise-{cell}", NOISE, cells, ratio("noise", "size"), noise, wide)
    leads = over_cells("lead-{cell}", LEAD, cells, ratio("lost", "lead"), lead, wide)
    few, half = RATES
    controls = (
        wrong(biases[half], "not-divided", "without the division by what is kept the mean stays, too", -half),
        wrong(noises[half], "rate-alone", "the noise is in proportion to the rate $r$ itself", half),
        wrong(noises[few], "fades", f"{KEYS} keys average the noise away", few / KEYS),
        wrong(leads[half], "order-does-not-matter", "dropping keys keeps mean weights as well", 0,
              tolerance=Tolerance(1.0, 1.0, "the lead")),
        biased(noises[half], tolerance, at="r"),
    )  # fmt: skip
    return Experiment(in_turn(biases, noises, leads), controls)


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
    meaning="The noise of dropout is as large beside the output whether attention rests on one key or on a "
    "thousand: with ten per cent dropped, a ninth of its mean square. Where keys are dropped instead, the "
    "weights that remain sum to 1 again, so no output is too small; but of two weights the larger becomes "
    "smaller on average, and what is learnt under dropout is not what is used without it.",
    assumptions=assume(
        masks="What is dropped is independent of everything else.",
        values="For noise over size: values are independent and centred, alike in variance.",
    ),
    references=(SRIVASTAVA, LI),
)
