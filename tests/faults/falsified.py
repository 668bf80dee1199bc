"""Tries every theorem of claims in the former language with all that the falsifier has.

    python -m tests.faults.falsified [--write FILE] [--kept FILE]

prints at how many points the theorems held, and each point at which one is false; ``--write`` stores the
counts of each, by a digest of what it states, and for the report's method section their sum; with ``--kept``
only what such a file does not have is tried, for when rules have changed and the falsifier has not. What has
two equal sides says nothing and is left out. What time did not stop has the same counts on any machine.
"""

import argparse
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypedDict

from sympy import Add, Basic, FiniteSet, Intersection, Mul, Symbol, Union, srepr

from verify.engine.catalogue import catalogue
from verify.evidence import Falsified
from verify.executors.machine import one_blas_thread
from verify.former.claim import Claim
from verify.symbolic.derivation import Derivation
from verify.symbolic.falsifier import FULL, Counterexample, falsify, tried_over
from verify.symbolic.kernel.hypotheses import assumed
from verify.version import __version__

COMMAND = "python -m tests.faults.falsified --write data/falsified.json"
SEED, SECONDS = 1, 2.0
STOPPED = "stopped after"
MAIN_REASONS = 4
FORMER = tuple(name for name, claim in catalogue().items() if isinstance(claim, Claim))
"""Claims whose derivations the kernel proves; lines of the others are tried wherever they are checked."""


class Trial(TypedDict):
    """At how many points a statement held, was open or false, and why."""

    held: int
    undecided: int
    refuted: int
    why: list[str]


def written(one: Any) -> str:
    """Return what a statement consists of as text that is the same in any process."""
    if isinstance(one, tuple):
        return f"({', '.join(map(written, one))})"
    if isinstance(one, frozenset):
        return f"{{{', '.join(sorted(map(written, one)))}}}"
    if is_dataclass(one):
        parts = [written(getattr(one, part.name)) for part in fields(one)]
    elif isinstance(one, Symbol):
        # Neither the number of a dummy nor the order in which assumptions were given.
        parts = [one.name, str(assumed(one))]
    elif not isinstance(one, Basic):
        return str(one)
    elif not one.args:
        return str(srepr(one))
    else:
        parts = [written(part) for part in one.args]
        parts = sorted(parts) if isinstance(one, (Add, Mul, FiniteSet, Union, Intersection)) else parts
    return f"{type(one).__name__}({', '.join(parts)})"


def digest(theorem: Any) -> str:
    """Return what tells a theorem's statement from others, whatever its proof."""
    said = (theorem.lhs, theorem.relation, theorem.rhs, theorem.hypotheses, theorem.order)
    return hashlib.sha256(written(said).encode()).hexdigest()[:16]


def theorems(derivation: Derivation) -> dict[str, dict[str, Any]]:
    """Return the theorems of all chains and of their steps, by the chain's title and their digests."""
    found: dict[str, dict[str, Any]] = {}
    for followed in derivation.examine().routes:
        every = [one for one in tried_over(followed.theorem) if (one.lhs, one.relation) != (one.rhs, "=")]
        found.setdefault(followed.route.title, {}).update({digest(one): one for one in every})
    return found


def trial(theorem: Any, seconds: float = SECONDS) -> Trial:
    """Return what comes of trying a theorem."""
    budget = FULL | {"seconds": seconds}
    try:
        with one_blas_thread():
            found = falsify(theorem, seed=SEED, **budget)
    except Counterexample as error:
        return Trial(held=0, undecided=0, refuted=1, why=[str(error)])
    return Trial(held=found.held, undecided=found.undecided, refuted=0, why=list(found.why))


def is_stopped(one: Trial) -> bool:
    """Return whether time ran out, so that the counts depend on the machine."""
    return any(why.startswith(STOPPED) for why in one["why"])


def summary(trials: Iterable[Trial]) -> Falsified:
    """Return the sum of what was tried; each reason with the number of statements that it leaves open."""
    every = list(trials)
    reasons = Counter(why for one in every for why in one["why"] if not why.startswith(STOPPED))
    return Falsified(
        command=COMMAND,
        version=__version__,
        seed=SEED,
        points=FULL["points"],
        seconds=SECONDS,
        statements=len(every),
        held=sum(one["held"] for one in every),
        undecided=sum(one["undecided"] for one in every),
        refuted=sum(one["refuted"] for one in every),
        stopped=sum(map(is_stopped, every)),
        untold=sum(not one["held"] and not one["refuted"] for one in every),
        why=dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0]))[:MAIN_REASONS]),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Try them; return 1 where one is false."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", type=Path, metavar="FILE")
    parser.add_argument("--kept", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    kept = json.loads(options.kept.read_text("utf-8"))["statements"] if options.kept else {}
    claims: dict[str, dict[str, list[str]]] = {}
    trials: dict[str, Trial] = {}
    for claim in FORMER:
        chains = theorems(catalogue()[claim].derived())
        claims[claim] = {title: list(found) for title, found in chains.items()}
        for name, theorem in [item for found in chains.values() for item in found.items()]:
            if name not in trials:
                trials[name] = kept.get(name) or trial(theorem)
                if trials[name]["refuted"]:
                    print(f"FALSE {claim}: {trials[name]['why'][0]}", flush=True)
    found = summary(trials.values())
    print(found.model_dump_json(indent=1))
    if options.write:
        lists: dict[str, dict[str, Any]] = {"claims": claims, "statements": trials}
        parts = [f'"summary": {found.model_dump_json()}']
        for name, rows in lists.items():
            lines = (f"{json.dumps(key)}: {json.dumps(row)}" for key, row in rows.items())
            parts.append(f'"{name}": {{\n ' + ",\n ".join(lines) + "\n}")
        options.write.write_text("{" + ",\n".join(parts) + "}\n", encoding="utf-8")
    return int(found.refuted > 0)


if __name__ == "__main__":
    sys.exit(main())
