"""What a campaign of wrong inputs found once, tried again; and a short campaign."""

from pathlib import Path

import pytest

from tests.faults.fuzz import Campaigns, campaign, table
from tests.faults.mistakes import Answer, attempt

CORPUS = sorted(path for path in (Path(__file__).parent / "corpus").glob("*/*"))
LARGE = "ten-thousand-heads"


@pytest.fixture(scope="module")
def campaigns(tmp_path_factory: pytest.TempPathFactory) -> Campaigns:
    """Return the campaigns, in a folder of their own."""
    return Campaigns(tmp_path_factory.mktemp("fuzz"))


@pytest.mark.parametrize(
    "path",
    [pytest.param(one, marks=[pytest.mark.slow] * (one.name == LARGE)) for one in CORPUS],
    ids=[f"{one.parent.name}-{one.name}" for one in CORPUS],
)
def test_what_was_found_once_is_answered(campaigns: Campaigns, path: Path) -> None:
    """An answer or one clear line, in time, and documents hold afterwards what they should."""
    _, trial = campaigns.all[path.parent.name]
    assert not attempt(trial, path.read_bytes())


def test_every_campaign_has_a_corpus(campaigns: Campaigns) -> None:
    """And the other way round."""
    assert {path.parent.name for path in CORPUS} == set(campaigns.all)


@pytest.mark.parametrize("inputs", [35, pytest.param(700, marks=pytest.mark.slow)])
def test_a_short_campaign_finds_nothing(tmp_path: Path, inputs: int) -> None:
    """Of every kind some inputs are answered or refused, and none is answered otherwise."""
    counts, faults = campaign(inputs, 20170612, tmp_path)
    assert not faults, table(counts, faults)
    assert sum(counts.values()) == inputs


def test_a_fault_would_be_noticed() -> None:
    """A traceback, a wrong status, no line or two, a control character, and what takes too long."""
    good = Answer(2, "", "sdpa-verify: no\n")
    assert not good.wrong()
    assert good._replace(status=7).wrong()
    assert good._replace(status=0).wrong()
    assert good._replace(err="").wrong()
    assert good._replace(err="sdpa-verify: no\nsdpa-verify: no\n").wrong()
    assert good._replace(err="Traceback (most recent call last):\nsdpa-verify: no\n").wrong()
    assert good._replace(out="\x1b[2J").wrong()

    def endless(_: bytes) -> str:
        while True:
            pass

    assert "ZeroDivisionError" in attempt(lambda _: str(1 / 0), b"")
    assert attempt(endless, b"", 0.1) == "more than 0.1 s"
