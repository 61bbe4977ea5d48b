import { assertEquals, assertRejects } from "@std/assert";
import { PushedSocket } from "../../lib/engine/upstream/pushed_socket.ts";
import { until } from "../helpers/until.ts";

/** A connection that pushes what the test says, and notes what it is told. */
function begin() {
  const told: string[] = [];
  const socket = new PushedSocket({
    write: (_bytes, done) => done(),
    pause: () => void told.push("pause"),
    resume: () => void told.push("resume"),
    destroy: () => void told.push("destroy"),
  });
  return { socket, told, push: (text: string) => socket.push(new TextEncoder().encode(text)) };
}

async function read(socket: PushedSocket, size = 8): Promise<string | null> {
  const into = new Uint8Array(size);
  const came = await socket.read(into);
  return came === null ? null : new TextDecoder().decode(into.subarray(0, came));
}

Deno.test("a reader who waits gets what comes, and the connection is not paused", async () => {
  const { socket, told, push } = begin();
  for (const text of ["a", "bc"]) {
    const reading = read(socket);
    push(text);
    assertEquals(await reading, text);
  }
  assertEquals(told, []);
});

Deno.test("what comes while nobody reads is kept in order, and pauses the connection until all is read", async () => {
  const { socket, told, push } = begin();
  for (const text of ["abc", "d", "ef"]) push(text);
  await until("a pause", () => told.length > 0);
  assertEquals([await read(socket, 2), await read(socket, 2), await read(socket), await read(socket)], [
    "ab",
    "c",
    "d",
    "ef",
  ]);
  assertEquals(told, ["pause"]);
  const reading = read(socket);
  assertEquals(told, ["pause", "resume"]);
  push("g");
  assertEquals(await reading, "g");
});

Deno.test("what a waiting reader has no room for is read next", async () => {
  const { socket, push } = begin();
  const reading = read(socket, 2);
  push("abc");
  assertEquals([await reading, await read(socket)], ["ab", "c"]);
});

Deno.test("the end, and an error, come behind what was pushed before", async () => {
  const ended = begin();
  ended.push("a");
  ended.socket.end();
  assertEquals([await read(ended.socket), await read(ended.socket)], ["a", null]);
  const failed = begin();
  failed.push("a");
  failed.socket.fail(new Error("reset"));
  assertEquals(await read(failed.socket), "a");
  await assertRejects(() => read(failed.socket), Error, "reset");
});

Deno.test("who waits in a read when the socket is closed is rejected, and the connection destroyed", async () => {
  const { socket, told } = begin();
  const reading = read(socket);
  socket.close();
  await assertRejects(() => reading, Error, "the socket was closed");
  assertEquals(told, ["destroy"]);
});
