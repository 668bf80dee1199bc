"""Each power of the dimension has its own exponent."""

from verify.spec import STANDARD, Chain, Check, Claim, Derivation, Fit, Items, Plot, Rational, S, Symbol, Var
from verify.spec import Wrong, algebra, d, moments, score

QUARTER = Rational(1, 4)
POWERS = {"none": S.Zero, "quarter": QUARTER, "half": S.Half, "three-quarters": 3 * QUARTER, "whole": S.One}
alpha = Symbol("alpha", real=True)
divided = score * d**-alpha


def derive() -> Chain:
    return Chain(Var(divided)).through(
        (d ** (-2 * alpha) * Var(score), "a factor enters the variance squared", algebra),
        (d ** (1 - 2 * alpha), "the variance of the raw score is the dimension", moments(STANDARD)),
    )


def experiment(derived: Derivation) -> Items:
    laws = {name: derived.end.subs(alpha, power) for name, power in POWERS.items()}
    for name, power in POWERS.items():
        for size in (2, 16, 128, 1024):
            control = (name, size) == ("quarter", 1024)
            yield Check(f"{name}-variance-d{size}", derived, {alpha: power, d: size}, control=control)
        yield Fit(f"{name}-variance-d*", over=d, law=laws[name], only=("exponent",), prefix=f"{name}-")
    says = "the factor enters once, not squared: the exponent is {value}, as 1 minus {alpha}"
    yield Wrong("power-counted-once", of="quarter-exponent", equals=1 - QUARTER, says=says)
    words = "variance of {divided}"
    curves = {rf"$\alpha = {power}$": laws[name] for name, power in POWERS.items()}
    title = "Only the exponent ½ keeps the variance level"
    yield Plot("fan", tuple(f"{name}-variance-d*" for name in POWERS), d, title, curves=curves, y=words)


CLAIM = Claim(
    statement="For independent components with mean 0 and variance 1, {main} for every {alpha}.",
    meaning="The usual scale, the power one half, separates two regimes: with a smaller power scores grow "
    "with the dimension, with a larger one they shrink. No other power keeps the variance level: a quarter "
    "instead of a half leaves a variance of {quarter-variance-d128:prediction.3} in "
    "{quarter-variance-d128:d_k} dimensions. In each dimension all powers are measured on the same scores.",
)
