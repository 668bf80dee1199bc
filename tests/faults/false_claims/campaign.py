"""Runs claims that are false, and the nearest true claim beside each.

    python -m tests.faults.false_claims.campaign [--kind KIND] [--write FILE] [--files FOLDER]

prints, kind by kind, how many false claims are caught, by what, and how their true neighbours end;
``--write`` stores the table that the report's method section prints. A false claim is caught where it is not
proved, and ends with another status than 0 or says in its reason what is open. Each is given to the tool as a
claim file, made of the module of its kind; ``--files`` writes them, for

    sdpa-verify run --claims FOLDER/domain_tangent.py --profile quick
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import verify
from verify.engine.catalogue import load
from verify.errors import VerifyError
from verify.evidence import ClaimRecord, FalseClaims, FalseKind, Proof, Verdict
from verify.version import __version__

COMMAND = "python -m tests.faults.false_claims.campaign --write data/false_claims.json"
CLAIMS = Path(__file__).with_name("claims")
MODULES = {
    kind: module
    for module, kinds in {
        "analysis": "corner domain existence induction integral limit series",
        "inference": "law lemma reach relation tight",
        "measuring": "binding control tolerance words",
        "newer": "newer",
    }.items()
    for kind in kinds.split()
}
"""The module of each kind of mistake, which has a table of its name in capital letters."""
TRUE = "_true"
BESIDE = {"binding", "words", "tolerance", "control"}
"""Kinds whose theorem is true: what is false is what is measured, or said, beside it."""
BESIDE_TOO = {"integral_inverse_length"}
"""Others of which that is so: their theorem says for which values it holds, and their words do not."""
_OPEN = (
    "its derivation is reviewed",
    "its derivation is checked at examples",
    "derived in part",
    "not bound to what is measured",
    "the exact value is excluded",
)
"""What a claim's reason says where something is open."""

_BY = (
    (
        "kernel",
        ("that does not hold", "does not follow", "both sides are alike", "established", "kind of its own"),
    ),
    ("words", ("types “", "symbol", "notation", "label", "is written", "occurs nowhere", "its statement")),
    ("binding", ("derived, but of another quantity", "not bound")),
    ("tolerance", ("tolerance",)),
    ("control", ("control",)),
)


@dataclass(frozen=True)
class Ended:
    """How a claim file ended: its status, its proof, None where it was refused, and in words why."""

    name: str
    status: int
    proof: Proof | None
    verdict: Verdict | None
    reason: str

    @property
    def kind(self) -> str:
        """The kind of mistake, by the name of the file."""
        return self.name.partition("_")[0]

    @property
    def is_caught(self) -> bool:
        """Whether nothing certifies what is false in it."""
        right = self.kind in BESIDE or self.name in BESIDE_TOO
        return (right or self.proof is not Proof.PROVED) and (self.status != 0 or self.says_what_is_open)

    @property
    def says_what_is_open(self) -> bool:
        """Whether its reason says that something is not proved, or not of what is measured."""
        return any(one in self.reason for one in _OPEN)

    @property
    def passes(self) -> bool:
        """Whether it is proved and confirmed, as the true neighbours are to be."""
        return self.proof is Proof.PROVED and self.verdict is Verdict.CONFIRMED and self.status == 0

    @property
    def by(self) -> str:
        """What catches it."""
        if self.proof is Proof.FAILED:
            return "kernel"
        if self.proof is None:
            return next((by for by, words in _BY if any(one in self.reason for one in words)), "other")
        if self.verdict is Verdict.REFUTED:
            return "measurement"
        if self.proof is Proof.PROVED and "not bound to what is measured" in self.reason:
            return "binding"
        return "verdict" if self.status == 0 else "control" if "control" in self.reason else "measurement"


def names(kind: str = "") -> list[str]:
    """Return the names of the false claims, of one kind or all: the kind, and what is said."""
    kinds = [kind] if kind else sorted(MODULES)
    package = f"{__package__}.{CLAIMS.name}"
    tables = {one: import_module(f"{package}.{MODULES[one]}") for one in kinds}
    return [f"{one}_{name}" for one in kinds for name in getattr(tables[one], one.upper())]


def text(name: str, *, true: bool = False) -> str:
    """Return the claim file of a false claim, or of its true neighbour: all of a module, and which it is."""
    kind, _, pair = name.partition("_")
    whole = (CLAIMS / f"{MODULES[kind]}.py").read_text(encoding="utf-8")
    return f"{whole}\nCLAIM = {kind.upper()}[{pair!r}].{'true' if true else 'false'}()\n"


def ended(name: str, *, true: bool = False) -> Ended:
    """Return how a false claim, or its true neighbour, ends in the quick profile, in this process."""
    path = CLAIMS / f"{name}{TRUE * true}.py"
    try:
        run = verify.run(
            [load(path, text(name, true=true).encode())], profile="quick", workers=1, store=False
        )
    except VerifyError as error:
        return Ended(path.stem, 2, None, None, str(error))
    (record,) = run.claims
    return Ended(path.stem, run.exit_status, record.derivation.status, record.verdict, _why(record))


def _why(record: ClaimRecord) -> str:
    return record.derivation.reason if record.derivation.status is Proof.FAILED else record.reason


def table(pairs: Iterable[tuple[Ended, Ended]]) -> FalseClaims:
    """Return what was caught, kind by kind, with what catches it, and how the neighbours ended."""
    kinds: dict[str, list[tuple[Ended, Ended]]] = {}
    for pair in pairs:
        kinds.setdefault(pair[0].kind, []).append(pair)
    rows = tuple(
        FalseKind(
            kind=kind,
            of=len(found),
            caught=sum(false.is_caught for false, _ in found),
            by=dict(sorted(Counter(false.by for false, _ in found if false.is_caught).items())),
            neighbours=sum(true.passes for _, true in found),
        )
        for kind, found in kinds.items()
    )
    return FalseClaims(command=COMMAND, version=__version__, kinds=rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run them; return 1 where one gets through or a true neighbour does not pass."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )

    parser.add_argument("--kind", choices=sorted(MODULES), default="")
    parser.add_argument("--write", type=Path, metavar="FILE")
    parser.add_argument("--files", type=Path, metavar="FOLDER", help="Write each claim's file there.")
    parser.add_argument("-v", action="store_true", help="Print how each ends.")
    options = parser.parse_args(arguments)
    pairs = []
    for name in names(options.kind):
        if options.files:
            for one in (False, True):
                file = options.files / f"{name}{TRUE * one}.py"
                file.write_text(text(name, true=one), encoding="utf-8")
        false, true = ended(name), ended(name, true=True)
        pairs.append((false, true))
        if options.v or not false.is_caught:
            print(f"{'caught ' if false.is_caught else 'THROUGH'} {false.name}: {false.proof} {false.reason}")
        if options.v or not true.passes:
            print(f"{'passes ' if true.passes else 'FAILS  '} {true.name}: {true.proof} {true.reason}")
    found = table(pairs)
    for row in found.kinds:
        by = ", ".join(f"{many} by {what}" for what, many in row.by.items())
        print(f"{row.kind:10} {row.caught:3} of {row.of:3}; neighbours {row.neighbours:3}; {by}")
    print(f"{found.caught} of {found.of} false claims are caught, {found.neighbours} neighbours pass")
    if options.write:
        options.write.write_text(found.model_dump_json(indent=1) + "\n", encoding="utf-8")
    return int(not (found.caught == found.neighbours == found.of))


if __name__ == "__main__":
    sys.exit(main())
