"""What a claim is: data, and the three functions that derive it, measure it and draw it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from verify.errors import ClaimError
from verify.evidence import SLUG

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from verify.evidence import Assumption, Check, Fact, Figure, Reference
    from verify.montecarlo.blocks import Cell, Sample
    from verify.montecarlo.experiment import Experiment
    from verify.symbolic.derivation import Derivation

CHAPTERS = {
    "raw_scores": "Raw scores",
    "scaling": "Scaling",
    "softmax": "Softmax",
    "gradients": "Gradients",
    "pipeline": "The whole pipeline",
    "limits": "Where the claims stop",
    "user": "Claims of your own",
}
"""Folder of a claim's file and the chapter's title, in the order of the report."""


def _no_facts(_: Derivation) -> tuple[Fact, ...]:
    return ()


def _no_figures(_: Derivation, __: Findings) -> tuple[Figure, ...]:
    return ()


@dataclass(frozen=True)
class Findings:
    """What a claim's figures are made from: its finished checks, its cells and their samples, by id."""

    checks: Mapping[str, Check]
    cells: Mapping[str, Cell]
    samples: Mapping[str, Sample]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One statement about attention, with everything it takes to settle it.

    ``id`` is permanent; ``order`` is the place within the chapter. ``title``,
    ``statement`` and ``meaning`` may hold LaTeX between dollar signs.
    ``derive`` returns the derivation; ``experiment`` gets it and the tolerance and returns what to measure;
    ``facts`` gets it and returns exact values that a source may have printed; ``figures`` gets it and
    what was found.

    Raises:
        ClaimError: the id is not a lower-case slug, or a text is empty.
    """

    id: str
    order: int = 1000
    title: str
    statement: str
    meaning: str
    assumptions: tuple[Assumption, ...]
    references: tuple[Reference, ...]
    derive: Callable[[], Derivation]
    experiment: Callable[[Derivation, float], Experiment]
    facts: Callable[[Derivation], tuple[Fact, ...]] = _no_facts
    figures: Callable[[Derivation, Findings], tuple[Figure, ...]] = _no_figures

    def __post_init__(self) -> None:
        if not re.fullmatch(SLUG, self.id):
            raise ClaimError(f"claim id {self.id!r}: use lower-case words joined by hyphens")
        for name in ("title", "statement", "meaning"):
            if not getattr(self, name).strip():
                raise ClaimError(f"claim {self.id}: its {name} is empty; write one")
