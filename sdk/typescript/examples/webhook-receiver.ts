// A webhook receiver: prints each event once, and refuses what is not signed.
//
// PURSER_WEBHOOK_SECRET=whsec_... node webhook-receiver.ts 3000

import { createServer } from "node:http";

import { type Event, NotVerified, verify } from "purser-pay";

const secret = process.env["PURSER_WEBHOOK_SECRET"] ?? "";
const seen = new Set<string>(); // a unique column of your database

function work(event: Event): void {
  if (seen.has(event.id)) return;
  seen.add(event.id);
  console.log(event.type, JSON.stringify(event.data));
}

createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  try {
    const event = await verify(Buffer.concat(chunks), request.headers, secret);
    // First store it durably, if you must not lose it after saying that you have it.
    response.writeHead(204).end();
    setImmediate(work, event);
  } catch (error) {
    response.writeHead(error instanceof NotVerified ? 401 : 500).end();
  }
}).listen(Number(process.argv[2]), "127.0.0.1");
