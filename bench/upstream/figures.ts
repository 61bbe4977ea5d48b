import { median } from "../median.ts";
import type { Taken } from "./window.ts";

export const MAX_ADDED_P50_MS = 1;
export const MAX_ADDED_P99_MS = 10;
export const MAX_CPU_RATIO = 2;

/** The same streams taken directly and through the hop. */
export interface Round {
  direct: Taken;
  hop: Taken;
}

/** A figure and its bound. */
export interface Figure {
  what: string;
  value: number;
  most: number;
}

/** The medians over the rounds; that of the CPU is left out where there is no /proc. */
export function figuresOf(rounds: readonly Round[]): Figure[] {
  const cpu = rounds.flatMap(({ direct, hop }) =>
    direct.cpuUsPerToken === null || hop.cpuUsPerToken === null
      ? []
      : [hop.cpuUsPerToken / direct.cpuUsPerToken]
  );
  return [
    {
      what: "added per token, p50 in ms",
      value: median(rounds.map(({ direct, hop }) => hop.delay.p50 - direct.delay.p50))!,
      most: MAX_ADDED_P50_MS,
    },
    {
      what: "added per token, p99 in ms",
      value: median(rounds.map(({ direct, hop }) => hop.delay.p99 - direct.delay.p99))!,
      most: MAX_ADDED_P99_MS,
    },
    ...cpu.length === 0
      ? []
      : [{ what: "CPU per token, times the simulated engine's", value: median(cpu)!, most: MAX_CPU_RATIO }],
  ];
}
