import { assert, assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import type { Token } from "../../lib/engine/engine.ts";
import { TapError } from "../../lib/errors.ts";
import { collect } from "../../lib/stream/collect.ts";
import { Ledger } from "../../lib/stream/ledger.ts";
import { Turn } from "../../lib/stream/turn.ts";
import { ManualClock, settle } from "../helpers/manual_clock.ts";
import { REQUEST, ScriptedEngine } from "../helpers/scripted_engine.ts";

const clock = new ManualClock();
const opening = { id: "id", route: "/generate", streamed: false, model: "m", requested: 9, promptTokens: 1 };

function setUp(maxLength?: number) {
  const engine = new ScriptedEngine(clock);
  const generation = new Ledger({ clock }).open(opening).start(engine, REQUEST);
  const leaving = new AbortController();
  const collecting = collect(
    generation,
    new Turn(),
    leaving.signal,
    maxLength === undefined ? {} : { maxLength },
  );
  return { tokens: engine.tokens, record: generation.record, leaving, collecting };
}

Deno.test("the text is all tokens joined, what was thought apart from it", async () => {
  const { tokens, record, collecting } = setUp();
  tokens.give({ text: "hm", tokens: 1, reasoning: true }, "a");
  await settle();
  tokens.give(" b", "\n");
  tokens.end();
  assertEquals(await collecting, [{ text: "a b\n", reasoning: "hm" }]);
  assertEquals([record.outcome, record.delivered], ["completed", 4]);
});

Deno.test("when the client leaves the generation stops, also while the engine is silent, and the outcome is aborted", async () => {
  const { tokens, record, leaving, collecting } = setUp();
  tokens.give("a");
  await settle();
  leaving.abort();
  assertEquals((await collecting)[0].text, "a");
  assertEquals([record.outcome, tokens.abortedBefore, tokens.returns], ["aborted", true, 1]);
});

Deno.test("a client that had left before is not generated for", async () => {
  const engine = new ScriptedEngine(clock);
  const generation = new Ledger({ clock }).open(opening).start(engine, REQUEST);
  await collect(generation, new Turn(), AbortSignal.abort());
  assertEquals([generation.record.outcome, engine.tokens.returns], ["aborted", 1]);
});

Deno.test("a signal that fires after the success changes nothing", async () => {
  const { tokens, record, leaving, collecting } = setUp();
  tokens.end();
  await collecting;
  leaving.abort();
  await settle();
  assertEquals([record.outcome, record.abortedAt], ["completed", null]);
});

Deno.test("the listener on the signal does not outlive the reply", async () => {
  const leaving = new AbortController();
  const { signal } = leaving;
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  const both = { add: [] as unknown[], remove: [] as unknown[] };
  signal.addEventListener = (...args: Parameters<typeof add>) => (both.add.push(args[1]), add(...args));
  signal.removeEventListener = (
    ...args: Parameters<typeof remove>
  ) => (both.remove.push(args[1]), remove(...args));
  const engine = new ScriptedEngine(clock);
  const generation = new Ledger({ clock }).open(opening).start(engine, REQUEST);
  engine.tokens.fail(new TapError("internal", "x"));
  await assertRejects(() => collect(generation, new Turn(), signal), TapError);
  assertEquals([both.add.length, both.remove], [1, both.add]);
});

Deno.test("what the engine throws is thrown", async () => {
  const { tokens, record, collecting } = setUp();
  const error = new TapError("overloaded", "too much");
  tokens.give("a");
  tokens.fail(error);
  assertStrictEquals(await assertRejects(() => collecting), error);
  await settle();
  assertEquals([record.outcome, record.error], ["failed", "overloaded"]);
});

const endless: [what: string, tokens: () => AsyncGenerator<Token> | undefined][] = [
  ["that always has a token ready", () => undefined],
  ["of promises alone", async function* () {
    for (;;) yield { text: "", tokens: 1 };
  }],
];
for (const [what, make] of endless) {
  Deno.test(`collecting an engine ${what} does not starve timers, and the client can leave`, async () => {
    const engine = new ScriptedEngine(clock);
    const plain = { name: "plain", countTokens: () => 1, generate: () => make()! };
    const generation = new Ledger({ clock }).open(opening).start(make() ? plain : engine, REQUEST);
    if (!make()) engine.tokens.endless = { text: "", tokens: 1 };
    const leaving = new AbortController();
    // Ends the generation from inside, should the timer starve: a test that hangs says nothing.
    const from = performance.now();
    const record = generation.record;
    const timer = setTimeout(() => leaving.abort(), 1);
    const generated = generation.poll.bind(generation);
    let starved = false;
    generation.poll = (waiter, now) => {
      if (performance.now() - from > 5000) {
        starved = true;
        generation.abort();
      }
      return generated(waiter, now);
    };
    await collect(generation, new Turn(), leaving.signal);
    clearTimeout(timer);
    assert(!starved, "the timer starved");
    assertEquals(record.outcome, "aborted");
  });
}

Deno.test("an answer longer than what may be held fails, and its engine is stopped", async () => {
  const { tokens, record, collecting } = setUp(3);
  tokens.give("ab", "cd", "ef");
  const error = await assertRejects(() => collecting, TapError, "wanted at most 3 characters");
  assertEquals([error.code, record.outcome, record.error], ["upstream_error", "failed", "upstream_error"]);
  assertEquals(tokens.returns, 1);
});
