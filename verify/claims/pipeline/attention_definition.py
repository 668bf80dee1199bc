"""The four steps of attention compute its definition, with and without a mask."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sympy import Idx, IndexedBase, S, Sum, Symbol, exp, simplify

from verify.claim import Claim
from verify.conditions import VASWANI
from verify.designs import prediction
from verify.evidence import Assumption
from verify.montecarlo.attention import attention, probabilities, softmax
from verify.montecarlo.components import NORMAL, Array
from verify.montecarlo.experiment import EXACTLY, Allowance, Control, Exact, Experiment, Settings
from verify.montecarlo.streams import stream
from verify.symbolic.derivation import By, Derivation, Route, Step
from verify.symbolic.printing import Ordered
from verify.symbolic.scores import d
from verify.symbolic.softmax import n

QUERIES, KEYS, HEAD, WIDTH = 5, 7, 16, 3
ROUNDING = Allowance(1e-13)

a, b, i, j = (Idx(name) for name in "abij")
c = Symbol("c", positive=True)
q, k, v = (IndexedBase(Ordered(name, order)) for name, order in (("q", "q1"), ("k", "q2"), ("v", "q3")))
SCORE, WEIGHT = IndexedBase("S"), IndexedBase("P")
_OF_SCORE = c * Sum(q[a, i] * k[j, i], (i, 1, d))
_NUMERATOR = exp(c * Sum(q[a, i] * k[j, i], (i, 1, d)))
DEFINITION = Sum(_NUMERATOR * v[j, b], (j, 1, n)) / Sum(_NUMERATOR, (j, 1, n))


def _written_out(expression: Any, keys: int, dimension: int) -> Any:
    """Return one entry of the output for so many keys and dimensions, all sums written out."""
    scores = {SCORE[a, one]: _OF_SCORE.subs(j, one).subs(d, dimension).doit() for one in range(1, keys + 1)}
    total = sum(map(exp, scores.values()))
    weights = {WEIGHT[a, one]: exp(scores[SCORE[a, one]]) / total for one in range(1, keys + 1)}
    concrete = expression.subs({n: keys, d: dimension}).doit()
    return concrete.xreplace(weights).xreplace(scores)


def _same_entry(before: Any, after: Any) -> bool:
    sizes = ((1, 1), (2, 1), (2, 2), (3, 2))
    return all(simplify(_written_out(before, *size) - _written_out(after, *size)) == 0 for size in sizes)


def derive() -> Derivation:
    """Derive the definition, one entry of the output, from the four steps."""
    check = By("SymPy, written out for 1, 2 and 3 keys in 1 and 2 dimensions", _same_entry, "examples")
    last = Sum(WEIGHT[a, j] * v[j, b], (j, 1, n))
    normalised = Sum(exp(SCORE[a, j]) * v[j, b], (j, 1, n)) / Sum(exp(SCORE[a, j]), (j, 1, n))
    route = Route(
        "One entry of the output, backwards through the steps",
        last,
        (
            Step(normalised, r"Softmax: $P_{aj} = e^{S_{aj}}/\sum_l e^{S_{al}}$", check),
            Step(DEFINITION, r"Product and scale: $S_{aj} = c\sum_i q_{ai}k_{ji}$", check),
        ),
    )
    return Derivation(last, DEFINITION, (route,))


def _drawn() -> tuple[Array, Array, Array]:
    rng = stream(0, "attention-definition", "arrays", 0)
    return NORMAL.draw(rng, (QUERIES, HEAD)), NORMAL.draw(rng, (KEYS, HEAD)), NORMAL.draw(rng, (KEYS, WIDTH))


def _in_loops(queries: Array, keys: Array, values: Array, scale: float, allowed: NDArray[np.bool_]) -> Array:
    """Return attention by the definition, entry by entry in plain Python."""
    output = np.zeros((len(queries), values.shape[1]))
    for row, query in enumerate(queries):
        weights = [
            math.exp(scale * math.fsum(x * y for x, y in zip(query, key, strict=True)))
            if allowed[row, place]
            else 0.0
            for place, key in enumerate(keys)
        ]
        total = math.fsum(weights)
        for column in range(values.shape[1]):
            output[row, column] = math.fsum(w * values[at, column] for at, w in enumerate(weights)) / total
    return output


def _masks() -> dict[str, NDArray[np.bool_]]:
    everywhere = np.ones((QUERIES, KEYS), dtype=bool)
    padded = everywhere & (np.arange(KEYS) < KEYS - 2)
    return {"none": everywhere, "causal": np.tril(everywhere), "padding": padded}


def _exact(name: str, label: str, settings: Settings, value: float, allowance: Allowance = ROUNDING) -> Exact:
    return Exact(name, label, settings, prediction(S.Zero), value, allowance)


def experiment(derivation: Derivation, tolerance: float) -> Experiment:  # noqa: ARG001  # nothing is tolerated
    """Compare arrays with loops under three masks; check the rows' sums and what a mask leaves out."""
    queries, keys, values = _drawn()
    scale = HEAD**-0.5
    checks = []
    for name, allowed in _masks().items():
        mask = np.where(allowed, 0.0, -np.inf)
        settings = (("mask", name), ("queries", QUERIES), ("keys", KEYS), ("d_k", HEAD))
        weights = probabilities(queries, keys, scale, mask)
        output = attention(queries, keys, values, scale, mask)
        loops = _in_loops(queries, keys, values, scale, allowed)
        checks += [
            _exact(
                f"loops-{name}",
                "largest distance from the definition in loops",
                settings,
                float(np.abs(output - loops).max()),
            ),
            _exact(
                f"rows-{name}",
                "largest distance of a row's sum from 1",
                settings,
                float(np.abs(weights.sum(axis=1) - 1).max()),
            ),
            _exact(
                f"masked-{name}",
                "largest weight of a masked key",
                settings,
                float(weights[np.logical_not(allowed)].max(initial=0.0)),
                EXACTLY,
            ),
        ]
    controls = _controls(queries, keys, values, scale)
    return Experiment(tuple(checks), controls)


def _controls(queries: Array, keys: Array, values: Array, scale: float) -> tuple[Control, ...]:
    right = attention(queries, keys, values, scale)
    scores = queries @ keys.T
    across = softmax((scale * scores).T).T @ values
    after = scale * softmax(scores) @ values
    blanked = softmax(np.where(_masks()["padding"], scale * scores, 0.0))
    settings = (("queries", QUERIES), ("keys", KEYS), ("d_k", HEAD))
    distance = "largest distance from attention"
    return (
        Control(
            "the softmax may run over the queries instead of the keys",
            _exact("softmax-over-queries", distance, settings, float(np.abs(across - right).max())),
        ),
        Control(
            "scaling may come after the softmax",
            _exact("scale-after-softmax", distance, settings, float(np.abs(after - right).max())),
        ),
        Control(
            "a masked key gets no weight if its score is set to 0",
            _exact(
                "masked-with-zero",
                "largest weight of a masked key",
                settings,
                float(blanked[:, -2:].max()),
                EXACTLY,
            ),
        ),
    )


CLAIM = Claim(
    id="attention-definition",
    order=20,
    title="Four steps, with an optional mask, compute attention",
    statement=(
        r"Product $QK^{\mathsf T}$, scale, optional mask, softmax over the keys, product with $V$: each "
        r"entry of the result is "
        r"$\sum_j e^{c\,q_a\cdot k_j}v_{jb} \big/ \sum_j e^{c\,q_a\cdot k_j}$ over the keys that the mask "
        r"leaves, and the weights of every row sum to one."
    ),
    meaning=(
        "The array code that the other claims measure is attention as defined: to rounding the same as "
        "plain loops, with "
        "no mask, a causal one and one for padding. A mask must set scores to minus infinity; zero is a "
        "score like any other. A row whose keys are all masked has no softmax."
    ),
    assumptions=(Assumption(id="some-key", text="The mask leaves every query at least one key."),),
    references=(VASWANI,),
    derive=derive,
    experiment=experiment,
)
