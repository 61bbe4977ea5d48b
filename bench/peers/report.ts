import type { PacedResult, Result, UnpacedResult } from "../load/job.ts";
import { median } from "../median.ts";
import { shown, textTable } from "../table.ts";

/** One measured run of one server. `round` counts from 1. */
export interface Run {
  peer: string;
  round: number;
  result: Result;
}

interface Column {
  title: string;
  value(result: Result): number | null;
  digits: number;
  /** Printed also as a ratio to the reference server. */
  ratio?: true;
}

const paced = (take: (result: PacedResult) => number | null | undefined) => (result: Result) =>
  result.kind === "paced" ? take(result) ?? null : null;
const unpaced = (take: (result: UnpacedResult) => number | null | undefined) => (result: Result) =>
  result.kind === "unpaced" ? take(result) ?? null : null;
const percent = (share: number | null) => share === null ? null : share * 100;

const COMMON: Column[] = [
  { title: "server CPU %", value: (r) => percent(r.serverCpuShare), digits: 0 },
  {
    title: "generator CPU %",
    value: (r) => percent(r.generatorCpuShare),
    digits: 0,
  },
  { title: "other CPU %", value: (r) => percent(r.otherCpuShare), digits: 0 },
  { title: "bytes/token", value: (r) => r.bodyBytesPerToken, digits: 1 },
  { title: "incomplete", value: (r) => r.incomplete, digits: 0 },
  { title: "unfinished", value: (r) => r.unfinished, digits: 0 },
];

const COLUMNS: Record<Result["kind"], Column[]> = {
  paced: [
    {
      title: "CPU µs/token",
      value: (r) => r.serverCpuUsPerToken,
      digits: 2,
      ratio: true,
    },
    { title: "gap p50 ms", value: paced((r) => r.gapMs?.p50), digits: 2 },
    {
      title: "gap p99 ms",
      value: paced((r) => r.gapMs?.p99),
      digits: 2,
      ratio: true,
    },
    { title: "gap max ms", value: paced((r) => r.gapMs?.max), digits: 1 },
    { title: "TTFT p99 ms", value: (r) => r.ttftMs?.p99 ?? null, digits: 1 },
    {
      title: "KiB/stream",
      value: paced((r) => r.residentKibPerStream),
      digits: 1,
      ratio: true,
    },
    { title: "rate %", value: paced((r) => percent(r.rateShare)), digits: 1 },
    ...COMMON,
  ],
  unpaced: [
    {
      title: "tokens/s",
      value: (r) => r.tokensPerSecond,
      digits: 0,
      ratio: true,
    },
    { title: "CPU µs/token", value: (r) => r.serverCpuUsPerToken, digits: 2 },
    {
      title: "health p50 ms",
      value: unpaced((r) => r.healthMs?.p50),
      digits: 2,
    },
    {
      title: "health p99 ms",
      value: unpaced((r) => r.healthMs?.p99),
      digits: 2,
      ratio: true,
    },
    { title: "TTFT p99 ms", value: (r) => r.ttftMs?.p99 ?? null, digits: 1 },
    ...COMMON,
  ],
};

export interface Summary {
  peer: string;
  rounds: number;
  /** Median over the rounds, by column title. */
  medians: Record<string, number | null>;
  /** Median divided by the reference server's median, by column title. */
  ratios: Record<string, number | null>;
}

/** Medians of each server and their ratios to `reference`; runs must be of one kind and load. */
export function summarize(runs: Run[], reference: string): Summary[] {
  const kind = runs[0].result.kind;
  const mediansOf = (peer: string) => {
    const own = runs.filter((run) => run.peer === peer);
    return Object.fromEntries(
      COLUMNS[kind].map((
        { title, value },
      ) => [title, median(own.map((run) => value(run.result)))]),
    );
  };
  const base = mediansOf(reference);
  return [...new Set(runs.map((run) => run.peer))].map((peer) => {
    const medians = mediansOf(peer);
    const ratios = Object.fromEntries(
      COLUMNS[kind].filter((column) => column.ratio).map((
        { title },
      ) => [title, divide(medians[title], base[title])]),
    );
    return {
      peer,
      rounds: runs.filter((run) => run.peer === peer).length,
      medians,
      ratios,
    };
  });
}

/** The medians as a table for people, one line for each server. */
export function summaryTable(runs: Run[], reference: string): string {
  const columns = COLUMNS[runs[0].result.kind];
  const summaries = summarize(runs, reference);
  const compared = summaries.some((summary) => summary.peer === reference) &&
    summaries.length > 1;
  const cell = (summary: Summary, { title, digits, ratio }: Column) => {
    const figure = shown(summary.medians[title], digits);
    return ratio && compared ? `${figure} (${shown(summary.ratios[title], 2)})` : figure;
  };
  return textTable([
    ["server", ...columns.map(({ title }) => title)],
    ...summaries.map((
      summary,
    ) => [summary.peer, ...columns.map((column) => cell(summary, column))]),
  ]);
}

/** Above this share of a core used by other processes, a run is called disturbed. */
const DISTURBED_SHARE = 0.2;

/**
 * A warning when other work ran meanwhile, else "". It matters both ways: gaps grow, while a paced server that
 * is kept waiting finds more tokens due at each wake-up and so looks cheaper per token.
 */
export function disturbance(runs: Run[]): string {
  const disturbed = runs.filter(({ result }) => (result.otherCpuShare ?? 0) > DISTURBED_SHARE)
    .length;
  if (disturbed === 0) return "";
  const limit = DISTURBED_SHARE * 100;
  return `disturbed: in ${disturbed} of ${runs.length} runs other processes used more than ${limit} % of a core`;
}

/**
 * How much of its core the load generator had left in the paced run that took most of it, else "". With little left it
 * is what is measured; an unpaced run takes all that there is.
 */
export function generatorRoom(runs: Run[]): string {
  const paced = runs.filter(({ result }) => result.kind === "paced");
  if (paced.length === 0) return "";
  const left = 1 - Math.max(...paced.map(({ result }) => result.generatorCpuShare));
  return `load generator: never less than ${
    shown(Math.max(0, left) * 100)
  } % of a core was left in a paced run`;
}

/** One run on one line. */
export function runLine({ peer, round, result }: Run): string {
  const figures = COLUMNS[result.kind].map(({ title, value, digits }) =>
    `${title} ${shown(value(result), digits)}`
  );
  const errors = result.errors.length > 0 ? `\n    problems: ${result.errors.join("; ")}` : "";
  return `  round ${round} ${peer}: ${figures.join(", ")}${errors}`;
}

function divide(value: number | null, base: number | null): number | null {
  return value === null || base === null || base === 0 ? null : value / base;
}
