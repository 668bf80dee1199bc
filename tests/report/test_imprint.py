"""What made a run: the command that makes it again, when, and by what."""

import hashlib

import pytest

from tests.auditing.records import good
from tests.report.builders import spaced
from tests.report.records import record
from verify.evidence import Device, Settings, Stored
from verify.evidence.provenance import creation, digest, origin
from verify.report.imprint import budget, settings
from verify.report.view import view


@pytest.mark.parametrize(
    ("chosen", "command"),
    [
        (Settings(), "sdpa-verify report --seed 20170612 --profile standard"),
        (Settings(profile="quick", tolerance=0.05), "sdpa-verify report --seed 20170612 --profile quick"),
        (
            Settings(seed=1, profile="deep", tolerance=0.01, false_alarm=1e-4, power=0.9),
            "sdpa-verify report --seed 1 --profile deep --tolerance 0.01 --false-alarm 0.0001 --power 0.9",
        ),
        (
            Settings(device=Device(name="cuda:1", model="Card", library="PyTorch 2")),
            "sdpa-verify report --seed 20170612 --profile standard --device cuda:1",
        ),
    ],
)
def test_command_repeats_the_run(chosen: Settings, command: str) -> None:
    """The colophon's command names every setting that differs from the default."""
    made = record()
    again = made.model_copy(update={"run": made.run.model_copy(update={"settings": chosen})})
    assert view(again).command == command


def test_a_device_is_among_the_settings() -> None:
    """With what it is; without one there is no word of it."""
    made = record()
    chosen = Settings(device=Device(name="cuda", model="Card", library="PyTorch 2"))
    again = made.model_copy(update={"run": made.run.model_copy(update={"settings": chosen})})
    assert dict(settings(again))["drawn on"] == "cuda (Card, PyTorch 2)"
    assert "drawn on" not in dict(settings(made))


def test_command_names_the_claims_asked_for_and_files_of_the_users_own() -> None:
    """A run of some claims, and of claims that are not in the catalogue, is repeated as such."""
    made = record()
    run = made.run.model_copy(update={"claims": ("score-mean", "my-claim"), "claim_files": 1})
    seen = view(made.model_copy(update={"run": run}))
    assert seen.command == (
        "sdpa-verify report score-mean my-claim --claims FILE --seed 20170612 --profile standard"
    )
    assert seen.claim_files == 1


def test_a_moment_is_said_in_utc() -> None:
    """Late in the evening west of Greenwich it is tomorrow; of an audit likewise."""
    run = record()
    late = run.run.model_copy(update={"created": "2026-11-20T23:30:00-02:00"})
    made = run.model_copy(update={"run": late})
    assert creation(made).isoformat() == "2026-11-21T01:30:00+00:00"
    assert origin(made) == "seed 20170612, standard profile, 2026-11-21"
    assert dict(settings(made))["made"] == "2026-11-21 01:30 UTC"
    audit = good(1, 1).model_copy(update={"created": "2026-11-20T23:30:00-02:00"})
    assert origin(audit) == "audit with a false-alarm rate of 0.1%, 2026-11-21"


def test_the_digest_of_a_run_is_that_of_its_findings() -> None:
    """Other times and another machine give the same, another claim or another order do not."""
    run = record()
    text = "\n".join(f"{claim.id} {claim.digest}" for claim in run.claims)
    assert digest(run) == hashlib.sha256(text.encode()).hexdigest()
    other = run.run.model_copy(update={"elapsed_s": 1.0, "environment": {}, "phases_s": {}})
    assert digest(run.model_copy(update={"run": other})) == digest(run)
    first = run.claims[0].model_copy(update={"digest": "0" * 64})
    for claims in ((first, *run.claims[1:]), run.claims[::-1], run.claims[:-1]):
        assert digest(run.model_copy(update={"claims": claims})) != digest(run)


def test_settings_and_times_have_names() -> None:
    """Rates as percentages, times with their units, the phases after the whole."""
    shown = {name: spaced(value) for name, value in settings(record())}
    assert shown == {
        "seed": "20170612",
        "profile": "standard",
        "tolerance": "±1%",
        "false alarms, whole run": "at most 0.1%",
        "power aimed at": "95%",
        "made": "2026-11-20 23:30 UTC",
        "time, whole run": "9.7 s",
        "time, derive": "2.1 s",
        "time, measure": "7.1 s",
    }


def test_a_place_of_the_budget_has_an_equal_share() -> None:
    """A thousandth of a thousandth; without places there is none to have."""
    run = record()
    shown = budget(run)
    assert (shown.false_alarm, shown.places, shown.share) == ("0.001", "1000", "1×10⁻⁶")
    assert (shown.checks, shown.controls, shown.spent) == ("19", "5", "1.9×10⁻⁵")
    none = run.run.budget.model_copy(update={"places": 0})
    empty = run.run.model_copy(update={"budget": none})
    assert budget(run.model_copy(update={"run": empty})).share == "0"


def test_what_came_from_the_store_is_printed() -> None:
    """Of all that the run rests on; nothing where no store was asked."""
    made = record()
    stored = Stored(derivations=1, draws=3, drawn=9)
    warm = made.model_copy(update={"run": made.run.model_copy(update={"stored": stored})})
    added = dict(settings(warm)).items() - dict(settings(made)).items()
    assert dict(added) == {
        "drawn before, from the store": "3 of 12 numbers",
        "derived before, from the store": f"1 of {len(made.claims)} derivations",
    }
    assert digest(warm) == digest(made)
