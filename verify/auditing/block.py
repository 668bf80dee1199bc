"""One sequence of one head: the independent unit of an audit, and what every finding looks at."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from verify.auditing.recording import Array, Call

    T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Block:
    """One head's part of one sequence of a call.

    ``intended`` is the scale that was meant for so many keys, and ``implied`` the one that outputs say was
    applied, where that is not the declared one. ``partner`` is the block of the same head
    before this one, on every second sequence, so that pairs of independent sequences can be looked at.
    ``place`` counts the sequences of the layer before this one, of all its calls. ``unexplained``, shared by
    all blocks of a head, has the places of those whose output is not the declared attention.
    """

    call: Call
    sequence: int
    head: int
    intended: float
    partner: Block | None = None
    place: int = 0
    unexplained: list[int] = field(default_factory=list)
    implied: float | None = None
    _found: dict[Any, Any] = field(default_factory=dict)

    @property
    def declared(self) -> float:
        """The factor that products q·k should get: the one given to the call, else the intended one."""
        return self.intended if self.call.scale is None else self.call.scale

    @property
    def scale(self) -> float:
        """The factor that products q·k get: the implied one where there is one, else the declared one."""
        return self.declared if self.implied is None else self.implied

    @property
    def query(self) -> Array:
        """Queries, shape [query, d]."""
        return self.call.query[self.sequence, self.head]

    @property
    def key(self) -> Array:
        """Keys, shape [key, d]; those of the group where query heads share keys."""
        shared = self.call.query.shape[1] // self.call.key.shape[1]
        return self.call.key[self.sequence, self.head // shared]

    def alone(self) -> Block:
        """Return this block without its partner, which need not be kept any longer."""
        return replace(self, partner=None)

    def scaled(self, implied: float | None) -> Block:
        """Return this block with the scale that outputs imply; what was found of it before is kept."""
        return replace(self, implied=implied)

    def once(self, compute: Callable[[Block], T]) -> T:
        """Return ``compute`` of this block, computed when it is first asked for, whoever asks."""
        if compute not in self._found:
            self._found[compute] = compute(self)
        found: T = self._found[compute]
        return found
