// Clicks through the dashboard in a real browser: each task of an operator, on a wide and a narrow screen, light and dark, with
// axe-core on every page. Prints what was done; any violation, error or request to elsewhere ends it. See tests/it/dashboard_browser.rs.

import { readFileSync } from "node:fs";
import { join } from "node:path";

const { env } = process;
const { chromium } = await import(`${env.PURSER_NODE_MODULES}/playwright-core/index.mjs`);
const axe = readFileSync(`${env.PURSER_NODE_MODULES}/axe-core/axe.min.js`, "utf8");
const base = env.PURSER_URL;

const browser = await chromium.launch({ executablePath: env.PURSER_CHROMIUM, args: ["--no-sandbox"] });
const wrong = [];
// Whatever hangs, this ends.
setTimeout(() => { console.log("WRONG it did not come to its end"); process.exit(1); }, 300_000).unref();
const note = (what) => wrong.push(what);

async function context(options) {
  const made = await browser.newContext({ baseURL: base, timezoneId: "Europe/Berlin", ...options });
  made.withoutScripts = options.javaScriptEnabled === false;
  // The pages forbid scripts that are not theirs, so axe comes in past that.
  made.on("page", (page) => {
    page.on("pageerror", (error) => note(`script: ${error}`));
    // A page that is answered 400 or 404 on purpose is noted by the browser, too.
    page.on("console", (message) => message.type() === "error" && !/status of 40[04]/.test(message.text()) && note(`console: ${message.text()}`));
    page.on("request", (request) => {
      if (!request.url().startsWith(base)) note(`asks elsewhere: ${request.url()}`);
    });
  });
  return made;
}

// Runs axe in the page's own world over the debugging protocol, which no policy of the page hinders.
async function check(page, name) {
  // Where scripts are off, the browser runs no one's.
  if (page.context().withoutScripts) return;
  const session = await page.context().newCDPSession(page);
  await session.send("Runtime.evaluate", { expression: axe });
  const ran = await session.send("Runtime.evaluate", {
    expression: "axe.run().then((found) => JSON.stringify(found.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.target.join(' ')).join(', ')}`)))",
    awaitPromise: true,
    returnByValue: true,
  });
  for (const violation of JSON.parse(ran.result.value)) note(`axe, ${name}: ${violation}`);
  const tooWide = await page.evaluate(() => {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width) return [];
    const isOut = (one) => one.getBoundingClientRect().right > width;
    return [...document.body.querySelectorAll("*")].filter(isOut).map((one) => `${one.tagName}.${one.className} to ${one.getBoundingClientRect().right}`);
  });
  for (const one of tooWide) note(`${name} is too wide: ${one}`);
  await session.detach();
}

async function shot(page, name) {
  await check(page, name);
  if (env.PURSER_SHOTS) await page.screenshot({ path: join(env.PURSER_SHOTS, `${name}.png`), fullPage: true });
}

async function signIn(page) {
  await page.goto("/dashboard");
  await page.getByLabel("Operator key").fill(env.PURSER_OPERATOR_KEY);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Home" }).waitFor();
}

async function tour(name, options) {
  const made = await context(options);
  const page = await made.newPage();
  await page.goto("/dashboard/sign-in");
  await shot(page, `${name}-sign-in`);
  await signIn(page);
  for (const [what, path] of [
    ["home", "/dashboard"],
    ["stop-all", "/dashboard/stop-all"],
    ["accounts", "/dashboard/accounts"],
    ["account", `/dashboard/accounts/${env.PURSER_ACCOUNT}`],
    ["policy", `/dashboard/accounts/${env.PURSER_ACCOUNT}/policy`],
    ["versions", `/dashboard/accounts/${env.PURSER_ACCOUNT}/policy/versions`],
    ["history", `/dashboard/accounts/${env.PURSER_ACCOUNT}/history`],
    ["transfers", "/dashboard/transfers"],
    ["transfer", `/dashboard/transfers/${env.PURSER_REJECTED}`],
    ["preview", "/dashboard/preview"],
    ["webhooks", "/dashboard/webhooks"],
    ["webhook", `/dashboard/webhooks/${env.PURSER_WEBHOOK}`],
    ["missing", "/dashboard/transfers/txn_nothing"],
  ]) {
    await page.goto(path);
    await shot(page, `${name}-${what}`);
  }
  await made.close();
}

async function tasks(options) {
  const made = await context(options);
  const page = await made.newPage();
  await signIn(page);
  // Times are in the reader's zone, with UTC beside them.
  if (options.javaScriptEnabled !== false) {
    await page.goto(`/dashboard/accounts/${env.PURSER_ACCOUNT}`);
    const time = page.locator("time").first();
    if (!/[+]0[12]$/.test(await time.textContent())) note(`time in no zone: ${await time.textContent()}`);
    if (!/UTC$/.test(await time.getAttribute("title"))) note("no UTC beside a time");
  }
  // Make an account.
  await page.goto("/dashboard");
  await page.getByRole("link", { name: "Accounts", exact: true }).click();
  await page.getByLabel("Name").fill("Clicked");
  await page.getByRole("button", { name: "Make the account" }).click();
  await page.getByText("The account is on the chain.").waitFor();
  // Look at a policy, then set it.
  await page.getByRole("link", { name: "Change the policy" }).click();
  await page.getByLabel("Most in 24 hours (USDC)").fill("12.50");
  await page.getByLabel("Reason (optional)").fill("by hand");
  await page.getByRole("button", { name: "Show what changes" }).click();
  await page.getByText("12.50 USDC").first().waitFor();
  await check(page, "what changes");
  await page.getByRole("button", { name: "Change it" }).click();
  await page.getByText("The policy is in force, on the chain.").waitFor();
  // Make a key and revoke it.
  await page.getByLabel("Name (optional)").fill("bot");
  await page.getByRole("button", { name: "Make a key" }).click();
  await page.getByText("psr_ag_test_").waitFor();
  await check(page, "new key");
  await page.getByRole("link", { name: "I have kept it" }).click();
  await page.getByRole("button", { name: "Revoke" }).first().click();
  await page.getByText("The key opens nothing any more.").waitFor();
  // Pause it, and let it pay again.
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByRole("button", { name: "Let it pay again" }).click();
  await page.getByRole("button", { name: "Pause" }).waitFor();
  // Ask whether a transfer would pass.
  await page.getByRole("link", { name: "Would it pass?" }).click();
  await page.getByLabel("To", { exact: true }).fill(env.PURSER_ACCOUNT);
  await page.getByLabel("Amount (USDC)").fill("100");
  await page.getByRole("button", { name: "Ask" }).click();
  await page.getByText("It would not be paid").waitFor();
  await check(page, "preview's answer");
  // Send what was not delivered again.
  await page.goto(`/dashboard/webhooks/${env.PURSER_WEBHOOK}`);
  await page.getByRole("link", { name: "Undelivered" }).click();
  await page.getByRole("checkbox").first().check();
  await page.getByRole("button", { name: "Send the chosen again" }).click();
  await page.getByText("1 event is on its way again.").waitFor();
  // Wrong input is said beside its field.
  await page.getByLabel("From (UTC)").fill("yesterday");
  await page.getByRole("button", { name: "Send the span again" }).click();
  await page.locator("#wrong-since").waitFor();
  await check(page, "a wrong field");
  // Sign out.
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await page.goto("/dashboard");
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await made.close();
}

// How far anything moves while the home page loads.
async function shift() {
  const made = await context({ viewport: { width: 1280, height: 900 } });
  const page = await made.newPage();
  await signIn(page);
  await page.goto("/dashboard", { waitUntil: "load" });
  const moved = await page.evaluate(() => new Promise((done) => {
    let sum = 0;
    new PerformanceObserver((list) => list.getEntries().forEach((entry) => { sum += entry.value; }))
      .observe({ type: "layout-shift", buffered: true });
    setTimeout(() => done(sum), 300);
  }));
  if (moved > 0.01) note(`the layout shifts by ${moved}`);
  await made.close();
}

async function stopAll() {
  const made = await context({ viewport: { width: 1280, height: 900 } });
  const page = await made.newPage();
  await signIn(page);
  await page.getByRole("link", { name: "Stop all" }).click();
  await page.getByRole("button", { name: /^Stop \d+ accounts$/ }).click();
  await page.getByText("Every account is stopped.").waitFor();
  await check(page, "all stopped");
  await made.close();
}

const wide = { viewport: { width: 1280, height: 900 } };
const narrow = { viewport: { width: 390, height: 844 } };
const steps = [
  ["wide and light", () => tour("wide-light", { ...wide, colorScheme: "light" })],
  ["wide and dark", () => tour("wide-dark", { ...wide, colorScheme: "dark" })],
  ["narrow and light", () => tour("narrow-light", { ...narrow, colorScheme: "light" })],
  ["narrow and dark", () => tour("narrow-dark", { ...narrow, colorScheme: "dark" })],
  ["tasks with scripts", () => tasks(wide)],
  ["tasks without scripts", () => tasks({ ...narrow, javaScriptEnabled: false })],
  ["nothing shifts", shift],
  ["stop all", stopAll],
];
try {
  for (const [name, step] of steps) {
    await step();
    console.log(`${name}: done`);
  }
} catch (error) {
  note(String(error));
} finally {
  await browser.close();
}
for (const what of new Set(wrong)) console.log(`WRONG ${what}`);
process.exitCode = wrong.length > 0 ? 1 : 0;
