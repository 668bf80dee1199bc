"""Statements: read from their file, mistakes in a line each, and decided by the evidence of a run alone."""

from pathlib import Path

import numpy as np
import pytest

from tests.report.builders import check_that_is, control_that_is
from tests.report.records import SCORE_VARIANCE
from tests.tool import Tool
from verify.engine.statements import PartEntry, SourceBook, compute, decide, packs, read_sources
from verify.errors import SourcesError
from verify.evidence import ClaimRecord, Outcome, Proof, RunRecord, Statement, Verdict
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
    ('id = "s1"', 'id = "S 1"', "statement S 1, id", "should match pattern"),
    ('text = "It says so."', 'text = " "', "statement s1, part 1, text", "must not be empty"),
    ("$x$", "$x", "statement s1, note", "dollar"),
    ('source = "s"', 'source = "t"', "", "statement s1 is of the source t; add a [[source]]"),
    ('claim = "one-claim"\nnote', 'claim = "x"\nnote', "statement s1", "decide its parts"),
    ('"verdict"', '"fact:a-fact"', "statement s1, part 1", "a fact is a figure"),
    ('"fact:a-fact"', '"verdict"', "statement s1, part 2", "is decided by a fact"),
    ('"0.880"', '"about one"', "statement s1, part 2, printed", "decimal number"),
    ('printed = "0.880"', "", "statement s1, part 2", "printed is missing"),
    ('"fact:a-fact"', '"control:wrong"', "statement s1, part 2", "to compare with"),
    ("[[statement.part]]", "[[statement.parts]]", "statement s1, parts", "is no key"),
    (GOOD[GOOD.index("\n[[statement.part]]") :], "part = []", "statement s1", "decide its parts"),
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
    """Softmax, dot products, variances and scales, each by another route."""
    scores = np.array([2.5, 1.0, -0.3])
    weights = np.exp(scores) / np.exp(scores).sum()
    assert compute("softmax([2.5, 1, -0.3], 2)").value == pytest.approx(weights[1], rel=1e-14)
    assert compute("softmax([5, 2, -0.6]/sqrt(d_k), 1)", 4).value == pytest.approx(weights[0], rel=1e-14)
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
    path.write_text(f'{text}printed = "{printed}"\n{table}\n', encoding="utf-8")
    (statement,) = decide(read_sources(path), ())
    assert statement.outcome is Outcome(outcome)
    (part,) = statement.parts
    assert part.evidence == "computed"
    assert str(part.computed) in part.reason
    assert statement.note == part.reason
    assert ("less than one unit" in part.reason) is (printed in {"22", "22.7"})


PRINTED = 'printed = "8"\n'


def test_mistakes_are_named_with_their_place(tmp_path: Path) -> None:
    """Before anything is drawn."""
    for text, rest, what in (
        ("8", PRINTED + SCALE.replace("Var", "Vra"), "no function 'Vra'; did you mean 'Var'"),
        ("8", PRINTED + SCALE.replace("d_k = 64", ""), "needs a dimension; add d_k = 64"),
        ("8", PRINTED + SCALE.replace("64", "64.5"), "valid integer"),
        ("8", PRINTED + SCALE.replace("q·k", "n q·k"), "has n, which has no value"),
        ("8", PRINTED + SCALE.replace("Var(q·k)", "q·k"), "q·k is random, and stands outside a mean"),
        ("8", PRINTED + SCALE + '\nclaim = "sqrt-scaling"', "give claim and evidence, or compute"),
        ("One divides by 9.", PRINTED + SCALE, "does not have the number 8, which is printed"),
        ("8", PRINTED, "claim"),
    ):
        with pytest.raises(SourcesError, match=r"mine\.toml: statement s1.*: ") as caught:
            read_sources(written(tmp_path, text, rest))
        assert what in str(caught.value)


def test_outcomes_are_printed_and_fail_the_run(tmp_path: Path, tool: Tool) -> None:
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


CONFIRMED, APPROXIMATE, REFUTED, UNDECIDED = Verdict


def claim(verdict: Verdict = CONFIRMED, status: Proof = Proof.DERIVED) -> ClaimRecord:
    """Return the record of a claim with one check that comes out so, and a wrong version that is rejected."""
    derivation = SCORE_VARIANCE.derivation.model_copy(update={"status": status})
    checks, controls = (check_that_is(verdict, "it"),), (control_that_is(REFUTED, "wrong"),)
    changed = {
        "id": "one-claim",
        "derivation": derivation,
        "checks": checks,
        "controls": controls,
        "facts": (),
    }
    return SCORE_VARIANCE.model_copy(update=changed)


def part(evidence: str = "verdict", kind: str = "", *, about: bool = False) -> PartEntry:
    """Return a part decided by ``evidence``; a fact is a figure, and printed."""
    is_figure = evidence.startswith("fact")
    content = {"kind": kind or ("prints" if is_figure else "says"), "printed": "1" if is_figure else None}
    return PartEntry.model_validate(
        {"text": "T", "claim": "one-claim", "evidence": evidence, "about": about, **content}
    )


def decided(parts: list[PartEntry], record: ClaimRecord, noted: Outcome = Outcome.HOLDS) -> Statement:
    """Return the only statement of a book that has ``parts``, decided by a claim."""
    ids, content = {"id": "s1", "source": "s", "claim": "one-claim"}, [part.model_dump() for part in parts]
    entry = {**ids, "text": "T", "note": "The truth.", "noted": noted, "part": content}
    source = {"id": "s", "title": "T", "kind": "lesson"}
    [statement] = decide(SourceBook.model_validate({"source": [source], "statement": [entry]}), (record,))
    return statement


def test_approximately_is_enough_only_where_the_source_says_about() -> None:
    """A claim within tolerance but not exact satisfies only a statement that claims no more."""
    for verdict, about, outcome in (
        (CONFIRMED, False, Outcome.HOLDS),
        (APPROXIMATE, False, Outcome.WITH_CONDITIONS),
        (APPROXIMATE, True, Outcome.HOLDS),
        (REFUTED, True, Outcome.WRONG),
        (UNDECIDED, True, Outcome.OPEN),
    ):
        assert decided([part(about=about)], claim(verdict=verdict)).outcome is outcome


def test_what_a_refuted_control_asserts_is_false() -> None:
    """A part may assert a claim's wrong version, in words or as something on the page that is no figure."""
    record = claim()
    assert decided([part("control:wrong")], record).outcome is Outcome.WRONG
    assert decided([part("control:wrong", kind="prints")], record).outcome is Outcome.MISPRINTED


def test_a_note_for_another_outcome_gives_way_to_the_reasons() -> None:
    """What was written for one outcome is not printed beside another; the outcome does not depend on it."""
    record = claim()
    for noted in Outcome:
        statement = decided([part(), part("control:wrong")], record, noted=noted)
        assert statement.outcome is Outcome.WITH_CONDITIONS
        assert [each.holds for each in statement.parts] == [True, False]
        if noted is Outcome.WITH_CONDITIONS:
            assert statement.note == "The truth."
        else:
            assert statement.note == (
                "By this run, the claim one-claim is confirmed. "
                "By this run, the negative control wrong of one-claim is refuted."
            )


@pytest.mark.parametrize("evidence", ["verdict", "check:c", "control:w", "fact:f"])
def test_a_failed_derivation_leaves_everything_open(evidence: str) -> None:
    """A claim whose derivation failed has no evidence, which is no mistake of the statement's."""
    statement = decided([part(evidence)], claim(status=Proof.FAILED))
    assert statement.outcome is Outcome.OPEN
    assert "derivation of one-claim failed" in statement.parts[0].reason


@pytest.mark.parametrize("evidence", ["check:none", "control:none", "fact:none"])
def test_evidence_that_a_claim_lacks_is_an_error(evidence: str) -> None:
    """The message names the statement, the claim and the id, in one line."""
    where = r"^statement s1, part 1: the claim one-claim has no \w+ 'none'; .*$"
    with pytest.raises(SourcesError, match=where):
        decided([part(evidence)], claim())


def test_a_real_run_decides_every_statement_again(reference: RunRecord) -> None:
    """As the reference says, whose outcomes the oracle holds."""
    assert decide(read_sources(), reference.claims) == reference.statements
