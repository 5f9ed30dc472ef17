// Keeps the changing part of a page true: polls it with an ETag every two seconds, slower while
// nothing changes, and replaces only what differs. The server renders every word and row.

const FASTEST_MS = 2000;
const SLOWEST_MS = 15000;
const root = document.querySelector("[data-live]");
const status = document.querySelector("[data-status]");
export const words = JSON.parse(document.body.dataset.words || "{}");

export function say(text, values = {}) {
  return text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

/** Tell a screen reader, politely; several texts within a second become one. */
let spoken = [];
let speaking = 0;
export function announce(text) {
  spoken.push(text);
  clearTimeout(speaking);
  speaking = setTimeout(() => {
    const texts = spoken.length > 3 ? [say(words.said_many, { count: spoken.length })] : spoken;
    status.textContent = texts.join(" ");
    spoken = [];
  }, 600);
}

/** Show one line over the page about the connection or the session, or take it away. */
export function banner(text, signIn = false) {
  const box = document.querySelector("[data-banner]");
  if (box.hidden === !text && box.firstElementChild.textContent === text) return;
  box.hidden = !text;
  box.firstElementChild.textContent = text;
  box.querySelector("a").hidden = !signIn;
}

const rendered = new WeakMap();
function remember(node) {
  for (const child of node.querySelectorAll("[data-key]")) rendered.set(child, child.outerHTML);
}

function focusPlace(node) {
  const at = document.activeElement;
  if (!at || at === node || !node.contains(at)) return () => {};
  const all = "a, button, summary, input";
  const place = [...node.querySelectorAll(all)].indexOf(at);
  return (fresh) => {
    const found = [...fresh.querySelectorAll(all)];
    (found[place] ?? found[0] ?? document.querySelector("#main"))?.focus();
  };
}

function replace(old, fresh) {
  const text = fresh.outerHTML;
  if (rendered.get(old) === text) return;
  const name = fresh.dataset.announce;
  if (name && old.dataset.phase !== fresh.dataset.phase) {
    announce(say(words.said_state, { name, state: fresh.dataset.phaseWord }));
  }
  const refocus = focusPlace(old);
  old.replaceWith(fresh);
  rendered.set(fresh, text);
  remember(fresh);
  refocus(fresh);
}

/** Make `have`'s keyed children those of `want`; rows that only the browser knows stay on top. */
function merge(have, want) {
  const old = new Map([...have.children].map((node) => [node.dataset.key, node]));
  let last = null;
  for (const fresh of [...want.children]) {
    const node = old.get(fresh.dataset.key);
    if (!node) {
      if (last) last.after(fresh);
      else have.insertBefore(fresh, have.querySelector(":scope > [data-key]"));
      remember(fresh);
      rendered.set(fresh, fresh.outerHTML);
      last = fresh;
      continue;
    }
    old.delete(fresh.dataset.key);
    if (fresh.hasAttribute("data-merge")) {
      merge(node, fresh);
      last = node;
    } else {
      const same = rendered.get(node) === fresh.outerHTML;
      replace(node, fresh);
      last = same ? node : fresh;
    }
  }
  for (const [key, node] of old) if (key) node.remove();
}

let etag = "";
let pause = FASTEST_MS;
let timer = 0;
let running = false;

function address() {
  const url = new URL(location.href);
  url.hash = "";
  url.searchParams.set("part", "live");
  const rows = root.querySelectorAll("[data-rows] > [data-key]").length;
  if (rows) url.searchParams.set("rows", rows + 5);
  return url;
}

async function poll() {
  if (running) return;
  running = true;
  try {
    const headers = etag ? { "If-None-Match": etag } : {};
    const answer = await fetch(address(), { headers, redirect: "manual", cache: "no-store" });
    if (answer.type === "opaqueredirect") {
      banner(words.session_over, true);
      pause = SLOWEST_MS;
    } else if (answer.status === 200) {
      etag = answer.headers.get("ETag") ?? "";
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      merge(root, page.body);
      pause = FASTEST_MS;
      banner("");
      document.dispatchEvent(new Event("live"));
    } else if (answer.status === 304) {
      pause = Math.min(pause * 1.5, SLOWEST_MS);
      banner("");
    } else {
      throw new Error(answer.status);
    }
  } catch {
    pause = Math.min(pause * 1.5, SLOWEST_MS);
    banner(words.offline);
  }
  running = false;
  again();
}

function again() {
  clearTimeout(timer);
  if (document.hidden) return;
  const waits = root.querySelector("[data-phase='queued'], [data-phase='processing']");
  timer = setTimeout(poll, waits ? pause : SLOWEST_MS);
}

/** Look at the server now. */
export function refresh() {
  if (!root) return;
  pause = FASTEST_MS;
  clearTimeout(timer);
  timer = setTimeout(poll, 50);
}

/** Let buttons of rows act without leaving the page; without this script they lead to a page. */
async function post(event) {
  const form = event.target.closest("form[data-quiet]");
  if (!form) return;
  event.preventDefault();
  if (form.dataset.busy) return;
  form.dataset.busy = "1"; // a disabled button would lose the focus
  try {
    const body = new URLSearchParams(new FormData(form));
    const headers = { Accept: "application/json" };
    const answer = await fetch(form.action, { method: "POST", body, headers, redirect: "manual" });
    if (answer.type !== "opaqueredirect") {
      const problem = await answer.json();
      banner([problem.title, problem.detail].join(" "));
    }
  } catch {
    banner(words.offline);
  }
  delete form.dataset.busy;
  etag = "";
  refresh();
}

if (root) {
  remember(root);
  document.addEventListener("submit", post);
  document.addEventListener("visibilitychange", refresh);
  window.addEventListener("focus", refresh);
  window.addEventListener("pageshow", refresh);
  again();
}
