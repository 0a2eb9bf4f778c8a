// Runs one audit: steps the module, fetches what it asks for, and hands back progress and the end.

const TRIES = 7;
const TIMEOUT_MS = 60_000;
const PAUSE_MS = 250;
const PAUSE_MS_MAX = 60_000;
// What nodes and providers say while they are busy, behind or limit their clients.
const BUSY = [-32004, -32005, -32008, -32014, -32016, -32019, -32429];

const encoder = new TextEncoder();
const decoder = new TextDecoder();
let audit;
let urls;
let open = 0;
let steps = false;

onmessage = async ({ data }) => {
  try {
    urls = data.urls;
    ({ instance: { exports: audit } } = await WebAssembly.instantiate(data.module, {}));
    for (const [name, bytes] of data.files) {
      const begin = encoder.encode(name);
      put(begin, new Uint8Array(bytes));
      audit.keep(begin.length);
    }
    put(encoder.encode(JSON.stringify({ ...data.settings, tool_sha256: await sha256(data.module) })));
    const refused = audit.begin();
    if (refused) throw new Error(read(refused));
    step();
  } catch (error) {
    fails(error);
  }
};

const fails = (error) => postMessage({ error: error instanceof WebAssembly.RuntimeError ? `the audit broke off: ${error.message}` : error.message });

function put(...parts) {
  let at = audit.reserve(parts.reduce((sum, part) => sum + part.length, 0));
  for (const part of parts) {
    new Uint8Array(audit.memory.buffer, at, part.length).set(part);
    at += part.length;
  }
}

const read = (length) => decoder.decode(new Uint8Array(audit.memory.buffer, audit.output(), length));

// Answers that come together are stepped together.
function soon() {
  if (steps) return;
  steps = true;
  setTimeout(step, 0);
}

function step() {
  steps = false;
  try {
    const said = JSON.parse(read(audit.step(Math.floor(Date.now() / 1_000))));
    if (said.told.length) postMessage({ told: said.told.at(-1) });
    if (said.end) return postMessage({ end: said.end });
    said.asks.forEach(answers);
    open += said.asks.length;
    // It breathes.
    if (!open) soon();
  } catch (error) {
    fails(error);
  }
}

async function answers({ id, node, request, pause_ms }) {
  let body, why;
  try {
    if (request === null) await sleeps(pause_ms);
    else body = await asks(urls[node], request);
  } catch (error) {
    why = error.message;
  }
  try {
    put(body ?? encoder.encode(why ?? ""));
    audit.answer(id, body ? 1 : 0);
  } catch (error) {
    return fails(error);
  }
  open -= 1;
  soon();
}

const sleeps = (time) => new Promise((wakes) => setTimeout(wakes, time));

async function asks(url, body) {
  for (let tries = 1, pause = PAUSE_MS; ; tries += 1, pause *= 2) {
    let why, longer = 0;
    try {
      const answer = await fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body,
        cache: "no-store",
        credentials: "omit",
        redirect: "error",
        referrerPolicy: "no-referrer",
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      if (answer.ok) {
        const bytes = new Uint8Array(await answer.arrayBuffer());
        if (!isBusy(bytes)) return bytes;
        why = "the node is busy";
      } else {
        why = `HTTP ${answer.status}`;
        longer = 1_000 * (Number(answer.headers.get("retry-after")) || 0);
        if (answer.status !== 429 && answer.status < 500) tries = TRIES;
      }
    } catch (error) {
      why = error.name === "TimeoutError" ? "timeout" : "cannot connect, or the node allows no page to ask it (CORS)";
    }
    if (tries >= TRIES) throw new Error(why);
    await sleeps(Math.min(Math.max(pause, longer), PAUSE_MS_MAX));
  }
}

function isBusy(bytes) {
  if (bytes.length > 4_096) return false;
  try {
    return BUSY.includes(JSON.parse(decoder.decode(bytes)).error?.code);
  } catch {
    return false;
  }
}

// Of the module, as the command line says it of itself; a page that came over plain HTTP cannot.
async function sha256(bytes) {
  if (!globalThis.crypto?.subtle) return null;
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return [...hash].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
