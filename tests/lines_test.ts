import { assertEquals } from "@std/assert";
import { lineWriter } from "../lib/lines.ts";

/** A place to write to that takes at most `most` bytes at a time. */
function taker(most = Infinity) {
  const decoder = new TextDecoder();
  const writes: string[] = [];
  const write = (bytes: Uint8Array) => {
    const taken = bytes.subarray(0, most);
    writes.push(decoder.decode(taken, { stream: true }));
    return taken.length;
  };
  return { writes, write };
}

Deno.test("lines share a write, in their order, and flush writes what waits", () => {
  const { writes, write } = taker();
  const { log, flush } = lineWriter(write);
  log("one");
  log("둘");
  assertEquals(writes, []);
  flush();
  flush();
  assertEquals(writes, ["one\n둘\n"]);
});

Deno.test("a write that takes a part is followed by one with the rest", () => {
  const { writes, write } = taker(3);
  const { log, flush } = lineWriter(write);
  log("안녕 a");
  flush();
  assertEquals(writes.length, 3);
  assertEquals(writes.join(""), "안녕 a\n");
});

Deno.test("lines that wait are bounded: the one that fills them up writes them all", () => {
  const { writes, write } = taker();
  const { log } = lineWriter(write);
  log("a");
  log("b".repeat(65_536));
  assertEquals(writes.map((text) => text.length), [65_536 + 3]);
});

Deno.test("a write that throws loses its lines, not the process, and later ones are written", () => {
  const { writes, write } = taker();
  let broken = true;
  const { log, flush } = lineWriter((bytes) => {
    if (broken) throw new Error("Broken pipe");
    return write(bytes);
  });
  log("lost");
  flush();
  broken = false;
  log("kept");
  flush();
  assertEquals(writes, ["kept\n"]);
});
