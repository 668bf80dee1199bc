"""A campaign of one-line faults in every claim and in every module that a result depends on.

Each fault is planted in a process of its own, as the module is imported; no file is changed. It is caught by
the tool's own quick run of the claims that go through the module, or else by their tests. What survives has
to be listed in ``equivalents.py`` with the reason why it changes nothing that matters, or the campaign fails.

    python -m tests.faults.mutations --sample 200 --seed 1 --jobs 2
    python -m tests.faults.mutations --only verify/claims/limits/causal_rows.py --sample 0
"""

import argparse
import ast
import collections
import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import io
import json
import multiprocessing as mp
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

from tests.faults.equivalents import EQUIVALENT
from tests.faults.plants import Mutant, mutants

ROOT = Path(__file__).parents[2]
PATHS = (
    "verify/claims",
    "verify/montecarlo",
    "verify/symbolic",
    "verify/spec",
    *(f"verify/engine/{name}.py" for name in ("binding", "evaluate", "measure", "statements")),
    "verify/evidence/judging.py",
)
"""Where faults are planted: all claims, and every module that a result depends on."""
KINDS = {
    "number": 6,
    "operator": 3,
    "dropped": 3,
    "exchanged": 2,
    "comparison": 2,
    "relation": 2,
    "sign": 2,
    "function": 2,
    "label": 2,
    "neighbour": 2,
    "arguments": 1,
    "switch": 1,
}
"""How often each kind of fault is drawn for a sample."""
LIMIT_S, MEMORY = 240, 8 * 2**30
"""A fault that takes longer, or more memory, is caught: anyone would notice."""
CLAIMS_EACH = 2
"""How many of the claims that go through a module, the quickest first, are run with a fault in it."""
CHEAP = (
    "sqrt-scaling-unique",
    "score-mean",
    "softmax-identities",
    "attention-entropy",
    "effective-keys",
    "half-precision",
    "causal-rows",
    "variance-of-multiple",
    "score-variance",
    "attention-definition",
)
"""Claims that are tried first for a module that many go through."""


@dataclass(frozen=True)
class Result:
    """What became of a fault: caught by the run, or by a test, or nothing."""

    mutant: Mutant
    caught_by: str
    seconds: float

    @property
    def survived(self) -> bool:
        """Whether nothing noticed."""
        return not self.caught_by


class _Planted(importlib.machinery.SourceFileLoader):
    """Loads one module with a fault in it."""

    def __init__(self, fullname: str, path: str, source: bytes) -> None:
        super().__init__(fullname, path)
        self.faulty = source

    def get_code(self, fullname: str) -> CodeType | None:  # noqa: ARG002  # no compiled file is read
        return compile(self.faulty, self.path, "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, fullname: str, path: Path, source: bytes) -> None:
        self.fullname, self.path, self.source = fullname, path, source

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:  # noqa: ARG002
        if fullname != self.fullname:
            return None
        loader = _Planted(fullname, str(self.path), self.source)
        return importlib.util.spec_from_file_location(fullname, self.path, loader=loader)


def files(only: Sequence[str] = ()) -> list[Path]:
    """Return the files in which faults are planted."""
    found = [one for path in only or PATHS for one in _python(ROOT / path)]
    return [one for one in found if one.name != "__init__.py"]


def _python(path: Path) -> list[Path]:
    if not path.exists():
        raise SystemExit(f"{path} is no file or folder in which faults could be planted")
    return sorted(path.rglob("*.py")) if path.is_dir() else [path]


def chosen(paths: Iterable[Path], sample: int, seed: int) -> list[Mutant]:
    """Return all faults of these files, or a sample: a file, a kind and a place at random, none twice."""
    by_file = {path: _by_kind(path) for path in paths}
    if not sample:
        return [one for kinds in by_file.values() for ones in kinds.values() for one in ones]
    rng = random.Random(seed)  # noqa: S311  # a choice of faults is no secret
    drawn: dict[Mutant, None] = {}
    left = [path for path, kinds in by_file.items() if kinds]
    for _ in range(50 * sample):
        if len(drawn) == sample or not left:
            break
        kinds = by_file[rng.choice(left)]
        (kind,) = rng.choices(list(kinds), [KINDS[one] for one in kinds])
        drawn[rng.choice(kinds[kind])] = None
    return list(drawn)


def _by_kind(path: Path) -> dict[str, list[Mutant]]:
    found = collections.defaultdict(list)
    for one in mutants(path, str(path.relative_to(ROOT))):
        found[one.kind].append(one)
    return dict(sorted(found.items()))


def claims_through(path: str) -> list[str]:
    """Return the claims whose results go through a file: its own, or quick ones that import it."""
    if path.startswith("verify/claims/") and "/shared/" not in path:
        return [Path(path).stem.replace("_", "-")]
    importing = {
        one.stem.replace("_", "-"): closure
        for one in files(["verify/claims"])
        if one.parent.name != "shared" and path in (closure := _imports(str(one.relative_to(ROOT))))
    }
    # Everything goes through the judge, whichever claim it is.
    through = sorted(importing or dict.fromkeys(CHEAP), key=lambda name: (_rank(name), name))
    return through[:CLAIMS_EACH]


def _rank(name: str) -> int:
    return CHEAP.index(name) if name in CHEAP else len(CHEAP)


def _imports(path: str) -> set[str]:
    """Return the files of the tool that one imports, and those that these import, and so on."""
    seen: set[str] = set()
    new = [path]
    while new:
        for name in _imported(new.pop()):
            if name not in seen:
                seen.add(name)
                new.append(name)
    return seen


@cache
def _imported(path: str) -> frozenset[str]:
    """Return the files that one imports itself; names of a namespace where they come from."""
    found: set[str] = set()
    for node in ast.walk(ast.parse((ROOT / path).read_bytes())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("verify"):
            module, names = node.module or "", [alias.name for alias in node.names]
            origin = _origin(module)
            parts = [*([] if origin else [module]), *(origin.get(one, f"{module}.{one}") for one in names)]
            found |= {name for part in parts if (ROOT / (name := f"{part.replace('.', '/')}.py")).exists()}
    return frozenset(found)


@cache
def _origin(module: str) -> dict[str, str]:
    """Return the module that each name comes from that a namespace, a package or the rules, imports."""
    place = ROOT / module.replace(".", "/")
    path = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    if path.name not in {"__init__.py", "rules.py"}:
        return {}
    return {
        alias.asname or alias.name: _module_of(node.module or "", alias.name)
        for node in ast.parse(path.read_bytes()).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def _module_of(package: str, name: str) -> str:
    inside = f"{package}.{name}"
    return inside if (ROOT / f"{inside.replace('.', '/')}.py").exists() else package


def tests_of(path: str) -> list[str]:
    """Return the tests that are asked: those that mirror the file, and those of the claims through it."""
    parts = Path(path).relative_to("verify").parts
    mirrored = Path("tests", *parts[:-1], f"test_{parts[-1]}")
    of_chapter = f"test_{parts[1][:5]}*.py"
    chapter = (
        sorted(str(one.relative_to(ROOT)) for one in (ROOT / "tests/claims").glob(of_chapter))
        if parts[0] == "claims"
        else []
    )
    by_claim = [
        "tests/faults/test_against_the_reference.py",
        "tests/faults/test_estimands.py",
        "tests/faults/test_figures.py",
        "tests/claims/test_contract.py",
    ]
    loops = ["tests/montecarlo/test_reference_loops.py"] if parts[0] == "montecarlo" else []
    return [one for one in (str(mirrored), *chapter, *loops, *by_claim) if (ROOT / one).exists()]


def _try(mutant: Mutant, reference: str, answer: Any) -> None:
    """Plant the fault in this process and send what catches it."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    path = ROOT / mutant.path
    fullname = mutant.path.removesuffix(".py").replace("/", ".")
    sys.meta_path.insert(0, _Finder(fullname, path, mutant.applied(path.read_bytes())))
    sys.dont_write_bytecode = True
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
        names = claims_through(mutant.path)
        found = _noticed("run", lambda: _by_run(names))
        answer.send(found or _noticed("test", lambda: _by_tests(mutant.path, names, reference)))
    os._exit(0)


def _noticed(way: str, attempt: Callable[[], str]) -> str:
    try:
        found = attempt()
    except BaseException as error:  # noqa: BLE001  # whatever it is, it is noticed
        found = type(error).__name__
    return f"{way}: {found}" if found else ""


def _by_run(names: Sequence[str]) -> str:
    from verify import api  # noqa: PLC0415  # after the fault is planted

    record = api.run(names, profile="quick", workers=1, store=False)
    worse = [claim for claim in record.claims if claim.verdict not in {"confirmed", "approximate"}]
    return str(worse[0].verdict) if worse else ""


class _FirstFailure:
    """A pytest plugin that keeps the name of the first test that fails."""

    name = ""

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and not self.name:
            self.name = report.nodeid.partition("[")[0].removeprefix("tests/")

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed and not self.name:
            self.name = f"{report.nodeid} cannot be collected"


def _by_tests(path: str, names: Sequence[str], reference: str) -> str:
    import pytest  # noqa: PLC0415  # only where the run saw nothing

    first = _FirstFailure()
    options = ["-q", "-x", "-o", "addopts=", "-p", "no:cacheprovider", "-p", "no:xdist"]
    # What is loaded for all faults at once comes before pytest can rewrite its assertions.
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    options += [f"--claims={','.join(names)}", *([f"--reference={reference}"] if reference else [])]
    os.chdir(ROOT)
    with contextlib.redirect_stdout(io.StringIO()):
        pytest.main([*options, "-m", "slow or not slow", *tests_of(path)], plugins=[first])
    return first.name


def attempt(mutant: Mutant, reference: str) -> Result:
    """Return what becomes of a fault, tried in a process of its own."""
    begun = time.monotonic()
    context = mp.get_context("fork")
    mine, its = context.Pipe(duplex=False)
    process = context.Process(target=_try, args=(mutant, reference, its))
    process.start()
    its.close()
    caught = "limit: time"
    if mine.poll(LIMIT_S):
        try:
            caught = mine.recv()
        except EOFError:
            caught = "limit: ended by the system"
    else:
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
    process.join()
    return Result(mutant, caught, time.monotonic() - begun)


def _fresh(names: Sequence[str], path: str) -> None:
    from verify import api  # noqa: PLC0415  # in a process of its own

    Path(path).write_text(api.run(names, profile="quick", workers=1, store=False).to_json(), encoding="utf-8")


def fresh_reference(faults: Sequence[Mutant], folder: str) -> str:
    """Return a file with the results of the tool as it is, for the claims that the faults concern."""
    names = sorted({name for one in faults for name in claims_through(one.path)})
    path = str(Path(folder) / "results.json")
    process = mp.get_context("fork").Process(target=_fresh, args=(names, path))
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit("without a fault, the tool does not run")
    return path


def load_what_all_need() -> None:
    """Load the libraries once for all faults; nothing of the tool itself, which is loaded with the fault."""
    for name in ("numpy", "scipy.stats", "scipy.optimize", "sympy", "pydantic", "pytest", "hypothesis"):
        importlib.import_module(name)
    assert not [name for name in sys.modules if name.partition(".")[0] == "verify"]


def campaign(faults: Sequence[Mutant], jobs: int, reference: str = "") -> list[Result]:
    """Return what became of each fault, printing as it goes."""
    results = []
    with ThreadPoolExecutor(jobs) as threads:
        for result in threads.map(lambda one: attempt(one, reference), faults):
            results.append(result)
            print(_line(result), flush=True)
    return results


def _line(result: Result) -> str:
    one = result.mutant
    before, after = one.lines((ROOT / one.path).read_bytes())
    known = " (equivalent)" if (one.path, before, after) in EQUIVALENT else ""
    caught = result.caught_by or f"SURVIVED{known}"
    place = f"{one.path}:{one.line} {one.kind}"
    return f"{caught:60} {result.seconds:5.1f} s  {place}\n    - {before}\n    + {after}"


def table(results: Sequence[Result]) -> str:
    """Return how many faults of each kind were caught by what."""
    ways = ("run", "test", "limit", "")
    counts = collections.Counter((one.mutant.kind, one.caught_by.partition(":")[0]) for one in results)
    kinds = sorted({kind for kind, _ in counts})
    numbers = {kind: [counts[kind, way] for way in ways] for kind in kinds}
    numbers["all"] = [sum(counts[kind, way] for kind in kinds) for way in ways]
    rows = [["kind", "faults", "run", "tests", "limits", "survived"]]
    rows += [[kind, str(sum(ones)), *map(str, ones)] for kind, ones in numbers.items()]
    return "\n".join("".join(f"{cell:>12}" for cell in row) for row in rows)


def unlisted(results: Sequence[Result]) -> list[Result]:
    """Return the survivors that are not listed as equivalent."""
    return [
        one
        for one in results
        if one.survived
        and (one.mutant.path, *one.mutant.lines((ROOT / one.mutant.path).read_bytes())) not in EQUIVALENT
    ]


def main() -> None:
    """Run a campaign; end with status 1 where an unlisted fault survives."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.mutations", description=__doc__)
    parser.add_argument("--sample", type=int, default=100, help="faults to plant; 0 plants all (default 100)")
    parser.add_argument("--seed", type=int, default=1, help="of the sample (default 1)")
    parser.add_argument("--jobs", type=int, default=1, help="faults tried at once (default 1)")
    parser.add_argument("--only", nargs="+", default=(), metavar="PATH", help="files or folders of verify/")
    parser.add_argument(
        "--fresh", action="store_true", help="compare with a run of the tool as it is, not with the reference"
    )
    parser.add_argument("--json", type=Path, help="write what became of every fault to this file")
    given = parser.parse_args()
    faults = chosen(files(given.only), given.sample, given.seed)
    load_what_all_need()
    with tempfile.TemporaryDirectory() as folder:
        reference = fresh_reference(faults, folder) if given.fresh else ""
        results = campaign(faults, given.jobs, reference)
    print(table(results))
    if given.json:
        lines = [(one.mutant.__dict__, one.caught_by, one.seconds) for one in results]
        given.json.write_text(json.dumps(lines, ensure_ascii=False, indent=1), encoding="utf-8")
    left = unlisted(results)
    print(f"{len(left)} of {len(results)} faults survived that are not listed as equivalent")
    sys.exit(1 if left else 0)


if __name__ == "__main__":
    main()
