import { makeSchedule, type PlannedReader, type Range } from "../study/schedule.ts";

/** The simulated engine's cost model, in milliseconds. */
export const MODEL = { timeToFirstTokenMs: 50, interTokenLatencyMs: 5 } as const;

/** Tokens a reader asks for. */
export const TOKENS: Range = { min: 60, max: 120 };

/** Tokens after which a reader that leaves has left. */
export const LEAVE_AFTER: Range = { min: 2, max: 8 };

/** Of the slots, the share that is busy on average when leaving stops the work: high, and not yet saturated. */
const LOAD = 0.88;

interface Shares {
  share: number;
  slots: number;
}

/** The rate at which the slots are just below saturation when leaving stops the work, in readers per second. */
export function rateFor({ share, slots }: Shares): number {
  return LOAD * slots * 1000 / slotMs(share);
}

/** How busy the slots are on average, over 1 for more than they can do, in both kinds of run. */
export function loads({ share, slots, rate }: Shares & { rate: number }) {
  const load = (ms: number) => rate * ms / 1000 / slots;
  return { stopping: load(slotMs(share)), ignoring: load(slotMs(0)) };
}

/** The readers of a round; rounds have seeds of their own, so that one odd schedule does not decide. */
export function roundSchedule(
  options: Shares & { rate: number; seconds: number; seed: number },
  round: number,
): PlannedReader[] {
  return makeSchedule({
    ...options,
    seed: options.seed + round,
    tokens: TOKENS,
    leaveAfter: LEAVE_AFTER,
  });
}

/** How long a reader holds a slot, on average, when `share` of all leave early. */
function slotMs(share: number): number {
  const hold = ({ min, max }: Range) =>
    MODEL.timeToFirstTokenMs + MODEL.interTokenLatencyMs * ((min + max) / 2 - 1);
  return (1 - share) * hold(TOKENS) + share * hold(LEAVE_AFTER);
}
