"""The files for CI systems: they are read as such, and call commands and options that are there."""

from __future__ import annotations

import re
from typing import Any

import yaml

from tests.tool import ROOT
from verify.citing import outcomes
from verify.cli.main import cli


def calls(text: str) -> list[tuple[str, set[str]]]:
    """Return the tool's calls in a script, each with its options."""
    return [
        (match[1], set(re.findall(r"(--[a-z-]+)", match[2])))
        for match in re.finditer(r"sdpa-verify ([a-z-]+)([^\n]*)", text)
    ]


def assert_known(text: str) -> None:
    """Assert that a script calls the tool, by commands and options that it has."""
    assert calls(text)
    for command, options in calls(text):
        assert options <= {name for one in cli.commands[command].params for name in one.opts}


def test_the_action_of_github_is_complete() -> None:
    """Every input that it uses is declared, none goes into a script unquoted, and its form is one of ours."""
    action: dict[str, Any] = yaml.safe_load(
        (ROOT / ".github/actions/check-docs/action.yml").read_text("utf-8")
    )
    steps = action["runs"]["steps"]
    scripts = [step["run"] for step in steps if "run" in step]
    assert_known(scripts[-1])
    assert not any("${{" in script for script in scripts)
    used = {name for step in steps for value in step.get("env", {}).values() for name in inputs(value)}
    assert used == set(action["inputs"])
    assert action["inputs"]["format"]["default"] in outcomes.FORMS


def inputs(value: str) -> list[str]:
    """Return the inputs that a value of the environment takes."""
    return re.findall(r"\$\{\{ inputs\.(\w+) \}\}", value)


def test_the_template_of_gitlab_makes_the_report_that_it_names() -> None:
    """As a report of code quality, whether or not the check fails."""
    (job,) = yaml.safe_load((ROOT / ".gitlab/check-docs.yml").read_text("utf-8")).values()
    script = "\n".join(job["script"])
    assert_known(script)
    assert "--format gitlab" in script
    assert script.endswith(f"> {job['artifacts']['reports']['codequality']}")
    assert job["artifacts"]["when"] == "always"
