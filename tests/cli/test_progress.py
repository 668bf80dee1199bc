"""What is seen while it runs: plain lines in a pipe, a bar on a terminal that leaves nothing behind."""

from __future__ import annotations

import os
import pty
import sys
from pathlib import Path

import pytest

from tests.tool import begin
from verify.cli.console import log, rendering
from verify.cli.progress import (
    closing_lines,
    counts_line,
    following,
    progress_line,
    stored_line,
    surprise_line,
    verdict_line,
)
from verify.engine.schedule import RunProgress
from verify.evidence import DeviceRecord, Outcome, Part, RunRecord, Statement, StoreUse, Verdict


def test_a_pipe_gets_plain_lines(capsys: pytest.CaptureFixture[str], small: RunRecord) -> None:
    """One line for each finished claim and each phase of rendering, on standard error."""
    begun: list[str] = []
    with following(lambda: begun.append("begun")) as callbacks:
        callbacks.on_begin(1)
        callbacks.on_start("sqrt-scaling-unique")
        callbacks.on_finish(small.claims[0])
    with rendering() as announce:
        announce("pdf")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "sqrt-scaling-unique: confirmed\nrendering: pdf\n"
    assert begun == ["begun"]


@pytest.mark.slow
def test_a_terminal_gets_a_bar(tmp_path: Path) -> None:
    """The claim is shown, uncut at forty columns too, then cleared, and the cursor is given back."""
    controller, terminal = pty.openpty()
    arguments = ("run", "sqrt-scaling-unique", "--profile", "quick", "--out", tmp_path)
    process = begin(*arguments, stderr=terminal, environment={"TERM": "xterm", "COLUMNS": "40"})
    os.close(terminal)
    seen = b""
    while True:
        try:
            piece = os.read(controller, 4096)
        except OSError:  # the other end is closed: the process has ended
            break
        if not piece:
            break
        seen += piece
    out = process.communicate(timeout=60)[0]
    os.close(controller)
    assert process.returncode == 0
    assert out.startswith("✓ sqrt-scaling-unique")
    shown = seen.decode()
    assert "sqrt-scaling" in shown
    assert "0/1" in shown
    assert "0:00:0" in shown
    assert "\x1b[?25l" in shown
    assert shown.rfind("\x1b[?25h") > shown.rfind("\x1b[?25l")
    assert "\x1b[2K" in shown


@pytest.mark.parametrize(
    ("verdict", "mark"),
    [(Verdict.CONFIRMED, "✓"), (Verdict.APPROXIMATE, "≈"), (Verdict.REFUTED, "✗"), (Verdict.UNDECIDED, "?")],
)
def test_a_verdict_has_a_mark(small: RunRecord, verdict: Verdict, mark: str) -> None:
    """Mark, id, verdict, reason: one line, in columns."""
    record = small.claims[0].model_copy(update={"verdict": verdict, "reason": "because"})
    assert verdict_line(record) == f"{mark} sqrt-scaling-unique      {verdict:<12} because"


def test_the_tightest_bound_is_named(small: RunRecord) -> None:
    """A line on a claim with derived bounds says which is nearest to its estimate, and how near."""
    record = small.claims[0]
    loose, tight = (
        record.checks[0].model_copy(update={"id": name, "tightness": value})
        for name, value in (("loose", 0.4), ("tight", 1.02))
    )
    line = verdict_line(record.model_copy(update={"checks": (loose, tight, *record.checks)}))
    assert line.endswith("; tightest bound tight: estimate ÷ bound 1.02")
    plain = record.model_copy(
        update={"checks": tuple(c.model_copy(update={"tightness": None}) for c in record.checks)}
    )
    assert "tightest bound" not in verdict_line(plain)


def test_what_a_device_has_drawn_is_counted(small: RunRecord) -> None:
    """By the generator that cells name; without a device nothing is said of one."""
    claim = small.claims[0]
    drawn = [check for check in claim.checks if check.method == "monte-carlo"]
    there = drawn[0].model_copy(update={"cell": {**drawn[0].cell, "generator": "Philox"}})
    chosen = small.run.settings.model_copy(
        update={"device": DeviceRecord(name="cuda", model="Card", library="PyTorch 2")}
    )
    run = small.model_copy(
        update={
            "claims": (claim.model_copy(update={"checks": (there, *drawn[1:])}),),
            "run": small.run.model_copy(update={"settings": chosen, "stored": None}),
        }
    )
    line = f"drawn on cuda (Card, PyTorch 2): 1 of {len(drawn)} checks, the others as without it"
    assert [*closing_lines(run)] == [counts_line(run), line]
    assert not [one for one in closing_lines(small) if "drawn on" in one]


def test_progress_that_cannot_be_shown_is_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A full disk under standard error stops nothing."""
    with open("/dev/full", "w", encoding="utf-8") as full:  # noqa: PTH123 - a device
        monkeypatch.setattr(sys, "stderr", full)
        log("lost")
        log("lost as well")
    assert not list(tmp_path.iterdir())


def test_a_surprise_is_one_line_with_both_outcomes() -> None:
    """The statement, what came out, what was known, and why."""
    part = Part(
        text="It prints 0.880.", claim="one-claim", evidence="fact:first", kind="prints", printed="0.880",
        computed="0.881", holds=False, reason="The computed value rounds to 0.881.",
    )  # fmt: skip
    statement = Statement(
        id="s1", source="s", text="T", claim="one-claim", printed="0.880", computed="0.881",
        outcome=Outcome.MISPRINTED, noted=Outcome.HOLDS, note="N", parts=(part,),
    )  # fmt: skip
    line = surprise_line(statement)
    assert line == "! statement s1: misprinted, known as holds. The computed value rounds to 0.881."


def test_progress_and_store_are_said_in_a_line() -> None:
    """Draws, rate, time left and workers; what came from the store, as a share of the draws."""
    line = progress_line(RunProgress(drawn=3 * 10**8, stored=10**8, wanted=10**9, seconds=2.0, workers=7))
    assert line == "4 s left · 3.0e+08 drawn · 1.5e+08/s · 7 working · 1.0e+08 stored"
    assert stored_line(StoreUse(derivations=3, draws=1, drawn=3)).endswith(
        "3 derivations and 25% of the draws"
    )
    assert stored_line(StoreUse(derivations=3, draws=0, drawn=0)).endswith("0% of the draws")
