/* Formulas: MathML for assistive technology and for copying, unpacked once and put where it is seen. */
(() => {
  "use strict";
  const { all, make } = page;
  const formulas = (within) => all("i[data-f]", within);
  const key = (one) => `${one.dataset.f}\n${one.querySelector("b").textContent}`;

  /* The packed lines stand in the order in which the page first has their formulas. */
  const places = new Map();
  for (const one of formulas()) if (!places.has(key(one))) places.set(key(one), places.size);
  let lines = [];
  const mathml = (one) => lines[places.get(key(one))] || "";

  async function unpack() {
    const packed = atob(document.getElementById("mathml").textContent);
    const bytes = Uint8Array.from(packed, (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    lines = (await new Response(stream).text()).split("\n");
    fill(document);
  }

  /* What is folded away is not read, and gets its MathML when it opens. */
  function fill(within) {
    for (const one of formulas(within)) {
      if (!lines.length || one.querySelector("math") || one.closest("details:not([open]) > :not(summary)")) continue;
      one.querySelector("b").setAttribute("aria-hidden", "true");
      one.insertAdjacentHTML("beforeend", mathml(one));
    }
  }
  document.addEventListener("toggle", (event) => fill(event.target), true);

  /* Plain text is copied as it is; programs that know MathML get that. */
  document.addEventListener("copy", (event) => {
    const selection = getSelection();
    const copied = make("div");
    for (let at = 0; at < selection.rangeCount; at += 1) copied.append(selection.getRangeAt(at).cloneContents());
    const found = formulas(copied).filter((one) => one.querySelector("b") && mathml(one));
    if (selection.isCollapsed || !found.length) return;
    for (const one of found) one.outerHTML = mathml(one);
    /* Beside MathML the text would break into lines. */
    document.body.classList.add("copying");
    event.clipboardData.setData("text/plain", selection.toString());
    document.body.classList.remove("copying");
    event.clipboardData.setData("text/html", copied.innerHTML);
    event.preventDefault();
  });

  /* Where a browser cannot unpack, the plain text is read. */
  unpack().catch(() => {});
})();
