"""Documents in real builds of other toolchains, where they are installed: markers and exported values."""

import json
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.report.records import record
from tests.tool import ROOT
from verify.citing.documents import check, fix
from verify.citing.exports import FORMATS
from verify.citing.lookup import lookup
from verify.citing.values import values_of as values

pytestmark = pytest.mark.slow

RUN = record()
KEY = "score-variance.slope:estimate"
NOW = lookup(RUN, KEY).text


def needed(program: str) -> str:
    """Return where a program is; skip the test where it is not."""
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"needs {program} on the PATH")
    return found


def called(*command: object, folder: Path) -> subprocess.CompletedProcess[str]:
    """Return what a program leaves."""
    given = list(map(str, command))
    return subprocess.run(given, cwd=folder, capture_output=True, text=True, check=False, timeout=100)


def fixed(path: Path, text: str) -> None:
    """Write a document with a stale figure, find it, and fix it."""
    path.write_text(text.replace("STALE", "7.25"), encoding="utf-8")
    documents = check([path], RUN)
    assert any(problem.fixable for document in documents for problem in document.problems)
    fix(documents)
    assert check([path], RUN)[0].problems == []


@pytest.mark.parametrize("known", [True, False])
def test_asciidoctor(tmp_path: Path, known: bool) -> None:
    """Attributes are shown, an unknown one is refused, and markers are not seen."""
    program = needed("asciidoctor")
    made = FORMATS["asciidoc"].write(RUN, values(RUN))
    (tmp_path / "verify.adoc").write_text(made, encoding="utf-8")
    name = "estimate" if known else "nothing"
    marked = f"// verify: {KEY}|default\nSTALE\n// /verify\n"
    text = f"include::verify.adoc[]\n\nIs {{verify-score-variance-slope--{name}}}.\n\n{marked}"
    fixed(tmp_path / "page.adoc", text)
    options = ("-a", "attribute-missing=warn", "--failure-level=WARN", "-o", "-")
    done = called(program, *options, "page.adoc", folder=tmp_path)
    assert (done.returncode == 0) is known, done.stderr
    if known:
        assert f"Is {NOW}." in done.stdout
        assert "verify:" not in done.stdout


def test_a_notebook_is_executed_with_values_of_python(tmp_path: Path) -> None:
    """By nbconvert, after its Markdown was fixed."""
    if find_spec("nbconvert") is None or find_spec("ipykernel") is None:
        pytest.skip("needs nbconvert and ipykernel")
    (tmp_path / "results.json").write_text(RUN.to_json(), encoding="utf-8")
    start = f"import sys; sys.path.insert(0, {str(ROOT)!r})"
    code = f"{start}\nimport verify\nverify.values('results.json')[{KEY!r}]"
    prose = f"It is <!-- verify: {KEY}|default -->STALE<!-- /verify --> here."
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    cells = [
        {"cell_type": "markdown", "id": "a", "metadata": {}, "source": prose},
        {
            "cell_type": "code",
            "id": "b",
            "metadata": {},
            "source": code,
            "outputs": [],
            "execution_count": None,
        },
    ]
    made = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    fixed(tmp_path / "book.ipynb", json.dumps(made, indent=1))
    options = ("--to", "markdown", "--execute", "--stdout", "book.ipynb")
    done = called(sys.executable, "-m", "nbconvert", *options, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f">{NOW}</span>" in done.stdout


def test_mdx_takes_the_markers(tmp_path: Path) -> None:
    """As comments between which the figure stands; ``NODE_PATH`` names the folder of its compiler."""
    node = needed("node")
    fixed(tmp_path / "page.mdx", f"It is {{/* verify: {KEY}|default */}}STALE{{/* /verify */}} here.\n")
    script = (
        "import {createRequire} from 'module'; import {pathToFileURL} from 'url'; import fs from 'fs';"
        "const found = createRequire(process.cwd() + '/x').resolve.paths('x');"
        "const place = [...(process.env.NODE_PATH || '').split(':'), ...found].find("
        "one => fs.existsSync(one + '/@mdx-js/mdx/index.js'));"
        "if (!place) process.exit(77);"
        "const {compile} = await import(pathToFileURL(place + '/@mdx-js/mdx/index.js'));"
        "console.log(String(await compile(fs.readFileSync('page.mdx', 'utf8'))));"
    )
    done = called(node, "--input-type=module", "-e", script, folder=tmp_path)
    if done.returncode == 77:
        pytest.skip("needs @mdx-js/mdx in a folder of NODE_PATH")
    assert done.returncode == 0, done.stderr
    assert '"It is "' in done.stdout
    # What is left is a comment of JavaScript.
    assert "verify:" not in re.sub(r"/\*.*?\*/", "", done.stdout)
