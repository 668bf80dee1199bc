"""What a run does not depend on: workers, hashes, time zones, languages, the interpreter's optimisation."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.tool import begin, finish

UNLIKE = ("created", "elapsed_s", "phases_s", "spent_s", "environment")
"""What of a run says how and when it was made."""

WORLDS: tuple[tuple[int, dict[str, str]], ...] = (
    (1, {"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C"}),
    (2, {"PYTHONHASHSEED": "1", "TZ": "Asia/Kathmandu", "LC_ALL": "C.UTF-8"}),
    (3, {"PYTHONHASHSEED": "4294967295", "TZ": "America/St_Johns", "LC_ALL": "tr_TR.UTF-8"}),
    (2, {"PYTHONHASHSEED": "7", "PYTHONOPTIMIZE": "2", "PYTHONUTF8": "1"}),
)


def evidence(results: Path) -> dict[str, Any]:
    """Return a results file's content without what may differ."""
    content: dict[str, Any] = json.loads(results.read_text(encoding="utf-8"))
    content["run"] = {key: value for key, value in content["run"].items() if key not in UNLIKE}
    return {key: value for key, value in content.items() if key != "seal"}


def made_in(world: Mapping[str, str], workers: int, claim: Path, out: Path) -> dict[str, Any]:
    """Return the evidence of a run of three claims in a world."""
    claims = ("doubled-keys", "over-scaling", "worked-dot-products")
    options = ("--claims", claim, "--profile", "quick", "--workers", workers, "--out", out)
    ended = finish(begin("run", *claims, *options, environment=world))
    assert ended.status == 0, ended.err
    return evidence(out / "results.json")


@pytest.mark.slow
def test_the_evidence_is_the_same_in_all_worlds(tmp_path: Path, claim_file: Callable[..., Path]) -> None:
    """Claims that come with the tool and one of the user's own, to the last bit."""
    claim = claim_file()
    first, *others = (
        made_in(world, workers, claim, tmp_path / str(place)) for place, (workers, world) in enumerate(WORLDS)
    )
    assert len(first["claims"]) == 3
    for other in others:
        assert other == first
