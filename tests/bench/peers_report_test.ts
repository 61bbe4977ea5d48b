import { assertEquals, assertStringIncludes } from "@std/assert";
import type { PacedResult } from "../../bench/load/job.ts";
import {
  disturbance,
  generatorRoom,
  type Run,
  runLine,
  summarize,
  summaryTable,
} from "../../bench/peers/report.ts";

function run(peer: string, round: number, cpuUs: number | null, more: Partial<PacedResult> = {}): Run {
  const result: PacedResult = {
    kind: "paced",
    transport: "sockets",
    seconds: 1,
    tokens: 100,
    tokensPerSecond: 100,
    bodyBytesPerToken: 25,
    ttftMs: null,
    complete: 10,
    incomplete: 0,
    unfinished: 0,
    errors: [],
    serverCpuUsPerToken: cpuUs,
    serverCpuShare: 0.5,
    generatorCpuShare: 0.25,
    otherCpuShare: 0,
    streams: 10,
    rateShare: 1,
    gapMs: { count: 90, p50: 20, p99: 21, max: 30 },
    residentKibPerStream: null,
    ...more,
  };
  return { peer, round, result };
}

const CPU = "CPU µs/token";

Deno.test("a figure is the median over the rounds, and its ratio is to the reference's median", () => {
  const runs = [
    ...[10, 40, 12].map((us, i) => run("a", i + 1, us)),
    ...[20, 30, 24, 100].map((us, i) => run("b", i + 1, us)),
  ];
  const [a, b] = summarize(runs, "a");
  assertEquals([a.medians[CPU], a.ratios[CPU], a.rounds], [12, 1, 3]);
  assertEquals([b.medians[CPU], b.ratios[CPU], b.rounds], [27, 2.25, 4]);
});

Deno.test("what was not measured is n/a in the table, and never 0", () => {
  const lines = summaryTable([run("a", 1, 10), run("b", 1, null)], "a").split("\n");
  assertEquals(lines.map((line) => line.split(/\s{2,}/)[0]), ["server", "a", "b"]);
  assertStringIncludes(lines[1], "10.00 (1.00)");
  assertStringIncludes(lines[2], "n/a (n/a)");
  assertEquals(new Set(lines.map((line) => line.length)).size, 1, "the columns stand below each other");
});

Deno.test("a run says its problems, and a set of runs that other work disturbed it", () => {
  const disturbed = run("a", 2, 10, { otherCpuShare: 0.3, errors: ["2 × connection reset"] });
  assertStringIncludes(runLine(disturbed), "problems: 2 × connection reset");
  assertEquals(disturbance([run("a", 1, 10)]), "");
  assertStringIncludes(disturbance([run("a", 1, 10), disturbed]), "in 1 of 2 runs");
});

Deno.test("a set of runs says what its load generator had left in the busiest of them", () => {
  const busy = run("b", 1, 10, { generatorCpuShare: 0.64 });
  assertStringIncludes(generatorRoom([run("a", 1, 10), busy]), "never less than 36 % of a core was left");
  assertStringIncludes(
    generatorRoom([run("a", 1, 10, { generatorCpuShare: 1.2 })]),
    "less than 0 % of a core",
  );
});
