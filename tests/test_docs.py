"""README.md, CONTRIBUTING.md and docs/ keep their word: commands, examples, files and versions."""

import ast
import json
import math
import re
import runpy
import tomllib
from fractions import Fraction
from inspect import ismodule
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
import yaml
from matplotlib import pyplot as plt

import verify
from tests.tool import EXAMPLE, ROOT, blocks, examples, page
from verify import spec
from verify.citing.documents import FORMS, check
from verify.citing.languages import LANGUAGES
from verify.cli.main import cli
from verify.evidence import Outcome
from verify.evidence.load import shipped
from verify.version import __version__

PAGE = "".join(map(page, ("CONTRIBUTING.md", "docs/architecture.md", "docs/method.md", "docs/extending.md")))
CLAIMS = (EXAMPLE, "key_lengths.py", "one_pass.py")
DISTRIBUTION = "triangular.py"


def test_every_example_is_tested() -> None:
    """Each of its Python blocks is one of those that the tests below run."""
    assert set(examples()) == {*CLAIMS, DISTRIBUTION}
    assert len(examples()) == PAGE.count("```python\n")


@pytest.mark.slow
def test_the_notebook_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each cell after those before it, and what a cell ends with is shown as a notebook would."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    shown: dict[str, Any] = {}
    for cell in json.loads(page("docs/first-run.ipynb"))["cells"]:
        if cell["cell_type"] == "code":
            *body, last = ast.parse("".join(cell["source"])).body
            ends = isinstance(last, ast.Expr)
            exec(compile(ast.Module(body if ends else [*body, last], []), cell["id"], "exec"), names)  # noqa: S102
            if isinstance(last, ast.Expr):
                shown[cell["id"]] = eval(compile(ast.Expression(last.value), cell["id"], "eval"), names)  # noqa: S307
    assert "confirmed=1" in repr(shown["run"])
    assert shown["claim"].plot(ax=names["axes"]).get_xlabel()
    assert all(low <= predicted <= high for _, predicted, low, high in shown["frames"])
    assert re.fullmatch(r"the slope is [01]\.\d{3}, 95% interval \[0\.9.*,\s1\.0.*\]", shown["values"])
    assert "derived" in str(names["answer"]).lower()
    assert shown["status"] == 0
    plt.close("all")


@pytest.mark.slow
def test_the_claims_are_derived_and_confirmed(tmp_path: Path) -> None:
    """Their ids follow from their files; each was drawn, and each of its negative controls rejected."""
    paths = [tmp_path / name for name in CLAIMS]
    for path in paths:
        path.write_text(examples()[path.name], encoding="utf-8")
    record = verify.run(paths, profile="quick", workers=2)
    assert sorted(claim.id for claim in record.claims) == ["doubled-keys", "key-lengths", "one-pass"]
    for claim in record.claims:
        assert (claim.verdict, claim.derivation.status) == ("confirmed", "derived")
        assert claim.measured_checks == len(claim.checks) >= 2
        assert claim.controls
        assert {control.verdict for control in claim.controls} == {"refuted"}


@pytest.mark.slow
def test_the_page_from_a_question_to_a_claim_asks_one_thing(tmp_path: Path) -> None:
    """Its claim file derives and measures what its question asks, at the same dimensions."""
    (text,) = blocks("python", "docs/asking.md")
    path = tmp_path / "laplace_scores.py"
    path.write_text(text, encoding="utf-8")
    (claim,) = verify.run([path], profile="quick", workers=1).claims
    (asked,) = re.findall(r'ask "(.*?)" --law (\w+) --dimensions ([\d,]+)', page("docs/asking.md"))
    dimensions = [int(size) for size in asked[2].split(",")]
    answer = verify.ask(asked[0], law=asked[1], dimensions=dimensions, tolerance=0.05, workers=1)
    assert (claim.verdict, claim.derivation.result, answer.exit_status) == ("confirmed", "d_k", 0)
    assert [check.cell["d_k"] for check in claim.checks if check.method == "monte-carlo"] == dimensions


def test_the_distribution_keeps_its_stated_moments(tmp_path: Path) -> None:
    """Half a million draws have the moments that it states, to six standard errors."""
    path = tmp_path / DISTRIBUTION
    path.write_text(examples()[DISTRIBUTION], encoding="utf-8")
    distribution = runpy.run_path(str(path))["TRIANGULAR"]
    assert distribution.central_moments(4) == (1, 0, 1, 0, Fraction(12, 5))
    drawn = distribution.draw(np.random.default_rng(1), (1 << 19,))
    for order, stated in enumerate(distribution.base_moments):
        powers = drawn**order
        assert abs(powers.mean() - float(stated)) <= 6 * powers.std() / math.sqrt(drawn.size)


def test_every_file_named_is_there() -> None:
    """A walk-through that follows the data must not lead into nothing, and it leaves no package out."""
    named = set(re.findall(r"`((?:verify|templates|tests|data|docs|\.ci)/[\w./]*)`", PAGE))
    assert [path for path in named if not (ROOT / path).exists()] == []
    packages = {str(path.parent.relative_to(ROOT)) for path in (ROOT / "verify").glob("*/__init__.py")}
    assert set(re.findall(r"^\| `(\w+/\w+)` \|", page("docs/architecture.md"), re.MULTILINE)) == packages
    alone = re.findall(r"`([\w/]+\.py)`", page("docs/architecture.md"))
    assert {path for path in alone if path not in named} == set()


def test_every_table_named_is_there() -> None:
    """Where an entry is to be added, a file has the table or the function of this name."""
    named = re.findall(r"`(\w+)` in `([\w/]+\.py)`", page("docs/extending.md"))
    assert len(named) >= 8
    for name, path in named:
        assert re.search(rf"^(def )?{name}\b", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE), name


def test_every_program_named_is_there() -> None:
    """Studies, benchmarks and campaigns are started as modules."""
    named = set(re.findall(r"`python -m (tests\.[\w.]+)", PAGE))
    paths = [
        path for kind in ("benchmarks", "calibration", "faults") for path in ROOT.glob(f"tests/{kind}/*.py")
    ]
    mains = [path for path in paths if '__name__ == "__main__"' in path.read_text(encoding="utf-8")]
    assert named == {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in mains}


def test_every_layer_is_named_in_order() -> None:
    """What it says of imports is what import-linter holds."""
    settings = tomllib.loads(page("pyproject.toml"))["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in settings if contract["type"] == "layers")
    rooms = [room for layer in layers for room in layer.split(" | ")]
    said = PAGE.partition("From the top:")[2].partition(". ")[0]
    assert re.findall(r"`(\w+)`", said) == [room for room in rooms if room != "__main__"]


def test_every_name_of_the_language_is_explained() -> None:
    """What `verify.spec` has is in its list, and what the section on claims calls is in `verify.spec`."""
    public = {name: value for name, value in vars(spec).items() if not name.startswith("_")}
    names = {name for name, value in public.items() if not ismodule(value)}
    explained = set(re.findall(r"\w+", str(spec.__doc__)))
    assert {name for name in names - explained if not re.search("mu|sigma|kappa|gamma", name)} == set()
    part = PAGE[PAGE.index("## Add a claim") : PAGE.index("## Add a distribution")]
    called = set(re.findall(r"(?<![.\w`])([A-Z][A-Za-z]+)\(", part))
    assert len(called) > 8
    assert called <= names


def test_the_course_of_ones_own_is_decided(tmp_path: Path) -> None:
    """The example of a list of statements says what it says, and runs no more than it needs."""
    (text,) = blocks("toml", "docs/extending.md")
    path = tmp_path / "course.toml"
    path.write_text(text, encoding="utf-8")
    record = verify.run(profile="quick", workers=1, sources=path)
    assert [(statement.id, statement.outcome) for statement in record.statements] == [
        ("weights", Outcome.HOLDS),
        ("variance", Outcome.HOLDS),
    ]
    assert [claim.id for claim in record.claims] == ["score-variance"]
    computed, _, _ = text.partition('[[statement]]\nid = "variance"')
    path.write_text(computed.replace("0.27", "0.28"), encoding="utf-8")
    alone = verify.run(workers=1, sources=path)
    assert (alone.claims, alone.run.phases_s["verification"] < 1) == ((), True)
    assert alone.statements[0].outcome is Outcome.MISPRINTED
    assert alone.exit_status == 1


def test_every_command_and_page_is_named() -> None:
    """Commands as they are typed, with or without the tool's name; pages by a link that leads there."""
    assert [name for name in cli.commands if not re.search(rf"`(sdpa-verify )?{name}[ `]", page())] == []
    linked = set(re.findall(r"\]\((docs/[\w/.-]+)\)", page()))
    assert linked == {str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md")}
    # Options are documented in ``--help``, so none may be without its words.
    parameters = [(name, option) for name, command in cli.commands.items() for option in command.params]
    options = [(name, option) for name, option in parameters if isinstance(option, click.Option)]
    assert len(options) > 20
    assert [(name, option.opts[0]) for name, option in options if not option.help] == []


def test_the_version_is_the_same_everywhere() -> None:
    """The package, the citation file and the example of a citation agree."""
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(rf"^version: {re.escape(__version__)}$", citation, flags=re.MULTILINE)
    assert citation.startswith("cff-version: 1.2.0\n")
    assert f"> sdpa-verify <!-- verify: run:version|default -->{__version__}<!-- /verify -->, claim" in page()
    assert "## [Unreleased]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_every_figure_is_so() -> None:
    """The page quotes the reference run, in the way that it recommends and shows."""
    (document,) = check([ROOT / "README.md"], shipped())
    assert document.problems == []
    assert len(document.quotes) == 11
    pages = check([*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"], shipped(), strict=True)
    assert [problem for checked in pages for problem in checked.problems] == []


def test_the_hook_calls_a_command_that_is_there() -> None:
    """Pre-commit runs it on documents of every kind that it understands."""
    hook = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    (entry,) = re.findall(r"entry: sdpa-verify (\S+)", hook)
    assert entry in cli.commands
    (files,) = re.findall(r"files: (\S+)", hook)
    assert all(
        re.search(files, f"docs/page{kind}") for kind in LANGUAGES.keys() - {".pyi", ".asc", ".svg", ".vue"}
    )
    assert all(re.search(files, name) for name in ("reports/results.json", "audit.json", "pyproject.toml"))
    # What makes documents stale is often the only file of a commit.
    assert "pass_filenames: false" in hook


def assert_known(text: str) -> None:
    """Assert that a script calls the tool, by commands and options that it has."""
    calls = re.findall(r"sdpa-verify ([a-z-]+)([^\n]*)", text)
    assert calls
    for command, options in calls:
        known = {name for option in cli.commands[command].params for name in option.opts}
        assert {*re.findall(r"--[a-z-]+", options)} <= known


def test_the_action_of_github_is_complete() -> None:
    """Every input that it uses is declared, none goes into a script unquoted, and its form is one of ours."""
    text = (ROOT / ".github/actions/check-docs/action.yml").read_text("utf-8")
    action: dict[str, Any] = yaml.safe_load(text)
    scripts = [step["run"] for step in action["runs"]["steps"] if "run" in step]
    assert_known(scripts[-1])
    assert not any("${{" in script for script in scripts)
    assert {*re.findall(r"\$\{\{ inputs\.(\w+) \}\}", text)} == set(action["inputs"])
    assert action["inputs"]["format"]["default"] in FORMS


def test_the_workflow_of_the_page_is_complete() -> None:
    """Its jobs are YAML, call commands and options that there are, and install the tool from its clone."""
    workflow, site = (yaml.safe_load(text) for text in blocks("yaml", "docs/ci.md"))
    for job in (workflow["jobs"] | site).values():
        scripts = [step["run"] for step in job["steps"] if "run" in step]
        assert_known("\n".join(scripts))
        assert scripts[0] == "pip install ./sdpa-verify"
        assert job["steps"][0]["with"] == {"submodules": True}
