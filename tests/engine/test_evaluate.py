"""What is put on record of a claim: its derivation as examined, its evidence, and ordinary fits once."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from sympy import S

from tests.catalogue import CATALOGUE, derivation
from tests.following import with_step
from tests.report.builders import check
from verify.engine import evaluate
from verify.engine.catalogue import BuiltIn, InMemoryClaim
from verify.engine.evaluate import (
    NeedsDraws,
    Settled,
    Work,
    begin,
    derivation_record,
    draw_chunks,
    forget,
    received,
    resume,
)
from verify.engine.runner import settings
from verify.errors import ClaimError
from verify.evidence import DerivationRecord, Proof
from verify.montecarlo.blocks import Drawn, Sums
from verify.montecarlo.distributions import NORMAL
from verify.montecarlo.experiment import Experiment, Tolerance
from verify.spec.cells import score_cell
from verify.spec.checks import variances
from verify.spec.claim import Findings
from verify.spec.fitting import Coefficient, fits, linear_fits
from verify.symbolic.derivation import relation_of
from verify.symbolic.printing import latex, plain
from verify.symbolic.scores import d

NAME = "sqrt-scaling-unique"
CLAIM = CATALOGUE[NAME]


@pytest.fixture(scope="module")
def proof() -> DerivationRecord:
    """Return the record of the claim's derivation."""
    return derivation_record(CLAIM, derivation(NAME), derivation(NAME).examine())


def test_a_derivation_is_on_record_step_by_step(proof: DerivationRecord) -> None:
    """As it was examined: expressions printed, rules, checks and whether they hold."""
    derived = derivation(NAME)
    assert (proof.status, proof.result, proof.subject) == (
        Proof.PROVED, plain(derived.result), latex(derived.subject),
    )  # fmt: skip
    routes = (*derived.lemmas, *derived.routes)
    assert [route.title for route in proof.routes] == [route.title for route in routes]
    for shown, route in zip(proof.routes, routes, strict=True):
        assert shown.start_plain == plain(route.start)
        assert [(one.rule, one.latex, one.checked_by, one.reach) for one in shown.steps] == [
            (one.words, latex(one.expression), one.rule.label, "all-values") for one in route.steps
        ]
        assert (shown.subject, shown.result) == (latex(route.start), latex(route.end))
        assert latex(relation_of(route.proved())) == shown.theorem
        assert all(one.holds for one in shown.steps)


def test_a_step_that_does_not_hold_is_on_record_as_such() -> None:
    """With the state of the whole."""
    derived = derivation("variance-of-multiple")
    route = derived.routes[0]
    first, second, *rest = route.steps
    wrong = replace(route, steps=(first, replace(second, expression=second.expression + 1), *rest))
    spoiled = replace(derived, routes=(wrong, *derived.routes[1:]))
    record = derivation_record(CLAIM, spoiled, spoiled.examine())
    assert record.status is Proof.FAILED
    assert record.reason
    (shown,) = (one for one in record.routes if one.title == route.title)
    assert [one.holds for one in shown.steps][:2] == [True, False]


def test_points_have_one_ordinary_line_however_many_fits_go_through_them() -> None:
    """NumPy's through the measured estimates; of power laws there is none."""
    members = variances([score_cell(n, NORMAL, NORMAL, 0.05) for n in (1, 2, 8, 64)], "Var", 3 * d)
    of_power = Coefficient("power-misfit", "misfit", "power", "misfit", S.Zero, Tolerance())
    lines = linear_fits(members, 3 * d)
    made = Experiment((*members, *lines, *fits(members[1:], of_power), *linear_fits(members[:3], 3 * d)), ())
    rng = np.random.default_rng(1)
    found = {one.id: check(one.id, float(rng.uniform(1, 9)), 5.0, error=9.0) for one in members}
    drawn = list(evaluate._ordinary_fits(made, Findings(found, {}, {})))
    assert len(lines) > 1
    assert len(drawn) == 2
    for line, through in zip(drawn, (members, members[:3]), strict=True):
        x, y = [1.0, 2.0, 8.0, 64.0][: len(through)], [found[one.id].estimate for one in through]
        slope, intercept = np.polyfit(x, y, 1)
        assert (line.slope, line.intercept) == pytest.approx((slope, intercept), rel=1e-6)
        assert line.r_squared == pytest.approx(np.corrcoef(x, y)[0, 1] ** 2, rel=1e-6)
        assert (line.id, line.quantity) == (f"ordinary-{lines[0].id}", "Var")


WORK = Work(BuiltIn(CLAIM.chapter, NAME), settings(profile="quick"), (), "test")


def answer(work: Work, needed: NeedsDraws) -> tuple[Sums, ...]:
    """Return the sums of all that is needed, drawn chunk by chunk."""
    found = []
    for cell in needed.cells:
        so_far = Drawn()
        for chunk in Drawn().missing(work.claim.id, work.settings.seed, cell.batches, cell.chunk_batches):
            (sums,) = draw_chunks(work, [(cell, chunk)]).sums
            so_far = so_far.then(chunk, sums, cell.chunk_batches)
        found.append(so_far.total)
    return tuple(found)


@pytest.fixture(scope="module")
def settled() -> tuple[Settled, list[Sequence[Sums]]]:
    """Return the claim settled, and all answers that it took."""
    answers: list[Sequence[Sums]] = []
    step = begin(WORK, "", ())
    while isinstance(step, NeedsDraws):
        answers.append(answer(WORK, step))
        step = resume(WORK, answers[-1])
    return step, answers


@pytest.mark.parametrize("known", [0, 1, None])
def test_an_evaluation_begun_again_goes_the_same_way(
    settled: tuple[Settled, list[Sequence[Sums]]], known: int | None
) -> None:
    """With or without the proof and the answers that another process had."""
    end, answers = settled
    step = begin(WORK, end.proof if known else "", answers[:known])
    for one in answers[len(answers[:known]) :]:
        assert isinstance(step, NeedsDraws)
        assert all(
            sums.count == cell.batches * cell.batch_blocks for cell, sums in zip(step.cells, one, strict=True)
        )
        step = resume(WORK, one)
    assert isinstance(step, Settled)
    assert step.record == end.record
    assert WORK.key not in evaluate._EVALUATIONS


def test_a_cell_is_drawn_alike_from_its_pickle_and_where_its_claim_is_evaluated() -> None:
    """Where it cannot be pickled, only there."""
    first = begin(WORK, "", ())
    assert isinstance(first, NeedsDraws)
    cell = first.cells[0]
    (chunk, *_) = Drawn().missing(NAME, WORK.settings.seed, cell.batches, cell.chunk_batches)
    assert cell.pickled
    assert any(module.startswith("verify.montecarlo") for module in cell.modules)
    one = draw_chunks(WORK, [(cell, chunk)]).sums[0]
    other = draw_chunks(WORK, [(replace(cell, pickled=b""), chunk)]).sums[0]
    assert one.first.tobytes() == other.first.tobytes()
    forget(WORK)
    assert WORK.key not in evaluate._EVALUATIONS


def test_a_failed_derivation_is_all_that_is_on_record() -> None:
    """Nothing is drawn for it."""

    def derive() -> object:
        right = CLAIM.derive()
        return replace(right, routes=tuple(with_step(one, -1, expression=d) for one in right.routes))

    work = replace(WORK, claim=InMemoryClaim(replace(CLAIM, derive=derive)))  # type: ignore[arg-type]  # that will do
    end = begin(work, "", ())
    assert isinstance(end, Settled)
    record = received(work, end)
    assert record.derivation.status is Proof.FAILED
    assert (record.checks, record.controls) == ((), ())


def test_what_is_no_evidence_is_refused(settled: tuple[Settled, list[Sequence[Sums]]]) -> None:
    """In one line with the claim's id."""
    end, _ = settled
    with pytest.raises(ClaimError) as caught:
        received(WORK, replace(end, record="{}"))
    assert str(caught.value).startswith(f"claim {NAME}: its evidence is malformed: ")
