// A service that answers from a script, and a clock that does not wait.

import { type Clock, Purser } from "../src/index.ts";

export const SETTLED = {
  transfer_id: "txn_1",
  status: "settled",
  from: "acct_1",
  to: "acct_2",
  amount_usdc: "0.250000",
  memo: null,
  idempotency_key: "invoice",
  tx_signature: "sig",
  created_at: "2026-01-31T12:00:00.000000Z",
  settled_at: "2026-01-31T12:00:01.000000Z",
};

export function answer(status: number, body: unknown, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json", ...headers } });
}

export function refusal(status: number, code: string, fields = {}, headers: Record<string, string> = {}): Response {
  return answer(status, { error: code, message: "So it is.", request_id: "req_1", ...fields }, headers);
}

export interface Asked {
  url: string;
  headers: Record<string, string>;
  body: string | undefined;
}

/** Answers one after the other, and the last one for ever. */
export class Script implements Clock {
  readonly asked: Asked[] = [];
  readonly slept: number[] = [];
  readonly purser: Purser;
  #answers: (Response | Error)[];
  #now = 0;

  constructor(answers: (Response | Error)[], deadlineMs = 120_000, account: string | null = "acct_1") {
    this.#answers = answers;
    const fetch = async (url: unknown, init?: RequestInit): Promise<Response> => {
      const { headers, body } = init ?? {};
      this.asked.push({ url: String(url), headers: headers as Record<string, string>, body: body as string | undefined });
      const [one] = this.#answers.length > 1 ? this.#answers.splice(0, 1) : this.#answers;
      if (one instanceof Error) throw one;
      return (one as Response).clone();
    };
    const options = { url: "http://purser.test", key: "psr_ag_1", deadlineMs, fetch, clock: this };
    this.purser = new Purser(account === null ? options : { ...options, account });
  }

  pays(more: { approval?: "request" } = {}) {
    return this.purser.pay({ to: "acct_2", amountUsdc: "0.25", idempotencyKey: "invoice", ...more });
  }

  bodies(): unknown[] {
    return this.asked.map(({ body }) => JSON.parse(body ?? "null"));
  }

  get time(): number {
    return this.#now;
  }

  now(): number {
    return this.#now;
  }

  random(): number {
    return 0.5;
  }

  async sleep(ms: number): Promise<void> {
    this.slept.push(ms);
    this.#now += ms;
  }
}
