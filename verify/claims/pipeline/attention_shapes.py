"""The shapes of attention's matrices, from tokens to output."""

from sympy import Expr, MatrixSymbol, Tuple

from verify.claims.pipeline.shared import attention
from verify.former import (
    NORMAL, Array, Claim, Control, Derivation, Exact, Experiment, Fact, Notation, Route, Step, computed, d,
    fact, ordered, probabilities, stream, wrong,
)  # fmt: skip
from verify.former.rules import MatrixShape, ShapeOfProduct

TOKENS, WIDTH, HEAD = 3, 512, 64
SIDES = ("rows", "columns")
ARRAYS = ("queries", "keys", "values", "scores", "weights", "output")

T, D, d_v = ordered("T:A D:B d_v:c", integer=True, positive=True)
X = MatrixSymbol("X", T, D)
W_Q, W_K, W_V = (MatrixSymbol(name, D, size) for name, size in (("W_Q", d), ("W_K", d), ("W_V", d_v)))
P = MatrixSymbol("P", T, T)
QUERIES, SCORES, OUTPUT = Tuple(T, d), Tuple(T, T), Tuple(T, d_v)


def derive() -> Derivation:
    """Derive the shape of the output; of queries, keys and scores as lemmas."""
    outer = "Rows of the first factor, columns of the last; the inner sizes agree"
    each = "Each score is a sum over the $d_k$ columns of a query and a key"
    output = Route.of("Output", MatrixShape(P * (X * W_V)), Step(OUTPUT, outer, ShapeOfProduct()))
    queries = Route.of("Queries (keys alike)", MatrixShape(X * W_Q), Step(QUERIES, outer, ShapeOfProduct()))
    scores = Route.of("Scores", MatrixShape(X * W_Q * (X * W_K).T), Step(SCORES, each, ShapeOfProduct()))
    lemmas = (queries.defining("rows and columns of the queries").called("queries"),
              scores.defining("rows and columns of the scores").called("scores"))  # fmt: skip
    return Derivation.of(output, lemmas=lemmas)


def _arrays(head: int = HEAD, *, transposed: bool = False) -> dict[str, Array]:
    """Return the arrays of one head of that dimension; or ``transposed``, as if columns were tokens."""
    rng = stream(0, "attention-shapes", "arrays", 0)
    tokens = NORMAL.draw(rng, (TOKENS, WIDTH))
    queries, keys, values = (tokens @ NORMAL.draw(rng, (WIDTH, head)) / WIDTH**0.5 for _ in range(3))
    if transposed:
        queries, keys, values = queries.T, keys.T, values.T
    scale = head**-0.5
    weights, output = probabilities(queries, keys, scale), attention(queries, keys, values, scale)
    return dict(zip(ARRAYS, (queries, keys, values, queries @ keys.T, weights, output), strict=True))


def _extent(array: Array, side: str) -> float:
    """Return how many rows or columns an array has."""
    return float(array.shape[SIDES.index(side)])


def _sizes(derivation: Derivation, head: int = HEAD) -> dict[str, tuple[Expr, Expr]]:
    numbers = {T: TOKENS, D: WIDTH, d: head, d_v: head}
    queries, scores = (lemma.end.subs(numbers) for lemma in derivation.lemmas)
    output = derivation.result.subs(numbers)
    return dict(zip(ARRAYS, (queries, queries, output, scores, scores, output), strict=True))


def _check(name: str, found: tuple[str, str], expected: Expr, arrays: dict[str, Array]) -> Exact:
    """Return the comparison of one side of one of the arrays, both by name, with the derived size."""
    array, side = found
    settings = {"tokens": TOKENS, "width": WIDTH, "d_k": arrays["keys"].shape[1]}
    return computed(name, f"{side} of the {array}", settings, expected, _extent, arrays[array], side)


def experiment(derivation: Derivation) -> Experiment:
    """Compare the derived shapes with those of arrays: 3 tokens of width 512, heads of 64 and one of 512."""
    arrays, swapped = _arrays(), _arrays(transposed=True)
    shapes = _sizes(derivation).items()
    sizes = {(name, side): shape[at] for name, shape in shapes for at, side in enumerate(SIDES)}
    checks = {found: _check("-".join(found), found, size, arrays) for found, size in sizes.items()}
    columns, score_rows, output_columns = ("keys", "columns"), ("scores", "rows"), ("output", "columns")
    whole = _check("one-head-key-columns", columns, _sizes(derivation, WIDTH)["keys"][1], _arrays(WIDTH))
    embedding, a_token = "{d_k} is the dimension of the embedding", "a score adds one product for each token"
    rows = _check("transposed-rows", score_rows, sizes[score_rows], swapped)
    turned = _check("transposed-columns", output_columns, sizes[output_columns], swapped)
    controls = (
        wrong(checks[columns], "key-dimension-is-embedding-dimension", embedding, WIDTH),
        wrong(checks["queries", "columns"], "products-are-tokens", a_token, TOKENS),
        Control("scores compare the components, not the tokens", rows),
        Control("tokens are the columns", turned),
    )
    return Experiment((*checks.values(), whole), controls)


def facts(derivation: Derivation) -> tuple[Fact, ...]:
    """Return the sizes that sources print."""
    sizes = _sizes(derivation)
    return (
        fact("query-columns", "columns of a query matrix", sizes["queries"][1]),
        fact("score-rows", "rows of the score matrix", sizes["scores"][0]),
        fact("score-columns", "columns of the score matrix", sizes["scores"][1]),
        fact("products-per-score", "products that a score adds", sizes["keys"][1]),
    )


CLAIM = Claim(
    title="Shapes: from three tokens to a three by three score matrix",
    statement="{T} tokens of width {D} and weights of {D} rows and {d_k} columns give {queries:result} "
    "queries and keys and {scores:result} scores, each a sum of {d_k} products; with values of width {d_v} "
    "the output is {theorem:result}. For {score-rows} tokens of {queries-rows:width} and heads of "
    "{query-columns}: {score-rows} by {query-columns}, {score-rows} by {score-columns}, "
    "{output-rows:prediction} by {output-columns:prediction}.",
    meaning="The dimension under the root is the number of columns of queries and keys, {d_k}. It is neither "
    "the width of the tokens nor their number, and often much smaller: {query-columns} where the embedding "
    "has {queries-rows:width}. It is the embedding's dimension where there is one head as wide as that.",
    symbols={"T": T, "D": D, "d_v": d_v, "of_queries": Notation(r"T\times d_k", QUERIES),
             "of_scores": Notation(r"T\times T", SCORES), "of_output": Notation(r"T\times d_v", OUTPUT)},
)  # fmt: skip
