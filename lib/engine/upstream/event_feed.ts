import { createParser } from "eventsource-parser";
import { connectionError } from "./refusal.ts";

/** What the parser counts on top of an event's data while a line is open: "data: " and a line end. */
const LINE_OVERHEAD = 8;

/** Bytes pushed in, events handed out as soon as their blank line has come. Comments are passed over. */
export class EventFeed {
  /** The parser strips the one byte order mark itself; a decoder that did so as well would strip two. */
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  readonly #parser: ReturnType<typeof createParser>;
  readonly #maxLength: number;
  #tooLarge = false;

  /** @param maxLength longest data of one event, in UTF-16 units */
  constructor(onEvent: (name: string | undefined, data: string) => void, maxLength: number) {
    this.#maxLength = maxLength;
    this.#parser = createParser({
      maxBufferSize: maxLength + LINE_OVERHEAD,
      onEvent: ({ event, data }) => {
        // An event that came whole within one read never sat in the parser's buffer, so its limit did not apply.
        if (data.length > maxLength) this.#tooLarge = true;
        if (!this.#tooLarge) onEvent(event, data);
      },
      onError: ({ type }) => {
        // The other kinds (unknown field, bad retry) are lines that the rules say to ignore.
        if (type === "max-buffer-size-exceeded") this.#tooLarge = true;
      },
    });
  }

  /** Throws a `TapError` once an event has outgrown the limit: its end was never found, so nothing after it can be read. */
  push(bytes: Uint8Array): void {
    this.#parser.feed(this.#decoder.decode(bytes, { stream: true }));
    if (this.#tooLarge) throw connectionError(`sent an event of more than ${this.#maxLength} characters`);
  }
}
