"""No derivation stands with a spoiled expression in it, and theorems fare at points as it is stored."""

import json
import random
import re
from collections import ChainMap
from itertools import chain
from typing import Any

import pytest
from sympy import IndexedBase, S, Sum, Symbol, symbols

from tests.catalogue import CATALOGUE, derivation
from tests.faults.falsified import FORMER, SECONDS, SEED, is_stopped, summary, theorems, trial
from tests.faults.spoiled_steps import spoil
from tests.faults.spoiling import spoiled
from verify.evidence import Falsified
from verify.evidence.load import stored_table
from verify.files.names import shipped_folder
from verify.symbolic import chains
from verify.symbolic import vocabulary as new
from verify.symbolic.chains import Chain, Line, LineCheck, Relation
from verify.symbolic.chains import Derivation as Chains
from verify.symbolic.checks import algebra
from verify.symbolic.derivation import Derivation
from verify.symbolic.kernel.words import E
from verify.symbolic.routes import By, Route, Step
from verify.symbolic.scores import d, index, k, q

SHORT = ("score-variance-any-law", "sqrt-scaling", "over-scaling", "scaling-exponent", "self-score")
"""Claims in both languages whose chains are short."""
PART = list(CATALOGUE)[1::16]
RIGHT = {
    r"factor E\([qk]\[.*\]\*\*2\) (dropped|once more): ": "every square of a standard component has mean 1",
    r"another symbol: [qk] \| .*(q_a·q_j|k_a·k_j)": "a key of the same law is as good as a query",
}
"""How lines about standard components are spoiled and are as right as before, with why."""
a, b, x = symbols("a b x", positive=True)


@pytest.mark.parametrize("name", [*SHORT, *(pytest.param(name, marks=pytest.mark.slow) for name in PART)])
def test_no_spoiled_step_survives(name: str) -> None:
    """Two versions of each expression of a few claims; all are tried by hand, see the campaign."""
    tally = spoil(name, derivation(name), sample=2, seed=0)
    assert tally.tried >= 6
    assert [one for one in tally.survivors if not any(re.search(how, one) for how in RIGHT)] == []


def test_a_check_that_sees_nothing_lets_all_survive() -> None:
    """Where any step passes, every spoiled expression between start and result does."""
    blind = By("blind", lambda *_: True)
    tally = spoil(
        "none", Derivation.of(Route.of("r", x, Step(x + a, "", blind), Step(x + b, "", blind))), 9, 0
    )
    assert len(tally.survivors) == tally.tried > 15


class Blind(LineCheck):
    """A check that takes any line."""

    words = "blind"

    def decide(self, before: Any, after: Any, relation: Relation) -> None:
        """Return, whatever it is."""


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("second", [True, False])
def test_either_net_alone_catches_a_spoiled_line(
    monkeypatch: pytest.MonkeyPatch, first: bool, second: bool
) -> None:
    """A check that sees nothing leaves all to the second net; without both, every spoiled line survives."""
    check = algebra if first else Blind()
    if not second:
        monkeypatch.setattr(chains, "refute", lambda *_: "")
    squared = Chain(
        (x + a) ** 2, Line(x**2 + 2 * a * x + a**2, "", check), Line(a**2 + x * (x + 2 * a), "", check)
    )
    tally = spoil("none", Chains((squared,)), 9, 0)
    assert tally.tried > 15
    assert len(tally.survivors) == (0 if first or second else tally.tried)


@pytest.mark.parametrize(
    ("expression", "others", "expected"),
    [
        (a * b, (x,), {a, b, a**2 * b, a * b**2, -a * b, x * b, a * x}),
        (a + 1, (), {a, S.One, a - 1, -a + 1, a + 2, 101 * S.One / 100 + a, a**2 + 1}),
        (a**2, (), {a, a**3, a**4, a ** (101 * S.One / 50), a**-2}),
        (E(q[index] * k[index]), (), {E(q[index]), E(k[index]), E(q[index] ** 2)}),
        (
            new.E(new.score * new.q[new.a, 1]),
            (),
            {
                new.E(new.score),
                new.E(new.score**2 * new.q[new.a, 1]),
                new.E(new.score * new.k[new.a, 1]),
                new.E(new.Dot(new.k, new.a, new.k, new.j) * new.q[new.a, 1]),
            },
        ),
        (Sum(a, (index, 1, d)), (), {Sum(a, (index, 2, d)), Sum(a, (index, 0, d))}),
        (Symbol("n") * IndexedBase("w")[1], (), {Symbol("n") * IndexedBase("w")[2]}),
    ],
)
def test_what_is_spoiled(expression: Any, others: tuple[Any, ...], expected: set[Any]) -> None:
    """Factors and terms dropped or doubled, signs, powers, numbers and symbols, each at one place."""
    versions = {version for _, version in spoiled(expression, others)}
    assert expected <= versions
    assert expression not in versions


def test_what_is_the_same_is_left_out() -> None:
    """A sign that a square or a mean takes out again spoils nothing."""
    product = E(q[index] * k[index])
    assert E(-q[index] * k[index]) ** 2 not in {version for _, version in spoiled(product**2, ())}
    assert E(-q[index] * k[index]) in {version for _, version in spoiled(product, ())}


def test_an_index_stays() -> None:
    """Of independent components any place is as good as another."""
    both = new.E(new.Dot(new.q, new.a, new.k, new.j) * new.Dot(new.q, new.b, new.k, new.j))
    versions = {version for _, version in spoiled(both, (new.score,))}
    indices = {frozenset(version.atoms(new.Index)) for version in versions}
    assert frozenset([new.a, new.b, new.j]) in indices
    assert all(one <= {new.a, new.b, new.j} for one in indices)


STORED: dict[str, Any] = json.loads((shipped_folder("data") / "falsified.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "name",
    [
        name
        if name in SHORT
        else pytest.param(name, marks=pytest.mark.by_hand if place % 3 else pytest.mark.slow)
        for place, name in enumerate(FORMER)
    ],
)
def test_each_theorem_is_stored(name: str) -> None:
    """And nothing else is: what has changed is to be tried again."""
    now = {title: set(digests) for title, digests in theorems(derivation(name)).items()}
    assert now == {title: set(digests) for title, digests in STORED["claims"][name].items()}


def test_none_is_refuted_and_all_are_counted() -> None:
    """The printed sum is that of the counts, and all of these are of claims in the former language."""
    assert set(STORED["claims"]) == set(FORMER)
    named = (digests for titles in STORED["claims"].values() for digests in titles.values())
    assert set(STORED["statements"]) == set(chain.from_iterable(named))
    stored = stored_table(Falsified)
    assert stored == summary(STORED["statements"].values()).model_copy(update={"version": stored.version})
    assert stored.refuted == 0


@pytest.mark.slow
def test_some_fare_as_they_did() -> None:
    """Of those that time did not stop, a few, the same each time."""
    finished = sorted(name for name, one in STORED["statements"].items() if not is_stopped(one))
    chosen = set(random.Random(SEED).sample(finished, 12))  # noqa: S311  # a sample, and no secret
    for claim, titles in STORED["claims"].items():
        if chosen & set(chain.from_iterable(titles.values())):
            every = ChainMap(*theorems(derivation(claim)).values())
            for name in sorted(chosen & set(every)):
                assert trial(every[name], 6 * SECONDS) == STORED["statements"][name], claim
            chosen -= set(every)
    assert not chosen
