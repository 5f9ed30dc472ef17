// What comes from the person: the field, a folder, a drop anywhere, the clipboard.

import { say, words } from "./live.js";

function visible(file) {
  const path = file.webkitRelativePath || file.name;
  return !path.split("/").some((part) => part.startsWith(".")) && file.name !== "Thumbs.db";
}

async function walk(entry, path, found) {
  if (entry.name.startsWith(".") || entry.name === "Thumbs.db") {
    found.hidden += 1;
  } else if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    found.files.push({ file, path: path + entry.name });
  } else {
    const reader = entry.createReader();
    for (;;) {
      const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
      if (!some.length) return;
      for (const each of some) await walk(each, `${path}${entry.name}/`, found);
    }
  }
}

async function dropped(data) {
  const entries = [...data.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) {
    return { files: [...data.files].map((file) => ({ file, path: file.name })), hidden: 0 };
  }
  const found = { files: [], hidden: 0 };
  for (const entry of entries) await walk(entry, "", found);
  return found;
}

function carriesFiles(event) {
  return event.dataTransfer?.types.includes("Files");
}

/** Return what the form wishes for a file of this type; only documents have pages or passwords. */
export function wishesFor(form, type) {
  if (type !== "page_import") return {};
  const fields = [form.elements.password, form.elements.pages].filter((field) => field.value);
  return Object.fromEntries(fields.map((field) => [field.name, field.value]));
}

/** Give every file that the person brings to `add`, and what is to be said about it to `note`. */
export function listen(form, add, note) {
  const take = ({ files, hidden }) => {
    if (!files.length) note(words.nothing);
    else note(hidden ? say(words.hidden_files, { count: hidden }) : "");
    add(files);
  };
  const picked = (input) => {
    const all = [...input.files];
    const files = all.filter(visible);
    input.value = "";
    take({
      files: files.map((file) => ({ file, path: file.webkitRelativePath || file.name })),
      hidden: all.length - files.length,
    });
  };
  for (const input of form.querySelectorAll("input[type=file]")) {
    input.addEventListener("change", () => picked(input));
    if (input.files.length) picked(input); // chosen before this script had come
  }
  document.addEventListener("paste", (event) => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length) add(files.map((file) => ({ file, path: file.name })));
  });
  let depth = 0;
  const over = (change) => {
    depth = Math.max(0, depth + change);
    document.querySelector("[data-drop]").hidden = depth === 0;
  };
  const handlers = {
    dragenter: () => over(1),
    dragleave: () => over(-1),
    dragover: (event) => event.preventDefault(),
    drop: async (event) => {
      event.preventDefault();
      over(-depth);
      take(await dropped(event.dataTransfer));
    },
  };
  for (const [name, handle] of Object.entries(handlers)) {
    window.addEventListener(name, (event) => { if (carriesFiles(event)) handle(event); });
  }
}
