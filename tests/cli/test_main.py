"""The command line as a whole: misuse in one line, help that is quick, the catalogue on a terminal."""

import io
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.catalogue import CATALOGUE, EACH_QUICKLY_MADE, derivation
from tests.tool import ROOT, Tool
from verify.claims.chapters import CHAPTERS
from verify.cli.main import main
from verify.cli import showing
from verify.cli.showing import page
from verify.engine import store
from verify.symbolic import notation
from verify.text.latex import plain
from verify.version import __version__

MISUSE = [
    (["raport"], "No such command 'raport'"),
    (["run", "--toleranc", "3"], "Did you mean"),
    (["render"], "Missing argument 'RESULTS'"),
    (["show", "nothing-like-it"], "no claim 'nothing-like-it'; `sdpa-verify list` shows them all"),
    (["show", "score-varianc"], "no claim 'score-varianc'; did you mean 'score-variance'?"),
    (["list", "nothing-like-it"], "no claim is about 'nothing-like-it'; `sdpa-verify list` shows them all"),
    (["run", "--tolerance", "0"], "tolerance 0.0: should be greater than 0"),
    (["run", "--false-alarm", "1"], "false_alarm 1.0: should be less than 1"),
    (["run", "--power", "nan"], "power nan: should be"),
    (["run", "--sources", "intro"], "or the name of a pack"),
    pytest.param(
        ["run", "score-variance-general", "--tolerance", "1e-4"], "raise --tolerance", marks=pytest.mark.slow
    ),
    (["run", "--seed", "-1"], "seed -1: should be greater than or equal to 0"),
    (["run", "--workers", "0"], "--workers 0: at least one is needed"),
    (["show", "mine", "--claims", "."], ".: is a folder; give one claim file, and --claims again"),
    (["report", "--title", " "], "title ' ': give some text"),
    (["run", "--question", "$\\frac{x$"], "question: has a formula with"),
    (["report", "--profile", "quik"], "no profile 'quik'; choose quick, standard or deep"),
]


@pytest.mark.parametrize(("arguments", "message"), MISUSE)
def test_misuse_is_reported_in_one_line(
    tool: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    """Exit status 2, one line on standard error that says what and where, nothing on standard output."""
    monkeypatch.chdir(tmp_path)
    ended = tool(*arguments)
    assert ended.status == 2
    assert message in ended.complaint
    assert not re.search(r"\?\)?; see", ended.complaint), "a question is answer enough"
    assert ended.out == ""
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_claims_are_found_by_number_and_by_words(tool: Tool) -> None:
    """The list has the report's numbers, which name claims, and is searched for what people call things."""
    (number, name) = re.findall(r"^ +(\S+) (\S+)  ", tool("list", "flash", "attention").out, re.MULTILINE)[-1]
    assert name == "online-softmax"
    assert tool("show", number).out.startswith("online-softmax — ")
    assert tool("list", "RoPE").out.count("rotary-positions") == 1
    assert " online-softmax " in tool("list", number).out


def test_measured_numbers_of_words_are_of_the_reference_run(tool: Tool) -> None:
    """What a claim's words say of measurements is filled, and which run that was is said."""
    shown = tool("show", "low-precision-sums").out
    assert "(measured in a run)" not in shown
    assert "of the reference run: seed " in shown


def test_a_page_is_made_once(tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes from the store again, as long as the code is the same."""
    first = tool("show", "score-mean").out
    monkeypatch.setattr(showing, "page", lambda *_: "another")
    assert tool("show", "score-mean").out == first
    monkeypatch.setattr(store, "code", lambda: "edited")
    assert tool("show", "score-mean").out == "another\n"


def test_without_a_command_help_is_shown(tool: Tool) -> None:
    """On standard error, above the line that says what is missing."""
    ended = tool()
    assert (ended.status, ended.out) == (2, "")
    *text, last = ended.err.splitlines()
    assert any(line.startswith("  check-docs  Compare quotations") for line in text)
    assert last.startswith("sdpa-verify: Missing command; see `")


def test_help_imports_nothing_heavy() -> None:
    """What a person waits for is the command, not the libraries of other commands; nor does the package."""
    code = (
        "import sys, verify\n"
        "from verify.cli.main import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'sympy', 'scipy', 'pydantic', 'matplotlib', 'weasyprint', 'rich'}\n"
        "print('heavy:', heavy & set(sys.modules))"
    )
    for arguments in (["--help"], ["report", "--help"], ["--version"], ["raport"]):
        command = [sys.executable, "-c", code, *arguments]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=True)
        assert done.stdout.splitlines()[-1] == "heavy: set()"


def test_the_package_is_a_program_too() -> None:
    """``python -m verify`` is the same tool."""
    command = [sys.executable, "-m", "verify", "--version"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == f"sdpa-verify, version {__version__}\n"


def test_a_terminal_without_unicode_is_served(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A character that cannot be shown becomes a question mark, not an error."""
    shown = io.BytesIO()
    with io.TextIOWrapper(shown, encoding="latin-1") as terminal:
        monkeypatch.setattr(sys, "stdout", terminal)
        with pytest.raises(SystemExit) as ended:
            main(["show", "score-mean"])
        terminal.flush()
        assert b"? moment calculus" in shown.getvalue()
    assert ended.value.code == 0
    assert capsys.readouterr().err == ""


@EACH_QUICKLY_MADE
def test_a_claim_is_shown_with_every_step(name: str) -> None:
    """Statement, meaning, assumptions and all steps with how each was checked; no LaTeX is left."""
    claim, derived = CATALOGUE[name], derivation(name)
    text = page(claim, derived, 10_000)
    assert text.startswith(f"{name} — ")
    assert CHAPTERS[claim.chapter] in text
    assert not set("\\$") & set(text.replace(" /\\ ", " and "))
    assert all(line == line.rstrip() for line in text.splitlines())
    for chain in derived.chains:
        assert f"Derivation: {plain(chain.title)}" in text or not chain.title
        for line in chain.lines:
            assert f"\n  {line.relation} {notation.plain(line.expression)}\n" in text
            decided = plain(line.check.words)
            assert f"\n      {plain(line.because)} (✓ {decided}, tried" in text
    lines = sum(len(chain.lines) for chain in derived.chains)
    assert re.search(
        rf"^(Proved|Derived(, citing)?): (all {lines}|its one|both) lines? holds?, no attempt", text, re.M
    )
    assert "✗" not in text


def test_a_wrong_line_is_marked(tool: Tool, claim_file: Callable[..., Path]) -> None:
    """A derivation that does not hold is shown all the same, up to the line that fails."""
    ended = tool("show", "doubled-keys", "--claims", claim_file(("(4 * d,", "(5 * d,")))
    assert ended.status == 1
    assert "\n  = 5 d_k\n      every component has mean 0 and variance 1 (✗ under mean 0 and" in ended.out
    assert "\nFAILED: the chain, line 2: under mean 0 and variance 1 they differ by -d_k\n" in ended.out
