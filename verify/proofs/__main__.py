"""Proves claims in Coq: ``python -m verify.proofs [FOLDER] [--write]``."""

import argparse
import importlib
import json
import re
import shutil
import sys
import tempfile
import tomllib
from pathlib import Path
from subprocess import check_output, run
from typing import Any

import verify.claims
from verify.files import write_whole
from verify.proofs import RECORD, SOURCES
from verify.proofs.statement import digest, library, theorem_of
from verify.symbolic.chains import Derivation

AXIOMS = {
    "ClassicalDedekindReals.sig_forall_dec",
    "ClassicalDedekindReals.sig_not_dec",
    "Classical_Prop.classic",
    "FunctionalExtensionality.functional_extensionality_dep",
}
"""Axioms of a proof: Coq's real numbers, excluded middle, equality of functions with equal values."""

HEAD = """(* Printed from the claims by python -m verify.proofs; change the claims, not this file. *)
From Coq Require Import Reals Lra Lia List Permutation.
From SDPA Require Import {}.
Import ListNotations.
Local Open Scope R_scope.
"""


def scripts() -> dict[str, str]:
    """Return the proof of each claim that is proved, as Coq's tactics."""
    return tomllib.loads((SOURCES / "scripts.toml").read_text("utf-8"))


def statement(claim: str) -> str:
    """Return the theorem of a claim of the catalogue, printed from its main chain."""
    (path,) = Path(verify.claims.__path__[0]).glob(f"*/{claim.replace('-', '_')}.py")
    module = importlib.import_module(f"verify.claims.{path.parent.name}.{path.stem}")
    return theorem_of(claim, Derivation.of(module.derive()))


def compiled(folder: Path, statements: dict[str, str]) -> list[list[str]]:
    """Compile the library, then the statements with their proofs; return the axioms of each statement."""
    sources, proofs = sorted(SOURCES.glob("*.v")), scripts()
    text = HEAD.format(" ".join(path.stem for path in sources))
    for claim, says in statements.items():
        name = says.split()[1]
        text += f"\n{says}\nProof.\n  {proofs[claim]}\nQed.\nPrint Assumptions {name}.\n"
    (folder / "Statements.v").write_text(text, "utf-8")
    for path in sources:
        shutil.copy(path, folder)
    order = check_output(["coqdep", "-R", ".", "SDPA", "-sort", *(path.name for path in sources)], cwd=folder)
    for name in [*order.decode().split(), "Statements.v"]:
        done = run(["coqc", "-q", "-R", ".", "SDPA", name], cwd=folder, check=False, capture_output=True)
        if done.returncode:
            sys.exit(f"{folder / name} is not accepted by Coq:\n{done.stderr.decode()}")
    answers = re.split(r"^(?:Axioms:|Closed under the global context)$", done.stdout.decode(), flags=re.M)
    return [re.findall(r"^([\w.]+)", answer, flags=re.M) for answer in answers[1:]]


def main() -> None:
    """Prove the claims of ``scripts.toml``, and compare with data/proofs.json or write that."""
    parser = argparse.ArgumentParser("python -m verify.proofs", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="where what is compiled stays, for coqchk")
    parser.add_argument("--write", action="store_true", help="write data/proofs.json, which is else compared")
    given = parser.parse_args()
    if shutil.which("coqc") is None:
        sys.exit("there is no coqc here; install Coq 8.16 to 8.20, as with apt-get install coq")
    statements = {claim: statement(claim) for claim in scripts()}
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        axioms = dict(zip(statements, compiled(folder, statements), strict=True))
    coq = check_output(["coqc", "--print-version"], text=True).split()[0]
    record: dict[str, Any] = {"coq": coq, "library": library(), "claims": {}}
    for claim, says in statements.items():
        if other := set(axioms[claim]) - AXIOMS:
            sys.exit(f"{claim}: its proof rests on {', '.join(sorted(other))}")
        proof = {"theorem": says.split()[1], "statement": says, "digest": digest(says)}
        record["claims"][claim] = proof | {"axioms": sorted(axioms[claim])}
    if given.write:
        write_whole(RECORD, f"{json.dumps(record, indent=1, ensure_ascii=False)}\n".encode())
    elif json.loads(RECORD.read_text("utf-8")) | {"coq": coq} != record:
        sys.exit(f"Coq proved other statements than {RECORD} has; write it anew with --write")
    print(f"{len(statements)} claims proved by Coq {coq}")


if __name__ == "__main__":
    main()
