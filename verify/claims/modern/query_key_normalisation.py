"""Normalised queries and keys: a score is a cosine, and the scale must be √d_k, not 1/√d_k."""

from sympy import Integral, Rational, S, Sum, exp, gamma, oo, pi, sqrt, symbols

from verify.claims.modern.shared import Cosines, largest_cosine
from verify.former import (
    E, NORMAL_VECTORS, ROUNDING, Claim, Derivation, Experiment, Figure, Findings, Ordered, Route, Step,
    beside, biased, cell_of, cells_of, cite, component, computed, d, figure, i, index, j, k, kurtosis, line,
    normal, one_step, over_cells, q, score, score_law, wrong,
)  # fmt: skip
from verify.former.rules import (
    AlongAndAcross, EulerIntegrals, Families, PutIn, Replaced, SumIdentity, Unfolded, normal_density,
)  # fmt: skip

SCALES = {"cosine": (S.One, r"$\operatorname{Var}(\hat q\cdot\hat k)$"),
          "scaled": (sqrt(d), r"$\operatorname{Var}(\sqrt{d_k}\,\hat q\cdot\hat k)$")}  # fmt: skip
n, w = Ordered("n", "b", integer=True, positive=True), score_law.w
z, t = symbols("z t", positive=True)
COSINE = Ordered(r"\hat{q}\cdot\hat{k}", "a0")
MEANING = score / sqrt(score_law.SQUARES * Sum(k[index] ** 2, (index, 1, d)))
ALONG, ACROSS = 2 * normal_density(z, 1), score_law.CHI_SQUARE.subs(d, d - 1)
"""Densities of the size z of a query's component along the key, and of the others' sum of squares w."""

ALONG_THE_KEY = AlongAndAcross(NORMAL_VECTORS, q, score, z, w)
"""Of a query that lies anyhow one component is along the key: cos² = z²/(z² + w)."""


def derive() -> Derivation:
    """Derive all moments of a cosine, which are those of a Beta law; two of them and its bound as lemmas."""
    both = z ** (2 * n) * ALONG * ACROSS
    triple = t ** (n - 1) * exp(-t * (z**2 + w)) * both / gamma(n)
    factor = 2**n * gamma(n + S.Half) / (sqrt(pi) * gamma(n))
    beta = gamma(n + S.Half) * gamma(d / 2) / (sqrt(pi) * gamma(n + d / 2))
    moments = Route.of(
        "All even moments; odd ones are 0, for $-q$ has the law of $q$", E(COSINE ** (2 * n)),
        Step(E(MEANING ** (2 * n)), "The score over both lengths",
             Unfolded({COSINE: MEANING})),
        Step(Integral(both / (z**2 + w) ** n, (z, 0, oo), (w, 0, oo)),
             "One component along the key, for $d_k > 1$ others across: a normal and a chi-square number",
             ALONG_THE_KEY),
        Step(Integral(triple, (t, 0, oo), (z, 0, oo), (w, 0, oo)),
             r"$1/r^n = \int t^{n-1} e^{-tr}\,dt / \Gamma(n)$ for $r = z^2 + w$", EulerIntegrals(t)),
        Step(Integral(factor * t ** (n - 1) * (1 + 2 * t) ** (-n - d / 2), (t, 0, oo)),
             "Integrated over z and w", EulerIntegrals(z, w)),
        Step(beta, "Integrated over t: the moments of a Beta(½, (d − 1)/2) number", EulerIntegrals(t)),
    )  # fmt: skip
    variance, fourth = (
        one_step(f"The {name}", E(COSINE ** (2 * half)), end, "Gamma functions of neighbours",
                 Replaced(moments.then(Step(beta.subs(n, half), "n put in", PutIn({n: half}))).proved()),
                 defines=f"the {name}; the mean is 0", name=name.replace(" ", "-"))
        for half, name, end in ((S.One, "variance", 1 / d), (S(2), "fourth moment", 3 / (d * (d + 2))))
    )  # fmt: skip
    squares = Sum((q[i] * k[j] - q[j] * k[i]) ** 2, (i, 1, d), (j, 1, d)) / 2
    lagrange = SumIdentity(Families(sizes={q: (d,), k: (d,)}), "components")
    bound = one_step("Bound", score.subs(k, q) * score.subs(q, k) - score**2, squares,
                     "Lagrange: nowhere negative", lagrange,
                     defines="what a squared score lacks of the product of the squared lengths")  # fmt: skip
    return Derivation.of(moments, lemmas=(variance, fourth, bound))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the variance at both scales and the kurtosis; hold the largest score against its bound."""
    variance, fourth, _ = (lemma.end for lemma in derivation.lemmas)
    checks, square = {}, component("square", positive=True)
    for name, (scale, label) in SCALES.items():
        cells = cells_of(f"{name}-d{{d_k}}", (2, 8, 64, 512), lambda d_k: (normal(32, 32, d_k), Cosines()),
                         scale=scale)  # fmt: skip
        checks[name] = over_cells(f"{name}-variance-d{{d_k}}", label, cells, square, variance * scale**2)
    cosines, at_root = checks.values()
    (flat,) = over_cells("kurtosis-d8", "kurtosis of a score", {8: cosines[8].cell}, kurtosis(),
                         fourth / variance**2).values()  # fmt: skip
    label = r"largest $|\sqrt{d_k}\,\hat q\cdot\hat k|$ of a query with keys, among them a multiple of itself"
    most = computed("bound", label, {"d_k": 64, "keys": 64}, 8, largest_cosine, 8.0, allowance=ROUNDING)
    return Experiment((*cosines.values(), *at_root.values(), flat, most), (
        wrong(at_root[64], "usual-scale", "dividing by {root_d} leaves the variance of cosines as it is",
              Rational(1, 64), cell=cell_of("usual", normal(16, 16, 64), Cosines(0.125)), truth=1 / 64**2),
        wrong(flat, "normal", "in {cell:d_k} dimensions a cosine has the kurtosis of a normal law", 3),
        wrong(most, "never-reached", "no score comes within a hundredth of the bound", Rational(99, 100) * 8),
        biased(cosines[8], tolerance),
        biased(at_root[64], tolerance, "biased-scaled"),
    ))  # fmt: skip


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw the variances at both scales."""
    law = derivation.lemmas[0].end
    return figure(
        "cosines",
        "Normalised vectors have scores that shrink, until they are multiplied by the root of the dimension",
        "Variances over the dimension: of cosines on the falling line one over d, of cosines times the root "
        "of d level at one, and those that the usual division by the root would give at one over d squared.",
        "variance of a score", *beside(findings.matching("cosine-*"), "cosine", law),
        *beside(findings.matching("scaled-*"), "times the root", 1.0),
        line("wrong: divided by the root", law / d, "control"),
    )  # fmt: skip


CLAIM = Claim(
    title="Normalised queries and keys need the root of the dimension as a factor, not as a divisor",
    statement="For independent standard normal components the score of the query and the key over their "
    "lengths, {cosine}, has mean zero, variance {variance:result} and fourth moment {fourth-moment:result}; "
    "in more than one dimension its square has a Beta law. So {root_d} times it has unit variance, and "
    "never exceeds {root_d}.",
    meaning="A normalised score is a cosine, which gets smaller as dimensions are added, not larger. "
    "Dividing it by {root_d} leaves a variance of {left}, and attention that cannot choose. Models multiply "
    "by a learnt factor instead, or normalise to length {root_d} and keep the divisor, which amounts to "
    "the same, or nearly so if the mean is also subtracted; a gain on both vectors multiplies scores and "
    "their bound by its square.",
    symbols={"cosine": COSINE, "left": d**-2},
    references=(
        *cite(
            "henry2020",
            "A. Henry et al., Query-Key Normalization for Transformers, Findings of EMNLP 2020.",
            "https://arxiv.org/abs/2010.04245",
        ),
        *cite(
            "dehghani2023",
            "M. Dehghani et al., Scaling Vision Transformers to 22 Billion Parameters, ICML 2023: "
            "normalised queries and keys.",
            "https://arxiv.org/abs/2302.05442",
        ),
    ),
)
