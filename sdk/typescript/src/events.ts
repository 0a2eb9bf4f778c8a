// Events, from a webhook, a list or a stream.

import { Unreadable } from "./errors.ts";
import type { EventData } from "./types.ts";

/** More than the longest event. */
const MESSAGE_LENGTH_MAX = 1024 * 1024;

/** What happened. There may be types that this version does not know. */
export interface Event {
  /** The same each time it is delivered: keep it, and ignore what you have seen. */
  id: string;
  type: keyof EventData | (string & {});
  created_at: string;
  /** As its type has it: see `isEvent`. */
  data: Record<string, unknown>;
}

/** An event of a known type. */
export type EventOf<T extends keyof EventData> = Omit<Event, "type" | "data"> & { type: T; data: EventData[T] };

/** Whether the event is of this type; its `data` then has that type's fields. */
export function isEvent<T extends keyof EventData>(event: Event | EventOf<keyof EventData>, type: T): event is EventOf<T> {
  return event.type === type;
}

export function eventOf(value: unknown): Event {
  const event = value as Partial<Event> | null;
  const texts = [event?.id, event?.type, event?.created_at];
  if (texts.every((text) => typeof text === "string") && typeof event?.data === "object" && event.data !== null) {
    return event as Event;
  }
  throw new Unreadable("this is no event");
}

/** Reads `text/event-stream`, however it is cut into pieces. Throws `Unreadable` for a message that does not end. */
export class MessageReader {
  #decoder = new TextDecoder();
  #rest = "";
  #id: string | undefined;
  #data: string[] = [];
  #length = 0;

  /** The messages that this piece completes. The stream goes on after the `id` of a message. */
  *feed(piece: Uint8Array): Generator<{ id: string | undefined; data: string }> {
    const text = this.#rest + this.#decoder.decode(piece, { stream: true });
    // A lone \r at the end may be the first half of \r\n.
    const whole = text.endsWith("\r") ? text.length - 1 : text.length;
    const lines = text.slice(0, whole).split(/\r\n|\r|\n/);
    this.#rest = (lines.pop() ?? "") + text.slice(whole);
    for (const line of lines) {
      if (line === "") {
        if (this.#id !== undefined || this.#data.length > 0) yield { id: this.#id, data: this.#data.join("\n") };
        this.#id = undefined;
        this.#data = [];
        this.#length = 0;
        continue;
      }
      const colon = line.indexOf(":");
      const field = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
      if (field === "id") this.#id = value;
      if (field === "data") {
        this.#data.push(value);
        this.#length += value.length;
      }
    }
    if (this.#length + this.#rest.length > MESSAGE_LENGTH_MAX) throw new Unreadable("a message is too long");
  }
}
