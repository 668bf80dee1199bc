"""Rows of the store changed and sealed again: removed, said once, and computed again with the same digits."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.engine.test_schedule import digests
from verify.engine.backends import InProcessBackend
from verify.engine.store import Store, StoreRow, fault_of, transaction
from verify.evidence import ClaimRecord
from verify.montecarlo.blocks import Sums

Change = Callable[[StoreRow], bytes]

NAME, OTHER = "variance-of-multiple", "sqrt-scaling-unique"
RUBBISH: dict[str, Change] = {
    "nothing": lambda _row: b"",
    "no text": lambda row: row.key + b"\xff\xfe",
    "another's key": lambda row: bytes(32) + row.content[32:],
    "cut short": lambda row: row.content[:-9],
}


def rows_of(store: Store, kind: str) -> list[StoreRow]:
    """Return the rows of a kind."""
    return [row for row, _ in store._all() if row.kind == kind]


def put(store: Store, rows: list[StoreRow]) -> None:
    """Put rows with sound checksums there, at once."""
    assert store._connection is not None
    with transaction(store._connection) as run:
        run.executemany("INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?, 1)", [row.written for row in rows])


def claim_changed(**changes: Any) -> Change:
    """Return a change of a claim's record, whose digest fits again."""

    def change(row: StoreRow) -> bytes:
        draws, _, text = row.content[32:].partition(b"\n")
        record = ClaimRecord.model_validate({**json.loads(text), **changes}).sealed()
        return row.key + draws + b"\n" + record.model_dump_json(by_alias=True).encode()

    return change


def first_check(**changes: Any) -> Change:
    """Return a change of the first check of a claim's record."""

    def change(row: StoreRow) -> bytes:
        first, *others = json.loads(row.content[32:].partition(b"\n")[2])["checks"]
        return claim_changed(checks=[{**first, **changes}, *others])(row)

    return change


def proof_changed(**changes: Any) -> Change:
    """Return a change of a derivation."""
    return lambda row: row.key + json.dumps({**json.loads(row.content[32:]), **changes}).encode()


def sums_changed(change: Callable[[Sums], Sums]) -> Change:
    """Return a change of a chunk's sums."""
    return lambda row: row.key + change(Sums.from_bytes(row.content[32:])).to_bytes()


def _of_fewer(sums: Sums) -> Sums:
    k = sums.shift.size - 1
    third = sums.third[:k, :k, :k]
    return Sums(sums.shift[:k], sums.count, sums.first[:k], sums.second[:k, :k], third, sums.groups[:, :k])


CHANGES: dict[str, tuple[str, Change]] = {
    **{f"chunk: {name}": ("chunk", change) for name, change in RUBBISH.items()},
    **{f"{kind}: cut short": (kind, RUBBISH["cut short"]) for kind in ("claim", "derivation")},
    "claim: draws": ("claim", lambda row: row.key + b"many\n" + row.content.partition(b"\n")[2]),
    "claim: verdict": ("claim", claim_changed(verdict="refuted")),
    "claim: no checks": ("claim", claim_changed(checks=[])),
    "claim: of another": ("claim", claim_changed(id=OTHER)),
    "claim: check refuted": ("claim", first_check(verdict="refuted")),
    "claim: level": ("claim", first_check(level=0.5)),
    "derivation: failed": ("derivation", proof_changed(status="failed")),
    "derivation: less": ("derivation", proof_changed(status="in-part")),
    "derivation: no steps": ("derivation", proof_changed(routes=[])),
    "derivation: bound to nothing": ("derivation", proof_changed(bound=["nothing"])),
    "chunk: not finite": ("chunk", sums_changed(lambda sums: replace(sums, first=sums.first * float("nan")))),
    "chunk: sum": ("chunk", sums_changed(lambda sums: replace(sums, first=sums.first + 1))),
    "chunk: squares": ("chunk", sums_changed(lambda sums: replace(sums, second=-sums.second))),
    "chunk: cubes": ("chunk", sums_changed(lambda sums: replace(sums, third=sums.third * 1e9))),
    "chunk: groups": ("chunk", sums_changed(lambda sums: replace(sums, groups=sums.groups * 2))),
    "chunk: no blocks": ("chunk", sums_changed(lambda sums: replace(sums, count=0))),
    "chunk: of fewer outputs": ("chunk", sums_changed(_of_fewer)),
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """Return a store with the rows of one run, and the run's digests."""
    path = tmp_path_factory.mktemp("kept") / "store.sqlite"
    with Store(path) as store:
        found, _ = digests(InProcessBackend(1), store, names=[NAME])
        assert not list(store.wrong(fault_of))
        store.flush()
        assert {row.kind for row, _ in store._all()} == {"chunk", "derivation", "claim"}
    return path, found


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_row_is_computed_again(
    kept: tuple[Path, dict[str, str]], tmp_path: Path, name: str
) -> None:
    """The digest is that of a run without a store, and there is one line; the next run finds all in order."""
    path, honest = kept
    kind, change = CHANGES[name]
    said: list[str] = []
    with Store(path) as source, Store(tmp_path / "store.sqlite", said.append) as store:
        store.merge(source)
        if kind != "claim":
            store.remove([row.key for row in rows_of(store, "claim")])
            store.flush()
        put(store, [row._replace(content=change(row)) for row in rows_of(store, kind)])
        assert digests(InProcessBackend(1), store, names=[NAME])[0] == honest
        assert len(said) == 1
        assert said[0].startswith(f"store {store.path}: a row of claim {NAME}: ")
        assert "\n" not in said[0]
        assert not list(store.wrong(fault_of))
        _, again = digests(InProcessBackend(1), store, names=[NAME])
        assert (again.drawn, len(said)) == (0, 1)


@pytest.mark.slow
def test_sums_about_another_mean_are_drawn_again(tmp_path: Path) -> None:
    """Where the last chunk of a cell has another shift than its others, nothing of the claim is believed."""
    said: list[str] = []
    with Store(tmp_path / "store.sqlite", said.append) as store:
        honest, _ = digests(InProcessBackend(1), store, 0.004, [NAME])
        store.remove([row.key for row in rows_of(store, "claim")])
        store.flush()
        sums = {row: Sums.from_bytes(row.content[32:]) for row in rows_of(store, "chunk")}
        whole = max(one.count for one in sums.values())
        last = [row for row, one in sums.items() if whole / 2 < one.count < whole]
        move = sums_changed(lambda one: replace(one, shift=one.shift + 1))
        put(store, [row._replace(content=move(row)) for row in last])
        assert digests(InProcessBackend(1), store, 0.004, [NAME])[0] == honest
        (line,) = said
        assert line.endswith(
            "its sums are about another mean than those drawn otherwise; it is removed, and computed again"
        )


def test_rows_of_two_claims_exchanged_are_of_neither(tmp_path: Path) -> None:
    """As a merge may have put them: each claim has its own evidence afterwards."""
    names, said = [NAME, OTHER], list[str]()
    with Store(tmp_path / "store.sqlite", said.append) as store:
        honest, _ = digests(InProcessBackend(1), store, names=names)
        for kind in ("claim", "derivation", "chunk"):
            rows = rows_of(store, kind)
            contents = [*(row.content for row in rows[1:]), rows[0].content]
            put(store, [row._replace(content=one) for row, one in zip(rows, contents, strict=True)])
        assert digests(InProcessBackend(1), store, names=names)[0] == honest
        assert len(said) == 1
        # Also where the content names the key under which it was put.
        rows = rows_of(store, "claim")
        contents = [rows[1].content, rows[0].content]
        put(
            store, [row._replace(content=row.key + one[32:]) for row, one in zip(rows, contents, strict=True)]
        )
        assert digests(InProcessBackend(1), store, names=names)[0] == honest
