// Reads the form, starts the worker that audits, and shows what it says.

const find = (id) => document.getElementById(id);
const textOf = (id) => find(id).textContent;
const moduleOf = Uint8Array.from(atob(textOf("module").replace(/\s/g, "")), (letter) => letter.charCodeAt(0));
const workerUrl = URL.createObjectURL(new Blob([textOf("worker")], { type: "text/javascript" }));

let worker;

// A link may fill what is plain to see: #operator=...&url=...
const link = new URLSearchParams(location.hash.slice(1));
for (const name of ["operator", "url"]) {
  if (link.has(name)) find("form").elements[name].value = link.get(name);
}

find("form").addEventListener("submit", async (submitted) => {
  submitted.preventDefault();
  try {
    runs(await asked());
  } catch (error) {
    shows({ error: error.message });
  }
});

find("stop").addEventListener("click", () => {
  shows({ error: "stopped" });
});

// What the form asks for.
async function asked() {
  const form = find("form");
  const value = (name) => form.elements[name].value.trim() || null;
  const urls = (value("url") ?? "").split(/\s+/).filter(Boolean);
  const hosts = urls.map((url) => {
    if (!/^https?:\/\//.test(url) || !URL.canParse(url)) throw new Error(`${url} is no URL of a node`);
    return new URL(url).host;
  });
  const [saved, refusals] = [[...form.elements.saved.files], [...form.elements.denials.files]];
  const settings = { hosts, program: value("program"), explorer: value("explorer") };
  const files = [];
  if (refusals.length) {
    files.push(["denials", await refusals[0].arrayBuffer()]);
    settings.is_about_denials = true;
    settings.denials_keys = (value("denials_keys") ?? "").split(/\s+/).filter(Boolean);
    settings.operator = value("operator");
  } else if (urls.length) {
    settings[value("subject")] = value("operator");
    if (!value("operator")) throw new Error("Name an operator or an account.");
  } else if (saved.length) {
    for (const file of saved) {
      const [directory, ...path] = file.webkitRelativePath.split("/");
      settings.directory = directory;
      // What an interruption or a follower left is no part of it.
      const name = path.join("/");
      if (/^(audit|relayer|(accounts|signatures|transactions)\/[0-9A-Za-z]+)\.json$/.test(name)) files.push([name, await file.arrayBuffer()]);
    }
  } else {
    throw new Error("Name a node, or choose a directory that was saved.");
  }
  return { settings, urls, files };
}

function runs({ settings, urls, files }) {
  worker?.terminate();
  const own = new Worker(workerUrl);
  worker = own;
  // Another one may have begun, or this one have ended.
  own.onmessage = ({ data }) => own === worker && shows(data);
  own.onerror = (error) => own === worker && shows({ error: error.message });
  find("outcome").hidden = true;
  find("form").setAttribute("aria-busy", "true");
  find("stop").hidden = false;
  says("reading", "progress");
  own.postMessage({ module: moduleOf, settings, urls, files });
}

function says(text, kind) {
  find("status").textContent = text;
  find("status").dataset.kind = kind;
  delete find("status").dataset.status;
}

function shows({ told, end, error }) {
  if (told) return says(told, "progress");
  worker?.terminate();
  worker = undefined;
  find("stop").hidden = true;
  find("form").removeAttribute("aria-busy");
  find("outcome").hidden = !end?.json;
  if (error) return says(error, "error");
  says(end.verdict, end.json ? ["holds", "fails", "open"][end.status] : "error");
  find("status").dataset.status = end.status;
  find("report").hidden = !end.html;
  find("report").srcdoc = end.html;
  find("plain").textContent = end.text;
  const kinds = { "as-html": [end.html, "text/html", "html"], "as-json": [`${end.json}\n`, "application/json", "json"], "as-text": [end.text, "text/plain", "txt"] };
  for (const [id, [text, type, extension]] of Object.entries(kinds)) {
    URL.revokeObjectURL(find(id).href);
    find(id).href = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
    find(id).download = `audit.${extension}`;
    find(id).hidden = !text;
  }
}
