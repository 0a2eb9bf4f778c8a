// Arguments under their old names, for one release.

interface Runtime {
  process?: { emitWarning?: (message: string, type: string) => void };
}

const warned = new Set<string>();

/** Returns an argument, given by its new or its old name. Warns once for each old name, where the runtime can. */
export function renamed<T>(name: string, value: T | undefined, oldName: string, oldValue: T | undefined) {
  if (oldValue === undefined) return value;
  if (value !== undefined) throw new TypeError(`give ${name}, or \`${oldName}\`, which is its old name, not both`);
  if (!warned.has(oldName)) {
    warned.add(oldName);
    const message = `\`${oldName}\` of purser-pay is deprecated and ends with the next release: use \`${name}\``;
    (globalThis as Runtime).process?.emitWarning?.(message, "DeprecationWarning");
  }
  return oldValue;
}

/** The idempotency key, which a payment needs. */
export type IdempotencyKey =
  | {
      /**
       * At most 128 characters. A retry with the same one within 24 hours returns the first payment, and nothing is paid
       * twice. After 24 hours it can pay again. Begin it with a prefix: all accounts of an operator share their
       * idempotency keys.
       */
      idempotencyKey: string;
      name?: never;
    }
  | {
      /** @deprecated Use `idempotencyKey`. */
      name: string;
      idempotencyKey?: never;
    };

/** An idempotency key of your own, for a request that is no payment. */
export interface OwnIdempotencyKey {
  /** A retry with the same one within 24 hours returns the first result. */
  idempotencyKey?: string;
  /** @deprecated Use `idempotencyKey`. */
  once?: string;
}

/** Returns the idempotency key of a payment or a purchase. Throws if there is none. */
export function keyOfPayment(given: { idempotencyKey?: string; name?: string }, what: string): string {
  const key = renamed("idempotencyKey", given.idempotencyKey, "name", given.name);
  if (!key) throw new TypeError(`${what} needs an idempotencyKey: each one is paid once`);
  return key;
}

/** Returns the idempotency key that was given for a request that is no payment. */
export function ownKey(given: OwnIdempotencyKey): string | undefined {
  return renamed("idempotencyKey", given.idempotencyKey, "once", given.once);
}
