"""The file of source statements, its mistakes in a line each, and what its parts have computed."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.tool import Ended
from verify.engine.catalogue import catalogue
from verify.engine.sources import compute, packs, read_sources
from verify.engine.statements import decide
from verify.errors import SourcesError
from verify.evidence import Outcome
from verify.evidence.load import command, load

GOOD = '''\
# a comment
[[source]]
id = "s"
title = "A lesson"
kind = "lesson"

[[statement]]
id = "s1"
source = "s"
text = """
[[statement]] inside text is no header
note = neither"""
claim = "one-claim"
note = "Because $x$."
noted = "holds"

[[statement.part]]
text = "It says so."
claim = "one-claim"
evidence = "verdict"
kind = "says"

[[statement.part]]
text = "It prints so."
claim = "one-claim"
evidence = "fact:a-fact"
kind = "prints"
printed = "0.880"
'''

# What to replace in the good file, by what; then the place and a word of the message.
MISTAKES = [
    ('id = "s"', "id = ", "", "is not TOML: Invalid value (at line 3"),
    ('title = "A lesson"\n', "", "source s, title", "is missing"),
    ('note = "Because $x$."\n', "", "statement s1", "note and noted go together"),
    ('note = "Be', 'notes = "Be', "statement s1, notes", "is no key"),
    ('id = "s1"\n', "", "statement 1, id", "is missing"),
    ('kind = "says"', 'kind = "says"\noutcome = "holds"', "statement s1, part 1, outcome", "is no key"),
    ('claim = "one-claim"\nnote', "claim = 3\nnote", "statement s1, claim", "valid string"),
    ('id = "s1"', 'id = "S 1"', "statement S 1, id", "should match pattern"),
    ('text = "It says so."', 'text = " "', "statement s1, part 1, text", "must not be empty"),
    ("$x$", "$x", "statement s1, note", "dollar"),
    ('source = "s"', 'source = "t"', "", "statement s1 is of the source t; add a [[source]]"),
    ('claim = "one-claim"\nnote', 'claim = "x"\nnote', "statement s1", "decide its parts"),
    ('"verdict"', '"Verdict"', "statement s1, part 1, evidence", "should match pattern"),
    ('"verdict"', '"fact:a-fact"', "statement s1, part 1", "a fact is a figure"),
    ('"fact:a-fact"', '"verdict"', "statement s1, part 2", "is decided by a fact"),
    ('kind = "says"', 'kind = "sings"', "statement s1, part 1, kind", "'prints'"),
    ('"0.880"', '"about one"', "statement s1, part 2, printed", "decimal number"),
    ('printed = "0.880"', "", "statement s1, part 2", "printed is missing"),
    ('"fact:a-fact"', '"control:wrong"', "statement s1, part 2", "to compare with"),
    ('kind = "says"', 'kind = "says"\nabout = "yes"', "statement s1, part 1, about", "valid boolean"),
    ("[[statement.part]]", "[[statement.parts]]", "statement s1, parts", "is no key"),
    (GOOD[GOOD.index("\n[[statement.part]]") :], "part = []", "statement s1", "decide its parts"),
    ('"It says so."', '"It says 7."', "statement s1, part 1", "the number 7"),
    ("[[source]]", "[source]", "source", "valid tuple"),
    (GOOD, GOOD + GOOD[GOOD.index("[[statement]]\nid") :], "", "two statements have the id s1"),
    (GOOD, GOOD + GOOD[: GOOD.index("[[statement]]\nid")], "", "two sources have the id s"),
]


def message_for(path: Path) -> str:
    """Return the text of the error that reading ``path`` raises; it is one line and names the file."""
    with pytest.raises(SourcesError) as raised:
        read_sources(path)
    message = str(raised.value)
    assert "\n" not in message
    assert message.startswith(f"{path}: ")
    return message


@pytest.mark.parametrize(("old", "new", "place", "word"), MISTAKES)
def test_a_mistake_is_reported_by_file_and_place(
    tmp_path: Path, old: str, new: str, place: str, word: str
) -> None:
    """Each mistake gives exactly one line, with the statement, part and key to correct."""
    assert old in GOOD
    path = tmp_path / "mine.toml"
    path.write_text(GOOD.replace(old, new, 1), encoding="utf-8")
    message = message_for(path)
    assert message.startswith(f"{path}: {place}")
    assert word in message


def test_a_file_that_cannot_be_read_as_text_is_reported(tmp_path: Path) -> None:
    """A missing file, a folder and bytes that are not UTF-8 each give one line."""
    assert "cannot be read" in message_for(tmp_path / "none.toml")
    assert "cannot be read" in message_for(tmp_path)
    path = tmp_path / "latin.toml"
    path.write_bytes(b"# fine\n# caf\xe9\n")
    assert "line 2: is not text in UTF-8" in message_for(path)


def test_a_pack_is_read_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pack has what it says; a file of that name goes before it, and is the user's own."""
    book = read_sources(Path("introductions"))
    assert list(packs()) == [book.pack] == ["introductions"]
    assert len(book.sources) >= 10
    assert len(book.statements) >= 25
    assert all(source.url for source in book.sources)
    assert "sqrt-scaling" in book.claims
    monkeypatch.chdir(tmp_path)
    Path("introductions").write_text(GOOD, encoding="utf-8")
    own = read_sources(Path("introductions"))
    assert (own.pack, own.claims) == (None, ("one-claim",))


def test_a_claim_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    """A mistyped id is a mistake, not an open statement; the nearest id is offered."""
    path = tmp_path / "mine.toml"
    path.write_text(GOOD, encoding="utf-8")
    book = read_sources(path)
    book.refuse_unknown_claims({"one-claim"})
    with pytest.raises(SourcesError) as raised:
        book.refuse_unknown_claims({"on-claim", "another"})
    assert str(raised.value) == (
        f"{path}: statement s1, part 1: there is no claim 'one-claim'; did you mean 'on-claim'?"
    )


HEAD = """[[source]]
id = "s"
title = "Some page"
kind = "article"

[[statement]]
id = "s1"
source = "s"
text = "{text}"

[[statement.part]]
text = "{text}"
kind = "prints"
"""


def written(folder: Path, text: str, rest: str) -> Path:
    """Return a file of sources with one statement of one part."""
    path = folder / "mine.toml"
    path.write_text(HEAD.replace("{text}", text) + rest + "\n", encoding="utf-8")
    return path


def test_values_are_those_of_numpy() -> None:
    """Softmax, entropy, dot products, variances and scales, each by another route."""
    scores = np.array([2.5, 1.0, -0.3])
    weights = np.exp(scores) / np.exp(scores).sum()
    entropy = -(weights * np.log(weights)).sum()
    assert compute("softmax([2.5, 1, -0.3], 2)").value == pytest.approx(weights[1], rel=1e-14)
    assert compute("softmax([5, 2, -0.6]/sqrt(d_k), 1)", 4).value == pytest.approx(weights[0], rel=1e-14)
    assert compute("entropy([2.5, 1.0, -0.3])").value == pytest.approx(entropy, rel=1e-14)
    assert compute("H([2.5, 1, -0.3])/log(2)").value == pytest.approx(entropy / math.log(2), rel=1e-14)
    assert compute("[0.1, 2]·[3, 4]").value == 8.3
    assert compute("[1, 2, 3, 4]·[1, 1, 1, 1]/sqrt(4)").value == 5
    assert compute("(2 [1, 2] - [3, 1])·[1, 1]").value == 2
    assert compute("Var(q·k)", 64).value == compute("Var(q·k)/sd(q·k)^2*d_k", 64).value == 64
    assert compute("sd(2 q·k)", 64).value == 16
    assert compute("Var(q·k/d_k)", 64).value == 1 / 64
    assert compute("E(|q·k|²)", 3).value == 3
    assert compute("E(score^4)", 2).value == 3 * 2**2 + 6 * 2


SCALE = 'compute = "sqrt(Var(q·k))"\nd_k = 64'
ROOT_512 = SCALE.replace("64", "512")
SOFTMAX = 'compute = "softmax([2, 1], 1)"'
ABOUT = "about = true\n"


@pytest.mark.parametrize(
    ("kind", "printed", "table", "outcome"),
    [
        ("prints", "8", SCALE, "holds"),
        ("prints", "9", SCALE, "misprinted"),
        ("prints", "73.1%", SOFTMAX, "holds"),
        ("prints", "73.2%", SOFTMAX, "misprinted"),
        ("says", "8", SCALE, "holds"),
        ("says", "9", SCALE, "wrong"),
        ("says", "9", ABOUT + SCALE, "wrong"),
        ("says", "8.4", ABOUT + SCALE, "wrong"),
        # √512 is 22.627: roughly 22, and roughly 23.
        *(("prints", printed, ABOUT + ROOT_512, "holds") for printed in ("22", "23", "22.6", "22.7")),
        *(
            ("prints", printed, ABOUT + ROOT_512, "misprinted")
            for printed in ("20", "21", "24", "22.5", "22.8")
        ),
    ],
)
def test_a_statement_is_decided_without_code(
    tmp_path: Path, kind: str, printed: str, table: str, outcome: str
) -> None:
    """To the digits that are printed, about to less than a unit of the last; its reason says how.

    What is only said comes out wrong where it is not so, and not misprinted.
    """
    path = written(tmp_path, f"With $d_k$ of 64 or 512, or scores 2 and 1, it is {printed}.", "")
    text = path.read_text(encoding="utf-8").replace('kind = "prints"', f'kind = "{kind}"')
    given = 'given = ["64", "512", "2"]\n'
    text = (
        text.replace('source = "s"\n', f'source = "s"\n{given}') + f'{given}printed = "{printed}"\n{table}\n'
    )
    path.write_text(text, encoding="utf-8")
    (statement,) = decide(read_sources(path), ())
    assert statement.outcome is Outcome(outcome)
    (part,) = statement.parts
    assert part.evidence == "computed"
    assert str(part.computed) in part.reason
    assert statement.note == part.reason
    assert ("less than one unit" in part.reason) is (printed in {"22", "22.7"})


PRINTED = 'printed = "8"\n'


@pytest.mark.parametrize(
    ("text", "rest", "what"),
    [
        ("One divides by 9.", PRINTED + SCALE, "has the number 9, which nothing decides"),
        ("8, with 32 of them", PRINTED + SCALE, "has the number 32, which"),
        ("8", PRINTED + SCALE.replace("Var", "Vra"), "no function 'Vra'; did you mean 'Var'"),
        ("8", PRINTED + SCALE.replace("d_k = 64", ""), "needs a dimension; add d_k = 64"),
        ("8", PRINTED + SCALE.replace("64", "0"), "d_k"),
        ("8", PRINTED + SCALE.replace("64", "64.5"), "valid integer"),
        ("8", PRINTED + SCALE.replace("q·k", "n q·k"), "has n, which has no value"),
        ("8", PRINTED + SCALE.replace("Var(q·k)", "q·k"), "q·k is random, and stands outside a mean"),
        ("8", PRINTED + 'compute = { what = "scale" }', "valid string"),
        ("8", PRINTED + SCALE + '\nclaim = "sqrt-scaling"', "have no place beside compute"),
        ("8", SCALE, "add the figure that is to be what is computed"),
        ("8", PRINTED, "claim"),
    ],
)
def test_mistakes_are_named_with_their_place(tmp_path: Path, text: str, rest: str, what: str) -> None:
    """Before anything is drawn."""
    with pytest.raises(SourcesError, match=r"mine\.toml: statement s1, part 1.*: ") as caught:
        read_sources(written(tmp_path, text, rest))
    assert what in str(caught.value)


def test_a_number_of_a_text_is_bound_to_its_evidence(tmp_path: Path) -> None:
    """A claim decides what it says, not any number beside it; what is only mentioned is listed."""
    rest = 'claim = "sqrt-scaling"\nevidence = "verdict"'
    path = written(tmp_path, "With 64 one divides by 9.", rest)
    says = path.read_text(encoding="utf-8").replace('"prints"', '"says"')
    says = says.replace('source = "s"\n', 'source = "s"\nclaim = "sqrt-scaling"\n')
    path.write_text(says, encoding="utf-8")
    with pytest.raises(SourcesError, match="has the number 64, which nothing decides"):
        read_sources(path)
    path.write_text(says + 'given = ["64", "9"]\n', encoding="utf-8")
    assert len(read_sources(path).statements) == 1
    assert "sqrt-scaling" in catalogue()


def test_outcomes_are_printed_and_fail_the_run(tmp_path: Path, tool: Callable[..., Ended]) -> None:
    """Of statements of the user's own."""
    path = written(tmp_path, "With $d_k = 64$ one divides by 9.", f'printed = "9"\n{SCALE}')
    given = ("--sources", path, "--profile", "quick", "--out", tmp_path, "--fresh")
    ended = tool("run", "worked-dot-products", *given)
    assert ended.status == 1
    assert "s1: misprinted. sqrt(Var(q·k)) at d_k = 64 is 8, not 9." in ended.out
    record = load(tmp_path / "results.json")
    assert record.run.own_sources
    assert record.exit_status == 1
    assert command(record).endswith("--sources FILE --seed 20170612 --profile quick")
