"""The option for workers on other machines: none where none are wanted, left again where some are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from verify.cli.elsewhere import joined
from verify.executors import cluster

if TYPE_CHECKING:
    from typing import Self


class Few:
    """Stands for a cluster of three workers."""

    workers = 3
    left = 0

    def __init__(self, address: str) -> None:
        self.address = address

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        Few.left += 1

    def refuse_if_gone(self) -> None:
        """Say nothing."""


def test_without_an_address_nobody_works_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """And no cluster is looked for."""

    def never(_: str) -> Any:
        raise AssertionError

    monkeypatch.setattr(cluster, "Cluster", never)
    with joined(None) as crew:
        assert crew is None


@pytest.mark.parametrize("fails", [False, True])
def test_a_cluster_is_left_however_the_work_ends(monkeypatch: pytest.MonkeyPatch, fails: bool) -> None:
    """In an exception too."""
    monkeypatch.setattr(cluster, "Cluster", Few)
    before = Few.left
    try:
        with joined("local:3") as crew:
            assert crew is not None
            assert 1 // (not fails)
    except ZeroDivisionError:
        assert fails
    assert Few.left == before + 1
