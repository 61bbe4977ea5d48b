import { assertEquals, assertMatch, assertThrows } from "@std/assert";
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

Deno.test("a length given more than once is one length, if it is the same each time", () => {
  for (const length of ["5, 5", "5,5", "5 ,\t5, 5"]) {
    assertEquals(take({ "content-length": length }, ["ab", "cdef"]), [["ab", false], ["cde", true]]);
  }
});

Deno.test("a body without a length is done when the connection is", () => {
  assertEquals(take({}, ["ab", "", null]), [["ab", false], ["", false], ["", true]]);
});

Deno.test("chunks count more than a length", () => {
  const headers = { "content-length": "1", "transfer-encoding": "Chunked" };
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

Deno.test("a body whose chunks break off in framing gives what stood before, and then throws whatever comes", () => {
  for (const next of ["", "1\r\nb\r\n", null]) {
    const unframe = framing(new Headers({ "transfer-encoding": "chunked" }));
    const { payload, broken } = unframe(bytesOf("1\r\na\r\nzz\r\n"));
    assertEquals([payload, broken], [bytesOf("a"), true]);
    assertThrows(() => unframe(next === null ? null : bytesOf(next)), Error, 'got "zz"');
  }
});

Deno.test("a length that is none is refused before anything is read", () => {
  for (
    const length of ["five", "-1", "1.5", "5, 6", "5, 05", "5,", ",5", "five, five", "0x10", "1".repeat(16)]
  ) {
    assertThrows(
      () => framing(new Headers({ "content-length": length })),
      Error,
      `got "${length}"`,
    );
  }
});

Deno.test("a transfer coding that is not chunks alone is an error that names it, before anything is read", () => {
  const codings = [
    "gzip, chunked",
    "gzip",
    "Deflate",
    "chunked, gzip",
    "chunked, chunked",
    "identity, chunked",
    "xchunked",
    "chunked;q=1",
    "\x0bchunked",
    "",
  ];
  for (const coding of codings) {
    const headers = new Headers({ "content-length": "2", "transfer-encoding": coding });
    const came = coding.replace("\x0b", "?");
    assertThrows(() => framing(headers), Error, `wanted the transfer coding chunked or none, got "${came}"`);
  }
  const twice = new Headers({ "transfer-encoding": "chunked" });
  twice.append("transfer-encoding", "chunked");
  assertThrows(() => framing(twice), Error, 'got "chunked, chunked"');
});

Deno.test("identity is no coding, wherever it stands", () => {
  for (const name of ["transfer-encoding", "content-encoding"]) {
    for (const coding of ["identity", "Identity"]) {
      assertEquals(take({ [name]: coding, "content-length": "2" }, ["ab"]), [["ab", true]]);
      assertEquals(take({ [name]: coding }, ["ab", null]), [["ab", false], ["", true]]);
    }
  }
  assertEquals(take({ "content-encoding": "", "content-length": "2" }, ["ab"]), [["ab", true]]);
});

Deno.test("a body in a content coding is an error that names it, however it is framed", () => {
  for (const coding of ["gzip", "BR", "zstd", "x-gzip", "gzip, identity", "identity, gzip"]) {
    for (const [name, value] of [["content-length", "2"], ["transfer-encoding", "chunked"], ["x-a", "b"]]) {
      const headers = new Headers({ [name]: value, "content-encoding": coding });
      assertThrows(() => framing(headers), Error, `wanted a body in no coding, got "${coding}"`);
    }
  }
});

Deno.test("what a header says is shortened and quoted where an error names it", () => {
  for (const name of ["transfer-encoding", "content-encoding", "content-length"]) {
    const error = assertThrows(() => framing(new Headers({ [name]: `a"\x1b${"b".repeat(1000)}` })), Error);
    assertMatch(error.message, /got "a\\"\?b{37}…"$/);
  }
});
