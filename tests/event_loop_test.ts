import { assertEquals, assertLessOrEqual } from "@std/assert";
import { fineTimers } from "../lib/engine/timers.ts";
import { nextRound, nextTask, settled } from "../lib/event_loop.ts";

/** As where there is no `setImmediate`: browsers and workers. */
async function withoutImmediates(): Promise<typeof nextRound> {
  const own = Object.getOwnPropertyDescriptor(globalThis, "setImmediate")!;
  Reflect.deleteProperty(globalThis, "setImmediate");
  try {
    return (await import("../lib/event_loop.ts?without-immediates")).nextRound;
  } finally {
    Object.defineProperty(globalThis, "setImmediate", own);
  }
}

/** How many turns of a millisecond, with `step` in each, pass before bytes are seen that have come to a socket. */
async function turnsUntilSeen(next: typeof nextRound, step = () => {}): Promise<number> {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const [near, far] = await Promise.all([
    Deno.connect({ hostname: "127.0.0.1", port: listener.addr.port }),
    listener.accept(),
  ]);
  let seen = false;
  const reading = far.read(new Uint8Array(8)).then(() => seen = true);
  const turn = async () => {
    await new Promise<void>(next);
    step();
    busy(1);
  };
  // The loop has been busy for long when the bytes come.
  for (let turns = 0; turns < 10; turns++) await turn();
  await near.write(new Uint8Array(8));
  let turns = 0;
  for (; !seen && turns < 100; turns++) await turn();
  await reading;
  near.close();
  far.close();
  return turns;
}

function busy(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

/** The runtime by itself looks at its sockets in one of 61 turns. */
const MOST_TURNS = 12;

for (
  const [by, round] of [["an immediate", () => nextRound], ["a message", withoutImmediates]] as const
) {
  Deno.test(`a round by ${by} gives timers their turn, however many rounds are asked for`, async () => {
    const next = await round();
    let fired = false;
    const timer = setTimeout(() => fired = true, 0);
    const until = performance.now() + 5000;
    while (!fired && performance.now() < until) await new Promise<void>(next);
    clearTimeout(timer);
    assertEquals(fired, true);
  });

  Deno.test(`rounds by ${by} give sockets their turn every few milliseconds`, async () => {
    assertLessOrEqual(await turnsUntilSeen(await round()), MOST_TURNS);
  });
}

Deno.test("rounds give sockets their turn also while timers are set and taken back, and tasks come and go", async () => {
  const timers = fineTimers();
  const steps = [() => timers.set(() => {}, 1000)(), () => nextTask(() => {})];
  for (const step of steps) assertLessOrEqual(await turnsUntilSeen(nextRound, step), MOST_TURNS);
});

Deno.test("rounds come in the order in which they were asked for, and one wait in four milliseconds is for the sockets", async () => {
  const rounds: (() => void)[] = [], waits: ((how: "timed-out") => void)[] = [];
  let now = 1000;
  const stubs: [object, string, unknown][] = [
    [globalThis, "setImmediate", (fn: () => void) => rounds.push(fn)],
    [performance, "now", () => now],
    [Atomics, "waitAsync", () => ({ async: true, value: new Promise((resolve) => waits.push(resolve)) })],
  ];
  const own = stubs.map(([of, name]) => Object.getOwnPropertyDescriptor(of, name));
  for (const [of, name, value] of stubs) Object.defineProperty(of, name, { configurable: true, value });
  try {
    const { nextRound } = await import("../lib/event_loop.ts?by-hand");
    let order = "";
    const ask = (name: string) => nextRound(() => order += name);
    ask("a");
    now += 1;
    ask("b");
    assertEquals([rounds.length, waits.length], [2, 1]);
    // The wait is due: nobody goes round until it has ended, and those that do already are not overtaken.
    now += 1;
    ask("c");
    ask("d");
    assertEquals(rounds.length, 2);
    waits[0]("timed-out");
    await undefined;
    await undefined;
    ask("e");
    while (rounds.length > 0) rounds.shift()!();
    assertEquals(order, "abcde");
    now += 3.9;
    ask("f");
    assertEquals(waits.length, 1);
    now += 0.2;
    ask("g");
    assertEquals(waits.length, 2);
  } finally {
    stubs.forEach(([of, name], i) =>
      own[i] ? Object.defineProperty(of, name, own[i]) : Reflect.deleteProperty(of, name)
    );
  }
});

Deno.test("a task comes once and not at once, tasks come in their order, and the loop lives until they have", async () => {
  const order: string[] = [];
  const both = new Promise<void>((resolve) => {
    nextTask(() => order.push("first"));
    nextTask(() => {
      order.push("second");
      resolve();
    });
  });
  order.push("now");
  await both;
  await new Promise((resolve) => setTimeout(resolve, 100));
  assertEquals(order, ["now", "first", "second"]);
});

Deno.test("in each task the runtime's sockets take a hundred writes at once", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const [near, far] = await Promise.all([
    Deno.connect({ hostname: "127.0.0.1", port: listener.addr.port }),
    listener.accept(),
  ]);
  try {
    for (let task = 0; task < 4; task++) {
      await new Promise<void>(nextTask);
      let taken = 0;
      for (let i = 0; i < 100; i++) near.write(new Uint8Array(1)).then(() => taken++);
      for (let i = 0; i < 20; i++) await undefined;
      assertEquals(taken, 100);
    }
  } finally {
    near.close();
    far.close();
  }
});

Deno.test("what is there behind a few microtasks is settled; what waits for anything outside is not, nor what fails", async () => {
  const value = {};
  const later = async () => {
    await undefined;
    await undefined;
    return value;
  };
  const outside = new Promise<object>((resolve) => setTimeout(() => resolve(value)));
  const failing = Promise.reject(new Error("no value"));
  assertEquals(
    [
      await settled(Promise.resolve(value)),
      await settled(later()),
      await settled(outside),
      await settled(failing),
    ],
    [value, value, undefined, undefined],
  );
  await outside;
});
