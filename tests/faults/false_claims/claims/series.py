"""First terms of a series stand for the whole."""

from sympy import Interval, S

from tests.faults.false_claims.shared import Pair, a, b, e, of_derivations, steps
from verify.spec import d
from verify.spec.rules import FirstTerms, Hypotheses, Identity, PutIn

PAIRS: dict[str, Pair] = {
    "bounded": of_derivations(
        # False: first terms for a below 5; true: for large a.
        lambda: steps(
            a / (a + e), (1 - e / a, FirstTerms(a, 1)), under=Hypotheses().restricted(a, Interval.open(0, 5))
        ),
        lambda: steps(a / (a + e), (1 - e / a, FirstTerms(a, 1))),
    ),
    "equal": of_derivations(
        # False: d/(d + e) is 1 - e/d; true: it is 1 - e/(d + e).
        lambda: steps(d / (d + e), (1 - e / d, Identity())),
        lambda: steps(d / (d + e), (1 - e / (d + e), Identity())),
    ),
    "nothing": of_derivations(
        # False: 1/d is about 0; true: 1/(d + 1) is about 1/d.
        lambda: steps(1 / d, (S.Zero, FirstTerms(d, 0))),
        lambda: steps(1 / (d + 1), (1 / d, FirstTerms(d, 1))),
    ),
    "put_in": of_derivations(
        # False: d/(d + e) is about 1 - e/d, and so 1 - e/a at d = 1; true: d/(d + e) at 1 is 1/(1 + e).
        lambda: steps(a / (a + e), (1 - e / a, FirstTerms(a, 1)), (1 - e, PutIn({a: S.One}))),
        lambda: steps(
            a / (a + e) + b, (b + 1 - e / (a + e), Identity()), (b + 1 - e / (1 + e), PutIn({a: S.One}))
        ),
    ),
    "second_term": of_derivations(
        # False: d/(d + e) is 1 - e/d up to 1/d²; true: the next term is e²/d².
        lambda: steps(d / (d + e), (1 - e / d, FirstTerms(d, 2))),
        lambda: steps(d / (d + e), (1 - e / d + e**2 / d**2, FirstTerms(d, 2))),
    ),
    "sign": of_derivations(
        # False: d/(d + e) is about 1 + e/d; true: it is about 1 - e/d.
        lambda: steps(d / (d + e), (1 + e / d, FirstTerms(d, 1))),
        lambda: steps(d / (d + e), (1 - e / d, FirstTerms(d, 1))),
    ),
}
