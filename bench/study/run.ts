import { Debug, type ServerRecord, type Totals } from "../debug.ts";
import { openWindow } from "../load/window.ts";
import { readAsPlanned, type Reading, requestIdOf } from "./reader.ts";
import type { PlannedReader } from "./schedule.ts";

/** The server's state at one moment. */
export interface Sample {
  /** Milliseconds from the start. */
  atMs: number;
  /** Generations that wait for a slot. */
  queue: number;
  slotsInUse: number;
  /** Tokens the server has produced since the start. */
  generated: number;
}

export interface RunOptions {
  server: { url: string; pid: number };
  schedule: readonly PlannedReader[];
  /** Length of the window in which readers come and figures are taken. */
  seconds: number;
  /** At the window's end: `drain` lets everyone read to the end, `cut` closes what is still open. */
  atEnd: "drain" | "cut";
  /** Called with each sample as it is taken. */
  onSample?: (sample: Sample) => void;
}

/** One run of a schedule against one server. */
export interface Run {
  seconds: number;
  readings: Reading[];
  samples: Sample[];
  /** Tokens the server produced until all was over, by its totals; the warm-up's are taken off. */
  generated: number;
  /** Whether the server's totals are the sum of their parts. */
  totalsAddUp: boolean;
  /** The server's records of these readers; fewer than readers when it keeps no more. */
  records: ServerRecord[];
  /** The same as they were at the window's end, also of generations that still ran. */
  recordsInWindow: ServerRecord[];
  /** Shares of one core within the window. */
  cpu: { server: number | null; generator: number; other: number | null };
  /** From the start until the server had nothing left to do, in milliseconds. */
  idleAtMs: number;
}

/** Between two samples. */
export const SAMPLE_EVERY_MS = 100;

const WARM_UP_STREAMS = 8;
const SETTLE_MS = 120_000;
const LEAD_MS = 50;

/**
 * Sends the readers of a schedule at their times, whatever has become of those before, and takes the server's own
 * word for what it produced.
 *
 * @throws {Error} when the server cannot be asked, leaves readers unserved two minutes after the last came, or still
 * generates two minutes after the last has gone
 */
export async function run(
  { server, schedule, seconds, atEnd, onSample }: RunOptions,
): Promise<Run> {
  using debug = await Debug.open(server.url);
  // The sampler's own: a connection carries one request at a time.
  using sampled = await Debug.open(server.url);
  await warmUp(server.url);
  const before = (await untilIdle(debug)).generated.total;

  const over = new AbortController();
  const startedAt = performance.now() + LEAD_MS;
  const sinceStart = () => performance.now() - startedAt;
  const waitUntil = (atMs: number) =>
    new Promise<void>((resolve) => setTimeout(resolve, Math.max(0, atMs - sinceStart())));

  const samples: Sample[] = [];
  let sampling = true;
  const sampler = (async () => {
    for (let next = 0; sampling; next += SAMPLE_EVERY_MS) {
      await waitUntil(next);
      const { queue, slots, generated } = await sampled.totals();
      const sample = {
        atMs: sinceStart(),
        queue,
        slotsInUse: slots.in_use,
        generated: generated.total - before,
      };
      samples.push(sample);
      onSample?.(sample);
    }
  })();
  // Awaited below; a failure must not count as unhandled until then.
  sampler.catch(() => {});

  const closeWindow = openWindow(server.pid);
  const reading: Promise<Reading>[] = [];
  try {
    for (const planned of schedule) {
      await waitUntil(planned.atMs);
      reading.push(readAsPlanned({ url: server.url, planned, startedAt, signal: over.signal }));
    }
    await waitUntil(seconds * 1000);
    const cost = closeWindow();
    const recordsInWindow = await recordsOf(debug, schedule);
    const patience = setTimeout(() => over.abort(), atEnd === "cut" ? 0 : SETTLE_MS);
    const readings = await Promise.all(reading);
    clearTimeout(patience);
    const waiting = readings.filter(({ ending }) => ending === "cut").length;
    if (atEnd === "drain" && waiting > 0) {
      throw new Error(
        `wanted all readers served ${SETTLE_MS / 1000} s after the last came, ${waiting} were not`,
      );
    }
    const totals = await untilIdle(debug);
    const idleAtMs = sinceStart();
    sampling = false;
    await sampler;
    return {
      seconds,
      readings,
      samples,
      generated: totals.generated.total - before,
      totalsAddUp: addsUp(totals.generated) && addsUp(totals.requests),
      records: await recordsOf(debug, schedule),
      recordsInWindow,
      cpu: {
        server: cost.serverCpuShare,
        generator: cost.generatorCpuShare,
        other: cost.otherCpuShare,
      },
      idleAtMs,
    };
  } finally {
    sampling = false;
    over.abort();
  }
}

async function recordsOf(debug: Debug, schedule: readonly PlannedReader[]): Promise<ServerRecord[]> {
  const ids = new Set(schedule.map(requestIdOf));
  return (await debug.records()).filter(({ id }) => ids.has(id));
}

/** The first streams of a process also pay for compiling the code on their way, here and in the server. */
async function warmUp(url: string): Promise<void> {
  const planned = { index: 0, atMs: 0, prompt: "warm-up", maxTokens: 20, leavesAfter: null };
  const startedAt = performance.now();
  const { signal } = new AbortController();
  const streams = Array.from({ length: WARM_UP_STREAMS }, (_, i) => {
    return readAsPlanned({ url, planned: { ...planned, index: -1 - i }, startedAt, signal });
  });
  const failed = (await Promise.all(streams)).find(({ ending }) => ending !== "stayed");
  if (failed) throw new Error(`the warm-up failed: ${failed.problem}`);
}

async function untilIdle(debug: Debug): Promise<Totals> {
  const deadline = performance.now() + SETTLE_MS;
  for (;;) {
    const totals = await debug.totals();
    if (totals.requests.running === 0) return totals;
    if (performance.now() > deadline) {
      throw new Error(`wanted an idle server within ${SETTLE_MS / 1000} s, it still generates`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function addsUp({ completed, aborted, failed, running, total }: Totals["generated"]): boolean {
  return completed + aborted + failed + running === total;
}
