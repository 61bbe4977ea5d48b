import { assert, assertEquals, assertLessOrEqual } from "@std/assert";
import type { Token } from "../../lib/engine/engine.ts";
import { draw } from "../../lib/engine/hash.ts";
import { MAX_EVENTS_PER_CHUNK as MAX_EVENTS } from "../../lib/stream/chunk.ts";
import { Turn } from "../../lib/stream/turn.ts";
import { ManualClock, settle } from "../helpers/manual_clock.ts";
import { event, goRound, openBody } from "../helpers/open_body.ts";
import { ScriptedEngine } from "../helpers/scripted_engine.ts";
import { simulation } from "../helpers/simulation.ts";

/** A full chunk, and the one token the engine may be ahead. */
const MAX_TOKENS_AHEAD = MAX_EVENTS + 1;

function setUp() {
  const clock = new ManualClock();
  const engine = new ScriptedEngine(clock);
  return { clock, ...openBody(engine, clock), tokens: engine.tokens };
}

const eventsIn = (chunk: string | null) => chunk?.split("\n\n").slice(0, -1).length;

Deno.test("tokens that are ready together are one chunk, none held back to fill it", async () => {
  const { tokens, reader, read } = setUp();
  tokens.give("a", "b", "c");
  await settle();
  assertEquals(await read(), event("a") + event("b") + event("c"));
  const next = read();
  await settle();
  tokens.give("d");
  assertEquals(await next, event("d"));
  await reader.cancel();
});

Deno.test("a flood comes in chunks of a stated number of events", async () => {
  const { tokens, read } = setUp();
  tokens.give(...Array(2 * MAX_EVENTS + 20).fill("a"));
  tokens.end();
  const events = [await read(), await read(), await read()].map(eventsIn);
  assertEquals(events, [MAX_EVENTS, MAX_EVENTS, 20 + 1]);
  assertEquals(await read(), null);
  assertLessOrEqual(MAX_EVENTS, 1000, "what a reader who has left costs");
  await goRound();
});

Deno.test("long tokens fill a chunk sooner: it ends with the token that passes 32 KiB", async () => {
  const { tokens, reader, read } = setUp();
  tokens.give(...Array(12).fill("x".repeat(10_000)));
  assertEquals([eventsIn(await read()), eventsIn(await read())], [4, 4]);
  await reader.cancel();
  await goRound();
});

Deno.test("a reader that reads nothing stops an endless engine within the tokens stated, and each read lets a chunk go", async () => {
  const { clock, tokens, reader, read, record } = setUp();
  tokens.endless = { text: "a", tokens: 1 };
  await clock.pass(20_000);
  assertEquals(record.outcome, "running");
  assertLessOrEqual(record.generated, MAX_TOKENS_AHEAD);
  for (let reads = 1; reads <= 5; reads++) {
    assertEquals(eventsIn(await read()), MAX_EVENTS);
    await settle();
    assertLessOrEqual(record.generated, reads * MAX_EVENTS + MAX_TOKENS_AHEAD);
  }
  await reader.cancel();
  await goRound();
});

Deno.test("a reader that stops reading stops a paced generation within two tokens, and gets all of them later", async () => {
  const { clock, engine } = simulation();
  const { record, drain } = openBody(engine, clock, { maxTokens: 10 });
  await clock.pass(20_000);
  assertLessOrEqual(record.generated, 2);
  const chunks = drain();
  await clock.pass(1000);
  assertEquals((await chunks).join("").split("\n\n").length - 1, 11);
  await goRound();
});

Deno.test("a chunk that nobody waits for keeps its place, and what comes meanwhile is the next one", async () => {
  const { tokens, reader, read } = setUp();
  const first = read();
  tokens.give("0");
  assertEquals(await first, event("0"));
  tokens.give("a");
  await settle();
  tokens.give("b");
  tokens.give("c");
  await settle();
  assertEquals(await read(), event("a"));
  assertEquals(await read(), event("b") + event("c"));
  await reader.cancel();
});

Deno.test("whatever the order of giving and reading, every token arrives once and in order", async () => {
  for (let run = 0; run < 150; run++) {
    const { tokens, drain, read, record } = setUp();
    let given = 0;
    const got: Promise<string | null>[] = [];
    for (let step = 0; step < 40; step++) {
      const dice = draw(run, 1, step) % 8;
      if (dice < 3) { for (let i = 0; i <= dice; i++) tokens.give(`${given++}`); }
      else if (dice === 3) { for (let i = 0; i < 70; i++) tokens.give(`${given++}`); }
      else if (dice < 6) got.push(read());
      else await settle();
    }
    tokens.end();
    const rest = await drain();
    const whole = (await Promise.all(got)).concat(rest).join("");
    const seen = whole.split("\n\n").map((each) => each.slice("data: ".length)).slice(0, -1);
    assertEquals(seen.pop(), "[DONE]");
    assertEquals(seen.map((data) => JSON.parse(data).token), Array.from({ length: given }, (_, i) => `${i}`));
    assertEquals([record.outcome, record.delivered], ["completed", given]);
  }
  await goRound();
});

/** Reads until a timer has fired; false when it starved for five seconds. */
async function timerFires(read: () => Promise<string | null>): Promise<boolean> {
  const from = performance.now();
  let fired = false;
  const timer = setTimeout(() => fired = true, 0);
  while (!fired && performance.now() - from < 5000) assert(await read() !== null);
  clearTimeout(timer);
  return fired;
}

Deno.test("an engine that always has a token ready does not starve timers, however fast it is read", async () => {
  const clock = new ManualClock();
  const engine = new ScriptedEngine(clock);
  const { read, reader } = openBody(engine, clock, {}, { turn: new Turn() });
  engine.tokens.endless = { text: "a", tokens: 1 };
  assert(await timerFires(read), "the timer starved");
  await reader.cancel();
  await goRound();
});

Deno.test("an engine of promises alone, which never leaves the microtask queue, does not starve timers either", async () => {
  const clock = new ManualClock();
  const engine = {
    name: "microtasks",
    countTokens: () => 1,
    async *generate(): AsyncGenerator<Token> {
      for (;;) yield { text: "a", tokens: 1 };
    },
  };
  const { read, reader } = openBody(engine, clock, {}, { turn: new Turn() });
  assert(await timerFires(read), "the timer starved");
  await reader.cancel();
  await goRound();
});

Deno.test("once the turn's budget is spent no read is served before the loop has gone round", async () => {
  const clock = new ManualClock();
  const engine = new ScriptedEngine(clock);
  let now = 0;
  // Each question comes 0.1 ms after the one before: after six of them the 0.5 ms of a turn are over.
  const { read, reader } = openBody(engine, clock, {}, { turn: new Turn(() => now += 0.1) });
  engine.tokens.endless = { text: "a", tokens: 1 };
  let served = 0;
  const reads = Array.from({ length: 12 }, () => read().then(() => served++));
  await settle();
  assert(served > 3 && served < 9, `${served} served`);
  await Promise.all(reads);
  await reader.cancel();
  await goRound();
});
