"""The variance of the scores does not depend on the number of tokens."""

from __future__ import annotations

from typing import Any

from sympy import Add, IndexedBase, S, Sum

from verify.spec import (
    NORMAL, STANDARD, STANDARD_COMPONENTS, Axis, Claim, Control, Definition, Derivation, E, Evaluation,
    Experiment, Figure, Findings, Layer, Population, Quantity, Route, ScoreMatrices, Step, Tolerance, Var,
    Wanted, biased, block_variances, cell_of, d, fits, index, measured, prediction, q, score, variance,
    variance_route, wrong_fits,
)  # fmt: skip

TOKENS = (2, 8, 32, 128)
D = 64
LABEL = r"$\operatorname{Var}(q\cdot k)$"
_STANDARD = (S.One, S.Zero, S.One)


def _keys(number: int) -> list[Any]:
    return [IndexedBase("k" + "'" * j) for j in range(number)]


def _defined(keys: int) -> Definition:
    squares = [Sum(q[index] * base[index], (index, 1, d)) ** 2 for base in _keys(keys)]
    return Definition(E(Add(*squares)) / keys, f"the mean over {keys} keys of the squared score")


def _mean_square(keys: int) -> Route:
    """Return E of the mean squared score of one query with so many keys."""
    bases = _keys(keys)
    population = Population(dict.fromkeys((q, *bases), _STANDARD), d)
    squares: Any = sum(Sum(q[index] * base[index], (index, 1, d)) ** 2 for base in bases)
    check = Evaluation(population, assumed=True)
    step = Step(d, "Each key adds the same, whatever the others are", check)
    return Route(f"Mean square over {keys} keys of one query", E(squares) / keys, (step,))


def derive() -> Derivation:
    """Derive the variance of one score, in which no length occurs, and the mean square over some keys."""
    route = variance_route(score, STANDARD, "One score: the number of tokens does not occur")
    return Derivation(
        Var(score),
        route.end,
        (route,),
        lemmas=tuple(_mean_square(n) for n in (2, 3, 4)),
        definitions=tuple(_defined(n) for n in (2, 3, 4)),
    )


def _check(tokens: int, expected: Any, name: str) -> Quantity:
    moments = tuple(
        (distribution.mean, distribution.variance, 0, distribution.kurtosis)
        for distribution in (NORMAL, NORMAL)
    )
    relative = block_variances.square_variance(D, tokens, *moments) / D**2
    sampler = ScoreMatrices(D, tokens, NORMAL, NORMAL)
    cell = cell_of(f"tokens-{tokens}", sampler, tokens=sampler.side)
    return Quantity(name, LABEL, cell, variance(block_variance=relative), prediction(expected))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the variance over the scores of whole matrices of 2 to 128 tokens."""
    level = derivation.result.subs(d, D)
    checks = tuple(_check(n, level, f"variance-n{n}") for n in TOKENS)
    rise = Tolerance(1.0, float(level) / TOKENS[-1], "the level over the largest number of tokens")
    slope = Wanted("slope", "slope against the number of tokens", "line", "slope", S.Zero, rise)
    lines = fits(checks, TOKENS, LABEL, (slope,))
    controls = (
        Control(
            "$d_k$ is the number of words: the variance is that number",
            _check(32, S(32), "number-of-words"),
            D,
        ),
        Control("the variance doubles with the number of tokens", _check(128, level * 64, "doubles"), D),
        biased(checks[0], tolerance),
        *wrong_fits(lines, tolerance),
    )
    return Experiment((*checks, *lines), controls)


def figures(derivation: Derivation, findings: Findings) -> tuple[Figure, ...]:
    """Draw the level line over the number of tokens."""
    checks = [findings.checks[f"variance-n{n}"] for n in TOKENS]
    ends = (float(TOKENS[0]), float(TOKENS[-1]))
    level = float(derivation.result.subs(d, D))
    return (
        Figure(
            id="level",
            title="Longer texts have no larger scores",
            alt="Measured variances of scores in 64 dimensions, for 2 to 128 tokens, lie on the level 64; "
            "a variance equal to the number of tokens would be a rising line.",
            x=Axis(label="number of tokens", scale="log"),
            y=Axis(label=r"variance of $q\cdot k$", scale="log"),
            layers=(
                Layer(kind="line", role="truth", label=f"derived: $d_k = {D}$", x=ends, y=(level, level)),
                Layer(kind="line", role="control", label="wrong: number of tokens", x=ends, y=ends),
                measured(checks, "measured", against="tokens"),
            ),
        ),
    )


CLAIM = Claim(
    title="The number of tokens has no influence on the variance of a score",
    statement=(
        r"For independent components with mean 0 and variance 1, $\operatorname{Var}(q\cdot k) = d_k$ "
        r"whatever the number of queries and keys."
    ),
    meaning=(
        "$d_k$ counts the components of a query or key, not the words of a text, and a longer text calls "
        "for no other "
        "scale on this account. What the length does change is the largest of many scores and the spread "
        "of the softmax over many keys; other claims measure that."
    ),
    assumptions=STANDARD_COMPONENTS,
    derive=derive,
    experiment=experiment,
    figures=figures,
)
