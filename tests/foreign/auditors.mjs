// Audits with `auditor/auditor.mts`, unchanged, once for each line of standard input, a JSON array of its arguments: its exit status and what it
// says, to a line of standard output. See audit/tests/support/auditor.rs.

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const { audits } = await import(pathToFileURL(process.argv[2]));
for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await audits(JSON.parse(line)))}\n`);
}
