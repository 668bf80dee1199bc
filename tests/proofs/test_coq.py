"""Coq accepts each statement with its proof, and none with a factor or term more, or a hypothesis less."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from subprocess import run

import pytest

from verify.proofs.__main__ import AXIOMS, HEAD, compiled, scripts, statement
from verify.proofs import SOURCES
from verify.proofs.statement import recorded

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("coqc") is None, reason="Coq is not installed here"),
]


def mutants(says: str) -> Iterator[str]:
    """Yield a theorem with its end changed, and with each of its laws, independence and conditions gone."""
    *lines, last = says.split("\n")
    depth = [last[:at].count("(") - last[:at].count(")") for at in range(len(last))]
    *_, sign = (match for match in re.finditer(r" (=|<=|>=) ", last) if not depth[match.start()])
    less, left, right = sign[1] == "<=", last[: sign.start()], last[sign.end() : -1]
    ends = [f"{right} {'-' if less else '+'} 1"]
    ends += [f"({right}) * {'/ 2' if less else '2'}"] * (right != "0")
    for end in ends:
        yield "\n".join([*lines, f"{left}{sign[0]}{end}."])
    for line in lines:
        if re.match(r"  \(forall|  independent", line):
            yield says.replace(f"{line}\n", "  True ->\n")


def test_coq_accepts_all_statements_and_no_mutant(tmp_path: Path) -> None:
    """One session tries all of them; what is printed from the claims is accepted there as well."""
    statements, proofs = {claim: statement(claim) for claim in scripts()}, scripts()
    axioms = compiled(tmp_path, statements)
    assert len(axioms) == len(statements)
    assert all(set(used) <= AXIOMS for used in axioms)
    names = {claim: proof["theorem"] for claim, proof in recorded()["claims"].items()}
    tried = {
        f"{names[claim]}_{number}": (claim, says)
        for claim, whole in statements.items()
        for number, says in enumerate([whole, *mutants(whole)])
    }
    text = HEAD.format(" ".join(path.stem for path in SOURCES.glob("*.v")))
    for name, (claim, says) in tried.items():
        theorem = re.sub(r"\ATheorem \w+", f"Theorem {name}", says)
        text += f"{theorem}\nProof.\n{proofs[claim]}\nQed.\nAbort All.\nCheck {name}.\n"
    answer = run(
        [str(shutil.which("coqtop")), "-q", "-R", ".", "SDPA"],
        input=text,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=1500,
    )
    accepted = {name for name in tried if re.search(rf"^{name}$", answer.stdout, flags=re.M)}
    assert accepted == {f"{name}_0" for name in names.values()}
    assert len(tried) > 4 * len(names)
