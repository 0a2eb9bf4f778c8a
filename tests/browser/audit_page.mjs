// Audits with the page of `purser audit --page`, opened as a file in a real browser. PURSER_CASES names a JSON file with a list of
// { name, urls, subject, address } or { name, directory }; for each, a line { name, status, verdict, report, error } is printed. A
// script error or a request to anybody but the named nodes ends the run. See tests/it/audit/page.rs.

import { readFileSync } from "node:fs";
import { join } from "node:path";

const { env } = process;
const { chromium } = await import(`${env.PURSER_NODE_MODULES}/playwright-core/index.mjs`);
const cases = JSON.parse(readFileSync(env.PURSER_CASES, "utf8"));
const browser = await chromium.launch({ executablePath: env.PURSER_CHROMIUM, args: ["--no-sandbox"] });
// Ends the run if anything hangs.
setTimeout(() => { console.error("it did not come to its end"); process.exit(1); }, 420_000).unref();

const wrong = [];
const context = await browser.newContext();
const page = await context.newPage();
page.on("pageerror", (error) => wrong.push(`script: ${error}`));
page.on("console", (message) => message.type() === "error" && wrong.push(`console: ${message.text()}`));
let allowed = [];
page.on("request", (request) => {
  const url = request.url();
  if (!/^(file|blob|data|about):/.test(url) && !allowed.some((node) => url.startsWith(node))) wrong.push(`asks elsewhere: ${url}`);
});

for (const { name, urls = [], subject = "operator", address = "", directory } of cases) {
  allowed = urls;
  await page.goto(`file://${env.PURSER_PAGE}`);
  await page.getByLabel("RPC nodes").fill(urls.join("\n"));
  await page.getByLabel("What the address is").selectOption(subject);
  await page.locator("#operator").fill(address);
  if (directory) {
    await page.locator("details summary").first().click();
    await page.locator("#saved").setInputFiles(directory);
  }
  await page.getByRole("button", { name: "Audit" }).click();
  const status = page.locator("#status[data-kind=holds], #status[data-kind=fails], #status[data-kind=open], #status[data-kind=error]");
  await status.waitFor({ timeout: 120_000 });
  const said = { name, verdict: await status.textContent(), status: Number((await status.getAttribute("data-status")) ?? 2) };
  if (await page.locator("#outcome").isVisible()) {
    said.report = await page.evaluate(() => fetch(document.getElementById("as-json").href).then((it) => it.json()).catch((error) => String(error)));
    // The report in its frame says the same in its first lines.
    const shown = await page.frameLocator("#report").locator(".verdict").textContent();
    if (shown !== said.verdict) wrong.push(`${name}: the report says ${shown}`);
  }
  console.log(JSON.stringify(said));
  if (env.PURSER_SHOTS) await page.screenshot({ path: join(env.PURSER_SHOTS, `audit-${name.replace(/\W+/g, "-")}.png`), fullPage: true });
}
await browser.close();
for (const one of wrong) console.error(`WRONG ${one}`);
process.exit(wrong.length ? 1 : 0);
