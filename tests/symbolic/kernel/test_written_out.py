"""Identities written out for a few keys."""

import pytest
from sympy import Max, Min, Rational, Sum, exp

from tests.symbolic.kernel.proving import proved, refused
from verify.symbolic.kernel.sums import FewKeys
from verify.symbolic.kernel.words import E, n, p, s
from verify.symbolic.softmax import i, j

FIRST = 1 / (1 + exp(s[2] - s[1]))
OTHER = 1 / (1 + exp(s[1] - s[2]))


def test_two_keys_are_written_out() -> None:
    """Weights, sums of them, the larger and the smaller, and means of these."""
    known = proved(FewKeys(2), p[1], FIRST)
    assert [name for name, _ in known.hypotheses.definitions] == [p]
    proved(FewKeys(2), Sum(p[i] * p[j], (i, 1, 2), (j, 1, 2)), 2 * FIRST * OTHER + FIRST**2 + OTHER**2)
    proved(FewKeys(2), E(Max(p[1], p[2])), 1 - E(Min(FIRST, OTHER)))
    proved(FewKeys(3), Sum(p[i], (i, 1, 3)), p[1] + p[2] + p[3])


@pytest.mark.parametrize(
    ("keys", "before", "after"),
    [
        (2, p[1], FIRST * Rational(101, 100)),
        (3, p[1], FIRST),
        (2, p[3], FIRST),
        (2, p[i], FIRST),
        (2, Sum(p[i], (i, 1, n)), p[1] + p[2]),
        (2, Sum(p[i], (i, 1, 3)), p[1] + p[2]),
        (2, Max(p[1], p[2]), Min(p[1], p[2])),
        (2, E(p[1]), p[1]),
        (2, E(p[1] * p[2]), E(p[1]) * E(p[2])),
        (1, p[1], p[1]),
    ],
)
def test_what_does_not_follow_is_refused(keys: int, before: object, after: object) -> None:
    """Another weight or number of keys, an open key, sums over others, and a mean of what is not averaged."""
    refused(FewKeys(keys), before, after)
