import { createParser } from "eventsource-parser";

/** One event of the stream, as the wire gave it. */
export interface StreamEvent {
  /** The `event:` field; absent when the stream named none. */
  event?: string;
  /** The `data:` lines, joined with a line feed. */
  data: string;
  /** When the read that completed this event returned, by the caller's clock. */
  at: number;
  /** The body ended before the blank line that should have closed this event. */
  unterminated?: true;
}

export interface ReadEventsOptions {
  /** Ends the reading at once: the body is cancelled and the signal's reason is thrown. */
  signal?: AbortSignal;
  /** Clock for `at`, in milliseconds. */
  now?: () => number;
  /** Longest data of one event, in UTF-16 units. */
  maxEventLength?: number;
}

/** An event outgrew the limit. The stream cannot be read on: its end was never found. */
export class EventTooLargeError extends Error {
  override name = "EventTooLargeError";
  constructor(limit: number) {
    super(`an event must be at most ${limit} characters long, this one is longer`);
  }
}

/** The body broke off: its read failed, for the connection was lost or the framing was cut. The cause is kept. */
export class BodyBrokenError extends Error {
  override name = "BodyBrokenError";
  constructor(cause: unknown) {
    super("the response was cut off midway", { cause });
  }
}

const DEFAULT_MAX_EVENT_LENGTH = 1024 * 1024;

// What the parser counts on top of an event's data while a line is open: "data: " and a line end.
const LINE_OVERHEAD = 8;

/**
 * Reads server-sent events from `body`: one array for each read that completed at least one event.
 *
 * The time is taken once per read, before decoding and parsing, so events that came together share one `at` and
 * the cost of parsing never shows up in it. Stopping early (break, `return()`) cancels the body.
 *
 * The last event of a body that ends without its blank line is discarded by the WHATWG rules, since it may be
 * half an event. Here it is given out last, marked `unterminated`, and the caller decides.
 *
 * @throws {EventTooLargeError} when one event's data exceeds `maxEventLength`; at most that much is ever held
 * @throws {BodyBrokenError} when the body's read fails
 * @throws `signal.reason` after an abort
 */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  { signal, now = () => performance.now(), maxEventLength = DEFAULT_MAX_EVENT_LENGTH }: ReadEventsOptions =
    {},
): AsyncGenerator<StreamEvent[], void, void> {
  signal?.throwIfAborted();

  let events: StreamEvent[] = [];
  let at = 0;
  let tooLarge = false;
  const parser = createParser({
    maxBufferSize: maxEventLength + LINE_OVERHEAD,
    onEvent({ event, data }) {
      // An event that came whole within one read never sat in the parser's buffer, so its limit did not apply.
      if (data.length > maxEventLength) tooLarge = true;
      if (tooLarge) return;
      events.push(event === undefined ? { data, at } : { event, data, at });
    },
    onError(error) {
      // The other kinds (unknown field, bad retry) are lines that the rules say to ignore.
      if (error.type === "max-buffer-size-exceeded") tooLarge = true;
    },
  });
  // The parser strips the one byte order mark itself; a decoder that did so as well would strip two.
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

  const reader = body.getReader();
  let ended = false;
  // cancel() settles the pending read() at once. Nobody waits for it: a source may take its time to close.
  const cancel = () => void reader.cancel(signal?.reason).catch(() => {});
  signal?.addEventListener("abort", cancel, { once: true });
  try {
    while (true) {
      const { done, value } = await reader.read().catch((error) => {
        // A fetch that was given the same signal fails its read with an error of its own: the signal says why.
        signal?.throwIfAborted();
        throw new BodyBrokenError(error);
      });
      at = now();
      signal?.throwIfAborted();
      if (done) break;
      parser.feed(decoder.decode(value, { stream: true }));
      if (events.length > 0) {
        const batch = events;
        events = [];
        yield batch;
      }
      if (tooLarge) throw new EventTooLargeError(maxEventLength);
    }
    ended = true;
    // Two line ends close whatever is open: the first the line, the second the event.
    parser.feed(decoder.decode() + "\n\n");
    for (const event of events) event.unterminated = true;
    if (events.length > 0) yield events;
  } finally {
    signal?.removeEventListener("abort", cancel);
    if (!ended) cancel();
  }
}
