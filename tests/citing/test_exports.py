"""Values for other programs: every form is read back by a reader of its own and says the same."""

import csv
import io
import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.report.records import record
from verify.citing.citations import cite, to_bibtex
from verify.citing.documents import check, fix
from verify.citing.exports import FORMATS, bare_number, leaves, macro_text, name, tree
from verify.citing.exports import to_latex as export
from verify.citing.lookup import by_key, lookup
from verify.citing.values import ExactNumber, Value
from verify.citing.values import values_of as values
from verify.evidence.load import shipped

RUN = record()
HOSTILE = [
    Value("a-b.c-d:e", 'a "quoted" \\ text\nwith = { } [ ] # \x1b\x7f \u202e \N{PILE OF POO}', (), "a"),
    Value("a-b.1st", "−1.50×10⁻⁶", (ExactNumber(Decimal("-0.0000015")),), "a"),
    Value("a-b.verdict", "true", (), "a"),
    Value("a-b:verdict", "no", (), "a"),
    Value("a-b.checks:x", "1", (ExactNumber(Decimal(1)),), "a"),
    Value("a-b:checks", "2", (ExactNumber(Decimal(2)),), "a"),
]
READERS: dict[str, Callable[[str], Any]] = {"json": json.loads, "toml": tomllib.loads, "yaml": yaml.safe_load}


@pytest.mark.parametrize("form", READERS)
@pytest.mark.parametrize("chosen", [list(values(RUN)), HOSTILE], ids=["run", "hostile"])
def test_a_reader_of_its_own_gives_every_value_back(form: str, chosen: list[Value]) -> None:
    """All texts, all numbers, nothing else."""
    read = READERS[form](FORMATS[form].write(RUN, chosen))
    assert read == tree(RUN, chosen)
    assert len(list(leaves(read["texts"]))) == len(chosen)


def test_tables_of_csv_and_attributes_of_asciidoc() -> None:
    """A row or a line for each value."""
    rows = list(csv.reader(io.StringIO(FORMATS["csv"].write(RUN, values(RUN)))))
    assert dict(rows[1:]) == {key: value.text for key, value in by_key(RUN).items()}
    lines = FORMATS["asciidoc"].write(RUN, values(RUN)).splitlines()
    assert len(lines) == len(by_key(RUN))
    assert all(re.fullmatch(r":verify-[a-z0-9-]+: pass:c\[.*\]", line) for line in lines)
    assert any(line.startswith(":verify-score-variance-slope--estimate: ") for line in lines)
    assert not any("\\" in line for line in lines)


@pytest.mark.slow
def test_typst_reads_its_module_and_refuses_an_unknown_key(tmp_path: Path) -> None:
    """In a real build."""
    program = shutil.which("typst")
    if program is None:
        pytest.skip("needs typst on the PATH")
    (tmp_path / "verify.typ").write_text(FORMATS["typst"].write(RUN, [*values(RUN), *HOSTILE]), "utf-8")
    page = tmp_path / "page.typ"
    for key, status in (("slope.estimate", 0), ("nothing", 1)):
        page.write_text(f'#import "verify.typ": texts\n#texts.score_variance.{key}\n', "utf-8")
        done = subprocess.run([program, "compile", str(page)], capture_output=True, check=False)
        assert done.returncode == status, done.stderr


def test_typst_texts_are_quoted() -> None:
    """A quotation mark, a backslash or a control character ends no text."""
    text = FORMATS["typst"].write(RUN, HOSTILE)
    assert 'e: "a \\"quoted\\" \\\\ text\\u{a}with = { } [ ] # \\u{1b}\\u{7f} \\u{202e} ' in text
    assert text.count("(") == text.count(")")


def test_the_words_of_a_key_lead_to_its_value() -> None:
    """With underscores, which every language takes in a name."""
    made = tree(RUN, values(RUN))
    known = by_key(RUN)
    slope = made["texts"]["score_variance"]["slope"]
    assert slope["text"] == known["score-variance.slope"].text
    assert slope["estimate"] == known["score-variance.slope:estimate"].text
    assert made["numbers"]["score_variance"]["slope"]["estimate"] == float(slope["estimate"])
    assert made["about"]["seed"] == RUN.run.settings.seed
    assert all(word.isidentifier() for path, _ in leaves(made) for word in path)
    assert name("1st-of-all") == "n1st_of_all"


PAPER = r"""\documentclass{article}\usepackage{siunitx}\input{verify}\begin{document}
%s
\end{document}
"""
KEY = "score-variance.slope"


def has_siunitx() -> bool:
    """Return whether TeX is installed with the package that reads bare numbers."""
    found = shutil.which("kpsewhich")
    return bool(found) and called([str(found), "siunitx.sty"], None).returncode == 0


def called(command: list[str], folder: Path | None) -> subprocess.CompletedProcess[str]:
    """Return what a program leaves."""
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)


needs_tex = pytest.mark.skipif(not has_siunitx(), reason="needs TeX with siunitx on the PATH")


def typeset(folder: Path, body: str, engine: str = "pdflatex") -> tuple[int, str]:
    """Write a paper around the body, typeset it, and return the status and what TeX says."""
    run = record()
    (folder / "verify.tex").write_text(export(run, values(run)), encoding="utf-8")
    (folder / "paper.tex").write_text(PAPER % body, encoding="utf-8")
    command = [engine, "-interaction=nonstopmode", "-halt-on-error", "paper"]
    done = called(command, folder)
    return done.returncode, done.stdout.replace("\n", "")


def test_figures_are_set_as_mathematics() -> None:
    """Minus signs, powers of ten and intervals; in text and in formulas alike."""
    run = record()
    key = f"{run.claims[0].id}.{run.claims[0].checks[0].id}"
    assert re.fullmatch(r"\\ensuremath\{\[[-0-9.]+,~[-0-9.]+\]\}", macro_text(lookup(run, f"{key}:interval")))
    assert "−" not in "".join(macro_text(value) for value in values(run))
    tiny = Value("k", "−1×10⁻⁶ [−31, 33]×10⁻⁶", (ExactNumber(Decimal("-1e-6")),) * 3, "k")
    # A space alone is none in a formula.
    assert macro_text(tiny) == r"\ensuremath{-1\times 10^{-6}\ [-31,\ 33]\times 10^{-6}}"
    assert macro_text(lookup(run, "score-variance:verdict")) == r"\verifywords{confirmed}"


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("1.0008", "1.0008"),
        ("−6.10×10⁻⁷", "-6.10e-7"),
        ("92\N{NARROW NO-BREAK SPACE}414", "92414"),
        ("99.4%", None),
        ("[1, 2]", None),
    ],
)
def test_bare_numbers(text: str, bare: str | None) -> None:
    """As programs write them, with all digits; nothing else has one."""
    exact = tuple(ExactNumber(Decimal(1)) for _ in range(2 if "," in text else 1))
    assert bare_number(Value("k", text, exact, "k")) == bare


def test_every_value_is_there_once() -> None:
    """One line each, under a head that says where they come from."""
    run = record()
    text = export(run, values(run))
    lines = [line for line in text.splitlines() if line.startswith(r"\verifyvalue{")]
    assert len(lines) == sum(1 for _ in values(run))
    assert f"seed {run.run.settings.seed}" in text


def test_a_stale_bare_number_is_fixed(tmp_path: Path) -> None:
    """It stays bare."""
    run = record()
    path = tmp_path / "verify.tex"
    right = export(run, [lookup(run, f"{KEY}:estimate")])
    path.write_text(re.sub(r"(\\verifynumber\{[^{}]*\})\{[^{}]*\}", r"\1{9.9}", right), encoding="utf-8")
    documents = check([path], run)
    assert len(documents[0].problems) == 1
    fix(documents)
    assert path.read_text(encoding="utf-8") == right


@needs_tex
@pytest.mark.slow
@pytest.mark.parametrize("engine", ["pdflatex", "lualatex"])
def test_every_value_compiles_anywhere(tmp_path: Path, engine: str) -> None:
    """In text, in formulas, in subscripts, and bare inside siunitx's macros."""
    if shutil.which(engine) is None:
        pytest.skip(f"needs {engine} on the PATH")
    run = record()
    body = []
    for value in values(run):
        body.append(rf"\verify{{{value.key}}} $x = \verify{{{value.key}}}$")
        if bare_number(value) is not None:
            body.append(rf"\num{{\verifynum{{{value.key}}}}}")
    key = f"{KEY}:interval"
    body.append(rf"\[ x_\verify{{{key}}} \in \verify{{{key}}}^{{\verify{{{key}}}}} \]")
    status, said = typeset(tmp_path, "\n\n".join(body), engine)
    assert status == 0, said[-2000:]


@needs_tex
@pytest.mark.parametrize(
    ("body", "what"),
    [
        (r"\verify{score-variance.nothing}", "no value `score-variance.nothing'"),
        (r"\num{\verifynum{score-variance.nothing}}", "Undefined control sequence"),
    ],
)
def test_an_unknown_key_stops_tex(tmp_path: Path, body: str, what: str) -> None:
    """With its name."""
    status, said = typeset(tmp_path, body)
    assert status != 0
    assert what in said


@needs_tex
@pytest.mark.slow
@pytest.mark.parametrize("program", ["bibtex", "biber"])
def test_every_claim_s_entry_compiles_without_packages(tmp_path: Path, program: str) -> None:
    """Neither amsmath nor amssymb is needed by what a bibliography prints."""
    if shutil.which(program) is None:
        pytest.skip(f"needs {program} on the PATH")
    run = shipped()
    cited = [cite(run, claim, part) for claim in run.claims for part in (None, *claim.checks[:2])]
    (tmp_path / "all.bib").write_text("\n\n".join(map(to_bibtex, cited)), encoding="utf-8")
    biber = program == "biber"
    head = r"\usepackage{biblatex}\addbibresource{all.bib}" if biber else ""
    end = r"\printbibliography" if biber else r"\bibliographystyle{plain}\bibliography{all}"
    paper = rf"\documentclass{{article}}{head}\begin{{document}}\nocite{{*}}x {end}\end{{document}}"
    (tmp_path / "paper.tex").write_text(paper, encoding="utf-8")
    tex = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper"]
    for command in (tex, [program, "paper"], tex, tex):
        done = called(command, tmp_path)
        assert done.returncode == 0, done.stdout[-1500:]
    assert len((tmp_path / "paper.bbl").read_text(encoding="utf-8")) > 100 * len(run.claims)
