"""The file of macros: every value in LaTeX, and a TeX that compiles it and refuses an unknown key."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.report.records import record
from verify.citing.latex import macro_text
from verify.citing.values import lookup, values
from verify.export.values.latex import export

if TYPE_CHECKING:
    from pathlib import Path

TEX = shutil.which("pdflatex")
PAPER = r"""\documentclass{article}\input{verify}\begin{document}
%s
\end{document}
"""


def test_figures_are_set_as_mathematics() -> None:
    """Minus signs, powers of ten and intervals."""
    run = record()
    key = f"{run.claims[0].id}.{run.claims[0].checks[0].id}"
    text = macro_text(lookup(run, f"{key}:interval"))
    assert text.startswith("[$")
    assert text.endswith("$]")
    assert "−" not in "".join(macro_text(value) for value in values(run))
    assert macro_text(lookup(run, f"{key}:level")).count("$") >= 4


def test_every_value_is_there_once() -> None:
    """One line each, under a head that says where they come from."""
    run = record()
    text = export(run, values(run))
    lines = [line for line in text.splitlines() if line.startswith(r"\verifyvalue{")]
    assert len(lines) == sum(1 for _ in values(run))
    assert f"seed {run.run.settings.seed}" in text


@pytest.mark.skipif(TEX is None, reason="needs pdflatex on the PATH")
@pytest.mark.parametrize("known", [True, False])
def test_a_paper_compiles_unless_a_key_is_unknown(tmp_path: Path, known: bool) -> None:
    """All values of a run are set; a key that does not exist stops TeX with its name."""
    run = record()
    (tmp_path / "verify.tex").write_text(export(run, values(run)), encoding="utf-8")
    keys = [value.key for value in values(run)] if known else ["score-variance.nothing"]
    body = "\n\n".join(rf"\verify{{{key}}}" for key in keys)
    (tmp_path / "paper.tex").write_text(PAPER % body, encoding="utf-8")
    command = [str(TEX), "-interaction=nonstopmode", "-halt-on-error", "paper"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False
    )
    assert (done.returncode == 0) is known, done.stdout
    if not known:
        assert "no value `score-variance.nothing'" in done.stdout.replace("\n", "")
