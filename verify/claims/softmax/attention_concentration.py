"""Unscaled attention concentrates on few keys, gradually, as the dimension passes {freezing}."""

import math
from functools import partial

from verify.spec import ON_PAPER, Chain, Check, Claim, Computed, Derivation, E, Items, Largest, Plot, Rational
from verify.spec import S, Threshold, Within, Wrong, a, cite, d, fact, integrated, j, log, n, s, score, sigma
from verify.spec import sqrt, squares
from verify.spec.lemmas import for_raw_scores, inverse_square, of_queries, squares_lack

# Dimensions for each number of keys: 2 ln n is 5.5 and 11.1.
RAW = {16: (1, 6, 11, 64, 256), 256: (4, 11, 22, 32, 64, 256)}
HIGHEST = E(Largest(s[a, j], j))
UNSCALED, SCALED = E(squares(score)), E(squares(score / sqrt(d)))


def derive() -> tuple[Chain, ...]:
    first, bound = squares_lack()
    rows = of_queries(UNSCALED, "unscaled"), of_queries(SCALED, "scaled")
    return first, bound, inverse_square(), for_raw_scores(bound), *rows


def experiment(derived: Derivation) -> Items:
    def raw_squares(keys: int, size: float) -> float:
        return integrated(UNSCALED, {n: keys, d: size}, ON_PAPER)

    bounded, raw = Check.sharing(tolerance=Within(0.5, fixed=True)), derived["raw"]
    for keys, size, false in ((16, 4, 0), (16, 16, 0), (1024, 8, 0.83)):
        yield bounded(f"bound-n{keys}-s{size}", derived, {n: keys, sigma: size}, sharper=false)
    yield bounded("by-the-largest-n16-s16", derived["first"], {n: 16, sigma: 16}, sharper=0.97)
    for size, false in ((22, 0), (64, 0), (256, 0.8)):
        yield bounded(f"raw-bound-n256-d{size}", raw, {n: 256, d: size}, sharper=false)
    for keys, dimensions in RAW.items():
        for name, chain, sizes in (("raw", "unscaled", dimensions), ("scaled", "scaled", (64,))):
            for size in sizes:
                yield Check(f"{name}-n{keys}-d{size}", derived[chain], {n: keys, d: size}, tolerance=2)
    many, where = 10**6, {"n": 10**6}
    of_many = HIGHEST, {n: many}
    most, less = sqrt(2 * log(S(many))), sqrt(Rational(3, 2) * log(S(many)))
    yield Computed(f"largest-n{many}", HIGHEST, integrated, of_many, at_most=most, settings=where)
    yield Wrong("largest-too-small", of=f"largest-n{many}", at_most=less, says="a smaller constant will do")
    says = "it freezes only beyond as many dimensions as keys: {cell:n} keys, {cell:d_k} dimensions"
    yield Wrong("freezes-at-d-equal-n", of="raw-n256-d64", equals=Threshold(Rational(1, 5)), says=says)
    yield Wrong("freezes-at-once", of="raw-n256-d11", equals=Threshold(1), says="attention freezes at once")
    yield Wrong("scaled-concentrates", of="scaled-n256-d64", equals=UNSCALED, says="scaled concentrates, too")
    for keys in (16, 4096):
        yield fact(f"freezing-dimension-n{keys}", rf"$2\ln n$ at $n = {keys}$", 2 * log(keys))
    checks = {f"$n = {keys}$": f"raw-n{keys}-d*" for keys in RAW}
    curves = {f"exact, $n = {keys}$": (partial(raw_squares, keys), sizes) for keys, sizes in RAW.items()}
    wrong = {rf"wrong: at once at $2\ln {keys}$": (1, (2 * math.log(keys), 256)) for keys in RAW}
    yield Plot("freezing", checks, d, curves=curves, wrong=wrong, y="mean of {squares}", linear="y")


CLAIM = Claim(
    headline="raw-n256-d64",
    statement="For independent normal scores of standard deviation {sigma} over {n} keys, {main}. Raw scores "
    "of one query with standard normal keys are such scores, and {sigma} is the length of the query; on "
    "average over standard normal queries of 3 dimensions or more, {raw}.",
    meaning="From how many dimensions on weights must concentrate depends on the number of keys, but only "
    "through its logarithm: the bound for a query of typical length is 1 at {freezing-dimension-n16:2} "
    "dimensions for 16 keys and at {freezing-dimension-n4096:2} for 4096. There weights are far from "
    "saturated yet, for the transition is gradual. Over {raw-n256-d11:n} keys the "
    "mean of {squares} is {raw-n256-d11:prediction.2} at {raw-n256-d11:d_k=}, {raw-n256-d22:prediction.2} at "
    "{raw-n256-d22:d_k}, {raw-n256-d64:prediction.2} at {raw-n256-d64:d_k} and {raw-n256-d256:prediction.2} "
    "at {raw-n256-d256:d_k}; scaled, in {scaled-n256-d64:d_k} dimensions, it is "
    "{scaled-n256-d64:prediction.1}. Heads in use have {scaled-n256-d64:d_k} dimensions and more: without "
    "scaling, their attention would start out as a lookup of a few random keys.",
    symbols={"freezing": 2 * log(n)},
    references=cite("derrida1981"),
)
