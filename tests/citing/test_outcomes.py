"""What a check of documents says to people, to CI and to programs; a diff that git applies."""

from __future__ import annotations

import json
import re

from tests.citing.pages import KEY, TEXT
from verify.citing import outcomes
from verify.citing.outcomes import Checked


def test_github_shows_problems_beside_their_lines(checked: Checked) -> None:
    """A command a line; what would end one is escaped."""
    lines = outcomes.FORMS["github"](checked).splitlines()
    assert len(lines) == 5
    assert lines[0].startswith(f"::error file=docs/a page.md,line=1,title=sdpa-verify stale::{KEY}: printed")
    assert lines[3].startswith("::warning file=docs/a page.md,line=3,title=sdpa-verify raw-html-line::")
    assert all(re.match(r"::(error|warning|notice) [^:]*::", line) for line in lines)


def test_gitlab_reads_a_report(checked: Checked) -> None:
    """Each problem with what its format demands, its fingerprint its own."""
    issues = json.loads(outcomes.FORMS["gitlab"](checked))
    assert [issue["severity"] for issue in issues] == ["major"] * 3 + ["minor"]
    assert len({issue["fingerprint"] for issue in issues}) == 4
    assert issues[1]["location"] == {"path": "docs/a page.md", "lines": {"begin": 2}}
    assert json.loads(outcomes.FORMS["gitlab"](Checked([], "seed 1"))) == []


def test_sarif_has_rules_places_and_fixes(checked: Checked) -> None:
    """A fix changes exactly what ``--write`` does."""
    log = json.loads(outcomes.FORMS["sarif"](checked))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert [rules[one["ruleIndex"]] for one in run["results"]] == [one["ruleId"] for one in run["results"]]
    assert [one["level"] for one in run["results"]] == ["error"] * 3 + ["warning"]
    (fixed,) = [one["fixes"][0] for one in run["results"] if "fixes" in one]
    (change,) = fixed["artifactChanges"][0]["replacements"]
    start, length = change["deletedRegion"]["charOffset"], change["deletedRegion"]["charLength"]
    made = TEXT[:start] + change["insertedContent"]["text"] + TEXT[start + length :]
    assert made == checked.documents[0].fixed()


def test_json_says_all(checked: Checked) -> None:
    """With what is printed, what is so now, and what became of it."""
    said = json.loads(outcomes.FORMS["json"](checked))
    assert said["documents"] == [{"path": "docs/a page.md", "quotations": 3}]
    stale = said["problems"][0]
    assert (stale["key"], stale["kind"], stale["printed"], stale["fixed"]) == (KEY, "stale", "7.25", False)
    assert stale["now"] in checked.documents[0].fixed()


def test_text_ends_with_what_can_be_done(checked: Checked) -> None:
    """Once written, only what is left counts."""
    assert outcomes.FORMS["text"](checked).splitlines()[-1].startswith("`sdpa-verify check-docs --write")
    after = Checked(checked.documents, "seed 1", written=True)
    assert len(after.left) == 2
    assert "1 fixed, 2 not so" in outcomes.FORMS["text"](after)
