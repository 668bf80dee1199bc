"""A campaign on the rows of a store: each leaf of each kind changed, and sealed again with a right checksum.

A later run drops such a row with one line, heals the store, and has the digests of a fresh run. Or nothing
stored contradicts the change: then verdicts, and what is said of statements, are what they were. Of sums that
is too much to ask: those that other blocks would have are believed, and only counted.

``python -m tests.faults.changed_rows --changes 20000 --seed 1`` prints a table; 0 changes are all of them.
"""

import argparse
import contextlib
import json
import random
import shutil
import struct
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from tests.faults.changes import others, places
from tests.tool import EXAMPLE, example_claim
from verify.engine.backends import InProcessBackend
from verify.engine.catalogue import BuiltIn, ClaimReference, catalogue, read
from verify.engine.evaluate import Work
from verify.engine.runner import settings
from verify.engine.schedule import Schedule
from verify.engine.sources import read_sources
from verify.engine.statements import decide
from verify.engine.store import Store, StoreRow, fault_of, transaction
from verify.errors import VerifyError
from verify.evidence import Check, ClaimRecord, ControlRecord
from verify.montecarlo.blocks import Sums

CLAIMS = ("variance-of-multiple", "sqrt-scaling-unique", "worked-dot-products")
_KEY, _HEAD = 32, struct.Struct("<QIIB")
_HEADER = ("count", "outputs", "together", "order")
_ARRAYS = ("shift", "first", "second", "third", "groups")


class Change(NamedTuple):
    """A row that is put into the store, its content when it is asked for; ``leaf`` names what has changed."""

    claim: str
    kind: str
    leaf: str
    to: str
    row: StoreRow
    content: Callable[[], bytes]


@dataclass
class Outcome:
    """What a later run made of a change; ``problems`` are none where it did as it must."""

    change: Change
    what: str
    problems: list[str] = field(default_factory=list)


class Kept:
    """A store as a first run of a few claims has filled it, with ``own`` one from a user's file."""

    def __init__(self, folder: Path, *, own: bool = True) -> None:
        self.folder, self.path = folder, folder / "kept.sqlite"
        chosen, self.backend = settings(profile="quick"), InProcessBackend(1)
        self.book = read_sources()
        claims: list[ClaimReference] = [BuiltIn(catalogue()[name].chapter, name) for name in CLAIMS]
        if own:
            text, path = example_claim().encode(), folder / EXAMPLE
            path.write_bytes(text)
            claims.append(read(path, text))
        self.works = {one.id: Work(one, chosen, self.book.wanted(one.id), "test") for one in claims}
        self.rows: dict[str, list[StoreRow]] = {}
        self.honest: dict[str, ClaimRecord] = {}
        with Store(self.path) as store:
            for name in self.works:
                before = {row.key for row, _ in store._all()}
                self.honest[name] = self.settled(name, store)
                self.rows[name] = [row for row, _ in store._all() if row.key not in before]
        self.all = {row.key: row for rows in self.rows.values() for row in rows}

    def settled(self, name: str, store: Store | None) -> ClaimRecord:
        """Return a claim's record."""
        (one,) = Schedule([self.works[name]], lambda _: self.backend, store).run()
        return one.record

    def tried(self, change: Change) -> Outcome:
        """Return what a run makes of a store with one changed row."""
        path, said = self.folder / "changed.sqlite", list[str]()
        row = change.row._replace(content=change.content())
        shutil.copyfile(self.path, path)
        used = {row.key for row in self.rows[change.claim] if change.kind != "claim" and row.kind == "claim"}
        with Store(path, said.append) as store:
            assert store._connection is not None
            with transaction(store._connection) as run:
                run.executemany("DELETE FROM rows WHERE key = ?", [(key,) for key in used])
                run.execute("INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?, ?)", (*row.written, 1))
            named = [row.key for row, _ in store.wrong(fault_of)]
            record = self.settled(change.claim, store)
            store.flush()
            left = {row.key: row for row, _ in store._all()}
        return self._judged(change, record, said, named, left)

    def judged(self, record: ClaimRecord) -> object:
        """Return all that a record decides: its verdict, those of its findings, parts of statements."""
        findings: tuple[Check | ControlRecord, ...] = (*record.checks, *record.controls)
        try:
            parts = [[part.holds for part in one.parts] for one in decide(self.book, [record])]
        except VerifyError as error:
            return str(error)
        return record.verdict, record.derivation.status, [one.verdict for one in findings], parts

    def _judged(
        self,
        change: Change,
        record: ClaimRecord,
        said: list[str],
        named: list[bytes],
        left: Mapping[bytes, StoreRow],
    ) -> Outcome:
        honest, key = self.honest[change.claim], change.row.key
        same = self.judged(record) == self.judged(honest)
        problems: list[str] = []
        was_read = key in self.all and change.row.kind == self.all[key].kind
        if said:
            what = "refused"
            problems += ["its digest is another"] * (record.digest != honest.digest)
            problems += [f"{len(said)} lines: {said}"] * (len(said) != 1 or "\n" in said[0])
            problems += ["the store is not healed"] * (not left.items() <= self.all.items())
        elif not was_read:
            what = "not asked for"
            problems += ["its digest is another"] * (record.digest != honest.digest)
            problems += ["`store verify` does not name it"] * (named != [key])
        elif same:
            what = "without effect"
        else:
            what = "other verdicts"
            problems += [what] * (change.kind != "chunk")
        if named != [key] and what == "refused":
            what = "refused by the run alone"
        return Outcome(change, what, problems)


def changes(kept: Kept) -> Iterator[Change]:
    """Yield every change of every leaf: of one chunk of each claim, and of all other rows."""
    for claim, rows in kept.rows.items():
        chunks = [row for row in rows if row.kind == "chunk"]
        for row in (*chunks[:1], *(row for row in rows if row.kind != "chunk")):
            for leaf, to, content in (*_LEAVES[row.kind](row), *_whole(row, kept)):
                yield Change(claim, row.kind, leaf, to, row, content)
            yield Change(
                claim, row.kind, "kind", "other", row._replace(kind="other"), partial(bytes, row.content)
            )
            at_none = row._replace(key=bytes(_KEY))
            yield Change(claim, row.kind, "key", "of nothing", at_none, partial(bytes, row.content))


_Changed = tuple[str, str, "Callable[[], bytes]"]


def _whole(row: StoreRow, kept: Kept) -> Iterator[_Changed]:
    """Yield what may stand in the place of a whole content: nothing, a part, another row's."""
    body = row.content[_KEY:]
    contents = {"nothing": b"", "cut short": row.content[:-9], "longer": row.content + bytes(8)}
    contents |= {"no text": row.key + b"\xff\xfe", "no key": body}
    for other in kept.all.values():
        if other.content != row.content:
            contents[f"{other.kind} {other.key.hex()[:6]}"] = other.content
        # Sums of as many blocks are those that could have been drawn here.
        if row.kind != "chunk" and other.content[_KEY:] != body:
            contents[f"{other.kind} {other.key.hex()[:6]}, its key changed"] = row.key + other.content[_KEY:]
    yield from (("content", to, partial(bytes, content)) for to, content in contents.items())


def _of_json(row: StoreRow) -> Iterator[_Changed]:
    draws, end, text = row.content[_KEY:].rpartition(b"\n")
    for path, value in places(json.loads(text)):
        name = ".".join("#" if isinstance(step, int) else step for step in path)
        for other in others(value):
            content = partial(_replaced, row.kind, row.key + draws + end, text, path, other)
            yield name, repr(other)[:60], content
    if row.kind == "claim":
        for one in ("", "-1", "1e3", "9" * 40, "٣"):
            yield "draws", one, partial(bytes, row.key + one.encode() + b"\n" + text)


def _replaced(kind: str, head: bytes, text: bytes, path: tuple[str | int, ...], other: Any) -> bytes:
    """Return a row's content with another value at a path, a claim's sealed again if it can be."""
    content = json.loads(text)
    inside = content
    for step in path[:-1]:
        inside = inside[step]
    inside[path[-1]] = other
    if kind == "claim":
        with contextlib.suppress(ValueError):
            return head + ClaimRecord.model_validate(content).sealed().model_dump_json(by_alias=True).encode()
    return head + json.dumps(content).encode()


def _of_sums(row: StoreRow) -> Iterator[_Changed]:
    body = row.content[_KEY:]
    head, numbers = _HEAD.unpack_from(body), body[_HEAD.size :]
    for place, name in enumerate(_HEADER):
        for other in (0, 1, head[place] - 1, head[place] + 1, 2 * head[place]):
            if 0 <= other < 256 and other != head[place]:
                changed = _HEAD.pack(*head[:place], other, *head[place + 1 :])
                yield name, str(other), partial(bytes, row.key + changed + numbers)
    sums, start = Sums.from_bytes(body), _KEY + _HEAD.size
    for name in _ARRAYS:
        for value in getattr(sums, name).ravel().tolist():
            for other in others(value):
                if other is not None:
                    packed = struct.pack("<d", other)
                    yield name, f"{other:g}", partial(_overwritten, row.content, start, packed)
            start += 8


def _overwritten(content: bytes, start: int, packed: bytes) -> bytes:
    return content[:start] + packed + content[start + len(packed) :]


_LEAVES: dict[str, Callable[[StoreRow], Iterator[_Changed]]] = {
    "chunk": _of_sums,
    "derivation": _of_json,
    "claim": _of_json,
}


def campaign(kept: Kept, number: int, seed: int, found: Callable[[Outcome], None]) -> list[Outcome]:
    """Try ``number`` changes, as many of each leaf as there are; 0 for all."""
    chosen = list(changes(kept))
    if number:
        source = random.Random(seed)  # noqa: S311 - nothing is secret
        by_leaf: dict[tuple[str, str], list[Change]] = defaultdict(list)
        for one in chosen:
            by_leaf[one.kind, one.leaf].append(one)
        for some in by_leaf.values():
            source.shuffle(some)
        leaves = list(by_leaf.values())
        source.shuffle(leaves)
        rounds = range(max(map(len, leaves)))
        chosen = [some[turn] for turn in rounds for some in leaves if turn < len(some)][:number]
    outcomes = []
    for one in chosen:
        outcomes.append(kept.tried(one))
        if outcomes[-1].problems:
            found(outcomes[-1])
    return outcomes


def table(outcomes: Sequence[Outcome]) -> str:
    """Return how many changes of each kind of row came to what, and went wrong."""
    whats = sorted({one.what for one in outcomes})
    lines = [f"{'row':12}{'changes':>8}{'wrong':>6}  " + "  ".join(whats)]
    for kind in sorted({one.change.kind for one in outcomes}):
        some = [one for one in outcomes if one.change.kind == kind]
        counts = Counter(one.what for one in some)
        counted = "  ".join(f"{counts[what]:{len(what)}}" for what in whats)
        lines.append(f"{kind:12}{len(some):8}{sum(bool(one.problems) for one in some):6}  {counted}")
    return "\n".join(lines)


def main() -> int:
    """Run a campaign from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--changes", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()

    def tell(outcome: Outcome) -> None:
        change = outcome.change
        print(
            change.claim, change.kind, change.leaf, change.to, outcome.problems, file=sys.stderr, flush=True
        )

    with tempfile.TemporaryDirectory() as folder:
        outcomes = campaign(Kept(Path(folder)), given.changes, given.seed, tell)
    print(table(outcomes))
    return 1 if any(one.problems for one in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
