// Clicks through the dashboard in a real browser: every task of an operator, on a wide and a narrow screen, light and dark, and
// by keyboard alone, with axe-core on every page. Prints each step. A violation, an error or an outside request ends the run.
// See tests/it/dashboard_browser.rs.

import { readFileSync } from "node:fs";
import { join } from "node:path";

const { env } = process;
const { chromium } = await import(`${env.PURSER_NODE_MODULES}/playwright-core/index.mjs`);
const axe = readFileSync(`${env.PURSER_NODE_MODULES}/axe-core/axe.min.js`, "utf8");
const base = env.PURSER_SITE;

const browser = await chromium.launch({ executablePath: env.PURSER_CHROMIUM, args: ["--no-sandbox"] });
const wrong = [];
// Ends the run if anything hangs.
setTimeout(() => { console.log("WRONG it did not come to its end"); process.exit(1); }, 420_000).unref();
const note = (what) => wrong.push(what);

async function context(options) {
  const made = await browser.newContext({ baseURL: base, timezoneId: "Europe/Berlin", ...options });
  made.withoutScripts = options.javaScriptEnabled === false;
  // The pages forbid foreign scripts, so axe is injected past that policy.
  made.on("page", (page) => {
    page.on("pageerror", (error) => note(`script: ${error}`));
    // The browser also logs pages that answer 400, 403 or 404 on purpose.
    page.on("console", (message) => message.type() === "error" && !/status of 40[034]/.test(message.text()) && note(`console: ${message.text()}`));
    page.on("request", (request) => {
      if (!request.url().startsWith(base)) note(`asks elsewhere: ${request.url()}`);
    });
  });
  return made;
}

// Runs axe in the page's own world over the debugging protocol, which the page's policy does not restrict.
async function check(page, name) {
  // With scripts off, the browser runs no scripts at all.
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
  if (name.includes("wide") && name.includes("approvals")) {
    const cut = await page.evaluate(() => [...document.querySelectorAll(".scroll")].filter((one) => one.scrollWidth > one.clientWidth + 1).length);
    if (cut > 0) note(`${name} has columns out of sight`);
  }
  await session.detach();
}

// What the file holds that this leads to.
async function downloaded(page, leads) {
  const [download] = await Promise.all([page.waitForEvent("download"), leads.click()]);
  return readFileSync(await download.path(), "utf8");
}

async function shot(page, name) {
  await check(page, name);
  if (env.PURSER_SHOTS) await page.screenshot({ path: join(env.PURSER_SHOTS, `${name}.png`), fullPage: true });
}

async function signIn(page, key = env.PURSER_OPERATOR_KEY) {
  await page.goto("/dashboard");
  await page.getByLabel("Operator key").fill(key);
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
    ["home-30-days", "/dashboard?days=30"],
    ["stop-all", "/dashboard/stop-all"],
    ["accounts", "/dashboard/accounts"],
    ["account", `/dashboard/accounts/${env.PURSER_ACCOUNT}`],
    ["account-keys", `/dashboard/accounts/${env.PURSER_ACCOUNT}/keys`],
    ["account-settings", `/dashboard/accounts/${env.PURSER_ACCOUNT}/settings`],
    ["new-account", "/dashboard/accounts/new"],
    ["export", "/dashboard/accounts/export"],
    ["change-many", "/dashboard/accounts/change"],
    ["policy", `/dashboard/accounts/${env.PURSER_ACCOUNT}/policy`],
    ["versions", `/dashboard/accounts/${env.PURSER_ACCOUNT}/policy/versions`],
    ["history", `/dashboard/accounts/${env.PURSER_ACCOUNT}/history`],
    ["keys", "/dashboard/keys"],
    ["actions", "/dashboard/actions"],
    ["transfers", "/dashboard/transfers"],
    ["transfer", `/dashboard/transfers/${env.PURSER_REJECTED}`],
    ["settled", `/dashboard/transfers/${env.PURSER_SETTLED}`],
    ["refused", "/dashboard/transfers?status=rejected&reason=single_limit_exceeded"],
    ["which-account", "/dashboard/transfers?account_id=night+shift"],
    ["budgets", "/dashboard/budgets"],
    ["budget", `/dashboard/budgets/${env.PURSER_BUDGET}`],
    ["approvals", "/dashboard/approvals"],
    ["nothing-waits", "/dashboard/pending"],
    ["approval", `/dashboard/approvals/${env.PURSER_APPROVAL}`],
    ["waits-for-a-person", `/dashboard/transfers/${env.PURSER_APPROVAL}`],
    ["all-approvals", "/dashboard/approvals?state=any"],
    ["approve-by-admin", env.PURSER_APPROVE_PAGE],
    ["approve", env.PURSER_APPROVABLE_PAGE],
    ["preview", "/dashboard/preview"],
    ["webhooks", "/dashboard/webhooks"],
    ["webhook", `/dashboard/webhooks/${env.PURSER_WEBHOOK}`],
    ["delivery", `/dashboard/webhooks/${env.PURSER_WEBHOOK}/deliveries/${env.PURSER_EVENT}`],
    ["halted", `/dashboard/accounts/${env.PURSER_HALTED}`],
    ["disabled", `/dashboard/webhooks/${env.PURSER_DISABLED_WEBHOOK}`],
    ["missing", "/dashboard/transfers/txn_nothing"],
  ]) {
    await page.goto(path, { waitUntil: "load" });
    await isStill(page, `${name}-${what}`);
    await hasTimes(page, `${name}-${what}`);
    await shot(page, `${name}-${what}`);
    // A phone does not scan itself.
    if (what === "approve" && (await page.locator("svg.qr").isVisible()) !== name.startsWith("wide")) note(`${name}: the code for phones`);
  }
  await answers(page, name);
  await made.close();
}

// The pages that a form answers with.
async function answers(page, name) {
  await page.goto(`/dashboard/accounts/${env.PURSER_HALTED}/keys`);
  await page.getByLabel("Name (optional)").fill("bot");
  await page.getByRole("button", { name: "Make a key" }).click();
  await page.getByText("psr_ag_test_").waitFor();
  await shot(page, `${name}-new-key`);
  await page.goto(`/dashboard/webhooks/${env.PURSER_DISABLED_WEBHOOK}`);
  await page.getByText("Rotate secret\u2026").click();
  await page.getByRole("button", { name: "Rotate the secret" }).click();
  await page.getByRole("heading", { name: "New secret" }).waitFor();
  await shot(page, `${name}-webhook-secret`);
  await page.goto(`/dashboard/accounts/${env.PURSER_ACCOUNT}/policy`);
  await page.getByLabel("Daily limit (USDC)").fill("75");
  await page.getByLabel("Only these:").check();
  await page.getByLabel("Accounts and addresses, one on each line").fill(env.PURSER_ACCOUNT);
  await page.getByRole("button", { name: "Show what changes" }).click();
  await page.getByRole("heading", { name: "What this changes" }).waitFor();
  await shot(page, `${name}-compared`);
  await page.goto("/dashboard/accounts/change");
  await page.getByLabel("Daily limit (USDC)").fill("75");
  await page.getByRole("button", { name: "Show what changes" }).click();
  await page.getByRole("heading", { name: "What this changes" }).waitFor();
  await shot(page, `${name}-many-compared`);
  await page.goto(`/dashboard/budgets/${env.PURSER_BUDGET}`);
  await page.getByLabel("Daily limit (USDC)").fill("750000");
  await page.getByRole("button", { name: "Show what changes" }).click();
  await page.getByRole("heading", { name: "What this changes" }).waitFor();
  await shot(page, `${name}-budget-compared`);
  await page.goto(`/dashboard/preview?from=${env.PURSER_ACCOUNT}`);
  await page.getByLabel("To", { exact: true }).fill(env.PURSER_HALTED);
  await page.getByLabel("Amount (USDC)").fill("30");
  await page.getByRole("button", { name: "Test", exact: true }).click();
  await page.getByText("It would not be paid").waitFor();
  await shot(page, `${name}-judged`);
  await page.context().clearCookies();
  await signIn(page, env.PURSER_SLOW_OPERATOR_KEY);
  // What the admin alone may.
  await page.goto(`/dashboard/accounts/${env.PURSER_WAITING_ACCOUNT}/policy`);
  await page.getByLabel("30-day limit (USDC)").fill("");
  await page.getByRole("button", { name: "Show what changes" }).click();
  await page.getByText("anchor run set-bounds").waitFor();
  await shot(page, `${name}-for-the-admin`);
  await page.goto(`/dashboard/accounts/${env.PURSER_WAITING_ACCOUNT}`);
  await page.getByText("A looser policy waits").waitFor();
  await shot(page, `${name}-waiting-policy`);
  await page.goto("/dashboard/pending");
  await page.getByText("Waits already").waitFor();
  await shot(page, `${name}-pending`);
  await page.goto(`/dashboard/webhooks/${env.PURSER_HANGING_WEBHOOK}`);
  await page.getByLabel("From (UTC)").fill("2020-01-01T00:00");
  await page.getByLabel("What").selectOption("everything");
  await page.getByRole("button", { name: "Send the period again" }).click();
  await page.getByText(/events were sent so far[.]/).waitFor();
  // An answer without content: the page, which loads itself again, stays as it is.
  await page.route(/replay/, (route) => route.fulfill({ status: 204 }));
  await shot(page, `${name}-progress`);
  await page.unrouteAll();
}

// How far anything moved while the page loaded.
async function isStill(page, name) {
  const moved = await page.evaluate(() => new Promise((done) => {
    let sum = 0;
    new PerformanceObserver((list) => list.getEntries().forEach((entry) => { sum += entry.value; }))
      .observe({ type: "layout-shift", buffered: true });
    setTimeout(() => done(sum), 100);
  }));
  if (moved > 0.01) note(`${name}: the layout shifts by ${moved}`);
}

// Times are what has passed since or is left until then, with the exact ones on hover; within sentences they are exact, in the
// reader's zone.
async function hasTimes(page, name) {
  const times = await page.locator("time").evaluateAll((all) => all.map((one) => [one.textContent, one.title, one.className]));
  for (const [text, title, kind] of times) {
    const isRight = kind === "exact" ? /^\d{4}-.*[+]0[12]$/.test(text) : /^(just now|in a moment|\d+ (min|h|days) ago|in \d+ (min|h|days)|\d{4}-\d\d-\d\d)$/.test(text);
    if (!isRight) note(`${name}: a time as ${text}`);
    if (!/UTC$/.test(title)) note(`${name}: no UTC beside a time: ${title}`);
    if (kind !== "exact" && !/ [+]0[12], /.test(title)) note(`${name}: no local time beside ${text}: ${title}`);
  }
}

// A page of the same account.
const tab = (page, name) => page.getByRole("navigation", { name: "Of this account" }).getByRole("link", { name }).click();

async function tasks(options) {
  const made = await context(options);
  const page = await made.newPage();
  await signIn(page);
  // Create an account.
  await page.goto("/dashboard");
  await page.getByRole("link", { name: "Accounts", exact: true }).click();
  await page.getByRole("link", { name: "New account" }).click();
  await page.getByLabel("Limit per payment (USDC)").fill("none");
  await page.getByLabel("Daily limit (USDC)").fill("none");
  await page.getByLabel("Name").fill("Clicked");
  await page.getByLabel("Anyone").check();
  await page.getByRole("button", { name: "Make the account" }).click();
  await page.getByText("The account is on the chain.").waitFor();
  // Look at a policy, then set it.
  await page.getByRole("link", { name: "Change the policy" }).click();
  await page.getByLabel("Daily limit (USDC)").fill("12.50");
  await page.getByLabel("30-day limit (USDC)").fill("300");
  await page.getByLabel("Budget", { exact: true }).selectOption({ index: 1 });
  await page.getByLabel("Reason (optional)").fill("by hand");
  await page.getByRole("button", { name: "Show what changes" }).click();
  await page.getByText("12.50 USDC").first().waitFor();
  await page.getByText("300.00 USDC").first().waitFor();
  await page.getByRole("cell", { name: "Budget 1" }).waitFor();
  await check(page, "what changes");
  await page.getByRole("button", { name: "Change it" }).click();
  await page.getByText("The policy is in force, on the chain.").waitFor();
  // Make a key and revoke it.
  await tab(page, "Keys");
  await page.getByLabel("Name (optional)").fill("bot");
  await page.getByRole("button", { name: "Make a key" }).click();
  await page.getByText("psr_ag_test_").waitFor();
  await check(page, "new key");
  await page.getByRole("link", { name: "I have kept it" }).click();
  await page.getByRole("button", { name: "Revoke" }).first().click();
  await page.getByText("The key was revoked.").waitFor();
  await page.getByText("1 revoked").click();
  await check(page, "revoked keys");
  // Pause it, and resume it. A change that takes time says so.
  if (!made.withoutScripts) {
    await page.evaluate(() => addEventListener("submit", ({ target }) => {
      sessionStorage.setItem("busy", `${target.getAttribute("aria-busy")}: ${target.textContent}`);
    }));
  }
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByRole("button", { name: "Let it pay again" }).waitFor();
  if (!made.withoutScripts) {
    const busy = await page.evaluate(() => sessionStorage.getItem("busy"));
    if (busy !== "true: Pausing\u2026") note(`a pause that is on its way is ${busy}`);
  }
  await page.getByRole("button", { name: "Let it pay again" }).click();
  await page.getByRole("button", { name: "Pause" }).waitFor();
  const clicked = new URL(page.url()).pathname;
  // Halt it; the page asks for confirmation.
  await tab(page, "Settings");
  await page.getByText("Halt\u2026").click();
  await page.getByRole("button", { name: "Halt the account" }).click();
  await page.getByText("halted by the policy authority").first().waitFor();
  await check(page, "a halted account");
  // Find a payment in the history, and download it.
  await page.goto(`/dashboard/accounts/${env.PURSER_ACCOUNT}/history`);
  await page.getByLabel("Search").fill("two nights");
  await page.getByRole("button", { name: "Show" }).click();
  await page.getByText("hotel, two nights").waitFor();
  if (await page.getByText("train", { exact: true }).count()) note("a search shows what it was not asked for");
  await check(page, "a search");
  const file = await downloaded(page, page.getByRole("link", { name: "CSV", exact: true }));
  if (!file.includes("hotel, two nights")) note("the file lacks what was found");
  await page.goto(clicked);
  // Preview a transfer.
  await page.getByRole("link", { name: "Test a payment" }).click();
  await page.getByLabel("To", { exact: true }).fill(env.PURSER_ACCOUNT);
  await page.getByLabel("Amount (USDC)").fill("100");
  await page.getByRole("button", { name: "Test", exact: true }).click();
  await page.getByText("It would not be paid").waitFor();
  await check(page, "preview's answer");
  // Replay undelivered events.
  await page.goto(`/dashboard/webhooks/${env.PURSER_WEBHOOK}`);
  // The first run replays all of them.
  if (!made.withoutScripts) await page.getByRole("link", { name: "Undelivered" }).click();
  await page.getByRole("checkbox").first().check();
  await page.getByRole("button", { name: "Send the selected again" }).click();
  await page.getByText("1 event is on its way again.").waitFor();
  // A single one, from its page.
  await page.goto(`/dashboard/webhooks/${env.PURSER_WEBHOOK}/deliveries/${env.PURSER_EVENT}`);
  await page.getByRole("button", { name: "Send again" }).click();
  await page.getByText("1 event is on its way again.").waitFor();
  // A time span.
  await page.getByLabel("From (UTC)").fill("2020-01-01T00:00");
  await page.getByLabel("What").selectOption("everything");
  await page.getByRole("button", { name: "Send the period again" }).click();
  await page.getByText(/\d+ events are on their way again[.]/).waitFor();
  // An input error is shown next to its field.
  await page.getByLabel("From (UTC)").fill("2020-01-02T00:00");
  await page.getByLabel("Until (UTC)").fill("2020-01-01T00:00:30");
  await page.getByRole("button", { name: "Send the period again" }).click();
  await page.locator("#wrong-until").waitFor();
  await check(page, "a wrong field");
  // Register a webhook, test it, rotate its secret, disable and delete it.
  await page.getByRole("link", { name: "Webhooks", exact: true }).first().click();
  await page.getByLabel("Address").fill(`${env.PURSER_RECEIVER}/clicked`);
  await page.getByLabel("transfer.settled").check();
  await page.getByRole("button", { name: "Register" }).click();
  await page.getByRole("heading", { name: "Webhook registered" }).waitFor();
  await check(page, "a new webhook");
  await page.getByRole("link", { name: "I have kept it" }).click();
  await page.getByRole("button", { name: "Send a test event" }).click();
  await page.getByText("A test event is on its way.").waitFor();
  await page.getByText("Rotate secret\u2026").click();
  await page.getByRole("button", { name: "Rotate the secret" }).click();
  await page.getByRole("heading", { name: "New secret" }).waitFor();
  await page.getByRole("link", { name: "I have kept it" }).click();
  await page.getByRole("button", { name: "Disable" }).click();
  await page.getByText("Somebody disabled it").waitFor();
  await check(page, "a disabled webhook");
  await page.getByRole("button", { name: "Enable" }).click();
  await page.getByText("Delete\u2026").click();
  await page.getByRole("button", { name: "Delete the webhook" }).click();
  await page.getByRole("heading", { name: "Webhooks" }).waitFor();
  if (await page.getByText("/clicked").count()) note("a webhook that was deleted is still listed");
  // What was refused today, by its reason.
  await page.getByRole("link", { name: "Home", exact: true }).click();
  await page.getByRole("region", { name: "Refused today, and why" }).getByRole("link", { name: "single limit exceeded" }).click();
  await page.getByText("flight").waitFor();
  if (await page.getByText("hotel, two nights").count()) note("refused transfers are listed with a settled one");
  await check(page, "what was refused");
  // Transfers of a span, picked.
  await page.getByLabel("Until (UTC)").fill("2020-01-02T00:00:30");
  await page.getByRole("button", { name: "Show" }).click();
  await page.getByText("No transfer matches").waitFor();
  // Find an account among all, and see what was done to it, by whom.
  await page.getByRole("link", { name: "Accounts", exact: true }).click();
  await page.getByLabel("Search").fill("rESEARCH");
  await page.getByLabel("Sorted by").selectOption("balance");
  await page.getByRole("button", { name: "Show" }).click();
  await page.getByText("Clicked").waitFor({ state: "detached" });
  await check(page, "accounts that were searched");
  await page.getByRole("link", { name: "Research agent" }).click();
  await tab(page, "Settings");
  await page.getByRole("link", { name: "Audit log" }).click();
  await page.getByText("create account").waitFor();
  // Give an account a tag, and change whatever has it.
  await page.goto(`/dashboard/accounts/${env.PURSER_ACCOUNT}/settings`);
  await page.getByLabel("Tags, with blanks between them").fill("fleet");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("The tags are saved.").waitFor();
  await page.goto("/dashboard/accounts?search=fleet");
  await page.getByRole("link", { name: "Change many" }).click();
  // Another cap each time this is run.
  await page.getByLabel("Daily limit (USDC)").fill(String(100_000 + (Date.now() % 100_000)));
  await page.getByRole("button", { name: "Show what changes" }).click();
  await page.getByRole("button", { name: "Change 1 account" }).click();
  await page.getByRole("heading", { name: "What became of them" }).waitFor();
  await check(page, "many that were changed");
  // Pause many and halt them.
  const tag = made.withoutScripts ? "without-scripts" : "with-scripts";
  for (const [what, button] of [["Pause", "Change 2 accounts"], ["Halt, which only the admin's wallet ends", "Halt 2 accounts"]]) {
    await page.goto("/dashboard/accounts/change");
    await page.getByLabel("Tag", { exact: true }).fill(tag);
    await page.getByLabel(what, { exact: true }).check();
    await page.getByRole("button", { name: "Show what changes" }).click();
    await page.getByRole("button", { name: button }).click();
    await page.getByText("2 of 2 changed").waitFor();
    await check(page, `many: ${what}`);
  }
  await page.goto(`/dashboard/accounts?search=${tag}`);
  if (await page.locator("td .tag", { hasText: "halted" }).count() !== 2) note("not both of many accounts are halted");
  // Who spent the most, and what all of them paid, as a file.
  await page.getByRole("link", { name: "Accounts", exact: true }).first().click();
  await page.getByLabel("Sorted by").selectOption("spent");
  await page.getByRole("button", { name: "Show" }).click();
  await page.waitForURL(/sort=spent/);
  const most = await page.locator("tbody th").first().innerText();
  if (!most.includes("Research agent")) note(`most was spent by ${most}`);
  await page.getByRole("link", { name: "Export" }).click();
  await page.getByLabel("After (UTC)").fill("2020-01-01T00:00");
  const histories = await downloaded(page, page.getByRole("button", { name: "Export as CSV" }));
  for (const memo of ["hotel, two nights", "flight", "refund"]) {
    if (!histories.includes(memo)) note(`the file of all histories lacks ${memo}`);
  }
  if (histories.includes("printer")) note("the file of all histories has what waits for a person");
  // A budget gets other caps, another each time this is run.
  await page.getByRole("link", { name: "Accounts", exact: true }).first().click();
  await page.getByRole("link", { name: "Budgets" }).click();
  await page.getByRole("link", { name: "Budget 1" }).click();
  await page.getByText("Travel bookings").waitFor();
  await page.getByLabel("Daily limit (USDC)").fill(String(100_000 + (Date.now() % 100_000)));
  await page.getByRole("button", { name: "Show what changes" }).click();
  await page.getByRole("button", { name: "Change it" }).click();
  await page.getByText("The caps are in force, on the chain.").waitFor();
  await check(page, "a budget that was changed");
  // Say no to a payment that waits, found by its account's name.
  await page.getByRole("link", { name: /^Approvals/ }).first().click();
  await page.getByLabel("From account").fill("travel BOOKINGS");
  await page.getByLabel("State").selectOption("pending");
  await page.getByRole("button", { name: "Show" }).click();
  await page.waitForURL(/state=pending/);
  await page.locator("tbody th a").first().click();
  await page.getByRole("heading", { name: "25.00 USDC" }).waitFor();
  await page.getByRole("button", { name: "Reject" }).click();
  await page.getByText("The payment was rejected.").waitFor();
  await check(page, "a rejected approval");
  // A name that is that of several.
  await page.getByRole("link", { name: "Transfers", exact: true }).first().click();
  await page.getByLabel("From account").fill("night shift");
  await page.getByRole("button", { name: "Show" }).click();
  await page.getByText("4 accounts could be").waitFor();
  await check(page, "which account");
  await page.getByRole("link", { name: "Night shift" }).first().click();
  await page.getByText("No transfer matches").waitFor();
  // Make an operator's key and revoke it.
  await page.getByRole("link", { name: "Keys", exact: true }).click();
  await page.getByLabel("Name", { exact: true }).fill("clicked key");
  await page.getByRole("checkbox", { name: "read", exact: true }).check();
  await page.getByRole("button", { name: "Make a key" }).click();
  await page.getByRole("heading", { name: "New operator key" }).waitFor();
  await check(page, "a new operator key");
  await page.getByRole("link", { name: "I have kept it" }).click();
  const clickedKey = page.locator("tbody tr", { hasText: "clicked key" }).first();
  await clickedKey.getByRole("button", { name: /^Revoke/ }).click();
  await page.getByText("The key is revoked.").waitFor();
  await clickedKey.getByText("revoked").first().waitFor();
  // All that is on record of it, with the request that did it.
  await page.getByRole("link", { name: "Actions", exact: true }).click();
  await page.locator("tbody tr", { hasText: "revoke key" }).first().getByText(/^req_/).waitFor();
  const record = await downloaded(page, page.getByRole("link", { name: "CSV", exact: true }));
  if (!record.includes("revoke_key")) note("the record lacks a key that was revoked");
  // End whoever else is signed in with this key.
  const other = await (await context(wide)).newPage();
  await signIn(other);
  await page.getByRole("link", { name: "Keys", exact: true }).click();
  await page.getByText("this one").waitFor();
  await check(page, "sessions");
  await page.getByRole("button", { name: "End all others of this key" }).click();
  await page.getByText("is signed out").waitFor();
  await other.goto("/dashboard");
  await other.getByRole("heading", { name: "Sign in" }).waitFor();
  await other.context().close();
  // Sign out.
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await page.goto("/dashboard");
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await made.close();
}

// A looser policy is pending, and is cancelled.
async function loosening() {
  const made = await context(wide);
  const page = await made.newPage();
  await signIn(page, env.PURSER_SLOW_OPERATOR_KEY);
  await page.goto(`/dashboard/accounts/${env.PURSER_SLOW_ACCOUNT}/policy`);
  await page.getByLabel("Limit per payment (USDC)").fill("50");
  await page.getByRole("button", { name: "Show what changes" }).click();
  await page.getByText("It takes effect 2 hours after you confirm it").waitFor();
  await page.getByRole("button", { name: "Change it" }).click();
  await page.getByText("A looser policy waits").waitFor();
  await page.getByRole("button", { name: "Drop the pending policy" }).click();
  await page.getByText("A looser policy waits").waitFor({ state: "detached" });
  // That of another account, from the list of all.
  await page.getByRole("link", { name: /^Approvals/ }).first().click();
  await page.getByRole("link", { name: "Looser policies" }).click();
  await page.getByRole("button", { name: "Drop the policy that waits for Waits already" }).click();
  await page.getByText("No policy waits.").waitFor();
  await made.close();
}

// The second page of the accounts, which has the oldest.
async function pages() {
  const made = await context(wide);
  const page = await made.newPage();
  await signIn(page, env.PURSER_SLOW_OPERATOR_KEY);
  await page.getByRole("link", { name: "Accounts", exact: true }).click();
  if (await page.getByText("Waits already").count()) note("the oldest accounts are on the first page");
  await page.getByRole("link", { name: "Page 2" }).click();
  await page.getByText("Waits already").waitFor();
  if (await page.locator("nav[aria-label=Pages] a[aria-current=true]").innerText() !== "2") note("the page is not the second");
  await check(page, "the second page of accounts");
  await made.close();
}

// Presses Tab until the element with this name has the focus, which must then be visible.
async function tabTo(page, name) {
  for (let presses = 0; presses < 120; presses += 1) {
    await page.keyboard.press("Tab");
    const [called, isSeen] = await page.evaluate(() => {
      const one = document.activeElement;
      const style = getComputedStyle(one);
      return [one.labels?.[0]?.textContent ?? one.textContent, style.outlineStyle !== "none" || style.boxShadow !== "none"];
    });
    if (!isSeen && called !== "") note(`the focus on ${called.trim().slice(0, 40)} is not seen`);
    if (called.trim() === name) return;
  }
  throw new Error(`no way to ${name} by keyboard`);
}

// From the sign-in to halting one account, without a pointer.
async function keyboard() {
  const made = await context(wide);
  const page = await made.newPage();
  await page.goto("/dashboard");
  await tabTo(page, "Operator key");
  await page.keyboard.insertText(env.PURSER_OPERATOR_KEY);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Home" }).waitFor();
  await tabTo(page, "Skip to content");
  await page.keyboard.press("Enter");
  await tabTo(page, "Stop all\u2026");
  await tabTo(page, "All accounts");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Accounts" }).waitFor();
  await tabTo(page, "New account");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "New account" }).waitFor();
  for (const limit of ["Limit per payment (USDC)", "Daily limit (USDC)"]) {
    await tabTo(page, limit);
    await page.keyboard.insertText("none");
  }
  await tabTo(page, "Anyone");
  await page.keyboard.press("Space");
  await tabTo(page, "Name");
  await page.keyboard.insertText("Typed");
  await page.keyboard.press("Enter");
  await page.getByText("The account is on the chain.").waitFor();
  await tabTo(page, "Change the policy");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Change the policy" }).waitFor();
  await tabTo(page, "Daily limit (USDC)");
  await page.keyboard.insertText("3");
  await tabTo(page, "Anyone");
  await page.keyboard.press("ArrowDown");
  await tabTo(page, "Accounts and addresses, one on each line");
  await page.keyboard.insertText(env.PURSER_ACCOUNT);
  await tabTo(page, "Show what changes");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "What this changes" }).waitFor();
  await tabTo(page, "Change it");
  await page.keyboard.press("Enter");
  await page.getByText("The policy is in force, on the chain.").waitFor();
  await tabTo(page, "Settings");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Halt" }).waitFor();
  await tabTo(page, "Halt\u2026");
  await page.keyboard.press("Enter");
  await tabTo(page, "Halt the account");
  await page.keyboard.press("Enter");
  await page.getByText("halted by the policy authority").first().waitFor();
  await made.close();
}

async function stopAll() {
  const made = await context({ viewport: { width: 1280, height: 900 } });
  const page = await made.newPage();
  await signIn(page);
  await page.getByRole("link", { name: "Stop all" }).click();
  await page.getByRole("button", { name: /^Stop \d+ accounts$/ }).click();
  await page.getByText("Every account is halted").waitFor();
  await check(page, "all stopped");
  if (env.PURSER_SHOTS) await page.screenshot({ path: join(env.PURSER_SHOTS, "all-stopped.png"), fullPage: true });
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
  ["a loosening", loosening],
  ["pages of accounts", pages],
  ["keyboard alone", keyboard],
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
