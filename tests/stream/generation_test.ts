import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { ENDED, PENDING, type Token } from "../../lib/engine/engine.ts";
import { TapError } from "../../lib/errors.ts";
import { Generation } from "../../lib/stream/generation.ts";
import { GenerationRecord } from "../../lib/stream/record.ts";
import { EagerReader } from "../helpers/eager_reader.ts";
import { loneGeneration } from "../helpers/lone_generation.ts";
import { ManualClock, settle } from "../helpers/manual_clock.ts";
import { REQUEST } from "../helpers/scripted_engine.ts";
import { simulation } from "../helpers/simulation.ts";
import { CountedWaiter } from "../helpers/counted_waiter.ts";

const late = () => new TapError("shutting_down", "The server is shutting down.");

Deno.test("a generation that runs to its end is completed, once, with its times and counts", () => {
  const { clock, observer, record, start } = loneGeneration();
  const { tokens, reader } = start();
  clock.advance(200);
  tokens.give("a", { text: "bc", tokens: 2 });
  clock.advance(20);
  tokens.watch.finished("length");
  tokens.end();
  assertEquals([reader.texts, reader.ended], [["a", "bc"], true]);
  assertEquals([observer.ends, observer.tokens, observer.errors], [["completed"], 3, []]);
  const { generated, delivered, generatedAfterAbort, phaseAtAbort, error, finishReason } = record;
  assertEquals([generated, delivered, generatedAfterAbort, phaseAtAbort, error], [3, 3, 0, null, null]);
  const { admittedAt, firstTokenAt, endedAt, abortedAt } = record;
  assertEquals([admittedAt, firstTokenAt, endedAt, abortedAt, finishReason], [
    1000,
    1200,
    1220,
    null,
    "length",
  ]);
});

Deno.test("leaving, failing and polling after the end change nothing", async () => {
  const { observer, record, generation, start } = loneGeneration();
  const { tokens } = start();
  tokens.end();
  generation.abort();
  generation.fail(late());
  await generation.return();
  assertEquals(generation.poll(new CountedWaiter()), ENDED);
  await settle();
  assertEquals([observer.ends, record.abortedAt, record.error, tokens.returns], [
    ["completed"],
    null,
    null,
    0,
  ]);
});

for (const phase of ["queued", "prefill", "decode"] as const) {
  Deno.test(`leaving in ${phase}: the signal first, then return, then the outcome, once`, async () => {
    const { clock, observer, record, generation, start } = loneGeneration({ queues: phase === "queued" });
    const { tokens, reader } = start();
    if (phase === "decode") tokens.give("a", "b");
    clock.advance(50);
    generation.abort();
    assertEquals([tokens.signal.aborted, tokens.returns, tokens.abortedBefore], [true, 1, true]);
    assertEquals(record.outcome, "running", "the engine has not let go yet");
    generation.abort();
    await settle();
    generation.abort();
    assertEquals([observer.ends, tokens.returns, reader.ended], [["aborted"], 1, true]);
    assertEquals([record.phaseAtAbort, record.abortedAt], [phase, 1050]);
    assertEquals(record.generated, phase === "decode" ? 2 : 0);
  });
}

Deno.test("the outcome waits until the engine has let go, and what it still makes is counted as made after", async () => {
  const { clock, observer, record, generation, start } = loneGeneration();
  const { tokens, reader } = start();
  tokens.give("a");
  let letGo!: () => void;
  tokens.cleanup = new Promise((resolve) => letGo = resolve);
  generation.abort();
  tokens.give("b");
  tokens.end();
  await settle();
  assertEquals([record.outcome, reader.texts], ["running", ["a"]]);
  clock.advance(30);
  letGo();
  await settle();
  assertEquals([observer.ends, reader.ended, reader.texts], [["aborted"], true, ["a"]]);
  assertEquals([record.generated, record.delivered, record.generatedAfterAbort], [2, 1, 1]);
  assertEquals(record.toJSON().stop_ms, 30);
});

Deno.test("return, as a for-await loop calls it, is leaving", async () => {
  const { observer, generation, start } = loneGeneration();
  start();
  await generation.return();
  await settle();
  assertEquals(observer.ends, ["aborted"]);
});

Deno.test("fail ends it once, and its reader is told that very error", async () => {
  const { observer, record, generation, start } = loneGeneration();
  const { tokens, reader } = start();
  tokens.give("a");
  const error = late();
  generation.fail(error);
  assertEquals([tokens.signal.aborted, tokens.returns], [true, 1]);
  generation.fail(new TapError("internal", "second"));
  await settle();
  assertEquals([observer.ends, record.error, reader.texts], [["failed"], "shutting_down", ["a"]]);
  assertStrictEquals(reader.error, error);
  assertStrictEquals(assertThrows(() => generation.poll(new CountedWaiter())), error);
  assertEquals(observer.errors, []);
});

Deno.test("leaving while it is being failed, and failing while it is being left, do not change the outcome", async () => {
  const failed = loneGeneration();
  failed.start();
  failed.generation.fail(late());
  failed.generation.abort();
  await settle();
  assertEquals([failed.observer.ends, failed.record.abortedAt], [["failed"], null]);
  assertEquals(failed.record.phaseAtAbort, null);
  const left = loneGeneration();
  left.start();
  left.generation.abort();
  left.generation.fail(late());
  await settle();
  assertEquals([left.observer.ends, left.record.error], [["aborted"], null]);
});

Deno.test("a plain async generator that waits is ended by the signal, and its finally has run before the outcome", async () => {
  const { observer, record, generation } = loneGeneration();
  const order: string[] = [];
  generation.start({
    async *generate(_request, signal): AsyncGenerator<Token> {
      try {
        yield { text: "a", tokens: 1 };
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      } finally {
        order.push(`finally while ${record.outcome}`);
      }
    },
  }, REQUEST);
  const reader = new EagerReader(generation, new ManualClock());
  await settle();
  assertEquals(reader.texts, ["a"]);
  generation.abort();
  await settle();
  assertEquals([order, observer.ends], [["finally while running"], ["aborted"]]);
});

Deno.test("a generation that was never started can be left and failed", () => {
  const left = loneGeneration();
  left.generation.abort();
  assertEquals(left.observer.ends, ["aborted"]);
  const failed = loneGeneration();
  failed.generation.fail(late());
  assertEquals([failed.observer.ends, failed.record.error], [["failed"], "shutting_down"]);
});

Deno.test("a reader that waits is woken by an end that does not come from the engine", async () => {
  for (const end of ["abort", "fail"] as const) {
    const { generation, start } = loneGeneration();
    start();
    const waiter = new CountedWaiter();
    assertEquals(generation.poll(waiter), PENDING);
    if (end === "abort") generation.abort();
    else generation.fail(late());
    await settle();
    assertEquals(waiter.wakes, 1, end);
  }
});

Deno.test("no token is older than its generation's slot, though who polls read the clock before", () => {
  const { clock, engine } = simulation({ timeToFirstToken: 0, realtime: false });
  clock.advance(10);
  const record = new GenerationRecord("id", "/stream", "m", 5, 3, 2);
  const times: number[] = [];
  const generation = new Generation(record, clock, {
    produced: (_record, _tokens, _planned, now) => times.push(now),
    handed: (_record, _tokens, now) => times.push(now),
    ended() {},
    unexpected() {},
  });
  generation.start(engine, REQUEST);
  generation.poll(new CountedWaiter(), 3);
  assertEquals([record.admittedAt, record.firstTokenAt, times], [10, 10, [10, 10]]);
});

Deno.test("usage and the upstream's end are kept as they are told, the last report counting", () => {
  const { record, start } = loneGeneration();
  const { tokens } = start();
  tokens.give("a");
  assertEquals(record.usageNow(), { prompt_tokens: 3, completion_tokens: 1 });
  tokens.watch.usage({ prompt_tokens: 7, completion_tokens: 1 });
  tokens.watch.usage({ prompt_tokens: 7, completion_tokens: 2 });
  tokens.watch.upstreamClosed(1234);
  assertEquals(record.usageNow(), { prompt_tokens: 7, completion_tokens: 2 });
  assertEquals(record.toJSON().upstream_closed_ms, 234);
});
