"""The variance of a score whose query and key are jointly normal and depend on each other."""

from __future__ import annotations

from functools import reduce
from operator import mul
from typing import Any

import numpy as np
from sympy import MatMul, MatPow, Matrix, MatrixSymbol, S, Symbol, Trace, Transpose, expand, symbols

from verify.claim import Claim
from verify.designs import biased, capped, prediction
from verify.evidence import Assumption, Reference
from verify.montecarlo.blocks import Cell
from verify.montecarlo.components import NORMAL
from verify.montecarlo.estimands import component, variance
from verify.montecarlo.experiment import Control, Experiment, Quantity, Tolerance
from verify.montecarlo.linked import LinkedPairs
from verify.symbolic.derivation import By, Derivation, Route, Step
from verify.symbolic.expectation import Population, Var, evaluate
from verify.symbolic.scores import d

LABEL, MEAN = r"$\operatorname{Var}(q\cdot k)$", r"$\mathbb{E}[q\cdot k]$"
GROUPS = 4
"""Two-dimensional groups of components that a score adds, so that it has 8 dimensions."""

CROSS = Matrix([[S.Half, 2], [-1, S.Half]])
"""C = Cov(q, k) of a group: far from symmetric, so that a wrong transpose shows."""

MEAN_Q, MEAN_K = Matrix([1, -1]), Matrix([S.Half, 1])

SIZE = Symbol("d", integer=True, positive=True)
SIGMA_Q, SIGMA_K, C = (MatrixSymbol(name, SIZE, SIZE) for name in ("Sigma_q", "Sigma_k", "C"))
MU_Q, MU_K = (MatrixSymbol(name, SIZE, 1) for name in ("mu_q", "mu_k"))
PRODUCT = Symbol(r"q^{\mathsf T} k")
GENERAL = (
    Trace(SIGMA_Q * SIGMA_K)
    + Trace(C * C)
    + Trace(MU_Q.T * SIGMA_K * MU_Q)
    + Trace(MU_K.T * SIGMA_Q * MU_K)
    + 2 * Trace(MU_Q.T * C.T * MU_K)
)
_NORMAL = (S.One, S.Zero, S.One, S.Zero, S(3))


def _in_numbers(expression: Any, sigma_q: Any, sigma_k: Any, cross: Any, mu_q: Any, mu_k: Any) -> Any:
    """Return a matrix expression's value for given matrices."""
    given = {SIGMA_Q: sigma_q, SIGMA_K: sigma_k, C: cross, MU_Q: mu_q, MU_K: mu_k}
    concrete = expression.replace(
        lambda part: isinstance(part, Trace),
        lambda part: _trace(part.arg, given),
    )
    return concrete.doit()


def _trace(argument: Any, given: dict[Any, Any]) -> Any:
    def value(one: Any) -> Any:
        if isinstance(one, Transpose):
            return value(one.arg).T
        if isinstance(one, MatMul):
            first, *rest = map(value, one.args)
            return reduce(mul, rest, first)
        return value(one.base) ** one.exp if isinstance(one, MatPow) else given[one]

    return value(argument).trace()


def _isserlis(before: Any, after: Any) -> bool:
    """Write (q, k) = mean + L·z out with random integer L and means, and take all moments exactly."""
    if before != Var(PRODUCT):
        return False
    rng = np.random.default_rng(1)
    for size in (1, 2, 2, 3):
        fresh = Matrix(symbols(f"z0:{2 * size}", real=True))
        population = Population(dict.fromkeys(fresh, _NORMAL), d)
        mixing = Matrix(rng.integers(-3, 4, (2 * size, 2 * size)).tolist())
        means = Matrix(rng.integers(-3, 4, (2 * size, 1)).tolist())
        both = means + mixing * fresh
        score = expand((both[:size, :].T * both[size:, :])[0])
        exact = evaluate(Var(score), population)
        joint = mixing * mixing.T
        blocks = (joint[:size, :size], joint[size:, size:], joint[:size, size:])
        if expand(exact - _in_numbers(after, *blocks, means[:size, :], means[size:, :])) != 0:
            return False
    return True


def derive() -> Derivation:
    """State the formula and check it exactly against written-out moments of normal numbers."""
    step = Step(
        GENERAL,
        "Isserlis: fourth moments of normal numbers are sums over pairings; the means add linear terms",
        By("written out with random integer covariances and means, 1 to 3 dimensions", _isserlis),
    )
    return Derivation(Var(PRODUCT), GENERAL, (Route("Pairings of normal numbers", Var(PRODUCT), (step,)),))


def _mixing() -> Matrix:
    """Return L with q = z₁, k = Cᵀq + z₂, so that Cov(q, k) = C."""
    identity, nothing = Matrix.eye(2), Matrix.zeros(2, 2)
    return Matrix.vstack(Matrix.hstack(identity, nothing), Matrix.hstack(CROSS.T, identity))


def _cell() -> Cell:
    rows = tuple(tuple(map(float, row)) for row in _mixing().tolist())
    means = tuple(map(float, (*MEAN_Q, *MEAN_K)))
    settings = (
        ("d_k", 2 * GROUPS),
        ("components", "jointly normal"),
        ("Cov(q, k)", "[½ 2; −1 ½] in groups of two"),
    )
    return Cell("asymmetric", settings, LinkedPairs(GROUPS, 32, NORMAL, rows, means))


def _expected(expression: Any, cross: Any = CROSS) -> Any:
    joint = _mixing() * _mixing().T
    return GROUPS * _in_numbers(expression, joint[:2, :2], joint[2:, 2:], cross, MEAN_Q, MEAN_K)


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure mean and variance of a strongly asymmetric example."""
    cell, spread = _cell(), variance(0, 1)
    truth = _expected(derivation.result)
    mean = GROUPS * (CROSS.trace() + (MEAN_Q.T * MEAN_K)[0])
    checks = (
        Quantity("variance", LABEL, cell, spread, prediction(truth), capped(3.0, tolerance)),
        Quantity(
            "mean",
            MEAN,
            cell,
            component(0),
            prediction(mean),
            Tolerance(1.0, float(truth) ** 0.5, "the standard deviation"),
        ),
    )
    independent = Trace(SIGMA_Q * SIGMA_K) + Trace(MU_Q.T * SIGMA_K * MU_Q) + Trace(MU_K.T * SIGMA_Q * MU_K)
    transposed = derivation.result.subs(Trace(C * C), Trace(C * C.T))
    controls = tuple(
        Control(
            what, Quantity(name, LABEL, cell, spread, prediction(value), capped(3.0, tolerance)), float(truth)
        )
        for name, what, value in (
            ("as-if-independent", "the dependence does not matter", _expected(independent)),
            (
                "wrong-transpose",
                r"$\operatorname{tr}(CC^{\mathsf T})$ in place of $\operatorname{tr}(CC)$",
                _expected(transposed),
            ),
        )
    )
    return Experiment(checks, (*controls, biased(checks[0], tolerance)))


CLAIM = Claim(
    id="dependent-query-key",
    order=20,
    title="The general formula: a query and a key that depend on each other",
    statement=(
        r"For jointly normal $q$ and $k$ with $C = \operatorname{Cov}(q, k)$, $\operatorname{Var}(q\cdot "
        r"k) = "
        r"\operatorname{tr}(\Sigma_q\Sigma_k) + \operatorname{tr}(CC) + \mu_q^{\mathsf T}\Sigma_k\mu_q + "
        r"\mu_k^{\mathsf T}\Sigma_q\mu_k + 2\mu_q^{\mathsf T}C^{\mathsf T}\mu_k$."
    ),
    meaning=(
        "This is what takes over once training has made queries and keys depend on each other. The "
        "dependence can lower "
        "the variance as well as raise it, for the trace of $CC$ may be negative. With $C = 0$ the formula "
        "of the earlier chapters comes back."
    ),
    assumptions=(
        Assumption(id="jointly-normal", text="All components of query and key together are normal."),
    ),
    references=(
        Reference(
            key="isserlis1918",
            text="L. Isserlis, On a formula for the product-moment coefficient of any order of a normal "
            "frequency distribution in any number of variables, Biometrika 12 (1918), 134-139.",
        ),
    ),
    derive=derive,
    experiment=experiment,
)
