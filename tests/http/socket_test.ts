import { assertEquals, assertRejects } from "@std/assert";
import { type Socket, writeAll } from "../../lib/http/socket.ts";

const BYTES = new TextEncoder().encode("exactly");

/** A socket of which each write takes what `take` says, and how much each was given. */
function taking(take: (count: number) => number) {
  const given: number[] = [];
  const socket: Socket = {
    read: () => Promise.resolve(null),
    write: (bytes) => {
      given.push(bytes.length);
      return Promise.resolve(take(bytes.length));
    },
    close: () => {},
  };
  return { socket, given };
}

Deno.test("all is written, in as many writes as the socket needs", async () => {
  const { socket, given } = taking((count) => Math.min(3, count));
  await writeAll(socket, BYTES);
  assertEquals(given, [7, 4, 1]);
});

Deno.test("what was taken before is not written again", async () => {
  const { socket, given } = taking((count) => count);
  await writeAll(socket, BYTES, 5);
  assertEquals(given, [2]);
});

Deno.test("a socket that takes nothing is an error, not asked again for ever", async () => {
  const { socket, given } = taking((count) => count === 7 ? 4 : 0);
  await assertRejects(() => writeAll(socket, BYTES), Error, "takes no more bytes");
  assertEquals(given, [7, 3]);
});
