"""Runs: settings and devices, progress in order, a record complete."""

from collections.abc import Callable
from pathlib import Path

import pytest

from verify.engine import runner
from verify.engine.catalogue import catalogue, catalogue_with, choose
from verify.engine.preparing import device_errors
from verify.engine.sources import read_sources
from verify.engine.store import Store
from verify.errors import ClaimError, SettingsError
from verify.evidence import ClaimRecord, RunRecord, Verdict
from verify.montecarlo.devices import GENERATOR, DeviceError
from verify.version import __version__

Write = Callable[..., Path]


@pytest.mark.parametrize("value", [0.0, 1.0, float("nan")])
@pytest.mark.parametrize("name", ["tolerance", "false_alarm", "power"])
def test_rates_lie_between_0_and_1(name: str, value: float) -> None:
    """Both ends are excluded, and so is what is not a number; the option is named as it is typed."""
    with pytest.raises(SettingsError, match=f"--{name.replace('_', '-')} .*: must lie between 0 and 1"):
        runner.settings(**{name: value})  # type: ignore[arg-type]  # one of the rates


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_progress_is_reported(workers: int) -> None:
    """Each claim is handed over, in whatever order two processes finish."""
    seen: list[str] = []
    callbacks = runner.Callbacks(on_finish=lambda record: seen.append(f"{record.id} {record.verdict}"))
    names = ["worked-dot-products", "sqrt-scaling-unique", "variance-of-multiple"]
    claims = choose(catalogue(), names)
    settings = runner.settings(profile="quick")
    run = runner.run(claims, settings, read_sources(), workers=workers, callbacks=callbacks)
    assert sorted(seen) == sorted(f"{name} confirmed" for name in names)
    assert [record.id for record in run.claims] == list(claims)


@pytest.mark.slow
def test_a_broken_claim_ends_the_run(claim_file: Write) -> None:
    """What a process of its own finds wrong with a claim file arrives as the same one line."""
    path = claim_file(("Chain(Var(2 * score))", "Chain(1 / 0)"))
    claims = choose(catalogue_with([path]), ["doubled-keys", "worked-dot-products"])
    found = r"doubled-keys: line \d+, in derive: ZeroDivisionError: .*; correct .*doubled_keys\.py"
    with pytest.raises(ClaimError, match=found):
        runner.run(claims, runner.settings(profile="quick"), read_sources(), workers=1)


def test_the_budget_is_spent_by_what_is_drawn(quick: RunRecord) -> None:
    """Exact comparisons cannot raise a false alarm; controls are not charged."""
    budget = quick.run.budget
    drawn = [check for claim in quick.claims for check in claim.checks if check.method != "exact"]
    assert quick.measured_checks == len(drawn) < budget.places
    assert quick.spent == pytest.approx(budget.false_alarm * len(drawn) / budget.places)
    assert quick.spent <= budget.false_alarm == quick.run.settings.false_alarm


def test_the_record_says_how_it_was_made(quick: RunRecord) -> None:
    """Versions, workers and times are there, of the whole and of each claim."""
    run = quick.run
    assert quick.tool.version == __version__
    assert {"python", "system", "processors", "workers", "numpy", "scipy", "sympy"} <= set(run.environment)
    assert run.environment["workers"] == ("2" if len(quick.claims) > 30 else "1")
    assert run.phases_s == {"verification": run.elapsed_s}
    assert list(run.spent_s) == [claim.id for claim in quick.claims]
    assert all(set(spent) == {"derivation", "simulation"} for spent in run.spent_s.values())
    assert run.created.endswith("+00:00")


def test_unweighted_fits_are_named_as_such(quick: RunRecord) -> None:
    """They are description, never evidence: one for each set of points, besides the checks."""
    variance = _claim(quick, "score-variance")
    assert [fit.id for fit in variance.fits] == ["ordinary-slope"]
    assert variance.fits[0].r_squared > 0.99
    assert all(fit.id.startswith("ordinary") for claim in quick.claims for fit in claim.fits)


def _claim(run: RunRecord, name: str) -> ClaimRecord:
    return next(claim for claim in run.claims if claim.id == name)


def test_a_device_is_looked_for_before_anything_is_drawn() -> None:
    """It is on record with what it is."""
    pytest.importorskip("torch")
    device = runner.settings(device="cpu").device
    assert device is not None
    assert str(device).startswith("cpu (the processor, PyTorch ")
    assert runner.settings().device is None


def test_what_is_wrong_with_a_device_is_no_mistake_in_a_claim() -> None:
    """The line names the option."""
    with pytest.raises(SettingsError, match=r"^--device cuda: fails; leave --device out$"), device_errors():
        raise DeviceError("cuda: fails; leave --device out")


@pytest.mark.slow
def test_on_a_device_claims_are_confirmed_and_their_wrong_versions_refuted(tmp_path: Path) -> None:
    """By the code of a card, on the processor: with other digits, named, and the same by two processes."""
    pytest.importorskip("torch")
    chosen = choose(catalogue(), ["row-variance", "low-precision-sums"])
    settings = runner.settings(profile="quick", device="cpu")
    with Store(tmp_path / "store.sqlite") as store:
        found = runner.run(chosen, settings, read_sources(), workers=2, store=store)
        again = runner.run(chosen, settings, read_sources(), workers=1, store=store)
    plain = runner.run(chosen, runner.settings(profile="quick"), read_sources(), workers=1)
    assert found.exit_status == 0
    assert all(control.verdict is Verdict.REFUTED for one in found.claims for control in one.controls)
    digests = [[claim.digest for claim in one.claims] for one in (found, again, plain)]
    assert digests[0] == digests[1]
    assert again.run.stored is not None
    assert again.run.stored.drawn == 0
    # What a program computes is drawn as without a device.
    there = {one.id: any(GENERATOR in check.cell for check in one.checks) for one in found.claims}
    assert there == {"row-variance": True, "low-precision-sums": False}
    same = dict(zip(there, map(str.__eq__, digests[0], digests[2]), strict=True))
    assert same == {"row-variance": False, "low-precision-sums": True}
    assert RunRecord.model_validate_json(found.to_json()) == found
