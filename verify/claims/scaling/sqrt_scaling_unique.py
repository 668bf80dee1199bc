"""No other factor keeps the variance at 1."""

from sympy import root, solve

from verify.spec import STANDARD, Chain, Check, Claim, Derivation, Eq, Items, Rational, Symbol, Var, Wrong
from verify.spec import algebra, d, earlier, equivalent, moments, score, sqrt

c = Symbol("c", real=True)


def derive() -> tuple[Chain, Chain]:
    multiple = Chain(Var(c * score), name="multiple", title="The variance of a multiple").through(
        (c**2 * Var(score), "a factor enters the variance squared", algebra),
        (c**2 * d, "the variance of the raw score is the dimension", moments(STANDARD)),
    )
    factored = "divided by the dimension and factored; a product is 0 where a factor is"
    return multiple, Chain(Eq(Var(c * score), 1, evaluate=False)).through(
        (Eq(c**2 * d, 1, evaluate=False), "the variance of the multiple", earlier(multiple), "⇔"),
        (Eq((c - 1 / sqrt(d)) * (c + 1 / sqrt(d)), 0, evaluate=False), factored, equivalent(), "⇔"),
    )


def experiment(derived: Derivation, tolerance: float) -> Items:
    multiple = derived["multiple"]
    for sign, factor in zip(("minus", "plus"), solve(derived.end, c), strict=True):
        for size in (4, 64, 512):
            yield Check(f"{sign}-d{size}", multiple, {c: factor.subs(d, size), d: size})
    larger = 1 + 2 * Rational(str(tolerance))
    for name, factor, says in (
        ("fourth-root", 1 / root(d, 4), "the fourth root does as well"),
        ("three-quarters", d ** -Rational(3, 4), "the third power of the fourth root does as well"),
        ("dimension", 1 / d, "the dimension itself does as well"),
        ("multiplied", sqrt(d), "multiplying by the root in place of dividing does as well"),
        ("nearly", larger / sqrt(d), "a factor larger by twice the tolerance does as well"),
    ):
        yield Wrong(name, multiple, {c: factor.subs(d, 64), d: 64}, equals=1, says=says)


CLAIM = Claim(
    statement="For independent components with mean 0 and variance 1, {main}: {c} is 1 over {root_d}, with "
    "either sign, and no other factor.",
    meaning="The scale of 1 over {root_d} is not one choice among several: under these assumptions it is the "
    "only positive one that gives variance 1. (Whether that is the best target is another matter.) In each "
    "dimension both signs are measured on the same scores.",
)
