/* The explorer: one query met by some keys, scaled and unscaled, on axes that never change. */
(() => {
  "use strict";
  const { all } = page;
  const explorer = document.getElementById("explorer");
  const form = explorer.querySelector("form");
  const FACTORS = { unscaled: "one", scaled: "root" };
  const SPAN = Math.asinh(128);
  let seed = 1;
  const draw = (name, attributes) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, item] of Object.entries(attributes)) element.setAttribute(key, item);
    return element;
  };
  const short = (v) => (Math.abs(v) >= 0.01 || v === 0 ? v.toFixed(2) : v.toExponential(1)).replace("-", "−");

  /* Heights in percent from the top. */
  const AXES = {
    scores: (v) => 50 - 46 * Math.max(-1, Math.min(1, Math.asinh(v) / SPAN)),
    weights: (v) => 96 - 92 * v,
  };

  function bars(name, side, values, lines) {
    const y = AXES[name], step = 100 / values.length;
    const drawn = values.map((v, j) => {
      const [top, base] = [Math.min(y(v), y(0)), Math.max(y(v), y(0))];
      return draw("rect", { x: j * step + step * 0.08, width: step * 0.84, y: top, height: Math.max(base - top, 0.4) });
    });
    const marked = lines.map((v) => draw("line", { x1: 0, x2: 100, y1: y(v), y2: y(v), class: "measured" }));
    const zero = draw("line", { x1: 0, x2: 100, y1: y(0), y2: y(0), class: "axis" });
    explorer.querySelector(`svg[data-panel=${name}][data-side=${side}]`).replaceChildren(zero, ...drawn, ...marked);
  }
  const read = (name, side, text) => {
    explorer.querySelector(`[data-reading=${name}][data-side=${side}]`).textContent = text;
  };

  /* Measured values of a panel's side, by dimension. */
  const measured = (svg) => new Map(svg.dataset.points.split(" ").filter(Boolean).map((point) => {
    const [d, ...rest] = point.split(":").map(Number);
    return [d, rest];
  }));

  function dots(svg, d) {
    const { low, high, log, measured: name, side } = svg.dataset;
    const at = log === "1" ? Math.log : (v) => v;
    const y = (v) => 96 - 92 * ((at(v) - at(Number(low))) / (at(Number(high)) - at(Number(low))));
    const x = (v) => 4 + 9.2 * Math.log2(v);
    const known = measured(svg);
    const marks = [...known].flatMap(([width, [value, least, most]]) => [
      draw("line", { x1: x(width), x2: x(width), y1: y(least), y2: y(most), class: "interval" }),
      draw("line", { x1: x(width), x2: x(width), y1: y(value), y2: y(value), class: width === d ? "dot now" : "dot" }),
    ]);
    svg.replaceChildren(draw("line", { x1: x(d), x2: x(d), y1: 0, y2: 100, class: "axis" }), ...marks);
    const here = known.get(d);
    read(name, side, here ? `at ${d}: ${here[0]} (${here[1]} to ${here[2]})` : `not measured at ${d}`);
    return here;
  }

  function redraw() {
    const d = 2 ** form.elements.dimension.value, n = 2 ** form.elements.keys.value;
    for (const [name, value] of [["dimension", d], ["keys", n]]) {
      form.querySelector(`output[for=${name}]`).textContent = value;
      form.elements[name].setAttribute("aria-valuetext", value);
    }
    const found = {};
    for (const svg of all("svg[data-measured]", explorer)) {
      found[`${svg.dataset.measured} ${svg.dataset.side}`] = dots(svg, d);
    }
    for (const [side, scale] of Object.entries(FACTORS)) {
      const row = attentionRow.draw({ d, n, scale, distribution: form.elements.distribution.value, seed });
      const deviation = found[`deviation ${side}`]?.[0];
      bars("scores", side, row.scores, deviation ? [deviation, -deviation] : []);
      bars("weights", side, row.probabilities, []);
      read("scores", side, `from ${short(row.scores[0])} to ${short(row.scores[n - 1])}`);
      read("weights", side, `largest ${short(Math.max(...row.probabilities))}; as if over ${short(Math.exp(row.entropy))} of ${n} keys`);
    }
  }
  const asked = new URLSearchParams(location.search).get("d");
  if (asked && Number.isInteger(Math.log2(asked))) form.elements.dimension.value = Math.log2(asked);
  form.addEventListener("input", redraw);
  form.addEventListener("change", () => {
    const d = 2 ** form.elements.dimension.value;
    page.remember({ d: d === 64 ? "" : String(d) });
  });
  form.addEventListener("submit", (event) => { event.preventDefault(); seed += 1; redraw(); });
  explorer.hidden = false;
  document.documentElement.classList.add("scripted");
  redraw();
})();
