// Audits with the page of `purser audit --page`, opened as a file in a real browser, wide and narrow, light and dark. PURSER_CASES
// names a JSON file with a list of { name, urls, address } or { name, directory }; for each, a line { name, status, verdict, report }
// is printed. A violation of axe-core, a script error or a request to anybody but the named nodes ends the run. See
// tests/it/audit/page.rs.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

const { env } = process;
const { chromium } = await import(`${env.PURSER_NODE_MODULES}/playwright-core/index.mjs`);
const axe = readFileSync(`${env.PURSER_NODE_MODULES}/axe-core/axe.min.js`, "utf8");
const cases = JSON.parse(readFileSync(env.PURSER_CASES, "utf8"));
const browser = await chromium.launch({ executablePath: env.PURSER_CHROMIUM, args: ["--no-sandbox"] });
// Ends the run if anything hangs.
setTimeout(() => { console.error("it did not come to its end"); process.exit(1); }, 420_000).unref();

const wrong = [];
const modes = [1280, 390].flatMap((width) => ["light", "dark"].map((colorScheme) => ({ colorScheme, viewport: { width, height: 844 } })));
const ended = "#status[data-kind=holds], #status[data-kind=fails], #status[data-kind=open], #status[data-kind=error]";

async function opened(mode, allowed, hash = "") {
  const page = await browser.newPage(mode);
  page.on("pageerror", (error) => wrong.push(`script: ${error}`));
  page.on("console", (message) => message.type() === "error" && wrong.push(`console: ${message.text()}`));
  page.on("request", (request) => {
    const url = request.url();
    if (!/^(file|blob|data|about):/.test(url) && !allowed.some((node) => url.startsWith(node))) wrong.push(`asks elsewhere: ${url}`);
  });
  await page.goto(`file://${env.PURSER_PAGE}${hash}`);
  return page;
}

// Runs axe over the debugging protocol, which the page's policy does not restrict; and nothing may stand out at the right.
async function check(page, name) {
  const session = await page.context().newCDPSession(page);
  await session.send("Runtime.evaluate", { expression: axe });
  const ran = await session.send("Runtime.evaluate", {
    expression: "axe.run({ iframes: false }).then((found) => JSON.stringify(found.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.target.join(' ')).join(', ')}`)))",
    awaitPromise: true,
    returnByValue: true,
  });
  for (const violation of JSON.parse(ran.result.value)) wrong.push(`axe, ${name}: ${violation}`);
  for (const frame of page.frames()) {
    // The report's own frame runs no script, but the debugger's.
    const [needs, has] = await frame.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
    if (needs > has) wrong.push(`${name} is too wide: ${needs} of ${has}`);
  }
}

async function shot(page, name) {
  await check(page, name);
  if (env.PURSER_SHOTS) await page.screenshot({ path: join(env.PURSER_SHOTS, `audit-${name.replace(/\W+/g, "-")}.png`), fullPage: true });
}

for (const [place, { name, urls = [], address = "", directory }] of cases.entries()) {
  const mode = modes[place % modes.length];
  // The first ones come by a link that fills the form.
  const link = place < modes.length ? `#${new URLSearchParams([["url", urls.join("\n")], ["operator", address]])}` : "";
  const page = await opened(mode, urls, link);
  if (!link) {
    await page.getByLabel("RPC nodes").fill(urls.join("\n"));
    await page.locator("#operator").fill(address);
  }
  if (directory) {
    await page.locator("details summary").first().click();
    await page.locator("#saved").setInputFiles(directory);
  }
  await page.getByRole("button", { name: "Audit", exact: true }).click();
  const status = page.locator(ended);
  await status.waitFor({ timeout: 120_000 });
  const said = { name, verdict: await status.textContent(), status: Number((await status.getAttribute("data-status")) ?? 2) };
  if (await page.locator("#outcome").isVisible()) {
    const [download] = await Promise.all([page.waitForEvent("download"), page.locator("#as-json").click()]);
    said.report = JSON.parse(readFileSync(await download.path(), "utf8"));
    // The report in its frame says the same in its first lines.
    const shown = await page.frameLocator("#report").locator(".verdict").textContent();
    if (shown !== said.verdict) wrong.push(`${name}: the report says ${shown}`);
  }
  await shot(page, `${name} ${mode.viewport.width} ${mode.colorScheme}`);
  // What comes late, such as a slow node's answer, changes nothing.
  await page.waitForTimeout(300);
  const last = await page.locator("#status").textContent();
  if (last !== said.verdict) wrong.push(`${name}: after ${said.verdict} it says ${last}`);
  console.log(JSON.stringify(said));
  await page.close();
}

// A link fills what is plain to see, and nothing in the closed part.
const linked = await opened(modes[0], [], `#${new URLSearchParams({ operator: "o", url: "u", program: "p", explorer: "e", denials_keys: "d", subject: "account" })}`);
const filled = await linked.evaluate(() => ["operator", "url", "program", "explorer", "denials_keys", "subject"].map((name) => document.getElementById("form").elements[name].value));
if (filled.join() !== "o,u,,,,operator") wrong.push(`a link filled ${filled}`);
await linked.close();

// A node that never answers: who waits sees it, and may stop and ask another one.
const silent = createServer(() => {}).listen(0, "127.0.0.1");
await new Promise((listens) => silent.once("listening", listens));
const [url, other] = [`http://127.0.0.1:${silent.address().port}`, cases[0].urls[0]];
const page = await opened(modes[1], [url, other]);
await page.getByRole("button", { name: "Audit", exact: true }).click();
await page.locator("#status[data-kind=error]").waitFor();
await page.getByLabel("RPC nodes").fill(url);
await page.locator("#operator").fill(cases[0].address);
await page.getByRole("button", { name: "Audit", exact: true }).click();
await page.locator("#status[data-kind=progress]").waitFor();
await shot(page, "waiting");
await page.getByRole("button", { name: "Stop" }).click();
if ((await page.locator(ended).textContent()) !== "stopped") wrong.push("it did not stop");
await page.getByLabel("RPC nodes").fill(other);
await page.getByRole("button", { name: "Audit", exact: true }).click();
await page.locator("#status[data-kind=holds]").waitFor({ timeout: 120_000 });

await browser.close();
for (const one of wrong) console.error(`WRONG ${one}`);
process.exit(wrong.length ? 1 : 0);
