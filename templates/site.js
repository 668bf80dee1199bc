/* Finds claims and statements by all words of a search, in the page itself: nothing is fetched. */
(() => {
  "use strict";
  const form = document.getElementById("search");
  if (!form) return;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const entries = all("[data-search]");
  const find = () => {
    const words = form.elements.q.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const entry of entries) entry.hidden = !words.every((word) => entry.dataset.search.includes(word));
    for (const group of all("[data-group]")) group.hidden = !group.querySelector(".entry:not([hidden])");
    const left = entries.filter((entry) => !entry.hidden).length;
    form.querySelector("output").value = words.length ? `${left} of ${entries.length}` : "";
    history.replaceState(null, "", words.length ? `#q=${encodeURIComponent(words.join(" "))}` : location.pathname);
  };
  form.hidden = false;
  form.addEventListener("input", find);
  form.addEventListener("submit", (event) => event.preventDefault());
  const asked = /^#q=(.*)$/.exec(location.hash);
  if (asked) {
    form.elements.q.value = decodeURIComponent(asked[1]);
    find();
  }
})();
