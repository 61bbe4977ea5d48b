import { assertEquals } from "@std/assert";
import { Gathering } from "../../lib/stream/gathering.ts";

Deno.test("who begins while another gathers goes on when that one has ended, in the order of asking", () => {
  const gathering = new Gathering();
  const order: string[] = [];
  const go = (name: string, during = () => {}) => {
    if (!gathering.begin(() => go(name, during))) return;
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
  gathering.begin(() => {});
  gathering.chunk.addText("a stranger's");
  gathering.end();
  gathering.begin(() => {});
  assertEquals([gathering.chunk.size, gathering.chunk.take()], [0, undefined]);
  gathering.end();
});
