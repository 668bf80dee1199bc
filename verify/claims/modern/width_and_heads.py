"""With several heads, the scale depends on the width of one head."""

from verify.spec import STANDARD, Chain, Chains, Check, Claim, Derivation, Items, Symbol, Var, Wrong, algebra
from verify.spec import d, integrated, moments, n, score, sqrt
from verify.spec.lemmas import lost

# A head's width, keys of a row, and how precisely their entropies are integrated.
WIDTH, KEYS, PRECISELY = 16, 64, 3e-9
h, e = Symbol("h", positive=True, integer=True), Symbol("e", positive=True, integer=True)
# Widths by whose root a program may divide scores.
ROOTS = {
    "head": (d, "of the head’s width"),
    "model": (h * d, "of the model’s width, that of all heads together"),
    "heads": (h, "of the number of heads"),
    "padded": (d + e, "of a width in which dimensions of padding are counted"),
}
HERE = {d: WIDTH, h: 4, e: 16}


def derive() -> Chains:
    for name, (root, words) in ROOTS.items():
        scaled, own = Var(score / sqrt(root)), name if name != "head" else ""
        yield Chain(scaled, name=own, title=f"Scores divided by the root {words}").through(
            (Var(score) / root, "a factor enters squared", algebra),
            (d / root, "components are independent", moments(STANDARD)),
        )


def experiment(derived: Derivation) -> Items:
    least = integrated(lost(score / sqrt(d)), {n: KEYS, d: WIDTH}, PRECISELY)
    for (name, (root, words)), chain in zip(ROOTS.items(), derived.chains, strict=True):
        used = {symbol: value for symbol, value in HERE.items() if root.has(symbol) or symbol == d}
        entropy, at = lost(score / sqrt(root)), {n: KEYS, **used}
        yield Check(f"variance-{name}", chain, used, control=name == "model")
        yield Check(f"entropy-{name}", entropy, at, equals=integrated(entropy, at, PRECISELY))
        if name != "head":
            says = f"the root {words} keeps the variance at {{value}}"
            yield Wrong(f"one-{name}", of=f"variance-{name}", equals=1, says=says)
            says = f"the root {words} costs rows as little entropy as the head’s"
            yield Wrong(f"same-{name}", of=f"entropy-{name}", equals=least, says=says)


CLAIM = Claim(
    headline="variance-head",
    statement="With {h} heads of {d_k} dimensions each, dividing a head’s scores by {root_d} leaves their "
    "variance at {main:end}, by the root of all dimensions together at {model:end}, by that of the number of "
    "heads at {heads:end}, and by that of a width with {e} zeros of padding counted in at {padded:end}.",
    meaning="A score adds one product for each dimension of its own head, so the head’s width sets the "
    "scale, however wide the model is and however a kernel pads it. No error is raised when the widths are "
    "mixed up: divided by the root of the model’s width, attention starts out nearly even, by that of the "
    "number of heads, sharp.",
)
