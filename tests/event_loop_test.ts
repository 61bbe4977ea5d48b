import { assertEquals, assertLessOrEqual } from "@std/assert";
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

  Deno.test(`a round by ${by} gives sockets their turn, however many rounds are asked for`, async () => {
    const next = await round();
    using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const [near, far] = await Promise.all([
      Deno.connect({ hostname: "127.0.0.1", port: listener.addr.port }),
      listener.accept(),
    ]);
    let come = 0;
    const reading = far.read(new Uint8Array(8)).then((count) => come = count!);
    // The read waits when the bytes come.
    await new Promise<void>(next);
    await near.write(new Uint8Array(8));
    let rounds = 0;
    for (; come === 0 && rounds < 100; rounds++) {
      await new Promise<void>(next);
      const until = performance.now() + 1;
      while (performance.now() < until);
    }
    await reading;
    near.close();
    far.close();
    // Of a millisecond each: the runtime by itself looks in one of 61.
    assertLessOrEqual(rounds, 12);
  });
}

Deno.test("rounds come in the order in which they were asked for, also when they are asked for all the time", async () => {
  let asked = 0, come = 0;
  const until = performance.now() + 50;
  await Promise.all(Array.from({ length: 5 }, async () => {
    while (performance.now() < until) {
      const mine = asked++;
      await new Promise<void>(nextRound);
      assertEquals(mine, come++);
    }
  }));
  assertEquals(asked, come);
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
