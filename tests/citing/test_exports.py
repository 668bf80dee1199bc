"""Values for other programs: every form is read back by a reader of its own, and says when it is stale."""

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

from tests.auditing.records import bad
from tests.report.records import record
from verify.citing.documents import check, find_documents, fix
from verify.citing.exports import FORMATS, bare_number, exported, leaves, macro_text, name, tree
from verify.citing.lookup import by_key, lookup
from verify.citing.summaries import as_endpoint, as_svg, badge_of
from verify.citing.values import ExactNumber, Value, values_of
from verify.errors import CitationError
from verify.evidence import RunRecord

RUN = record()
ABOUT = {"written_by": "a: head", "seed": 7}
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
@pytest.mark.parametrize("chosen", [list(values_of(RUN)), HOSTILE], ids=["run", "hostile"])
def test_a_reader_of_its_own_gives_every_value_back(form: str, chosen: list[Value]) -> None:
    """All texts, all numbers, nothing else."""
    read = READERS[form](FORMATS[form].write("", ABOUT, chosen))
    assert read == tree(ABOUT, chosen)
    assert len(list(leaves(read["texts"]))) == len(chosen)


def test_tables_of_csv_and_attributes_of_asciidoc() -> None:
    """A row or a line for each value, below one about the file."""
    rows = list(csv.reader(io.StringIO(exported(RUN, (), "csv"))))
    assert dict(rows[2:]) == {key: value.text for key, value in by_key(RUN).items()}
    head, *lines = exported(RUN, (), "asciidoc").splitlines()
    assert head.startswith("// sdpa-verify export --format asciidoc; sdpa-verify ")
    assert len(lines) == len(by_key(RUN))
    assert all(re.fullmatch(r":verify-[a-z0-9-]+: pass:c\[.*\]", line) for line in lines)
    assert any(line.startswith(":verify-score-variance-slope--estimate: ") for line in lines)


def test_typst_texts_are_quoted() -> None:
    """A quotation mark, a backslash or a control character ends no text."""
    text = FORMATS["typst"].write("", ABOUT, HOSTILE)
    assert 'e: "a \\"quoted\\" \\\\ text\\u{a}with = { } [ ] # \\u{1b}\\u{7f} \\u{202e} ' in text
    assert text.count("(") == text.count(")")


def test_the_words_of_a_key_lead_to_its_value() -> None:
    """With underscores, which every language takes in a name."""
    made = json.loads(exported(RUN, (), "json"))
    known = by_key(RUN)
    slope = made["texts"]["score_variance"]["slope"]
    assert slope["text"] == known["score-variance.slope"].text
    assert made["numbers"]["score_variance"]["slope"]["estimate"] == float(slope["estimate"])
    assert (made["about"]["seed"], len(made["about"]["digest"])) == (RUN.run.settings.seed, 64)
    assert all(word.isidentifier() for path, _ in leaves(made) for word in path)
    assert name("1st-of-all") == "n1st_of_all"


def test_figures_are_set_as_mathematics() -> None:
    """Minus signs, powers of ten and intervals; in text and in formulas alike."""
    key = f"{RUN.claims[0].id}.{RUN.claims[0].checks[0].id}"
    assert re.fullmatch(r"\\ensuremath\{\[[-0-9.]+,~[-0-9.]+\]\}", macro_text(lookup(RUN, f"{key}:interval")))
    assert "−" not in "".join(macro_text(value) for value in values_of(RUN))
    tiny = Value("k", "−1×10⁻⁶ [−31, 33]×10⁻⁶", (ExactNumber(Decimal("-1e-6")),) * 3, "k")
    # A space alone is none in a formula.
    assert macro_text(tiny) == r"\ensuremath{-1\times 10^{-6}\ [-31,\ 33]\times 10^{-6}}"
    assert macro_text(lookup(RUN, "score-variance:verdict")) == r"\verifywords{confirmed}"


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


def other() -> RunRecord:
    """Return results of another seed, whose digest is another."""
    settings = RUN.run.settings.model_copy(update={"seed": 2})
    return RUN.model_copy(update={"run": RUN.run.model_copy(update={"settings": settings})}).sealed()


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    "names", [(), ("score-variance.slope", "run"), ("score-variance.slope:estimate|.2f",)]
)
def test_an_exported_file_says_when_it_is_stale(tmp_path: Path, form: str, names: tuple[str, ...]) -> None:
    """By its head; written again it is what these results export, of the same names."""
    path = tmp_path / f"verify{FORMATS[form].suffix}"
    path.write_text(exported(other(), names, form), encoding="utf-8")
    assert find_documents([tmp_path]) == [path]
    assert check([path], other())[0].problems == []
    (document,) = check([path], RUN)
    (problem,) = document.problems
    assert problem.quote.key == " ".join(["sdpa-verify export", *names, "--format", form])
    assert "is of other results (digest " in problem.what
    fix([document])
    assert path.read_text(encoding="utf-8") == exported(RUN, names, form)
    assert check([path], RUN)[0].problems == []
    path.write_text(exported(RUN, names, form).replace("1.00", "1.01"), encoding="utf-8")
    assert len(check([path], RUN)[0].problems) == 1
    own = f"{path.read_text(encoding='utf-8')}\\newcommand\\mine{{1}}\n"
    path.write_text(own, encoding="utf-8")
    (document,) = check([path], RUN)
    assert "lines that are not written again" in document.problems[0].what
    assert fix([document]) == []
    assert path.read_text(encoding="utf-8") == own


def test_badges_say_when_they_are_stale(tmp_path: Path) -> None:
    """Both files of one; one of what these results do not have is an error."""
    claim = RUN.claim("score-variance")
    changed = claim.model_copy(update={"title": "Another", "checks": claim.checks[1:]}).sealed()
    shield = badge_of(RUN, changed)
    svg, endpoint = tmp_path / "score-variance.svg", tmp_path / "score-variance.json"
    svg.write_text(as_svg(shield), encoding="utf-8")
    endpoint.write_text(as_endpoint(shield).replace(shield.message, "refuted"), encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text("![score-variance](score-variance.svg)\n", encoding="utf-8")
    (tmp_path / "coverage.json").write_text('{"schemaVersion": 1, "label": "x", "isError": false}')
    assert [one.path.name for one in check([page], RUN)] == ["page.md", "score-variance.svg"]
    documents = check(find_documents([tmp_path]), RUN)
    assert {one.path.name: len(one.problems) for one in documents} == {
        "page.md": 0,
        "score-variance.svg": 1,
        "score-variance.json": 1,
    }
    fix(documents)
    assert all(one.problems == [] for one in check([svg, endpoint], RUN))
    with pytest.raises(CitationError, match="a sentence cannot be exported; give keys"):
        exported(RUN, ['run:claims|"{text} of them"'], "csv")
    with pytest.raises(CitationError, match="is a badge of 'score-variance', of which these results have no"):
        check([svg], bad(1, 1))
