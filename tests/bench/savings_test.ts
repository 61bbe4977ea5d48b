import { assert, assertAlmostEquals, assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import { faultsOf, figuresOf } from "../../bench/savings/figures.ts";
import { loads, rateFor } from "../../bench/savings/load.ts";
import { parseOptions } from "../../bench/savings/options.ts";
import { UsageError } from "../../bench/options.ts";
import type { Reading } from "../../bench/study/reader.ts";
import type { Run } from "../../bench/study/run.ts";
import { makeSchedule, mostReaders, type ScheduleOptions } from "../../bench/study/schedule.ts";

const LOAD: ScheduleOptions = {
  seed: 7,
  rate: 50,
  seconds: 400,
  share: 0.4,
  tokens: { min: 60, max: 120 },
  leaveAfter: { min: 2, max: 8 },
};

Deno.test("one seed is one schedule, another seed another", () => {
  assertEquals(makeSchedule(LOAD), makeSchedule(LOAD));
  assertNotEquals(makeSchedule(LOAD)[0].atMs, makeSchedule({ ...LOAD, seed: 8 })[0].atMs);
  const longer = makeSchedule({ ...LOAD, seconds: 500 });
  assertEquals(longer.slice(0, makeSchedule(LOAD).length), makeSchedule(LOAD));
});

Deno.test("arrivals are those of a Poisson process: exponential gaps, counts that vary as their mean", () => {
  const readers = makeSchedule(LOAD);
  const n = readers.length;
  // Four standard deviations of each estimate; the seed is fixed, so this does not fail by chance.
  assertAlmostEquals(n, 20_000, 4 * Math.sqrt(20_000));
  const gaps = readers.map(({ atMs }, i) => atMs - (readers[i - 1]?.atMs ?? 0));
  const mean = gaps.reduce((sum, gap) => sum + gap, 0) / n;
  const variance = gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / n;
  assertAlmostEquals(mean, 20, 4 * 20 / Math.sqrt(n));
  assertAlmostEquals(variance / mean ** 2, 1, 4 * Math.sqrt(8 / n));
  assertAlmostEquals(gaps.filter((gap) => gap > 20 * Math.LN2).length / n, 0.5, 4 * 0.5 / Math.sqrt(n));
  const perSecond = Array.from({ length: 400 }, () => 0);
  for (const { atMs } of readers) perSecond[Math.floor(atMs / 1000)]++;
  const spread = perSecond.reduce((sum, count) => sum + (count - 50) ** 2, 0) / 400;
  assertAlmostEquals(spread / 50, 1, 4 * Math.sqrt(2 / 400));
});

Deno.test("no seed gives more readers than the bound, which is not far above what they give on average", () => {
  const load = { ...LOAD, rate: 20, seconds: 20 };
  const most = mostReaders(load);
  const counts = Array.from({ length: 200 }, (_, seed) => makeSchedule({ ...load, seed }).length);
  assert(Math.max(...counts) <= most, `${Math.max(...counts)} of ${most}`);
  assertEquals(most, 480);
});

Deno.test("the planned share leaves, and every length lies within its range and reaches both ends", () => {
  const readers = makeSchedule(LOAD);
  const leaving = readers.flatMap(({ leavesAfter }) => leavesAfter ?? []);
  assertAlmostEquals(leaving.length / readers.length, 0.4, 4 * Math.sqrt(0.24 / readers.length));
  const ends = (values: number[]) => [Math.min(...values), Math.max(...values)];
  assertEquals(ends(leaving), [2, 8]);
  assertEquals(ends(readers.map(({ maxTokens }) => maxTokens)), [60, 120]);
  assertEquals(makeSchedule({ ...LOAD, share: 0 }).filter(({ leavesAfter }) => leavesAfter !== null), []);
  assertEquals(makeSchedule({ ...LOAD, share: 1 }).filter(({ leavesAfter }) => leavesAfter === null), []);
});

Deno.test("the default rate is just below saturation when leaving stops the work, and above it when not", () => {
  for (const slots of [1, 8, 100]) {
    const busy = loads({ share: 0.4, slots, rate: rateFor({ share: 0.4, slots }) });
    assertAlmostEquals(busy.stopping, 0.88, 1e-9);
    assert(busy.ignoring > 1.1, `${busy.ignoring}`);
  }
});

/** A reader that got a token at each of `arrivals`, sent when it should have been. */
function reading(index: number, ending: Reading["ending"], intendedAt: number, arrivals: number[]): Reading {
  return {
    planned: {
      index,
      atMs: intendedAt,
      prompt: "p",
      maxTokens: 3,
      leavesAfter: ending === "left" ? 1 : null,
    },
    ending,
    intendedAt,
    sentAt: intendedAt + 1,
    endAt: arrivals.at(-1) ?? intendedAt + 1,
    arrivals: arrivals.map((at) => ({ at, tokens: 1, length: 2 })),
  };
}

function record(index: number, generated: number, generated_after_abort = 0) {
  return {
    id: `reader-${index}`,
    outcome: "completed" as const,
    requested: 3,
    generated,
    generated_after_abort,
  };
}

/** Two stay with three tokens each, one leaves after one of three: of nine tokens seven are useful, two wasted. */
function ignoringRun(): Run {
  return {
    seconds: 1,
    readings: [
      reading(0, "stayed", 100, [151, 160, 170]),
      reading(1, "left", 200, [250]),
      reading(2, "stayed", 900, [1101, 1200, 1300]),
    ],
    samples: [0, 4, 2, 9].map((queue, i) => ({ atMs: i * 400, queue, slotsInUse: 1, generated: 0 })),
    generated: 9,
    totalsAddUp: true,
    records: [record(0, 3), record(1, 3, 2), record(2, 3)],
    recordsInWindow: [record(0, 3), record(1, 2, 1), record(2, 1)],
    cpu: { server: 0.2, generator: 0.1, other: null },
    idleAtMs: 1400,
  };
}

Deno.test("generated is useful and wasted; rates are of the window, TTFT of those who stay", () => {
  const figures = figuresOf([ignoringRun()]);
  assertEquals(figures.tokens, { generated: 9, useful: 7, wasted: 2 });
  // The token that the last reader has yet to get is useful, that of the one who left is not.
  assertEquals(figures.perSecond, { generated: 6, useful: 5, wasted: 1 });
  assertEquals(figures.generatedAfterAbort, 2);
  assertEquals([figures.readers, figures.left, figures.failed], [3, 1, 0]);
  assertEquals([figures.ttftMs?.p50, figures.ttftMs?.p99], [50, 200]);
  assertEquals([figures.ttftFromIntendedMs?.p50, figures.ttftFromIntendedMs?.p99], [51, 201]);
  // The last sample is from after the window: the mean is of the time in which readers come, the longest of the picture.
  assertEquals(figures.queue, { mean: 2, max: 9 });
  assertEquals(figures.sentLateMs?.max, 1);
});

Deno.test("rounds are pooled: sums over sums, percentiles over all readers", () => {
  const second = {
    ...ignoringRun(),
    readings: [reading(0, "stayed", 0, [901])],
    generated: 1,
  };
  const records = [record(0, 1)];
  const figures = figuresOf([ignoringRun(), { ...second, records, recordsInWindow: records }]);
  assertEquals(figures.tokens, { generated: 10, useful: 8, wasted: 2 });
  assertEquals(figures.perSecond, { generated: 3.5, useful: 3, wasted: 0.5 });
  assertEquals([figures.ttftMs?.count, figures.ttftMs?.p99], [3, 900]);
});

Deno.test("where nobody leaves nothing is wasted, also not what is on its way when no more readers come", () => {
  const run = ignoringRun();
  const figures = figuresOf([{
    ...run,
    readings: [reading(0, "stayed", 900, [951, 1101, 1200])],
    generated: 3,
    records: [record(0, 3)],
    recordsInWindow: [record(0, 2)],
  }]);
  assertEquals(figures.perSecond, { generated: 2, useful: 2, wasted: 0 });
  assertEquals(figures.tokens, { generated: 3, useful: 3, wasted: 0 });
});

Deno.test("figures that cannot be believed are named, and so is a server that went on", () => {
  assertEquals(faultsOf(ignoringRun(), false), []);
  const failed = { ...reading(0, "failed", 0, []), problem: "refused" };
  const broken: [Partial<Run>, boolean, string][] = [
    [{}, true, "wanted at most 1 token after a disconnect, a generation made 2"],
    [
      { readings: [failed, ...ignoringRun().readings.slice(1)] },
      false,
      "1 of 3 readers failed, the first: refused",
    ],
    [{ totalsAddUp: false }, false, "the server's totals are not the sum of their parts"],
    [
      { records: ignoringRun().records.slice(1), generated: 6 + 1 },
      false,
      "wanted 3 records of the server, got 2",
    ],
    [{ generated: 10 }, false, "the server's totals say 10 tokens were generated, its records 9"],
    [
      { generated: 6, records: [record(0, 3), record(1, 0), record(2, 3)] },
      false,
      "readers got 7 tokens, the server made 6",
    ],
  ];
  for (const [change, stopping, fault] of broken) {
    const faults = faultsOf({ ...ignoringRun(), ...change }, stopping);
    assert(faults.includes(fault), `no "${fault}" in ${JSON.stringify(faults)}`);
  }
});

Deno.test("bad usage is one line that says what was wanted", () => {
  const cases: [string[], string][] = [
    [["--share", "2"], '--share: wanted a number from 0 to 1, got "2"'],
    [["--slots", "0"], '--slots: wanted a whole number from 1 to 1000, got "0"'],
    [["--rate", "fast"], "--rate: wanted a number from 0.01 to 1000"],
    [["--seconds", "100"], "wanted fewer than 1000 readers"],
    [["--nothing"], "--nothing"],
  ];
  for (const [args, message] of cases) {
    const error = assertThrows(() => parseOptions(args), UsageError, message);
    assert(!error.message.includes("\n"));
  }
  assertEquals(parseOptions(["--help"]), "help");
});

Deno.test("a real server wastes next to nothing when it stops on disconnect, and much when it does not", async () => {
  const out = await Deno.makeTempDir();
  try {
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "bench/savings.ts", "--seconds", "2", "--out", out, "--json"],
      cwd: new URL("../../", import.meta.url),
    }).output();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    assertEquals([code, text(stderr)], [0, ""]);
    const { stopping, ignoring } = JSON.parse(text(stdout));
    for (const { pooled: { tokens, readers, left, failed } } of [stopping, ignoring]) {
      assertEquals(tokens.useful + tokens.wasted, tokens.generated);
      assertEquals(failed, 0);
      assert(left > 5 && left < readers - 5, `${left} of ${readers} left`);
    }
    assertEquals(stopping.pooled.left, ignoring.pooled.left);
    // Those on their way when the reader left: a few each on a busy machine, where the other run wastes 80 each.
    const wastedEach = (side: typeof stopping) => side.pooled.tokens.wasted / side.pooled.left;
    assert(wastedEach(stopping) < 10, `${wastedEach(stopping)} wasted for each that left`);
    assert(stopping.pooled.generatedAfterAbort <= stopping.pooled.left);
    assert(wastedEach(ignoring) > 50, `${wastedEach(ignoring)} wasted for each that left`);
    const files = [...Deno.readDirSync(out)].map(({ name }) => name).sort();
    assertEquals(files, ["savings.html", "savings.json", "savings.svg", "savings.txt"]);
    assertEquals(JSON.parse(Deno.readTextFileSync(`${out}/savings.json`)), JSON.parse(text(stdout)));
  } finally {
    await Deno.remove(out, { recursive: true });
  }
});
