"""No derivation stands with a spoiled expression in it, and theorems fare at points as it is stored."""

import json
import random
from collections import ChainMap
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from sympy import Dummy, IndexedBase, S, Sum, Symbol, symbols

from tests.catalogue import CATALOGUE, EACH_QUICKLY_MADE, derivation
from tests.faults.falsified import SECONDS, SEED, digest, is_stopped, main, summary, theorems, trial
from tests.faults.spoiled_steps import places, spoil, survives
from tests.faults.spoiling import spoiled
from tests.symbolic.test_falsifier import Candidate
from verify.engine.catalogue import catalogue
from verify.evidence import Falsified
from verify.evidence.load import stored_table
from verify.files.names import shipped_folder
from verify.symbolic.derivation import Derivation
from verify.symbolic.kernel.equations import Identity, PutIn
from verify.symbolic.kernel.words import E
from verify.symbolic.routes import By, Route, Step
from verify.symbolic.scores import d, index, k, q

SHORT = ("score-mean", "sqrt-scaling", "scaling-exponent")
a, b, x = symbols("a b x", positive=True)


@pytest.mark.parametrize("name", SHORT)
def test_a_sample_of_spoiled_steps(name: str) -> None:
    """Two versions of each expression of a few claims; all are tried by hand, see the campaign."""
    tally = spoil(name, catalogue()[name].derive(), sample=2, seed=0, limit=20.0)
    assert tally.tried >= 6
    assert tally.survivors == []
    assert tally.slow == []


@pytest.mark.slow
@pytest.mark.parametrize("name", list(catalogue())[1::8])
def test_a_sample_of_many_claims(name: str) -> None:
    """One version of each expression of every eighth derivation; all of them, and more, by hand."""
    assert spoil(name, catalogue()[name].derive(), sample=1, seed=1, limit=20.0).survivors == []


def test_a_check_that_sees_nothing_is_found() -> None:
    """Where any step passes, every spoiled expression between start and result survives."""
    blind = By("blind", lambda *_: True)
    derivation = Derivation.of(Route.of("r", x, Step(x + a, "", blind), Step(x + b, "", blind)))
    tally = spoil("none", derivation, 100, 0, 5.0)
    whole = (x, x + a, x + b)
    every = [one for place in whole for one in spoiled(place, [other for other in whole if other != place])]
    assert len(every) > 15
    assert len(tally.survivors) == len(every)
    assert tally.tried == tally.caught + len(tally.survivors)


def test_a_check_at_a_few_sizes_is_found() -> None:
    """What is right for one and two keys only survives where no more is tried."""
    n = Symbol("n", integer=True, positive=True)
    few = By("few", lambda one, two: all((one - two).subs(n, size) == 0 for size in (1, 2)))
    route = Route.of("r", x * n, Step(n * x, "", few), defines="a lemma")
    derivation = Derivation.none("only the lemma", lemmas=(route,))
    survivors = spoil("none", derivation, 100, 0, 5.0).survivors
    assert [one.split(" | ")[2] for one in survivors] == ["another value from 6 on: n"]


def test_a_changed_start_or_result_of_a_second_route_never_survives() -> None:
    """A chain that starts or ends elsewhere than the first is none of that derivation, whatever its steps."""
    blind = By("blind", lambda *_: True)
    route = Route.of("r", x, Step(a, "", blind))
    derivation = Derivation.of(route, replace(route, title="again"))
    *_, start, end = places(derivation)
    assert not survives(derivation, start, x + 1)
    assert not survives(derivation, end, a + 1)
    assert survives(derivation, end, a)


def test_a_step_after_others_has_what_they_assume() -> None:
    """Also where it moves the whole theorem; a wrong expression there is caught."""
    chain = Route.of(
        "r",
        x**2 / (x - b),
        Step(x + b + b**2 / (x - b), "", Identity()),
        Step((x**2 - b**2) / (x - b) + b**2 / (x - b), "", Identity()),
        Step(a**4 / (a**2 - b), "", PutIn({x: a**2})),
    )
    derivation = Derivation.of(chain)
    for place in places(derivation):
        assert survives(derivation, place, place.expression)
        assert not survives(derivation, place, place.expression + 1)


@pytest.mark.parametrize(
    ("expression", "others", "expected"),
    [
        (a * b, (x,), {a, b, a**2 * b, a * b**2, -a * b, x * b, a * x}),
        (a + 1, (), {a, S.One, a - 1, -a + 1, a + 2, 101 * S.One / 100 + a, a**2 + 1}),
        (a**2, (), {a, a**3, a**4, a ** (101 * S.One / 50), a**-2}),
        (
            E(q[index] * k[index]),
            (),
            {E(q[index]), E(k[index]), E(q[index] ** 2), E(q[index] ** 2 * k[index])},
        ),
        (Sum(a, (index, 1, d)), (), {Sum(a, (index, 2, d)), Sum(a, (index, 0, d))}),
        (Symbol("n") * IndexedBase("w")[1], (), {Symbol("n") * IndexedBase("w")[2]}),
    ],
)
def test_what_is_spoiled(expression: Any, others: tuple[Any, ...], expected: set[Any]) -> None:
    """Factors and terms dropped or doubled, signs, powers, numbers and symbols, each at one place."""
    found = {one for _, one in spoiled(expression, others)}
    assert expected <= found
    assert expression not in found


def test_what_is_the_same_is_left_out() -> None:
    """A sign that a square or a mean takes out again spoils nothing."""
    product = E(q[index] * k[index])
    assert E(-q[index] * k[index]) ** 2 not in {one for _, one in spoiled(product**2, ())}
    assert E(-q[index] * k[index]) in {one for _, one in spoiled(product, ())}


STORED: dict[str, Any] = json.loads((shipped_folder("data") / "falsified.json").read_text(encoding="utf-8"))
A, B = Symbol("a", positive=True), Symbol("b", positive=True)


@EACH_QUICKLY_MADE
def test_each_theorem_is_stored(name: str) -> None:
    """And nothing else is: what has changed is to be tried again."""
    now = {title: set(found) for title, found in theorems(derivation(name)).items()}
    assert now == {title: set(found) for title, found in STORED["claims"][name].items()}


def test_none_is_refuted_and_all_are_counted() -> None:
    """The printed sum is that of the counts, and all of these are of the catalogue."""
    assert set(STORED["claims"]) == set(CATALOGUE)
    named = (found for chains in STORED["claims"].values() for found in chains.values())
    assert set(STORED["statements"]) == set(chain.from_iterable(named))
    stored = stored_table(Falsified)
    assert stored == summary(STORED["statements"].values()).model_copy(update={"version": stored.version})
    assert stored_table(Falsified).refuted == 0


@pytest.mark.slow
def test_some_fare_as_they_did() -> None:
    """Of those that time did not stop, a few, the same each time."""
    told = sorted(name for name, one in STORED["statements"].items() if not is_stopped(one))
    chosen = set(random.Random(SEED).sample(told, 12))  # noqa: S311  # a sample, and no secret
    for claim, chains in STORED["claims"].items():
        if chosen & set(chain.from_iterable(chains.values())):
            every = ChainMap(*theorems(derivation(claim)).values())
            for name in sorted(chosen & set(every)):
                assert trial(every[name], 6 * SECONDS) == STORED["statements"][name], claim
            chosen -= set(every)
    assert not chosen


def test_a_digest_is_of_the_statement_alone() -> None:
    """Not of the number of a dummy or of the order of assumptions; each side, relation and domain counts."""
    one, same = (Candidate(Dummy("u", positive=True) + A, "≤", B) for _ in range(2))
    assert digest(one) == digest(same)
    again = Candidate(A + Symbol("b", real=True, positive=True), "≤", A * B)
    others = [again, Candidate(A + B, "<", A * B), Candidate(A * B, "≤", A + B), Candidate(A + B, "≤", A * A)]
    assert digest(again) == digest(Candidate(B + A, "≤", B * A))
    assert len({*map(digest, others), digest(Candidate(A + Symbol("b", real=True), "≤", A * B))}) == 5


def test_what_is_false_is_stored_as_such(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The point is printed, and the program says that it failed."""
    found = {"a chain": {"0" * 16: Candidate(A + 1, "≤", A), "1" * 16: Candidate(A, "≤", A + 1)}}
    monkeypatch.setattr("tests.faults.falsified.catalogue", lambda: {"self-score": CATALOGUE["self-score"]})
    monkeypatch.setattr("tests.faults.falsified.theorems", lambda _: found)
    path = tmp_path / "falsified.json"
    assert main(["--write", str(path)]) == 1
    assert "FALSE self-score: a + 1 ≤ a is false at a = " in capsys.readouterr().out
    stored = json.loads(path.read_text(encoding="utf-8"))
    assert [one["refuted"] for one in stored["statements"].values()] == [1, 0]
    assert stored["summary"]["refuted"] == 1
