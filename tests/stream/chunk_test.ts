import { assertEquals, assertStrictEquals } from "@std/assert";
import { draw } from "../../lib/engine/hash.ts";
import { Chunk } from "../../lib/stream/chunk.ts";
import { SharedBytes } from "../../lib/http/bytes.ts";
import { encode } from "../../lib/stream/sse.ts";

const text = (bytes: Uint8Array | undefined) => new TextDecoder().decode(bytes);

Deno.test("nothing gathered is nothing to take, and empty text adds nothing", () => {
  const chunk = new Chunk();
  chunk.addText("");
  assertEquals([chunk.take(), chunk.size], [undefined, 0]);
});

Deno.test("text and bytes come out in the order in which they went in, whatever it was", () => {
  for (let run = 0; run < 100; run++) {
    const chunk = new Chunk();
    let whole = "";
    for (let i = 0; i < run % 9; i++) {
      const piece = ["a", "안녕", "🙂", ""][draw(run, 1, i) % 4];
      whole += piece;
      if (draw(run, 2, i) % 2) chunk.addText(piece);
      else chunk.addShared(new SharedBytes(encode(piece)));
    }
    assertEquals(text(chunk.take()), whole);
  }
});

Deno.test("the builder is empty after it was taken from", () => {
  const chunk = new Chunk();
  chunk.addText("a");
  chunk.addShared(new SharedBytes(encode("b")));
  chunk.addText("c");
  assertEquals([chunk.size, text(chunk.take()), chunk.size], [3, "abc", 0]);
  assertEquals(chunk.take(), undefined);
  chunk.addShared(new SharedBytes(encode("d")));
  chunk.addText("e");
  assertEquals(text(chunk.take()), "de");
});

Deno.test("bytes that stay alone are not copied, and those joined with others are not written to", () => {
  const chunk = new Chunk();
  const shared = new SharedBytes(encode("shared"));
  chunk.addShared(shared);
  assertStrictEquals(chunk.take(), shared.bytes);
  assertStrictEquals(chunk.shared, shared);
  chunk.addShared(shared);
  chunk.addShared(new SharedBytes(encode("!")));
  assertEquals(text(chunk.take()), "shared!");
  assertEquals(chunk.shared, undefined);
  assertEquals(text(shared.bytes), "shared");
  chunk.addShared(shared);
  chunk.take();
  chunk.addText("text alone");
  chunk.take();
  assertEquals(chunk.shared, undefined);
});

Deno.test("a chunk that was cleared is empty", () => {
  const chunk = new Chunk();
  chunk.addText("a");
  chunk.addShared(new SharedBytes(encode("b")));
  chunk.clear();
  assertEquals([chunk.size, chunk.take()], [0, undefined]);
  chunk.addText("a");
  chunk.clear();
  assertEquals([chunk.size, chunk.take()], [0, undefined]);
});
