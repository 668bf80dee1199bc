"""Values for other programs: every form is read back by a reader of its own and says the same."""

import csv
import io
import json
import re
import tomllib
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.report.records import record
from verify.citing.documents import check, fix
from verify.citing.exports import FORMATS, bare_number, leaves, macro_text, name, tree
from verify.citing.exports import to_latex as export
from verify.citing.lookup import by_key, lookup
from verify.citing.values import ExactNumber, Value
from verify.citing.values import values_of as values

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


KEY = "score-variance.slope"


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
