import { assertEquals } from "@std/assert";
import { nextRound, nextTask } from "../lib/event_loop.ts";

Deno.test("a round gives timers their turn, however many rounds are asked for", async () => {
  let fired = false;
  const timer = setTimeout(() => fired = true, 0);
  const until = performance.now() + 5000;
  while (!fired && performance.now() < until) await new Promise<void>(nextRound);
  clearTimeout(timer);
  assertEquals(fired, true);
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
