// Conveniences of result pages: copy a page's text, find in what is shown.

import { announce, say, words } from "./live.js";

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const source = document.getElementById(button.dataset.copy);
  await navigator.clipboard.writeText(source.textContent);
  const before = button.textContent;
  button.textContent = words.copied;
  announce(words.copied);
  setTimeout(() => { button.textContent = before; }, 1500);
});
if (navigator.clipboard) {
  for (const button of document.querySelectorAll("[data-copy]")) button.hidden = false;
}

const box = document.querySelector("[data-find]");
const places = () => [...document.querySelectorAll("[data-searched]")];

function rangesOf(text) {
  const wanted = text.toLowerCase();
  const found = [];
  for (const place of places()) {
    const walker = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const content = walker.currentNode.data.toLowerCase();
      for (let at = content.indexOf(wanted); at >= 0; at = content.indexOf(wanted, at + 1)) {
        if (at + wanted.length > walker.currentNode.length) break;
        const range = new Range();
        range.setStart(walker.currentNode, at);
        range.setEnd(walker.currentNode, at + wanted.length);
        found.push(range);
      }
    }
  }
  return found;
}

// More marks than anybody looks at slow the browser's drawing down.
const MAX_MARKED = 10000;
let ranges = [];
let current = -1;

function mark() {
  if (!globalThis.Highlight || !CSS.highlights) return;
  const found = new Highlight();
  // One by one: as arguments of one call very many ranges overflow the stack.
  for (const range of ranges.slice(0, MAX_MARKED)) found.add(range);
  CSS.highlights.set("found", found);
  CSS.highlights.set("current", new Highlight(...ranges.slice(current, current + 1)));
}

function find(text, step) {
  ranges = text ? rangesOf(text) : [];
  if (!ranges.length) current = -1;
  else current = (current + step + ranges.length) % ranges.length;
  mark();
  const line = box.querySelector("output");
  if (!text) line.textContent = "";
  else if (!ranges.length) line.textContent = words.found_none;
  else {
    line.textContent = say(words.found, { at: current + 1, count: ranges.length });
    ranges[current].startContainer.parentElement.scrollIntoView({ block: "center" });
  }
}

if (box) {
  const field = box.querySelector("input[type=search]");
  let last = field.value;
  if (last) { ranges = rangesOf(last); mark(); }
  field.addEventListener("input", () => { current = -1; find(field.value, 1); last = field.value; });
  if (box.hasAttribute("data-find-here")) {
    box.addEventListener("submit", (event) => { event.preventDefault(); find(field.value, 1); });
  }
  document.addEventListener("live", () => { ranges = last ? rangesOf(last) : []; mark(); });
}
