// Deliveries that are ours and those that are not.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";

import { NotVerified, verify } from "../src/index.ts";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=";
const OTHER = `whsec_${Buffer.from("another secret of 32 bytes......").toString("base64")}`;
const BODY = '{"id":"evt_1","type":"transfer.settled","created_at":"2026-01-01T00:00:00.000000Z","data":{"memo":"café"}}';
const NOW = 1_767_225_600;

function stamped(secret: string): string {
  const key = Buffer.from(secret.slice(6), "base64");
  return `v1,${createHmac("sha256", key).update(`evt_1.${NOW}.${BODY}`).digest("base64")}`;
}

function signed(secret: string): string {
  return createHmac("sha256", secret).update(BODY).digest("hex");
}

function delivery(): Record<string, string> {
  return {
    "Webhook-Id": "evt_1",
    "webhook-timestamp": `${NOW}`,
    "webhook-signature": stamped(SECRET),
    "X-Service-Signature": signed(SECRET),
  };
}

test("delivery is the event, however its body and headers are held", async () => {
  for (const body of [BODY, Buffer.from(BODY), new Uint8Array(Buffer.from(BODY)).buffer]) {
    for (const headers of [delivery(), new Headers(delivery())]) {
      const event = await verify(body, headers, SECRET, { now: NOW + 299 });
      assert.deepEqual([event.id, event.type, event.data], ["evt_1", "transfer.settled", { memo: "café" }]);
    }
  }
});

test("other bodies, secrets and times are refused", async () => {
  const cases: [string, Record<string, string>, string, number][] = [
    [`${BODY} `, delivery(), SECRET, NOW],
    [BODY, delivery(), OTHER, NOW],
    [BODY, delivery(), SECRET, NOW + 301],
    [BODY, delivery(), SECRET, NOW - 301],
    [BODY, { ...delivery(), "webhook-timestamp": `${NOW + 1}` }, SECRET, NOW],
    [BODY, { ...delivery(), "webhook-signature": "v1,é v2,x" }, SECRET, NOW],
    [BODY, {}, SECRET, NOW],
    [BODY, delivery(), "not base64 !", NOW],
  ];
  for (const [body, headers, secret, now] of cases) {
    await assert.rejects(verify(body, headers, secret, { now }), NotVerified);
  }
});

test("recorded delivery without its time is refused", async () => {
  const headers = { "x-service-signature": signed(SECRET) };
  await assert.rejects(verify(BODY, headers, SECRET), NotVerified);
  assert.equal((await verify(BODY, headers, SECRET, { toleranceSeconds: null })).id, "evt_1");
  const theirs = { "x-service-signature": signed(OTHER) };
  await assert.rejects(verify(BODY, theirs, SECRET, { toleranceSeconds: null }), NotVerified);
});

test("during a rotation either secret will do", async () => {
  const headers = { ...delivery(), "webhook-signature": `${stamped(OTHER)} ${stamped(SECRET)}` };
  for (const secret of [SECRET, OTHER, [OTHER, SECRET]]) {
    assert.equal((await verify(BODY, headers, secret, { now: NOW })).id, "evt_1");
  }
  const previous = { "X-Service-Signature": signed(OTHER), "X-Service-Signature-Previous": signed(SECRET) };
  assert.equal((await verify(BODY, previous, SECRET, { toleranceSeconds: null })).id, "evt_1");
});

test("parsed body and empty secret are mistakes", async () => {
  await assert.rejects(verify(JSON.parse(BODY), delivery(), SECRET), TypeError);
  for (const secret of ["", [], ["", SECRET]]) await assert.rejects(verify(BODY, delivery(), secret), TypeError);
});
