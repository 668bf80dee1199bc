"""Normalised tokens through freshly initialised projections: the variance depends on the initialisation."""

from fractions import Fraction

from sympy import Eq, Expr, Idx, S, Sum, integrate, sqrt

from verify.claims.limits.shared import OtherTokens, ProjectedTokens
from verify.former import (
    EVEN, NORMAL, UNIFORM, Claim, Derivation, Experiment, Fact, Notation, Ordered, Quantity, Route, Step, Var,
    biased, capped, cell_of, cite, component, d, fact, index, one_step, ordered, prediction, wrong,
)  # fmt: skip
from verify.former.rules import Assuming, Families, PutIn, Replaced, SumIdentity

WIDTH, HEAD, TOKENS = 128, 32, 64
LABEL = r"$\mathbb{E}[(q\cdot k)^2/d_k]$"

D = Ordered("D", "D", integer=True, positive=True)
v = Ordered("v", "v", positive=True)
"""Width of a token and variance of the entries of a projection."""
a, (x, y, W_Q, W_K) = Idx("a"), ordered("x[] y[] W_Q[] W_K[]")
FAMILIES = Families(sizes={x: (D,), y: (D,), W_Q: (D, d), W_K: (D, d)}, variances={W_Q: v, W_K: v})
"""Two tokens, and what projects them to a query and a key."""

_QUERY, _KEY = (Sum(token[a] * matrix[a, index], (a, 1, D)) for token, matrix in ((x, W_Q), (y, W_K)))
PROJECTED = Sum(_QUERY * _KEY, (index, 1, d))
"""The score of two tokens."""

OF_UNIFORM = integrate(v**2, (v, -1, 1)) / 2
INITIALISATIONS: dict[str, tuple[str, Expr, Fraction]] = {
    "fused-xavier": ("Xavier, one matrix for all heads", 2 / (D + D), Fraction(2, 128 + 128)),
    "per-head-xavier": ("Xavier, one matrix a head", 2 / (D + d), Fraction(2, 128 + 32)),
    "packed-xavier": ("Xavier, queries, keys and values in one matrix", 2 / (D + 3 * D),
                      Fraction(2, 128 + 3 * 128)),
    "he": ("He", 2 / D, Fraction(2, 128)),
    "linear-default": ("uniform on ±1/√D, a common default of linear layers", OF_UNIFORM / D,
                       Fraction(1, 3 * 128)),
}  # fmt: skip
"""Each in words; the variance of an entry, Xavier's being 2/(inputs + outputs), which predicts; and that of
the entries that are drawn, written out."""


def derive() -> Derivation:
    """Derive the scaled score's mean square for entries of any variance."""
    lengths = tuple(Sum(token[a] ** 2, (a, 1, D)) for token in (x, y))
    route = Route.of(
        "Given the tokens, the projected components are independent",
        Var(PROJECTED / sqrt(d)),
        Step(v**2 * lengths[0] * lengths[1],
             "A projected component adds D independent entries, weighted by those of a token",
             SumIdentity(FAMILIES, "components")),
        Step(v**2 * D**2, "Tokens of squared length D", Assuming(tuple(Eq(one, D) for one in lengths))),
    )  # fmt: skip
    end, at = 4 / (1 + d / D) ** 2, {v: INITIALISATIONS["per-head-xavier"][1]}
    one = one_step("Xavier’s initialisation, head by head", route.start, end, "$v = 2/(D + d_k)$",
                   Replaced(route.then(Step(end, "Put in", PutIn(at))).proved()), name="by-head")  # fmt: skip
    return Derivation.of(route, lemmas=(one,))


def _expected(derivation: Derivation, name: str) -> Expr:
    return derivation.result.subs(v, INITIALISATIONS[name][1]).subs({D: WIDTH, d: HEAD})


def _square(derivation: Derivation, name: str, tolerance: float) -> Quantity:
    """Return the comparison of scaled scores' mean square under an initialisation."""
    (words, _, entry), expected = INITIALISATIONS[name], prediction(_expected(derivation, name))
    drawn = ProjectedTokens(WIDTH, HEAD, TOKENS, NORMAL if name == "he" else UNIFORM, entry)
    cell = cell_of(name, drawn, OtherTokens(), initialisation=words)
    estimand = component("square", positive=True)
    return Quantity(f"{name}-square", LABEL, cell, estimand, expected, capped(2.0, tolerance))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Draw projections under five initialisations and measure the scaled scores of normalised tokens."""
    checks = {name: _square(derivation, name, tolerance) for name in INITIALISATIONS}
    controls = (
        wrong(checks[name], f"{name}-is-one",
              "after scaling the variance is {value}, with the initialisation {cell:initialisation}",
              S.One, tolerance=EVEN)
        for name in ("per-head-xavier", "packed-xavier", "he")
    )  # fmt: skip
    default = biased(checks["linear-default"], tolerance)
    return Experiment(tuple(checks.values()), (*controls, default))


def facts(derivation: Derivation) -> tuple[Fact, ...]:
    """Return the variance that each initialisation gives where tokens are four times as wide as heads."""
    return tuple(
        fact(f"{name}-variance", f"scaled variance, {words}", _expected(derivation, name))
        for name, (words, *_) in INITIALISATIONS.items()
    )


CLAIM = Claim(
    title="Whether scaled scores start with unit variance is decided by the initialisation",
    statement="Different tokens of squared length {D}, as layer normalisation leaves them, sent through "
    "independent projections with centred entries of variance {v}, have {theorem}: {fused-xavier-variance} "
    "for Xavier's initialisation of one square matrix, {by-head:result} head by head, "
    "{packed-xavier-variance} for queries, keys and values packed together, {he-variance} for He's, "
    "{linear-default-variance} for a uniform law on either side of zero up to one over the root of {D}.",
    meaning="The assumption of unit components is a statement about the projections. Common defaults differ "
    "in the variance of scaled scores from {linear-default-variance} to {he-variance}, from a softmax that "
    "starts almost even to one that is already sharp. Changing the initialisation changes the temperature "
    "of attention.",
    symbols={"D": D, "v": v, "projected": Notation(r"q\cdot k/\sqrt{d_k}", PROJECTED / sqrt(d))},
    references=(
        *cite(
            "glorot2010",
            "X. Glorot and Y. Bengio, Understanding the difficulty of training deep feedforward neural "
            "networks, AISTATS 2010.",
            "https://proceedings.mlr.press/v9/glorot10a.html",
        ),
        *cite(
            "he2015",
            "K. He et al., Delving Deep into Rectifiers, ICCV 2015.",
            "https://arxiv.org/abs/1502.01852",
        ),
    ),
)
