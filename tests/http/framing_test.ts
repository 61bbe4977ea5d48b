import { assertEquals, assertThrows } from "@std/assert";
import { framing } from "../../lib/http/framing.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);

function take(headers: Record<string, string>, pieces: (string | null)[]) {
  const unframe = framing(new Headers(headers));
  return pieces.map((piece) => {
    const { payload, done } = unframe(piece === null ? null : bytesOf(piece));
    return [new TextDecoder().decode(payload), done];
  });
}

Deno.test("a body with a length is done at its last byte, and what follows is no part of it", () => {
  assertEquals(take({ "content-length": "5" }, ["ab", "cde"]), [["ab", false], ["cde", true]]);
  assertEquals(take({ "content-length": "2" }, ["abc"]), [["ab", true]]);
  assertEquals(take({ "content-length": "0" }, [""]), [["", true]]);
});

Deno.test("a body without a length is done when the connection is", () => {
  assertEquals(take({}, ["ab", "", null]), [["ab", false], ["", false], ["", true]]);
});

Deno.test("chunks count more than a length", () => {
  const headers = { "content-length": "1", "transfer-encoding": "gzip, Chunked" };
  assertEquals(take(headers, ["2\r\nab\r\n", "0\r\n\r\n"]), [["ab", false], ["", true]]);
});

Deno.test("a connection that ends before its body is an error that says how much was missing", () => {
  assertThrows(
    () => take({ "content-length": "5" }, ["ab", null]),
    Error,
    "3 bytes before the body's end",
  );
  assertThrows(
    () => take({ "transfer-encoding": "chunked" }, ["2\r\nab\r\n", null]),
    Error,
    "last chunk",
  );
});

Deno.test("a length that is none is refused before anything is read", () => {
  for (const length of ["five", "-1", "1.5", "5, 5", "0x10", "1".repeat(16)]) {
    assertThrows(
      () => framing(new Headers({ "content-length": length })),
      Error,
      `got "${length}"`,
    );
  }
});
