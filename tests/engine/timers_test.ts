import { assert, assertEquals, assertGreaterOrEqual, assertStrictEquals } from "@std/assert";
import { Pacer } from "../../lib/engine/pacer.ts";
import { fineTimers, type Timers } from "../../lib/engine/timers.ts";

/** What a finer timer may wake too early: it asks for a millisecond less than wanted. */
const EARLY_MS = 1;

/** Timers as they are where no memory is shared. */
function coarseTimers(): Timers {
  const shared = Object.getOwnPropertyDescriptor(globalThis, "SharedArrayBuffer")!;
  Object.defineProperty(globalThis, "SharedArrayBuffer", { configurable: true, value: undefined });
  try {
    const timers = fineTimers();
    assertStrictEquals(fineTimers(), timers);
    return timers;
  } finally {
    Object.defineProperty(globalThis, "SharedArrayBuffer", shared);
  }
}

Deno.test("a timer fires once, about when it was asked to, and holds nothing after", async () => {
  const timers = fineTimers();
  for (const ms of [0, 0.3, 2, 7]) {
    const from = timers.now();
    let fires = 0;
    await new Promise<void>((resolve) => timers.set(() => (fires++, resolve()), ms));
    assertGreaterOrEqual(timers.now() - from, ms - EARLY_MS);
    await new Promise((resolve) => setTimeout(resolve, 3));
    assertEquals(fires, 1);
  }
});

Deno.test("timers of no time fire one after the other, each when the event loop has gone round, and none sleeps", async () => {
  for (const timers of [fineTimers(), coarseTimers()]) {
    const until = timers.now() + 50;
    let fires = 0, microtasks = 0;
    while (timers.now() < until) {
      await new Promise<void>((resolve) => {
        timers.set(() => (fires++, resolve()), 0);
        queueMicrotask(() => microtasks === fires && microtasks++);
      });
      assertEquals(microtasks, fires, "what was to be done at once is done before it");
    }
    // A timer of a millisecond fires 50 times at most.
    assertGreaterOrEqual(fires, 100);
  }
});

Deno.test("a timer of no time that is taken back never fires, nor brings the next one forward", async () => {
  for (const timers of [fineTimers(), coarseTimers()]) {
    const from = timers.now();
    timers.set(() => assert(false, "was taken back"), 0)();
    await new Promise<void>((resolve) => timers.set(resolve, 9));
    assertGreaterOrEqual(timers.now() - from, 9 - EARLY_MS);
  }
});

Deno.test("a timer set again is the only one that fires", async () => {
  const timers = fineTimers();
  const fired: string[] = [];
  const from = timers.now();
  timers.set(() => fired.push("old"), 1);
  await new Promise<void>((resolve) => timers.set(() => (fired.push("new"), resolve()), 9));
  assertEquals(fired, ["new"]);
  assertGreaterOrEqual(timers.now() - from, 9 - EARLY_MS, "the wait of the old one is nothing to the new");
});

Deno.test("a timer taken back never fires, and taking it back twice or late harms no other", async () => {
  const timers = fineTimers();
  const clear = timers.set(() => assert(false, "was taken back"), 2);
  clear();
  clear();
  await new Promise<void>((resolve) => {
    timers.set(resolve, 5);
    clear();
  });
});

Deno.test("a timer set from inside another fires too", async () => {
  const timers = fineTimers();
  let rounds = 0;
  await new Promise<void>((resolve) => {
    const round = () => ++rounds === 5 ? resolve() : void timers.set(round, 1);
    timers.set(round, 1);
  });
  assertEquals(rounds, 5);
});

Deno.test("where there is no shared memory the timers are plain ones, with the same promises", async () => {
  const timers = coarseTimers();
  const clear = timers.set(() => assert(false, "was taken back"), 1);
  clear();
  await new Promise<void>((resolve) => timers.set(resolve, 3));
});

Deno.test("on the real timers no task is early, and the clock ends with the last of them", async () => {
  const clock = new Pacer();
  const from = clock.now();
  const waits = Array.from({ length: 60 }, (_, i) => {
    const due = from + (i % 20) * 0.77;
    return new Promise<void>((resolve, reject) =>
      clock.at(due, {
        fire: (now) =>
          now >= due && clock.now() >= due ? resolve() : reject(new Error(`${due - now} ms early`)),
      })
    );
  });
  await Promise.all(waits);
});
