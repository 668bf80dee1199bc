/* What every page does beyond showing: copying, sorting, and reaching what scrolls. */
const page = (() => {
  "use strict";
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const make = (name, attributes = {}, text = "") => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.textContent = text;
    return element;
  };

  /* A formula as plain text, such as √d_k: so it is copied and found. Programs that know MathML get that. */
  const plain = (formula) => formula.getAttribute("alttext") || formula.ariaLabel || formula.textContent;
  document.addEventListener("copy", (event) => {
    if (getSelection().isCollapsed) return;
    const range = getSelection().getRangeAt(0).cloneRange();
    const around = range.commonAncestorContainer;
    const whole = (around.closest ? around : around.parentElement).closest("math");
    if (whole) range.selectNode(whole);
    const copied = make("div", { class: "sr" });
    copied.append(range.cloneContents());
    const formulas = all("math", copied);
    if (!formulas.length) return;
    event.clipboardData.setData("text/html", copied.innerHTML);
    for (const formula of formulas) formula.replaceWith(plain(formula));
    document.body.append(copied);
    event.clipboardData.setData("text/plain", copied.innerText);
    copied.remove();
    event.preventDefault();
  });

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
  for (const entry of all("pre[data-copy]")) {
    const what = `copy ${entry.dataset.copy}`;
    const button = make("button", { type: "button", class: "copy" }, what);
    button.addEventListener("click", () => copy(button, entry.textContent, what));
    entry.before(button);
  }

  /* What is wider than its box scrolls sideways, so the keyboard has to reach it. */
  const reach = (within = document) => {
    for (const box of all(".equation, .formula, pre:not(.values pre)", within)) {
      /* To measure what is folded away would lay it out. */
      if (box.closest("details:not([open])")) continue;
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  };
  reach();
  addEventListener("resize", () => reach());

  /* What stands open without scripts folds with them, and opens again before printing. */
  const folded = all("details.unfold[open]");
  for (const part of folded) part.open = false;
  addEventListener("beforeprint", () => { for (const part of folded) part.open = true; });
  document.addEventListener("toggle", (event) => reach(event.target), true);

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

  return { all, make, plain, copy, status, reach };
})();
