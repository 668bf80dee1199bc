/* The lesson: three scenes whose pictures follow a slider and the buttons in the prose. */
(() => {
  "use strict";
  const { all, status } = page;
  const SEED = 20170612;
  const { TOP, PAIRS, ROWS, STOPS, SCALES } = draws;
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const lesson = document.getElementById("lesson");
  if (!lesson) return;
  const MEASURED = JSON.parse(document.getElementById("measured").textContent);

  const short = (v) => {
    if (v > 0.995 && v < 1) return "over 0.99";
    const size = Math.abs(v);
    const text = size >= 100 ? v.toFixed(0) : size >= 10 ? v.toFixed(1) : size >= 0.1 || !size ? v.toFixed(2) : size >= 1e-4 ? v.toPrecision(2) : "under 0.0001";
    return text.replace("-", "−");
  };
  const percent = (v) => `${Math.round(100 * v)}%`;

  /* SVG as text. */
  const at = (v) => (Math.round(v * 10) / 10).toString();
  const path = (kind, d) => `<path class="${kind}" d="${d}"/>`;
  const line = (kind, x1, y1, x2, y2) => path(kind, `M${at(x1)} ${at(y1)}L${at(x2)} ${at(y2)}`);
  const through = (points) => "M" + points.map(([x, y]) => `${at(x)} ${at(y)}`).join("L");
  const text = (x, y, words, kind = "") => `<text class="${kind}" x="${at(x)}" y="${at(y)}">${words}</text>`;
  const circle = (kind, x, y, r) => `<circle class="${kind}" cx="${at(x)}" cy="${at(y)}" r="${r}"/>`;
  const box = (x, y, width, height) => `M${at(x)} ${at(y)}h${at(width)}v${at(height)}h${at(-width)}z`;
  const whisker = (x, y, low, high) => line("measured", x, low, x, high) + circle("measured", x, y, 3);
  const sub = (letter, index) => `<tspan font-style="italic">${letter}</tspan><tspan class="low" dy="3">${index}</tspan><tspan dy="-3">\u200b</tspan>`;
  const D = sub("d", "k"), KINDS = ["raw", "root", "over"], NAMES = ["unscaled", `over √${D}`, `over ${D}`];

  /* An axis upwards: its lines, their numbers, its name above them. */
  const ruled = (name, ticks, Y, left, right) => text(0, Y(ticks.at(-1)) - 9, name) +
    ticks.map((v) => line("rule", left, Y(v), right, Y(v)) + text(left - 5, Y(v) + 4, String(v).replace("-", "−"), "end")).join("");
  const doubling = (left, right, first) => (d) => left + ((right - left) * Math.log2(d / first)) / Math.log2(TOP / first);
  const below = (X, y, first, narrow) => {
    let drawn = "";
    for (let d = first; d <= TOP; d *= narrow ? 4 : 2) drawn += text(X(d), y + 15, d, "middle");
    return drawn + text((X(first) + X(TOP)) / 2, y + 31, `dimension ${D}, doubling from number to number`, "middle");
  };
  const here = (key, d) => MEASURED[key].find(([place]) => place === d);
  const cited = (row) => `<b>${row[4]}</b> (<a href="#${row[5]}">${row[5]}</a>)`;

  const scenes = {
    /* Walks of scores and their variance. */
    variance: {
      prepare: () => draws.pairs(SEED),
      draw(pairs, width, { d }) {
        const narrow = width < 520, left = 38, side = Math.max(84, width * 0.24), right = width - side - 22, high = narrow ? 130 : 230, low = narrow ? 80 : 150;
        const top = 24, base = top + high + 34 + low, X = (v) => left + ((right - left) * v) / TOP, Y = (v) => top + (high / 2) * (1 - v / 100), V = (v) => base - (low * v) / 1100;
        const step = Math.max(1, Math.round((2 * TOP) / (right - left)));
        const walk = (pair) => {
          const points = [];
          for (let i = 0; i < d; i += step) points.push([X(i), Y(pairs.score(i, pair))]);
          return through([...points, [X(d), Y(pairs.score(d, pair))]]);
        };
        const root = (sign) => through(Array.from({ length: 33 }, (_, i) => [X((i / 32) ** 2 * TOP), Y(sign * i)]));
        let drawn = ruled("score <tspan font-style=\"italic\">q·k</tspan>, pair by pair", [-100, -50, 0, 50, 100], Y, left, right);
        drawn += path("walks", Array.from({ length: narrow ? 24 : 40 }, (_, pair) => walk(pair + 1)).join("")) + path("derived", root(1) + root(-1)) + path("single", walk(0));
        drawn += text(right - 4, Y(-48), `±√${D}`, "end halo");
        /* The same pairs as a histogram on the same axis of scores. */
        const from = right + 14, H = (share) => from + (width - from - 10) * share, bins = new Float64Array(20);
        for (const score of pairs.all(d)) if (Math.abs(score) < 100) bins[Math.floor((score + 100) / 10)] += 1 / PAIRS;
        drawn += text(from, 15, narrow ? "of all pairs" : "share of the pairs, per 10 of score");
        for (const share of [0, 0.5, 1]) drawn += line("rule", H(share), top, H(share), top + high) + text(H(share), top + high + 14, share === 1 ? "1" : share, "middle");
        drawn += path("raw fill", Array.from(bins, (share, k) => (share ? box(from, Y(10 * k - 90) + 0.4, H(share) - from, high / 20 - 0.8) : "")).join(""));
        for (const sign of [1, -1]) drawn += line("derived", from, Y(sign * Math.sqrt(d)), width - 10, Y(sign * Math.sqrt(d)));
        drawn += ruled("variance of the scores", [0, 512, 1024], V, left, right);
        for (const v of [0, 256, 512, 768, 1024]) drawn += text(X(v), base + 15, v, "middle");
        drawn += text((left + right) / 2, base + 31, `components added, ${D}`, "middle") + line("derived", X(0), V(0), X(TOP), V(TOP));
        for (const [place, value, least, most] of MEASURED.variance) drawn += whisker(X(place), V(value), V(least), V(most));
        drawn += line("cursor", X(d), top, X(d), base) + circle("now raw", X(d), V(pairs.variance[d]), 5);
        /* Single components cannot be told apart beside a thousand. */
        const first = from + 20, x = (v) => first + ((width - 8 - first) * v) / 16, y = (v) => base - low / 2 - (low * Math.max(-12, Math.min(12, v))) / 24, most = Math.min(d, 16);
        drawn += text(from, V(1024) - 9, narrow ? "first 16" : "the first 16, magnified");
        for (const v of [-10, 0, 10]) drawn += line("rule", x(0), y(v), x(16), y(v)) + text(first - 3, y(v) + 4, String(v).replace("-", "−"), "end");
        for (const v of [0, 8, 16]) drawn += text(x(v), base + 15, v, "middle");
        const near = (pair) => through(Array.from({ length: most + 1 }, (_, i) => [x(i), y(pairs.score(i, pair))]));
        drawn += path("walks", Array.from({ length: 15 }, (_, pair) => near(pair + 1)).join("")) + path("single", near(0)) + circle("measured", x(most), y(pairs.score(most, 0)), 3);
        const seen = here("variance", d), variance = short(pairs.variance[d]);
        return {
          height: base + 38, drawn,
          words: `Scores of the same pairs wander from 0 as components are added, and a histogram of them widens. Below, their variance against the number of components: at ${d} it is ${variance}, drawn here, near the derived line.`,
          reading: `At ${d} ${d > 1 ? "components" : "component"} the ${PAIRS.toLocaleString("en")} scores have variance <b>${variance}</b>, <i>drawn here</i>. ` +
            (seen ? `The run measured ${cited(seen)}.` : "The run has no measurement here."),
        };
      },
    },

    /* Weights of one row, and their concentration on average. */
    softmax: {
      prepare() {
        const rows = draws.rows(SEED + 1), p = new Float64Array(16);
        const even = rows.map((row) => draws.squares(draws.softmax(row.places, 1, 16, p)));
        const middle = rows[[...even.keys()].sort((a, b) => even[a] - even[b])[ROWS / 2]];
        const curves = new Map();
        return {
          middle,
          curve(n) {
            if (!curves.has(n)) curves.set(n, SCALES.map((scale) => new Map(STOPS.map((d) => [d, draws.concentration(rows, d, n, scale(d))]))));
            return curves.get(n);
          },
        };
      },
      draw({ middle, curve }, width, { d, n }) {
        const narrow = width < 520, left = 34, gap = narrow ? 10 : 22, each = (width - left - 2 * gap - 4) / 3, high = narrow ? 88 : 150, low = narrow ? 110 : 170, top = 40;
        const Y = (v) => top + high * (1 - v), places = [...middle.places.slice(0, n)].sort((a, b) => b - a);
        let drawn = text(0, 13, `weights of one row, largest first: the same ${n} keys three times`);
        const weighed = SCALES.map((scale, which) => {
          const from = left + which * (each + gap), p = draws.softmax(places, Math.sqrt(d) * scale(d), n), keys = 1 / draws.squares(p), bar = each / n;
          drawn += text(from, 32, NAMES[which], `${KINDS[which]} strong`);
          for (const v of [0, 0.5, 1]) drawn += line("rule", from, Y(v), from + each, Y(v)) + (which ? "" : text(left - 5, Y(v) + 4, v, "end"));
          drawn += path(`${KINDS[which]} fill`, Array.from(p, (v, j) => (v * high < 0.05 ? "" : box(from + bar * (j + 0.06), Y(v), bar * 0.88, high * v))).join(""));
          drawn += text(from, top + high + 17, narrow ? `${short(keys)} keys` : `${short(keys)} effective keys`) + text(from, top + high + 33, `${short(draws.entropy(p))} nats`);
          return { keys, largest: p[0] };
        });
        const base = top + high + 72 + low, C = (v) => base - low * v, X = doubling(left + 6, width - 12, 1), curves = curve(n);
        drawn += ruled(`mean of Σ<tspan font-style="italic">p</tspan>², ${ROWS.toLocaleString("en")} rows: 1 where one key has all, 1/${n} where all share`, [0, 0.5, 1], C, left, width - 8) + below(X, base, 1, narrow);
        drawn += line("even", left, C(1 / n), width - 8, C(1 / n));
        curves.forEach((points, which) => {
          drawn += path(`${KINDS[which]} curve`, through([...points].map(([place, v]) => [X(place), C(v)]))) + circle(`now ${KINDS[which]}`, X(d), C(points.get(d)), 5);
        });
        drawn += text(X(300), C(curves[0].get(256)) + 22, NAMES[0], "raw middle halo") + text(X(20), C(curves[1].get(22)) - 9, NAMES[1], "root middle halo");
        const seen = ["raw", "scaled"].map((side) => `${side}-n${n}`);
        for (const key of seen) for (const [place, value, least, most] of MEASURED[key]) drawn += whisker(X(place), C(value), C(least), C(most));
        drawn += line("cursor", X(d), C(1), X(d), base);
        const said = seen.map((key, which) => [here(key, d), which ? "over √<i>d</i><sub>k</sub>" : "unscaled"]).filter(([measured]) => measured).map(([measured, name]) => `${cited(measured)} ${name}`);
        return {
          height: base + 38, drawn,
          words: `Weights of one row over ${n} keys in ${d} dimensions, drawn here. The largest is ${weighed.map(({ largest }, which) => `${short(largest)} ${["unscaled", "over the root", "over the dimension"][which]}`).join(", ")}. Below, the mean of the sum of squared weights against the dimension, which rises unscaled and stays level over the root.`,
          reading: `${d} dimensions, ${n} keys: the largest weight is <b>${short(weighed[0].largest)}</b> unscaled and <b>${short(weighed[1].largest)}</b> over √<i>d</i><sub>k</sub>, <i>drawn here</i>. ` +
            (said.length ? `The mean of Σ<i>p</i>² that the run measured: ${said.join(", ")}.` : "The run has no measurement here."),
        };
      },
    },

    /* Sizes of gradients, row by row, and two ratios of them. */
    gradient: {
      prepare() {
        const rows = draws.rows(SEED + 2), known = new Map();
        const at = (d) => {
          if (!known.has(d)) known.set(d, [0, 1].map((which) => draws.gradients(rows, d, 16, SCALES[which](d))));
          return known.get(d);
        };
        /* The two ratios of all rows, and of each eighth of them. */
        const stops = STOPS.filter((d) => d >= 4), eighth = ROWS / 8;
        const ratios = (part) => stops.map((d) => {
          const [raw, root] = at(d).map((whole) => (part < 0 ? whole : draws.summary(whole.sizes.slice(part * eighth, (part + 1) * eighth))));
          return [d, raw.median / root.median, raw.rms / root.rms];
        });
        return { rows, at, whole: ratios(-1), parts: Array.from({ length: 8 }, (_, part) => ratios(part)) };
      },
      draw({ rows, at, whole, parts }, width, { d, row }) {
        const narrow = width < 520, left = 44, gap = narrow ? 12 : 26, each = (width - left - gap - 4) / 2, high = narrow ? 112 : 170, low = narrow ? 130 : 190, top = 40;
        const Y = (v) => top + high * (1 - (Math.log10(Math.max(v, 1e-4)) + 4) / 6.2), base = top + high + 100 + low, now = at(d), chosen = now[0].order[row];
        const ticks = [-4, -3, -2, -1, 0, 1, 2];
        let drawn = text(0, 13, `size of the gradient, ${narrow ? "row by row" : `${ROWS.toLocaleString("en")} rows from the smallest to the largest; gridlines are powers of ten`}`);
        const shares = now.map(({ sizes, sorted, order, median, rms, top: share }, which) => {
          const from = left + which * (each + gap), x = (r) => from + (each * (r + 0.5)) / ROWS, kind = KINDS[which], mine = order.indexOf(chosen);
          drawn += text(from, 32, NAMES[which], `${kind} strong`);
          for (const e of ticks) drawn += line(e ? "rule" : "even", from, Y(10 ** e), from + each, Y(10 ** e)) + (which || e % 2 ? "" : text(left - 5, Y(10 ** e) + 4, 10 ** e, "end"));
          drawn += path(`${kind} curve`, through(Array.from(sorted, (v, r) => [x(r), Y(v)]).filter((_, r) => r % 4 === 0)));
          drawn += line(`${kind} rms`, from, Y(rms), from + each, Y(rms)) + text(from + 2, Y(rms) - 5, `root mean square ${short(rms)}`, "halo");
          drawn += circle(`now ${kind}`, from + each / 2, Y(median), 5) + text(from + each / 2 + 8, Math.min(Y(median) + 17, top + high - 3), `median ${short(median)}`, "halo");
          drawn += circle("picked", x(mine), Y(sizes[chosen]), 4);
          /* The picked row's weights: why it passes on as much as it does. */
          const p = [...draws.softmax(rows[chosen].places, rows[chosen].length[d] * SCALES[which](d), 16)].sort((a, b) => b - a), foot = top + high + 56;
          drawn += text(from, foot - 36, narrow ? "its weights" : "weights of the marked row") + line("even", from, foot, from + each, foot);
          drawn += path(`${kind} fill`, p.map((v, j) => box(from + (each / 16) * (j + 0.06), foot - 32 * v, (each / 16) * 0.88, 32 * v)).join(""));
          return share;
        });
        const X = doubling(left + 6, width - 12, 4), R = (v) => base - (low * v) / 16;
        drawn += ruled("unscaled over scaled, the ratio of", [0, 4, 8, 12, 16], R, left, width - 8) + below(X, base, 4, narrow);
        drawn += line("even", left, R(1), width - 8, R(1)) + text(width - 10, R(1) - 4, "1: no difference", "end halo");
        [["median", 1, "over"], ["rms", 2, "raw"]].forEach(([key, column, kind]) => {
          const curve = (points) => through(points.map((point) => [X(point[0]), R(Math.min(16, point[column]))]));
          drawn += path(`${kind} thin`, parts.map(curve).join("")) + path(`${kind} curve`, curve(whole));
          for (const [place, value, least, most] of MEASURED[key]) drawn += whisker(X(place), R(value), R(least), R(most));
        });
        const ratio = whole.find(([place]) => place === d);
        drawn += circle("now over", X(d), R(ratio[1]), 5) + circle("now raw", X(d), R(ratio[2]), 5) + line("cursor", X(d), R(16), X(d), base);
        drawn += text(X(150), R(12), "root mean squares", "raw end halo") + text(X(22), R(3.1), "medians", "over middle halo");
        const seen = [["median", "median"], ["rms", "root mean square"]].map(([key, name]) => [here(key, d), name]).filter(([measured]) => measured).map(([measured, name]) => `${cited(measured)}, ${name}`);
        return {
          height: base + 38, drawn,
          words: `Sizes of the gradients of ${ROWS} queries over 16 keys in ${d} dimensions, drawn here. Unscaled: median ${short(now[0].median)}, root mean square ${short(now[0].rms)}. Over the root: ${short(now[1].median)} and ${short(now[1].rms)}. Below, the ratios of both against the dimension: that of root mean squares rises, that of medians falls below 1.`,
          reading: `${d} dimensions: unscaled over scaled, the ratio of medians is <b>${short(ratio[1])}</b>, that of root mean squares <b>${short(ratio[2])}</b>; the largest twentieth of the unscaled rows carries ${percent(shares[0])} of the sum of squares, <i>drawn here</i>. ` +
            (seen.length ? `The run measured ${seen.join("; ")}.` : "The run has no measurement here."),
        };
      },
    },
  };

  function begin(section) {
    const scene = scenes[section.dataset.scene], host = section.querySelector(".picture"), said = section.querySelector(".reading");
    const slider = section.querySelector("input[name=dimension]"), picker = section.querySelector("input[name=row]");
    const stops = STOPS.filter((d) => d >= Number(slider.dataset.from)), state = { d: Number(slider.dataset.at), n: 16, row: Number(picker?.value) };
    slider.max = stops.length - 1;
    let data, width = 0, moving = 0;
    function tell() {
      slider.value = stops.indexOf(state.d);
      slider.setAttribute("aria-valuetext", `${state.d} ${state.d > 1 ? "components" : "component"}`);
      section.querySelector("output").textContent = state.d;
      if (picker) picker.setAttribute("aria-valuetext", `row ${Number(picker.value) + 1} of ${ROWS} by size`);
      for (const button of all("button[data-d], button[data-n]", section)) {
        button.setAttribute("aria-pressed", Object.entries(button.dataset).every(([key, value]) => state[key] === Number(value)));
      }
    }
    function show() {
      data ??= scene.prepare();
      width ||= Math.max(260, host.clientWidth);
      const { height, drawn, words, reading } = scene.draw(data, width, state);
      host.innerHTML = `<svg viewBox="0 0 ${width} ${Math.round(height)}" role="img" aria-label="${words}">${drawn}</svg>`;
      said.innerHTML = reading;
      tell();
    }
    const announce = () => { status.textContent = said.textContent; };
    /* Stop by stop, or at once for those who want no motion. */
    function travel(to) {
      clearTimeout(moving);
      const from = stops.indexOf(state.d), goal = stops.indexOf(to);
      state.d = calm.matches || from === goal ? to : stops[from + Math.sign(goal - from)];
      show();
      if (state.d === to) announce();
      else moving = setTimeout(() => travel(to), 60);
    }
    slider.addEventListener("input", () => { clearTimeout(moving); state.d = stops[slider.value]; show(); });
    slider.addEventListener("change", announce);
    picker?.addEventListener("input", () => { state.row = Number(picker.value); show(); });
    /* A finger that scrolls the page may begin on a slider, which then moves back to where it was. */
    for (const input of [slider, picker]) {
      let before;
      input?.addEventListener("pointerdown", () => { before = input.value; });
      input?.addEventListener("pointercancel", () => { input.value = before; input.dispatchEvent(new Event("input")); });
    }
    section.addEventListener("click", ({ target }) => {
      const button = target.closest("button");
      if (!button) return;
      const { d, n } = button.dataset;
      if (n) state.n = Number(n);
      travel("more" in button.dataset ? stops[Math.min(stops.indexOf(state.d) + 1, stops.length - 1)] : Number(d || state.d));
    });
    new ResizeObserver(([{ contentRect }]) => {
      const wide = Math.floor(contentRect.width);
      if (wide && wide !== width) { width = Math.max(260, wide); if (data) show(); }
    }).observe(host);
    /* What is far from the window need not be drawn yet. */
    const near = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      near.disconnect();
      show();
    }, { rootMargin: "600px" });
    near.observe(section);
    tell();
  }
  lesson.classList.add("live");
  for (const section of all("[data-scene]", lesson)) begin(section);
})();
