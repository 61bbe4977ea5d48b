import { assertEquals, assertThrows } from "@std/assert";
import { Gathering } from "../../lib/stream/gathering.ts";

const nobody = { wake: () => {} };

Deno.test("who begins while another gathers goes on when that one has ended, in the order of asking", () => {
  const gathering = new Gathering();
  const order: string[] = [];
  const go = (name: string, during = () => {}) => {
    if (!gathering.begin({ wake: () => go(name, during) })) return;
    order.push(`${name} begins`);
    during();
    order.push(`${name} ends`);
    gathering.end();
  };
  go("a", () => {
    go("b", () => go("d"));
    go("c");
  });
  go("e");
  assertEquals(order, ["a", "b", "c", "d", "e"].flatMap((name) => [`${name} begins`, `${name} ends`]));
});

Deno.test("what one left in the chunk is not there for the next", () => {
  const gathering = new Gathering();
  gathering.begin(nobody);
  gathering.chunk.addText("a stranger's");
  gathering.end();
  gathering.begin(nobody);
  assertEquals([gathering.chunk.size, gathering.chunk.take()], [0, undefined]);
  gathering.end();
});

Deno.test("a long queue in which each wakes the next is a loop, and one that throws leaves none waiting for ever", () => {
  const gathering = new Gathering();
  let begun = 0;
  const go = () => {
    if (!gathering.begin({ wake: go })) return;
    // Asked for while this one gathers, like a body that a freed slot wakes.
    if (++begun < 100_000) go();
    gathering.end();
  };
  go();
  assertEquals(begun, 100_000);

  const went: string[] = [];
  gathering.begin(nobody);
  gathering.begin({
    wake: () => {
      throw new Error("woken");
    },
  });
  gathering.begin({ wake: () => went.push("behind it") });
  assertThrows(() => gathering.end(), Error, "woken");
  gathering.begin(nobody);
  gathering.end();
  assertEquals(went, ["behind it"]);
});
