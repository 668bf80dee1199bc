"""Writing the report: all files or the ones that can be, with times and the problem reported."""

import errno
import os
from pathlib import Path

import pytest

from tests.report.records import PAIRWISE, record
from verify.errors import OutputError, RenderError
from verify.evidence import RunRecord, load
from verify.report import html, pdf
from verify.report.write import write_report

PHASES = ["figures", "formulas", "html", "pdf", "write"]


def fake_pdf(_record: RunRecord, _parts: object, _edition: str) -> bytes:
    """Stand in for the slow PDF."""
    return b"%PDF"


def no_pango(_record: RunRecord, _parts: object, _edition: str) -> bytes:
    """Stand in for a machine without Pango."""
    raise RenderError("no Pango")


@pytest.fixture(autouse=True)
def _no_faces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the slow cutting of faces out."""
    monkeypatch.setattr(html, "rules_for_screen", lambda _characters: "")


def test_writes_three_files_and_measures_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All files are there, every phase was announced and timed, the results read back."""
    monkeypatch.setattr(pdf, "render_pdf", fake_pdf)
    seen: list[str] = []
    made = record(PAIRWISE)
    written = write_report(made, tmp_path, seen.append, 1)
    assert [path.name for path in written.paths] == ["results.json", "report.html", "report.pdf"]
    assert seen == list(written.phases_s) == PHASES
    assert written.problem is None
    assert load.load(tmp_path / "results.json") == made


def test_without_pango_page_and_results_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing library costs the PDF only, and is reported."""
    monkeypatch.setattr(pdf, "render_pdf", no_pango)
    written = write_report(record(PAIRWISE), tmp_path, lambda _phase: None, 1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "results.json"]
    assert str(written.problem) == "no Pango"


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("raise OSError('cannot load library')", "the PDF needs Pango's system libraries, which are missing"),
        ("import os; os.kill(os.getpid(), 9)", "rendering, pdf: its process was ended by SIGKILL"),
        ("raise ZeroDivisionError('why')", "rendering, pdf: ZeroDivisionError: why; the results are written"),
    ],
)
def test_whatever_happens_to_the_process_of_the_pdf_the_page_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, said: str
) -> None:
    """Page and PDF are made side by side; what becomes of the one costs the other nothing."""
    (tmp_path / "weasyprint.py").write_text(program)
    monkeypatch.syspath_prepend(tmp_path)
    out = tmp_path / "report"
    made = record(PAIRWISE)
    written = write_report(made, out, lambda _phase: None, 2)
    assert str(written.problem).startswith(said)
    assert "\n" not in str(written.problem)
    assert sorted(path.name for path in out.iterdir()) == ["report.html", "results.json"]
    assert (out / "report.html").read_text().rstrip().endswith("</html>")


@pytest.mark.slow
def test_side_by_side_or_one_after_the_other_the_bytes_are_the_same(tmp_path: Path) -> None:
    """How many processes there are changes nothing, and each phase has its time."""
    made = record(PAIRWISE)
    reports = [write_report(made, tmp_path / str(count), lambda _phase: None, count) for count in (1, 2)]
    assert [list(one.phases_s) for one in reports] == [PHASES] * 2
    one, other = ([path.read_bytes() for path in report.paths] for report in reports)
    assert one == other


def test_an_older_report_stays_and_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An older PDF is not thrown away, but nobody may take it for this run's."""
    monkeypatch.setattr(pdf, "render_pdf", no_pango)
    (tmp_path / "report.pdf").write_bytes(b"old")
    written = write_report(record(PAIRWISE), tmp_path, lambda _phase: None, 1)
    assert str(written.problem) == f"no Pango; report.pdf in {tmp_path} is from an earlier run"
    assert (tmp_path / "report.pdf").read_bytes() == b"old"


def test_bad_latex_costs_the_report_but_not_the_results(tmp_path: Path) -> None:
    """A long run's evidence is written even if a claim cannot be typeset."""
    wrong = PAIRWISE.model_copy(update={"meaning": r"$\frac{a$"})
    written = write_report(record(wrong), tmp_path, lambda _phase: None, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]
    assert r"\frac{a" in str(written.problem)


def test_an_unwritable_folder_is_an_output_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be written is reported as such."""
    monkeypatch.setattr(pdf, "render_pdf", fake_pdf)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OutputError, match="cannot be written"):
        write_report(record(PAIRWISE), tmp_path / "file", lambda _phase: None, 1)


class Panic(BaseException):
    """Stand in for what a compiled library raises that gave up."""


@pytest.mark.parametrize("raised", [ZeroDivisionError, RecursionError, MemoryError, SystemExit, Panic])
@pytest.mark.parametrize(
    "phase", ["parts.draw_figures", "parts.view_of", "html.render_html", "pdf.render_pdf"]
)
def test_whatever_is_raised_in_rendering_the_results_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, phase: str, raised: type[BaseException]
) -> None:
    """What nobody foresaw, even an exit, is reported in one line, after the results were written."""

    def give_up(*_: object) -> None:
        assert load.load(tmp_path / "results.json") == made
        raise raised("why")

    made = record(PAIRWISE)
    monkeypatch.setattr(pdf, "render_pdf", fake_pdf)
    monkeypatch.setattr(f"verify.report.{phase}", give_up)
    written = write_report(made, tmp_path, lambda _phase: None, 1)
    assert written.problem is not None
    assert str(written.problem).startswith(
        f"rendering: not foreseen: {raised.__name__}: why; the results are"
    )
    assert load.load(tmp_path / "results.json") == made


def test_ctrl_c_while_rendering_is_no_problem_of_rendering(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It passes, and the results are there."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(html, "render_html", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_report(record(PAIRWISE), tmp_path, lambda _phase: None, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]


def test_a_disk_full_while_rendering_costs_that_step_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No room for a library's temporary files is reported with the phase, and the results are written."""

    def full(_record: RunRecord, _parts: object, _edition: str) -> bytes:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "a-temporary-file")

    monkeypatch.setattr(pdf, "render_pdf", full)
    written = write_report(record(PAIRWISE), tmp_path, lambda _phase: None, 1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "results.json"]
    assert "rendering, pdf: a-temporary-file: No space left on device" in str(written.problem)
