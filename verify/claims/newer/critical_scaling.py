"""How fast scores must grow with length depends on how similar the tokens are."""

import numpy as np

from verify.claims.newer.shared.critical import around_critical, eps
from verify.spec import Allowance, Chain, Chains, Claim, Computed, Derivation, Items, Rational, S, Sum, Symbol
from verify.spec import Wrong, algebra, cite, fact, j, n
from verify.spec.arrays import softmax

gamma, rho = Symbol("gamma", positive=True), Symbol("rho", nonnegative=True)
# A factor that is critical at a cosine of 1/6, and cosines.
FACTOR, COSINES = Rational(6, 5), {"c0": S.Zero, "c17": Rational(1, 6), "c30": Rational(3, 10)}


def derive() -> Chains:
    start = n**gamma / (n**gamma + Sum(n ** (gamma * rho), (j, 2, n)))
    # Scores are γ ln n times a cosine, which is 1 of the token with itself.
    own = Chain(start, title="A token’s weight on itself", given=(rho < 1,))
    yield own.then(1 / (1 + (n - 1) * n ** (-gamma * (1 - rho))), "over its own exponential", algebra)
    yield from around_critical(r"the product $\gamma(1 - \rho)$")


def experiment(derived: Derivation) -> Items:
    weight, what = derived.end.subs(gamma, FACTOR), derived.start
    near = Allowance(1e-9, "what products of hundreds of numbers lose")
    for keys in (16, 128, 512):
        for name, cosine in COSINES.items():
            at = {"n": keys, "rho": float(cosine), "gamma": float(FACTOR)}
            check, value = f"own-n{keys}-{name}", weight.subs({n: keys, rho: cosine})
            # Tokens of length 1: what they share is their last component.
            tokens = np.eye(keys, keys + 1) * np.sqrt(1 - float(cosine))
            tokens[:, -1] = np.sqrt(float(cosine))
            own = np.diag(softmax(float(FACTOR) * np.log(keys) * (tokens @ tokens.T)))
            yield Computed(check, what, np.mean, (own,), equals=value, settings=at, allowance=near)
    sharper = derived.end.subs({gamma: FACTOR * Rational(101, 100), rho: Rational(1, 6)})
    alike = "similar tokens need a smaller factor, one over one plus the cosine"
    for name, of, wrong, says in (
        ("one-plus", "c30", weight.subs(rho, -COSINES["c30"]), alike),
        ("as-if-apart", "c30", weight.subs(rho, 0), "the cosine of the tokens makes no difference"),
        ("larger-factor", "c17", sharper, "a factor larger by a hundredth gives the same weight"),
    ):
        yield Wrong(name, of=f"own-n512-{of}", equals=wrong.subs(n, 512), says=says)
    for name in ("c0", "c30"):
        what = f"weight on itself of one of {10**8} tokens of cosine {float(COSINES[name]):.3g}"
        yield fact(f"large-{name}", what, weight.subs({n: 10**8, rho: COSINES[name]}))
    yield fact("critical-c30", "the critical factor at a cosine of 0.3", 1 / (1 - COSINES["c30"]))


CLAIM = Claim(
    statement="Let {n} tokens of length one have the same cosine {rho} with each other, at least zero and "
    "below one, and let the scores be the cosines times {gamma} times the logarithm of {n}. A token gives "
    "itself the weight {main:end}. For {product} above one by {eps}, this is at least {above:end}, which "
    "tends to one as {n} grows; for {product} equal to one, it tends to {at:end}; for {product} below one by "
    "{eps}, it is at most {below:end}, which tends to zero.",
    meaning="If scores grow too slowly, every token averages over all others, and tokens become alike; if "
    "they grow too fast, each token attends to itself alone. Between the two lies one critical factor, which "
    "is larger the more similar the tokens are: {critical-c30:3} for a cosine of {own-n16-c30:rho}. With "
    "{own-n16-c0:gamma=}, one of a hundred million tokens puts a weight of {large-c0:3} on itself if tokens "
    "are orthogonal, and of {large-c30:3} at that cosine. The tokens of a trained network do not all share "
    "one cosine.",
    symbols={"product": gamma * (1 - rho), "eps": eps},
    references=cite("chen2025"),
)
