"""What a campaign of wrong inputs met once, tried again; and a short campaign."""

from pathlib import Path

import pytest

from tests.faults.fuzz import Answer, Campaigns, attempt, campaign

CORPUS = sorted((Path(__file__).parent / "corpus").glob("*/*"))


@pytest.fixture(scope="module")
def campaigns(tmp_path_factory: pytest.TempPathFactory) -> Campaigns:
    """Return the kinds of input, in a folder of their own."""
    return Campaigns(tmp_path_factory.mktemp("fuzz"))


@pytest.mark.parametrize("path", CORPUS, ids=[f"{path.parent.name}-{path.name}" for path in CORPUS])
def test_what_was_met_once_is_answered(campaigns: Campaigns, path: Path) -> None:
    """An answer or one clear line, in time, and documents hold afterwards what they should."""
    _, trial = campaigns.all[path.parent.name]
    assert isinstance(attempt(trial, path.read_bytes()), Answer)


@pytest.mark.parametrize("inputs", [30, pytest.param(600, marks=pytest.mark.slow)])
def test_a_short_campaign_meets_nothing_new(tmp_path: Path, inputs: int) -> None:
    """Of every kind some inputs are answered or refused, and none is answered otherwise."""
    counts, faults = campaign(inputs, 20170612, tmp_path)
    assert faults == 0
    assert sum(counts.values()) == inputs


def test_a_fault_would_be_noticed() -> None:
    """A traceback, a wrong status, no line or two, an exception, and what takes too long."""
    good = Answer(2, "sdpa-verify: no\n")
    assert not good.wrong
    assert good._replace(status=7).wrong
    assert good._replace(status=0).wrong
    assert good._replace(err="").wrong
    assert good._replace(err=2 * good.err).wrong
    assert good._replace(err=f"Traceback (most recent call last):\n{good.err}").wrong

    def endless(_: bytes) -> str:
        while True:
            pass

    assert "ZeroDivisionError" in str(attempt(lambda _: str(1 / 0), b""))
    assert attempt(endless, b"", 0.1) == "more than 0.1 s"
