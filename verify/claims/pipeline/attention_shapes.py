"""Shapes: from three tokens to a three by three score matrix."""

import numpy as np
from sympy import MatrixSymbol

from verify.spec import NORMAL, Chain, Chains, Claim, Computed, Derivation, Expr, Items, Named, Symbol, Wrong
from verify.spec import algebra, d, d_v, fact, latex
from verify.spec.arrays import Array, attention, probabilities, stream

TOKENS, WIDTH, HEAD, SIDES = 3, 512, 64, ("rows", "columns")


def extent(matrix: Expr, side: int) -> Expr:
    """Return how many rows (0) or columns (1) a matrix has: a product those of its first, and last factor."""
    return Named(Symbol(rf"\operatorname{{{SIDES[side]}}}\left({latex(matrix)}\right)"), matrix.shape[side])


T, D = (Symbol(name, integer=True, positive=True) for name in "TD")
X, P = MatrixSymbol("X", T, D), MatrixSymbol("P", T, T)
QUERIES, KEYS, VALUES = (
    X * MatrixSymbol(f"W_{name}", D, size) for name, size in (("Q", d), ("K", d), ("V", d_v))
)
SCORES, OUTPUT = QUERIES * KEYS.T, P * VALUES
ARRAYS = ("queries", "keys", "values", "scores", "weights", "output")
# Arrays with the shape of another array; the rest have that of the output.
SHAPED_LIKE = {**dict.fromkeys(ARRAYS[:2], "queries"), **dict.fromkeys(ARRAYS[3:5], "scores")}


def derive() -> Chains:
    rows, columns = "the rows of a product are those of its first factor", "its columns those of its last"
    inner, turned = "inner sizes agree: a score adds a product for each", "rows and columns change places"
    output = Chain(extent(OUTPUT, 1), title="Columns of output")
    yield output.then(extent(VALUES, 1), columns, algebra).then(d_v, columns, algebra)
    for name, start, first, why, end, because in (
        ("rows-of-output", extent(OUTPUT, 0), extent(P, 0), rows, T, "each token has weights"),
        ("rows-of-queries", extent(QUERIES, 0), extent(X, 0), rows, T, "one for each token"),
        ("columns-of-queries", extent(QUERIES, 1), extent(KEYS.T, 0), inner, d, turned),
        ("rows-of-scores", extent(SCORES, 0), extent(QUERIES, 0), rows, T, rows),
        ("columns-of-scores", extent(SCORES, 1), extent(KEYS.T, 1), columns, T, turned),
    ):
        chain = Chain(start, name=name, title=name.replace("-", " ").capitalize())
        yield chain.then(first, why, algebra).then(end, because, algebra)


def arrays(head: int = HEAD) -> dict[str, Array]:
    """Return the arrays of a head of that dimension, by their names."""
    rng, scale = stream(0, "attention-shapes", "arrays", 0), head**-0.5
    tokens = NORMAL.draw(rng, (TOKENS, WIDTH))
    queries, keys, values = (tokens @ NORMAL.draw(rng, (WIDTH, head)) / WIDTH**0.5 for _ in range(3))
    weights, output = probabilities(queries, keys, scale), attention(queries, keys, values, scale)
    return dict(zip(ARRAYS, (queries, keys, values, queries @ keys.T, weights, output), strict=True))


def experiment(derived: Derivation) -> Items:
    def number(side: str, array: str, head: int = HEAD) -> Expr:
        name = f"{side}-of-{SHAPED_LIKE.get(array, 'output')}"
        end = derived.end if name == "columns-of-output" else derived[name].end
        return end.subs({T: TOKENS, D: WIDTH, d: head, d_v: head})

    computed, at = arrays(), {"tokens": TOKENS, "width": WIDTH, "d_k": HEAD}
    for array in ARRAYS:
        for axis, side in enumerate(SIDES):
            given, end = (computed[array], axis), number(side, array)
            yield Computed(f"{array}-{side}", f"{side} of the {array}", np.size, given, end, settings=at)
    given, whole = (arrays(WIDTH)["keys"], 1), number("columns", "keys", WIDTH)
    name, what, single_head = "one-head-key-columns", "columns of the keys", at | {"d_k": WIDTH}
    yield Computed(name, what, np.size, given, equals=whole, settings=single_head)
    says = "{d_k} is the dimension of the embedding"
    yield Wrong("key-dimension-is-embedding-dimension", of="keys-columns", equals=WIDTH, says=says)
    yield Wrong("products-are-tokens", of="queries-columns", equals=TOKENS, says="a score sums over tokens")
    rows, columns = (computed["queries"].T @ computed["keys"], 0), (computed["output"].T, 1)
    yield Wrong("transposed-rows", of="scores-rows", arguments=rows, says="scores compare components")
    yield Wrong("transposed-columns", of="output-columns", arguments=columns, says="tokens are the columns")
    yield fact("query-columns", "columns of a query matrix", number("columns", "queries"))
    yield fact("products-per-score", "products that a score adds", number("columns", "queries"))
    for side in SIDES:
        yield fact(f"score-{side}", f"{side} of the score matrix", number(side, "scores"))


CLAIM = Claim(
    statement="{T} tokens of width {D} and weights of {D} rows and {d_k} columns give queries and keys of "
    "{rows-of-queries:end} rows and {columns-of-queries:end} columns and {rows-of-scores:end} by "
    "{columns-of-scores:end} scores, each a sum of {d_k} products; with values of width {d_v} the output is "
    "{rows-of-output:end} by {main:end}. For {score-rows} tokens of {queries-rows:width} and heads of "
    "{query-columns}: {score-rows} by {query-columns}, {score-rows} by {score-columns}, "
    "{output-rows:prediction} by {output-columns:prediction}.",
    meaning="The dimension under the root is the number of columns of queries and keys, {d_k}. It is neither "
    "the width of the tokens nor their number, and often much smaller: {query-columns} where the embedding "
    "has {queries-rows:width}. It is the embedding's dimension where there is one head as wide as that.",
)
