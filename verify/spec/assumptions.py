"""Assumptions that several claims share."""

from __future__ import annotations

from verify.evidence import Assumption

INDEPENDENT = Assumption(id="independent", text="All components of query and key are independent.")
CENTRED = Assumption(
    id="centred", text=r"Every component has mean 0: $\mathbb{E}[q_i] = \mathbb{E}[k_i] = 0$."
)
UNIT_VARIANCE = Assumption(id="unit-variance", text="Every component has variance 1.")
NORMAL_COMPONENTS = Assumption(id="normal", text="Every component is standard normal.")
FINITE_VARIANCE = Assumption(id="finite-variance", text="Both laws have a finite variance.")

ALIKE = Assumption(id="alike", text="The components of a query have one law, those of a key another.")

STANDARD_COMPONENTS = (INDEPENDENT, CENTRED, UNIT_VARIANCE)
"""What every introduction assumes of queries and keys."""


def assume(*shared: Assumption, **own: str) -> tuple[Assumption, ...]:
    """Return a claim's assumptions: those that it shares with others, then its own.

    Args:
        *shared: Assumptions such as ``INDEPENDENT``, as they are.
        **own: Texts by id, with underscores for the hyphens of ids, as in the names of claim files.
    """
    return (*shared, *(Assumption(id=name.replace("_", "-"), text=text) for name, text in own.items()))
