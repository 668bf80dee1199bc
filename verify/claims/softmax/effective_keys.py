"""Attention over scores of variance 1 spreads over about n/e keys: n·E Σp² tends to e."""

from sympy import E as EULER
from sympy import S, exp

from verify.former import (
    NORMAL, SQUARES, Allowance, Claim, Control, Derivation, Exact, Experiment, Figure, Findings, NormalRows,
    Smooth, cell_of, component, computed, effective_keys, figure, line, measured, n, one_step,
    over_cells, row_integrals, sigma, wrong,
)  # fmt: skip
from verify.former.rules import PutIn

KEYS, MANY = (4, 16, 64), 10**6
LABEL = r"$n\,\mathbb{E}\sum p_j^2$"


def times_squares(keys: int) -> float:
    """Return n·E Σp² for ``keys`` keys with scores of deviation 1, integrated."""
    return keys * row_integrals.mean_squares(keys, 1.0).value


def derive() -> Derivation:
    """Derive the limit from a bound for any number of keys and another for many."""
    of_unit_variance = one_step(
        "Scores of unit variance",
        n * exp(-(sigma**2)),
        n / EULER,
        r"Put in $\sigma = 1$",
        PutIn({sigma: S.One}),
        defines="the number of keys over the limit",
    )
    return Derivation.of(effective_keys.for_many(), lemmas=(*effective_keys.lemmas(), of_unit_variance))


def _limit(name: str, derivation: Derivation, keys: int) -> Exact:
    """Return the comparison of the integral for a number of keys with the limit for ever more."""
    label, limit = f"{LABEL}, from the exact integral", derivation.result.subs(sigma, 1)
    near = Allowance(1e-4, "the distance from the limit of infinitely many keys")
    return computed(name, label, {"n": keys, "sigma": 1}, limit, times_squares, keys, allowance=near)


def experiment(derivation: Derivation) -> Experiment:
    """Measure n·E Σp² for several numbers of keys, and compare that of very many with the limit."""
    rows = {keys: NormalRows(keys, 4096 // keys, 1.0, NORMAL, ("squares",)) for keys in KEYS}
    cells = {keys: cell_of(f"rows-n{keys}", drawn) for keys, drawn in rows.items()}

    def mean(keys: int) -> Smooth:
        return component("squares", factor=float(keys), positive=True)

    checks = over_cells("squares-n{n}", LABEL, cells, mean, times_squares)
    few, *_, many = checks.values()
    thousand = _limit("limit-at-thousand", derivation, 1000)
    controls = (
        wrong(many, "over-all-keys", "attention spreads over all keys: {times} is {value}", S.One),
        wrong(many, "over-half", "it spreads over half of them", S(2)),
        wrong(few, "limit-at-once", "the limit is reached with four keys", EULER),
        Control("a thousand keys are as good as infinitely many", thousand),
    )
    return Experiment((*checks.values(), _limit("limit", derivation, MANY)), controls)


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw the approach to e."""
    limit, span = float(derivation.result.subs(sigma, 1)), (2.0, 4096.0)
    return figure(
        "towards-e",
        "Scores of unit variance use about one key in {limit:prediction}",
        "The number of keys times the mean sum of squared weights rises with the number of keys "
        "along the exact curve towards e, {limit:prediction.4}; measured values lie on the curve.",
        "mean of {times}",
        line("exact", lambda keys: times_squares(round(keys)), over=span, points=12),
        line("{limit:prediction}", limit, "other", over=span, points=2),
        measured(findings.matching("squares-n*"), against="n"),
        x="number of keys {n}",
        y_scale="linear",
    )


CLAIM = Claim(
    title="Softmax of scores of unit variance spreads over about {spread} keys",
    statement="For independent normal scores of standard deviation {sigma}, {theorem}: at {limit:sigma=} the "
    "effective number of keys, the inverse of {squares}, is about {n} over {limit:prediction}.",
    meaning="A head with such scores does not look anything up; it averages over more than a third of all "
    "keys, and with twice as many keys it averages over twice as many. Scaled scores of random vectors have "
    "unit variance over all queries; those of one query may have more or less. The approach is quick: with "
    "{squares-n64:n} keys the product is {squares-n64:prediction.3} of {limit:prediction.3}.",
    symbols={"sigma": sigma, "n": n, "squares": SQUARES, "times": n * SQUARES, "spread": n / EULER},
)
