import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { ChunkedDecoder } from "../../lib/http/chunked.ts";
import { everyCut } from "../helpers/cut_body.ts";
import { dechunk } from "../helpers/dechunk.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);

Deno.test("a chunked body decodes the same at every cut, extensions and trailers included", () => {
  for (const pieces of everyCut(bytesOf("5\r\nhel\nl\r\nA;x=1\r\no, world\r\n\r\n0\r\nTrailer: 1\r\n\r\n"))) {
    assertEquals(dechunk(pieces), { text: "hel\nlo, world\r\n", done: true });
  }
});

Deno.test("the chunks of one read are one piece", () => {
  assertEquals(new ChunkedDecoder().push(bytesOf("1\r\na\r\n1\r\nb\r\n1\r\n")), bytesOf("ab"));
});

Deno.test("a body is not done before its closing chunk and trailer are", () => {
  const wire = bytesOf("1\r\na\r\n0\r\nTrailer: 1\r\n\r\n");
  for (let length = 0; length < wire.length; length++) assert(!dechunk([wire.subarray(0, length)]).done);
});

Deno.test("broken framing is an error that shows what came", () => {
  assertThrows(() => dechunk([bytesOf("hello\r\n")]), Error, 'hexadecimal, got "hello"');
  assertThrows(() => dechunk([bytesOf("-1\r\n")]), Error, 'got "-1"');
  assertThrows(() => dechunk([bytesOf("1\r\nab\r\n")]), Error, 'after a chunk, got "b"');
  assertThrows(() => dechunk([bytesOf("0".repeat(9000))]), Error, "under 8192 bytes");
});

Deno.test("what was decoded before the framing broke is given, and then the error, however it was cut", () => {
  for (const pieces of everyCut(bytesOf("1\r\na\r\n1\r\nb\r\nzz\r\n1\r\nc\r\n"))) {
    const decoder = new ChunkedDecoder();
    let text = "";
    const error = assertThrows(() => {
      for (const piece of [...pieces, new Uint8Array(0)]) {
        text += new TextDecoder().decode(decoder.push(piece));
      }
    }, Error);
    assertEquals([text, error.message], ["ab", 'wanted a chunk size in hexadecimal, got "zz"']);
  }
});

Deno.test("what came in the place of framing is shortened and quoted where an error shows it", () => {
  const foreign = `x"\x1b${"b".repeat(1000)}\r\n`;
  for (const wire of [foreign, `1\r\na${foreign}`]) {
    const error = assertThrows(() => dechunk([bytesOf(wire)]), Error);
    assertMatch(error.message, /got "x\\"\?b{37}…"$/);
  }
});
