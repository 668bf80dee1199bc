"""On one task, scaling widens the range of usable learning rates and speeds up training in high dimension."""

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from verify.spec import NORMAL, STANDARD, Allowance, Chain, Chains, Check, Claim, Column, Computed, Derivation
from verify.spec import Derivative, E, Expr, Family, Index, Indicator, Items, Named, S, Sum, Symbol, Threshold
from verify.spec import Wrong, a, algebra, assume, d, derivative, e, j, l, m, moments, n, q, sqrt, symbols
from verify.spec.arrays import Array, Draws, gradients, largest_difference, probabilities, stream

c, eta, nu = symbols("c eta nu", positive=True)
T, D = symbols("T D", integer=True, positive=True)
f, h, t = Index("f"), Index("h"), Index("t")
# Weights of queries and of keys; drawn numbers are these times √D.
w, x = Family("w", D, d), Family("x", D, d)
# Tokens of every step and the noise of its queries; a step's derivatives of the loss.
y, noise, slope = Family("y", T, n, D), Family("g", T, m, D), Family("L", D, D)
DRAWN = dict.fromkeys((w, x, y, noise), NORMAL)
UNSCALED, ROOT, WHOLE = "unscaled", "over the root", "over the dimension"
POWERS = {UNSCALED: 0.0, ROOT: -0.5, WHOLE: -1.0}  # the scales, as powers of the dimension
OWN = {UNSCALED: "rate 1", ROOT: "rate 4", WHOLE: "rate 16"}  # a rate for each, fixed before the draws
# Measures by which scales are compared, by the ids of their checks.
MEASURES = {"success-rate": "rates of success", "steps-to-loss": "mean steps to the goal"}
MEASURES["steps-at-best-rate"] = "steps to the goal at the best rate"
# Success is a mean loss below the goal over the last steps; it is reached after a window of such a mean.
RATES, STEPS, GOAL, LAST, WINDOW = tuple(4.0**power for power in range(-2, 5)), 120, 0.2, 20, 5
KEYS, COPIES, WIDTH, NOISE, DIMENSION = 4, 2, 8, 0.3, 64
SIZES = {D: WIDTH, n: KEYS, m: KEYS * COPIES, T: STEPS}


def derive() -> Chains:
    names = (Symbol(f"{of}'_{row}h") for of, row in ((w, e), (x, f)))
    smaller, of_keys = map(Named, names, (sqrt(c) * w[e, h], sqrt(c) * x[f, h]))
    paired, title = c * Sum(w[e, h] * x[f, h], (h, 1, d)), "The scores, and with them the loss, are the same"
    scores = Chain(paired, name="scores", title=title, defines="what one pair of entries adds to a score")
    yield scores.then(Sum(smaller * of_keys, (h, 1, d)), "each weight takes a root of the scale", algebra)
    by_weight = Derivative(paired.xreplace({h: Index("u")}), w[e, h])
    by_pair, one_key, of_smaller = (Sum(slope[e, f] * of, (f, 1, D)) for of in (by_weight, x[f, h], of_keys))
    chain_rule = "chain rule: the scores depend on such pairs alone, which are linear in each weight"
    unscaled = r"with $w' = \sqrt{c}\,w$ and $x' = \sqrt{c}\,x$: the unscaled step at the rate $c\eta$"
    title = r"One step on the weights of queries at scale $c$ and rate $\eta$, times $\sqrt{c}$"
    defines = "the weight after the step, times the root of the scale; $L$ is the loss’s slope in each pair"
    yield Chain(sqrt(c) * (w[e, h] - eta * by_pair), title=title, defines=defines).through(
        (sqrt(c) * (w[e, h] - eta * c * one_key), chain_rule, derivative()),
        (smaller - c * eta * of_smaller, unscaled, algebra),
    )
    query, over_weights = y[t, l, e] + nu * noise[t, a, e], ((e, 1, D), (f, 1, D), (h, 1, d))
    first = c / D * Sum(query * w[e, h] * x[f, h] * y[t, j, f], *over_weights)
    squares = "mean products of independent entries, each of mean 0, are 0 unless all are squares"
    title = "Before training: the mean squared score of a key that the query is no copy of"
    start = Chain(E(first**2), name="start", title=title)
    yield start.then(c**2 * d * (1 + nu**2), squares, moments(dict.fromkeys(DRAWN, STANDARD[q])))


def losses(weights: Sequence[Array], tokens: Array, asked: Array, scales: Array, rates: Array) -> Array:
    """Return the loss at every step of gradient descent, shape (seeds, runs, steps).

    A seed's initial ``weights`` of queries and keys have shape (seeds, runs, width, d); ``tokens`` and the
    queries' tokens, ``asked``, shape (seeds, steps, …). Run r has scale ``scales[r]`` and rate
    ``rates[r]``; all runs of a seed see the same data. The value of key j is the j-th unit vector, so that
    the output is the attention itself; the loss is half its mean squared distance from the right value.
    """
    of_query, of_key = (part.copy() for part in weights)
    scale, rate = (numbers[:, None, None] for numbers in (scales, rates))
    values = np.eye(tokens.shape[2], dtype=tokens.dtype)
    wanted = np.repeat(values, asked.shape[2] // len(values), axis=0)
    lost = np.empty((*of_query.shape[:2], tokens.shape[1]))
    for step in range(tokens.shape[1]):
        asking, answering = asked[:, step, None], tokens[:, step, None]
        queries, keys = asking @ of_query, answering @ of_key
        weight = probabilities(queries, keys, scale)
        error = (weight - wanted) / len(wanted)
        lost[:, :, step] = len(wanted) / 2 * (error**2).sum(axis=(2, 3))
        sent = gradients(queries, keys, values, weight, error, scale)
        of_query -= rate * (asking.swapaxes(2, 3) @ sent.queries)
        of_key -= rate * (answering.swapaxes(2, 3) @ sent.keys)
    return lost


def in_own_axes(weights: Array) -> Array:
    """Return vectors, shape (…, vectors, d), in axes that they span; descent knows their products alone."""
    if weights.shape[-1] <= weights.shape[-2]:
        return weights
    return np.linalg.qr(weights.swapaxes(-1, -2))[1].swapaxes(-1, -2)


def training(draws: Draws, rng: np.random.Generator) -> dict[str, Array]:
    """Gradient descent by the derived steps, at three scales and seven rates from one start on one task."""
    size, tokens = draws["w"].shape[-1], draws["y"]
    asked = np.repeat(tokens, COPIES, axis=-2) + NOISE * draws["g"]
    both = in_own_axes(np.concatenate([draws["w"], draws["x"]], axis=1)) / WIDTH**0.5
    runs = np.repeat(both[:, None], len(POWERS) * len(RATES), axis=1).astype(tokens.dtype)
    scales = np.repeat([size**power for power in POWERS.values()], len(RATES)).astype(tokens.dtype)
    rates = np.tile(RATES, len(POWERS)).astype(tokens.dtype)
    lost = losses((runs[:, :, :WIDTH], runs[:, :, WIDTH:]), tokens, asked, scales, rates)
    lost = lost.reshape(len(lost), len(POWERS), len(RATES), STEPS)
    succeeds = lost[..., -LAST:].mean(axis=-1) < GOAL
    reached = sliding_window_view(lost, WINDOW, axis=-1).mean(axis=-1) < GOAL
    steps = np.where(reached.any(axis=-1), reached.argmax(axis=-1) + WINDOW, STEPS) / STEPS
    columns = {f"{scale}, any rate: success": succeeds[:, at].any(axis=1) for at, scale in enumerate(POWERS)}
    for (at, scale), (of, rate) in product(enumerate(POWERS), enumerate(RATES)):
        columns[f"{scale}, rate {rate:g}: success"] = succeeds[:, at, of]
    measures = succeeds.mean(axis=2), -steps.mean(axis=2), -steps.min(axis=2)
    for measure, values in zip(MEASURES.values(), measures, strict=True):
        unscaled, root, whole = values.T
        for other, compared in ((UNSCALED, unscaled), (WHOLE, whole)):
            # A coin decides between equals; means of equal numbers may differ in the last digit.
            ahead, coin = np.round(root - compared, 9), rng.choice([-1.0, 1.0], len(root))
            columns[f"lead over {other} in {measure}"] = np.where(ahead == 0, coin, ahead)
    return {name: column.astype(float) for name, column in columns.items()}


def rescaled_gap(of_rates: float) -> float:
    """Return the largest difference of loss between training at 1/√d and unscaled from smaller weights."""
    # A few steps of five seeds at moderate rates, before rounding could be amplified.
    rng, rates, scale = stream(0, "training-stability", "rescaled", 0), np.array([0.25, 1.0, 4.0]), 24**-0.5
    start = [np.repeat(NORMAL.draw(rng, (5, 1, WIDTH, 24)) / WIDTH**0.5, 3, axis=1) for _ in range(2)]
    tokens = NORMAL.draw(rng, (5, 30, KEYS, WIDTH))
    asked = np.repeat(tokens, COPIES, axis=-2) + NOISE * NORMAL.draw(rng, (5, 30, KEYS * COPIES, WIDTH))
    at_scale = losses(start, tokens, asked, np.full(3, scale), rates)
    smaller = [scale**0.5 * part for part in start]
    return largest_difference(at_scale, losses(smaller, tokens, asked, np.ones(3), of_rates * rates))


def experiment(derived: Derivation, tolerance: float) -> Items:
    def share(column: str) -> Expr:
        return E(Indicator(Column(training, column)))

    trains, version = Check.sharing(laws=DRAWN, shape=SIZES), Wrong.sharing(laws=DRAWN, shape=SIZES)
    seeds, few, fine = {d: DIMENSION}, {d: 4}, tolerance < 0.02
    nearly_none, half, most, nearly_all = (Threshold(S(eighths) / 8) for eighths in (1, 4, 6, 7))
    places = (("", DIMENSION, most), ("-d512", 512, most), ("-d16", 16, half))
    leads = {name: share(f"lead over {UNSCALED} in {measure}") for name, measure in MEASURES.items()}
    for name, lead in leads.items():
        for end, size, least in places if fine else places[:1]:
            yield trains(f"{name}{end}", lead, {d: size}, at_least=least)
        if fine and name != "steps-at-best-rate":
            over_whole = share(f"lead over {WHOLE} in {MEASURES[name]}")
            yield trains(f"{name}-over-scaled", over_whole, seeds, at_least=most)
    if fine:
        yield trains("steps-to-loss-d4", leads["steps-to-loss"], few, at_least=half)
    says = "training succeeds at more rates with scaling in every dimension, such as {cell:d_k}"
    yield version("helps-in-every-dimension", leads["success-rate"], few, at_least=half, says=says)
    for scale, name, other, words, never in (
        (UNSCALED, "unscaled", WHOLE, "unscaled training", "without scaling, training fails at every rate"),
        (WHOLE, "over-scaled", UNSCALED, "division by {d_k}", "division by {d_k} makes training impossible"),
    ):
        own, others = (share(f"{scale}, {OWN[of]}: success") for of in (scale, other))
        yield trains(f"{name}-succeeds-when-tuned", own, seeds, at_least=nearly_all)
        yield trains(f"{name}-fails-at-others-rate", others, seeds, at_most=nearly_none)
        ever = share(f"{scale}, any rate: success")
        yield version(f"{name}-never-succeeds", ever, seeds, at_most=half, says=never)
        says = f"one rate serves all scales: {words} succeeds at that of the other"
        yield version(f"{name}-at-others-rate", others, seeds, at_least=nearly_all, says=says)
    yield trains("root-succeeds", share(f"{ROOT}, {OWN[ROOT]}: success"), seeds, at_least=nearly_all)
    at = {**seeds, **SIZES, T: 2, c: DIMENSION**-0.5, nu: NOISE}
    yield Check("first-scores", derived["start"], at, laws=DRAWN, tolerance=2)
    what = r"largest difference of loss from the unscaled run of smaller weights, rates over $\sqrt{d_k}$"
    run = {"d_k": 24, "seeds": 5, "steps": 30, "rates": "1/4, 1, 4"}
    name, given, near = "same-as-rescaled-start", (24**-0.5,), Allowance(1e-9)
    yield Computed(name, what, rescaled_gap, given, equals=0, settings=run, allowance=near)
    yield Wrong("same-rate", of=name, arguments=(1.0,), says="a scale is a choice of initial weights alone")


CLAIM = Claim(
    statement="Gradient descent at scale {c} and rate {eta} is unscaled gradient descent from weights {root} "
    "times as large at rate {rate}. One head learning to look up one of four tokens, from weights of "
    "variance one over their number of rows, at seven rates: in {success-rate:d_k} and in 512 dimensions "
    "division by {root_d}, in most seeds, succeeds at more rates than no scale and takes fewer steps to the "
    "same loss, averaged over the rates and at the best of each; every scale succeeds at some rate.",
    meaning="Without scaling, training is slower and succeeds at fewer learning rates in 16 dimensions and "
    "more so in {success-rate:d_k} and in 512; in 4 it succeeded at more. It does not fail as such: with a "
    "rate chosen for it, unscaled training succeeds too, and so does division by {d_k}, at a high rate "
    "nearly as fast as the root. Before training, the mean squared score of a wrong key is {start:end}, with "
    "noise of deviation {nu}. One small task; how many rates succeed depends on which were tried: at the "
    "lowest here unscaled training still succeeds, at the highest division by {d_k}.",
    symbols={"root": sqrt(c), "rate": c * eta},
    assumptions=assume(
        descent="Plain gradient descent, without momentum or adaptive rates.",
        task="Fresh normal tokens in every step; each query is a copy of one token with noise, and the "
        "values are fixed unit vectors, so that only the weights of queries and keys are trained.",
        paired="All scales and rates of one seed share its initial weights and its data.",
        goal=f"A run succeeds if its mean loss in the last {LAST} of {STEPS} steps is below {GOAL}. It has "
        f"reached the goal after {WINDOW} steps of such a mean. A fair coin decides between equal scales.",
    ),
)
