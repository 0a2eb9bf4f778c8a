#!/usr/bin/env node
// Becomes the program `purser` of the package for this platform.
import { createRequire } from "node:module";
import { argv, arch, env, execve, exit, platform } from "node:process";

const carrier = `@purser-pay/${platform}-${arch}`;
let program;
try {
  program = createRequire(import.meta.url).resolve(`${carrier}/programs/purser`);
} catch {
  console.error(`purser-pay: ${carrier} is not installed. There are programs for linux-x64; elsewhere they are built from source.`);
  exit(1);
}
// Node calls `execve` experimental, and would say so at each start.
process.removeAllListeners("warning");
execve(program, [program, ...argv.slice(2)], env);
