"""The campaign of honest mistakes: what an author of a claim may get wrong, and which nets catch it.

    python -m tests.faults.mistakes [--kind KIND] [--write data/false_claims.json]

Beside each mistake of ``mistakes.toml`` stands its nearest true neighbour, which must pass. Four nets are
tried, each without the others: the check of each line; the second net, with the checks switched off; the
simulation, with every chain believed; and what language and engine refuse, as a control that is right.

What is written there is a chain, or several things: chains, what is measured, and a ``Said``. Where nothing
that is measured is written, the main chain's start is measured against its end, at the values ``AT``.
"""

import argparse
import sys
import tomllib
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import sympy

import verify
from verify import spec
from verify.errors import ClaimError, VerifyError
from verify.evidence import ClaimRecord, FalseClaims, FalseKind, Proof, Verdict
from verify.spec import STANDARD, Chain, Check, Claim, Derivation, E, Law, Line, Quantile, Var, d, moments
from verify.spec import Within, n, score, sigma
from verify.symbolic.chains import CheckedLine, Theorem
from verify.symbolic.refutation import Counterexample, refute
from verify.symbolic.vocabulary import UNIT, Cov, StepError, families_of
from verify.version import __version__

FILE = Path(__file__).with_suffix(".toml")
MODULE = "tests.faults.mistakes"
NETS = ("check", "second net", "simulation", "refusal")
"""In the order in which an author meets them, but for the last, which comes at any time."""


# ---- the words that mistakes are written with ------------------------------------------------------------


class Said(NamedTuple):
    """What a claim states."""

    statement: str


def line(start: Any, end: Any, check: Any = spec.algebra, relation: Any = "=", **chain: Any) -> Chain:
    """Return a chain of one line."""
    return Chain(start, Line(end, "as the check says", check, relation), **chain)


def bound(before: Any, after: Any, relation: Any, **given: Any) -> Chain:
    """Return a chain of one line that is a bound, by what its larger side has more."""
    by = spec.at_most(after - before, **given) if relation in "≤<" else spec.at_least(before - after, **given)
    return line(before, after, by, relation)


def moments_of(*raw: Any) -> Law:
    """Return a law of which these moments are assumed."""
    return Law("these moments", tuple(map(sympy.S, raw)))


def variance(*items: Any, of: Any = score, value: Any = d) -> tuple[Any, ...]:
    """Return the variance of scores, derived, and what is measured beside it."""
    return line(Var(of), value, moments(STANDARD)), *items


def drawn(chain: Chain, law: Any) -> tuple[Any, ...]:
    """Return a chain about queries and keys, measured under this law."""
    laws = {spec.q: law, spec.k: law}
    return chain, Check("x", chain.start, {d: 4}, equals=chain.end, laws=laws)


def says(statement: str, chain: Chain) -> tuple[Any, ...]:
    """Return a chain in a claim that states this."""
    return chain, Said(statement)


c, g, t, w, h, r, y, z = sympy.symbols("c g t w h r y z", positive=True)
r, y = sympy.symbols("r y", real=True)
z = sympy.Symbol("z")
AT = {d: 4, n: 8, sigma: 1.5, c: 0.1, t: 0.5, w: 0.5, h: 0.5, r: 0.5, y: 0.5}
"""Values of symbols where a mistake says nothing of what is measured."""

OWN = {
    "UNIT": UNIT,
    "NOTHING": Derivation((), "nothing is derived"),
    "LESS": sympy.Rational(98, 100),
    "MORE": sympy.Rational(102, 100),
    "COMMON": spec.Family("x", spec.m),
    "PROB": spec.Softmax(spec.s[spec.a, spec.j], spec.j),
    "MEAN": line(E(score), 0, moments(STANDARD), name="mean", title="the mean of a score"),
    "TWICE": line(Var(2 * score), 4 * d, moments(STANDARD), name="twice", title="the variance of 2 q·k"),
    "DENSITY": Theorem("the density of a normal law", "E f(X) is an integral.", "X is normal.", "any book"),
    "DOMINATED": Theorem("dominated convergence", "lim ∫f = ∫lim f.", "f is dominated.", "any book"),
}
WORDS = {**vars(sympy), **{name: getattr(spec, name) for name in vars(spec) if name[0] != "_"}, **OWN}
WORDS |= {word.__name__: word for word in (Said, line, bound, moments_of, variance, drawn, says)}
WORDS |= {symbol.name: symbol for symbol in (c, g, t, w, h, r, y, z)}


# ---- a trial ---------------------------------------------------------------------------------------------


class Believed(Chain):
    """A chain whose lines are taken to hold."""

    @cached_property
    def checked(self) -> tuple[CheckedLine, ...]:
        """Its lines, undecided."""
        return tuple(CheckedLine(line) for line in self.lines)


class Trial:
    """What an author wrote: chains, what is measured, and what the claim states."""

    def __init__(self, written: Any) -> None:
        """Tell chains from what is measured."""
        parts = written if isinstance(written, tuple) else (written,)
        self.chains = [part for part in parts if isinstance(part, Chain)]
        self.items = [part for part in parts if not isinstance(part, Chain | Said | Derivation)]
        nothing = any(isinstance(part, Derivation) for part in parts)
        self.statement = "Nothing is derived." if nothing else "In every case, {main}."
        self.statement = next((part.statement for part in parts if isinstance(part, Said)), self.statement)

    def nets(self) -> dict[str, str]:
        """Return what each net says that catches it: of the first line that it refuses, or of what is run."""
        texts: dict[str, str] = {}
        for chain in self.chains:
            before = chain.start
            for each in chain.lines:
                after, given = sympy.sympify(each.expression), (*chain.given, *each.check.conditions)
                try:
                    each.check.decide(before, after, each.relation)
                except StepError as error:
                    texts.setdefault("check", str(error))
                said = (before, each.relation, after, each.check.laws, given)
                try:  # no check is asked, and what it would decide exactly is tried briefly, as in a chain
                    _ = (each.check.is_exact and refute(*said, briefly=True)) or refute(*said)
                except Counterexample as error:
                    texts.setdefault("second net", str(error))
                before = after
        return texts | self.by_running()

    def by_running(self) -> dict[str, str]:
        """Return what the simulation says against it, its chains believed, or what refuses it."""
        try:
            record = self.run(Believed)
        except VerifyError as error:
            return {"refusal": str(error)}
        if record is None or record.verdict is Verdict.CONFIRMED:
            return {}
        for x in record.checks:
            if x.verdict is not Verdict.CONFIRMED:
                says = f"{x.relation} {x.prediction:.4g} is {x.verdict}: {x.estimate:.4g} is measured"
                return {"simulation": f"{x.id}: {says}"}
        return {"refusal": record.reason}

    def problem(self) -> str:
        """Return why it does not pass, with all nets at work; nothing where it does."""
        try:
            record = self.run(Chain)
        except VerifyError as error:
            return str(error)
        if record is None:
            return Derivation.of(tuple(self.chains)).problem
        passes = record.verdict is Verdict.CONFIRMED and record.derivation.status is not Proof.FAILED
        return "" if passes else record.reason

    def measured(self) -> list[Any]:
        """Return what is measured: as it is written, or a chain's start against its end."""
        if self.items or not self.chains:
            return self.items
        chain = self.chains[0]
        sharper = {"=": 0.0, "≤": 0.1, "<": 0.1, "≥": 10.0, ">": 10.0}
        is_number = not chain.end.has(sympy.Indexed, E, Var, Cov)
        if not (is_number and chain.relation in sharper and chain.start.has(E, Var, Cov, Quantile)):
            return []
        sides = chain.start + chain.end
        known = sides.free_symbols | {size for family in families_of(sides) for size in family.ranges}
        at = {symbol: value for symbol, value in AT.items() if symbol in known}
        band = Within(scale=8.0, of="a scale") if chain.end == 0 else Within()
        return [Check("x", chain, at, tolerance=band, sharper=sharper[chain.relation])]

    def run(self, kind: type[Chain]) -> ClaimRecord | None:
        """Return the record of a claim of this, its chains of a kind; None where nothing can be measured.

        Raises:
            VerifyError: language or engine refuses it.
        """
        chains = tuple(
            kind(x.start, *x.lines, name=x.name, title=x.title, given=x.given) for x in self.chains
        )
        derivation = Derivation.of(chains) if chains else Derivation((), "it is no derivation's")
        if not (items := self.measured()):
            return None
        words: Any = {"title": "One of a campaign", "meaning": "It is one of a campaign."}
        words |= {"derive": lambda: derivation, "experiment": lambda: items}
        claim = Claim(id="mistake", statement=self.statement, **words)
        return verify.run([claim], profile="quick", workers=1, store=False).claims[0]


@dataclass(frozen=True)
class Mistake:
    """A mistake and its true neighbour, as they are written."""

    kind: str
    name: str
    written: str
    false: str
    true: str
    uncaught: str = ""

    def trial(self, part: str) -> Trial:
        """Return what is written with a part put in.

        Raises:
            ClaimError: a word of the language refuses to be used so.
        """
        value = eval(part, dict(WORDS))  # noqa: S307 - our own table
        return Trial(eval(self.written, {**WORDS, "PART": value}))  # noqa: S307 - our own table

    def nets(self) -> dict[str, str]:
        """Return what each net says that catches the mistake."""
        try:
            return self.trial(self.false).nets()
        except ClaimError as error:
            return {"refusal": str(error)}

    def problem(self) -> str:
        """Return why the true neighbour does not pass."""
        return self.trial(self.true).problem()


def mistakes() -> list[Mistake]:
    """Return those of the table."""
    kinds = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return [Mistake(kind, name, *row) for kind, rows in kinds.items() for name, row in rows.items()]


def table(kind: str, tried: Sequence[tuple[Mistake, dict[str, str], str]]) -> FalseKind:
    """Return what becomes of the mistakes of a kind: each counts for the first net that catches it."""
    firsts = Counter(next(iter(nets)) for _, nets, _ in tried if nets)
    return FalseKind(
        kind=kind,
        of=len(tried),
        caught=sum(bool(nets) for _, nets, _ in tried),
        by={net: firsts[net] for net in NETS if firsts[net]},
        neighbours=sum(not problem for *_, problem in tried),
        uncaught={each.name: each.uncaught for each, nets, _ in tried if not nets},
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 1 where something is caught otherwise than the table says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kind")
    parser.add_argument("--write", type=Path, metavar="FILE", help="Store the counts for the report.")
    options = parser.parse_args(arguments)
    wrong, kinds = 0, dict[str, list[tuple[Mistake, dict[str, str], str]]]()
    chosen = [each for each in mistakes() if options.kind in {None, each.kind}]
    with ProcessPoolExecutor(mp_context=get_context("forkserver")) as pool:
        # A kind alone is tried before other processes would have started.
        mapped: Any = map if options.kind else pool.map
        tried = zip(chosen, mapped(Mistake.nets, chosen), mapped(Mistake.problem, chosen), strict=True)
        for each, nets, problem in tried:
            kinds.setdefault(each.kind, []).append((each, nets, problem))
            wrong += bool(nets) == bool(each.uncaught) or bool(problem)
            print(f"{each.kind}: {each.name}: {', '.join(nets) or 'NOT CAUGHT, for ' + each.uncaught}")
            for net, text in (*nets.items(), *([("THE TRUE NEIGHBOUR FAILS", problem)] if problem else [])):
                print(f"    {net}: {text}")
    rows = tuple(table(kind, group) for kind, group in kinds.items())
    counts = FalseClaims(command=f"python -m {MODULE}", version=__version__, kinds=rows)
    caught, of, passing = (sum(getattr(row, name) for row in rows) for name in ("caught", "of", "neighbours"))
    print(f"{caught} of {of} caught; {passing} true neighbours pass")
    if options.write:
        options.write.write_text(counts.model_dump_json(indent=1) + "\n", encoding="utf-8")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
