import { assertEquals } from "@std/assert";
import { simulation } from "../helpers/simulation.ts";
import { CountedWaiter } from "../helpers/counted_waiter.ts";

const one = { maxNumSeqs: 1 };

Deno.test("who waits is admitted in the turn in which the one before ends, and its prefill begins then", () => {
  const { clock, engine, run } = simulation(one);
  run();
  const second = run();
  const third = run();
  assertEquals(engine.slots(), { max: 1, in_use: 1, queue: 2 });
  clock.advance(280);
  assertEquals([second.watch.prefillAt, third.watch.prefillAt], [280, undefined]);
  clock.advance(10_000);
  assertEquals(second.watch.planned, [480, 500, 520, 540, 560]);
  assertEquals(third.watch.prefillAt, 560);
  assertEquals(engine.slots(), { max: 1, in_use: 0, queue: 0 });
});

for (const [phase, ms, generated] of [["prefill", 100, 0], ["decode", 230, 2]] as const) {
  Deno.test(`leaving in ${phase} frees the slot for the next in the same turn, and nothing more is made`, () => {
    const { clock, engine, run } = simulation(one);
    const leaver = run();
    const next = run();
    clock.advance(ms);
    leaver.tokens.return();
    assertEquals(next.watch.prefillAt, ms);
    assertEquals(engine.slots(), { max: 1, in_use: 1, queue: 0 });
    clock.advance(10_000);
    assertEquals([leaver.watch.tokens, leaver.reader.ended], [generated, true]);
    assertEquals([next.watch.tokens, next.watch.planned[0]], [5, ms + 200]);
  });
}

Deno.test("leaving the queue shortens it in the same turn, makes nothing and delays nobody", () => {
  const { clock, engine, run } = simulation(one);
  run();
  const leaver = run();
  const next = run();
  clock.advance(50);
  leaver.tokens.return();
  assertEquals(engine.slots(), { max: 1, in_use: 1, queue: 1 });
  clock.advance(10_000);
  assertEquals([leaver.watch.prefillAt, leaver.watch.tokens, leaver.reader.ended], [undefined, 0, true]);
  assertEquals(next.watch.prefillAt, 280);
});

Deno.test("a token that is ready when its reader leaves is not handed over any more", () => {
  const { clock, begin } = simulation();
  const { tokens, watch } = begin();
  clock.advance(1000);
  tokens.return();
  assertEquals([watch.tokens, tokens.poll(new CountedWaiter())], [1, null]);
});

Deno.test("leaving twice, and after the end, changes nothing", () => {
  const { clock, engine, run } = simulation(one);
  const first = run();
  const second = run();
  clock.advance(100);
  first.tokens.return();
  first.tokens.return();
  assertEquals(engine.slots(), { max: 1, in_use: 1, queue: 0 });
  clock.advance(10_000);
  second.tokens.return();
  assertEquals(engine.slots(), { max: 1, in_use: 0, queue: 0 });
  assertEquals(clock.deadlines, []);
});

Deno.test("a long queue of generations that take no time passes through one slot without piling up on the stack", () => {
  const { clock, engine, run } = simulation({ maxNumSeqs: 1, maxWaitingQueueLength: 20_000, realtime: true });
  const first = run();
  const rest = Array.from({ length: 20_000 }, () => run({ ttftMs: 0, itlMs: 0, maxTokens: 2 }));
  first.tokens.return();
  assertEquals(rest.every(({ reader }) => reader.ended && reader.tokens.length === 2), true);
  assertEquals([engine.slots().in_use, clock.deadlines], [0, []]);
});
