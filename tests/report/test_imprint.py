"""What made a run: the command that makes it again, when, and by what."""

import pytest

from tests.report.records import record
from verify.evidence import Settings
from verify.report.view import view


@pytest.mark.parametrize(
    ("settings", "command"),
    [
        (Settings(), "sdpa-verify report --seed 20170612 --profile standard"),
        (Settings(profile="quick", tolerance=0.05), "sdpa-verify report --seed 20170612 --profile quick"),
        (
            Settings(seed=1, profile="deep", tolerance=0.01, false_alarm=1e-4, power=0.9),
            "sdpa-verify report --seed 1 --profile deep --tolerance 0.01 --false-alarm 0.0001 --power 0.9",
        ),
    ],
)
def test_command_repeats_the_run(settings: Settings, command: str) -> None:
    """The colophon's command names every setting that differs from the default."""
    made = record()
    again = made.model_copy(update={"run": made.run.model_copy(update={"settings": settings})})
    assert view(again).command == command


def test_command_names_the_claims_asked_for_and_files_of_the_users_own() -> None:
    """A run of some claims, and of claims that are not in the catalogue, is repeated as such."""
    made = record()
    run = made.run.model_copy(update={"claims": ("score-mean", "my-claim"), "claim_files": 1})
    seen = view(made.model_copy(update={"run": run}))
    assert seen.command == (
        "sdpa-verify report score-mean my-claim --claims FILE --seed 20170612 --profile standard"
    )
    assert seen.claim_files == 1
