"""Limits of a weight whose lead grows with the logarithm of the length: above, at and below a factor."""

from sympy import Expr, Limit, S, Symbol, oo

from verify.spec import Chain, at_least, at_most, limit, n

eps = Symbol("epsilon", positive=True)
"""How far the product of factor and lead is above 1, or below."""


def around_critical(product: str, size: Symbol = n) -> tuple[Chain, ...]:
    """Return the bounds of a weight above and below the critical factor, and its limits there and at it.

    Args:
        product: The quantity that is 1 at the critical factor, in words, as "the product".
        size: How many keys there are.
    """
    above, below = weight(1 + eps, size), weight(1 - eps, size)
    least, most = 1 / (1 + size**-eps), 1 / (1 + size**eps / 2)
    rises = size ** (-1 - eps) * above * least
    falls = (size / 2 - 1) * size ** (eps - 1) * below * most
    bounds = (
        Chain(
            above,
            name="above",
            title=f"Where {product} is $1 + \\varepsilon$",
            defines="the weight beyond the critical factor",
        ).then(least, "there are fewer other keys than keys", at_least(rises), "≥"),
        Chain(
            below,
            name="below",
            title=f"Where {product} is $1 - \\varepsilon$",
            defines="the weight short of the critical factor",
            given=(size >= 2,),
        ).then(most, "other keys are at least half of them", at_most(falls, given=(size >= 2,)), "≤"),
    )
    ends = ("above", least, S.One), ("at", weight(S.One, size), S.Half), ("below", most, S.Zero)
    limits = (
        Chain(
            Limit(x, size, oo),
            name="at" if name == "at" else f"{name}-tends",
            title=f"The limit where {product} is 1" if name == "at" else "The limit of that bound",
        ).then(value, "the power of the length alone changes", limit())
        for name, x, value in ends
    )
    return *bounds, *limits


def weight(product: Expr, size: Symbol = n) -> Expr:
    """Return the weight of a key whose odds against each of the others are that power of the length."""
    return 1 / (1 + (size - 1) * size**-product)
