import type { Picture } from "../charts/picture.ts";
import type { Machine } from "../machine.ts";
import type { Findings } from "../study/files.ts";
import { SAMPLE_EVERY_MS } from "../study/run.ts";
import { shown, shownRate, shownTime } from "../table.ts";
import type { Point } from "./figures.ts";
import { capacity, MODEL, timeFactor, TOKENS } from "./load.ts";
import type { Options } from "./options.ts";

/** Puts the figures of all sizes, the smallest first, into words, a table and a picture. */
export function findingsOf(options: Options, machine: Machine, points: Point[]): Findings {
  return {
    picture: pictureOf(options, points),
    table: tableOf(options, points),
    notes: notesOf(options, machine, points),
    json: { options, machine, model: { ...MODEL, tokens: TOKENS }, points },
  };
}

function tableOf({ slowdown }: Options, points: Point[]): string[][] {
  return [
    [
      "slots",
      "tokens/s",
      "full by model",
      "TTFT p50",
      "TTFT p99",
      "TPOT p50",
      "TPOT p99",
      "slots in use",
      "queue, longest",
      "no token yet",
    ],
    ...points.map(({ slots, tokensPerSecond, ttftMs, tpotMs, slotsInUse, queue, unserved, ttftIsBound }) => [
      String(slots),
      shown(tokensPerSecond),
      shown(capacity(slots, slowdown)),
      (ttftIsBound.p50 ? "≥ " : "") + shownTime(ttftMs?.p50 ?? null),
      (ttftIsBound.p99 ? "≥ " : "") + shownTime(ttftMs?.p99 ?? null),
      `${shown(tpotMs?.p50 ?? null, 1)} ms`,
      `${shown(tpotMs?.p99 ?? null, 1)} ms`,
      shown(slotsInUse.mean, 1),
      shown(queue.max),
      String(unserved),
    ]),
  ];
}

function notesOf({ rate, seconds, seed, slowdown }: Options, machine: Machine, points: Point[]): string[] {
  const busiest = Math.max(...points.map(({ cpu }) => cpu.generator));
  const other = Math.max(...points.map(({ cpu }) => cpu.other ?? 0));
  const percent = (value: number) => `${shown(value * 100)} %`;
  return [
    `Load: ${
      shownRate(rate)
    } readers per second as a Poisson process for ${seconds} s, seed ${seed}, the same for every ` +
    `size; each asks for ${TOKENS.min} to ${TOKENS.max} tokens, which makes ` +
    `${
      shown(rate * (TOKENS.min + TOKENS.max) / 2)
    } tokens per second. Server: ${MODEL.timeToFirstTokenMs} ms to the ` +
    `first token, ${MODEL.interTokenLatencyMs} ms for each further one in a batch of one, and ${
      percent(slowdown)
    } more for ` +
    `each further member (--time-factor-under-load ${
      points.map(({ slots }) => shown(timeFactor(slots, slowdown), 2)).join(", ")
    }).`,
    "Full by model: tokens per second when every slot always has a reader, the time to the first token included. " +
    "Measured after the first fifth of the time. TTFT: from the write of the request to the first token with text, of readers " +
    "that came before the last tenth. TPOT: " +
    "(last token − first token) / (tokens − those of the first event), of each stream. A size that cannot keep up lets its " +
    "queue grow for as long as the load lasts: its TTFT says how long that was. A reader without a token at the end counts " +
    "with the time it had waited, and ≥ marks a percentile for which that matters. " +
    `Slots and queue: sampled each ${SAMPLE_EVERY_MS} ms of the measured time.`,
    `Load generator: at least ${percent(1 - busiest)} of its core was left. Other processes used up to ${
      percent(other)
    } of a ` +
    `core. Machine: ${machine.cores} cores, ${machine.cpu ?? machine.arch}, Deno ${machine.deno}.`,
  ];
}

/** The finding as a sentence: what becomes of throughput and times from the smallest size to the largest. */
function titleOf(points: Point[]): string {
  const [first, last] = [points[0], points.at(-1)!];
  const change = (take: (point: Point) => string) =>
    first === last ? take(last) : `${take(first)} → ${take(last)}`;
  const ttft = ({ ttftMs, ttftIsBound }: Point) =>
    (ttftIsBound.p99 ? "over " : "") + shownTime(ttftMs?.p99 ?? null);
  return `Slots ${change(({ slots }) => String(slots))}: ` +
    `throughput ${change(({ tokensPerSecond }) => shown(tokensPerSecond))} tokens per second, ` +
    `TTFT p99 ${change(ttft)}, TPOT p50 ${change(({ tpotMs }) => shown(tpotMs?.p50 ?? null, 1))} ms`;
}

function pictureOf({ rate, seconds, slowdown }: Options, points: Point[]): Picture {
  const x = { name: "throughput (tokens per second)", type: "value" as const, min: 0 };
  return {
    title: titleOf(points),
    subtitle:
      `The same ${
        shownRate(rate)
      } readers per second for ${seconds} s to each size of the batch; each further member ` +
      `slows a step by ${shown(slowdown * 100)} %. Numbers at the points: --max-num-seqs`,
    width: 1000,
    rows: [{
      height: 420,
      panels: [{
        title: "More slots: shorter wait for the first token",
        x,
        y: { name: "TTFT p99 (ms, logarithmic)", type: "log" },
        series: [{
          name: points.some(({ ttftIsBound }) => ttftIsBound.p99)
            ? "TTFT p99 (hollow: at least)"
            : "TTFT p99",
          kind: "points",
          color: "blue",
          points: points.flatMap(({ slots, tokensPerSecond, ttftMs, ttftIsBound }) =>
            ttftMs === null
              ? []
              : [{ x: tokensPerSecond, y: ttftMs.p99, label: String(slots), hollow: ttftIsBound.p99 }]
          ),
        }],
      }, {
        title: "More slots: each token takes longer",
        x,
        y: { name: "TPOT (ms)", type: "value", min: 0 },
        series: (["p99", "p50"] as const).map((key) => ({
          name: `TPOT ${key}`,
          kind: "points" as const,
          color: key === "p99" ? "orange" as const : "green" as const,
          dashed: key === "p99",
          points: points.flatMap(({ slots, tokensPerSecond, tpotMs }) =>
            tpotMs === null
              ? []
              : [{ x: tokensPerSecond, y: tpotMs[key], ...(key === "p50" ? { label: String(slots) } : {}) }]
          ),
        })),
      }],
    }],
  };
}
