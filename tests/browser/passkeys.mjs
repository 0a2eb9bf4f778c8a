// A passkey in a real browser, on an authenticator that the browser makes up: it is added, signs in, and is removed. Prints each step.
// A violation of axe-core, an error or an outside request ends the run. See tests/it/passkeys.rs.

import { readFileSync } from "node:fs";
import { join } from "node:path";

const { env } = process;
const { chromium } = await import(`${env.PURSER_NODE_MODULES}/playwright-core/index.mjs`);
const axe = readFileSync(`${env.PURSER_NODE_MODULES}/axe-core/axe.min.js`, "utf8");
const browser = await chromium.launch({ executablePath: env.PURSER_CHROMIUM, args: ["--no-sandbox"] });
setTimeout(() => { console.log("WRONG it did not come to its end"); process.exit(1); }, 100_000).unref();
const wrong = [];
const note = (what) => wrong.push(what);

const context = await browser.newContext({ baseURL: env.PURSER_SITE });
const page = await context.newPage();
page.setDefaultTimeout(30_000);
page.on("pageerror", (error) => note(`script: ${error}`));
page.on("console", (message) => message.type() === "error" && !/status of 40[01]/.test(message.text()) && note(`console: ${message.text()}`));
page.on("request", (request) => request.url().startsWith(env.PURSER_SITE) || note(`asks elsewhere: ${request.url()}`));

process.on("uncaughtException", async (error) => {
  console.log(`WRONG ${error.message}, at ${page.url()}: ${await page.locator("main").innerText().catch(() => "no page")}`);
  for (const what of wrong) console.log(`WRONG ${what}`);
  process.exit(1);
});

// The page as it is, at both widths, light and dark.
async function look(name) {
  for (const [mode, width, colorScheme] of [["wide", 1280, "light"], ["narrow", 390, "dark"]]) {
    await page.setViewportSize({ width, height: 844 });
    await page.emulateMedia({ colorScheme });
    await devices.send("Runtime.evaluate", { expression: axe });
    const found = await devices.send("Runtime.evaluate", {
      expression: "axe.run().then((found) => JSON.stringify(found.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.target.join(' ')).join(', ')}`)))",
      awaitPromise: true,
      returnByValue: true,
    });
    for (const violation of JSON.parse(found.result.value)) note(`axe, ${name}, ${mode}: ${violation}`);
    if (await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth)) note(`${name} is too wide at ${width}`);
    if (env.PURSER_SHOTS) await page.screenshot({ path: join(env.PURSER_SHOTS, `passkeys-${name}-${mode}.png`), fullPage: true });
  }
}

// Authenticators go with a session of the debugging protocol, and any other that ends takes them away.
const devices = await context.newCDPSession(page);
await devices.send("WebAuthn.enable");
const options = { protocol: "ctap2", transport: "internal", hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true };
const { authenticatorId } = await devices.send("WebAuthn.addVirtualAuthenticator", { options });

await page.goto("/dashboard/sign-in");
await look("sign-in");
await page.getByLabel("Operator key").fill(env.PURSER_OPERATOR_KEY);
await page.getByRole("button", { name: "Sign in" }).click();
await page.getByRole("heading", { name: "Home" }).waitFor();
await page.goto("/dashboard/keys");
await page.getByRole("link", { name: "Add a passkey" }).click();
await look("add");
await page.getByLabel("Name").fill("Ada's laptop");
await page.getByRole("button", { name: "Make a passkey" }).click();
await page.getByText("The passkey signs in from now on.").waitFor();
await look("keys");
const made = await devices.send("WebAuthn.getCredentials", { authenticatorId });
if (made.credentials.length !== 1 || !made.credentials[0].isResidentCredential) note(`made: ${JSON.stringify(made)}`);
console.log("a passkey is added");

await page.goto("/dashboard/passkeys");
await page.getByLabel("Name").fill("the same device");
await page.getByRole("button", { name: "Make a passkey" }).click();
await page.getByText("This device has a passkey for this key already.").waitFor();
console.log("a device makes one for each key");

await page.getByRole("button", { name: "Sign out" }).click();
await page.getByRole("heading", { name: "Sign in" }).waitFor();
await page.goto("/dashboard/webhooks");
await page.getByRole("link", { name: "Sign in with a passkey" }).click();
await page.getByRole("heading", { name: "Webhooks" }).waitFor();
console.log("it signs in, and leads to where somebody wanted to go");

// Nobody there: the person is told, and the button asks again.
await page.getByRole("button", { name: "Sign out" }).click();
await devices.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified: false });
await page.getByRole("link", { name: "Sign in with a passkey" }).click();
await page.getByText("No passkey was used").waitFor();
await look("not-used");
await devices.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified: true });
await page.getByRole("button", { name: "Use a passkey" }).click();
await page.getByRole("heading", { name: "Home" }).waitFor();
console.log("who is not verified does not sign in");

await page.goto("/dashboard/keys");
const session = (await context.cookies()).find(({ name }) => name === "purser");
await page.getByRole("button", { name: "Remove Ada's laptop" }).click();
// The session was the passkey's, and ends with it.
await page.getByRole("heading", { name: "Sign in" }).waitFor();
await context.addCookies([session]);
await page.goto("/dashboard");
await page.getByRole("link", { name: "Sign in with a passkey" }).click();
await page.getByText("This passkey is not valid").waitFor();
await look("refused");
console.log("once removed, it does not sign in, nor does its session go on");

await browser.close();
for (const what of wrong) console.log(`WRONG ${what}`);
process.exit(wrong.length === 0 ? 0 : 1);
