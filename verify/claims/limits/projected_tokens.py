"""Normalised tokens through freshly initialised projections: the variance depends on the initialisation."""

from fractions import Fraction

from sympy import Eq, Expr, Idx, S, Sum, integrate, sqrt

from verify.spec import (
    EVEN, GLOROT, KAIMING_HE, NORMAL, UNIFORM, Assuming, Claim, Derivation, Experiment, Fact, Families,
    Ordered, OtherTokens, ProjectedTokens, Quantity, Route, Step, SumIdentity, Var, assume, biased, capped,
    cell_of, component, d, fact, index, ordered, prediction, wrong,
)  # fmt: skip

WIDTH, HEAD, TOKENS = 128, 32, 64
LABEL = r"$\mathbb{E}[(q\cdot k)^2/d_k]$"

D = Ordered("D", "D", integer=True, positive=True)
v = Ordered("v", "v", positive=True)
"""Width of a token and variance of the entries of a projection."""
a = Idx("a")
x, y = ordered("x[] y[]")
W_Q, W_K = ordered("W_Q[] W_K[]")
FAMILIES = Families(
    sizes={x: (D,), y: (D,), W_Q: (D, d), W_K: (D, d)}, made_of={}, variances={W_Q: v, W_K: v}
)
"""Two tokens, and what projects them to a query and a key."""

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
    query, key = (Sum(token[a] * matrix[a, index], (a, 1, D)) for token, matrix in ((x, W_Q), (y, W_K)))
    lengths = tuple(Sum(token[a] ** 2, (a, 1, D)) for token in (x, y))
    route = Route.of(
        "Given the tokens, the projected components are independent",
        Var(Sum(query * key, (index, 1, d)) / sqrt(d)),
        Step(v**2 * lengths[0] * lengths[1],
             "A projected component adds D independent entries, weighted by those of a token",
             SumIdentity(FAMILIES, "components")),
        Step(v**2 * D**2, "Tokens of squared length D", Assuming(tuple(Eq(one, D) for one in lengths))),
    )  # fmt: skip
    return Derivation.of(route)


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
              f"after scaling the variance is 1, with the initialisation {INITIALISATIONS[name][0]}",
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
    title="Whether scaled scores start with variance 1 is decided by the initialisation",
    statement="Different tokens of squared length $D$, as layer normalisation leaves them, sent through "
    r"independent projections with centred entries of variance $v$, have $\mathbb{E}[(q\cdot k)^2/d_k] = "
    "(vD)^2$: 1 for Xavier's initialisation of one square matrix, $4/(1 + d_k/D)^2$ head by head, "
    r"$\tfrac14$ for queries, keys and values packed together, 4 for He's, $\tfrac19$ for a uniform law on "
    r"$\pm1/\sqrt{D}$.",
    meaning="The assumption of unit components is a statement about the projections. Common defaults differ "
    "by a factor of 36 in the variance of scaled scores, from a softmax that starts almost even to one that "
    "is already sharp. Who changes an initialisation changes the temperature of attention.",
    assumptions=assume(
        tokens="Tokens have squared length $D$ and differ from each other.",
        entries="All entries of both projections are independent and centred, of variance $v$.",
    ),
    references=(GLOROT, KAIMING_HE),
)
