"""Twenty questions, each answered by the tool and by a few lines of plain NumPy."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import verify
from verify.symbolic.vocabulary import d, n

SAMPLES, BLOCKS = 400, 60
"""Rows of keys that plain NumPy draws at once, and how often: the scatter between them is its error."""

Draw = Callable[[np.random.Generator, tuple[int, ...]], Any]
LAWS: dict[str, Draw] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "uniform": lambda rng, shape: rng.uniform(-math.sqrt(3), math.sqrt(3), shape),
    "uniform(0, 1)": lambda rng, shape: rng.random(shape),
    "rademacher": lambda rng, shape: rng.choice([-1.0, 1.0], shape),
    "laplace": lambda rng, shape: rng.laplace(scale=math.sqrt(0.5), size=shape),
    "exponential": lambda rng, shape: rng.exponential(size=shape) - 1,
    "t(9)": lambda rng, shape: rng.standard_t(9, shape) * math.sqrt(7 / 9),
}


@dataclass(frozen=True)
class Asked:
    """A question, what NumPy makes of scores of shape (rows, keys), and the formula that is expected."""

    text: str
    of_scores: Callable[[Any, int], float]
    formula: str = ""
    law: str = "normal"
    key_law: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    verdict: str = "confirmed"


def weights(scores: Any) -> Any:
    """Return the softmax over the last axis."""
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def entropy(p: Any) -> float:
    """Return the mean entropy of rows of weights."""
    return float(-(p * np.log(np.maximum(p, 1e-300))).sum(-1).mean())


def kurtosis(x: Any) -> float:
    """Return the fourth moment about the mean over the squared variance."""
    return float(((x - x.mean()) ** 4).mean() / x.var() ** 2)


def squares(p: Any) -> float:
    """Return the mean sum of squared weights."""
    return float((p**2).sum(-1).mean())


def variance(scores: Any, _: int) -> float:
    """Return the variance of all scores."""
    return float(scores.var())


QUESTIONS = [
    Asked("Var(q·k)", variance, "d_k"),
    Asked("Var(q·k)", variance, "d_k", "uniform"),
    Asked("Var(q·k)", variance, "7*d_k/144", "uniform(0, 1)"),
    Asked("Var(q·k)", variance, "d_k", "rademacher"),
    Asked("Var(q·k)", variance, "d_k", "laplace"),
    Asked("Var(q·k)", variance, "d_k", "exponential"),
    Asked("Var(score)", variance, "d_k", "t(9)", "rademacher"),
    Asked("E(q·k)", lambda s, _: float(s.mean()), "d_k/4", "uniform(0, 1)"),
    Asked("kurtosis(q·k)", lambda s, _: kurtosis(s), "3 + 6/d_k", options={"dimensions": [4, 32]}),
    Asked(
        "kurtosis(q·k)", lambda s, _: kurtosis(s), "3 - 2/d_k", "rademacher", options={"dimensions": [4, 32]}
    ),
    Asked("Var(q·k/sqrt(d_k))", lambda s, d: float((s / math.sqrt(d)).var()), "1"),
    Asked("Var(d_k^(-1/3)*q·k)", lambda s, d: float((s * d ** (-1 / 3)).var()), "d_k**(1/3)"),
    Asked("E(|q·k|)", lambda s, _: float(np.abs(s).mean()), "gamma"),
    Asked("E(max(p))", lambda s, _: float(weights(s).max(-1).mean()), verdict=""),
    Asked("E(max(p_scaled))", lambda s, d: float(weights(s / math.sqrt(d)).max(-1).mean()), verdict=""),
    Asked("E(H)", lambda s, _: entropy(weights(s)), verdict=""),
    Asked("E(H_scaled)", lambda s, d: entropy(weights(s / math.sqrt(d)))),
    Asked("E(sum(p^2))", lambda s, _: squares(weights(s))),
    Asked("E(sum(p_scaled^2))", lambda s, d: squares(weights(s / math.sqrt(d))), verdict=""),
    Asked("P(q·k > 2)", lambda s, _: float((s > 2).mean()), verdict="", options={"dimensions": [4, 16]}),
    Asked("Var(q·k)", variance, options={"against": "d_k + 1", "dimensions": [4, 16]}, verdict="refuted"),
]


def by_numpy(asked: Asked, size: int, keys: int) -> tuple[float, float]:
    """Return the same quantity with its error by plain NumPy: queries with keys of their own."""
    rng, values = np.random.default_rng([size, keys]), []
    for _ in range(BLOCKS):
        queries = LAWS[asked.law](rng, (SAMPLES, 1, size))
        vectors = LAWS[asked.key_law or asked.law](rng, (SAMPLES, keys, size))
        values.append(asked.of_scores((queries * vectors).sum(-1), size))
    return float(np.mean(values)), float(np.std(values, ddof=1) / math.sqrt(BLOCKS))


@pytest.mark.slow
@pytest.mark.parametrize("asked", QUESTIONS, ids=lambda asked: f"{asked.text}, {asked.law}"[:40])
def test_an_answer_is_what_plain_numpy_finds(asked: Asked) -> None:
    """Within six errors of their difference: one of a hundred million tests departs by chance."""
    sizes = {"dimensions": [4, 64], **asked.options}
    answer = verify.ask(asked.text, law=asked.law, key_law=asked.key_law, workers=1, **sizes)
    assert str(answer.verdict or "") == asked.verdict
    assert "kurtosis" not in asked.text or f": {asked.text} = 3" in answer.text()
    if asked.formula and asked.formula != "gamma":
        assert asked.formula.replace("*", "") in str(answer.formula).replace("*", "")
    for at in answer.question.places:
        row = answer.evidence.check("-".join(f"{symbol.name[0]}{size}" for symbol, size in at.items()))
        value, error = by_numpy(asked, at[d], at.get(n, 16))
        # The mean of a ratio of 6,400 scores is a little off that of the ratio itself.
        off = 0.02 * value if asked.text.startswith("kurtosis") else 0.0
        assert abs(row.estimate - value) < 6 * math.hypot(error, row.standard_error) + off
