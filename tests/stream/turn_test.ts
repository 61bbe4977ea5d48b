import { assert, assertEquals } from "@std/assert";
import { Turn } from "../../lib/stream/turn.ts";
import { settle } from "../helpers/manual_clock.ts";

/** Asks at each of these times. */
function asked(...times: number[]): boolean[] {
  let now = 0;
  const turn = new Turn(() => now);
  return times.map((at) => {
    now = at;
    return turn.spent();
  });
}

Deno.test("a turn is spent once it has gone on for more than half a millisecond", () => {
  assertEquals(asked(10, 10.2, 10.4, 10.5, 10.6, 12), [false, false, false, false, true, true]);
});

Deno.test("a pause in the asking is a turn of somebody else: the budget begins anew", () => {
  assertEquals(asked(10, 10.4, 14.5, 14.9, 15.1), [false, false, false, false, true]);
});

Deno.test("chunks that take more than the budget each do not begin a new one", () => {
  assertEquals(asked(10, 12, 14, 16, 18), [false, true, true, true, true]);
});

Deno.test("of those that are woken each sixteenth asks, and is told to rest when the turn is spent", () => {
  let now = 10;
  const turn = new Turn(() => now);
  const told = Array.from({ length: 48 }, () => {
    now += 0.02;
    return turn.woken();
  });
  // At 0.3, 0.6 and 0.9 ms of a turn that began with the first of them that asked.
  assertEquals(told.flatMap((rests, i) => rests ? [i] : []), [47]);
});

Deno.test("what somebody else sees to the end of is never told to rest, and uses up nobody's budget", () => {
  let now = 0;
  let bounded = true;
  const turn = new Turn(() => now, () => bounded);
  const spent = (at: number) => {
    now = at;
    return turn.spent();
  };
  assertEquals([spent(10), spent(12), spent(14)], [false, false, false]);
  bounded = false;
  assertEquals([spent(15), spent(15.4), spent(15.6)], [false, false, true]);
});

Deno.test("those who wait for the next turn share its budget, and who finds none left is the first of the one after", async () => {
  let now = 0;
  const turn = new Turn(() => now);
  const order: string[] = [];
  const wait = (name: string) =>
    new Promise<void>((resolve) =>
      turn.next(() => {
        order.push(name);
        now += 0.3;
        // Runs when the turn has been left.
        queueMicrotask(() => (order.push("|"), resolve()));
      })
    );
  const [a, ...others] = ["a", "b", "c"].map(wait);
  await a;
  await Promise.all([...others, wait("d")]);
  assertEquals(order.join(""), "ab||cd||");
});

Deno.test("streams that ask in turns share one budget", () => {
  const times = Array.from({ length: 60 }, (_, i) => i * 0.02);
  const spent = asked(...times).indexOf(true);
  assertEquals(times[spent].toFixed(2), "0.52");
});

Deno.test("the next turn has a budget of its own, and comes after the event loop has gone round, not before", async () => {
  let now = 0;
  const turn = new Turn(() => now);
  turn.spent();
  for (; now < 2; now += 0.5) turn.spent();
  assert(turn.spent());
  let came = false;
  const next = new Promise<void>((resolve) => turn.next(() => (came = true, resolve())));
  await settle();
  assertEquals(came, false, "promises alone do not get there");
  await next;
  assertEquals(turn.spent(), false);
});

Deno.test("turns come in the order in which they were asked for", async () => {
  const turn = new Turn();
  const order: number[] = [];
  await Promise.all(
    [1, 2, 3].map((n) => new Promise<void>((done) => turn.next(() => (order.push(n), done())))),
  );
  assertEquals(order, [1, 2, 3]);
});
