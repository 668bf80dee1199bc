"""The table of cited theorems, and what is checked of them."""

from __future__ import annotations


import pytest
from sympy import Limit, Symbol, exp, log, oo, sqrt, symbols

from tests.symbolic.lines import refused
from verify.errors import ClaimError
from verify.symbolic.vocabulary import NORMAL_COMPONENTS, NORMAL_ROWS, STANDARD, UNIT, E, Indicator, Largest
from verify.symbolic.vocabulary import Softmax, a, d, i, j, k, n, normal, over_keys, q, s, score
from verify.symbolic.vocabulary import sigma, squares
from verify.symbolic.bounds import earlier
from verify.symbolic.chains import Chain, Derivation, Line, Theorem
from verify.symbolic.checks import THEOREMS, cited

x, c = symbols("x c", real=True)
w = Symbol("w", positive=True)
row = sigma * s[a, j]
LENGTH = over_keys(q[a, i] ** 2, i).xreplace({n: d})


@pytest.mark.parametrize("name", THEOREMS)
def test_every_theorem_says_what_and_where(name: str) -> None:
    """A theorem has a statement, conditions, and a source with a year; its address is one."""
    theorem = THEOREMS[name]
    assert theorem.says.endswith(".")
    assert theorem.conditions.endswith(".")
    assert any(part.strip("(),").isdigit() for part in theorem.source.split()) or "NIST" in theorem.source
    assert theorem.url is None or theorem.url.startswith("https://")


def test_stein_needs_a_normal_law() -> None:
    """Integration by parts is for normal scores, and an equation; unit variance is not enough."""
    before, after = E(over_keys(Softmax(row, j) * row)), sigma**2 * (1 - E(squares(row)))
    cited("stein", laws=NORMAL_ROWS).decide(before, after, "=")
    assert "normal law" in refused(cited("stein"), before, after)
    assert "normal law" in refused(cited("stein", laws={s: UNIT}), before, after)
    assert "normal law" in refused(cited("stein", laws={k: normal()}), before, after)
    assert "is for = or ⇔" in refused(cited("stein", laws=NORMAL_ROWS), before, after, "≤")


def test_the_maximum_is_bounded_from_above() -> None:
    """The expected maximum is below the bound, of whatever sign; never above it."""
    most, bound = E(Largest(row, j)) / sigma**2, sqrt(2 * log(n)) / sigma
    check = cited("normal maximum", laws=NORMAL_ROWS)
    check.decide(most, bound, "≤")
    check.decide(bound, most, "≥")
    assert "is for ≤ or < or" in refused(check, most, bound, "=")
    for wrong in ((most, bound, "≥"), (1 - most, 1 - bound, "≤"), (most, 2 * most, "≤")):
        assert "from above" in refused(check, *wrong)


def test_jensen_goes_the_way_the_function_bends() -> None:
    """The mean length is below the root of the mean square, and never above it."""
    inside, outside = E(sqrt(LENGTH)), sqrt(E(LENGTH))
    cited("jensen").decide(inside, outside, "≤")
    cited("jensen").decide(outside, inside, "≥")
    assert "concave" in refused(cited("jensen"), inside, outside, "≥")
    assert "concave" in refused(cited("jensen"), outside, inside, "≤")
    cited("jensen").decide(exp(E(score)), E(exp(score)), "≤")
    assert "convex" in refused(cited("jensen"), exp(E(score)), E(exp(score)), "≥")
    assert "is for ≤ or < or" in refused(cited("jensen"), exp(E(score)), E(exp(score)))


def test_limits_are_no_equations_of_finite_sizes() -> None:
    """The central limit theorem is for a Limit, the delta method for a leading term."""
    below, phi = E(Indicator(x - score / sqrt(d))), Symbol("Phi")
    cited("central limit", laws=STANDARD).decide(Limit(below, d, oo), phi, "=")
    assert "Limit" in refused(cited("central limit", laws=STANDARD), below, phi)
    cited("delta method", laws=NORMAL_COMPONENTS).decide(below - phi, phi / d, "~")
    assert "is for ~" in refused(cited("delta method", laws=NORMAL_COMPONENTS), below - phi, phi / d)


def test_what_is_cited_is_known_to_the_derivation() -> None:
    """A chain knows its theorems; one of another name is refused with a suggestion."""
    own = Theorem("mine", "It holds.", "Always.", "A. Author, A Book, 2020")
    check = cited(own)
    chain = Chain(x, Line(c, "so it is", check), Line(w, "and so it goes on", cited("fubini")))
    assert Derivation.of(chain).cited == (own, THEOREMS["fubini"])
    assert earlier(chain).cites == (own, THEOREMS["fubini"])

    assert check.words == "cited: mine"
    with pytest.raises(ClaimError, match="stein"):
        cited("steim")
    assert THEOREMS["stein"].url == "https://doi.org/10.1214/aos/1176345632"
