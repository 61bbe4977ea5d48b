import { streamTokens } from "../../lib/client/reader.ts";
import type { Arrival, StreamTimes } from "../../lib/client/timing.ts";
import { HttpConnection } from "../http.ts";
import type { PlannedReader } from "./schedule.ts";

/** What became of one reader. Times in milliseconds from the start of the run. */
export interface Reading extends StreamTimes {
  planned: PlannedReader;
  intendedAt: number;
  /** `stayed`: read to the end; `left`: as planned; `cut`: the run was over; `failed`: anything else. */
  ending: "stayed" | "left" | "cut" | "failed";
  arrivals: Arrival[];
  /** What came instead, when it failed. */
  problem?: string;
}

export interface ReadOptions {
  url: string;
  planned: PlannedReader;
  /** The start of the run on the clock of `performance.now()`. */
  startedAt: number;
  /** Ends the reading when the run is over. */
  signal: AbortSignal;
}

/** The id under which the server records this reader's generation. */
export function requestIdOf({ index }: PlannedReader): string {
  return `reader-${index}`;
}

/** Reads one stream as planned, over a connection of its own. Never rejects: what goes wrong is in the reading. */
export async function readAsPlanned({ url, planned, startedAt, signal }: ReadOptions): Promise<Reading> {
  const now = () => performance.now() - startedAt;
  const reading: Reading = {
    planned,
    ending: "failed",
    intendedAt: planned.atMs,
    sentAt: now(),
    endAt: now(),
    arrivals: [],
  };
  try {
    using connection = await HttpConnection.open(url);
    reading.sentAt = now();
    await read(connection, reading, url, signal, now);
  } catch (error) {
    if (signal.aborted) reading.ending = "cut";
    else reading.problem = error instanceof Error ? error.message : String(error);
  }
  reading.endAt = now();
  return reading;
}

async function read(
  connection: HttpConnection,
  reading: Reading,
  url: string,
  signal: AbortSignal,
  now: () => number,
): Promise<void> {
  const { planned, arrivals } = reading;
  const tokens = streamTokens({
    url: `${url}/stream`,
    init: {
      method: "POST",
      headers: { "content-type": "application/json", "x-request-id": requestIdOf(planned) },
      body: JSON.stringify({ prompt: planned.prompt, max_tokens: planned.maxTokens }),
    },
    fetch: connection.fetch,
    signal,
    now,
  });
  let read = 0;
  for (let next = await tokens.next();; next = await tokens.next()) {
    if (next.done) {
      const { outcome, error } = next.value;
      if (outcome === "aborted") reading.ending = "cut";
      else if (outcome === "done" && read === planned.maxTokens) reading.ending = "stayed";
      else reading.problem = error?.message ?? `wanted ${planned.maxTokens} tokens, got ${read}`;
      return;
    }
    const { at, text, tokens: count } = next.value;
    arrivals.push({ at, tokens: count, length: text.length });
    read += count;
    if (planned.leavesAfter !== null && read >= planned.leavesAfter) {
      // Closes the connection.
      await tokens.return(undefined as never);
      reading.ending = "left";
      return;
    }
  }
}
