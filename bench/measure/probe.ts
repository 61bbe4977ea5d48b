import { type ReadResult, readTokens, streamTokens, type TokenRequest } from "../../lib/client/reader.ts";
import type { TokenEvent } from "../../lib/client/transcript.ts";
import { distribution, timeStream } from "../../lib/client/timing.ts";
import { Debug } from "../debug.ts";
import { HttpConnection } from "../http.ts";
import { CANCEL_AFTER, CANCEL_REQUESTED, type Figures } from "./figures.ts";

const SETTLE_MS = 5000;
const POLL_MS = 10;
const IDLE_MS = 30_000;

export interface ProbeOptions {
  /** The server's address, without a path of its own. */
  url: string;
  prompt: string;
  maxTokens: number;
  /** Called at each token of the timed stream. */
  onToken?: (count: number) => void;
}

/**
 * Reads one stream of a server and times it. t0 is the write of the request to a connection that is already open; an
 * arrival is stamped once per read of the socket, before any parsing.
 *
 * @throws {Error} when the stream does not end well
 */
export async function timeOneStream(
  options: ProbeOptions,
): Promise<Pick<Figures, "ttftMs" | "itl" | "tokens" | "tokensPerSecond">> {
  using connection = await reached(options.url, HttpConnection.open);
  let count = 0;
  const onToken = ({ tokens }: TokenEvent) => options.onToken?.(count += tokens);
  const result = await readTokens({ ...streamRequest(connection.fetch, options), onToken });
  if (result.outcome !== "done") {
    throw new Error(`wanted a stream that ends with [DONE], got ${describe(result)}`);
  }

  const { ttftMs, endToEndMs, itlMs, tokens } = timeStream(result);
  if (ttftMs === null || endToEndMs === null) throw new Error("wanted tokens with text, none had any");
  const { p50, p99, max } = distribution(itlMs) ?? { p50: NaN, p99: NaN, max: NaN };
  return {
    ttftMs,
    itl: { count: itlMs.length, p50, p99, max },
    tokens,
    tokensPerSecond: tokens * 1000 / endToEndMs,
  };
}

/**
 * Asks for 100 tokens, reads 5 events, disconnects, and waits until the server has settled how many it generated.
 *
 * @throws {Error} when the stream ends sooner, or the server does not settle within 5 s
 */
export async function cancelOneStream({ url, prompt }: ProbeOptions): Promise<Figures["cancel"]> {
  let requestId: string | null = null;
  {
    using connection = await reached(url, HttpConnection.open);
    const fetch: typeof connection.fetch = async (target, init) => {
      const response = await connection.fetch(target, init);
      requestId = response.headers.get("x-request-id");
      return response;
    };
    const stream = streamTokens(streamRequest(fetch, { url, prompt, maxTokens: CANCEL_REQUESTED }));
    for (let read = 0; read < CANCEL_AFTER; read++) {
      const next = await stream.next();
      if (next.done) {
        throw new Error(`wanted ${CANCEL_AFTER} events before the disconnect, got ${describe(next.value)}`);
      }
    }
    connection.close();
    await stream.return(undefined as never);
  }
  return await settled(url, requestId);
}

/** Polls the record of the latest stream until it is not running: only then its count is final. */
async function settled(url: string, requestId: string | null): Promise<Figures["cancel"]> {
  const signal = AbortSignal.timeout(SETTLE_MS);
  try {
    while (true) {
      using debug = await reached(url, Debug.open);
      const { id, outcome, requested, generated } = await debug.latest(signal);
      if (requestId !== null && id !== requestId) {
        throw new Error(`wanted the record of ${requestId}, got ${id}: is the server in use by others?`);
      }
      if (outcome !== "running") return { requested, generated };
      signal.throwIfAborted();
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new Error(
      `wanted the cancelled stream to be settled within ${SETTLE_MS} ms, it was still running`,
    );
  }
}

function streamRequest(
  fetch: HttpConnection["fetch"],
  { url, prompt, maxTokens }: ProbeOptions,
): TokenRequest {
  return {
    url: `${url.replace(/\/+$/, "")}/stream`,
    init: {
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/event-stream" },
      body: JSON.stringify({ prompt, max_tokens: maxTokens }),
    },
    fetch,
    idleMs: IDLE_MS,
  };
}

/** What `open` opens to the server, or an error that names the server. */
async function reached<T>(url: string, open: (url: string) => Promise<T>): Promise<T> {
  try {
    return await open(url);
  } catch (error) {
    throw new Error(`cannot connect to ${url}: ${error instanceof Error ? error.message : error}`);
  }
}

function describe({ outcome, tokens, error }: ReadResult): string {
  return `${outcome} after ${tokens} tokens` + (error ? ` (${error.code}: ${error.message})` : "");
}
