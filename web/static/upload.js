// Sends files one by one, each with its own idempotency token, so that nothing can arrive twice.
// Rows of files that the server has are the server's own (live.js); this script only knows what
// has not arrived yet.

import { announce, banner, refresh, say, words } from "./live.js";
import { listen, wishesFor } from "./picking.js";

const AT_ONCE = 3;
const TRIES = 12;
const LONGEST_WAIT_S = 15;
const STORE = "torikomi-unsent";

const form = document.querySelector("form.upload");
const list = document.querySelector("[data-rows]");
const limits = JSON.parse(form.dataset.limits);
const jobs = [];
let active = 0;
let held = false;
let person = form.dataset.subject;

// Tokens of files whose answer has not come; they outlive a reload.
const tokens = JSON.parse(sessionStorage.getItem(STORE) || "{}");
const keep = () => sessionStorage.setItem(STORE, JSON.stringify(tokens));

function newToken() {
  const bytes = crypto.getRandomValues(new Uint8Array(18));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function sizeWord(bytes) {
  const units = ["B", "KB", "MB", "GB"];
  let at = 0;
  while (bytes >= 1024 && at < units.length - 1) { bytes /= 1024; at += 1; }
  return `${bytes.toFixed(at && bytes < 100 ? 1 : 0)} ${units[at]}`;
}

function extensionOf(name) {
  const dot = name.lastIndexOf(".");
  return dot > 0 ? name.slice(dot).toLowerCase() : "";
}

/** The chosen type when it takes the name, else the other one that does, else null. */
function typeOf(name) {
  const chosen = form.elements.type.value;
  const extension = extensionOf(name);
  if (!extension) return chosen;
  const takes = (type) => limits.extensions[type].includes(extension);
  return [chosen, ...Object.keys(limits.extensions)].find(takes) ?? null;
}

function refusal(job) {
  if (!job.type) return say(words.kind, { extension: extensionOf(job.file.name) });
  if (job.file.size === 0) return words.empty;
  if (job.file.size > limits.max_bytes) {
    const values = { size: sizeWord(job.file.size), limit: sizeWord(limits.max_bytes) };
    return say(words.too_large, values);
  }
  return "";
}

function drawn(job) {
  const row = document.querySelector("#new-row").content.firstElementChild.cloneNode(true);
  row.querySelector("[data-name]").textContent = job.path;
  row.querySelector("[data-about]").textContent = [job.type ? limits.types[job.type] : "",
    sizeWord(job.file.size)].filter(Boolean).join(" · ");
  row.querySelector("progress").setAttribute("aria-label", job.path);
  for (const name of ["cancel", "retry", "remove"]) {
    const button = row.querySelector(`[data-do=${name}]`);
    button.setAttribute("aria-label", `${button.textContent}: ${job.path}`);
    button.addEventListener("click", () => ACTIONS[name](job));
  }
  return row;
}

/** Show a job's phase: its words, its bar, the buttons that make sense. */
function show(job, phase, text, { bar = null, buttons = [], detail = "" } = {}) {
  job.phase = phase;
  const badge = job.row.querySelector(".badge");
  badge.className = `badge ${phase}`;
  badge.textContent = badge.dataset[phase] ?? "";
  const line = job.row.querySelector("[data-text]");
  if (line.textContent !== text) line.textContent = text;
  job.row.querySelector("[data-detail]").textContent = detail;
  const progress = job.row.querySelector("progress");
  progress.hidden = bar === null;
  progress.value = bar ?? 0;
  for (const button of job.row.querySelectorAll("[data-do]")) {
    button.hidden = !buttons.includes(button.dataset.do);
  }
}

function refuse(job, text, detail = "") {
  show(job, "failed", text, { buttons: ["retry", "remove"], detail });
  announce(say(words.said_state, { name: job.path, state: text }));
}

function forget(job) {
  delete tokens[job.mark];
  keep();
}

const ACTIONS = {
  cancel(job) {
    clearTimeout(job.timer);
    job.request?.abort();
    const focused = job.row.contains(document.activeElement);
    show(job, "cancelled", words.stopped, { buttons: ["retry", "remove"] });
    announce(say(words.said_state, { name: job.path, state: words.stopped }));
    if (focused) job.row.querySelector("[data-do=retry]").focus();
    refresh();
  },
  retry(job) {
    const problem = refusal(job);
    if (problem) return refuse(job, problem);
    job.tries = 0;
    wait(job);
    return pump();
  },
  remove(job) {
    jobs.splice(jobs.indexOf(job), 1);
    forget(job);
    job.row.remove();
    document.querySelector("#files").focus();
  },
};

function wait(job) {
  show(job, "queued", words.waiting, { bar: 0, buttons: ["cancel"] });
}

function add(entries) {
  banner("");
  if (entries.length > limits.max_files) {
    const values = { count: entries.length, limit: limits.max_files };
    note(say(words.too_many, values));
    entries = entries.slice(0, limits.max_files);
  }
  guess(entries);
  const rows = document.createDocumentFragment();
  for (const { file, path } of entries) {
    const job = { file, path, type: typeOf(file.name), tries: 0 };
    job.wishes = wishesFor(form, job.type);
    job.mark = [path, file.size, file.lastModified, job.type, job.wishes.pages].join("|");
    job.row = drawn(job);
    jobs.push(job);
    rows.append(job.row);
    const problem = refusal(job);
    if (problem) refuse(job, problem);
    else {
      // Another password is another wish; it is in no mark, for marks outlive the page.
      if (job.wishes.password || !tokens[job.mark]) tokens[job.mark] = newToken();
      job.token = tokens[job.mark];
      wait(job);
    }
  }
  keep();
  list.prepend(rows);
  document.querySelector("[data-none]")?.remove();
  if (entries.length > 1) announce(say(words.said_added, { count: entries.length }));
  pump();
}

/** Choose the type that the names speak for; one that takes the names stays as it is. */
function guess(entries) {
  const chosen = form.elements.type.value;
  const known = entries.map((entry) => extensionOf(entry.file.name)).filter(Boolean);
  if (!known.length || known.some((end) => limits.extensions[chosen].includes(end))) return;
  const types = Object.keys(limits.extensions);
  const other = types.find((type) => known.some((end) => limits.extensions[type].includes(end)));
  if (other) form.elements.type.value = other;
}

function note(text) {
  const line = document.querySelector("[data-note]");
  line.textContent = text;
  line.hidden = !text;
}

function pump() {
  while (!held && active < AT_ONCE) {
    const job = jobs.find((each) => each.phase === "queued");
    if (!job) return;
    send(job);
  }
}

/** Ask whether the session lives; a fresh form token comes with the answer. */
async function sessionLives() {
  const headers = { Accept: "application/json" };
  const answer = await fetch("/session", { headers, redirect: "manual", cache: "no-store" });
  if (answer.type === "opaqueredirect") return false;
  if (!answer.ok) throw new Error(answer.status);
  const known = await answer.json();
  if (known.subject !== person) {
    held = true;
    banner(words.other_person);
    return false;
  }
  form.elements.csrf_token.value = known.csrf_token;
  return true;
}

function signedOut(job) {
  held = true;
  show(job, "queued", words.signed_out, { bar: 0, buttons: ["cancel"] });
  banner(words.session_over, true);
  announce(words.session_over);
}

async function resume() {
  if (!held || document.hidden) return;
  try {
    if (!(await sessionLives())) return;
  } catch {
    return;
  }
  held = false;
  banner("");
  for (const job of jobs) if (job.phase === "queued") wait(job);
  pump();
}

async function send(job) {
  active += 1;
  show(job, "processing", say(words.sending, { percent: 0 }), { bar: 0, buttons: ["cancel"] });
  try {
    if (!(await sessionLives())) signedOut(job);
    else if (job.phase === "processing") settle(job, await transfer(job));
  } catch {
    if (job.phase === "processing") later(job, null);
  }
  active -= 1;
  pump();
}

function transfer(job) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    job.request = request;
    request.open("POST", "/");
    request.setRequestHeader("Accept", "application/json");
    request.upload.onprogress = (event) => {
      const percent = Math.floor((100 * event.loaded) / event.total);
      const text = percent < 100 ? say(words.sending, { percent }) : words.storing;
      if (job.phase === "processing") {
        show(job, "processing", text, { bar: percent / 100, buttons: ["cancel"] });
      }
    };
    request.onload = () => resolve(request);
    request.onerror = () => reject(new Error("network"));
    request.onabort = () => reject(new Error("cancelled"));
    const body = new FormData();
    body.append("csrf_token", form.elements.csrf_token.value);
    body.append("idempotency_token", job.token);
    body.append("type", job.type);
    for (const [name, value] of Object.entries(job.wishes)) body.append(name, value);
    body.append("files", job.file, job.file.name);
    request.send(body);
  });
}

function settle(job, request) {
  job.request = null;
  if (new URL(request.responseURL).pathname === "/sign-in") return signedOut(job);
  let body = {};
  try {
    body = JSON.parse(request.responseText);
  } catch {
    return later(job, null);
  }
  if (request.status === 202) return accepted(job, body);
  if (body.retryable || request.status >= 500) return later(job, body);
  forget(job);
  job.token = tokens[job.mark] = newToken();
  return refuse(job, body.title, body.detail);
}

/** The row becomes the server's: same place, the import's own key. */
function accepted(job, body) {
  const item = body.items[0];
  const twin = list.querySelector(`[data-key="${item.import_id ?? item.code2des_id}"]`);
  if (twin) job.row.remove();
  else {
    show(job, "queued", words.accepted);
    job.row.dataset.key = item.import_id ?? item.code2des_id;
    job.row.dataset.phase = "queued";
  }
  jobs.splice(jobs.indexOf(job), 1);
  forget(job);
  announce(say(words.said_accepted, { name: job.path }));
  refresh();
}

/** Try again by itself, ever later; the token makes a second arrival the first one. */
function later(job, problem) {
  job.tries += 1;
  if (job.tries > TRIES) return refuse(job, problem?.title ?? words.not_reached);
  const seconds = Math.min(2 ** (job.tries - 1), LONGEST_WAIT_S);
  const text = say(words.again, { seconds });
  show(job, "waiting", problem ? `${problem.title} · ${text}` : text, { buttons: ["cancel"] });
  job.timer = setTimeout(() => { wait(job); pump(); }, seconds * 1000);
}

window.addEventListener("beforeunload", (event) => {
  if (active > 0 || jobs.some((job) => job.phase === "queued")) event.preventDefault();
});
window.addEventListener("focus", resume);
document.addEventListener("visibilitychange", resume);

form.addEventListener("submit", (event) => {
  event.preventDefault();
  event.stopPropagation();
  form.elements.files.click();
});
form.classList.add("scripted");
document.querySelector("[data-folder]").hidden = false;
const unsent = Object.keys(tokens).map((mark) => mark.split("|")[0]);
if (unsent.length) note(say(words.unsent, { names: unsent.slice(0, 10).join(", ") }));
listen(form, add, note);
