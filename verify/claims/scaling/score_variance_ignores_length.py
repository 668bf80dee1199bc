"""The number of tokens has no influence on the variance of a score."""

from verify.spec import STANDARD, Chain, Check, Claim, Derivation, E, Fit, Items, Plot, Var, Wrong, a, d, i, j
from verify.spec import k, m, moments, n, over_components, q, score


def derive() -> Chain:
    return Chain(Var(score)).through(
        (over_components(E((q[a, i] * k[j, i]) ** 2)), "all other products have mean 0", moments(STANDARD)),
        (d, "query and key are independent, and their squares have mean 1", moments(STANDARD)),
    )


def experiment(derived: Derivation) -> Items:
    at = {tokens: {d: 64, m: tokens, n: tokens} for tokens in (2, 8, 32, 128)}
    for tokens, sizes in at.items():
        yield Check(f"variance-n{tokens}", derived, sizes, control=tokens == 128)
    yield Fit("variance-n*", over=n, law=derived.end, only=("slope",))
    yield Wrong("number-of-words", derived, at[32], equals=n, says="{d_k} is the number of words")
    curves = {"derived: {variance-n2:d_k=}": derived.end.subs(d, 64)}
    yield Plot("level", "variance-n*", n, curves=curves, wrong={"wrong: number of tokens": n})


CLAIM = Claim(
    statement="For independent components with mean 0 and variance 1, {main} whatever the number of queries "
    "and keys.",
    meaning="{d_k} counts the components of a query or key, not the words of a text, and a longer text calls "
    "for no other scale on this account. What the length does change is the largest of many scores and the "
    "spread of the softmax over many keys; other claims measure that.",
)
