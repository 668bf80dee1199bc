"""YaRN's factor slows the spreading of attention over longer rows."""

from collections.abc import Callable
from itertools import product

from sympy import cbrt

from verify.spec import STANDARD, Chain, Chains, Check, Claim, Derivation, E, Entropy, Expr, Items, Le, Plot
from verify.spec import Rational, Symbol, Var, Wrong, algebra, at_most, cite, d, exp, fact, integrated, j, log
from verify.spec import moments, n, score, sqrt, squares
from verify.spec.lemmas import many_keys, of_queries

# Dimension, keys of the rows of training, and how many times as long rows are, the last for scores alone.
D, KEYS, LENGTHS, LAST_LENGTH = 16, 8, (1, 4, 16), 64
longer, ell = Symbol("s", positive=True), Symbol("ell", positive=True)
# The factor on scores; and effective keys are no fewer than at s = 1 up to the logarithm LAST of s.
FACTOR, LAST = (log(longer) / 10 + 1) ** 2, Rational(33, 5)
SCALED = score / sqrt(d)
SQUARES, LOST = E(squares(FACTOR * SCALED)), E(log(n) - Entropy(FACTOR * SCALED, j))


def derive() -> Chains:
    yield Chain(Var(FACTOR * SCALED)).through(
        (FACTOR**2 * Var(score) / d, "a factor is squared in the variance", algebra),
        (FACTOR**2, "the variance of a score is the dimension", moments(STANDARD)),
    )
    yield from (of_queries(SQUARES, "squares"), of_queries(LOST, "lost"), *many_keys("many"))
    # 1 + ℓ less the fourth power: a multiple of ℓ, and 6.6 - ℓ times a polynomial that is nowhere negative.
    bent, slopes = 1 + ell / 10, ell**2 / 10**4 + 233 * ell / 50000 + Rational(22689, 250000)
    below = at_most(ell * (Rational(1263, 1250000) + (LAST - ell) * slopes), given=(Le(ell, LAST),))
    title = r"The variance at $\ell = \ln s$ stays below what keeps $n e^{-\sigma^2}$ the same"
    chain = Chain(bent**4, name="grows", title=title, defines="the variance of the scores")
    yield chain.then(1 + ell, r"for $s \le 735$", below, "≤")
    root = cbrt(Rational(5, 2))  # of 1 + ℓ/10, where the difference is level: 4(1 + ℓ/10)³/10 is 1
    missing = at_most((bent - root) ** 2 * (bent**2 + 2 * root * bent + 3 * root**2))
    title = r"The logarithm of $n e^{-\sigma^2}$ over what it is at $s = 1$"
    chain = Chain(1 + ell - bent**4, name="most", title=title)
    yield chain.then(15 * root / 2 - 9, r"at $\ell = 10(\sqrt[3]{5/2} - 1)$, that is $s = 36$", missing, "≤")


def experiment(derived: Derivation) -> Items:
    def exact(mean: Expr) -> Callable[[float], float]:
        return lambda length: integrated(mean, {n: round(KEYS * length), d: D, longer: length})

    last, wide = LAST_LENGTH, Check.sharing(tolerance=2)
    for length in (*LENGTHS, last):
        yield Check(f"variance-s{length}", derived, {d: D, longer: length}, control=length == last)
    for length, name in product(LENGTHS, ("squares", "lost")):
        yield wide(f"{name}-s{length}", derived[name], {n: KEYS * length, d: D, longer: length})
    yield Wrong("factor-once", of="variance-s64", equals=FACTOR, says="the factor enters once")
    yield Wrong("same-number", of="squares-s16", equals=exact(SQUARES)(1), says="as many keys at any length")
    yield Wrong("same-loss", of="lost-s16", equals=exact(LOST)(1), says="as much is lost as at {lost-s1:s=}")
    powers = {"most-keys": derived["most"].end, "longest-row": LAST}
    of_many = log(longer) + 1 - derived.end
    powers |= {f"many-keys-s{size}": of_many.subs(longer, size) for size in (16, last)}
    for name, power in powers.items():
        yield fact(name, name.replace("-", " "), exp(power))
    bounds, wrong = {"without the factor": exact(E(squares(SCALED)))}, {"as in training": exact(SQUARES)(1)}
    x, curves = "length of a row over that in training, {longer}", {"integrated": exact(SQUARES)}
    plot = Plot.sharing(x=x, y="{SQUARES}", span=(1, LAST_LENGTH))
    yield plot("effective", "squares-*", longer, curves=curves, bounds=bounds, wrong=wrong)


CLAIM = Claim(
    statement="With YaRN’s factor on scaled scores, {main}: {variance-s4:prediction.3} at $s = 4$ and "
    "{variance-s64:prediction.3} at 64. Of many keys, {n}, attention with normal scores of deviation {sigma} "
    "spreads over about one in {many:end}. For {n} proportional to {longer} that is {many-keys-s64:2} times "
    "as many at $s = 64$ as at $s = 1$, not 64; at no {longer} more than {most-keys:2} times, and no fewer "
    "than at $s = 1$ for {longer} up to {longest-row:3}.",
    meaning="Without the factor a row 64 times as long spreads its attention over 64 times as many keys. The "
    "factor takes most of that back: to keep the number, the variance would have to be {grows:end}, {ell} "
    "being the logarithm of {longer}. With few keys it takes less: as they grow from {squares-s1:n} to "
    "{squares-s16:n}, in {squares-s1:d_k} dimensions, {SQUARES} falls from {squares-s1:prediction.2} to "
    "{squares-s16:prediction.2}, by a factor of more than {many-keys-s16:2}. It was fitted to trained "
    "models, whose scores are not random.",
    references=cite("peng2024"),
)
