import { assertEquals, assertLess, assertStrictEquals } from "@std/assert";
import { draw } from "../../lib/engine/hash.ts";
import { grouped } from "../../lib/engine/group.ts";
import { stopping } from "../../lib/engine/stop.ts";
import { generate } from "../../lib/engine/vocabulary.ts";
import { TapError } from "../../lib/errors.ts";
import { Choices } from "../../lib/stream/choices.ts";
import { Ledger, type LedgerOptions, type Opening } from "../../lib/stream/ledger.ts";
import type { GenerationRecord } from "../../lib/stream/record.ts";
import { EagerReader } from "../helpers/eager_reader.ts";
import { ManualClock, settle } from "../helpers/manual_clock.ts";
import { REQUEST, ScriptedEngine } from "../helpers/scripted_engine.ts";
import { simulation } from "../helpers/simulation.ts";

function setUp(options: Partial<LedgerOptions> = {}) {
  const clock = new ManualClock();
  const ledger = new Ledger({ clock, ...options });
  const engine = new ScriptedEngine(clock);
  const open = (opening: Partial<Opening> = {}) =>
    ledger.open({
      id: "id",
      route: "/stream",
      streamed: true,
      model: "m",
      requested: 10,
      promptTokens: 1,
      ...opening,
    });
  const begin = (opening: Partial<Opening> = {}) => {
    const generation = open(opening).start(engine, REQUEST);
    return { generation, record: generation.record, tokens: engine.tokens };
  };
  return { clock, ledger, open, begin };
}

/** The identity: what is counted apart adds up. */
function assertAddsUp(ledger: Ledger) {
  for (const { completed, aborted, failed, running, total } of Object.values(ledger.totals())) {
    assertEquals(completed + aborted + failed + running, total);
  }
}

/** How many of its generations are in prefill or decode. */
function holding(ledger: Ledger): number {
  return ledger.records().filter(({ phaseNow }) => phaseNow === "prefill" || phaseNow === "decode").length;
}

Deno.test("requests and tokens are counted by outcome, those that run apart, and add up to the totals", async () => {
  const { ledger, begin } = setUp();
  const [done, left, failed, running] = [begin(), begin(), begin(), begin()];
  done.tokens.give("a", "b");
  left.tokens.give("a", { text: "bcd", tokens: 3 });
  failed.tokens.give("a");
  running.tokens.give("a", "b", "c", "d", "e");
  new EagerReader(done.generation, new ManualClock());
  done.tokens.end();
  left.generation.abort();
  failed.generation.fail(new TapError("internal", "x"));
  await settle();
  assertEquals(ledger.totals(), {
    requests: { completed: 1, aborted: 1, failed: 1, running: 1, total: 4 },
    generated: { completed: 2, aborted: 4, failed: 1, running: 5, total: 12 },
  });
  assertEquals([ledger.running, ledger.totalGenerated], [1, 12]);
});

Deno.test("tokens made between leaving and the outcome are in the sums as well", async () => {
  const { ledger, begin } = setUp();
  const { generation, tokens } = begin();
  generation.abort();
  tokens.give("late");
  assertAddsUp(ledger);
  await settle();
  assertEquals(ledger.totals().generated.aborted, 1);
  assertAddsUp(ledger);
});

Deno.test("after any mix of ends, at every moment, the sums add up and the slots are those in prefill and decode", async () => {
  const { clock, engine } = simulation({ maxNumSeqs: 5, maxWaitingQueueLength: 1000 });
  const ledger = new Ledger({ clock });
  const generations = Array.from({ length: 120 }, (_, i) => {
    const fault = [undefined, "error@2", "close@1", "slow@1:90"][draw(1, 1, i) % 4];
    const request = { ...REQUEST, maxTokens: 1 + draw(1, 2, i) % 9, ...(fault ? { fault } : {}) };
    const generation = ledger.open({
      id: `${i}`,
      route: "/stream",
      streamed: true,
      model: "m",
      requested: request.maxTokens,
      promptTokens: 1,
    }).start(engine, request);
    new EagerReader(generation, clock);
    return generation;
  });
  for (let step = 0; step < 400; step++) {
    clock.advance(draw(2, 1, step) % 60);
    const who = generations[draw(2, 2, step) % generations.length];
    if (step % 3 === 0) who.abort();
    if (step === 300) ledger.failAll(new TapError("shutting_down", "bye"));
    assertAddsUp(ledger);
    await settle();
    assertEquals(engine.slots().in_use, holding(ledger));
  }
  const { requests } = ledger.totals();
  assertEquals([requests.running, requests.total, engine.slots().queue], [0, 120, 0]);
  for (const outcome of ["completed", "aborted", "failed"] as const) assertLess(0, requests[outcome]);
  for (const record of ledger.records()) assertLess(record.generatedAfterAbort, 2);
});

for (
  const [what, size, request] of [
    ["is a group of fewer", 3, { maxTokens: 4 }],
    ["is a full group", 2, { maxTokens: 4 }],
    ["waited for the rest of a stop string", 1, {
      maxTokens: 4,
      stop: [generate("hello", 4).join("") + "!"],
    }],
  ] as const
) {
  Deno.test(`a slot is that of a generation in decode also while the last event, which ${what}, is handed over`, () => {
    const { clock, engine } = simulation({ maxNumSeqs: 1 });
    const ledger = new Ledger({ clock });
    const opening = { id: "a", route: "/stream", streamed: true, model: "m", requested: 4, promptTokens: 1 };
    const generation = ledger.open(opening)
      .start(grouped(stopping(engine), size), { ...REQUEST, prompt: "hello", ...request });
    const seen: (string | null)[] = [];
    for (let polls = 0; ledger.running > 0; polls++) {
      assertLess(polls, 100);
      generation.poll({ wake: () => {} });
      seen.push(generation.record.phaseNow);
      assertEquals(engine.slots().in_use, holding(ledger), `after ${seen}`);
      clock.advance(100);
    }
    assertEquals([seen.includes("decode"), seen.at(-1)], [true, null]);
  });
}

Deno.test("the newest thousand records are kept, newest first, and running ones still count when theirs is gone", async () => {
  const { ledger, open, begin } = setUp();
  const old = begin({ id: "old" });
  old.tokens.give("a");
  for (let i = 0; i < 1000; i++) open({ id: `${i}` }).abort();
  const records = ledger.records();
  assertEquals([records.length, records[0].id, records[999].id], [1000, "999", "0"]);
  assertEquals(ledger.find("old"), undefined);
  assertEquals([ledger.running, ledger.totals().generated.running], [1, 1]);
  old.generation.abort();
  await settle();
  assertEquals(ledger.totals().requests.aborted, 1001);
  assertAddsUp(ledger);
});

Deno.test("a record is found by its id, the newest where an id was used twice", () => {
  const { ledger, open } = setUp();
  open({ id: "a" });
  const second = open({ id: "a" }).record;
  open({ id: "b" });
  assertStrictEquals(ledger.find("a"), second);
  assertEquals(ledger.find("c"), undefined);
});

Deno.test("the latest is the newest streamed request, running or not", () => {
  const { ledger, open } = setUp();
  assertEquals(ledger.latest, undefined);
  const first = open({ id: "a" });
  open({ id: "b", streamed: false });
  assertStrictEquals(ledger.latest, first.record);
  first.abort();
  assertStrictEquals(ledger.latest, first.record);
  const second = open({ id: "c" });
  assertStrictEquals(ledger.latest, second.record);
});

Deno.test("a record is told once, when it is final and the ledger no longer counts it as running", () => {
  const told: [outcome: string, running: number, total: number][] = [];
  const { ledger, begin } = setUp({
    onEnded: (record: GenerationRecord) => {
      const { requests } = ledger.totals();
      told.push([record.outcome, ledger.running, requests.completed]);
    },
  });
  const { generation, tokens } = begin();
  new EagerReader(generation, new ManualClock());
  tokens.end();
  generation.abort();
  assertEquals(told, [["completed", 0, 1]]);
});

Deno.test("what nobody waits for is told with the id of its request", async () => {
  const heard: [id: string, error: unknown][] = [];
  const { begin } = setUp({ onUnexpected: (id, error) => heard.push([id, error]) });
  const { generation, tokens } = begin({ id: "mine" });
  const boom = new Error("boom");
  tokens.cleanup = Promise.reject(boom);
  tokens.cleanup.catch(() => {});
  generation.abort();
  await settle();
  assertEquals(heard, [["mine", boom]]);
});

Deno.test("failAll ends all that run, and nothing that has ended", async () => {
  const { ledger, begin } = setUp();
  const [a, b, done] = [begin(), begin(), begin()];
  new EagerReader(done.generation, new ManualClock());
  done.tokens.end();
  ledger.failAll(new TapError("shutting_down", "bye"));
  await settle();
  assertEquals([a.record.error, b.record.error, done.record.error], ["shutting_down", "shutting_down", null]);
  assertEquals(ledger.running, 0);
});

Deno.test("failAll lets none that waits into the slots of those that end", () => {
  const { clock, engine } = simulation({ maxNumSeqs: 2, timeToFirstToken: 0, realtime: false });
  const ledger = new Ledger({ clock });
  const begun = Array.from({ length: 6 }, (_, i) => {
    const opening = {
      id: `${i}`,
      route: "/stream",
      streamed: true,
      model: "m",
      requested: 9,
      promptTokens: 1,
    };
    return ledger.open(opening).start(engine, { ...REQUEST, maxTokens: 9 });
  });
  ledger.failAll(new TapError("shutting_down", "bye"));
  const ends = begun.map((
    { record: { outcome, phase, admittedAt } },
  ) => [outcome, phase, admittedAt !== null]);
  assertEquals(ends, begun.map((_, i) => i < 2 ? ["failed", "prefill", true] : ["failed", "queued", false]));
});

Deno.test("failAll lets none that waits into the slot of an answer that ends with another", () => {
  const { clock, engine } = simulation({ maxNumSeqs: 1, timeToFirstToken: 0 });
  const ledger = new Ledger({ clock });
  const begun = ["a", "a-1", "b"].map((id) => {
    const opening = { id, route: "/", streamed: true, model: "m", requested: 9, promptTokens: 1 };
    return ledger.open(opening).start(engine, {
      ...REQUEST,
      itlMs: 0,
      ...id === "a" ? { fault: "stall@1" } : {},
    });
  });
  const [one, two, other] = begun;
  const readers = [new Choices([one, two]), other].map((source) => new EagerReader(source, clock));
  ledger.failAll(new TapError("shutting_down", "bye"));
  assertEquals(begun.map(({ record }) => record.error), Array(3).fill("shutting_down"));
  assertEquals([two, other].map(({ record }) => [record.generated, record.admittedAt]), [[0, null], [
    0,
    null,
  ]]);
  assertEquals(readers.map(({ error }) => (error as TapError).code), Array(2).fill("shutting_down"));
});

Deno.test("a ledger told to ignore disconnects lets its engines run on", async () => {
  const { ledger, begin } = setUp({ ignoreDisconnects: true });
  const { generation, tokens } = begin();
  generation.abort();
  tokens.give("a");
  await settle();
  assertEquals([ledger.running, tokens.returns], [1, 0]);
});

Deno.test("the times of two million tokens are kept, whose they may be: those made first go first, the records stay", () => {
  const { ledger, begin } = setUp();
  const all = Array.from({ length: 212 }, (_, i) => {
    const { generation, record, tokens } = begin({ id: `${i}` });
    tokens.give({ text: "a", tokens: 10_000 });
    new EagerReader(generation, new ManualClock());
    tokens.end();
    return record;
  });
  const dropped = all.map((record) => ledger.timesOf(record) === null);
  assertEquals(dropped, all.map((_, i) => i < 3));
  assertEquals(ledger.timesOf(all.at(-1)!)!.length, 10_000);
  assertEquals(ledger.records().every(({ generated }) => generated === 10_000), true);
});
