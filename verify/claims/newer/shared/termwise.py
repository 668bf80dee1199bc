"""A weight between bounds, once every other key's exponential over that of the key lies between two."""

from typing import Any

import numpy as np
from sympy import Limit, Range, S, Sum, exp, oo

from verify.montecarlo.attention import softmax
from verify.symbolic.kernel.calculus import Compared
from verify.symbolic.kernel.equations import PutIn, Replaced
from verify.symbolic.kernel.hypotheses import Hypotheses
from verify.symbolic.kernel.limits import AtLimit
from verify.symbolic.kernel.sums import SumIdentity, Surplus
from verify.symbolic.kernel.words import M, Ordered, n, p, s, x
from verify.symbolic.printing import ordered
from verify.symbolic.routes import Route, Step, one_step
from verify.symbolic.softmax import i, j

N = Ordered("N", "A", integer=True, positive=True)
"""The number of keys of the row, where n is that of the others."""
a, b, rest = ordered("a b r", positive=True)
"""The least and the largest exponential of another key over that of the key, and their difference."""
h, power, beyond = ordered("h u epsilon", positive=True)
OTHERS = Sum(a + rest * x[j] ** 2 / M**2, (j, 1, n))
"""The exponentials of n other keys over that of the key: from a to a + r, as every x_j is within ±M."""
_TWO_KEYS = Hypotheses().restricted(N, Range(2, oo))


def _bounded(largest: bool) -> Route:
    """Return the bound of the weight where the others' exponentials are largest, or least."""
    end, relation = (a + rest, "≤") if largest else (a, "≥")
    term = 1 - x[j] ** 2 / M**2 if largest else x[j] ** 2 / M**2
    total = one_step(
        f"The exponentials of $n$ other keys at {'most' if largest else 'least'}",
        OTHERS,
        n * end,
        "Term by term",
        Surplus(Sum(rest * term, (j, 1, n)), relation, bounded=largest),
        defines="the others’ exponentials over that of the key",
    )
    return Route.of(
        f"The weight of one of $N$ keys, the others’ exponentials being {'largest' if largest else 'least'}",
        1 / (1 + OTHERS),
        Step(1 / (1 + n * end), "It falls as that sum grows", Replaced(total.proved())),
        Step(
            1 / (1 + (N - 1) * (b if largest else a)),
            "Exponentials from $a$ to $b$, and $N - 1$ of them",
            PutIn({M: S.One, n: N - 1, rest: b - a}),
        ),
        under=_TWO_KEYS,
    )


def written_out() -> Route:
    """Return how a weight follows from the exponentials of the others over that of the key."""
    ratio = Sum(exp(s[i] - s[1]), (i, 1, n))
    return one_step(
        "A weight by the differences of scores",
        p[1],
        1 / ratio,
        "Over the exponential of the key’s own score",
        SumIdentity(),
        defines="the weight of a key; its own term of the sum is 1",
    )


def between(low: Any, high: Any, words: str) -> tuple[Route, Route]:
    """Return the weight's bounds from below and from above, the others' exponentials from low to high."""
    return tuple(
        _bounded(largest).then(Step(1 / (1 + (N - 1) * end), words, PutIn({a: low, b: high})))
        for largest, end in ((True, high), (False, low))
    )  # type: ignore[return-value]


def around_critical(name: str, size: Any) -> tuple[Route, Route, Route]:
    """Return the bounds of 1/(1 + (N - 1)N^(-c)) for c above and below 1 by ε, and its limit at 1."""
    weight, told = 1 / (1 + (size - 1) * power / size), "the weight of a key whose lead is"
    above, below = 1 / (1 + power), 1 / (1 + power / 2)
    return (
        Route.of(
            f"{name} is $1 + \\varepsilon$: here $u = N^{{-\\varepsilon}}$", weight,
            Step(above, "There are fewer other keys than keys", Compared("≥")),
            Step(above.subs(power, size**-beyond), "Put in", PutIn({power: size**-beyond})),
            defines=f"{told} beyond the critical one", name="above",
        ),
        Route.of(
            f"{name} is $1 - \\varepsilon$: here $u = N^\\varepsilon$", weight,
            Step(below, "Other keys are at least half of the keys", Compared()),
            Step(below.subs(power, size**beyond), "Put in", PutIn({power: size**beyond})),
            defines=f"{told} short of the critical one", name="below",
            under=Hypotheses().restricted(size, Range(2, oo)),
        ),
        one_step(f"{name} is 1, for ever larger $N = 1/h$", Limit(1 / (2 - h), h, 0, "+"), S.Half,
                 "$h = 1/N$ falls to 0", AtLimit(),
                 defines=f"the limit of {told} the critical one", name="at"),
    )  # fmt: skip


def weight_of_leader(lead: float, keys: int) -> float:
    """Return softmax's weight of the one key whose score is larger than all others, which are alike."""
    scores = np.zeros(keys)
    scores[0] = lead
    return float(softmax(scores)[0])
