import { assert, assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { UsageError } from "../../bench/options.ts";
import type { Reading } from "../../bench/study/reader.ts";
import type { Run } from "../../bench/study/run.ts";
import { pointOf } from "../../bench/tradeoff/figures.ts";
import { capacity, timeFactor } from "../../bench/tradeoff/load.ts";
import { parseOptions } from "../../bench/tradeoff/options.ts";

function reading(intendedAt: number, arrivals: number[], ending: Reading["ending"] = "stayed"): Reading {
  return {
    planned: { index: 0, atMs: intendedAt, prompt: "p", maxTokens: arrivals.length, leavesAfter: null },
    ending,
    intendedAt,
    sentAt: intendedAt,
    endAt: ending === "cut" ? 1000 : arrivals.at(-1) ?? intendedAt,
    arrivals: arrivals.map((at) => ({ at, tokens: 1, length: 2 })),
  };
}

function runOf(readings: Reading[]): Run {
  return {
    seconds: 1,
    readings,
    samples: [50, 0, 8, 4].map((queue, i) => ({ atMs: i * 300, queue, slotsInUse: i, generated: 0 })),
    generated: 0,
    totalsAddUp: true,
    records: [],
    recordsInWindow: [],
    cpu: { server: null, generator: 0.1, other: null },
    idleAtMs: 1000,
  };
}

Deno.test("the first fifth of the window is not measured, nor is what comes after it", () => {
  const point = pointOf(
    4,
    runOf([
      reading(0, [100, 150, 210]),
      reading(300, [340, 360, 380, 1010]),
    ]),
  );
  assertAlmostEquals(point.tokensPerSecond, 4 / 0.8, 1e-9);
  assertEquals([point.ttftMs?.count, point.ttftMs?.p99], [1, 40]);
  assertEquals(point.queue, { mean: 4, max: 8 });
  assertEquals(point.slotsInUse.mean, 2);
});

Deno.test("TPOT is of streams whose first token came in the measured time, also of those cut", () => {
  const point = pointOf(
    4,
    runOf([
      reading(0, [100, 400]),
      reading(0, [300, 310, 320]),
      reading(500, [600, 630], "cut"),
      reading(700, [750]),
    ]),
  );
  assertEquals([point.tpotMs?.count, point.tpotMs?.p50, point.tpotMs?.max], [2, 10, 30]);
});

Deno.test("a reader still without a token counts with its wait, and makes a bound of what it might exceed", () => {
  const served = [250, 260, 270].map((at) => reading(at, [at + 20]));
  const exact = pointOf(4, runOf(served));
  assertEquals([exact.unserved, exact.ttftIsBound], [0, { p50: false, p99: false }]);

  const waiting = pointOf(4, runOf([...served, reading(400, [], "cut")]));
  assertEquals([waiting.unserved, waiting.ttftMs?.p50, waiting.ttftMs?.p99], [1, 20, 600]);
  assertEquals(waiting.ttftIsBound, { p50: false, p99: true });

  const most = pointOf(4, runOf([served[0], reading(300, [], "cut"), reading(400, [], "cut")]));
  assertEquals(most.ttftIsBound, { p50: true, p99: true });
});

Deno.test("a reader of the last tenth had no time to be served, and does not count as one that waits", () => {
  const point = pointOf(4, runOf([reading(300, [350]), reading(950, [], "cut")]));
  assertEquals([point.unserved, point.ttftMs?.count, point.ttftIsBound.p99], [0, 1, false]);
});

Deno.test("a reader that failed is counted as such, and nowhere else", () => {
  const point = pointOf(4, runOf([reading(300, [350]), reading(400, [], "failed")]));
  assertEquals([point.readers, point.failed, point.unserved, point.ttftMs?.count], [2, 1, 0, 1]);
});

Deno.test("a step of b members takes the same in every batch: only full batches differ", () => {
  // The server's factor is linear from 1 for one member to the flag's value for all.
  const step = (members: number, slots: number) =>
    slots === 1 ? 1 : 1 + (timeFactor(slots, 0.03) - 1) * (members - 1) / (slots - 1);
  for (const slots of [8, 16, 64]) assertAlmostEquals(step(8, slots), 1.21, 1e-9);
  assertEquals(timeFactor(1, 0.03), 1);
  // 60 tokens on average: 50 ms to the first one, 59 steps of 10 ms, in a batch of 8 of 12.1 ms.
  assertAlmostEquals(capacity(1, 0.03), 60_000 / 640, 1e-9);
  assertAlmostEquals(capacity(8, 0.03), 8 * 60_000 / (50 + 59 * 12.1), 1e-9);
});

Deno.test("sizes are whole numbers, given in any order, each once", () => {
  const options = parseOptions(["--sizes", "8, 2,8,16"]);
  assert(options !== "help");
  assertEquals(options.sizes, [2, 8, 16]);
  for (const bad of ["", "1,,2", "0", "a", "1.5", "2000"]) {
    assertThrows(() => parseOptions(["--sizes", bad]), UsageError, "--sizes: wanted whole numbers");
  }
  assertThrows(
    () => parseOptions(["--rate", "200", "--seconds", "60"]),
    UsageError,
    "fewer than 1024 readers, as the server lets that many wait, got about 12000",
  );
});

Deno.test("with real servers more slots give more tokens per second, and the files are there", async () => {
  const out = await Deno.makeTempDir();
  try {
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "bench/tradeoff.ts", "--sizes", "1,8", "--seconds", "2", "--out", out, "--json"],
      cwd: new URL("../../", import.meta.url),
    }).output();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    assertEquals([code, text(stderr)], [0, ""]);
    const { points } = JSON.parse(text(stdout));
    assertEquals(points.map(({ slots }: { slots: number }) => slots), [1, 8]);
    // By the model 94 and 628 tokens per second.
    assert(points[1].tokensPerSecond > 3 * points[0].tokensPerSecond, JSON.stringify(points));
    assert(points[0].tokensPerSecond < 110, JSON.stringify(points[0]));
    // Eight in the batch: 12.1 ms a token instead of 10.
    assert(points[1].tpotMs.p50 > 11.5, JSON.stringify(points[1]));
    const files = [...Deno.readDirSync(out)].map(({ name }) => name).sort();
    assertEquals(files, ["tradeoff.html", "tradeoff.json", "tradeoff.svg", "tradeoff.txt"]);
  } finally {
    await Deno.remove(out, { recursive: true });
  }
});
