import { assertEquals, assertThrows } from "@std/assert";
import { Batch, type Member } from "../../lib/engine/batch.ts";
import { TapError } from "../../lib/errors.ts";

/** A batch, members that note when they are admitted, and the order in which they were. */
function setUp(max: number, maxQueue: number) {
  const batch = new Batch(max, maxQueue);
  const order: string[] = [];
  const enter = (name: string, admitted?: () => void): Member => {
    const member: Member = {
      admitted: () => {
        order.push(name);
        admitted?.();
      },
    };
    batch.enter(member);
    return member;
  };
  const counts = () => [batch.inUse, batch.queued];
  return { batch, order, enter, counts };
}

Deno.test("a member takes a free slot before enter returns, and waits when there is none", () => {
  const { order, enter, counts } = setUp(2, 10);
  const members = ["a", "b", "c"].map((name) => enter(name));
  assertEquals(order, ["a", "b"]);
  assertEquals(counts(), [2, 1]);
  assertEquals(members.map(({ place }) => place), ["slot", "slot", "queue"]);
});

Deno.test("those who wait are admitted first come, first served, each before leave returns", () => {
  const { batch, order, enter, counts } = setUp(1, 10);
  const members = ["a", "b", "c", "d"].map((name) => enter(name));
  for (const [i, member] of members.entries()) {
    batch.leave(member);
    assertEquals(order, ["a", "b", "c", "d"].slice(0, i + 2));
  }
  assertEquals(counts(), [0, 0]);
});

for (const [where, leaver] of [["front", 1], ["middle", 2], ["end", 3]] as const) {
  Deno.test(`who leaves the queue from its ${where} shortens it at once, and the order of the others stays`, () => {
    const { batch, order, enter, counts } = setUp(1, 10);
    const members = ["a", "b", "c", "d"].map((name) => enter(name));
    batch.leave(members[leaver]!);
    assertEquals(counts(), [1, 2]);
    assertEquals(order, ["a"]);
    enter("e");
    const left = members.filter((_, i) => i !== leaver);
    for (const member of left) batch.leave(member);
    assertEquals(order, ["a", "b", "c", "d"].filter((_, i) => i !== leaver).concat("e"));
    assertEquals(counts(), [1, 0]);
  });
}

Deno.test("who has left the queue may come again, at its end", () => {
  const { batch, order, enter, counts } = setUp(1, 10);
  const [a, b, c] = ["a", "b", "c"].map((name) => enter(name));
  batch.leave(b!);
  batch.enter(b!);
  for (const member of [a!, c!, b!]) batch.leave(member);
  assertEquals([order, counts()], [["a", "c", "b"], [0, 0]]);
});

Deno.test("leaving twice frees one place", () => {
  const { batch, enter, counts } = setUp(2, 10);
  const [a, , c, d] = ["a", "b", "c", "d"].map((name) => enter(name));
  batch.leave(c!);
  batch.leave(c!);
  assertEquals(counts(), [2, 1]);
  batch.leave(a!);
  batch.leave(a!);
  assertEquals(counts(), [2, 0]);
  assertEquals(d!.place, "slot");
});

Deno.test("a full queue refuses with rate_limit, says both bounds and when to come back, and changes nothing", () => {
  const { order, enter, counts } = setUp(2, 1);
  ["a", "b", "c"].forEach((name) => enter(name));
  const error = assertThrows(() => enter("d"), TapError, "All 2 slots are busy");
  assertEquals([error.code, error.status, error.retryAfter], ["rate_limit", 429, 1]);
  assertEquals([counts(), order], [[2, 1], ["a", "b"]]);
});

Deno.test("with no queue at all a slot is still given, and the next is refused", () => {
  const { batch, enter, counts } = setUp(1, 0);
  const a = enter("a");
  assertThrows(() => enter("b"), TapError);
  batch.leave(a);
  enter("c");
  assertEquals(counts(), [1, 0]);
});

Deno.test("a member that leaves while it is being admitted lets the next one in", () => {
  const { batch, order, enter, counts } = setUp(1, 10);
  const a = enter("a");
  const brief: Member = {
    admitted: () => {
      order.push("brief");
      batch.leave(brief);
    },
  };
  batch.enter(brief);
  enter("c");
  batch.leave(a);
  assertEquals(order, ["a", "brief", "c"]);
  assertEquals(counts(), [1, 0]);
});

Deno.test("a hundred thousand that leave while they are being admitted do not pile up on the stack", () => {
  const { batch, enter, counts } = setUp(1, 100_000);
  const first = enter("first");
  let admitted = 0;
  for (let i = 0; i < 100_000; i++) {
    const brief: Member = {
      admitted: () => {
        admitted++;
        batch.leave(brief);
      },
    };
    batch.enter(brief);
  }
  batch.leave(first);
  assertEquals([admitted, counts()], [100_000, [0, 0]]);
});

Deno.test("who arrives while a slot is being given out does not pass those who wait", () => {
  const { batch, order, enter } = setUp(2, 10);
  const a = enter("a");
  const b = enter("b");
  enter("c", () => {
    batch.leave(b);
    enter("late");
  });
  enter("d");
  batch.leave(a);
  assertEquals(order, ["a", "b", "c", "d"]);
});

Deno.test("the load is 0 for one alone and 1 when all slots are busy, linear between", () => {
  const { batch, enter } = setUp(5, 10);
  const loads = [batch.load];
  for (const name of "abcdefg") {
    enter(name);
    loads.push(batch.load);
  }
  assertEquals(loads, [0, 0, 0.25, 0.5, 0.75, 1, 1, 1]);
});

Deno.test("a batch of one slot is idle or full", () => {
  const { batch, enter } = setUp(1, 10);
  assertEquals(batch.load, 0);
  const a = enter("a");
  assertEquals(batch.load, 1);
  batch.leave(a);
  assertEquals(batch.load, 0);
});
