"""The scale of attention can be inferred from its output."""

import numpy as np

from verify.spec import NORMAL, ROUNDING, STANDARD, UNIFORM, Chain, Chains, Check, Claim, Column, Computed
from verify.spec import Derivation, Derivative, E, Family, Given, Index, Items, Named, S, Softmax, Sum, Symbol
from verify.spec import Within, Wrong, a, algebra, assume, d, d_v, derivative, e, j, k, l, log, m, moments, n
from verify.spec import numbers, over_keys, q, s, simplify, v
from verify.spec.arrays import Array, Draws, fixed_normals, softmax

# Keys and value dimensions of a row, the errors' standard deviation, and a scale to be recovered.
KEYS, VALUES, ERROR, PLANTED = 8, 4, 1e-5, 0.17
# Scores and values of a row.
ROW = 4 * fixed_normals(KEYS, 1 + VALUES)[:, 0], fixed_normals(KEYS, 1 + VALUES)[:, 1:]
c, tau = Symbol("c", positive=True), Symbol("tau", positive=True)
N, T, f = Symbol("N", positive=True, integer=True), Symbol("T", positive=True, integer=True), Index("f")
# Slopes and errors of all entries of an output; and several draws of errors for the same output.
g, error, errors = Given("g", N), Family("epsilon", N), Family("errors", T, d_v)
SQUARES = Sum(g[f] ** 2, (f, 1, N))
p, other = (Named(Symbol(f"p_{key}"), Softmax(c * s[a, key], key)) for key in (j, l))


def derive() -> Chains:
    output, mean = over_keys(p * v[j, e]), over_keys(p * s[a, j])
    covariance = over_keys(p * s[a, j] * v[j, e]) - mean * output
    chain = Chain(Derivative(output, c), title="How the output follows the scale")
    yield chain.then(covariance, "the covariance of scores and values under the weights", derivative())
    chain = Chain(log(p / other) / (s[a, j] - s[a, l]), name="inverse", title="The scale from two weights")
    yield chain.then(c, "the sum of all exponentials cancels", algebra)
    independent = r"errors are independent, with mean 0 and variance $\tau^2$"
    title = "The mean square of what least squares adds, to first order; $g_f$ is the slope of entry $f$"
    chain = Chain(E((Sum(g[f] * tau * error[f], (f, 1, N)) / SQUARES) ** 2), name="fitted", title=title)
    yield chain.then(tau**2 / SQUARES, independent, moments({error: STANDARD[q]}))


def response(scores: Array, values: Array, scale: Array | float) -> tuple[Array, Array]:
    """Return the output softmax(c·s)·V and its slope, the covariance of scores and values."""
    weights = softmax(np.asarray(scale)[..., None] * scores)
    output = np.einsum("...n,...nv->...v", weights, values)
    mean = np.einsum("...n,...n->...", weights, scores)[..., None]
    return output, np.einsum("...n,...nv->...v", weights * scores, values) - mean * output


def fitted_scale(scores: Array, values: Array, output: Array, start: float) -> Array:
    """Return the scale whose output is nearest to ``output`` by least squares, by Gauss-Newton."""
    scale = np.full_like(output[..., 0], start)
    for _ in range(6):  # from a few per cent off each step about squares the error
        here, slope = response(scores, values, scale)
        scale += np.einsum("...v,...v->...", slope, output - here) / (slope**2).sum(axis=-1)
    return scale


def fits(draws: Draws, _: np.random.Generator) -> dict[str, Array]:
    """Least squares finds the scale of a row whose output has errors, off by what they add to first order."""
    query, keys, values, noise = (draws[name].astype(float) for name in ("q", "k", "v", "errors"))
    scores, values, scale = query @ keys.swapaxes(1, 2), values[:, None], query.shape[2] ** -0.5
    output, slope = response(scores, values, scale)
    fitted = fitted_scale(scores, values, output + ERROR * noise, 1.05 * scale)
    deviation = (fitted - scale) * np.sqrt((slope**2).sum(axis=-1)) / ERROR
    return {"deviation over its standard error": deviation, "its square": deviation**2}


def experiment(derived: Derivation) -> Items:
    spread, laws = derived["fitted"], {g: numbers([1, "-1/2", 2, 3]), error: UNIFORM}
    yield Check("first-order", spread, {N: 4, tau: S.Half}, laws=laws)
    shape = {m: 1, n: KEYS, d_v: VALUES, T: 32}
    of_fits = Check.sharing(laws=dict.fromkeys((q, k, v, errors), NORMAL), shape=shape)
    bias, square = E(Column(fits, "deviation over its standard error")), E(Column(fits, "its square"))
    relative, near = simplify(spread.end * SQUARES / tau**2), Within(2, 1, "the standard error")
    for size in (4, 64):
        yield of_fits(f"bias-d{size}", bias, {d: size}, equals=0, tolerance=near)
        yield of_fits(f"error-d{size}", square, {d: size}, equals=relative, tolerance=2, control=size == 4)
    row = {"keys": KEYS, "d_v": VALUES, "row": "one row of normal numbers"}
    # Fitted from a start 30% off, to the output under the scale and under one that is larger.
    fit, larger = ((*ROW, response(*ROW, times * PLANTED)[0], 1.3 * PLANTED) for times in (1, 1.01))
    what = "the scale fitted to an output without errors"
    yield Computed("found-again", what, fitted_scale, fit, PLANTED, settings=row, allowance=ROUNDING)
    yield Wrong("half-an-error-off", of="bias-d4", equals=S.Half, says="fits are half an error off")
    says = "a scale that is larger by one per cent leaves the same output"
    yield Wrong("larger-scale", of="found-again", equals=PLANTED, arguments=larger, says=says)


CLAIM = Claim(
    statement="The output of a row changes with its scale {c} at the rate {main:end}, the covariance of "
    "scores and values under the weights. Two weights whose scores differ give it as {inverse:start}; with "
    "independent centred errors of standard deviation {tau} in the output’s entries, least squares gives it "
    "with the squared standard error {fitted:end} to first order, over the slopes {slope} of all entries.",
    meaning="The divisor of a kernel can be known without its code: queries, keys, values and output "
    "determine it, wherever scores differ and so do the values of these keys. The more the output changes "
    "with the scale, the more precise the result; that small errors have effects of first order only is "
    "measured. Where all scores or all values of a row are alike, or its weights have frozen, nothing can be "
    "inferred, and the standard error says so.",
    symbols={"slope": g[f]},
    assumptions=assume(known_inputs="Queries, keys, values and mask are those that were used."),
)
