import type { Picture } from "../charts/picture.ts";
import type { Machine } from "../machine.ts";
import type { Findings } from "../study/files.ts";
import { type Sample, SAMPLE_EVERY_MS } from "../study/run.ts";
import { shown, shownRate, shownTime } from "../table.ts";
import type { Figures } from "./figures.ts";
import { LEAVE_AFTER, loads, MODEL, TOKENS } from "./load.ts";
import type { Options } from "./options.ts";

/** One kind of run: its figures over all rounds, each round's own, and the samples of the first. */
export interface Side {
  pooled: Figures;
  rounds: Figures[];
  samples: Sample[];
}

export interface Savings {
  options: Options;
  machine: Machine;
  stopping: Side;
  ignoring: Side;
}

const STOPPING = "stopping on disconnect";
const IGNORING = "ignoring disconnects";

/** Puts the figures into words, a table and a picture. */
export function findingsOf(savings: Savings): Findings {
  const { options, machine, stopping, ignoring } = savings;
  return {
    picture: pictureOf(savings),
    table: tableOf(stopping.pooled, ignoring.pooled),
    notes: notesOf(savings),
    json: {
      options,
      machine,
      model: { ...MODEL, tokens: TOKENS, leaveAfter: LEAVE_AFTER },
      loads: loads(options),
      stopping,
      ignoring,
    },
  };
}

function tableOf(a: Figures, b: Figures): string[][] {
  const line = (
    name: string,
    take: (f: Figures) => number | null,
    show: (value: number | null) => string,
  ) => {
    const [x, y] = [take(a), take(b)];
    const ratio = x === null || y === null || y === 0 ? "" : shown(x / y, 2);
    return [name, show(x), show(y), ratio];
  };
  const plain = (name: string, show: (f: Figures) => string) => [name, show(a), show(b), ""];
  const wasted = ({ tokens: { generated, wasted } }: Figures) =>
    `${wasted} (${generated === 0 ? "n/a" : shown(wasted * 100 / generated, 1)} %)`;
  const ttft = (key: "p50" | "p99") => (f: Figures) => f.ttftMs?.[key] ?? null;
  return [
    ["", STOPPING, IGNORING, "ratio"],
    line("useful tokens per second", (f) => f.perSecond.useful, (v) => shown(v, 1)),
    line("wasted tokens per second", (f) => f.perSecond.wasted, (v) => shown(v, 1)),
    plain("wasted tokens, of all generated", wasted),
    plain("tokens made after the server saw a disconnect", (f) => String(f.generatedAfterAbort)),
    line("TTFT p50 of those who stay", ttft("p50"), shownTime),
    line("TTFT p99 of those who stay", ttft("p99"), shownTime),
    line("TTFT p99 from the intended start", (f) => f.ttftFromIntendedMs?.p99 ?? null, shownTime),
    line("queue length, mean", (f) => f.queue.mean, (v) => shown(v, 1)),
    line("queue length, longest", (f) => f.queue.max, (v) => shown(v)),
    plain("server idle again after", (f) => shownTime(f.idleAtMs)),
    plain(
      "readers: stayed + left + failed",
      (f) => `${f.readers - f.left - f.failed} + ${f.left} + ${f.failed}`,
    ),
  ];
}

function notesOf({ options, machine, stopping, ignoring }: Savings): string[] {
  const { rate, seconds, seed, slots, share, rounds } = options;
  const busy = loads(options);
  const percent = (value: number) => `${shown(value * 100)} %`;
  const left = (f: Figures) => percent(1 - f.cpu.generator);
  const late = Math.max(stopping.pooled.sentLateMs?.p99 ?? 0, ignoring.pooled.sentLateMs?.p99 ?? 0);
  const other = Math.max(stopping.pooled.cpu.other ?? 0, ignoring.pooled.cpu.other ?? 0);
  return [
    `Load: ${shownRate(rate)} readers per second as a Poisson process for ${seconds} s, seed ${seed}` +
    `${rounds > 1 ? ` to ${seed + rounds - 1}` : ""}, the same for both; each asks for ${TOKENS.min} to ` +
    `${TOKENS.max} tokens, and ${
      percent(share)
    } leave after ${LEAVE_AFTER.min} to ${LEAVE_AFTER.max}. Server: ` +
    `${slots} slots, ${MODEL.timeToFirstTokenMs} ms to the first token, ${MODEL.interTokenLatencyMs} ms for each ` +
    `further one. By the model the slots are wanted ${
      percent(busy.stopping)
    } of the time when leaving stops the ` +
    `work, and ${percent(busy.ignoring)} when it does not.`,
    "Useful: tokens that reached a reader who was still there, early leavers' few included. Wasted: all others that the " +
    "server generated, by its own records. Per second: of the tokens generated in the " +
    `${seconds} s in which readers come, where one on its way at their end is useful when its reader got it; the rest ` +
    "counts to the end. TTFT: from the write of the request to the first token with text, at the client.",
    `Queue: sampled each ${SAMPLE_EVERY_MS} ms. The mean is of the ${seconds} s in which readers come, the longest of ` +
    `all samples until the server was idle${
      rounds > 1 ? ", in any round; the picture shows the first" : ""
    }.`,
    `Load generator: ${left(stopping.pooled)} and ${
      left(ignoring.pooled)
    } of its core were left; 99 % of requests ` +
    `went out within ${shown(late, 1)} ms of their time. Other processes used up to ${
      percent(other)
    } of a core. ` +
    `Machine: ${machine.cores} cores, ${machine.cpu ?? machine.arch}, Deno ${machine.deno}.`,
    ...rounds > 1
      ? [`Useful tokens per second, by round: ${byRound(stopping)} and ${byRound(ignoring)}.`]
      : [],
  ];
}

function byRound({ rounds }: Side): string {
  return rounds.map(({ perSecond }) => shown(perSecond.useful, 0)).join(", ");
}

/** The finding as a sentence; what it says follows the figures, whichever way they fell. */
function titleOf({ stopping: { pooled: a }, ignoring: { pooled: b } }: Savings): string {
  const ratio = b.perSecond.useful === 0 ? "n/a" : shown(a.perSecond.useful / b.perSecond.useful, 2);
  return `Stopping when the reader leaves: ${ratio} × the useful tokens per second, ` +
    `TTFT p99 ${shownTime(a.ttftMs?.p99 ?? null)} instead of ${shownTime(b.ttftMs?.p99 ?? null)}`;
}

function pictureOf(savings: Savings): Picture {
  const { options, stopping, ignoring } = savings;
  const sides = [
    { name: STOPPING, color: "blue", dashed: false, ...stopping },
    { name: IGNORING, color: "orange", dashed: true, ...ignoring },
  ] as const;
  const perSecond = (name: "useful" | "wasted", color: "green" | "yellow") => ({
    name,
    kind: "bar" as const,
    color,
    stack: "tokens",
    labelAt: "inside" as const,
    points: sides.map(({ name: x, pooled }) => {
      const y = Math.max(0, pooled.perSecond[name]);
      // Within a sliver of a bar a number would not be readable.
      return { x, y, ...y > pooled.perSecond.generated / 12 ? { label: `${name} ${shown(y)}` } : {} };
    }),
  });
  return {
    title: titleOf(savings),
    subtitle: `${shownRate(options.rate)} readers per second for ${options.seconds} s, ` +
      `${
        shown(options.share * 100)
      } % leave after ${LEAVE_AFTER.min} to ${LEAVE_AFTER.max} of ${TOKENS.min} to ` +
      `${TOKENS.max} tokens; ${options.slots} slots; same seed for both`,
    width: 1000,
    rows: [{
      height: 320,
      panels: [{
        title: "Readers waiting for a slot",
        x: { name: "time since the first reader could come (s)", type: "value", min: 0 },
        y: { name: "queue length (readers)", type: "value", min: 0 },
        marks: [{ x: options.seconds, label: "no more readers come" }],
        series: sides.map(({ name, color, dashed, samples }) => ({
          name,
          kind: "line" as const,
          color,
          dashed,
          points: samples.map(({ atMs, queue }) => ({ x: Math.round(atMs) / 1000, y: queue })),
        })),
      }],
    }, {
      height: 320,
      panels: [{
        title: "What the slots were used for",
        x: { name: "", type: "category", categories: sides.map(({ name }) => name) },
        y: { name: "tokens per second", type: "value", min: 0 },
        series: [perSecond("useful", "green"), perSecond("wasted", "yellow")],
      }, {
        title: "Time to first token of those who stay",
        x: { name: "percentile", type: "category", categories: ["p50", "p99"] },
        y: { name: "TTFT (ms, logarithmic)", type: "log", min: 10 },
        series: sides.map(({ name, color, pooled: { ttftMs } }) => ({
          name,
          kind: "bar" as const,
          color,
          points: ttftMs === null
            ? []
            : (["p50", "p99"] as const).map((x) => ({ x, y: ttftMs[x], label: shownTime(ttftMs[x]) })),
        })),
      }],
    }],
  };
}
