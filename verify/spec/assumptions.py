"""Assumptions and references that several claims share."""

from __future__ import annotations

from verify.evidence import Assumption, Reference

INDEPENDENT = Assumption(id="independent", text="All components of query and key are independent.")
CENTRED = Assumption(
    id="centred", text=r"Every component has mean 0: $\mathbb{E}[q_i] = \mathbb{E}[k_i] = 0$."
)
UNIT_VARIANCE = Assumption(id="unit-variance", text="Every component has variance 1.")
NORMAL_COMPONENTS = Assumption(id="normal", text="Every component is standard normal.")
FINITE_VARIANCE = Assumption(id="finite-variance", text="Both laws have a finite variance.")

STANDARD_COMPONENTS = (INDEPENDENT, CENTRED, UNIT_VARIANCE)
"""What every introduction assumes of queries and keys."""

VASWANI = Reference(
    key="vaswani2017",
    text="A. Vaswani et al., Attention Is All You Need, NeurIPS 2017, section 3.2.1 and its footnote 4.",
    url="https://arxiv.org/abs/1706.03762",
)
