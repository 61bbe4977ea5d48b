import { draw } from "../../lib/engine/hash.ts";

/** One reader of the load, decided before the run. */
export interface PlannedReader {
  /** Its place in the schedule, from 0. */
  index: number;
  /** When it comes, in milliseconds from the start. */
  atMs: number;
  prompt: string;
  /** Tokens it asks for. */
  maxTokens: number;
  /** It leaves after reading this many; null: it stays to the end. */
  leavesAfter: number | null;
}

export interface ScheduleOptions {
  seed: number;
  /** Readers per second, on average. */
  rate: number;
  seconds: number;
  /** Of all readers, the share that leaves early, 0 to 1. */
  share: number;
  /** Tokens a reader asks for: uniform over this range, both ends in it. */
  tokens: Range;
  /** Tokens after which one that leaves has left. */
  leaveAfter: Range;
}

export interface Range {
  min: number;
  max: number;
}

/** So many readers that hardly a seed gives more: four standard deviations of a Poisson count over its mean. */
export function mostReaders({ rate, seconds }: Pick<ScheduleOptions, "rate" | "seconds">): number {
  const mean = rate * seconds;
  return mean + 4 * Math.sqrt(mean);
}

/** What a draw is for. Apart from the engine's own, so that load and text of one seed have nothing in common. */
const PURPOSE = { gap: 101, leaves: 102, tokens: 103, leaveAfter: 104 };

/**
 * An open-loop load: arrivals of a Poisson process, which do not wait for answers. Every draw is a hash of seed and
 * index, so that the same seed gives the same readers on every machine, whatever the server does.
 */
export function makeSchedule(options: ScheduleOptions): PlannedReader[] {
  const { seed, rate, seconds, share, tokens, leaveAfter } = options;
  const uniform = (purpose: number, index: number) => draw(seed, purpose, index) / 0x1_0000_0000;
  const within = ({ min, max }: Range, purpose: number, index: number) =>
    min + Math.floor(uniform(purpose, index) * (max - min + 1));

  const readers: PlannedReader[] = [];
  let atMs = 0;
  for (let index = 0;; index++) {
    // Gaps of a Poisson process are exponential; 1 − u is never 0.
    atMs += -Math.log(1 - uniform(PURPOSE.gap, index)) * 1000 / rate;
    if (atMs >= seconds * 1000) return readers;
    readers.push({
      index,
      atMs,
      prompt: `reader ${index} of seed ${seed}`,
      maxTokens: within(tokens, PURPOSE.tokens, index),
      leavesAfter: uniform(PURPOSE.leaves, index) < share
        ? within(leaveAfter, PURPOSE.leaveAfter, index)
        : null,
    });
  }
}
