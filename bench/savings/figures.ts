import { type Distribution, distribution, timeStream } from "../../lib/client/timing.ts";
import type { Run } from "../study/run.ts";

/** What one kind of run came to, over all its rounds. */
export interface Figures {
  readers: number;
  left: number;
  failed: number;
  /** Per second of the window in which readers come. */
  perSecond: { generated: number; useful: number; wasted: number };
  /** Over the whole run, until the server was idle: generated = useful + wasted. */
  tokens: { generated: number; useful: number; wasted: number };
  /** Tokens produced after the server had seen that the reader left, by its records. */
  generatedAfterAbort: number;
  /** Of those who stayed, from the write of the request to the first token with text. */
  ttftMs: Distribution | null;
  /** The same from the time the reader was to come. */
  ttftFromIntendedMs: Distribution | null;
  /** Generations that waited for a slot, over the samples of the window. */
  queue: { mean: number; max: number };
  /** From the start until the server was idle, the longest of the rounds. */
  idleAtMs: number;
  /** How late requests were sent: what the load generator itself adds. */
  sentLateMs: Distribution | null;
  /** Shares of one core, means over the rounds. */
  cpu: { server: number | null; generator: number; other: number | null };
}

/** Pools the runs of one kind: a percentile is that of all readers, a rate that of all windows. */
export function figuresOf(runs: readonly Run[]): Figures {
  const readings = runs.flatMap((run) => run.readings);
  const timings = readings.filter(({ ending }) => ending === "stayed").map(timeStream);
  const windowMs = runs[0].seconds * 1000;
  const queue = runs.flatMap(({ samples }) => samples).filter(({ atMs }) => atMs <= windowMs)
    .map((sample) => sample.queue);
  const seconds = sum(runs.map((run) => run.seconds));
  const generated = sum(runs.map((run) => run.generated));
  const generatedInWindow = sum(runs.map((run) => run.generatedInWindow));
  const useful = usefulTokens(runs, Infinity);
  const usefulInWindow = usefulTokens(runs, windowMs);
  const mean = (values: (number | null)[]) =>
    values.some((value) => value === null) ? null : sum(values as number[]) / values.length;
  return {
    readers: readings.length,
    left: readings.filter(({ ending }) => ending === "left").length,
    failed: readings.filter(({ ending }) => ending === "failed").length,
    perSecond: {
      generated: generatedInWindow / seconds,
      useful: usefulInWindow / seconds,
      wasted: (generatedInWindow - usefulInWindow) / seconds,
    },
    tokens: { generated, useful, wasted: generated - useful },
    generatedAfterAbort: sum(runs.flatMap(({ records }) => records.map((r) => r.generated_after_abort))),
    ttftMs: distribution(timings.flatMap(({ ttftMs }) => ttftMs ?? [])),
    ttftFromIntendedMs: distribution(timings.flatMap(({ ttftFromIntendedMs }) => ttftFromIntendedMs ?? [])),
    queue: { mean: queue.length === 0 ? 0 : sum(queue) / queue.length, max: Math.max(0, ...queue) },
    idleAtMs: Math.max(...runs.map((run) => run.idleAtMs)),
    sentLateMs: distribution(readings.map(({ sentAt, intendedAt }) => sentAt - intendedAt)),
    cpu: {
      server: mean(runs.map(({ cpu }) => cpu.server)),
      generator: mean(runs.map(({ cpu }) => cpu.generator))!,
      other: mean(runs.map(({ cpu }) => cpu.other)),
    },
  };
}

/** Tokens that came to a reader that was still there, until `beforeMs`. */
function usefulTokens(runs: readonly Run[], beforeMs: number): number {
  return sum(
    runs.flatMap(({ readings }) =>
      readings.flatMap(({ arrivals }) => arrivals.map(({ at, tokens }) => at <= beforeMs ? tokens : 0))
    ),
  );
}

/** Why a run's figures cannot be believed, or its server did not do what it claims; none when all is well. */
export function faultsOf(run: Run, stopping: boolean): string[] {
  const faults: string[] = [];
  const failed = run.readings.filter(({ ending }) => ending === "failed");
  if (failed.length > 0) {
    faults.push(`${failed.length} of ${run.readings.length} readers failed, the first: ${failed[0].problem}`);
  }
  if (!run.totalsAddUp) faults.push("the server's totals are not the sum of their parts");
  if (run.records.length !== run.readings.length) {
    faults.push(`wanted ${run.readings.length} records of the server, got ${run.records.length}`);
  }
  const recorded = sum(run.records.map(({ generated }) => generated));
  if (recorded !== run.generated) {
    faults.push(`the server's totals say ${run.generated} tokens were generated, its records ${recorded}`);
  }
  const useful = usefulTokens([run], Infinity);
  if (useful > run.generated) faults.push(`readers got ${useful} tokens, the server made ${run.generated}`);
  const worst = Math.max(0, ...run.records.map((record) => record.generated_after_abort));
  if (stopping && worst > 1) {
    faults.push(`wanted at most 1 token after a disconnect, a generation made ${worst}`);
  }
  return faults;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
