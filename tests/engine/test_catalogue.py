"""The catalogue: it finds every claim, and names every file that it must refuse."""

import re
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from textwrap import indent

import pytest

import verify
from tests.tool import examples
from verify.engine.catalogue import catalogue, look_up, read, shipped
from verify.engine.preparing import Work
from verify.engine.runner import settings
from verify.engine.schedule import Schedule
from verify.errors import ClaimError
from verify.evidence import ClaimRecord, Proof
from verify.executors.workers import Workers

Write = Callable[..., Path]


def test_shipped_claims_are_known_by_their_files() -> None:
    """Without loading any: the ids are those of the claims, and modules that chapters share are none."""
    assert all(claim.id == name for name, claim in catalogue().items())
    assert not {"chapters", "shared", "--init--"} & set(shipped())


@pytest.mark.slow
def test_claims_of_the_user_come_last(claim_file: Write) -> None:
    """Two files may even share their name, and one may hold a dataclass, which needs its own module."""
    future = "from __future__ import annotations\nfrom dataclasses import dataclass\n"
    first = claim_file(
        ("from verify.spec", f"{future}from verify.spec"),
        ("DIMENSIONS = ", "@dataclass\nclass Mine:\n    size: int\n\nDIMENSIONS = "),
    )
    second = claim_file(("Claim(\n", 'Claim(\n    id="doubled-again",\n'), name="other/doubled_keys.py")
    known, _ = look_up([first, second])
    assert list(known)[-2:] == ["doubled-again", "doubled-keys"]
    assert {known[name].chapter for name in ("doubled-again", "doubled-keys")} == {"user"}


MALFORMED = 'assumptions=__import__("verify.spec").spec.assume(**{"In de": "They are."}), meaning='

# What is replaced in the file by what; the text in whose line the mistake is found; a part of the message.
BROKEN = [
    pytest.param(("=derived.end)", "=derived.end])"), "end])", "does not match opening", id="syntax"),
    pytest.param(("CLAIM = Claim", "MINE = Claim"), "", "defines no CLAIM; end the file with", id="no-claim"),
    pytest.param(
        ("Claim(\n", 'Claim(\n    id="Two Keys",\n'),
        "CLAIM =",
        "claim id 'Two Keys': use lower-case",
        id="id",
    ),
    pytest.param(("meaning=", MALFORMED), "In de", "id: String should match", id="slug"),
    pytest.param(("meaning=", "meanning="), "CLAIM", "unexpected keyword argument 'meanning'", id="field"),
    pytest.param(
        ("DIMENSIONS = ", "DIMENSIONS = 1 / 0  # "), "1 / 0", "ZeroDivisionError: division", id="raises"
    ),
]


@pytest.mark.parametrize(("change", "where", "message"), BROKEN)
def test_a_broken_claim_file_is_reported_by_file_and_line(
    claim_file: Write, change: tuple[str, str], where: str, message: str
) -> None:
    """One line names the file, the line and what is wrong there."""
    path = claim_file(change)
    lines = path.read_text().splitlines()
    line = next((f" line {n}:" for n, text in enumerate(lines, 1) if where and where in text), "")
    with pytest.raises(ClaimError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}:{line} ")
    assert message in str(caught.value)


def settle_here(path: Path) -> ClaimRecord:
    """Return the record of a file's claim, settled in this process."""
    (settled,) = Schedule([Work(read(path), settings(profile="quick"))], Workers(1)).run()
    return settled.record


def test_a_false_line_ends_the_claim(claim_file: Write) -> None:
    """It is on record as failed, with the line and what it is false under; nothing is drawn."""
    record = settle_here(claim_file(("(4 * d,", "(5 * d,")))
    assert record.derivation.status is Proof.FAILED
    assert "line 2: under mean 0 and variance 1" in record.derivation.reason
    assert record.checks == ()


FIGURES = 'def figures(findings):\n    return findings.matching("d*")\n\nCLAIM ='

# What is replaced by what, the text and the function where it shows, if that is known, and the message.
BROKEN_INSIDE = [
    pytest.param(("for size in DIMENSIONS:", "for size in ():"), "", "0 checks match", id="no-checks"),
    pytest.param(("    yield Fit(", "    yield repr("), "", "doubled-keys: ", id="no-check"),
    pytest.param(("return Chain", "return 1 or Chain"), "", "returns no chain", id="no-chain"),
    pytest.param(("equals=2 * d,", "equals=2 * e,"), "experiment", "NameError: name 'e'", id="raises"),
    pytest.param(("Var(2 * score)", "Var(score * q1)"), "derive", "NameError: name 'q1'", id="derive"),
    pytest.param(
        ("CLAIM =", FIGURES), "figures", "no check's id matches 'd*'", id="figures", marks=pytest.mark.slow
    ),
]


@pytest.mark.parametrize(("change", "function", "message"), BROKEN_INSIDE)
def test_a_claim_that_fails_while_it_runs_is_reported_by_its_id(
    claim_file: Write, change: tuple[str, str], function: str, message: str
) -> None:
    """In one line, with that of the file and the function, whether Python complains or a call of ours."""
    path = claim_file(change)
    with pytest.raises(ClaimError, match=r"^claim doubled-keys[:,] ") as caught:
        settle_here(path)
    said = str(caught.value)
    assert message in said
    assert "\n" not in said
    if function:
        wrong = {"experiment": "2 * e", "derive": "q1", "figures": "matching"}[function]
        line = next(n for n, text in enumerate(path.read_text().splitlines(), 1) if wrong in text)
        assert said.startswith(f"claim doubled-keys: line {line}, in {function}: {message}")
        assert said.endswith(f"; correct the claim file {path}")


def test_a_path_that_is_no_claim_file_is_reported(tmp_path: Path) -> None:
    """A missing file, a folder, and a file that is no Python."""
    for name, message in (
        ("missing.py", "cannot be read (No such file or directory); give --claims the path"),
        (".", "is a folder; give one claim file"),
        ("mine.txt", "ends in .py"),
    ):
        (tmp_path / "mine.txt").write_text("A claim.")
        with pytest.raises(ClaimError) as caught:
            look_up([tmp_path / name])
        assert str(caught.value).startswith(f"{tmp_path / name}: ")
        assert message in str(caught.value)


def with_module_beside(folder: Path, name: str, length: str) -> Path:
    """Write a claim file whose quantity is in a module beside it, that of another claim under one name."""
    folder.mkdir(exist_ok=True)
    text = examples()["key_lengths.py"]
    head, rest = text.split("LENGTH = Dot(k, j, k, j)\n")
    module = f"from verify.spec import Dot, j, k\nimport deeper\n\nLENGTH = {length}\n"
    (folder / "lengths.py").write_text(module, encoding="utf-8")
    (folder / "deeper.py").write_text("HERE = True\n", encoding="utf-8")
    (folder / "statistics.py").write_text("raise ValueError\n", encoding="utf-8")
    path = folder / name
    path.write_text(f"{head}import statistics\nfrom lengths import LENGTH\n{rest}", encoding="utf-8")
    return path


def right_and_wrong(folder: Path) -> list[Path]:
    """Return two claim files with modules beside them that have one name, one of them wrong."""
    return [
        with_module_beside(folder / "right", "key_lengths.py", "Dot(k, j, k, j)"),
        with_module_beside(folder / "wrong", "key_lengths_too.py", "2 * Dot(k, j, k, j)"),
    ]


def test_a_claim_file_imports_modules_beside_it(tmp_path: Path) -> None:
    """Each its own, though they have one name, and never in Python's place; edited ones are read again."""

    def length(path: Path) -> str:
        return str(read(path).claim.derived().start)

    paths = right_and_wrong(tmp_path)
    assert [length(path) for path in paths] == ["E(Dot(k, j, k, j))", "E(2*Dot(k, j, k, j))"]
    assert dict(read(paths[0]).beside).keys() == {"lengths", "deeper"}
    with_module_beside(paths[0].parent, paths[0].name, "3 * Dot(k, j, k, j)")
    assert length(paths[0]) == "E(3*Dot(k, j, k, j))"


def test_a_folder_of_the_programs_own_stays_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program beside its claim file finds its modules before others as it did."""
    monkeypatch.syspath_prepend(tmp_path)
    before = list(sys.path)
    read(with_module_beside(tmp_path, "key_lengths.py", "Dot(k, j, k, j)"))
    assert sys.path == before


def test_a_module_beside_is_imported_at_the_top(tmp_path: Path) -> None:
    """In a function it would be missing in the keys of the store."""
    path = with_module_beside(tmp_path, "key_lengths.py", "Dot(k, j, k, j)")
    late = "    from lengths import LENGTH\n\n    return Chain"
    text = path.read_text().replace("from lengths import LENGTH\n", "").replace("    return Chain", late)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(
        ClaimError, match=r"line \d+, in derive: ModuleNotFoundError: No module named 'lengths'"
    ):
        settle_here(path)


@pytest.mark.slow
@pytest.mark.parametrize("threads", [False, True])
def test_modules_beside_a_claim_file_go_with_it(tmp_path: Path, threads: bool) -> None:
    """To other processes, and to an executor."""
    executor = ThreadPoolExecutor(2) if threads else None
    record = verify.run(right_and_wrong(tmp_path), profile="quick", workers=2, executor=executor)
    assert [claim.verdict for claim in record.claims] == ["confirmed", "undecided"]


@pytest.mark.slow
def test_a_program_that_cannot_be_pickled_is_drawn_where_its_claim_is(tmp_path: Path) -> None:
    """As one of a function in a function; beside another claim, and with the same digests as alone."""
    head, program, rest = re.split(
        r"^(?=def one_pass|def derive)", examples()["one_pass.py"], flags=re.MULTILINE
    )
    made = f"def made():\n{indent(program, '    ')}    return one_pass\n\n\none_pass = made()\n\n\n"
    path = tmp_path / "one_pass.py"
    path.write_text(f"{head}{made}{rest}", encoding="utf-8")
    together = verify.run([path, "score-mean"], profile="quick", workers=2, store=False)
    alone = verify.run([path], profile="quick", workers=1, store=False)
    assert together.claim("one-pass").verdict == "confirmed"
    assert together.claim("one-pass").digest == alone.claims[0].digest
