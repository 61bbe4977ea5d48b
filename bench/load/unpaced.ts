import { FrameCounter } from "./frames.ts";
import type { UnpacedJob, UnpacedResult } from "./job.ts";
import { Problems } from "./problems.ts";
import { get, streamRequest } from "./request.ts";
import { Samples } from "./samples.ts";
import { StreamReader } from "./stream.ts";
import type { Connection, Transport } from "./transport.ts";
import { openWindow } from "./window.ts";

/** Time the last streams are given to end after the window, ms. */
const DRAIN_MS = 5000;

/**
 * `readers` connections that each read one delay-0 stream after another for `seconds`, while one more
 * connection asks for /health. Tokens count when they arrive inside the window.
 */
export async function runUnpaced(job: UnpacedJob, transport: Transport): Promise<UnpacedResult> {
  const request = streamRequest({ port: job.port, prompt: job.prompt, tokens: job.tokens, itlMs: 0 });
  const ttft = new Samples(), problems = new Problems();
  const active = new Set<StreamReader>();
  let measuring = false,
    stopping = false,
    received = 0,
    allReceived = 0,
    bytes = 0,
    complete = 0,
    incomplete = 0;

  const open = () => {
    const reader: StreamReader = new StreamReader(transport, job.port, request, job.tokens, {
      tokens(count, now, previous, sentAt) {
        allReceived += count;
        if (!measuring) return;
        received += count;
        if (previous === null) ttft.add(now - sentAt);
      },
      ended(problem) {
        bytes += reader.bodyBytes;
        if (problem === null) complete++;
        else {
          incomplete++;
          problems.add(problem);
        }
        if (problem === null && !stopping && reader.again()) return;
        active.delete(reader);
        reader.close();
        // A server that refuses everything must not be asked in a tight loop.
        if (!stopping && problem === null) open();
      },
    });
    active.add(reader);
  };

  const health = new HealthProbe(transport, job.port, problems);
  const until = async (time: number) => {
    for (let now = performance.now(); now < time; now = performance.now()) {
      health.tick(now, job.healthEveryMs);
      await transport.poll(1);
    }
  };

  for (let index = 0; index < job.readers; index++) open();
  await until(performance.now() + job.settleMs);
  const closeWindow = openWindow(job.pid);
  measuring = health.measuring = true;
  await until(performance.now() + job.seconds * 1000);
  measuring = health.measuring = false;
  const cost = closeWindow();

  stopping = true;
  const deadline = performance.now() + DRAIN_MS;
  while (active.size > 0 && performance.now() < deadline) await transport.poll(1);
  const unfinished = active.size;
  for (const reader of active) reader.close();
  health.close();

  return {
    kind: "unpaced",
    transport: transport.name,
    readers: job.readers,
    seconds: cost.seconds,
    tokens: received,
    tokensPerSecond: received / cost.seconds,
    bodyBytesPerToken: bytes / Math.max(1, allReceived),
    ttftMs: ttft.quantiles(),
    healthMs: health.latencies.quantiles(),
    complete,
    incomplete,
    unfinished,
    errors: problems.list(),
    serverCpuUsPerToken: cost.serverCpuUs === null || received === 0 ? null : cost.serverCpuUs / received,
    serverCpuShare: cost.serverCpuShare,
    generatorCpuShare: cost.generatorCpuShare,
    otherCpuShare: cost.otherCpuShare,
  };
}

/** Asks for /health, one request at a time, on a connection of its own. */
class HealthProbe {
  readonly latencies = new Samples();
  measuring = false;
  readonly #counter = new FrameCounter();
  readonly #request: Uint8Array;
  readonly #connection: Connection;
  #sentAt: number | null = null;
  #next = Infinity;

  constructor(transport: Transport, port: number, problems: Problems) {
    this.#request = get(port, "/health");
    this.#connection = transport.connect(port, {
      open: (now) => this.#next = now,
      data: (buffer, length, now) => {
        this.#counter.feed(buffer, length);
        if (!this.#counter.ended || this.#sentAt === null) return;
        if (this.#counter.status !== 200) problems.add(`/health answered ${this.#counter.status}`);
        if (this.measuring) this.latencies.add(now - this.#sentAt);
        this.#sentAt = null;
      },
      closed: (problem) => {
        this.#next = Infinity;
        problems.add(`the connection for /health ended${problem ? `: ${problem}` : ""}`);
      },
    });
  }

  tick(now: number, everyMs: number): void {
    if (this.#sentAt !== null || now < this.#next) return;
    this.#next = now + everyMs;
    this.#counter.reset();
    this.#sentAt = now;
    this.#connection.send(this.#request);
  }

  close(): void {
    this.#connection.close();
  }
}
