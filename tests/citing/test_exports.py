"""Values for other programs: every form is read back by a reader of its own, and says when it is stale."""

import json
import re
from decimal import Decimal
from pathlib import Path

import pytest
import yaml

from tests.auditing.records import bad
from tests.report.records import record
from verify.citing import exports
from verify.citing.documents import check, find_documents, fix
from verify.citing.exports import FORMATS, bare_number, exported, macro_text
from verify.citing.values import by_key
from verify.citing.exports import as_svg
from verify.citing.values import ExactNumber, Value, values_of
from verify.errors import CitationError

RUN = record()


def test_texts_and_numbers_are_by_names_that_every_language_takes() -> None:
    """A key with underscores, for readers of JSON and of YAML alike."""
    made = json.loads(exported(RUN, (), "json"))
    assert made["texts"] == yaml.safe_load(exported(RUN, (), "json"))["texts"]
    known, name = by_key(RUN), "score_variance_slope"
    assert made["texts"][name] == known["score-variance.slope"].text
    assert made["numbers"][f"{name}_estimate"] == float(made["texts"][f"{name}_estimate"])
    assert (made["numbers"]["run_seed"], len(made["about"]["digest"])) == (RUN.run.settings.seed, 64)
    assert all(name.isidentifier() for name in made["texts"])
    assert [*made["texts"].values()] == [value.text for value in known.values()]


def test_no_value_hides_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a claim's own part has the name of a check, and where a name starts with a digit."""
    keys = ("a-b.checks:x", "a-b.checks.x", "1st", "a-b:digest", "a-b.digest")
    monkeypatch.setattr(exports, "chosen", lambda *_: [Value(key, key, (), "a") for key in keys])
    names = list(json.loads(exported(RUN, (), "json"))["texts"])
    assert names == ["a_b_checks_x", "a_b_checks_x_", "_1st", "a_b_digest", "a_b_digest_"]


def test_figures_are_set_as_mathematics() -> None:
    """Minus signs, powers of ten and intervals; in text and in formulas alike."""
    key = f"{RUN.claims[0].id}.{RUN.claims[0].checks[0].id}"
    assert re.fullmatch(r"\\ensuremath\{\[[-0-9.]+,~[-0-9.]+\]\}", macro_text(by_key(RUN)[f"{key}:interval"]))
    assert "−" not in "".join(macro_text(value) for value in values_of(RUN))
    tiny = Value("k", "−1×10⁻⁶ [−31, 33]×10⁻⁶", (ExactNumber(Decimal("-1e-6")),) * 3, "k")
    # A space alone is none in a formula.
    assert macro_text(tiny) == r"\ensuremath{-1\times 10^{-6}\ [-31,\ 33]\times 10^{-6}}"
    assert macro_text(by_key(RUN)["score-variance:verdict"]) == r"\verifywords{confirmed}"
    # As programs write them, with all digits; an interval and a percentage are none.
    for text, bare in (
        ("−6.10×10⁻⁷", "-6.10E-7"),
        ("92\u202f414", "92414"),
        ("99.4%", "None"),
        ("[1, 2]", "None"),
    ):
        assert str(bare_number(Value("k", text, (ExactNumber(Decimal(1)),), "k"))) == bare


CLAIM = RUN.claim("score-variance")
CHANGED = CLAIM.model_copy(update={"title": "Another", "checks": CLAIM.checks[1:]}).sealed()
OTHER = RUN.model_copy(update={"claims": (CHANGED, *RUN.claims[1:])}).sealed()


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("names", [(), ("score-variance", "run"), ("score-variance:verdict",)])
def test_an_exported_file_says_when_it_is_stale(tmp_path: Path, form: str, names: tuple[str, ...]) -> None:
    """With the command that writes it again."""
    path = tmp_path / f"verify{FORMATS[form]}"
    path.write_text(exported(OTHER, names, form), encoding="utf-8")
    assert find_documents([tmp_path]) == [path]
    assert check([path], OTHER)[0].problems == []
    (document,) = check([path], RUN)
    (problem,) = document.problems
    command = " ".join(["sdpa-verify export", *names, "--format", form])
    assert problem.what.startswith("is of other results (digest ")
    assert problem.what.endswith(f"); write it again: {command} --out {path}")
    assert fix([document]) == []


def test_badges_say_when_they_are_stale(tmp_path: Path) -> None:
    """Also where a page names them, and where these results have no such claim."""
    svg, page = tmp_path / "score-variance.svg", tmp_path / "page.md"
    svg.write_text(as_svg(CHANGED), encoding="utf-8")
    page.write_text("![score-variance](score-variance.svg)\n", encoding="utf-8")
    documents = check([page], RUN)
    assert [document.path.name for document in documents] == ["page.md", "score-variance.svg"]
    assert f"sdpa-verify badge score-variance --out {tmp_path}" in documents[1].problems[0].what
    assert len(check([svg], bad(1, 1))[0].problems) == 1
    svg.write_text(as_svg(CLAIM), encoding="utf-8")
    assert check([svg], RUN)[0].problems == []


def test_a_sentence_is_no_name_of_an_export() -> None:
    """Its head could not be read again."""
    with pytest.raises(CitationError, match="a sentence cannot be exported; give keys"):
        exported(RUN, ['run:claims|"{text} of them"'], "json")
