// Money is a decimal string of USDC or a whole number of micro-USDC. Never a float.

import { renamed } from "./renamed.ts";
import { NUMBERS } from "./shapes.ts";

const MICROS_PER_USDC = 1_000_000n;
const FORM = /^\d+(\.\d{1,6})?$/;

/** An amount, given in one of two ways. */
export type Amount =
  | {
      /** USDC with at most six fractional digits: `"0.25"`. */
      amountUsdc: string;
      microUsdc?: never;
      usdc?: never;
    }
  | {
      /** A whole number of micro-USDC: `250_000n` is 0.25 USDC. */
      microUsdc: bigint | number;
      amountUsdc?: never;
      usdc?: never;
    }
  | {
      /** @deprecated Use `amountUsdc`. */
      usdc: string;
      amountUsdc?: never;
      microUsdc?: never;
    };

/** USDC as the service reads it. */
export function usdcText(amount: string, what = "amountUsdc"): string {
  const given: unknown = amount;
  if (typeof given !== "string") {
    throw new TypeError(`${what} is text, because a float cannot hold most amounts exactly: ${what}: "0.25"`);
  }
  if (!FORM.test(given)) {
    throw new RangeError(`${what} is an amount of USDC with at most six fractional digits, not ${JSON.stringify(given)}`);
  }
  return given;
}

export function amountText(amount: { amountUsdc?: string; microUsdc?: bigint | number; usdc?: string }): string {
  const amountUsdc = renamed("amountUsdc", amount.amountUsdc, "usdc", amount.usdc);
  const { microUsdc } = amount;
  if ((amountUsdc === undefined) === (microUsdc === undefined)) {
    throw new TypeError("give the amount as amountUsdc or as microUsdc");
  }
  if (amountUsdc !== undefined) {
    const text = usdcText(amountUsdc);
    if (microsOfUsdc(text) === 0n) throw new RangeError("an amount is at least 0.000001 USDC");
    return text;
  }
  if (typeof microUsdc !== "bigint" && !Number.isSafeInteger(microUsdc)) {
    throw new TypeError("microUsdc is a whole number of micro-USDC: 250_000n is 0.25 USDC");
  }
  const micros = BigInt(microUsdc as bigint | number);
  if (micros <= 0n) throw new RangeError("an amount is at least 0.000001 USDC");
  return usdcOfMicros(micros);
}

export function usdcOfMicros(micros: bigint): string {
  return `${micros / MICROS_PER_USDC}.${String(micros % MICROS_PER_USDC).padStart(6, "0")}`;
}

export function microsOfUsdc(amountUsdc: string): bigint {
  const [whole = "0", rest = ""] = usdcText(amountUsdc).split(".");
  return BigInt(whole) * MICROS_PER_USDC + BigInt(rest.padEnd(6, "0"));
}

const NUMBER = new RegExp(`(?<!\\\\)"(?:${NUMBERS.join("|")})"\\s*:\\s*$`);
const METADATA = /(?<!\\)"metadata"\s*:\s*$/;
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}]|-?\d[\d.eE+-]*/g;

/** Parses JSON with amounts of USDC as text, digit by digit. Metadata is yours and stays as it is. */
export function readJson(text: string): unknown {
  // Ends here for what is not JSON, in which the search below would look for the end of a string again and again.
  JSON.parse(text);
  let depth = 0;
  let metadataFrom = Infinity;
  const exact = text.replace(TOKEN, (token: string, at: number) => {
    const before = () => text.slice(Math.max(0, at - 48), at);
    if (token === "{") {
      depth += 1;
      if (depth < metadataFrom && METADATA.test(before())) metadataFrom = depth;
    } else if (token === "}") {
      if (depth === metadataFrom) metadataFrom = Infinity;
      depth -= 1;
    } else if (token[0] !== '"' && depth < metadataFrom && NUMBER.test(before())) {
      return `"${token}"`;
    }
    return token;
  });
  return JSON.parse(exact);
}
