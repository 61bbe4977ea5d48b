import { makeSchedule, type PlannedReader, type Range } from "../study/schedule.ts";

/** Milliseconds to the first token, and for each further one when a generation is alone in the batch. */
export const MODEL = { timeToFirstTokenMs: 50, interTokenLatencyMs: 10 } as const;

/** Tokens a reader asks for. */
export const TOKENS: Range = { min: 40, max: 80 };

export interface Load {
  rate: number;
  seconds: number;
  seed: number;
}

/** The readers that every size of the batch is given; all stay. */
export function schedule(load: Load): PlannedReader[] {
  return makeSchedule({ ...load, share: 0, tokens: TOKENS, leaveAfter: { min: 1, max: 1 } });
}

/**
 * `--time-factor-under-load` for a batch of `slots`. That factor is the one of a full batch, whatever its size; on one
 * accelerator a step takes longer by the same for each further member, so a larger batch has a larger factor.
 *
 * @param slowdown by how much each further member slows a step down, as a share of the step of one alone
 */
export function timeFactor(slots: number, slowdown: number): number {
  return 1 + slowdown * (slots - 1);
}

/** Tokens per second by the model when every slot always has a reader, whose first token takes its time too. */
export function capacity(slots: number, slowdown: number): number {
  const tokens = (TOKENS.min + TOKENS.max) / 2;
  const stepMs = MODEL.interTokenLatencyMs * timeFactor(slots, slowdown);
  return slots * tokens * 1000 / (MODEL.timeToFirstTokenMs + (tokens - 1) * stepMs);
}
