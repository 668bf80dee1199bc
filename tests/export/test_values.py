"""Values for other programs: every form is read back by a reader of its own and says the same."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
import tomllib
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.report.records import record
from verify.citing.exports import FORMATS, leaves, tree
from verify.citing.lookup import by_key
from verify.citing.values import Figure, Value
from verify.citing.values import values_of as values

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RUN = record()
HOSTILE = [
    Value("a-b.c-d:e", 'a "quoted" \\ text\nwith = { } [ ] # \x1b\x7f \u202e \N{PILE OF POO}', (), "a"),
    Value("a-b.1st", "−1.50×10⁻⁶", (Figure(Decimal("-0.0000015")),), "a"),
    Value("a-b.verdict", "true", (), "a"),
    Value("a-b:verdict", "no", (), "a"),
    Value("a-b.checks:x", "1", (Figure(Decimal(1)),), "a"),
    Value("a-b:checks", "2", (Figure(Decimal(2)),), "a"),
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
