"""A climb leads to where an inequality is tighter, within the hypotheses."""

import random
import time

import numpy as np
from flint import fmpq
from sympy import Idx, Interval, S, Sum, Symbol

from verify.symbolic.balls import value
from verify.symbolic.climbing import Climb
from verify.symbolic.kernel.hypotheses import NOTHING, Hypotheses
from verify.symbolic.kernel.words import n, p, x
from verify.symbolic.layouts import Layout
from verify.symbolic.places import scene_at

i = Idx("i")
t = Symbol("t", real=True)


def test_a_suspect_is_an_exact_point_within_the_domain() -> None:
    """At which the inequality is false in balls too."""
    hypotheses = NOTHING.restricted(t, Interval(0, 5))
    layout = Layout((t * (5 - t), S(6)), hypotheses)
    at = scene_at(layout, {t: S(1)}, random.Random(1))  # noqa: S311
    found = list(Climb(layout, at, 1, np.random.default_rng(1)).suspects(time.thread_time() + 5))
    assert found
    assert all(type(one.values[t]) is fmpq and value(layout.sides[0], one) > 6 for one in found)


def test_orders_and_sums_of_probabilities_are_kept() -> None:
    """Wherever the climb leads."""
    hypotheses = Hypotheses(entries=frozenset([("ordered", p)]))
    layout = Layout((Sum(p[i] * x[i], (i, 1, n)), p[1] * 3), hypotheses)
    at = scene_at(layout, {n: S(3)}, random.Random(1))  # noqa: S311
    for one in Climb(layout, at, 1, np.random.default_rng(1)).suspects(time.thread_time() + 5):
        weights = [one.entries[p, key] for key in (1, 2, 3)]
        assert sum(weights, fmpq(0)) == 1
        assert weights[0] >= weights[1] >= weights[2]


def test_nothing_to_move_is_no_climb() -> None:
    """Whole numbers stay."""
    layout = Layout((n, n + 1), NOTHING)
    at = scene_at(layout, {n: S(3)}, random.Random(1))  # noqa: S311
    assert list(Climb(layout, at, 1, np.random.default_rng(1)).suspects(time.thread_time() + 1)) == []
