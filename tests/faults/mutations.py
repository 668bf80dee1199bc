"""Plants one-line faults in claims and prints which of them nothing notices.

    python -m tests.faults.mutations [--sample N] [--seed N] [--jobs N] [CLAIM ...]

Each fault is planted in a copy of the tool. It is caught where the quick run of the claim does not confirm
it, or where a test of the claim fails. What survives is for the reader to judge: another number that nothing
depends on, or a test that is missing.
"""

import argparse
import ast
import collections
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
TESTS = ("tests/faults/test_against_the_reference.py", "tests/claims")
"""What is asked where the run saw nothing, for the one claim."""

PYTEST = (*("-q", "-x", "-rf", "-o", "addopts="), *("-p", "no:cacheprovider", "-m", "not browser"))
LIMIT_S, MEMORY = 240, 8 * 2**30
"""A fault that takes longer, or more memory, is caught: anyone would notice."""

_PROSE = {
    *("title", "statement", "meaning", "text", "alt"),
    *("what", "label", "references", "assumptions", "order"),
}
"""Keyword arguments whose content is words for readers, and the claim's place in the report."""
_OPERATORS = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.Pow: "*"}
_COMPARISONS = {ast.Lt: ">=", ast.LtE: ">", ast.Gt: "<=", ast.GtE: "<", ast.Eq: "!=", ast.NotEq: "=="}
_FUNCTIONS = {"max": "min", "tril": "triu", "any": "all", "sum": "max", "mean": "sum", "floor": "ceil"}
_FUNCTIONS |= {other: name for name, other in _FUNCTIONS.items() if name not in {"sum", "mean"}}
_RELATIONS = {"≤": "≥", "≥": "≤", "=": "≤"}


@dataclass(frozen=True)
class Mutant:
    """A fault in a claim's file: the bytes from ``start`` to ``end`` replaced by ``new``."""

    path: Path
    kind: str
    start: int
    end: int
    new: str

    @property
    def claim(self) -> str:
        """The id of the claim."""
        return self.path.stem.replace("_", "-")

    def applied(self) -> bytes:
        """Return the file with the fault."""
        source = self.path.read_bytes()
        return source[: self.start] + self.new.encode() + source[self.end :]

    def __str__(self) -> str:
        """Return the place and the line, before and after."""
        source = self.path.read_bytes()
        line = source[: self.start].count(b"\n")
        before, after = (text.decode().splitlines()[line].strip() for text in (source, self.applied()))
        return f"{self.path.relative_to(ROOT)}:{line + 1} {self.kind}\n    - {before}\n    + {after}"


def mutants(path: Path) -> list[Mutant]:
    """Return every fault that can be planted in a file, in the order of its text."""
    source = path.read_bytes()
    starts = [0, *(match.end() for match in re.finditer(rb"\n", source))]

    def ends(node: Any) -> tuple[int, int]:
        start, end = starts[node.lineno - 1], starts[node.end_lineno - 1]
        return start + node.col_offset, end + node.end_col_offset

    def text(node: ast.AST) -> str:
        return source[slice(*ends(node))].decode()

    faults = {
        Mutant(path, kind, *ends(place), new): None
        for node in _code(ast.parse(source))
        for kind, place, new in _changes(node, text)
        if new != text(place)
    }
    return sorted(faults, key=lambda fault: (fault.start, fault.end, fault.new))


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what is run: no imports, types, messages or words for readers."""
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            is_prose = (
                isinstance(child, ast.Import | ast.ImportFrom | ast.Raise | ast.JoinedStr)
                or (isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant))
                or (isinstance(child, ast.keyword) and child.arg in _PROSE)
            )
            if isinstance(child, ast.AST) and name not in {"annotation", "returns"} and not is_prose:
                yield child
                yield from _code(child)


Change = tuple[str, ast.AST, str]
"""The kind of a fault, the node that is replaced, and by what."""


def _changes(node: ast.AST, text: Callable[[ast.AST], str]) -> Iterator[Change]:
    if isinstance(node, ast.Constant):
        yield from _other_constants(node)
    elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        yield "operator", node, f"({text(node.left)} {_OPERATORS[type(node.op)]} {text(node.right)})"
        yield "dropped", node, text(node.left)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield "sign", node, f"({text(node.operand)})"
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARISONS and len(node.ops) == 1:
        other = _COMPARISONS[type(node.ops[0])]
        yield "comparison", node, f"{text(node.left)} {other} {text(node.comparators[0])}"
    elif isinstance(node, ast.Name | ast.Attribute):
        name = node.id if isinstance(node, ast.Name) else node.attr
        if name in _FUNCTIONS:
            yield "function", node, f"{text(node).removesuffix(name)}{_FUNCTIONS[name]}"
    elif isinstance(node, ast.Call):
        plain = [argument for argument in node.args if not isinstance(argument, ast.Starred)]
        yield from (("arguments", argument, text(after)) for argument, after in pairwise(plain))


def _other_constants(node: ast.Constant) -> Iterator[Change]:
    value = node.value
    if isinstance(value, bool):
        yield "switch", node, str(not value)
    elif isinstance(value, int):
        yield from (("number", node, str(other)) for other in (value + 1, abs(value - 1), 2 * value))
    elif isinstance(value, float):
        yield from (("number", node, repr(factor * value)) for factor in (1.01, 2.0))
    elif value in _RELATIONS:
        yield "relation", node, repr(_RELATIONS[str(value)])


def chosen(claims: Sequence[str], sample: int, seed: int) -> list[Mutant]:
    """Return all faults of these claims, or of all claims, or a sample of ``sample`` of them."""
    paths = {path.stem.replace("_", "-"): path for path in sorted((ROOT / "verify/claims").glob("*/*.py"))}
    del paths["--init--"]
    if unknown := set(claims) - set(paths):
        raise SystemExit(f"no claim {', '.join(sorted(unknown))}")
    faults = [fault for name in claims or paths for fault in mutants(paths[name])]
    rng = random.Random(seed)  # noqa: S311  # a choice of faults is no secret
    return rng.sample(faults, min(sample, len(faults))) if sample else faults


def attempt(mutant: Mutant) -> str:
    """Return what catches a fault, planted in a copy of the tool; nothing where it survives."""
    run = ("verify", "run", mutant.claim, "--profile", "quick", "--workers", "1", "--fresh")
    tests = ("pytest", *PYTEST, f"--claims={mutant.claim}", *TESTS)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".*", "__pycache__"))
        (copy / mutant.path.relative_to(ROOT)).write_bytes(mutant.applied())
        # Whichever notices first; the run is much faster.
        for by, command in (("run", (*run, "--out", folder)), ("test", tests)):
            try:
                ended = subprocess.run(
                    [sys.executable, "-m", *command],
                    cwd=copy,
                    timeout=LIMIT_S,
                    preexec_fn=partial(resource.setrlimit, resource.RLIMIT_AS, (MEMORY, MEMORY)),
                    capture_output=True,
                    text=True,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                return "limit: time"
            if ended.returncode:
                says = (ended.stdout + ended.stderr).strip().splitlines()
                return f"{by}: {next((line for line in says if line.startswith('FAILED')), says[-1])}"
    return ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Plant the faults, and print what became of each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("claims", nargs="*", metavar="CLAIM", help="their ids; all claims by default")
    parser.add_argument("--sample", type=int, default=40, help="faults to plant; 0 plants all (default 40)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args(arguments)
    faults = chosen(options.claims, options.sample, options.seed)
    counts: collections.Counter[str] = collections.Counter()
    with ThreadPoolExecutor(options.jobs) as threads:
        for fault, caught in zip(faults, threads.map(attempt, faults), strict=True):
            counts[caught.partition(":")[0] or "nothing"] += 1
            print(f"{caught or 'SURVIVED'}  {fault}", flush=True)
    print(f"{len(faults)} faults; caught by", ", ".join(f"{by} {many}" for by, many in counts.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
