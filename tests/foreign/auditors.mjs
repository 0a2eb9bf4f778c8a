// Audits with `auditor.mts`, unchanged, once for each line "URL ACCOUNT" of standard input: its exit status and what it printed, to a
// line of standard output. See audit/tests/support/auditor.rs.

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [node, , script, idl] = process.argv;
let audits = 0;
for await (const line of createInterface({ input: process.stdin })) {
  const [url, account] = line.split(" ");
  const printed = [];
  console.log = console.error = (text) => printed.push(String(text));
  process.argv = [node, script, "--url", url, "--account", account, "--idl", idl];
  const ends = new Promise((resolve) => { process.exit = resolve; });
  // Another module each time: it keeps what it read.
  await import(`${pathToFileURL(script)}?${audits++}`);
  process.stdout.write(`${JSON.stringify({ status: await ends, printed: printed.join("\n") })}\n`);
}
