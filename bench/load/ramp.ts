import { type StreamEvents, StreamReader } from "./stream.ts";
import type { Transport } from "./transport.ts";
import { openWindow, type WindowCost } from "./window.ts";

/** Time by which a stream outlives the window, ms: a server ahead of its pace must not end one within it. */
const MARGIN_MS = 500;

/** Time the streams are given to end after they should have, ms. */
const DRAIN_MS = 5000;

export interface RampOptions {
  port: number;
  /** The server's process, whose CPU and memory are read; undefined: not read. */
  pid: number | undefined;
  streams: number;
  /** Time between tokens of a stream, ms. */
  itlMs: number;
  /** Length of the measured window, s. */
  seconds: number;
  /** The starts of the streams are spread evenly over this time, ms, so that they do not tick together. */
  spreadMs: number;
  /** Rest between the last start and the window, ms. */
  settleMs: number;
  /** The request for a stream, by its number from 0, of so many tokens. */
  request(stream: number, tokens: number): Uint8Array;
  /** Who follows a stream, by its number. */
  events(stream: number): StreamEvents;
  /** Called with true as the window opens and with false as it closes. */
  onWindow(open: boolean): void;
}

/** What is known when all streams are over. */
export interface Ramped {
  cost: WindowCost;
  /** Of all streams, ended or not. */
  bodyBytes: number;
  /** Streams that had not ended when their time was over: the server fell behind its pace. */
  unfinished: number;
}

/** Opens streams one after another, rests, measures a window in which all are open, and reads them to their end. */
export async function ramp(transport: Transport, options: RampOptions): Promise<Ramped> {
  const { port, pid, streams, itlMs, seconds, spreadMs, settleMs } = options;
  const lifeMs = spreadMs + settleMs + seconds * 1000;
  // The first stream opened must still run when the window ends.
  const tokens = Math.ceil((lifeMs + MARGIN_MS) / itlMs);
  const readers: StreamReader[] = [];
  let ended = 0;

  const open = () => {
    const stream = readers.length;
    const events = options.events(stream);
    readers.push(
      new StreamReader(transport, port, options.request(stream, tokens), tokens, {
        tokens: events.tokens,
        ended(problem) {
          ended++;
          events.ended(problem);
        },
      }),
    );
  };

  const start = performance.now();
  const until = async (time: number) => {
    for (let now = performance.now(); now < time; now = performance.now()) {
      const due = Math.min(streams, Math.floor((now - start) / spreadMs * streams) + 1);
      while (readers.length < due) open();
      const next = readers.length < streams ? start + readers.length * spreadMs / streams : time;
      await transport.poll(Math.min(next, time) - now);
    }
  };

  await until(start + spreadMs + settleMs);
  const closeWindow = openWindow(pid);
  options.onWindow(true);
  await until(start + lifeMs);
  options.onWindow(false);
  const cost = closeWindow();

  const deadline = start + spreadMs + tokens * itlMs + DRAIN_MS;
  while (ended < readers.length && performance.now() < deadline) await transport.poll(10);
  const unfinished = readers.length - ended;
  for (const reader of readers) reader.close();
  return { cost, bodyBytes: readers.reduce((sum, { bodyBytes }) => sum + bodyBytes, 0), unfinished };
}
