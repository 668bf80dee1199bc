"""Writing the report: all files or the ones that can be; what was drawn is kept, and not for long."""

import errno
import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.report.records import PAIRWISE, SCORE_VARIANCE, record
from verify.evidence import load
from verify.report import drawings, html, pdf
from verify.report import formulas as formulas_module
from verify.report.drawings import draw_figures
from verify.report.write import render

PHASES = ["figures", "html", "pdf", "write"]


pytestmark = pytest.mark.usefixtures("no_faces")


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (
            "raise OSError('cannot load library')",
            (
                "the PDF needs Pango's system libraries, which are missing; HTML and JSON are written; "
                "for the PDF, apt-get install libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0"
            ),
        ),
        ("import os; os.kill(os.getpid(), 9)", "rendering, pdf: a process has ended, as the"),
    ],
)
def test_whatever_happens_to_the_process_of_the_pdf_the_page_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, said: str
) -> None:
    """Page and PDF are made side by side; what becomes of the one costs the other nothing."""
    (tmp_path / "weasyprint.py").write_text(program)
    monkeypatch.syspath_prepend(tmp_path)
    # The process may be a copy of this one, with what an earlier test has imported.
    monkeypatch.delitem(sys.modules, "weasyprint", raising=False)
    out = tmp_path / "report"
    made = record(PAIRWISE)
    written = render(made, out, lambda _phase: None, 2)
    assert str(written.problem).startswith(said)
    assert "\n" not in str(written.problem)
    assert sorted(path.name for path in out.iterdir()) == ["report.html", "results.json"]
    assert (out / "report.html").read_text().rstrip().endswith("</html>")


@pytest.mark.slow
def test_side_by_side_or_one_after_the_other_the_bytes_are_the_same(tmp_path: Path) -> None:
    """How many processes there are changes nothing; each phase is announced."""
    made = record(PAIRWISE)
    announced: list[str] = []
    reports = [render(made, tmp_path / str(count), announced.append, count) for count in (1, 2)]
    assert announced == PHASES * 2
    serial, parallel = ([path.read_bytes() for path in report.paths] for report in reports)
    assert serial == parallel


def test_bad_latex_costs_the_report_but_not_the_results(tmp_path: Path) -> None:
    """A long run's evidence is written even if a claim cannot be typeset."""
    wrong = PAIRWISE.model_copy(update={"meaning": r"$\frac{a$"})
    written = render(record(wrong), tmp_path, lambda _phase: None, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]
    assert r"\frac{a" in str(written.problem)


class Panic(BaseException):
    """Stand in for what a compiled library raises that gave up."""


FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "a-temporary-file")


@pytest.mark.parametrize(
    ("step", "raised", "problem"),
    [
        ("drawings.draw_figures", RecursionError("why"), "rendering: not foreseen: RecursionError: why"),
        ("html.render_html", Panic("why"), "rendering: not foreseen: Panic: why; the results are"),
        ("pdf.render_pdf", SystemExit("why"), "rendering: not foreseen: SystemExit: why; the results are"),
        ("pdf.render_pdf", FULL, "rendering, pdf: a-temporary-file: No space left on device"),
    ],
)
def test_whatever_is_raised_in_rendering_the_results_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, raised: BaseException, problem: str
) -> None:
    """What was not foreseen, even an exit, is reported in one line, and a full disk costs its step only."""

    def give_up(*_: object) -> None:
        assert load.load(tmp_path / "results.json") == made
        raise raised

    made = record(PAIRWISE)
    monkeypatch.setattr(pdf, "render_pdf", lambda *_: b"%PDF")
    monkeypatch.setattr(f"verify.report.{step}", give_up)
    written = render(made, tmp_path, lambda _phase: None, 1)
    assert str(written.problem).startswith(problem)
    assert load.load(tmp_path / "results.json") == made
    if raised is FULL:
        assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "results.json"]


def test_a_second_report_draws_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the same report; what is damaged or of another version is drawn again."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    run = record(SCORE_VARIANCE)
    first = draw_figures(run, 1)
    page = html.render_html(run, first)

    def drawn_again(*_: object, **__: object) -> None:
        raise AssertionError("drawn again")

    for module, name in ((drawings, "_drawn"), (formulas_module, "_typeset")):
        monkeypatch.setattr(module, name, drawn_again)
    assert draw_figures(run, 1) == first
    assert html.render_html(run, first) == page
    (path,) = tmp_path.rglob("figures.json")
    for content in (b"", b"cut", b"\xff\xfe", b'[["another version"], {}]'):
        path.write_bytes(content)
        with pytest.raises(AssertionError):
            draw_figures(run, 1)


def test_without_a_javascript_engine_there_is_no_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The results are written all the same, and the problem is one line."""
    # What stands in for the engine's program ends at once, as V8 does where address space is limited.
    monkeypatch.setattr("sys.executable", shutil.which("false"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
    formulas_module._mathjax.cache_clear()
    written = render(record(PAIRWISE), tmp_path, lambda _phase: None, 1)
    assert written.problem is not None
    assert written.problem.exit_status == 4
    assert str(written.problem).startswith("formulas cannot be set, as the process for that ended")
    assert [path.name for path in written.paths] == ["results.json"]
