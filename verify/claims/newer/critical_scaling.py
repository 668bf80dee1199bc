"""Tokens with cosines ρ and scores γ·ln n: attention on oneself survives only for γ above 1/(1 - ρ)."""

import numpy as np
from sympy import Interval, KroneckerDelta, Rational, S, Sum, exp, log

from verify.claims.newer.shared import termwise
from verify.former import (
    Allowance, Claim, Derivation, Exact, Experiment, Fact, Figure, Route, Step, cite, computed, fact, figure,
    j, line, n, ordered, scatter, softmax, wrong,
)  # fmt: skip
from verify.former.rules import Hypotheses, PutIn, SumIdentity

(gamma, beta), rho = ordered("gamma beta", positive=True), ordered("rho", real=True)
KEYS, LARGE = (16, 128, 512), 10**8
FACTOR = Rational(6, 5)
"""A factor that is critical at a cosine of one sixth."""
COSINES = (S.Zero, Rational(1, 6), Rational(3, 10))
NEAR = Allowance(1e-9, "what products of hundreds of numbers lose")


def derive() -> Derivation:
    """Derive the weight of a token on itself, and what it tends to."""
    itself = KroneckerDelta(1, j)
    whole = Sum(itself + (1 - itself) * exp(-beta * (1 - rho)), (j, 1, n))
    route = Route.of(
        "Exponentials of scores β·cosine, over that of the token’s own, whose cosine is 1",
        1 / whole,
        Step(1 / (1 + (n - 1) * exp(-beta * (1 - rho))), "The delta picks the token itself", SumIdentity()),
        Step(1 / (1 + (n - 1) * n ** (-gamma * (1 - rho))), r"With $\beta = \gamma\ln n$",
             PutIn({beta: gamma * log(n)})),
        defines="the weight of a token on itself",
        under=Hypotheses().restricted(rho, Interval.Ropen(0, 1)).restricted(beta, Interval(0, S.Infinity)),
    )  # fmt: skip
    return Derivation.of(route, lemmas=termwise.around_critical("The product", n))


def weight_on_itself(keys: int, cosine: float, factor: float) -> float:
    """Return the mean weight of tokens on themselves, vectors of length 1 with that cosine."""
    apart = np.eye(keys, keys + 1) * np.sqrt(1 - cosine)
    apart[:, -1] = np.sqrt(cosine)
    return float(np.diag(softmax(factor * np.log(keys) * (apart @ apart.T))).mean())


def _own(derivation: Derivation, keys: int, cosine: Rational) -> Exact:
    settings = {"n": keys, "rho": float(cosine), "gamma": float(FACTOR)}
    expected = derivation.result.subs({n: keys, rho: cosine, gamma: FACTOR})
    name = f"own-n{keys}-c{round(100 * cosine)}"
    return computed(name, "weight of a token on itself", settings, expected, weight_on_itself, keys,
                    float(cosine), float(FACTOR), allowance=NEAR)  # fmt: skip


def experiment(derivation: Derivation) -> Experiment:
    """Compute the weights of tokens on themselves below, at and above the critical cosine."""
    checks = {(keys, cosine): _own(derivation, keys, cosine) for keys in KEYS for cosine in COSINES}
    apart, critical, close = (checks[512, one] for one in COSINES)
    at = {n: 512, gamma: FACTOR, rho: COSINES[2]}
    return Experiment(tuple(checks.values()), (
        wrong(close, "one-plus", "similar tokens need a smaller factor, one over one plus the cosine",
              derivation.result.subs({**at, rho: -COSINES[2]})),
        wrong(close, "as-if-apart", "the cosine of the tokens makes no difference", apart),
        wrong(critical, "larger-factor", "a factor larger by a hundredth gives the same weight",
              derivation.result.subs({**at, rho: COSINES[1], gamma: FACTOR * Rational(101, 100)})),
        wrong(apart, "all-the-weight", "orthogonal tokens keep all of their weight", S.One),
    ))  # fmt: skip


def facts(derivation: Derivation) -> tuple[Fact, ...]:
    """Return the weights in a text of a hundred million tokens, and the critical factors."""
    large = (
        fact(
            f"large-c{round(100 * one)}",
            f"weight on itself of one of {LARGE} tokens of cosine {float(one):.3g}",
            derivation.result.subs({n: LARGE, gamma: FACTOR, rho: one}),
        )
        for one in COSINES
    )
    critical = fact("critical-c30", "the critical factor at a cosine of 0.3", 1 / (1 - COSINES[2]))
    return (*large, critical)  # fmt: skip


def figures(derivation: Derivation) -> Figure:
    """Draw the weight over the number of tokens, for three cosines and one factor."""
    layers = []
    for one in COSINES:
        law = derivation.result.subs({gamma: FACTOR, rho: one})
        found = [weight_on_itself(keys, float(one), float(FACTOR)) for keys in KEYS]
        layers += [
            line(f"{{own-n16-c{round(100 * one)}:rho=}}", law, over=(16, 1e6)),
            scatter("", KEYS, found),
        ]
    return figure(
        "cosines",
        "One factor keeps dissimilar tokens apart and lets similar ones merge",
        "Weight of a token on itself over the number of tokens, for one factor and three cosines: at right "
        "angles it rises to one, at a cosine of a sixth it stays near a half, at a larger one it falls.",
        "weight on itself", *layers, x="number of tokens {n}", y_scale="linear",
    )  # fmt: skip


CLAIM = Claim(
    title="How fast scores must grow with length depends on how similar the tokens are",
    statement="Let {n} tokens of length one have the same cosine {rho} with each other, at least zero and "
    "below one, and let the scores be the cosines times {gamma} times the logarithm of {n}. A token gives "
    "itself the weight {theorem:result}. For {product} above one by {eps}, this is at least {above:result}, "
    "which tends to one as {n} grows; for {product} equal to one, it tends to {at:result}; for {product} "
    "below one by {eps}, it is at most {below:result}, which tends to zero.",
    meaning="If scores grow too slowly, every token averages over all others, and tokens become alike; if "
    "they grow too fast, each token attends to itself alone. Between the two lies one critical factor, which "
    "is larger the more similar the tokens are: {critical-c30:3} for a cosine of {own-n16-c30:rho}. With "
    "{own-n16-c0:gamma=}, one of a hundred million tokens puts a weight of {large-c0:3} on itself if tokens "
    "are orthogonal, and of {large-c30:3} at that cosine. The tokens of a trained network do not all share "
    "one cosine.",
    symbols={"n": n, "rho": rho, "gamma": gamma, "product": gamma * (1 - rho), "eps": termwise.beyond},
    references=cite(
        "chen2025",
        "S. Chen et al., Critical Attention Scaling in Long-Context Transformers, 2025.",
        "https://arxiv.org/abs/2510.05554",
    ),
)
