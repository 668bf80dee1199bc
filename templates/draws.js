/* The draws of the lesson: random walks of scores, rows of weights, sizes of gradients. No page, no picture. */
const draws = (() => {
  "use strict";
  const TOP = 1024, PAIRS = 2000, ROWS = 1000, MOST = 256, VALUES = 8;
  /* Single components up to 16, then two steps for each doubling. */
  const STOPS = [...Array.from({ length: 16 }, (_, i) => i + 1), 22, 32, 45, 64, 90, 128, 181, 256, 362, 512, 724, TOP];
  const SCALES = [() => 1, (d) => 1 / Math.sqrt(d), (d) => 1 / d];

  /* Uniform numbers in (0, 1) from a seed (mulberry32), and standard normal ones by Box and Muller. */
  function uniforms(seed) {
    let state = seed | 0;
    return () => {
      state = (state + 0x6d2b79f5) | 0;
      let t = Math.imul(state ^ (state >>> 15), 1 | state);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 4294967296 + 1.2e-10;
    };
  }
  const normals = (u) => () => Math.sqrt(-2 * Math.log(u())) * Math.cos(2 * Math.PI * u());

  /* Scores of the same pairs after each component: a component adds one product of two normal numbers. */
  function pairs(seed) {
    const u = uniforms(seed), scores = new Float32Array((TOP + 1) * PAIRS), variance = new Float64Array(TOP + 1);
    for (let d = 1; d <= TOP; d += 1) {
      let squares = 0;
      for (let j = 0, at = d * PAIRS; j < PAIRS; j += 1, at += 1) {
        /* Box and Muller's two numbers, multiplied. */
        scores[at] = scores[at - PAIRS] - Math.log(u()) * Math.sin(2 * Math.PI * u());
        squares += scores[at] ** 2;
      }
      variance[d] = squares / PAIRS;
    }
    return { variance, score: (d, pair) => scores[d * PAIRS + pair], all: (d) => scores.subarray(d * PAIRS, (d + 1) * PAIRS) };
  }

  /* Softmax of the first n of z, each times s. */
  function softmax(z, s, n, p = new Float64Array(n)) {
    let top = -Infinity, total = 0;
    for (let j = 0; j < n; j += 1) top = Math.max(top, z[j] * s);
    for (let j = 0; j < n; j += 1) total += p[j] = Math.exp(z[j] * s - top);
    for (let j = 0; j < n; j += 1) p[j] /= total;
    return p;
  }
  const squares = (p) => p.reduce((sum, weight) => sum + weight * weight, 0);
  const entropy = (p) => -p.reduce((sum, weight) => sum + (weight > 0 ? weight * Math.log(weight) : 0), 0);

  /* Rows: a query's length grows component by component. Its scores are the length times the keys' places
     along it, which are standard normal whatever the query is; beside it the keys are normal as well. */
  function rows(seed) {
    const u = uniforms(seed), normal = normals(u);
    return Array.from({ length: ROWS }, () => {
      const length = new Float64Array(TOP + 1), across = new Float64Array(TOP + 1);
      for (let d = 1, q = 0, x = 0; d <= TOP; d += 1) {
        const both = -2 * Math.log(u()), share = Math.cos(2 * Math.PI * u()) ** 2;
        length[d] = Math.sqrt(q += both * share);
        across[d] = x += d > 1 ? both * (1 - share) : 0;
      }
      let out = 0;
      for (let i = 0; i < VALUES; i += 1) out += normal() ** 2;
      return {
        length, across,
        places: Float64Array.from({ length: MOST }, normal),
        upstream: Float64Array.from({ length: MOST }, () => Math.sqrt(out) * normal()),
      };
    });
  }

  /* Mean over all rows of the sum of squared weights. */
  function concentration(drawn, d, n, scale) {
    const p = new Float64Array(n);
    return drawn.reduce((sum, { places, length }) => sum + squares(softmax(places, length[d] * scale, n, p)), 0) / drawn.length;
  }

  /* Size of the gradient of one query: scale times that of the sum of dS_j k_j, along the query and across it. */
  function gradient({ length, across, places, upstream }, d, n, scale, p = new Float64Array(n)) {
    softmax(places, length[d] * scale, n, p);
    let inner = 0, along = 0, all = 0;
    for (let j = 0; j < n; j += 1) inner += p[j] * upstream[j];
    for (let j = 0; j < n; j += 1) {
      const ds = p[j] * (upstream[j] - inner);
      along += ds * places[j];
      all += ds * ds;
    }
    return scale * Math.sqrt(along * along + all * across[d]);
  }

  const median = (sorted) => (sorted[(sorted.length >> 1) - 1] + sorted[sorted.length >> 1]) / 2;
  const rootMeanSquare = (sizes) => Math.sqrt(squares(sizes) / sizes.length);
  /* Of sizes: these themselves, the order of the rows, median, root mean square, share of squares in the top twentieth. */
  function summary(sizes) {
    const order = Array.from(sizes.keys()).sort((a, b) => sizes[a] - sizes[b]), sorted = Float64Array.from(order, (r) => sizes[r]);
    const top = squares(sorted.slice(Math.round(0.95 * sorted.length)));
    return { sizes, order, sorted, median: median(sorted), rms: rootMeanSquare(sizes), top: top / squares(sizes) };
  }
  const gradients = (drawn, d, n, scale) => {
    const p = new Float64Array(n);
    return summary(Float64Array.from(drawn, (row) => gradient(row, d, n, scale, p)));
  };

  return { TOP, PAIRS, ROWS, STOPS, SCALES, pairs, rows, softmax, squares, entropy, concentration, gradient, gradients, summary };
})();
