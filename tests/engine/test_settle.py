"""Settling a claim in stretches: each goes as far as the sums at hand reach, whoever draws them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.following import with_step
from verify.engine.catalogue import BuiltIn, Made, catalogue
from verify.engine.runner import settings
from verify.engine.settle import Awaiting, CellToDraw, Settled, Work, advance, draw_chunks, received
from verify.errors import ClaimError
from verify.evidence import Proof
from verify.montecarlo.blocks import Drawn
from verify.symbolic.scores import d

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verify.montecarlo.blocks import Sums

NAME = "sqrt-scaling-unique"
CLAIM = catalogue()[NAME]
WORK = Work(BuiltIn(CLAIM.chapter, NAME), settings(profile="quick"), (), "test")


def drawn(work: Work, awaited: Awaiting) -> tuple[Sums, ...]:
    """Return the sums of all that is awaited, drawn chunk by chunk."""
    found = []
    for cell in awaited.cells:
        so_far = Drawn()
        for chunk in Drawn().missing(work.claim.id, work.settings.seed, cell.batches, cell.chunk_batches):
            (sums,) = draw_chunks(work, [(cell, chunk)]).sums
            so_far = so_far.then(chunk, sums, cell.chunk_batches)
        found.append(so_far.total)
    return tuple(found)


def settled(work: Work) -> tuple[Settled, list[Sequence[Sums]]]:
    """Return the evidence of a claim, and all answers that it took."""
    answers: list[Sequence[Sums]] = []
    proof = ""
    while isinstance(step := advance(work, proof, answers), Awaiting):
        answers.append(drawn(work, step))
        proof = step.proof
    return step, answers


@pytest.fixture(scope="module")
def alone() -> tuple[Settled, list[Sequence[Sums]]]:
    """Return the claim settled."""
    return settled(WORK)


def test_stretches_end_in_evidence(alone: tuple[Settled, list[Sequence[Sums]]]) -> None:
    """Its verdict, its proof, and a digest that fits."""
    end, answers = alone
    record = received(WORK.claim, end)
    assert (record.id, record.verdict, record.derivation.status) == (NAME, "confirmed", Proof.PROVED)
    assert record.sealed() == record
    assert len(answers) > 0
    assert json.loads(end.proof) == record.derivation.model_dump(mode="json")


def test_nothing_is_remembered_between_stretches(alone: tuple[Settled, list[Sequence[Sums]]]) -> None:
    """With the same answers, and with or without the proof at hand, the same evidence is given."""
    end, answers = alone
    for proof in ("", end.proof):
        again = advance(WORK, proof, answers)
        assert isinstance(again, Settled)
        assert again.record == end.record


def test_what_is_awaited_depends_on_the_answers_so_far(
    alone: tuple[Settled, list[Sequence[Sums]]],
) -> None:
    """Whole batches, in cells that any process can have; asked again, the same."""
    _, answers = alone
    first, again = advance(WORK, "", ()), advance(WORK, "", ())
    assert isinstance(first, Awaiting)
    assert isinstance(again, Awaiting)
    assert first.cells == again.cells
    assert len(first.cells) == len(answers[0])
    for cell, sums in zip(first.cells, answers[0], strict=True):
        assert isinstance(cell, CellToDraw)
        assert sums.count == cell.batches * cell.batch_blocks


def test_a_cell_is_drawn_alike_from_its_pickle_and_from_its_claim() -> None:
    """Where it is no pickle, the claim's own code is asked for it."""
    first = advance(WORK, "", ())
    assert isinstance(first, Awaiting)
    cell = first.cells[0]
    (chunk, *_) = Drawn().missing(NAME, WORK.settings.seed, cell.batches, cell.chunk_batches)
    assert cell.pickled
    assert any(module.startswith("verify.montecarlo") for module in cell.modules)
    one = draw_chunks(WORK, [(cell, chunk)]).sums[0]
    other = draw_chunks(WORK, [(replace(cell, pickled=b""), chunk)]).sums[0]
    assert one.first.tobytes() == other.first.tobytes()


def test_a_failed_derivation_is_all_that_is_on_record() -> None:
    """Nothing is drawn for it."""

    def derive() -> object:
        right = CLAIM.derive()
        return replace(right, routes=tuple(with_step(one, -1, expression=d) for one in right.routes))

    work = replace(WORK, claim=Made(replace(CLAIM, derive=derive)))  # type: ignore[arg-type]  # that will do
    end = advance(work, "", ())
    assert isinstance(end, Settled)
    record = received(work.claim, end)
    assert record.derivation.status is Proof.FAILED
    assert (record.checks, record.controls) == ((), ())


def test_what_is_no_evidence_is_refused(alone: tuple[Settled, list[Sequence[Sums]]]) -> None:
    """In one line with the claim's id."""
    end, _ = alone
    with pytest.raises(ClaimError) as caught:
        received(WORK.claim, replace(end, record="{}"))
    assert str(caught.value).startswith(f"claim {NAME}: its evidence is malformed: ")
