import { assertEquals, assertNotStrictEquals, assertStrictEquals } from "@std/assert";
import { Inbox } from "../../lib/http/server/inbox.ts";
import { settle } from "./serving.ts";

/** An inbox whose reads the test answers. `rooms`: what each read could take. */
function filling() {
  const rooms: Uint8Array[] = [];
  let answer!: (count: number | null) => void;
  const inbox = new Inbox({
    read(into) {
      rooms.push(into);
      return new Promise((resolve) => answer = resolve);
    },
    write: (bytes) => Promise.resolve(bytes.length),
    close() {},
  }, () => false);
  const filled = inbox.fill();
  return {
    inbox,
    rooms,
    /** The peer sends so many bytes. */
    async arrive(count: number) {
      answer(count);
      await settle();
    },
    /** The peer leaves. */
    async leave() {
      answer(null);
      await filled;
    },
    sizes: () => rooms.map(({ length }) => length),
  };
}

Deno.test("requests that fit are all read into one array of 2,048 bytes, and none is moved while it is looked at", async () => {
  const { inbox, rooms, arrive, leave } = filling();
  for (let request = 0; request < 40; request++) {
    rooms.at(-1)!.fill(request, 0, 300);
    await arrive(300);
    const seen = inbox.peek();
    assertEquals([seen.length, seen.every((byte) => byte === request)], [300, true]);
    inbox.consume(300);
  }
  assertEquals(new Set(rooms.map(({ buffer }) => buffer)).size, 1);
  assertEquals([rooms[0].length, rooms[0].buffer.byteLength], [2048, 2048]);
  await leave();
});

Deno.test("a read gets 512 bytes or more: where fewer are left what lies there is moved, or the array grows", async () => {
  const { inbox, rooms, arrive, leave, sizes } = filling();
  await arrive(1536);
  assertEquals(sizes(), [2048, 512]);
  await arrive(100);
  assertEquals(sizes()[2], 1636);
  inbox.consume(1600);
  await arrive(1600);
  assertEquals([inbox.length, rooms[3].length >= 512], [1636, true]);
  await leave();
});

Deno.test("what fills its room gets twice of it next, up to a bound, and a long request's array goes when it is over", async () => {
  const { inbox, rooms, arrive, leave, sizes } = filling();
  for (let read = 0; read < 8; read++) {
    await arrive(rooms.at(-1)!.length);
    inbox.consume(inbox.length);
  }
  assertEquals(sizes().slice(0, 6), [2048, 4096, 8192, 16_384, 32_768, 65_536]);
  assertEquals(Math.max(...sizes()), 65_536);
  await arrive(1);
  inbox.consume(1);
  await arrive(1);
  assertEquals(rooms.at(-1)!.buffer.byteLength, 2048);
  await leave();
});

Deno.test("the next connection gets the array of one that is over, unless something lies in it or it is a long one", async () => {
  const first = filling();
  await first.arrive(10);
  first.inbox.consume(10);
  await first.leave();
  const second = filling();
  assertStrictEquals(second.rooms[0].buffer, first.rooms[0].buffer);
  assertEquals(first.inbox.peek().length, 0);
  assertNotStrictEquals(first.inbox.peek().buffer, second.rooms[0].buffer);
  await second.arrive(10);
  await second.leave();
  assertEquals(second.inbox.length, 10);
  const third = filling();
  const fourth = filling();
  assertNotStrictEquals(third.rooms[0].buffer, second.rooms[0].buffer);
  await fourth.leave();
  await third.arrive(2048);
  await third.arrive(4096);
  third.inbox.consume(third.inbox.length);
  await third.leave();
  assertStrictEquals(filling().rooms[0].buffer, fourth.rooms[0].buffer);
});
