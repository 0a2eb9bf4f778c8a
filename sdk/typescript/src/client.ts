// An agent that pays, or an operator that keeps accounts.

import { ask, BULK_BYTES_MAX, type Call, distrust, type Line, messages, once, type Query, type Reads } from "./call.ts";
import { ApiError, read, TooManyRequests, Unreachable, Unreadable } from "./errors.ts";
import { type Event, eventOf } from "./events.ts";
import { type Amount, amountText, readJson, usdcText } from "./money.ts";
import { environment, checkProxy } from "./environment.ts";
import { type IdempotencyKey, keyOfPayment, type OwnIdempotencyKey, ownKey, renamed } from "./renamed.ts";
import { type Clock, isAskedAgain, pause, SYSTEM_CLOCK } from "./retry.ts";
import { type Answers, LIMITS } from "./shapes.ts";
import type * as types from "./types.ts";

export interface Options {
  /** The service's address (default: `PURSER_URL`). */
  url?: string;
  /** An API key (default: `PURSER_AGENT_KEY`). `null` sends none: for a browser, whose requests a server of yours completes. */
  key?: string | null;
  /** The account that pays (default: `PURSER_ACCOUNT`, else the one that the agent key opens). */
  account?: string;
  /** A call gives up this many milliseconds after it began (default: 120,000). */
  deadlineMs?: number;
  /** In the place of the platform's `fetch`. */
  fetch?: typeof fetch;
  clock?: Clock;
}

/** Who is paid. */
export type Payee =
  /** An account's id, or the address of a USDC token account. */
  | { to: string; wallet?: undefined }
  /** The address of a wallet, whose USDC token account is paid. */
  | { wallet: string; to?: undefined };

export type PayOptions = Amount & IdempotencyKey & Payee & {
  memo?: string;
  account?: string;
  /** The payment that this one repeats on purpose, where the account refuses what looks like a duplicate. */
  duplicateOf?: string;
  /**
   * `request`: a payment that the policy refuses may wait for a person. It then comes back at once with `status`
   * `pending_approval` and the `approvalUrl` for that person. Call again with the same idempotency key to see how it ended.
   */
  approval?: types.ApprovalRequest;
  /**
   * Has the service create the USDC token account of a wallet that has none, if it may. It pays the rent, which belongs to the
   * payee from then on.
   */
  createTokenAccount?: boolean;
  signal?: AbortSignal;
};

/** A payment that is settled on the chain, or that waits for a person: then `status` is `pending_approval`. */
export interface Payment {
  transferId: string;
  idempotencyKey: string;
  /** @deprecated Use `idempotencyKey`. */
  name: string;
  /** The account that paid. */
  account: string;
  to: string;
  /** The wallet that was named as the payee; `to` is its USDC token account then. */
  toWallet: string | undefined;
  amountUsdc: string;
  /** @deprecated Use `amountUsdc`. */
  usdc: string;
  memo: string | null;
  /** Of the transaction on the chain. */
  signature: string | undefined;
  explorerUrl: string | undefined;
  settledAt: string | undefined;
  status: types.TransferStatus;
  /** The page for whoever approves it, if a person was asked. */
  approvalUrl: string | undefined;
  approvalExpiresAt: string | undefined;
  /**
   * Whether an earlier request with this idempotency key made it. An earlier attempt of the same call, whose answer was lost,
   * counts as one.
   */
  replayed: boolean;
}

/** Which accounts, in one way: `ids`, `versions`, `all`, or `tag`, `status` or both. */
export interface AccountSelection {
  ids?: string[];
  /** Each only while its policy has this version: what a dry run showed. */
  versions?: Record<string, number>;
  tag?: string;
  status?: types.ShownAccountStatus;
  all?: boolean;
}

export interface ChangeOptions {
  /** Why, for the list of versions. */
  reason?: string;
  /** The version that is to be changed, and no other. */
  version?: number;
}

/** An agent's account, or with an operator's API key all accounts of the operator. */
export class Purser {
  readonly transfers: Transfers;
  readonly history: History;
  readonly accounts: Accounts;
  readonly policy: Policies;
  readonly keys: Keys;
  readonly halts: Halts;
  readonly events: Events;
  readonly webhooks: Webhooks;
  readonly #line: Line;
  #account: string | undefined;

  constructor(options: Options = {}) {
    const url = (options.url ?? setting("PURSER_URL")).replace(/\/+$/, "");
    if (options.fetch === undefined) checkProxy(url);
    this.#line = {
      base: url.endsWith("/v1") ? url : `${url}/v1`,
      key: options.key === undefined ? setting("PURSER_AGENT_KEY") : options.key,
      deadlineMs: options.deadlineMs ?? 120_000,
      // Called as a function of its own: browsers refuse it as somebody's method.
      fetch: options.fetch ?? ((...request) => fetch(...request)),
      clock: options.clock ?? SYSTEM_CLOCK,
    };
    this.#account = options.account ?? (environment("PURSER_ACCOUNT") || undefined);
    this.transfers = new Transfers(this.#line);
    this.history = new History(this.#line, () => this.accountId());
    this.accounts = new Accounts(this.#line);
    this.policy = new Policies(this.#line);
    this.keys = new Keys(this.#line);
    this.halts = new Halts(this.#line);
    this.events = new Events(this.#line);
    this.webhooks = new Webhooks(this.#line);
  }

  /** The same with `PURSER_OPERATOR_KEY`. */
  static operator(options: Options = {}): Purser {
    return new Purser({ ...options, key: options.key === undefined ? setting("PURSER_OPERATOR_KEY") : options.key });
  }

  /** Pays once per `idempotencyKey`, and resolves when the chain has settled the payment. */
  async pay(options: PayOptions): Promise<Payment> {
    const idempotencyKey = keyOfPayment(options, "a payment");
    const amount = amountText(options);
    const to = payeeOf(options);
    const { memo, duplicateOf, approval, createTokenAccount, signal } = options;
    const from = options.account ?? (await this.accountId());
    const body = {
      from,
      to,
      amount,
      idempotency_key: idempotencyKey,
      memo,
      duplicate_of: duplicateOf,
      approval,
      create_token_account: createTokenAccount,
    };
    const call = { method: "POST", path: "/transfers", body, isAwaited: true, signal };
    const { value, replayed } = await ask(this.#line, call, transferWith("idempotency_key", idempotencyKey));
    return paymentOf(value, replayed);
  }

  /** How each rule would judge a payment now. Nothing happens. */
  async preview(
    options: Amount & Payee & Pick<PayOptions, "memo" | "account" | "createTokenAccount">,
  ): Promise<types.Preview> {
    const amount = amountText(options);
    const to = payeeOf(options);
    const { memo, createTokenAccount: create_token_account } = options;
    const from = options.account ?? (await this.accountId());
    const body = { from, to, amount, memo, create_token_account };
    return asked("Preview", this.#line, { method: "POST", path: "/transfers/preview", body });
  }

  /** Buys what a server sells by x402 for at most `maxUsdc`, once per `idempotencyKey`. */
  async buy(
    url: string,
    options: IdempotencyKey & { maxUsdc: string; method?: types.Method; body?: string; memo?: string; account?: string },
  ): Promise<types.X402Payment> {
    const idempotencyKey = keyOfPayment(options, "a purchase");
    const { method, body, memo } = options;
    const max_amount = usdcText(options.maxUsdc, "maxUsdc");
    const from = options.account ?? (await this.accountId());
    const sent = { from, url, max_amount, idempotency_key: idempotencyKey, method, body, memo };
    const reads = (json: unknown) => {
      const bought = read("X402Payment", json) as types.X402Payment;
      if (bought.transfer !== null) transferWith("idempotency_key", idempotencyKey)(bought.transfer);
      return bought;
    };
    return (await ask(this.#line, { method: "POST", path: "/x402/payments", body: sent, isAwaited: true }, reads)).value;
  }

  /** The account that pays: given, set by `PURSER_ACCOUNT`, or the one that the agent key opens. */
  async accountId(): Promise<string> {
    if (this.#account === undefined) {
      const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "get_account", arguments: {} } };
      const call = { method: "POST", path: this.#line.base.replace(/\/v1$/, "/mcp"), body };
      const { value } = await ask(this.#line, call, ownAccount);
      if (value === undefined) throw new TypeError("this API key opens no account by itself: say which one pays, account: ...");
      this.#account = value;
    }
    return this.#account;
  }

  /** The account that pays. */
  async account(): Promise<types.Account> {
    return this.accounts.get(await this.accountId());
  }

  async balance(): Promise<types.Balance> {
    return this.accounts.balance(await this.accountId());
  }

  /** Each limit, how much of it is used, and when it frees. */
  async limits(): Promise<types.Limits> {
    return this.accounts.limits(await this.accountId());
  }
}

class Transfers {
  readonly #line: Line;
  constructor(line: Line) {
    this.#line = line;
  }

  /** A transfer in any state. */
  get(transferId: string): Promise<types.Transfer> {
    return askedFor(this.#line, get(`/transfers/${encodeURIComponent(transferId)}`), transferWith("transfer_id", transferId));
  }

  /** Newest first. */
  list(
    filter: {
      account?: string;
      status?: types.TransferStatus;
      idempotencyKey?: string;
      /** @deprecated Use `idempotencyKey`. */
      name?: string;
      since?: Moment;
      until?: Moment;
    } = {},
  ): AsyncGenerator<types.Transfer> {
    const { account, status, since, until } = filter;
    const idempotency_key = renamed("idempotencyKey", filter.idempotencyKey, "name", filter.name);
    const query = { account_id: account, status, idempotency_key, since: text(since), until: text(until) };
    return listed(kind("Transfer"), this.#line, "/transfers", query);
  }
}

class History {
  readonly #line: Line;
  readonly #own: () => Promise<string>;
  constructor(line: Line, own: () => Promise<string>) {
    this.#line = line;
    this.#own = own;
  }

  /** What happened to the account's money, latest first. `since` and `until` are times of `visible_at`. */
  async *list(
    filter: { account?: string; status?: types.EntryStatus; type?: types.EntryKind; since?: Moment; until?: Moment } = {},
  ): AsyncGenerator<types.Entry> {
    const account = filter.account ?? (await this.#own());
    const query = { status: filter.status, type: filter.type, since: text(filter.since), until: text(filter.until) };
    yield* listed(kind("Entry"), this.#line, `/accounts/${encodeURIComponent(account)}/transactions`, query);
  }

  /**
   * Everything that happened, oldest first, and then what happens, without end.
   *
   * To go on after a stop, keep `visible_at` of the last entry that you worked on and give it as `since`: nothing is left out.
   * An entry can come again under its `id` when the chain took back a fork. While the service does not answer, it waits.
   */
  async *follow(
    options: { account?: string; since?: Moment; everyMs?: number; signal?: AbortSignal } = {},
  ): AsyncGenerator<types.Entry> {
    const { account, everyMs = 2_000, signal } = options;
    let since = options.since;
    for (;;) {
      const entries: types.Entry[] = [];
      const filter = { ...(account === undefined ? {} : { account }), ...(since === undefined ? {} : { since }) };
      try {
        for await (const entry of this.list(filter)) entries.unshift(entry);
      } catch (error) {
        if (!(error instanceof Unreachable || error instanceof TooManyRequests)) throw error;
        entries.length = 0;
      }
      for (const entry of entries) {
        yield entry;
        since = entry.visible_at;
      }
      signal?.throwIfAborted();
      await this.#line.clock.sleep(everyMs * (0.75 + this.#line.clock.random() / 2), signal);
    }
  }
}

class Accounts {
  readonly #line: Line;
  constructor(line: Line) {
    this.#line = line;
  }

  /** Creates an account with this policy. */
  create(
    name: string,
    options: OwnIdempotencyKey & { policy?: types.PolicyFields; metadata?: types.Metadata; tags?: string[] } = {},
  ): Promise<types.Account> {
    const policy = options.policy === undefined ? undefined : checked(options.policy);
    const body = { name, policy, metadata: options.metadata, tags: options.tags };
    return asked("Account", this.#line, once("/accounts", body, ownKey(options)));
  }

  get(account: string): Promise<types.Account> {
    return asked("Account", this.#line, get(path(account)));
  }

  /** Newest first. */
  list(filter: { status?: types.ShownAccountStatus; tag?: string } = {}): AsyncGenerator<types.Account> {
    return listed(kind("Account"), this.#line, "/accounts", { status: filter.status, tag: filter.tag });
  }

  /** Changes what is given; tags as a whole, metadata field by field: `null` as a value removes its field. */
  update(
    account: string,
    change: {
      name?: string;
      metadata?: types.Metadata;
      tags?: string[];
      duplicates?: types.DuplicateRule;
      approvals?: types.ApprovalRule;
      create_token_accounts?: boolean;
    },
  ): Promise<types.Account> {
    return asked("Account", this.#line, { method: "PATCH", path: path(account), body: change });
  }

  /** Live, from the chain. */
  balance(account: string): Promise<types.Balance> {
    return asked("Balance", this.#line, get(path(account, "/balance")));
  }

  limits(account: string): Promise<types.Limits> {
    return asked("Limits", this.#line, get(path(account, "/limits")));
  }
}

/** An account's policy: what leaves the account, by rules that the chain enforces. */
class Policies {
  readonly #line: Line;
  constructor(line: Line) {
    this.#line = line;
  }

  get(account: string): Promise<types.AccountPolicy> {
    return asked("AccountPolicy", this.#line, get(path(account, "/policy")));
  }

  /**
   * Changes what is given. Where the operator has a delay, what loosens the policy waits: `effective_at` of the answer says
   * until when.
   */
  update(
    account: string,
    change: types.PolicyChange & ChangeOptions,
  ): Promise<types.AccountPolicy> {
    return this.#change("PATCH", account, change);
  }

  /** Replaces the whole policy: what is left out is no limit. */
  replace(account: string, policy: types.PolicyFields & ChangeOptions): Promise<types.AccountPolicy> {
    // `paused` alone would change nothing else.
    return this.#change("PUT", account, { max_single_transfer: null, paused: false, ...policy });
  }

  /** Nothing leaves the account from now on. The rest of the policy stays. */
  pause(account: string): Promise<types.AccountPolicy> {
    return this.#change("PUT", account, { paused: true });
  }

  unpause(account: string): Promise<types.AccountPolicy> {
    return this.#change("PATCH", account, { paused: false });
  }

  /**
   * Changes the policy of each of these accounts: `{ tag: "eu" }`, `{ ids: [...] }`, `{ all: true }`. A dry run shows before and
   * after; its versions, given back as `{ versions: {...} }`, change exactly what was shown.
   */
  changeMany(
    accounts: AccountSelection,
    policy: types.PolicyChange & { reason?: string },
    options: OwnIdempotencyKey & { dryRun?: boolean } = {},
  ): Promise<types.ManyChanged> {
    const body = { accounts, policy: checked(policy), dry_run: options.dryRun ?? false };
    return asked("ManyChanged", this.#line, once("/bulk/policy", body, ownKey(options), BULK_BYTES_MAX));
  }

  /** Drops the policy that waits. */
  dropPending(account: string): Promise<types.AccountPolicy> {
    return asked("AccountPolicy", this.#line, { method: "DELETE", path: path(account, "/policy/pending") });
  }

  /** Every version, newest first. */
  versions(account: string): AsyncGenerator<types.PolicySet> {
    return listed(kind("PolicySet"), this.#line, path(account, "/policy/versions"));
  }

  #change(
    method: string,
    account: string,
    change: types.PolicyChange & ChangeOptions,
  ): Promise<types.AccountPolicy> {
    const { version, ...fields } = change;
    const headers: Record<string, string> = version === undefined ? {} : { "If-Match": `"${version}"` };
    return asked("AccountPolicy", this.#line, { method, path: path(account, "/policy"), body: checked(fields), headers });
  }
}

/** API keys of agents, each for one account. */
class Keys {
  readonly #line: Line;
  constructor(line: Line) {
    this.#line = line;
  }

  /** Creates an API key. Its text is shown only in this answer. */
  create(
    account: string,
    options: OwnIdempotencyKey & {
      name?: string;
      expiresAt?: Moment;
      allowedCidrs?: string[];
      scopes?: types.Scope[];
    } = {},
  ): Promise<types.NewKey> {
    const { name, expiresAt, allowedCidrs, scopes } = options;
    const body = { name, expires_at: text(expiresAt), allowed_cidrs: allowedCidrs, scopes };
    return asked("NewKey", this.#line, once(path(account, "/keys"), body, ownKey(options)));
  }

  list(account: string): AsyncGenerator<types.Key> {
    return listed(kind("Key"), this.#line, path(account, "/keys"));
  }

  /** Revokes an API key. `self` is the one that this client uses. */
  async revoke(keyId: string): Promise<void> {
    await ask(this.#line, { method: "DELETE", path: `/keys/${encodeURIComponent(keyId)}` }, nothing);
  }
}

/** The stop beside the policy. Only the operator's admin ends it, with its own wallet. */
class Halts {
  readonly #line: Line;
  constructor(line: Line) {
    this.#line = line;
  }

  /** Stops one account at once. */
  account(account: string): Promise<types.Halted> {
    return asked("Halted", this.#line, once(path(account, "/halt")));
  }

  /** Stops each of these accounts; see `policy.changeMany`. */
  many(
    accounts: AccountSelection,
    options: OwnIdempotencyKey & { dryRun?: boolean } = {},
  ): Promise<types.ManyChanged> {
    const body = { accounts, dry_run: options.dryRun ?? false };
    return asked("ManyChanged", this.#line, once("/bulk/halt", body, ownKey(options), BULK_BYTES_MAX));
  }

  /** Stops every account of the operator at once. */
  operator(): Promise<types.Halted> {
    return asked("Halted", this.#line, once("/halt"));
  }
}

class Events {
  readonly #line: Line;
  constructor(line: Line) {
    this.#line = line;
  }

  get(eventId: string): Promise<Event> {
    return askedFor(this.#line, get(`/events/${encodeURIComponent(eventId)}`), eventOf);
  }

  /** Newest first. */
  list(filter: { type?: Event["type"]; account?: string } = {}): AsyncGenerator<Event> {
    return listed(eventOf, this.#line, "/events", { type: filter.type, account_id: filter.account });
  }

  /** Events as they happen: see `EventStream`. */
  stream(
    options: { types?: Event["type"][]; account?: string; after?: string; signal?: AbortSignal } = {},
  ): EventStream {
    const query = { type: options.types?.join(",") || undefined, account_id: options.account };
    return new EventStream(this.#line, query, options.after, options.signal);
  }

  /** Where a stream stands that begins now: read what there is, then stream `after` it, and nothing falls in between. */
  async position(): Promise<string> {
    const stream = new EventStream(this.#line, {}, undefined, undefined);
    for await (const _ of stream.messages()) if (stream.position) return stream.position;
    throw new Unreachable("the stream ended before it began");
  }
}

/**
 * Events as they happen, without end. Lost connections are opened anew where they ended.
 *
 * `position` is where it stands. To go on after a stop, keep it each time you have worked on an event, and give it as `after`:
 * nothing is left out. Without `after` the stream begins now.
 */
export class EventStream implements AsyncIterable<Event> {
  position: string | undefined;
  readonly #line: Line;
  readonly #query: Query;
  readonly #signal: AbortSignal | undefined;

  constructor(line: Line, query: Query, after: string | undefined, signal: AbortSignal | undefined) {
    this.#line = line;
    this.#query = query;
    this.position = after;
    this.#signal = signal;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Event> {
    for await (const event of this.messages()) if (event !== undefined) yield event;
  }

  /**
   * Every message, over as many connections as it takes; `undefined` for the one that says where the stream begins. What cannot
   * be read ends its connection, and is asked for again.
   */
  async *messages(): AsyncGenerator<Event | undefined> {
    let failures = 0;
    for (;;) {
      let retryAfterMs: number | undefined;
      try {
        const headers: Record<string, string> = { Accept: "text/event-stream" };
        if (this.position !== undefined) headers["Last-Event-ID"] = this.position;
        const call = { method: "GET", path: "/events", query: this.#query, headers, signal: this.#signal };
        for await (const message of messages(this.#line, call)) {
          const event = message.data === "" ? undefined : eventOf(readJson(message.data));
          failures = 0;
          this.position = message.id || this.position;
          yield event;
        }
      } catch (error) {
        this.#signal?.throwIfAborted();
        if (error instanceof ApiError) {
          if (!isAskedAgain(error)) throw error;
          retryAfterMs = error.retryAfterMs;
        }
        if (error instanceof Unreadable) retryAfterMs = error.retryAfterMs;
        const untrusted = distrust(error);
        if (untrusted !== undefined) throw new Unreachable(untrusted.message, untrusted);
      }
      failures += 1;
      await this.#line.clock.sleep(pause(failures, retryAfterMs, this.#line.clock.random()), this.#signal);
    }
  }
}

/** Where events are delivered. `verify` verifies what arrives. */
class Webhooks {
  readonly #line: Line;
  constructor(line: Line) {
    this.#line = line;
  }

  /** Registers an endpoint. The answer's secret is shown this once. */
  create(
    url: string,
    events: types.EventType[],
    options: OwnIdempotencyKey & { accounts?: string[]; lowBalanceThresholdUsdc?: string } = {},
  ): Promise<types.WebhookWithSecret> {
    const { accounts, lowBalanceThresholdUsdc: low } = options;
    const threshold = low === undefined ? undefined : usdcText(low, "lowBalanceThresholdUsdc");
    const body = { url, events, account_ids: accounts, low_balance_threshold_usdc: threshold };
    return asked("WebhookWithSecret", this.#line, once("/webhooks", body, ownKey(options)));
  }

  get(webhookId: string): Promise<types.Webhook> {
    return asked("Webhook", this.#line, get(hook(webhookId)));
  }

  list(): AsyncGenerator<types.Webhook> {
    return listed(kind("Webhook"), this.#line, "/webhooks");
  }

  /** Changes what is given. No accounts at all (`[]`) means every account. */
  update(
    webhookId: string,
    change: { url?: string; events?: types.EventType[]; accounts?: string[]; status?: types.WebhookStatus },
  ): Promise<types.Webhook> {
    const { accounts, ...fields } = change;
    const body = { ...fields, account_ids: accounts };
    return asked("Webhook", this.#line, { method: "PATCH", path: hook(webhookId), body });
  }

  async delete(webhookId: string): Promise<void> {
    await ask(this.#line, { method: "DELETE", path: hook(webhookId) }, nothing);
  }

  /** Creates a new secret. The one before it signs too for 24 hours. */
  rotateSecret(webhookId: string, options: OwnIdempotencyKey = {}): Promise<types.WebhookWithSecret> {
    return asked("WebhookWithSecret", this.#line, once(hook(webhookId, "/rotate_secret"), undefined, ownKey(options)));
  }

  /** Sends a `webhook.test` event to this webhook alone. */
  test(webhookId: string): Promise<Event> {
    return askedFor(this.#line, once(hook(webhookId, "/test")), eventOf);
  }

  deliveries(webhookId: string, filter: { status?: types.DeliveryStatus } = {}): AsyncGenerator<types.Delivery> {
    return listed(kind("Delivery"), this.#line, hook(webhookId, "/deliveries"), { status: filter.status });
  }

  /** Delivers one event again, or what was not delivered in a period. */
  replay(
    webhookId: string,
    what: { eventId: string } | { since: Moment; until?: Moment; status?: types.ReplayScope },
  ): Promise<types.Replayed> {
    const body =
      "eventId" in what
        ? { event_id: what.eventId }
        : { since: text(what.since), until: text(what.until), status: what.status };
    return asked("Replayed", this.#line, once(hook(webhookId, "/replay"), body));
  }
}

/** A time: ISO 8601 with an offset, or a `Date`. */
export type Moment = string | Date;

function text(moment: Moment | undefined): string | undefined {
  return moment instanceof Date ? moment.toISOString() : moment;
}

function get(path: string): Call {
  return { method: "GET", path };
}

function path(account: string, rest = ""): string {
  return `/accounts/${encodeURIComponent(account)}${rest}`;
}

function hook(webhookId: string, rest = ""): string {
  return `/webhooks/${encodeURIComponent(webhookId)}${rest}`;
}

/** The same, if its limits are exact. */
function checked<T extends types.PolicyChange>(policy: T): T {
  for (const name of LIMITS) {
    const limit = policy[name];
    if (limit !== undefined && limit !== null) usdcText(limit, name);
  }
  return policy;
}

async function askedFor<T>(line: Line, call: Call, reads: Reads<T>): Promise<T> {
  return (await ask(line, call, reads)).value;
}

function asked<K extends keyof Answers>(name: K, line: Line, call: Call): Promise<Answers[K]> {
  return askedFor(line, call, kind(name));
}

function kind<K extends keyof Answers>(name: K): Reads<Answers[K]> {
  return (json) => read(name, json) as Answers[K];
}

function transferWith(field: "idempotency_key" | "transfer_id", value: string): Reads<types.Transfer> {
  return (json) => {
    const transfer = kind("Transfer")(json);
    if (transfer[field] !== value) throw new Unreadable("the answer is about another payment");
    return transfer;
  };
}

/** The account that the API key opens, from the MCP tool `get_account`; `undefined` if it opens none by itself. */
function ownAccount(json: unknown): string | undefined {
  const { jsonrpc, result } = (json ?? {}) as { jsonrpc?: unknown; result?: { structuredContent?: { account_id?: unknown } } };
  const said = result?.structuredContent;
  if (jsonrpc !== "2.0" || typeof said !== "object" || said === null) throw new Unreadable("the answer is not of MCP");
  return typeof said.account_id === "string" ? said.account_id : undefined;
}

function nothing(json: unknown): void {
  if (json !== undefined) throw new Unreadable("an answer without a body was to come");
}

/** Everything that is listed, page by page. */
async function* listed<T>(readsOne: Reads<T>, line: Line, path: string, filters: Query = {}): AsyncGenerator<T> {
  let cursor: string | undefined;
  do {
    const call = { method: "GET", path, query: { limit: "100", ...filters, cursor } };
    const [page, next] = await askedFor(line, call, (json) => pageOf(readsOne, json));
    yield* page;
    cursor = next;
  } while (cursor !== undefined);
}

/** A part of a list, and the cursor of the next one. */
function pageOf<T>(readsOne: Reads<T>, json: unknown): [T[], string | undefined] {
  const { data, cursor, has_more } = (json ?? {}) as { data?: unknown; cursor?: unknown; has_more?: unknown };
  const next = has_more === true && typeof cursor === "string" ? cursor : undefined;
  if (!Array.isArray(data) || typeof has_more !== "boolean" || has_more !== (next !== undefined)) {
    throw new Unreadable("this is no page of a list");
  }
  return [data.map((one) => readsOne(one)), next];
}

/** Who is paid, as a request names it. */
function payeeOf({ to, wallet }: Payee): string | { wallet: string } {
  if (to !== undefined && wallet === undefined) return to;
  if (wallet !== undefined && to === undefined) return { wallet };
  throw new TypeError("say who is paid: to or wallet");
}

function paymentOf(transfer: types.Transfer, replayed: boolean): Payment {
  return {
    transferId: transfer.transfer_id,
    idempotencyKey: transfer.idempotency_key,
    name: transfer.idempotency_key,
    account: transfer.from,
    to: transfer.to,
    toWallet: transfer.to_wallet ?? undefined,
    amountUsdc: transfer.amount_usdc,
    usdc: transfer.amount_usdc,
    memo: transfer.memo,
    signature: transfer.tx_signature,
    explorerUrl: transfer.solana_explorer_url,
    settledAt: transfer.settled_at,
    status: transfer.status,
    approvalUrl: transfer.approval_url,
    approvalExpiresAt: transfer.approval_expires_at,
    replayed,
  };
}


function setting(name: string): string {
  const value = environment(name);
  if (!value) throw new TypeError(`${name} is not set, and nothing was given in its place`);
  return value;
}
