"""The chains that show over how many of very many keys attention spreads: n·E Σp² tends to exp(σ²).

For every number of keys it lies between two functions of n and σ, which both tend there. They come of
shifting single scores under the normal density, which adds a share of its exponential to the total.
"""

from functools import cache

from verify.spec import NORMAL_ROWS, Chain, E, Limit, Line, a, algebra, at_most, between, cited, earlier, exp
from verify.spec import j, l, n, oo, over_keys, s, sigma, squares, symbols

Z, x, c, r = symbols("Z x c r", positive=True)
"""The total, an exponential, the share of it that comes on top, and a number near the total."""

ROW = sigma * s[a, j]
TOTAL, TERM = over_keys(exp(sigma * s[a, l]), l), exp(ROW)
ONCE, TWICE = exp(sigma**2) - 1, exp(2 * sigma**2) - 1
"""Which share of its exponential a score adds that is shifted by σ², and by 2σ²."""

SHIFTED = cited("change of measure", laws=NORMAL_ROWS)
SPREAD = n * E(squares(ROW))


@cache  # so that its lines are checked once in a process
def at_most_keys() -> tuple[Chain, ...]:
    """Derive the upper bound of n·E Σp², for enough keys, and the chains that it rests on."""
    more, many, there = Z + c * x, (n > ONCE,), {Z: TOTAL, x: TERM, c: ONCE}
    convex, missing = "a convex function lies above its tangent", at_most((c * x / Z) ** 2 / more)
    tangent = Chain(1 / Z - c * x / Z**2, name="tangent", title="A tangent of one over the total")
    tangent = tangent.then(1 / more, convex, missing, "≤")
    below, on_top = over_keys(1 / TOTAL - ONCE * TERM / TOTAL**2), over_keys(1 / (TOTAL + ONCE * TERM))
    back = r"score $j$ is shifted by $-\sigma^2$: the share on top is gone, and its exponential comes before"
    inverse = Chain(E(1 / TOTAL), name="inverse-total", title="One over the total", given=many).through(
        (E(below) / (n - ONCE), "the exponentials sum to the total", algebra),
        (E(on_top) / (n - ONCE), "the tangent", earlier(tangent, at=there, given=many), "≤"),
        (exp(-(sigma**2) / 2) * E(over_keys(TERM / TOTAL)) / (n - ONCE), back, SHIFTED),
        (exp(-(sigma**2) / 2) / (n - ONCE), "the weights sum to 1", algebra),
    )
    falling = Chain(x / more**2, name="falling", title="What comes on top makes it smaller")
    falling = falling.then(x / Z**2, "for positive numbers", at_most(x / Z**2 - x / more**2), "≤")
    factor, put_in = n * exp(3 * sigma**2 / 2), earlier(falling, at=there)
    shift = r"score $j$ is shifted by $\sigma^2$, which turns one of its exponentials into a share on top"
    upper = Chain(SPREAD, name="upper", title="At most, for enough keys", given=many).through(
        (n * E(over_keys(TERM**2 / TOTAL**2)), "weights are exponentials over the total", algebra),
        (factor * E(over_keys(TERM / (TOTAL + ONCE * TERM) ** 2)), shift, SHIFTED),
        (factor * E(over_keys(TERM / TOTAL**2)), "without it, it is more", put_in, "≤"),
        (factor * E(1 / TOTAL), "the exponentials sum to the total", algebra),
        (n * exp(sigma**2) / (n - ONCE), "the bound of its inverse", earlier(inverse, given=many), "≤"),
    )
    return tangent, inverse, falling, upper


@cache  # so that its lines are checked once in a process
def many_keys(name: str = "") -> tuple[Chain, ...]:
    """Derive the limit of n·E Σp² for ever more keys, which gets the ``name``, after the chains below it."""
    more, level, factor = Z + c * x, (n + TWICE) * exp(sigma**2 / 2), n * exp(2 * sigma**2)
    missing = at_most((more - r) ** 2 * (2 * more + r) / (r**3 * more**2))
    title = "A tangent of one over the squared total"
    tangent = Chain(3 / r**2 - 2 * more / r**3, name="square-tangent", title=title)
    tangent = tangent.then(1 / more**2, "a convex function lies above its tangent", missing, "≤")
    there = earlier(tangent, at={Z: TOTAL, x: TERM, c: TWICE, r: level})
    below = over_keys(3 / level**2 - 2 * (TOTAL + TWICE * TERM) / level**3)
    linear = 3 * n / level**2 - 2 * (n + TWICE) / level**3 * E(over_keys(TERM))
    mean = 3 * n / level**2 - 2 * (n + TWICE) / level**3 * n * exp(sigma**2 / 2)
    shift = r"score $j$ is shifted by $2\sigma^2$, which turns its exponentials into a share on top"
    lower = Chain(SPREAD, name="lower", title="At least, for any number of keys").through(
        (factor * E(over_keys(1 / (TOTAL + TWICE * TERM) ** 2)), shift, SHIFTED),
        (factor * E(below), "the tangent at the mean of that total", there, "≥"),
        (factor * linear, "the exponentials sum to the total", algebra),
        (factor * mean, "the mean of an exponential", SHIFTED),
        (n**2 * exp(sigma**2) / (n + TWICE) ** 2, "terms collected", algebra),
    )
    *others, upper = at_most_keys()
    squeezed, title = between(lower, upper), "For ever more keys" if name else ""
    line = Line(exp(sigma**2), "it lies between two bounds that tend there", squeezed)
    return *others, upper, tangent, lower, Chain(Limit(SPREAD, n, oo), line, name=name, title=title)
