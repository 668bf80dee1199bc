"""No derivation stands with a spoiled expression in it, and theorems fare at points as it is stored."""

import json
import random
from collections import ChainMap
from itertools import chain
from typing import Any

import pytest
from sympy import IndexedBase, S, Sum, Symbol, symbols

from tests.catalogue import CATALOGUE, EACH_QUICKLY_MADE, derivation
from tests.faults.falsified import SECONDS, SEED, is_stopped, summary, theorems, trial
from tests.faults.spoiled_steps import spoil
from tests.faults.spoiling import spoiled
from verify.evidence import Falsified
from verify.evidence.load import stored_table
from verify.files.names import shipped_folder
from verify.symbolic.derivation import Derivation
from verify.symbolic.kernel.words import E
from verify.symbolic.routes import By, Route, Step
from verify.symbolic.scores import d, index, k, q

SHORT = ("score-mean", "sqrt-scaling", "scaling-exponent")
a, b, x = symbols("a b x", positive=True)


@pytest.mark.parametrize(
    "name", [*SHORT, *(pytest.param(name, marks=pytest.mark.slow) for name in list(CATALOGUE)[1::16])]
)
def test_no_spoiled_step_survives(name: str) -> None:
    """Two versions of each expression of a few claims; all are tried by hand, see the campaign."""
    tally = spoil(name, derivation(name), sample=2, seed=0)
    assert tally.tried >= 6
    assert tally.survivors == []


def test_a_check_that_sees_nothing_lets_all_survive() -> None:
    """Where any step passes, every spoiled expression between start and result does."""
    blind = By("blind", lambda *_: True)
    tally = spoil(
        "none", Derivation.of(Route.of("r", x, Step(x + a, "", blind), Step(x + b, "", blind))), 9, 0
    )
    assert len(tally.survivors) == tally.tried > 15


@pytest.mark.parametrize(
    ("expression", "others", "expected"),
    [
        (a * b, (x,), {a, b, a**2 * b, a * b**2, -a * b, x * b, a * x}),
        (a + 1, (), {a, S.One, a - 1, -a + 1, a + 2, 101 * S.One / 100 + a, a**2 + 1}),
        (a**2, (), {a, a**3, a**4, a ** (101 * S.One / 50), a**-2}),
        (E(q[index] * k[index]), (), {E(q[index]), E(k[index]), E(q[index] ** 2)}),
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


STORED: dict[str, Any] = json.loads((shipped_folder("data") / "falsified.json").read_text(encoding="utf-8"))


@EACH_QUICKLY_MADE
def test_each_theorem_is_stored(name: str) -> None:
    """And nothing else is: what has changed is to be tried again."""
    now = {title: set(digests) for title, digests in theorems(derivation(name)).items()}
    assert now == {title: set(digests) for title, digests in STORED["claims"][name].items()}


def test_none_is_refuted_and_all_are_counted() -> None:
    """The printed sum is that of the counts, and all of these are of the catalogue."""
    assert set(STORED["claims"]) == set(CATALOGUE)
    named = (digests for chains in STORED["claims"].values() for digests in chains.values())
    assert set(STORED["statements"]) == set(chain.from_iterable(named))
    stored = stored_table(Falsified)
    assert stored == summary(STORED["statements"].values()).model_copy(update={"version": stored.version})
    assert stored.refuted == 0


@pytest.mark.slow
def test_some_fare_as_they_did() -> None:
    """Of those that time did not stop, a few, the same each time."""
    finished = sorted(name for name, one in STORED["statements"].items() if not is_stopped(one))
    chosen = set(random.Random(SEED).sample(finished, 12))  # noqa: S311  # a sample, and no secret
    for claim, chains in STORED["claims"].items():
        if chosen & set(chain.from_iterable(chains.values())):
            every = ChainMap(*theorems(derivation(claim)).values())
            for name in sorted(chosen & set(every)):
                assert trial(every[name], 6 * SECONDS) == STORED["statements"][name], claim
            chosen -= set(every)
    assert not chosen
