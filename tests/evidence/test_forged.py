"""Records changed and sealed again: what contradicts its own numbers is refused, with the place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from verify.errors import ResultsError
from verify.evidence import RunRecord, digest_of
from verify.evidence.load import load, shipped

if TYPE_CHECKING:
    Change = Callable[[dict[str, Any]], None]


@pytest.fixture(scope="module")
def honest() -> dict[str, Any]:
    """Return a few claims of the reference as a file has them."""
    record = shipped()
    names = {"score-variance", "softmax-saturation", "worked-dot-products", "gradient-through-layers"}
    claims = tuple(one for one in record.claims if one.id in names)
    statements = tuple(one for one in record.statements if {part.claim for part in one.parts} <= names)
    checks = sum(one.measured_checks for one in claims)
    budget = record.run.budget.model_copy(
        update={
            "checks": checks,
            "controls": sum(len(one.controls) for one in claims),
            "spent": record.run.budget.false_alarm * checks / record.run.budget.places,
        }
    )
    run = record.run.model_copy(update={"budget": budget})
    changed = {"claims": claims, "statements": statements, "run": run}
    return record.model_copy(update=changed).model_dump(mode="json", by_alias=True)


def sealed_again(content: dict[str, Any], change: Change, path: Path) -> Path:
    """Write a changed copy whose digests and seal fit, as a forger would."""
    record = RunRecord.model_validate(content).model_dump(mode="json", by_alias=True)
    change(record)
    forged = RunRecord.model_validate(record)
    claims = tuple(one.model_copy(update={"digest": digest_of(one)}) for one in forged.claims)
    path.write_text(forged.model_copy(update={"claims": claims}).sealed().to_json(), encoding="utf-8")
    return path


def _set(*place: str | int, to: Any) -> Change:
    def change(record: dict[str, Any]) -> None:
        inside: Any = record
        for step in place[:-1]:
            inside = inside[step]
        inside[place[-1]] = to

    return change


def _control_stands(record: dict[str, Any]) -> None:
    for control in record["claims"][0]["controls"]:
        control["verdict"] = "confirmed"


def _no_reason(record: dict[str, Any]) -> None:
    record["claims"][0]["checks"][0] |= {"verdict": "undecided", "reason": ""}


def _five_times(record: dict[str, Any]) -> None:
    check = record["claims"][0]["checks"][0]
    for name in ("prediction", "estimate", "standard_error"):
        check[name] *= 5
    for name in ("interval", "band"):
        check[name] = [5 * end for end in check[name]]


FORGED: dict[str, tuple[Change, str]] = {
    "check refuted, claim confirmed": (
        _set("claims", 0, "checks", 0, "verdict", to="refuted"),
        "check variance-d1: its verdict is refuted, its interval makes it confirmed",
    ),
    "undecided without a reason": (_no_reason, "check variance-d1: its verdict is undecided"),
    "all controls confirmed": (_control_stands, "control d-squared: its verdict is confirmed"),
    "no checks": (_set("claims", 0, "checks", to=[]), "its derivation is bound to other checks"),
    "no controls": (_set("claims", 0, "controls", to=[]), "its checks and controls make it undecided"),
    "vast interval": (
        _set("claims", 0, "checks", 0, "interval", to=[-1e308, 1e308]),
        "its interval makes it undecided",
    ),
    "wide tolerance": (
        _set("claims", 0, "checks", 0, "tolerance", to=0.99),
        "its band is not its prediction",
    ),
    "wide band": (_set("claims", 0, "checks", 0, "band", to=[0.01, 1.99]), "its band is not its prediction"),
    "another level": (_set("claims", 0, "checks", 0, "level", to=0.5), "its level is not that of look 2"),
    "all numbers but the formula": (_five_times, "its prediction is not the value of its formula"),
    "no draws": (_set("claims", 0, "checks", 0, "blocks", to=0), "with 0 blocks in 2 looks"),
    "fewer draws than blocks": (_set("claims", 0, "checks", 0, "draws", to=1), "blocks in 2 looks"),
    "a control's draws": (_set("claims", 0, "controls", 0, "draws", to=1), "it has more blocks than draws"),
    "vast error": (
        _set("claims", 0, "checks", 0, "standard_error", to=1e308),
        "its standard error is larger than its interval",
    ),
    "called proved": (_set("claims", 3, "derivation", "status", to="proved"), "called proved"),
    "called reviewed": (_set("claims", 0, "derivation", "status", to="reviewed"), "called reviewed"),
    "called not claimed": (_set("claims", 0, "derivation", "status", to="not-claimed"), "called not-claimed"),
    "a step does not hold": (
        _set("claims", 0, "derivation", "routes", 0, "steps", 0, "holds", to=False),
        "its steps say otherwise",
    ),
    "not bound": (_set("claims", 0, "derivation", "bound", to=[]), "its derivation is bound to other checks"),
    "claim refuted": (_set("claims", 0, "verdict", to="refuted"), "its verdict is refuted"),
    "another reason": (_set("claims", 0, "reason", to="by decree"), "its reason is not that of its verdict"),
    "larger tolerance of the run": (_set("run", "settings", "false_alarm", to=0.01), "its level is not"),
    "a claim left out": (_set("run", "claims", to=["score-mean"]), "claim score-mean was asked for, and is"),
    "budget": (_set("run", "budget", "spent", to=0.0), "its error budget is not that of its checks"),
    "another figure": (
        _set("claims", 0, "facts", 2, "value", to=2.001),
        "fact exact-variance-d2: its value is not that of its formula",
    ),
    "another rounded figure": (
        _set("claims", 2, "facts", 0, "value", to=0.668649),
        "fact one-dimension: its value is not that of its formula",
    ),
    "statement wrong": (_set("statements", 0, "outcome", to="wrong"), "statement v1: its outcome is wrong"),
    "part open": (_set("statements", 0, "parts", 0, "holds", to=None), "statement v1: part 1"),
}


def test_an_honest_record_is_read(honest: dict[str, Any], tmp_path: Path) -> None:
    """Sealed again without a change it loads."""
    path = sealed_again(honest, lambda _: None, tmp_path / "results.json")
    assert len(load(path).claims) == 4


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_record_is_refused(honest: dict[str, Any], tmp_path: Path, name: str) -> None:
    """In one line that names the place."""
    change, message = FORGED[name]
    path = sealed_again(honest, change, tmp_path / "results.json")
    with pytest.raises(ResultsError) as raised:
        load(path)
    text = str(raised.value)
    assert message in text
    assert text.startswith(f"{path}: ")
    assert "\n" not in text
