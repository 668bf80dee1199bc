"""Rotating queries and keys changes no score, and helps eight-bit formats with uniform steps."""

import itertools
import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial

import numpy as np
from scipy.linalg import hadamard

from verify.spec import NORMAL, ROUNDING, STANDARD, Chain, Chains, Check, Claim, Column, Computed, Derivation
from verify.spec import Distribution, E, Expr, Integral, Items, Line, Matrix, Program, Rational, Symbol
from verify.spec import Threshold, Var, Within, Wrong, a, algebra, cite, cos, d, d_v, earlier, fact, integral
from verify.spec import j, k, m, moments, n, q, sin, sqrt, symbols, v
from verify.spec.arrays import Array, Draws, fixed_normals, largest_difference, rounded, softmax, stream

theta, e = symbols("theta e", real=True)
h = Symbol("h", positive=True)
WIDTH = 64  # the number of components
# Orthogonal matrices: Hadamard's with the signs of every third row turned, and one that was drawn once.
TURNS = {
    "unrotated": np.eye(WIDTH),
    "rotated": np.where(np.arange(WIDTH) % 3 == 0, -1.0, 1.0)[:, None] * hadamard(WIDTH) / math.sqrt(WIDTH),
    "random": np.linalg.qr(NORMAL.draw(stream(0, "eight-bit-rotation", "rotation", 0), (WIDTH, WIDTH)))[0],
}


def fill(rng: np.random.Generator, out: Array) -> None:
    """Fill with normal numbers, to a thousandth of which a number of ten times the deviation is added."""
    NORMAL.fill(rng, out)
    rare = rng.choice(out.size, rng.binomial(out.size, 0.001), replace=False, shuffle=False)
    out.reshape(-1)[rare] += 10 * rng.standard_normal(rare.shape)


# E z² = 1 + 10²/1000, and E z⁴ = 3·(999 + 101²)/1000.
MOMENTS = tuple(map(Fraction, ("1", "0", "1.1", "0", "33.6")))
OUTLIERS = Distribution("normal with outliers", MOMENTS, fill, fills_single=True)


def derive() -> Chains:
    turn = Matrix([[cos(theta), -sin(theta)], [sin(theta), cos(theta)]])
    query, key = Matrix([q[a, 1], q[a, 2]]), Matrix([k[j, 1], k[j, 2]])
    same = Line(query.dot(key), r"$\cos^2 + \sin^2 = 1$", algebra)
    title = "Two components of query and key, turned by one angle"
    turned = Chain((turn * query).dot(turn * key), same, title=title)
    yield turned
    yield Chain(Var(turned.start), name="variance", title="The variance of what they contribute").through(
        (Var(turned.end), "not turned", earlier(turned)),
        (2, "moments of the components", moments(STANDARD)),
    )
    title, defines = "An error that is uniform within half a step $h$", "the mean squared error"
    chain = Chain(Integral(e**2 / h, (e, -h / 2, h / 2)), name="step", title=title, defines=defines)
    yield chain.then(h**2 / 12, "integrated", integral())


def in_e4m3(values: Array) -> Array:
    """Return values, shape (…, n, d), in E4M3, each matrix scaled so that its largest is the format's."""
    scale = np.abs(values).max(axis=(-2, -1), keepdims=True) / 448
    scaled = values / scale
    # Four significant bits; below 2⁻⁶ the spacing stays the same.
    return scale * np.where(np.abs(scaled) < 2.0**-6, np.rint(512 * scaled) / 512, rounded(scaled, 4))


def in_int8(values: Array, axis: int | tuple[int, int] = (-2, -1)) -> Array:
    """Return values, shape (…, n, d), as whole multiples of a 127th of the largest of each matrix."""
    step = np.abs(values).max(axis=axis, keepdims=True) / 127
    return step * np.rint(values / step)


FORMATS: dict[str, Callable[[Array], Array]] = {
    "e4m3": in_e4m3,
    "int8": in_int8,
    "row": partial(in_int8, axis=-1),
}


def scores_of(queries: Array, keys: Array) -> Array:
    """Return scaled scores, shape (…, m, n)."""
    return queries @ keys.swapaxes(-1, -2) / math.sqrt(WIDTH)


def mean_squares(draws: Draws, forms: Iterable[str], turns: Iterable[str]) -> dict[str, Array]:
    """Return the mean squared errors of scores and outputs of each block, rotated and rounded."""
    queries, keys = (draws[family][..., :WIDTH] for family in "qk")
    exact, columns = scores_of(queries, keys), dict[str, Array]()
    output = softmax(exact) @ draws["v"]
    for form, name in itertools.product(forms, turns):
        turn, in_few_bits = TURNS[name].astype(np.float32), FORMATS[form]
        scores = scores_of(*(in_few_bits(vectors @ turn) for vectors in (queries, keys)))
        for kind, errors in (("scores", scores - exact), ("outputs", softmax(scores) @ draws["v"] - output)):
            columns[f"{form}-{kind}-{name}"] = (errors.astype(float) ** 2).mean(axis=(1, 2))
    return columns


def eight_bits(draws: Draws, _: np.random.Generator) -> dict[str, Array]:
    """A rotation changes no score but for rounding: errors of scores and outputs in eight bits."""
    return mean_squares(draws, FORMATS, TURNS)


def floats(draws: Draws, _: np.random.Generator) -> dict[str, Array]:
    """A rotation changes no score but for rounding: errors of scores and outputs in eight-bit floats."""
    return mean_squares(draws, ("e4m3",), ("unrotated", "rotated"))  # of many keys no more is asked


def experiment(derived: Derivation) -> Items:
    def gain(column: str, by: str = "rotated", of: Program = eight_bits) -> Expr:
        unrotated, rotated = (E(sqrt(Column(of, f"{column}-{name}"))) for name in ("unrotated", by))
        return unrotated / rotated

    laws, shape = {q: OUTLIERS, k: OUTLIERS, v: NORMAL}, {m: 32, d_v: 1}
    check = Check.sharing(laws=laws, shape=shape, tolerance=Within(0.5, fixed=True))
    few, many = {n: 32, d: WIDTH}, {n: 256, d: WIDTH}
    unrotated, rotated = (E(Column(eight_bits, f"int8-scores-{name}")) for name in ("unrotated", "rotated"))
    for at, program in ((few, eight_bits), (many, floats)):
        yield check(f"scores-e4m3-n{at[n]}", gain("e4m3-scores", of=program), at, at_most=Threshold(1))
    for name, ratio, at, least in (
        ("scores-int8-n32", gain("int8-scores"), few, 2),
        ("random-int8-n32", gain("int8-scores", "random"), few, 2),
        ("overall-int8-n32", sqrt(unrotated / rotated), few, 2),
        ("scores-row-n32", gain("row-scores"), few, Rational(6, 5)),
        ("outputs-e4m3-n256", gain("e4m3-outputs", of=floats), many, Rational(11, 10)),
    ):
        yield check(name, ratio, at, at_least=Threshold(least))
    yield Check("turned", derived["variance"], {theta: 1, d: 2})
    what, at_width = "largest change of scores by a rotation of all components", {"d_k": WIDTH}
    vectors, turn = fixed_normals(8, WIDTH), TURNS["rotated"]
    turned, longer = (vectors @ (times * turn) for times in (1, 1.001))
    still, turned, longer = (scores_of(rows, rows[::-1]) for rows in (vectors, turned, longer))
    change = Computed.sharing(arguments=(turned, still), settings=at_width, allowance=ROUNDING)
    yield change("change", what, largest_difference, equals=0)
    says = "in eight-bit floats rotation takes a tenth off the error of scores"
    yield Wrong("scores-improve", of="scores-e4m3-n32", at_most=Threshold(Rational(9, 10)), says=says)
    published, random = Rational(13, 5), "a random rotation gains as much as the published factor of outputs"
    for name, of, least, says in (
        ("as-in-floats", "scores-int8-n32", 10, "eight-bit integers gain a factor of ten"),
        ("as-without-rows", "scores-row-n32", 2, "a step for each row leaves as large a gain"),
        ("twice", "outputs-e4m3-n256", 3, "rotation leaves a third of the error of outputs"),
        ("any-rotation", "random-int8-n32", published, random),
        ("overall-four", "overall-int8-n32", 4, "over all blocks, the error becomes four times as small"),
    ):
        yield Wrong(name, of=of, at_least=Threshold(least), says=says)
    says = "a matrix whose rows are longer by a thousandth does as well"
    yield Wrong("no-rotation", of="change", arguments=(longer, still), says=says)
    yield fact("published", "the published gain of outputs by rotation", published)


CLAIM = Claim(
    statement="Rotating two components of queries and keys by {theta} leaves their contribution to a score "
    "unchanged: {main}; and every rotation of all components is a product of such rotations. With steps of "
    "{h}, an error that is uniform within half a step has mean square {step:end}; a uniform format takes its "
    "step from the largest number.",
    meaning="A few outliers set the step of a uniform format for all numbers; a rotation spreads them over "
    "all components, so the largest number becomes smaller, and every error with it. With one component in a "
    "thousand enlarged, and rotated by a signed Hadamard matrix, the root-mean-square error of scores in "
    "eight-bit integers is measured as {scores-int8-n32:estimate.2} times as large without rotation as with "
    "it on average over blocks of 32 queries and {scores-int8-n32:n} keys, each with a step of its own, and "
    "{scores-row-n32:estimate.2} times if each row has one. Rotated by a matrix that was drawn at random it "
    "is {random-int8-n32:estimate.2} times, and as the root mean square over all blocks together, of which "
    "few have large errors, {overall-int8-n32:estimate.2} times. Eight-bit floats err in proportion to each "
    "number, large or small, and there the ratio is {scores-e4m3-n32:estimate.2}: rotation does not improve "
    "the scores. Outputs, of one value a key, do improve, by a factor of {outputs-e4m3-n256:estimate±} over "
    "{outputs-e4m3-n256:n} keys; the published gain of {published:2} also concerns outputs, over longer "
    "rows.",
    headline="scores-int8-n32",
    references=cite("shah2024"),
)
