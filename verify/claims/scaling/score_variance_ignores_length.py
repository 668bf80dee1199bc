"""The variance of the scores does not depend on the number of tokens."""

from sympy import Add, IndexedBase, S, Sum

from verify.former import (
    E, NORMAL, STANDARD, Claim, Derivation, Experiment, Figure, Findings, Population, Route, ScoreMoments,
    Smooth, Step, biased, cell_of, d, figure, fits, fitting, index, line, measured, normal, over_cells, q,
    score, variance_of_scores, variance_route, wrong, wrong_fits,
)  # fmt: skip
from verify.former.rules import Evaluation

TOKENS = (2, 8, 32, 128)
D = 64
LABEL = r"$\operatorname{Var}(q\cdot k)$"


def _over(keys: int) -> Route:
    """Return E of the mean squared score of one query with a number of keys."""
    bases = [IndexedBase("k" + "'" * j) for j in range(keys)]
    squares = Add(*(Sum(q[index] * base[index], (index, 1, d)) ** 2 for base in bases))
    population = Population(dict.fromkeys((q, *bases), (S.One, S.Zero, S.One)), d)
    check = Evaluation(population, assumed=True)
    step = Step(d, "Each key adds the same, whatever the others are", check)
    route = Route.of(f"Mean square over {keys} keys of one query", E(squares) / keys, step)
    return route.defining(f"the mean over {keys} keys of the squared score")


def derive() -> Derivation:
    """Derive the variance of one score, in which no length occurs, and the mean square over some keys."""
    route = variance_route(score, STANDARD, "One score: the number of tokens does not occur")
    return Derivation.of(route, lemmas=tuple(_over(n) for n in (2, 3, 4)))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the variance over the scores of whole matrices of 2 to 128 tokens."""
    drawn = {n: normal(n, n, D) for n in TOKENS}
    cells = {n: cell_of(f"tokens-{n}", one, ScoreMoments(), tokens=n) for n, one in drawn.items()}

    def estimand(tokens: int) -> Smooth:
        return variance_of_scores(D, tokens, NORMAL, NORMAL)

    by_length = over_cells("variance-n{tokens}", LABEL, cells, estimand, derivation.result)
    level, checks = derivation.result.subs(d, D), tuple(by_length.values())
    lines = fits(checks, fitting.no_slope(level, TOKENS[-1], against="number of tokens"), against="tokens")
    words = "{d_k} is the number of words: the variance is that number, {value}"
    controls = (
        wrong(by_length[32], "number-of-words", words, 32),
        wrong(by_length[128], "doubles", "the variance doubles with the number of tokens", level * 64),
        biased(by_length[128], tolerance),
        *wrong_fits(lines, tolerance),
    )
    return Experiment((*checks, *lines), controls)


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw the level line over the number of tokens."""
    ends = TOKENS[0], TOKENS[-1]
    return figure(
        "level",
        "Longer texts leave the variance of scores unchanged",
        "Measured variances of scores in {variance-n2:d_k} dimensions, for {variance-n2:tokens} to "
        "{variance-n128:tokens} tokens, lie on one level; a variance equal to the number of tokens "
        "would rise.",
        "variance of {score}",
        line("derived: {variance-n2:d_k=}", float(derivation.result.subs(d, D)), at=ends),
        line("wrong: number of tokens", ends, "control", at=ends),
        measured(findings.matching("variance-n*"), against="tokens"),
        x="number of tokens",
    )


CLAIM = Claim(
    title="The number of tokens has no influence on the variance of a score",
    statement="For independent components with mean zero and unit variance, {theorem} whatever the number of "
    "queries and keys.",
    meaning="{d_k} counts the components of a query or key, not the words of a text, and a longer text calls "
    "for no other scale on this account. What the length does change is the largest of many scores and the "
    "spread of the softmax over many keys; other claims measure that.",
)
