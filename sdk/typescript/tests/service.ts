// A service on loopback that pays each name once, behind somebody who spoils its answers.

import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { createSecureContext, TLSSocket } from "node:tls";

/** For `purser.test`, by itself. Its key is no secret. */
export const CERTIFICATE = new URL("certificate.pem", import.meta.url).pathname;

/** What becomes of an answer that the service wrote. */
export type Trouble = (connection: Socket, answer: string, service: Service) => void;

function message(status: number, body: string, kind = "application/json", more = ""): string {
  return `HTTP/1.1 ${status} So\r\ncontent-type: ${kind}\r\ncontent-length: ${body.length}\r\n${more}\r\n${body}`;
}

/** Somebody on the way answers. */
export function says(status: number, body: string, kind?: string): Trouble {
  return (connection) => void connection.end(message(status, body, kind));
}

export const isLost: Trouble = (connection) => void connection.destroy();

/** Bytes come so that no read waits for long, and never end. */
export function drips(beginning: string, piece: string): Trouble {
  return (connection) => {
    connection.write(beginning);
    const timer = setInterval(() => connection.write(piece), 50);
    connection.on("close", () => clearInterval(timer));
  };
}

/** 80 MB come. */
export function floods(head: string, piece: string): Trouble {
  return (connection, _, service) => {
    connection.write(head);
    let left = 80_000_000;
    const more = () => {
      while (left > 0 && !connection.destroyed) {
        left -= piece.length;
        service.flooded += piece.length;
        if (!connection.write(piece)) return void connection.once("drain", more);
      }
      connection.end();
    };
    more();
  };
}

const REFUSED = '{"error":"policy_violation","message":"No.","request_id":"req_1"}';

export const OTHERS: Record<string, Trouble> = {
  "gateway 403": says(403, "<html>Forbidden</html>", "text/html"),
  "gateway 404": says(404, "<html>Not found</html>", "text/html"),
  "gateway 413": says(413, "<html>Too large</html>", "text/html"),
  "gateway 403 in JSON": says(403, '{"message":"Forbidden"}'),
  "gateway 401 without an id": says(401, '{"error":"unauthorized","message":"No."}'),
  "gateway 402 in text": says(402, REFUSED, "text/plain"),
  redirect: says(302, "", "text/html"),
  page: says(200, "<html>Sign in</html>", "text/html"),
  "empty object": says(200, "{}"),
  list: says(200, "[]"),
  null: says(200, "null"),
  "no content": (connection) => void connection.end("HTTP/1.1 204 No Content\r\n\r\n"),
  "accepted without a word": says(202, "{}"),
  "error with 200": says(200, REFUSED),
  "not a number": says(200, '{"transfer_id":NaN}'),
  deep: says(200, `{"a":${"[".repeat(200_000)}`),
  "text without end": says(200, `{"a":"${'\\"'.repeat(200_000)}`),
  "checks are a number": says(402, REFUSED.replace("}", ',"checks":7}')),
  lost: isLost,
  cut: (connection, answer) => void connection.end(answer.slice(0, -20)),
  "of another name": (connection) => void connection.end(message(200, JSON.stringify(payment("another")))),
};

function payment(name: string) {
  return {
    transfer_id: `txn_${name}`,
    status: "settled",
    from: "acct_1",
    to: "acct_2",
    amount_usdc: "0.250000",
    memo: null,
    idempotency_key: name,
    tx_signature: `sig_${name}`,
    created_at: "2026-01-31T12:00:00.000000Z",
    settled_at: "2026-01-31T12:00:01.000000Z",
  };
}

export class Service {
  /** The first lines of all requests. */
  readonly requests: string[] = [];
  readonly paid = new Set<string>();
  flooded = 0;
  /** One for each request; later ones are answered. */
  #troubles: Trouble[];
  readonly #isTls: boolean;
  readonly #server: Server;
  readonly #open = new Set<Socket>();

  constructor(troubles: Trouble[] = [], isTls = false) {
    this.#troubles = [...troubles];
    this.#isTls = isTls;
    this.#server = createServer((connection) => {
      this.#open.add(connection);
      this.#serves(connection);
    });
  }

  async begins(): Promise<this> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return this;
  }

  ends(): void {
    this.#server.close();
    for (const connection of this.#open) connection.destroy();
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  #serves(connection: Socket): void {
    let read = "";
    connection.on("error", () => {});
    connection.on("data", (piece: Buffer) => {
      read += piece.toString("latin1");
      const head = read.indexOf("\r\n\r\n");
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(read)?.[1] ?? 0);
      if (head < 0 || read.length < head + 4 + length) return;
      const body = read.slice(head + 4);
      const line = read.slice(0, read.indexOf("\r\n"));
      read = "";
      this.requests.push(line);
      if (line.startsWith("CONNECT")) {
        connection.removeAllListeners("data");
        connection.write("HTTP/1.1 200 Connected\r\n\r\n");
        const pem = readFileSync(CERTIFICATE);
        const secureContext = createSecureContext({ key: pem, cert: pem });
        if (this.#isTls) this.#serves(new TLSSocket(connection, { isServer: true, secureContext }));
        else this.#serves(connection);
        return;
      }
      const name = (JSON.parse(body) as { idempotency_key: string }).idempotency_key;
      const replayed = this.paid.has(name) ? "idempotent-replayed: true\r\n" : "";
      this.paid.add(name);
      const answer = message(200, JSON.stringify(payment(name)), "application/json", replayed);
      const trouble = this.#troubles.shift();
      if (trouble === undefined) connection.write(answer);
      else trouble(connection, answer, this);
    });
  }
}
