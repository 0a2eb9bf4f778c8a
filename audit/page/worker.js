// Runs one audit: steps the module, fetches what it asks for, and hands back progress and, once, the end.

const TIMEOUT_MS = 60_000;
const PAUSE_MS = 250;
const PAUSE_MS_MAX = 60_000;
const ANSWER_BYTES_MAX = 16 * 1_024 * 1_024;
// A node that never answered is hardly just busy.
const TRIES = 7;
const TRIES_OF_A_STRANGER = 3;
// What nodes and providers say while they are busy, behind or limit their clients, as rpc/src/node_fault.rs reads it.
const BUSY = [-32001, -32004, -32005, -32008, -32011, -32014, -32016, -32019, -32429, -32603, 408, 425, 429];

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const known = new Set();
let audit;
let urls;
let open = 0;
let steps = false;
let isOver = false;

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

// The verdict is the last word: a slow node may still answer, and that changes nothing.
function ends(last) {
  if (isOver) return;
  isOver = true;
  postMessage(last);
}

const fails = (error) => ends({ error: error instanceof WebAssembly.RuntimeError ? `the audit broke off: ${error.message}` : error.message });

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
  if (isOver) return;
  try {
    const said = JSON.parse(read(audit.step(Math.floor(Date.now() / 1_000))));
    if (said.end) return ends({ end: said.end });
    if (said.told.length) postMessage({ told: said.told.at(-1) });
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
  if (isOver) return;
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
    const { bytes, why, isFinal = false, longer = 0 } = await posts(url, body);
    if (bytes) {
      known.add(url);
      return bytes;
    }
    if (isFinal || tries >= (known.has(url) ? TRIES : TRIES_OF_A_STRANGER)) throw new Error(why);
    await sleeps(Math.min(Math.max(pause, longer), PAUSE_MS_MAX));
  }
}

// What one request brought: the bytes of an answer, or why there are none.
async function posts(url, body) {
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
    const bytes = await bytesOf(answer);
    if (!bytes) return { why: "answer too long", isFinal: true };
    // Some nodes put the error into a 4xx or 5xx answer. Its code says more than the status.
    const code = errorIn(bytes);
    const longer = 1_000 * (Number(answer.headers.get("retry-after")) || 0);
    if (BUSY.includes(code) || (code >= 500 && code < 600)) return { why: `the node is busy (${code})`, longer };
    if (!answer.ok && code === undefined) return { why: `HTTP ${answer.status}`, longer };
    return { bytes };
  } catch (error) {
    return { why: error.name === "TimeoutError" ? "timeout" : "cannot connect, or it lets no page ask (CORS)" };
  }
}

async function bytesOf(answer) {
  const parts = [];
  let length = 0;
  const reader = answer.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return new Uint8Array(await new Blob(parts).arrayBuffer());
    length += value.length;
    if (length > ANSWER_BYTES_MAX) return reader.cancel().then(() => null);
    parts.push(value);
  }
}

// The code of the error that an answer holds, if it is one; those are short.
function errorIn(bytes) {
  if (bytes.length > 65_536) return undefined;
  try {
    return JSON.parse(decoder.decode(bytes)).error?.code;
  } catch {
    return undefined;
  }
}

// Of the module, as the command line says it of itself; a page that came over plain HTTP cannot.
async function sha256(bytes) {
  if (!globalThis.crypto?.subtle) return null;
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return [...hash].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
