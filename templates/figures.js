/* Figures: values under the pointer or a finger, and the drawing and its values to take along. */
(() => {
  "use strict";
  const { all, make } = page;

  /* Layers of {label, rows}, from the text under a figure. */
  function layers(text) {
    const read = [];
    for (const line of text.split("\n").slice(1)) {
      if (line.startsWith("# ")) read.push({ label: line.slice(2), rows: [] });
      else read[read.length - 1].rows.push(line.split(",").map(Number));
    }
    return read;
  }

  const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const table = (text) => ["layer,x,y,low,high", ...layers(text).flatMap(({ label, rows }) =>
    rows.map((row) => [quoted(label), ...row, ...Array(4 - row.length).fill("")].join(",")))].join("\n") + "\n";

  /* The drawing alone, in black on white, with the styles that it has from the page. */
  function drawing(svg) {
    const alone = svg.cloneNode(true);
    for (const pointer of all(".pointer", alone)) pointer.remove();
    alone.removeAttribute("data-frame");
    alone.setAttribute("color", "#16191d");
    const styles = document.getElementById("drawn");
    if (styles) alone.prepend(make("style", {}, styles.textContent.replace(/var\(--measured, (#\w+)\)/g, "$1")));
    return new XMLSerializer().serializeToString(alone);
  }

  function save(name, kind, content) {
    const link = make("a", { href: URL.createObjectURL(new Blob([content], { type: kind })), download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  /* From a number to the drawing's points, along an axis written as "scale first last from to". */
  function axis(text) {
    const [scale, ...ends] = text.split(" ");
    const [first, last, from, to] = ends.map(Number);
    const at = scale === "log" ? Math.log : (v) => v;
    return (v) => from + ((at(v) - at(first)) / (at(last) - at(first))) * (to - from);
  }

  const shown = (v) => String(Number(v.toPrecision(5))).replace("-", "−");

  function hover(svg, values) {
    const [across, up] = svg.dataset.frame.split(";").map(axis);
    const points = layers(values).flatMap(({ label, rows }) =>
      rows.map(([x, y, low, high]) => ({ label, x, y, low, high, at: [across(x), up(y)] })))
      .filter(({ at }) => at.every(Number.isFinite));
    const tip = make("p", { class: "tip", "aria-hidden": "true", hidden: "" });
    const dot = document.createElementNS("http://www.w3.org/2000/svg", "circle");
    dot.setAttribute("class", "pointer");
    dot.setAttribute("r", "5");
    svg.parentElement.append(tip);
    const leave = () => { tip.hidden = true; dot.remove(); };
    const point = (event) => {
      const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      const far = ({ at }) => Math.hypot(at[0] - place.x, at[1] - place.y);
      const near = points.reduce((best, other) => (far(other) < far(best) ? other : best), points[0]);
      if (!near || far(near) > 40) return leave();
      dot.setAttribute("cx", near.at[0]);
      dot.setAttribute("cy", near.at[1]);
      svg.append(dot);
      const interval = Number.isFinite(near.low) ? ` (${shown(near.low)} to ${shown(near.high)})` : "";
      tip.textContent = `${near.label}: ${shown(near.x)}, ${shown(near.y)}${interval}`;
      tip.hidden = false;
    };
    svg.addEventListener("pointermove", point);
    svg.addEventListener("pointerdown", point);
    /* A finger leaves as soon as it is lifted: what it points at stays until it touches elsewhere. */
    svg.addEventListener("pointerleave", ({ pointerType }) => { if (pointerType !== "touch") leave(); });
    document.addEventListener("pointerdown", ({ target }) => { if (!svg.contains(target)) leave(); });
  }

  /* Made when a row opens: what is not seen needs no listeners. */
  function prepare(figure) {
    if (figure.dataset.ready) return;
    figure.dataset.ready = "yes";
    const svg = figure.querySelector("svg"), values = figure.querySelector(".values pre").textContent;
    const name = figure.dataset.figure;
    const take = (what, kind, content) => {
      const button = make("button", { type: "button", class: "copy", "aria-label": `${what} of ${name}` }, what);
      button.addEventListener("click", () => save(`${name}.${what.toLowerCase()}`, kind, content()));
      return button;
    };
    figure.querySelector("figcaption").append(" ",
      take("CSV", "text/csv", () => table(values)), take("SVG", "image/svg+xml", () => drawing(svg)));
    for (const drawn of all(".canvas > svg", figure)) hover(drawn, values);
  }
  const ready = (within) => all("figure[data-figure]", within).forEach(prepare);
  document.addEventListener("toggle", (event) => {
    if (event.target.open && event.target.matches("details.row")) ready(event.target);
  }, true);
  all("details.row[open]").forEach(ready);
})();
