import { BodyBrokenError, EventTooLargeError, readEvents } from "./events.ts";
import { messageOf } from "./message.ts";
import type { StreamError, Usage } from "./payload.ts";
import { isTokenStream, refusal } from "./refusal.ts";
import type { Arrival } from "./timing.ts";
import { type TokenEvent, Transcript } from "./transcript.ts";

export interface TokenRequest {
  url: string | URL;
  /** Method, headers and body, as for fetch. */
  init?: RequestInit;
  fetch?: (url: string | URL, init: RequestInit) => Promise<Response>;
  /** Ends the stream with outcome `aborted`. Already aborted: the call rejects at once and nothing is sent. */
  signal?: AbortSignal;
  /** Clock of all times, in milliseconds. */
  now?: () => number;
  /** How many answers were asked for (`n`), so that the end of the first is not taken for that of all. Default 1. */
  choices?: number;
  /** Longest silence in milliseconds, before the headers or between events; comments do not end a silence. */
  idleMs?: number;
  /**
   * How long to read on after the end was announced, in milliseconds: usage and `[DONE]` may still follow a
   * finish_reason, and a body read to its end leaves the connection fit for reuse.
   */
  graceMs?: number;
}

/** How the stream ended for the reader. */
export type ReadOutcome = "done" | "error" | "truncated" | "aborted";

export interface ReadResult {
  outcome: ReadOutcome;
  /** All text that came, also when the stream did not end well. */
  text: string;
  reasoning: string;
  /** Tokens received. */
  tokens: number;
  /** HTTP status; null when no response came. */
  status: number | null;
  /** Why the outcome is `error` or `truncated`. */
  error?: StreamError;
  requestId: string | null;
  finishReason?: string;
  /** The last usage the server sent. */
  usage?: Usage;
  /** Events that carried tokens. */
  arrivals: Arrival[];
  sentAt: number;
  /** When the response head came; null when none did. */
  headersAt: number | null;
  /** When the last event came, or when the stream broke off. */
  endAt: number;
}

const DEFAULT_GRACE_MS = 80;
const ERROR_BODY_MS = 1000;

/**
 * Reads a whole token stream; `onToken` is called for each event with tokens as it comes.
 *
 * Once the request is sent this does not reject: whatever happens becomes an outcome, and the text so far is kept.
 *
 * @throws `signal.reason` when the signal was aborted before the call
 */
export async function readTokens(
  { onToken, ...request }: TokenRequest & { onToken?: (token: TokenEvent) => void },
): Promise<ReadResult> {
  const tokens = streamTokens(request);
  try {
    let next = await tokens.next();
    while (!next.done) {
      onToken?.(next.value);
      next = await tokens.next();
    }
    return next.value;
  } finally {
    // Closes the connection when onToken threw; after the end it does nothing.
    await tokens.return(undefined as never);
  }
}

/**
 * The same as an iterator: gives each event with tokens as it comes and returns the result. Leaving the loop early
 * closes the connection.
 *
 * @throws `signal.reason` when the signal was aborted before the first `next()`
 */
export async function* streamTokens({
  url,
  init = {},
  fetch = globalThis.fetch,
  signal = init.signal ?? undefined,
  now = () => performance.now(),
  choices,
  idleMs,
  graceMs = DEFAULT_GRACE_MS,
}: TokenRequest): AsyncGenerator<TokenEvent, ReadResult, void> {
  signal?.throwIfAborted();

  // One way to stop, whoever asks: the caller, the idle timer or the grace timer.
  const stop = new AbortController();
  const onAbort = () => stop.abort(signal?.reason);
  signal?.addEventListener("abort", onAbort, { once: true });
  const idle = new DOMException(`no event came for ${idleMs} ms`, "TimeoutError");
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stopIn = (ms: number | undefined) => {
    clearTimeout(timer);
    timer = ms === undefined ? undefined : setTimeout(() => stop.abort(idle), ms);
  };

  const transcript = new Transcript(choices);
  let response: Response | undefined;
  let headersAt: number | null = null;
  let lastEventAt: number | undefined;
  let failure: StreamError | undefined;
  const sentAt = now();
  try {
    stopIn(idleMs);
    response = await fetch(url, { ...init, signal: stop.signal });
    headersAt = now();
    stopIn(isTokenStream(response) ? idleMs : ERROR_BODY_MS);
    if (!isTokenStream(response)) failure = await refusal(response, stop.signal);
    else if (response.body) {
      let inGrace = false;
      for await (const batch of readEvents(response.body, { signal: stop.signal, now })) {
        // The time the caller takes over its tokens is no silence of the server.
        if (idleMs !== undefined && !inGrace) stopIn(undefined);
        for (const event of batch) {
          if (!transcript.closed) lastEventAt = event.at;
          const token = transcript.take(event);
          if (token) yield token;
        }
        const announced = transcript.over;
        // The grace runs once: pings after the end must not hold the reader.
        if (announced && !inGrace) stopIn(graceMs);
        else if (!announced && (inGrace || idleMs !== undefined)) stopIn(idleMs);
        inGrace = announced;
      }
    }
  } catch (error) {
    if (stop.signal.aborted) {
      if (stop.signal.reason === idle) failure = { code: "idle_timeout", message: idle.message };
    } else if (error instanceof EventTooLargeError) {
      failure = { code: "event_too_large", message: error.message };
    } else if (!response) failure = { code: "network", message: messageOf(error) };
    // After a body that broke off, what came before decides.
    else if (!(error instanceof BodyBrokenError)) throw error;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }

  const { outcome, error } = conclude(transcript, failure, signal?.aborted ?? false);
  const arrivals = transcript.arrivals();
  return {
    outcome,
    text: transcript.text,
    reasoning: transcript.reasoning,
    tokens: arrivals.reduce((sum, arrival) => sum + arrival.tokens, 0),
    status: response?.status ?? null,
    error,
    requestId: response?.headers.get("x-request-id") ?? null,
    finishReason: transcript.finishReason,
    usage: transcript.usage,
    arrivals,
    sentAt,
    headersAt,
    endAt: transcript.over && lastEventAt !== undefined ? lastEventAt : now(),
  };
}

/** What the stream said weighs more than how it stopped: an error is never a success, an end that was seen is an end. */
function conclude(
  transcript: Transcript,
  failure: StreamError | undefined,
  aborted: boolean,
): { outcome: ReadOutcome; error?: StreamError } {
  if (transcript.error) return { outcome: "error", error: transcript.error };
  if (transcript.ended || transcript.finished) {
    if (transcript.arrivals().length > 0) return { outcome: "done" };
    return {
      outcome: "error",
      error: { code: "no_tokens", message: "the stream ended without a single token" },
    };
  }
  if (aborted) return { outcome: "aborted" };
  if (failure) return { outcome: "error", error: failure };
  if (transcript.events === 0) {
    return {
      outcome: "truncated",
      error: { code: "empty", message: "the stream ended before its first event" },
    };
  }
  return { outcome: "truncated", error: { code: "truncated", message: "the response was cut off midway" } };
}
