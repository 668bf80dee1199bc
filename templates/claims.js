/* Finding claims: links that open what they lead to, search, filters, and all of it in the address. */
(() => {
  "use strict";
  const { all, plain } = page;
  const bar = document.getElementById("filters");
  const cards = all("article.card");
  const words = new Map();
  const controls = [...bar.elements].filter((control) => control.name);
  const count = bar.querySelector("output");

  /* One spelling of what people write in several: sqrt(d_k), √(d_k) and √dk; minus signs and hyphens. */
  const spelled = (text) => text.toLowerCase().replace(/sqrt\s*\(?\s*([a-z0-9_]+)\s*\)?/g, "√$1")
    .replace(/√\(([a-z0-9_]+)\)/g, "√$1").replace(/√d(?=[kv]\b)/g, "√d_").replace(/[−–‑]/g, "-");

  /* What a claim can be found by: all that it says, and other names for it. */
  const said = (card) => {
    if (!words.has(card)) {
      const texts = [card.id, card.dataset.words, card.textContent, ...all("math", card).map(plain)];
      words.set(card, spelled(texts.join(" ")));
    }
    return words.get(card);
  };

  function fits(card) {
    const { q, derivation, verdict, source } = Object.fromEntries(controls.map(({ name, value }) => [name, value]));
    return (!derivation || card.dataset.derivation === derivation)
      && (!verdict || card.dataset.verdict === verdict)
      && (!source || card.dataset.source.split(" ").includes(source))
      && spelled(q).split(/\s+/).every((word) => said(card).includes(word));
  }

  /* The address says what is asked for, so that a link shows the same. */
  function remember(values, hash = location.hash) {
    const asked = new URLSearchParams(location.search);
    for (const [name, value] of Object.entries(values)) {
      if (value) asked.set(name, value);
      else asked.delete(name);
    }
    const query = asked.toString();
    try {
      history.replaceState(null, "", (query ? `?${query}` : location.pathname) + hash);
    } catch { /* Some browsers forbid it for files: the page works, its address stays. */ }
  }

  function apply() {
    let shown = 0;
    for (const card of cards) {
      card.hidden = !fits(card);
      shown += !card.hidden;
    }
    for (const section of all("section[data-chapter]")) {
      section.hidden = !all("article.card:not([hidden])", section).length;
    }
    count.textContent = `${shown} of ${cards.length} ${cards.length === 1 ? "claim" : "claims"} shown`;
  }
  const changed = () => {
    apply();
    remember(Object.fromEntries(controls.map(({ name, value }) => [name, value])));
  };
  bar.addEventListener("input", changed);
  bar.addEventListener("submit", (event) => event.preventDefault());

  /* A link opens what it leads to, and shows everything again if that was filtered away. */
  function reveal() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    if (target.closest("[hidden]") && target.closest("article.card")) {
      for (const control of controls) control.value = "";
      changed();
    }
    const own = target.matches("article.card") && target.querySelector("details");
    for (let part = own || target; part; part = part.parentElement) {
      if (part.matches("details")) part.open = true;
    }
    target.scrollIntoView();
  }
  addEventListener("hashchange", reveal);
  document.addEventListener("click", (event) => {
    /* A second click on the same link changes no address. */
    const link = event.target.closest?.("a[href^='#']");
    if (link && link.getAttribute("href") === location.hash) reveal();
  });

  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest?.("input, select, textarea, [contenteditable]")) return;
    event.preventDefault();
    bar.scrollIntoView({ block: "center" });
    bar.elements.q.focus();
  });

  /* Which row is open belongs to the address as well. */
  document.addEventListener("toggle", (event) => {
    const row = event.target;
    if (!row.matches("details.row")) return;
    const anchor = `#${row.parentElement.id}`;
    if (row.open && !location.hash.startsWith(`${anchor}.`)) remember({}, anchor);
    else if (!row.open && location.hash === anchor) remember({}, "");
  }, true);

  const asked = new URLSearchParams(location.search);
  for (const control of controls) control.value = asked.get(control.name) || "";
  bar.hidden = false;
  apply();
  reveal();
  page.remember = remember;
})();

/* Taking a claim or a check along: its value, its key, its citation with version, seed, profile and digest. */
(() => {
  "use strict";
  const { all, make, plain, copy } = page;
  const address = (anchor) => `${location.href.split(/[?#]/)[0]}#${anchor}`;
  const cited = (card) => card.querySelector(".citation").textContent;

  const button = (what, label, text) => {
    const made = make("button", { type: "button", class: "copy", "aria-label": `copy ${what}: ${label}` }, what);
    made.addEventListener("click", () => copy(made, text(), what));
    return made;
  };
  /* A text as it is read: formulas as plain text, no hidden parts. */
  const read = (cell) => {
    const copied = cell.cloneNode(true);
    for (const menu of all(".take", copied)) menu.remove();
    for (const formula of all("math", copied)) formula.replaceWith(plain(formula));
    return copied.textContent.replace(/\s+/g, " ").trim();
  };

  /* The citation of a check, in the form that the claim's own has. */
  function ofCheck(card, row) {
    const [quantity, predicted, estimate, , low, high] = [...row.cells].map(read);
    const group = row.parentElement.querySelector("tr.group th");
    const interval = low ? `, simultaneous interval ${low} to ${high}` : "";
    const parts = {
      key: row.id,
      value: `${[group && read(group), quantity].filter(Boolean).join(", ")}: ${estimate}${interval}; `
        + `predicted ${predicted}; ${read(row.cells[row.cells.length - 1])}`,
    };
    const text = card.querySelector(".citation").cloneNode(true);
    for (const part of all("[data-part]", text)) part.textContent = parts[part.dataset.part];
    return `${text.textContent} ${address(row.id)}`;
  }

  function ofRow(card, row) {
    const take = make("details", { class: "take" });
    const name = make("summary", { "aria-label": `copy from ${row.id}` }, "copy");
    const value = () => {
      const [, , estimate, , low, high] = [...row.cells].map(read);
      return low ? `${estimate} [${low}, ${high}]` : estimate;
    };
    take.append(
      name,
      button("value", row.id, value),
      button("key", row.id, () => row.id),
      button("citation", row.id, () => ofCheck(card, row)),
    );
    return take;
  }

  /* Made when a row opens: most are never opened. */
  document.addEventListener("toggle", (event) => {
    const card = event.target.closest?.("article.card");
    if (!card || !event.target.open || card.dataset.taken) return;
    card.dataset.taken = "yes";
    for (const row of all("table.checks tr[id]", card)) row.cells[0].append(" ", ofRow(card, row));
    card.querySelector(".citation").after(
      button("link", card.id, () => address(card.id)),
      button("key", card.id, () => card.id),
      button("citation", card.id, () => `${cited(card)} ${address(card.id)}`),
    );
  }, true);
})();
