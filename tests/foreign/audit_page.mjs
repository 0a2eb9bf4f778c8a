// Audits directories with the page's own worker and module, without a browser: a directory to a line of standard input, what the
// worker says of it to a line of standard output. See audit/tests/support/mod.rs.

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

const [worker, module] = process.argv.slice(2).map((path) => readFileSync(path));
for await (const directory of createInterface({ input: process.stdin })) {
  const files = [];
  for (const part of [".", "accounts", "signatures", "transactions"]) {
    for (const name of readdirSync(join(directory, part)).filter((name) => name.endsWith(".json"))) {
      files.push([part === "." ? name : `${part}/${name}`, readFileSync(join(directory, part, name))]);
    }
  }
  const said = new Promise((resolve) => { globalThis.postMessage = (data) => data.told || resolve(data); });
  // A worker for each, whose `onmessage` becomes a global one.
  (0, eval)(worker.toString());
  globalThis.onmessage({ data: { module, urls: [], settings: { directory }, files } });
  console.log(JSON.stringify(await said));
}
