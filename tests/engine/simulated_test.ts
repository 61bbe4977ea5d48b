import { assertEquals, assertLess, assertNotEquals, assertThrows } from "@std/assert";
import { TapError } from "../../lib/errors.ts";
import { generate } from "../../lib/engine/vocabulary.ts";
import { simulation } from "../helpers/simulation.ts";
import { CountedWaiter } from "../helpers/counted_waiter.ts";

const steps = (n: number, from: number, step: number) => Array.from({ length: n }, (_, i) => from + i * step);
const gaps = (times: number[]) => times.slice(1).map((at, i) => at - times[i]);

Deno.test("token i is planned for, and comes at, the time to the first token and i times the time between", () => {
  const { clock, run } = simulation();
  const { watch, reader } = run();
  clock.advance(10_000);
  assertEquals(watch.prefillAt, 0);
  assertEquals(watch.planned, steps(5, 200, 20));
  assertEquals(watch.actual, steps(5, 200, 20));
  assertEquals(reader.at, steps(5, 200, 20));
  assertEquals([reader.texts, reader.ended], [generate("hello", 5), true]);
});

Deno.test("the end comes with the last token, its reason told, the slot free and nothing waiting", () => {
  const { clock, engine, run } = simulation();
  const { watch, reader } = run();
  clock.advance(279);
  assertEquals([reader.tokens.length, reader.ended, watch.reason], [4, false, undefined]);
  clock.advance(1);
  assertEquals([reader.tokens.length, reader.ended, watch.reason], [5, true, "length"]);
  assertEquals([engine.slots().in_use, clock.deadlines], [0, []]);
});

Deno.test("lateness does not accumulate: each token is planned for its own absolute time", () => {
  const { clock, run } = simulation();
  const { watch } = run({ maxTokens: 100 });
  for (let i = 0; i < 120; i++) clock.block(19 + (i % 9));
  assertEquals(watch.planned, steps(100, 200, 20));
  watch.actual.forEach((at, i) => assertLess(at - watch.planned[i], 28));
});

Deno.test("times below a millisecond are kept", () => {
  const { clock, run } = simulation({ timeToFirstToken: 0.5, interTokenLatency: 0.125 });
  const { watch } = run({ maxTokens: 40 });
  clock.advance(100);
  assertEquals(watch.actual, steps(40, 0.5, 0.125));
});

Deno.test("up to 250 ms late a generation catches up in a burst", () => {
  const { clock, run } = simulation();
  const { watch } = run({ maxTokens: 20 });
  clock.block(450);
  assertEquals(watch.planned, steps(13, 200, 20));
  assertEquals(new Set(watch.actual), new Set([450]));
  clock.advance(10_000);
  assertEquals(watch.planned, steps(20, 200, 20));
});

Deno.test("more than 250 ms late the schedule moves, and no burst makes up for it", () => {
  const { clock, run } = simulation();
  const { watch } = run();
  clock.block(451);
  clock.advance(10_000);
  assertEquals(watch.planned, [200, 471, 491, 511, 531]);
  assertEquals(watch.actual, [451, 471, 491, 511, 531]);
});

Deno.test("a generation is never more than one token ahead of its reader", () => {
  const { clock, begin } = simulation();
  const { watch, tokens } = begin();
  const waiter = new CountedWaiter();
  clock.advance(60_000);
  assertEquals(watch.tokens, 1, "the first token needs no asking");
  assertEquals(tokens.poll(waiter)?.tokens, 1);
  clock.advance(60_000);
  assertEquals(watch.tokens, 1, "nobody has asked for the second");
  assertEquals(tokens.poll(waiter)?.tokens, 1);
  assertEquals(tokens.poll(waiter), undefined);
  clock.advance(60_000);
  assertEquals([watch.tokens, waiter.wakes], [3, 1], "the third was asked for, the fourth was not");
});

Deno.test("a generation of no tokens ends without one", () => {
  const { clock, engine, run } = simulation();
  const { watch, reader } = run({ maxTokens: 0 });
  clock.advance(1000);
  assertEquals([watch.tokens, reader.ended, engine.slots().in_use], [0, true, 0]);
});

Deno.test("a token is announced once, and never from inside poll", () => {
  const { clock, begin } = simulation();
  const { tokens } = begin();
  let inside = false;
  let wakes = 0;
  const waiter = {
    wake() {
      assertEquals(inside, false);
      wakes++;
    },
  };
  const poll = () => {
    inside = true;
    const polled = tokens.poll(waiter);
    inside = false;
    return polled;
  };
  assertEquals(poll(), undefined);
  assertEquals(poll(), undefined, "asked twice, announced once");
  clock.advance(1000);
  assertEquals(wakes, 1);
  assertEquals(poll()?.tokens, 1);
});

Deno.test("the time to the first token grows with the prompt, and a request has times of its own", () => {
  const { clock, run } = simulation({ prefillTimePerToken: 0.5 });
  const long = run({ promptTokens: 100 });
  const own = run({ ttftMs: 0, itlMs: 7, promptTokens: 0 });
  const none = run({ ttftMs: 0, itlMs: 0, promptTokens: 0 });
  assertEquals(none.reader.ended, true);
  clock.advance(10_000);
  assertEquals(long.watch.planned, steps(5, 250, 20));
  assertEquals(own.watch.actual, steps(5, 0, 7));
  assertEquals(none.watch.actual, steps(5, 0, 0));
});

Deno.test("the text hears the prompt and the seed, never the key, the delays or who else runs", () => {
  const { clock, run } = simulation({ seed: 3, interTokenLatencyStdDev: 5 });
  const one = run({ key: "a" });
  const two = run({ key: "b", ttftMs: 1 });
  const own = run({ seed: 9 });
  clock.advance(10_000);
  assertEquals(one.reader.texts, generate("hello", 5, 3));
  assertEquals(two.reader.texts, generate("hello", 5, 3));
  assertEquals(own.reader.texts, generate("hello", 5, 9));
});

Deno.test("jitter is the same for the same key, whoever else runs, and another for another key", () => {
  const jitter = { timeToFirstTokenStdDev: 40, interTokenLatencyStdDev: 5 };
  const alone = simulation(jitter);
  const first = alone.run({ key: "a", maxTokens: 50 });
  alone.clock.advance(10_000);
  const crowd = simulation(jitter);
  const other = crowd.run({ key: "b", maxTokens: 50 });
  crowd.run({ key: "", maxTokens: 9 });
  const second = crowd.run({ key: "a", maxTokens: 50 });
  crowd.clock.advance(10_000);
  assertEquals(second.watch.planned, first.watch.planned);
  assertNotEquals(other.watch.planned[0], first.watch.planned[0]);
  assertNotEquals(gaps(other.watch.planned), gaps(first.watch.planned));
  // Every gap is drawn for itself.
  assertEquals(new Set(gaps(first.watch.planned).map((gap) => gap.toFixed(6))).size, 49);
});

Deno.test("jitter on the first token alone leaves the gaps, and the other way about", () => {
  const first = simulation({ timeToFirstTokenStdDev: 40 });
  const a = first.run();
  first.clock.advance(10_000);
  assertNotEquals(a.watch.planned[0], 200);
  for (const gap of gaps(a.watch.planned)) assertLess(Math.abs(gap - 20), 1e-9);
  const between = simulation({ interTokenLatencyStdDev: 5 });
  const b = between.run();
  between.clock.advance(10_000);
  assertEquals(b.watch.planned[0], 200);
  assertNotEquals(b.watch.planned[1], 220);
});

Deno.test("the time between tokens grows with the load, linear up to the factor with all slots busy", () => {
  for (const [running, gap] of [[1, 20], [2, 40], [3, 60]]) {
    const { clock, run } = simulation({ maxNumSeqs: 3, timeFactorUnderLoad: 3 });
    const runs = Array.from({ length: running }, () => run({ maxTokens: 4 }));
    clock.advance(200 + 2 * gap);
    for (const { watch } of runs) assertEquals(gaps(watch.planned), [gap, gap]);
  }
});

Deno.test("not in real time the model is the same and nothing is waited for", () => {
  const { clock, run } = simulation({ realtime: false });
  const { watch, reader } = run();
  assertEquals([reader.texts, reader.ended], [generate("hello", 5), true]);
  assertEquals(watch.planned, steps(5, 200, 20));
  assertEquals([watch.actual, clock.deadlines], [[0, 0, 0, 0, 0], []]);
});

Deno.test("a prompt is counted by the pieces of the vocabulary", () => {
  assertEquals(simulation().engine.countTokens("hello world"), 2);
});

Deno.test("a full queue refuses, and the request leaves no trace", () => {
  const { engine, run } = simulation({ maxNumSeqs: 1, maxWaitingQueueLength: 1 });
  run();
  run();
  const error = assertThrows(() => run(), TapError);
  assertEquals(error.code, "rate_limit");
  assertEquals(engine.slots(), { max: 1, in_use: 1, queue: 1 });
});
