import { type Distribution, distribution, timeStream } from "../../lib/client/timing.ts";
import type { Run } from "../study/run.ts";

/** What one size of the batch came to, within the measured part of the window. */
export interface Point {
  slots: number;
  /** Tokens that reached readers, per second. */
  tokensPerSecond: number;
  /**
   * Of the readers that came after the warm-up and before the last tenth of the window, so that each had time for a
   * first token: from the write of the request to the first token with text. One that had none when the run was over
   * counts with the time it had waited until then.
   */
  ttftMs: Distribution | null;
  /** Of these readers, how many had no token when the run was over. */
  unserved: number;
  /** So many were left without a token that this percentile is only known to be at least what it says. */
  ttftIsBound: { p50: boolean; p99: boolean };
  /** Of all streams whose first token came after the warm-up, also of those cut at the end. */
  tpotMs: Distribution | null;
  slotsInUse: { mean: number };
  queue: { mean: number; max: number };
  readers: number;
  failed: number;
  cpu: Run["cpu"];
}

/** The part of the window that is not measured: until then the batch is still filling. */
const WARM_UP_SHARE = 0.2;

/** The part at its end in which a reader's wait would be cut short before it says anything. */
const TAIL_SHARE = 0.1;

export function pointOf(slots: number, run: Run): Point {
  const fromMs = run.seconds * 1000 * WARM_UP_SHARE;
  const toMs = run.seconds * 1000;
  const within = (at: number) => at >= fromMs && at <= toMs;
  const tokens = run.readings.flatMap(({ arrivals }) => arrivals).filter(({ at }) => within(at))
    .reduce((sum, arrival) => sum + arrival.tokens, 0);
  const read = run.readings.filter(({ ending }) => ending !== "failed");
  const timed = read.filter(({ intendedAt }) => intendedAt >= fromMs && intendedAt < toMs * (1 - TAIL_SHARE))
    .map((reading) => ({ waitedMs: reading.endAt - reading.sentAt, ttftMs: timeStream(reading).ttftMs }));
  const unserved = timed.filter(({ ttftMs }) => ttftMs === null);
  const ttftMs = distribution(timed.map(({ ttftMs, waitedMs }) => ttftMs ?? waitedMs));
  // The true time of one unserved is longer than what was counted: above it the order of the samples is not known.
  const isBound = (percentile: number) => unserved.some(({ waitedMs }) => waitedMs <= percentile);
  const samples = run.samples.filter(({ atMs }) => within(atMs));
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / (values.length || 1);
  return {
    slots,
    tokensPerSecond: tokens * 1000 / (toMs - fromMs),
    ttftMs,
    unserved: unserved.length,
    ttftIsBound: {
      p50: ttftMs !== null && isBound(ttftMs.p50),
      p99: ttftMs !== null && isBound(ttftMs.p99),
    },
    tpotMs: distribution(
      read.filter(({ arrivals }) => arrivals.length > 0 && arrivals[0].at >= fromMs)
        .flatMap((reading) => timeStream(reading).tpotMs ?? []),
    ),
    slotsInUse: { mean: mean(samples.map((sample) => sample.slotsInUse)) },
    queue: {
      mean: mean(samples.map((sample) => sample.queue)),
      max: Math.max(0, ...samples.map((sample) => sample.queue)),
    },
    readers: run.readings.length,
    failed: run.readings.length - read.length,
    cpu: run.cpu,
  };
}
