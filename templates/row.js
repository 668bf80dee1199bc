/* One row of attention: what the explorer on the page computes. No drawing here. */
const attentionRow = (() => {
  "use strict";

  /* Uniform numbers in (0, 1) from a seed: Marsaglia's xorshift on 32 bits. */
  function uniforms(seed) {
    let state = (seed ^ 0x9e3779b9) | 0 || 1;
    return () => {
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      return ((state >>> 0) + 0.5) / 4294967296;
    };
  }

  /* Component distributions, each centred and of unit variance. */
  const distributions = {
    normal: (u) => Math.sqrt(-2 * Math.log(u())) * Math.cos(2 * Math.PI * u()),
    uniform: (u) => (u() - 0.5) * Math.sqrt(12),
    signs: (u) => (u() < 0.5 ? -1 : 1),
    exponential: (u) => -Math.log(u()) - 1,
  };

  const scales = { one: () => 1, root: (d) => 1 / Math.sqrt(d), dimension: (d) => 1 / d };

  const vector = (length, distribution, u) => Array.from({ length }, () => distributions[distribution](u));
  const dot = (x, y) => x.reduce((sum, value, i) => sum + value * y[i], 0);
  const norm = (x) => Math.sqrt(dot(x, x));

  function softmax(scores) {
    const top = Math.max(...scores);
    const exponentials = scores.map((s) => Math.exp(s - top));
    const total = exponentials.reduce((a, b) => a + b, 0);
    return exponentials.map((e) => e / total);
  }

  /* In nats; a probability of 0 adds nothing. */
  const entropy = (p) => -p.reduce((sum, one) => sum + (one > 0 ? one * Math.log(one) : 0), 0);

  /* Row of dS = P∘(dP − ΣP∘dP). */
  function scoreGradients(p, upstream) {
    const inner = dot(p, upstream);
    return p.map((one, j) => one * (upstream[j] - inner));
  }

  /* Lengths of dK's rows: scale·|dS_j|·|q|. */
  function keyGradients(p, upstream, query, scale) {
    const length = scale * norm(query);
    return scoreGradients(p, upstream).map((one) => Math.abs(one) * length);
  }

  /* The normal distribution function by Abramowitz and Stegun 7.1.26, error below 1e-7, and its inverse. */
  function normalBelow(x) {
    const z = Math.abs(x) / Math.SQRT2;
    const t = 1 / (1 + 0.3275911 * z);
    const tail =
      t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
    const half = (tail * Math.exp(-z * z)) / 2;
    return x < 0 ? half : 1 - half;
  }

  function normalQuantile(share) {
    let low = -8, high = 8;
    for (let step = 0; step < 50; step += 1) {
      const middle = (low + high) / 2;
      if (normalBelow(middle) < share) low = middle;
      else high = middle;
    }
    return (low + high) / 2;
  }

  /* Where n sorted scores of variance scale²·d lie on average, by the normal limit. */
  function expectedScores(n, d, scale) {
    const deviation = scale * Math.sqrt(d);
    return Array.from({ length: n }, (_, j) => deviation * normalQuantile((j + 0.625) / (n + 0.25)));
  }

  /* A query, n keys, and the loss's gradient at the probabilities; keys in the order of their scores. */
  function draw({ d, n, scale, distribution, seed }) {
    const u = uniforms(seed);
    const query = vector(d, distribution, u);
    const factor = scales[scale](d);
    const scores = Array.from({ length: n }, () => factor * dot(query, vector(d, distribution, u)));
    scores.sort((a, b) => a - b);
    const upstream = Array.from({ length: n }, () => distributions.normal(u));
    const probabilities = softmax(scores);
    return {
      scores,
      expected: expectedScores(n, d, factor),
      probabilities,
      entropy: entropy(probabilities),
      gradients: keyGradients(probabilities, upstream, query, factor),
    };
  }

  return {
    uniforms, distributions, scales, softmax, entropy, scoreGradients, keyGradients, normalQuantile, expectedScores, draw,
  };
})();
