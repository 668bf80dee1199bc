/* What the page does beyond showing: filters, sorting, links to copy, and the explorer of one row. */
(() => {
  "use strict";
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const make = (name, attributes = {}, text = "") => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.textContent = text;
    return element;
  };

  /* Copying: a link or a citation, announced to screen readers as well. */
  const status = make("p", { class: "sr", role: "status" });
  document.body.append(status);
  async function copy(button, text, what) {
    try {
      await navigator.clipboard.writeText(text);
      status.textContent = `${what} copied`;
    } catch {
      const area = make("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
      button.focus();
      status.textContent = `${what} copied`;
    }
    button.textContent = "copied";
    setTimeout(() => { button.textContent = what; }, 1500);
  }
  for (const card of all("article.card")) {
    const line = card.querySelector(".line");
    const address = () => `${location.href.split("#")[0]}#${card.id}`;
    for (const [what, text] of [["copy link", address], ["copy citation", () => `${card.dataset.citation} ${address()}`]]) {
      const button = make("button", { type: "button", class: "copy", "aria-label": `${what}: ${card.id}` }, what);
      button.addEventListener("click", () => copy(button, text(), what));
      line.append(button);
    }
  }

  for (const entry of all("pre[data-copy]")) {
    const what = `copy ${entry.dataset.copy}`;
    const button = make("button", { type: "button", class: "copy" }, what);
    button.addEventListener("click", () => copy(button, entry.textContent, what));
    entry.before(button);
  }

  /* What is wider than its box scrolls sideways, so the keyboard has to reach it. */
  const reach = () => {
    for (const box of all(".equation, .formula, pre")) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  };
  reach();
  addEventListener("resize", reach);

  /* Derivations fold, which without scripts they do not; all of them open before printing. */
  for (const one of all("details.unfold")) {
    one.open = false;
    one.addEventListener("toggle", reach);
  }
  addEventListener("beforeprint", () => { for (const one of all("details.unfold")) one.open = true; });

  /* Filters of the table of claims, which hide the claims themselves as well. */
  const table = document.querySelector("table.claims");
  const bar = document.getElementById("filters");
  if (table && bar) {
    const [chapter, proof, verdict] = all("select", bar);
    const count = bar.querySelector("output");
    const rows = all("tr[data-claim]", table);
    const apply = () => {
      let shown = 0;
      for (const row of rows) {
        const fits = (!chapter.value || row.dataset.chapter === chapter.value)
          && (!proof.value || row.dataset.proof === proof.value)
          && (!verdict.value || row.dataset.verdict === verdict.value);
        row.hidden = !fits;
        document.getElementById(row.dataset.claim).hidden = !fits;
        shown += fits;
      }
      for (const body of all("tbody", table)) body.hidden = !all("tr[data-claim]:not([hidden])", body).length;
      for (const section of all("section[data-chapter]")) section.hidden = !all("article.card:not([hidden])", section).length;
      count.textContent = `${shown} of ${rows.length} claims shown`;
    };
    for (const select of [chapter, proof, verdict]) select.addEventListener("change", apply);
    bar.hidden = false;
    /* A link to a hidden claim shows everything again. */
    const reveal = () => {
      const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
      if (target && target.closest("[hidden]")) {
        chapter.value = proof.value = verdict.value = "";
        apply();
        target.scrollIntoView();
      }
      const folded = target && target.closest("details:not([open])");
      if (folded) folded.open = true;
    };
    addEventListener("hashchange", reveal);
    apply();
    reveal();
  }

  /* Sorting the checks of a group by any column of numbers. */
  const value = (row, column) => {
    const text = (row.cells[column]?.textContent || "").replace(/[\s\u202f\u00a0≤≥]/g, "").replace(/−/g, "-");
    const [digits, power] = text.split("×10");
    return parseFloat(digits) * 10 ** (power ? parseInt(power.normalize("NFKC").replace("−", "-"), 10) : 0);
  };
  for (const sortable of all("table.checks")) {
    const heads = all("thead th", sortable);
    const columns = [null, 1, 2, 3, 4, null, null];
    heads.forEach((head, place) => {
      const column = columns[place];
      if (!column) return;
      const button = make("button", { type: "button", class: "sort" });
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        for (const body of all("tbody", sortable)) {
          const rows = all("tr:not(.group)", body);
          rows.sort((a, b) => (value(a, column) - value(b, column) || 0) * (down ? -1 : 1));
          body.append(...rows);
        }
      });
    });
  }

  /* The explorer. */
  const explorer = document.getElementById("explorer");
  if (!explorer) return;
  const form = explorer.querySelector("form");
  const svg = (name, attributes) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, item] of Object.entries(attributes)) element.setAttribute(key, item);
    return element;
  };
  const WIDTH = 720, HEIGHT = 130;
  let seed = 1;

  function panel(name, values, { least = 0, most, line }) {
    const drawing = explorer.querySelector(`svg[data-panel=${name}]`);
    const y = (v) => HEIGHT - 4 - ((v - least) / (most - least || 1)) * (HEIGHT - 10);
    const step = WIDTH / values.length;
    const bars = values.map((v, j) => {
      const [top, base] = [y(Math.max(v, 0)), y(Math.min(v, 0))];
      return svg("rect", { x: j * step + step * 0.08, width: step * 0.84, y: top, height: Math.max(base - top, 0.5) });
    });
    const points = line.map((v, j) => `${(j + 0.5) * step},${y(v)}`).join(" ");
    drawing.replaceChildren(...bars, svg("polyline", { points }));
  }

  const short = (v) => (Math.abs(v) >= 0.01 || v === 0 ? v.toFixed(2) : v.toExponential(1)).replace("-", "−");

  function redraw() {
    const d = 2 ** form.elements.dimension.value, n = 2 ** form.elements.keys.value;
    form.querySelector("output[for=dimension]").textContent = d;
    form.querySelector("output[for=keys]").textContent = n;
    const row = attentionRow.draw({ d, n, scale: form.elements.scale.value, distribution: form.elements.distribution.value, seed });
    const reach = Math.max(...row.scores.map(Math.abs), ...row.expected.map(Math.abs));
    panel("scores", row.scores, { least: -reach, most: reach, line: row.expected });
    panel("probabilities", row.probabilities, { most: 1, line: row.probabilities.map(() => 1 / n) });
    const largest = Math.max(...row.gradients);
    panel("gradients", row.gradients, { most: largest, line: [] });
    const top = Math.max(...row.probabilities);
    const read = (name, text) => { explorer.querySelector(`[data-reading=${name}]`).textContent = text; };
    read("scores", `from ${short(row.scores[0])} to ${short(row.scores[n - 1])}`);
    read("probabilities", `largest ${short(top)}; entropy ${short(row.entropy)} of ${short(Math.log(n))} nats, as if over ${short(Math.exp(row.entropy))} of ${n} keys`);
    read("gradients", `largest ${short(largest)}; the middle key gets ${short([...row.gradients].sort((a, b) => a - b)[n >> 1])}`);
  }
  form.addEventListener("input", redraw);
  form.addEventListener("submit", (event) => { event.preventDefault(); seed += 1; redraw(); });
  explorer.hidden = false;
  redraw();
})();
