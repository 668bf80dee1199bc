"""The options that commands share: what they are where nothing is given, and what reaches the command."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from verify import api
from verify.cli.options import PROFILES, edition_option, plan_options, run_options
from verify.evidence import PROFILES as KNOWN
from verify.evidence import Settings
from verify.files.names import EDITIONS

Options = Callable[[Callable[..., None]], Callable[..., None]]


def made(options: Options, found: dict[str, Any]) -> click.Command:
    """Return a command with these options, which keeps what it is called with."""

    def command(**given: Any) -> None:
        found.update(given)

    return click.command()(options(command))


def given(options: Options, *arguments: str) -> dict[str, Any]:
    """Return what a command with these options is called with."""
    found: dict[str, Any] = {}
    ended = CliRunner().invoke(made(options, found), arguments)
    assert ended.exit_code == 0, ended.output
    return found


def test_defaults_are_those_of_the_record_and_of_python() -> None:
    """A default that is written here again agrees with the one that counts."""
    found = given(plan_options)
    usual = Settings()
    for name in ("seed", "profile", "false_alarm", "power"):
        assert found[name] == getattr(usual, name)
    assert (found["claims"], found["claim_files"], found["tolerance"]) == ((), (), None)
    parameters = inspect.signature(api.run).parameters
    for name in found.keys() & parameters.keys() - {"claims"}:
        assert parameters[name].default == found[name], name


def test_profiles_are_the_known_ones_with_their_tolerances() -> None:
    """In the order of their tolerances, which the help names."""
    assert tuple(KNOWN) == PROFILES
    text = CliRunner().invoke(made(plan_options, {}), ["--help"])
    said = " ".join(text.output.split())
    assert "|".join(KNOWN) in said
    first, second, third = (f"{100 * one:g}%" for one in KNOWN.values())
    assert f"{first}, {second} or {third}" in said


def test_claims_come_as_they_are_given() -> None:
    """Several ids and several files, as paths, in their order."""
    found = given(plan_options, "b", "a", "--claims", "x.py", "--claims", "y.py", "--seed", "-3")
    assert found["claims"] == ("b", "a")
    assert found["claim_files"] == (Path("x.py"), Path("y.py"))
    assert found["seed"] == -3


def test_a_run_has_all_that_a_plan_has() -> None:
    """And where it goes, by how many, for which statements."""
    plan, run = given(plan_options), given(run_options)
    assert plan.items() <= run.items()
    own = {"workers": None, "sources": None, "out": Path("reports")}
    assert own.items() <= run.items()
    assert not own.keys() & plan.keys()
    assert given(run_options, "--sources", "-", "--out", "here")["sources"] == Path("-")


def test_an_edition_is_one_of_those_that_there_are() -> None:
    """The first where nobody says."""
    assert given(edition_option) == {"edition": EDITIONS[0]}
    for edition in EDITIONS:
        assert given(edition_option, "--edition", edition) == {"edition": edition}
    with pytest.raises(AssertionError, match="Invalid value for '--edition'"):
        given(edition_option, "--edition", "other")
