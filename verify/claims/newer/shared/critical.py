"""Limits of a weight whose lead grows with the logarithm of the length: above, at and below a factor."""

from verify.spec import Chain, Chains, Expr, Limit, S, Symbol, at_least, at_most, limit, n, oo

eps = Symbol("epsilon", positive=True)  # how far the product of factor and lead is above 1, or below


def around_critical(product: str) -> Chains:
    """Derive bounds of a weight above and below the critical factor, and its limits there and at it."""
    # The product is the quantity that is 1 at the critical factor, in words, as "the product".
    above, at, below = weight(1 + eps), weight(S.One), weight(1 - eps)
    least, most = 1 / (1 + n**-eps), 1 / (1 + n**eps / 2)
    more = at_least(n ** (-1 - eps) * above * least)
    less = at_most((n / 2 - 1) * n ** (eps - 1) * below * most, given=(n >= 2,))
    title, defines = f"Where {product} is $1 + \\varepsilon$", "the weight beyond the critical factor"
    beyond = Chain(above, name="above", title=title, defines=defines)
    yield beyond.then(least, "there are fewer other keys than keys", more, "≥")
    title, defines = f"Where {product} is $1 - \\varepsilon$", "the weight short of the critical factor"
    short = Chain(below, name="below", title=title, defines=defines, given=(n >= 2,))
    yield short.then(most, "other keys are at least half of them", less, "≤")
    of_bound, of_weight = "The limit of that bound", f"The limit where {product} is 1"
    for name, title, x, value in (
        ("above-tends", of_bound, least, S.One),
        ("at", of_weight, at, S.Half),
        ("below-tends", of_bound, most, S.Zero),
    ):
        yield Chain(Limit(x, n, oo), name=name, title=title).then(value, "that power alone changes", limit())


def weight(product: Expr) -> Expr:
    """Return the weight of a key whose odds against each of the others are that power of the length."""
    return 1 / (1 + (n - 1) * n**-product)
