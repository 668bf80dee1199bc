"""The shapes of attention's matrices, from tokens to output."""

from typing import Any

from sympy import Expr, MatrixSymbol, Symbol

from verify.spec import NORMAL, Chain, Claim, Computed, Derivation, Items, Line, Named, Wrong, algebra, d, d_v
from verify.spec import fact
from verify.spec.arrays import Array, attention, probabilities, stream

TOKENS, WIDTH, HEAD = 3, 512, 64
SIDES = ("rows", "columns")


class Rows(Named):
    """How many rows a matrix has: a product has those of its first factor, and no other factors fit."""

    nargs = 1

    @property
    def definition(self) -> Any:
        """What it stands for."""
        return self.args[0].shape[0]

    def _latex(self, printer: Any) -> str:
        return rf"\operatorname{{{type(self).__name__.lower()}}}\left({printer.doprint(self.args[0])}\right)"


class Columns(Rows):
    """How many columns a matrix has: a product has those of its last factor."""

    @property
    def definition(self) -> Any:
        """What it stands for."""
        return self.args[0].shape[1]


T, D = (Symbol(name, integer=True, positive=True) for name in "TD")
X, P = MatrixSymbol("X", T, D), MatrixSymbol("P", T, T)
W_Q, W_K, W_V = (MatrixSymbol(name, D, size) for name, size in (("W_Q", d), ("W_K", d), ("W_V", d_v)))
QUERIES, KEYS, VALUES = X * W_Q, X * W_K, X * W_V
SCORES, OUTPUT = QUERIES * KEYS.T, P * VALUES
SIZES = {
    "queries": ("rows-of-queries", "columns-of-queries"),
    "keys": ("rows-of-queries", "columns-of-queries"),
    "values": ("rows-of-output", ""),
    "scores": ("rows-of-scores", "columns-of-scores"),
    "weights": ("rows-of-scores", "columns-of-scores"),
    "output": ("rows-of-output", ""),
}
"""The chain of each array's rows and of its columns: keys are as queries, weights as scores."""


def derive() -> tuple[Chain, ...]:
    """Derive rows and columns of the output; of queries and scores beside it."""
    rows, columns = "the rows of a product are those of its first factor", "its columns those of its last"
    inner, turned = "inner sizes agree: a score adds a product for each", "rows and columns change places"

    def size(of: Expr, *lines: tuple[Expr, str], name: str = "") -> Chain:
        title = name.replace("-", " ").capitalize() or "Columns of output"
        return Chain(of, *(Line(end, why, algebra) for end, why in lines), name=name, title=title)

    return (
        size(Columns(OUTPUT), (Columns(VALUES), columns), (d_v, columns)),
        size(Rows(OUTPUT), (Rows(P), rows), (T, "each token has weights"), name="rows-of-output"),
        size(Rows(QUERIES), (Rows(X), rows), (T, "one for each token"), name="rows-of-queries"),
        size(Columns(QUERIES), (Rows(KEYS.T), inner), (d, turned), name="columns-of-queries"),
        size(Rows(SCORES), (Rows(QUERIES), rows), (T, rows), name="rows-of-scores"),
        size(Columns(SCORES), (Columns(KEYS.T), columns), (T, turned), name="columns-of-scores"),
    )


def arrays(head: int = HEAD, *, transposed: bool = False) -> dict[str, Array]:
    """Return the arrays of one head of that dimension; or ``transposed``, as if columns were tokens."""
    rng = stream(0, "attention-shapes", "arrays", 0)
    tokens = NORMAL.draw(rng, (TOKENS, WIDTH))
    queries, keys, values = (tokens @ NORMAL.draw(rng, (WIDTH, head)) / WIDTH**0.5 for _ in range(3))
    if transposed:
        queries, keys, values = queries.T, keys.T, values.T
    scale = head**-0.5
    weights, output = probabilities(queries, keys, scale), attention(queries, keys, values, scale)
    return dict(zip(SIZES, (queries, keys, values, queries @ keys.T, weights, output), strict=True))


def extent(array: Array, side: str) -> int:
    """Return how many rows or columns an array has."""
    return int(array.shape[SIDES.index(side)])


def experiment(derived: Derivation) -> Items:
    """Compare the derived shapes with those of arrays: 3 tokens of width 512, heads of 64 and one of 512."""

    def number(chain: str, head: int = HEAD) -> Expr:
        end = derived[chain].end if chain else derived.end
        return end.subs({T: TOKENS, D: WIDTH, d: head, d_v: head})

    computed, swapped, at = arrays(), arrays(transposed=True), {"tokens": TOKENS, "width": WIDTH, "d_k": HEAD}
    for array, chains in SIZES.items():
        for side, chain in zip(SIDES, chains, strict=True):
            name, what, given = f"{array}-{side}", f"{side} of the {array}", (computed[array], side)
            yield Computed(name, what, extent, given, equals=number(chain), settings=at)
    given, whole = (arrays(WIDTH)["keys"], "columns"), number("columns-of-queries", WIDTH)
    name, what = "one-head-key-columns", "columns of the keys"
    yield Computed(name, what, extent, given, equals=whole, settings={**at, "d_k": WIDTH})

    says = "{d_k} is the dimension of the embedding"
    yield Wrong("key-dimension-is-embedding-dimension", of="keys-columns", equals=WIDTH, says=says)
    says = "a score adds one product for each token"
    yield Wrong("products-are-tokens", of="queries-columns", equals=TOKENS, says=says)
    says, rows = "scores compare the components, not the tokens", extent(swapped["scores"], "rows")
    yield Wrong("transposed-rows", of="scores-rows", computed=rows, says=says)
    says, columns = "tokens are the columns", extent(swapped["output"], "columns")
    yield Wrong("transposed-columns", of="output-columns", computed=columns, says=says)

    yield fact("query-columns", "columns of a query matrix", number("columns-of-queries"))
    yield fact("score-rows", "rows of the score matrix", number("rows-of-scores"))
    yield fact("score-columns", "columns of the score matrix", number("columns-of-scores"))
    yield fact("products-per-score", "products that a score adds", number("columns-of-queries"))


CLAIM = Claim(
    title="Shapes: from three tokens to a three by three score matrix",
    statement="{T} tokens of width {D} and weights of {D} rows and {d_k} columns give queries and keys of "
    "{rows-of-queries:end} rows and {columns-of-queries:end} columns and {rows-of-scores:end} by "
    "{columns-of-scores:end} scores, each a sum of {d_k} products; with values of width {d_v} the output is "
    "{rows-of-output:end} by {main:end}. For {score-rows} tokens of {queries-rows:width} and heads of "
    "{query-columns}: {score-rows} by {query-columns}, {score-rows} by {score-columns}, "
    "{output-rows:prediction} by {output-columns:prediction}.",
    meaning="The dimension under the root is the number of columns of queries and keys, {d_k}. It is neither "
    "the width of the tokens nor their number, and often much smaller: {query-columns} where the embedding "
    "has {queries-rows:width}. It is the embedding's dimension where there is one head as wide as that.",
    symbols={"T": T, "D": D, "d_v": d_v},
)
