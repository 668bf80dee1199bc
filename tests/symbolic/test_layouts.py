"""What of a statement is free, random, read off or counted."""

from sympy import Idx, IndexedBase, Interval, Sum, Symbol, exp, symbols

from verify.symbolic.kernel.hypotheses import Hypotheses, Population
from verify.symbolic.kernel.words import E, M, n, p, s, x
from verify.symbolic.layouts import Layout

i, j = Idx("i"), Idx("j")
d = Symbol("d", integer=True, positive=True)
q = IndexedBase("q", real=True)
kappa, mu, tau, t, y = symbols("kappa mu tau t y", real=True)


def test_symbols_that_are_moments_are_read_off() -> None:
    """Unless they are in other moments too; then they come first."""
    hypotheses = Hypotheses(law=Population({q: (1, mu, mu**2 + 1, kappa)}, d))
    layout = Layout((E(Sum(q[i], (i, 1, d))), d * mu), hypotheses)
    assert set(layout.readable) == {kappa}
    assert layout.symbols == [d, mu]
    assert layout.sizes == {d}
    assert layout.random == {q}
    assert not layout.moves(mu)


def test_defined_entries_and_bound_names_are_not_free() -> None:
    """An index that no sum binds is, and its range is that of the sums over the family."""
    defined = Hypotheses(definitions=((p[i], exp(s[i]) / Sum(exp(s[j]), (j, 1, n))),))
    layout = Layout((p[i] * Sum(x[j] * p[j], (j, 1, n)), tau), defined)
    assert layout.bases == [s, x]
    assert layout.symbols == [n, tau]
    assert set(layout.free_indices) == {i}
    assert layout.highs[s, 0] == {n}
    assert layout.moves(tau)


def test_without_a_law_all_inside_means_alone_is_random() -> None:
    """What stands outside too is a number."""
    layout = Layout((E(t * y), t * E(y)), Hypotheses())
    assert layout.random == {y}
    assert layout.symbols == [t]


def test_entries_and_domains() -> None:
    """Bounds, orders and restrictions."""
    hypotheses = Hypotheses(entries=frozenset([("bounded", x, M), ("ordered", p)])).restricted(
        t, Interval(0, 1)
    )
    layout = Layout((Sum(p[i] * x[i], (i, 1, n)) + t, M), hypotheses)
    assert layout.limits == {M}
    assert layout.known["ordered"] == {p}
    assert layout.domain(t) == Interval(0, 1)
