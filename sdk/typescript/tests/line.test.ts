// What the client makes of answers that are not the service's, and how it reaches it, over real connections.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";

import { ApiError, type Payment, Purser, Unreachable } from "../src/index.ts";
import { CERTIFICATE, drips, floods, isLost, OTHERS, says, Service, type Trouble } from "./service.ts";

/** Pauses pass at once, all else takes its time. */
class Clock {
  #slept = 0;
  now = () => Date.now() + this.#slept;
  random = () => Math.random();
  sleep = async (ms: number) => void (this.#slept += ms);
}

async function pays(service: Service, deadlineMs = 30_000, idempotencyKey = "invoice"): Promise<Payment> {
  const agent = new Purser({ url: service.url, key: "psr_ag_1", account: "acct_1", deadlineMs, clock: new Clock() });
  return agent.pay({ to: "acct_2", amountUsdc: "0.25", idempotencyKey });
}

async function behind(troubles: Trouble[], then: (service: Service) => Promise<void>, isTls = false): Promise<void> {
  const service = await new Service(troubles, isTls).begins();
  try {
    await then(service);
  } finally {
    service.ends();
  }
}

test("each call is one request", async () => {
  await behind([], async (service) => {
    for (let number = 0; number < 20; number += 1) {
      assert.equal((await pays(service, 30_000, `invoice-${number}`)).replayed, false);
    }
    assert.equal(service.requests.length, 20);
  });
});

for (const [kind, trouble] of Object.entries(OTHERS)) {
  test(`what others answer is asked again: ${kind}`, async () => {
    await behind([isLost, trouble], async (service) => {
      const { signature, idempotencyKey } = await pays(service);
      assert.deepEqual([signature, idempotencyKey, service.requests.length], ["sig_invoice", "invoice", 3]);
    });
  });

  test(`what others answer is unreachable in the end: ${kind}`, async () => {
    await behind(Array<Trouble>(50).fill(trouble), async (service) => assert.rejects(pays(service), Unreachable));
  });
}

test("errors of the service are decided", async () => {
  const refusal = '{"error":"policy_violation","message":"No.","request_id":"req_1"}';
  await behind([says(402, refusal)], async (service) => assert.rejects(pays(service), ApiError));
});

const HEAD = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";

test("answers that never end are given up", async () => {
  const dripping = {
    status: drips("HTTP/1.1 ", "2"),
    head: drips(HEAD, "x-more: 1\r\n"),
    continues: drips("", "HTTP/1.1 100 Continue\r\n\r\n"),
    body: drips(`${HEAD}content-length: 9000\r\n\r\n`, " "),
    chunks: drips(`${HEAD}transfer-encoding: chunked\r\n\r\n`, "1\r\n \r\n"),
    "all of it": drips(`${HEAD}\r\n`, " "),
  };
  const took = Object.entries(dripping).map(async ([kind, trouble]) => {
    const began = Date.now();
    await behind(Array<Trouble>(9).fill(trouble), async (service) => assert.rejects(pays(service, 1_500), Unreachable, kind));
    assert.ok(Date.now() - began < 8_000, kind);
  });
  await Promise.all(took);
});

test("answers are read up to a bound", async () => {
  const piece = " ".repeat(100_000);
  const long = {
    length: floods(`${HEAD}content-length: 80000000\r\n\r\n`, piece),
    chunks: floods(`${HEAD}transfer-encoding: chunked\r\n\r\n`, `${piece.length.toString(16)}\r\n${piece}\r\n`),
    "one chunk": floods(`${HEAD}transfer-encoding: chunked\r\n\r\n4c4b400\r\n`, piece),
    "until the end": floods(`${HEAD}\r\n`, piece),
    headers: floods(HEAD, "x: 1\r\n".repeat(1_000)),
  };
  for (const [kind, trouble] of Object.entries(long)) {
    await behind([trouble], async (service) => {
      assert.equal((await pays(service)).signature, "sig_invoice", kind);
      // What the systems on both sides hold comes on top.
      assert.ok(service.flooded < 40_000_000, `${kind}: ${service.flooded}`);
    });
  }
});

/** What a program prints that pays `https://purser.test` in this environment. */
async function prints(url: string, environment: Record<string, string>, flags: string[] = []): Promise<string> {
  const program = new URL("pays.ts", import.meta.url).pathname;
  const env = { PATH: process.env["PATH"] ?? "", PURSER_URL: url, NODE_NO_WARNINGS: "1", ...environment };
  return new Promise((resolve) => {
    execFile(process.execPath, [...flags, program], { env, timeout: 20_000 }, (_, out, complaint) => resolve(out + complaint));
  });
}

test("proxy of the environment is used, or named at once", async () => {
  await behind([], async (proxy) => {
    const environment = { HTTPS_PROXY: proxy.url, NODE_EXTRA_CA_CERTS: CERTIFICATE };
    assert.match(await prints("https://purser.test", environment), /HTTPS_PROXY is set.*NODE_USE_ENV_PROXY/);
    assert.match(await prints("http://purser.test", { http_proxy: proxy.url }), /HTTP_PROXY is set/);
    assert.deepEqual(proxy.requests, []);
    assert.equal(await prints("https://purser.test", { ...environment, NODE_USE_ENV_PROXY: "1" }), "sig_invoice\n");
    assert.equal(proxy.requests[0], "CONNECT purser.test:443 HTTP/1.1");
  }, true);
});

test("hosts that need no proxy are reached directly", async () => {
  await behind([], async (service) => {
    assert.equal(await prints(service.url, { HTTP_PROXY: "http://127.0.0.1:1" }), "sig_invoice\n");
    const reached = ["purser.test", ".test", "other, *.test", "purser.test:443", "*"].map(async (excepted) => {
      const environment = { HTTPS_PROXY: "http://127.0.0.1:1", NO_PROXY: excepted };
      assert.match(await prints("https://purser.test", environment), /Unreachable/, excepted);
    });
    await Promise.all(reached);
    const other = { HTTPS_PROXY: "http://127.0.0.1:1", NO_PROXY: "er.test,purser.test:81" };
    assert.match(await prints("https://purser.test", other), /HTTPS_PROXY is set/);
  });
});

test("certificate that is not trusted ends the call at once, and SSL_CERT_FILE is used with Node's flag", async () => {
  await behind([], async (proxy) => {
    const environment = { HTTPS_PROXY: proxy.url, NODE_USE_ENV_PROXY: "1", SSL_CERT_FILE: CERTIFICATE };
    const refused = await prints("https://purser.test", environment);
    assert.match(refused, /Unreachable: no final answer in 3000 ms and 1 attempts: .*SSL_CERT_FILE/);
    assert.equal(await prints("https://purser.test", environment, ["--use-openssl-ca"]), "sig_invoice\n");
  }, true);
});
