"""What a kind of finding is: it looks at every block, and says what it found of a head."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from verify.auditing.block import Block
    from verify.auditing.recording import Layer
    from verify.evidence.audits import Finding, Intention
    from verify.evidence.claims import Band

OWN_RULE: Band = (None, None)
"""The band of a gate that names a finding and leaves it to the finding's own rule."""


@dataclass(frozen=True)
class Subject:
    """The head that findings are about, and what was asked of them.

    ``alpha`` is the false-exclusion rate of one place, and ``gates`` are the bands by the findings' names.
    ``d_k`` is the width of the head; ``heads`` and ``key_heads`` count those of queries and of keys. Where
    ``only_output_tells`` the scale of a program that was recorded, its calls were given none.
    """

    layer: Layer
    head: int
    heads: int
    key_heads: int
    d_k: int
    intention: Intention
    alpha: float
    gates: Mapping[str, Band] = field(default_factory=dict)
    only_output_tells: bool = False

    def id_of(self, name: str) -> str:
        """Return the id of this head's finding of this name."""
        return f"{name}-head-{self.head}"


class Kind(Protocol):
    """One kind of finding; every module of `verify.auditing.findings` has one as ``KIND``.

    ``names`` are those of its findings on one head, which gates go by. ``places`` counts its intervals on one
    head that take a share of the false-alarm rate: none for an exact kind. ``has_rule`` says whether its
    findings can decide without a band.
    """

    @property
    def name(self) -> str:
        """The name of the kind."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the findings that it makes of one head."""

    @property
    def places(self) -> int:
        """Places of the false-alarm budget that one head takes."""

    @property
    def has_rule(self) -> bool:
        """Whether a finding can decide without a band."""

    def look(self, block: Block) -> Any:
        """Return what is kept of one block, no array of the call; it is called from several threads."""

    def find(self, looks: Sequence[Any], subject: Subject) -> Iterable[Finding]:
        """Return the findings on one head from what was kept of all its blocks, in their order."""


@dataclass(frozen=True)
class Single:
    """What kinds have in common that make one finding of a head and judge it by a rule of their own."""

    name: str
    places: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """The name of the one finding, which is the kind's."""
        return (self.name,)

    @property
    def has_rule(self) -> bool:
        """Whether a finding can decide without a band: always."""
        return True
