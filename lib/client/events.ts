import { EventFeed } from "../event_feed.ts";

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
  const feed = new EventFeed((event, data) => {
    events.push(event === undefined ? { data, at } : { event, data, at });
  }, maxEventLength);

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
      feed.push(value);
      if (events.length > 0) {
        const batch = events;
        events = [];
        yield batch;
      }
      if (feed.tooLarge) throw new EventTooLargeError(maxEventLength);
    }
    ended = true;
    feed.end();
    for (const event of events) event.unterminated = true;
    if (events.length > 0) yield events;
  } finally {
    signal?.removeEventListener("abort", cancel);
    if (!ended) cancel();
  }
}
