"""Assumptions and references that claims share, and how a claim writes its own."""

from __future__ import annotations

from verify.evidence import Assumption, Reference

INDEPENDENT = Assumption(id="independent", text="All components of query and key are independent.")
CENTRED = Assumption(
    id="centred", text=r"Every component has mean 0: $\mathbb{E}[q_i] = \mathbb{E}[k_i] = 0$."
)
UNIT_VARIANCE = Assumption(id="unit-variance", text="Every component has variance 1.")

STANDARD_COMPONENTS = (INDEPENDENT, CENTRED, UNIT_VARIANCE)
"""What every introduction assumes of queries and keys."""


def assume(*shared: Assumption, **own: str) -> tuple[Assumption, ...]:
    """Return a claim's assumptions: those that it shares with others, then its own.

    Args:
        *shared: Assumptions such as ``INDEPENDENT``, as they are.
        **own: Texts by id, with underscores for the hyphens of ids, as in the names of claim files.
    """
    return (*shared, *(Assumption(id=name.replace("_", "-"), text=text) for name, text in own.items()))


def cite(key: str, text: str, url: str | None = None) -> Reference:
    """Return a reference by its ``key``, such as "vaswani2017", its bibliographic ``text`` and address."""
    return Reference(key=key, text=text, url=url)


HOEFFDING = cite(
    "hoeffding1948",
    "W. Hoeffding, A Class of Statistics with Asymptotically Normal Distribution, "
    "Ann. Math. Stat. 19 (1948), 293-325.",
)
STEIN = cite(
    "stein1981",
    "C. M. Stein, Estimation of the Mean of a Multivariate Normal Distribution, Ann. Statist. 9 "
    "(1981), 1135-1151: integration by parts.",
    "https://doi.org/10.1214/aos/1176345632",
)
VASWANI = cite(
    "vaswani2017",
    "A. Vaswani et al., Attention Is All You Need, NeurIPS 2017, section 3.2.1 and its footnote 4.",
    "https://arxiv.org/abs/1706.03762",
)
