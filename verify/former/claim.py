"""Claims in the former language, which are checked by a kernel of rules; new claims use ``verify.spec``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from verify.errors import ClaimError
from verify.evidence import Check, Fact, Figure
from verify.former.words import FormerWords
from verify.montecarlo.experiment import Experiment
from verify.spec import claim as spec
from verify.spec.claim import Findings
from verify.symbolic.derivation import Derivation

_Kind = TypeVar("_Kind")


@dataclass(frozen=True, kw_only=True)
class Claim(spec.Claim):
    """One statement about attention in the former language, which claims of chapters 4 to 8 are written in.

    ``derive`` returns a ``Derivation`` of routes, ``experiment`` takes it, as ``derivation``, and returns an
    ``Experiment``; ``facts`` returns exact values, ``figures`` figures.
    """

    facts: Callable[..., Fact | tuple[Fact, ...]] = spec.absent

    parameters: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "derive": (),
        "experiment": ("derivation", "tolerance"),
        "facts": ("derivation",),
        "figures": ("derivation", "findings"),
    }
    needed: ClassVar[tuple[str, ...]] = ("derive", "experiment")

    def derived(self) -> Derivation:
        """Return what ``derive`` returns.

        Raises:
            ClaimError: that is no derivation.
        """
        return self._of_kind(Derivation, self.derive(), "derive", "Derivation.of(…)")

    def measured_by(self, derivation: Derivation, tolerance: float) -> Experiment:
        """Return what ``experiment`` returns at a relative tolerance.

        Raises:
            ClaimError: that is no experiment.
        """
        returned = self.experiment(derivation, tolerance)
        return self._of_kind(Experiment, returned, "experiment", "Experiment(checks, controls)")

    def exact_values(self, derivation: Derivation, tolerance: float = 0.01) -> tuple[Fact, ...]:  # noqa: ARG002
        """Return the claim's facts."""
        facts = self.facts(derivation)
        return (facts,) if isinstance(facts, Fact) else facts

    def drawn(
        self,
        derivation: Derivation,
        findings: Findings,
        tolerance: float = 0.01,  # noqa: ARG002
    ) -> tuple[Figure, ...]:
        """Return the claim's figures."""
        figures = self.figures(derivation, findings)
        return (figures,) if isinstance(figures, Figure) else tuple(figures)

    def words(
        self,
        derivation: Derivation,
        facts: tuple[Fact, ...] | None = None,
        experiment: Experiment | Callable[[], Experiment] | None = None,
        checks: Sequence[Check] = (),
    ) -> FormerWords:
        """Return what the claim's texts are filled from."""
        return FormerWords(self, derivation, facts, experiment, tuple(checks))

    def _of_kind(self, kind: type[_Kind], returned: object, function: str, end: str) -> _Kind:
        """Return what a function of a foreign file has returned, whatever it promises, if it is that."""
        if not isinstance(returned, kind):
            name = type(returned).__name__
            what = "nothing" if returned is None else f"{'an' if name[0] in 'AEIOaeio' else 'a'} {name}"
            raise ClaimError(f"claim {self.id}: its {function} returns {what}; end it with return {end}")
        return returned
