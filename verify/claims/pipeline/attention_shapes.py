"""The shapes of attention's matrices, from tokens to output."""

from __future__ import annotations

from typing import Any

from sympy import Function, MatrixSymbol, S, Tuple

from verify.spec import (
    NORMAL, Array, Assumption, By, Claim, Control, Definition, Derivation, Exact, Experiment, Fact, Ordered,
    Route, Step, attention, d, fact, prediction, probabilities, stream,
)  # fmt: skip

TOKENS, WIDTH, HEAD = 3, 512, 64
SIDES = ("rows", "columns")

T = Ordered("T", "A", integer=True, positive=True)
D = Ordered("D", "B", integer=True, positive=True)
d_v = Ordered("d_v", "c", integer=True, positive=True)
X = MatrixSymbol("X", T, D)
W_Q, W_K, W_V = (MatrixSymbol(name, D, size) for name, size in (("W_Q", d), ("W_K", d), ("W_V", d_v)))
P = MatrixSymbol("P", T, T)


class Shape(Function):  # type: ignore[misc]  # SymPy has no types
    """The shape of a matrix expression, left unevaluated until a rule evaluates it."""

    nargs = 1

    def _latex(self, printer: Any) -> str:
        return rf"\operatorname{{shape}}\left({printer.doprint(self.args[0])}\right)"


def _multiplies(before: Any, after: Any) -> bool:
    """SymPy's own shape of the product, which refuses factors that do not fit."""
    return bool(Tuple(*before.args[0].shape) == after)


def _route(title: str, matrix: Any, shape: tuple[Any, Any], rule: str) -> Route:
    step = Step(Tuple(*shape), rule, By("SymPy's matrix shapes", _multiplies, "general"))
    return Route(title, Shape(matrix), (step,))


def derive() -> Derivation:
    """Derive the shape of the output; of queries, keys and scores as lemmas."""
    outer = "Rows of the first factor, columns of the last; the inner sizes agree"
    output = _route("Output", P * (X * W_V), (T, d_v), outer)
    lemmas = (
        _route("Queries (keys alike)", X * W_Q, (T, d), outer),
        _route(
            "Scores",
            X * W_Q * (X * W_K).T,
            (T, T),
            "Each score is a sum over the $d_k$ columns of a query and a key",
        ),
    )
    definitions = (
        Definition(Shape(X * W_Q), "rows and columns of the queries"),
        Definition(Shape(X * W_Q * (X * W_K).T), "rows and columns of the scores"),
    )
    return Derivation(output.start, output.end, (output,), lemmas=lemmas, definitions=definitions)


def _arrays(head: int = HEAD, *, transposed: bool = False) -> dict[str, Array]:
    """Return the arrays of one head of that dimension; or ``transposed``, as if columns were tokens."""
    rng = stream(0, "attention-shapes", "arrays", 0)
    tokens = NORMAL.draw(rng, (TOKENS, WIDTH))
    queries, keys, values = (tokens @ NORMAL.draw(rng, (WIDTH, head)) / WIDTH**0.5 for _ in range(3))
    if transposed:
        queries, keys, values = queries.T, keys.T, values.T
    return {
        "queries": queries,
        "keys": keys,
        "values": values,
        "scores": queries @ keys.T,
        "weights": probabilities(queries, keys, head**-0.5),
        "output": attention(queries, keys, values, head**-0.5),
    }


def _extent(array: Array, side: str) -> float:
    """Return how many rows or columns an array has."""
    return float(array.shape[SIDES.index(side)])


def _sizes(derivation: Derivation, head: int = HEAD) -> dict[str, tuple[Any, Any]]:
    numbers = {T: TOKENS, D: WIDTH, d: head, d_v: head}
    queries, scores = (lemma.end.subs(numbers) for lemma in derivation.lemmas)
    output = derivation.result.subs(numbers)
    return {
        "queries": queries,
        "keys": queries,
        "values": output,
        "scores": scores,
        "weights": scores,
        "output": output,
    }


def _check(name: str, found: tuple[str, str], expected: Any, arrays: dict[str, Array]) -> Exact:
    """Return the comparison of one side of one of the arrays, both by name, with the derived size."""
    array, side = found
    settings = (("tokens", TOKENS), ("width", WIDTH), ("d_k", arrays["keys"].shape[1]))
    label = f"{side} of the {array}"
    return Exact(name, label, settings, prediction(S(expected)), _extent(arrays[array], side), code=_extent)


def experiment(derivation: Derivation) -> Experiment:
    """Compare the derived shapes with those of arrays: 3 tokens of width 512, heads of 64 and one of 512."""
    arrays, swapped = _arrays(), _arrays(transposed=True)
    sizes = {
        (array, side): extent
        for array, shape in _sizes(derivation).items()
        for side, extent in zip(SIDES, shape, strict=True)
    }
    checks = (
        *(_check("-".join(found), found, expected, arrays) for found, expected in sizes.items()),
        _check(
            "one-head-key-columns", ("keys", "columns"), _sizes(derivation, WIDTH)["keys"][1], _arrays(WIDTH)
        ),
    )
    wrong = (
        ("rows", ("scores", "rows"), "scores compare the components, not the tokens"),
        ("columns", ("output", "columns"), "tokens are the columns"),
    )
    controls = (
        Control(
            r"$d_k$ is the dimension of the embedding",
            _check("key-dimension-is-embedding-dimension", ("keys", "columns"), WIDTH, arrays),
        ),
        Control(
            "a score adds one product for each token",
            _check("products-are-tokens", ("queries", "columns"), TOKENS, arrays),
        ),
        *(
            Control(words, _check(f"transposed-{side}", found, sizes[found], swapped))
            for side, found, words in wrong
        ),
    )
    return Experiment(checks, controls)


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
    statement=r"$T$ tokens of width $D$ and weights of $D\times d_k$ give $T\times d_k$ queries and keys and "
    r"$T\times T$ scores, each a sum of $d_k$ products; with values of width $d_v$ the output is $T\times "
    r"d_v$. For 3 tokens of 512 and heads of 64: $3\times64$, $3\times3$, $3\times64$.",
    meaning="The dimension under the root is the number of columns of queries and keys, $d_k$. It is neither "
    "the width of the tokens nor their number, and often much smaller than the width: 64 where the embedding "
    "has 512. It is the embedding's dimension where there is one head as wide as that.",
    assumptions=(
        Assumption(id="one-head", text="One head, with queries, keys and values from the same tokens."),
    ),
    derive=derive,
    experiment=experiment,
    facts=facts,
)
