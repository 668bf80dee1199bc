"""Dropout on weights keeps the mean output and adds noise; dropping keys before softmax does not keep it."""

from sympy import Expr, Interval, S, Sum, Symbol, cancel, sqrt

from verify.claims.modern.shared import DroppedWeights
from verify.former import (
    E, Claim, Derivation, Experiment, Figure, Findings, Tolerance, beside, biased, cells_of, cite, d, figure,
    in_turn, j, n, normal, one_step, ordered, over_cells, p, ratio, wrong,
)  # fmt: skip
from verify.former.rules import Families, Hypotheses, Identity, SumIdentity

D, KEYS = 8, 8
(r, first), (v, z) = ordered("r p_1", positive=True), ordered("v[] z[]")
OUTPUT = Sum(p[j] * v[j], (j, 1, n))
DROPPED = Sum(p[j] * (1 - r + z[j]) * v[j], (j, 1, n)) / (1 - r)
"""One component of the output, and what dropout makes of it: a weight is multiplied by 1 with probability
1 - r, else by 0, that is by 1 - r and what it is off that, then divided by 1 - r."""
MASKS = SumIdentity(Families(variances={z: r * (1 - r)}))
VALUES = SumIdentity(Families(variances={v: Symbol("u", positive=True)}))
BOTH, ONE = (1 - r) ** 2, r * (1 - r)
OF_TWO = (BOTH * first + ONE * 1 + ONE * 0) / (BOTH + 2 * ONE)
"""The mean weight of the first of two keys: both are kept, it alone, or the other alone."""
NOISE = r"$\mathbb{E}(o' - o)^2/\mathbb{E}o^2$"
BIAS = r"$\mathbb{E}(o' - o)o/\mathbb{E}o^2$"
LEAD = r"share of its lead $2p_1 - 1$ that the larger of two weights loses, keys dropped before softmax"


def derive() -> Derivation:
    """Derive mean and variance of an output whose weights are dropped, and what dropping keys does to two."""
    squares = Sum(p[j] ** 2 * v[j] ** 2, (j, 1, n))
    rate = Hypotheses().restricted(r, Interval.open(0, 1))
    mean = one_step("Mean", E(DROPPED), OUTPUT, "Every weight keeps its mean", MASKS, under=rate)
    variance = one_step("Variance", E((DROPPED - OUTPUT) ** 2), r / (1 - r) * squares,
                        "Masks are independent, of variance $r(1 - r)$", MASKS,
                        defines="the variance of one component of the output", name="noise",
                        under=rate)  # fmt: skip
    keys = one_step("Two keys, dropped before softmax, one at least being kept", OF_TWO,
                    first + r * (1 - 2 * first) / (1 + r), "Over the common denominator", Identity(),
                    defines="the mean weight of the first of two keys", name="keys",
                    under=rate.restricted(first, Interval(0, 1)))  # fmt: skip
    size = one_step("Mean square of an output over its values", E(OUTPUT**2), E(squares),
                    "Values are independent and centred: products of two average to 0", VALUES,
                    defines="the mean square of one component of the output")  # fmt: skip
    return Derivation.of(mean, lemmas=(variance, keys, size))


def _shares(derivation: Derivation) -> tuple[Expr, Expr]:
    """Return noise over size, and the share of the lead 2p - 1 that is lost."""
    variance, keys, size = (lemma.end for lemma in derivation.lemmas)
    (squares,) = size.args
    return variance / squares, cancel((first - keys) / (2 * first - 1))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure bias and noise of outputs, and the lead that a key loses where keys are dropped."""
    noise, lead = _shares(derivation)
    cells = cells_of("r{r:.0%}", (0.1, 0.5), lambda r: (normal(16, KEYS, D + KEYS), DroppedWeights(r, D)),
                     scale=1 / sqrt(d), d_k=D, n=KEYS)  # fmt: skip
    of_output, wide = Tolerance(1.0, 1.0, "the mean square of the output"), Tolerance(2.0)
    biases = over_cells("bias-{cell}", BIAS, cells, ratio("bias", "size", positive=False), 0, of_output)
    noises = over_cells("noise-{cell}", NOISE, cells, ratio("noise", "size"), noise, wide)
    leads = over_cells("lead-{cell}", LEAD, cells, ratio("lost", "lead"), lead, wide)
    return Experiment(in_turn(biases, noises, leads), (
        wrong(biases[0.5], "not-divided", "the mean shrinks by the share dropped, as without the division",
              -S.Half),
        wrong(noises[0.5], "rate-alone", "the noise is in proportion to the rate {r} itself", S.Half),
        wrong(noises[0.1], "fades", "many keys average the noise away", 0.1 / KEYS),
        wrong(leads[0.5], "order-does-not-matter", "dropping keys keeps mean weights as well", 0,
              tolerance=Tolerance(1.0, 1.0, "the lead")),
        biased(noises[0.5], tolerance, at="r"),
    ))  # fmt: skip


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw noise and lost lead over the rate."""
    noise, lead = _shares(derivation)
    return figure(
        "noise",
        "Dropout adds noise to the output in one proportion, however attention is spread",
        "Over the rate: the noise of the output over its own mean square, on its derived curve; "
        "and the share of its lead that the larger of two weights loses where keys are dropped before "
        "softmax, on its own, lower curve.",
        "share", *beside(findings.matching("noise-*"), "noise over size", noise, "r", over=(0.02, 0.6)),
        *beside(findings.matching("lead-*"), "lead lost, keys dropped", lead, "r", over=(0.02, 0.6)),
        x="rate {r}", x_scale="linear", y_scale="linear",
    )  # fmt: skip


CLAIM = Claim(
    title="Dropout on weights preserves the mean output; dropping keys does not",
    statement="Weights dropped with probability {r} and divided by the share that is kept leave the mean of "
    "the output as it is and give each of its components the variance {noise:result}: for independent "
    "centred values that is in proportion to its mean square. Dropped before softmax, two keys of which at "
    "least one is kept have mean weights closer to each other: {keys:result} in place of {first}.",
    meaning="Relative to the output, the noise of dropout is equally large whether attention rests on one "
    "key or on a thousand: with ten per cent dropped, a ninth of its mean square. Where keys are dropped "
    "instead, the weights that remain sum to one again, so no output is too small; but of two weights the "
    "larger becomes smaller on average, and what is learnt under dropout is not what is used without it.",
    symbols={"r": r, "first": first},
    references=(
        *cite(
            "srivastava2014",
            "N. Srivastava et al., Dropout: A Simple Way to Prevent Neural Networks from Overfitting, JMLR "
            "15 (2014), 1929-1958.",
            "https://jmlr.org/papers/v15/srivastava14a.html",
        ),
        *cite(
            "li2023",
            "B. Li et al., DropKey for Vision Transformer, CVPR 2023: keys dropped before softmax.",
            "https://arxiv.org/abs/2208.02646",
        ),
    ),
)
