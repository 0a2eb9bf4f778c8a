// Audits with the page's own worker and module, without a browser: a directory, or nodes' URLs with settings (and a file of signed refusals) in
// JSON, to a line of standard input; what the worker says to a line of standard output. See audit/tests/support/page.rs, tests/it/audit/meanwhile.rs.

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

const [worker, module] = process.argv.slice(2).map((path) => readFileSync(path));
for await (const line of createInterface({ input: process.stdin })) {
  const { urls, settings, denials } = line.startsWith("{") ? JSON.parse(line) : { urls: [], settings: { directory: line } };
  const { directory } = settings;
  const files = denials ? [["denials", readFileSync(denials)]] : [];
  for (const part of directory ? [".", "accounts", "signatures", "transactions"] : []) {
    for (const name of readdirSync(join(directory, part)).filter((name) => name.endsWith(".json"))) {
      files.push([part === "." ? name : `${part}/${name}`, readFileSync(join(directory, part, name))]);
    }
  }
  const said = new Promise((resolve) => { globalThis.postMessage = (data) => data.told || resolve(data); });
  // A worker for each, whose `onmessage` becomes a global one.
  (0, eval)(worker.toString());
  globalThis.onmessage({ data: { module, urls, settings, files } });
  console.log(JSON.stringify(await said));
}
