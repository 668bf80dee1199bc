"""Means over small laws are exact, over an exponential law integrals, over normal ones draws."""

import pytest
from flint import arb, fmpq
from sympy import Idx, IndexedBase, Sum, Symbol, exp, sign

from verify.symbolic.arithmetics import Unknown
from verify.symbolic.balls import Scene, value
from verify.symbolic.kernel.words import E, Var
from verify.symbolic.means import ComponentLaw, laws_with, moment

i, j = Idx("i"), Idx("j")
d = Symbol("d", integer=True, positive=True)
q, k = IndexedBase("q", real=True), IndexedBase("k", real=True)
y, z = Symbol("y", real=True), Symbol("z", real=True)
COIN = ComponentLaw(((fmpq(-1), fmpq(1, 2)), (fmpq(1), fmpq(1, 2))))
SKEWED = ComponentLaw(((fmpq(-1), fmpq(2, 3)), (fmpq(2), fmpq(1, 3))))


@pytest.mark.parametrize(
    "moments", [(1, 0, 1), (1, 0, 1, 0, 3), (1, 2, 13), (1, 0, 1, None, 4), (1, 1, 3, 4)]
)
def test_laws_have_exactly_the_moments(moments: tuple[int | None, ...]) -> None:
    """In fractions, and there are several."""
    wanted = tuple(None if one is None else fmpq(one) for one in moments)
    found = laws_with(wanted)
    assert len(found) > 1
    for law in found:
        assert all(one is None or moment(law, power) == one for power, one in enumerate(wanted))
        assert all(weight > 0 for _, weight in law.points)


def test_no_law_has_impossible_moments() -> None:
    """A mean square below the square of the mean."""
    assert laws_with((fmpq(1), fmpq(2), fmpq(3))) == ()


@pytest.mark.parametrize("many", [1, 2, 3])
def test_sums_over_components_are_enumerated(many: int) -> None:
    """The variance of a score is d, and so is that of sums over two indices where they are written out."""
    at = Scene(values={d: fmpq(many)}, laws={q: COIN, k: SKEWED}, shapes={q: (many,), k: (many,)})
    score = Sum(q[i] * k[i], (i, 1, d))
    assert value(Var(score), at).contains(fmpq(2 * many))
    pairs = Sum(q[i] * q[j] * k[i] * k[j], (i, 1, d), (j, 1, d))
    assert value(E(pairs), at).contains(fmpq(2 * many))
    assert value(E((score - E(score)) ** 2), at).contains(fmpq(2 * many))


def test_means_inside_means_are_numbers() -> None:
    """Also under an index that the mean around them sums over."""
    at = Scene(values={d: fmpq(2)}, laws={q: SKEWED, y: COIN}, shapes={q: (2,)})
    assert value(E(y * E(y**2) + E(y**4)), at).contains(1)
    assert value(E(Sum(q[i] ** 2 * E(q[i] ** 2), (i, 1, d))), at).contains(8)


def test_an_exponential_law_is_integrated() -> None:
    """Beside what is discrete."""
    at = Scene(laws={y: ComponentLaw(kind="exponential", mean=fmpq(1)), z: COIN})
    assert value(E(exp(-y)), at).contains(arb(0.5))
    assert abs(value(E(y**2 * (2 + z)), at) - 4) < arb("1e-6")


def test_draws_give_balls_that_hold_the_mean() -> None:
    """The same with the same seed; what few draws decide is not told."""
    at = Scene(
        values={d: fmpq(5)}, laws={q: ComponentLaw(kind="normal", variance=4)}, shapes={q: (5,)}, budget=10**5
    )
    found = value(E(Sum(q[i] ** 2, (i, 1, d))), at)
    assert found.contains(20)
    assert found.rad() < 2
    with pytest.raises(Unknown, match="tail"):
        value(E(exp(4 * q[1])), at)


def test_many_outcomes_are_drawn() -> None:
    """Where enumeration would not end."""
    at = Scene(values={d: fmpq(40)}, laws={q: SKEWED, k: SKEWED}, shapes={q: (40,), k: (40,)})
    assert value(E(Sum(q[i] ** 2, (i, 1, d)) + Sum(k[i], (i, 1, d)) ** 2), at).contains(160)


def test_rare_events_are_not_left_to_draws() -> None:
    """Draws that have none of them would tell that there is no spread."""
    rare = ComponentLaw(((fmpq(1), fmpq(10**7 - 1, 10**7)), (fmpq(2), fmpq(1, 10**7))))
    at = Scene(values={d: fmpq(40)}, laws={q: rare}, shapes={q: (40,)})
    with pytest.raises(Unknown, match="so rare"):
        value(Var(Sum(q[i] * q[j], (i, 1, d), (j, 1, d))), at)
    with pytest.raises(Unknown, match="all alike"):
        value(E(sign(q[1] - 100)), at.having({}, laws={q: ComponentLaw(kind="normal")}, memo={}))
