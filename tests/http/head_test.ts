import { assert, assertEquals, assertLess, assertMatch, assertRejects } from "@std/assert";
import { readHead, requestBytes } from "../../lib/http/head.ts";
import { everyCut } from "../helpers/cut_body.ts";

/** The bytes of a text in UTF-8, as a server writes what it is given. */
const utf8 = (text: string) => new TextEncoder().encode(text);
/** Each character one byte. */
const raw = (text: string) => Uint8Array.from(text, (c) => c.charCodeAt(0));

async function headOf(pieces: Uint8Array[]) {
  const left = [...pieces];
  return await readHead(() => Promise.resolve(left.shift() ?? null));
}

/** The headers of an answer that has these lines between two that nobody could misread. */
async function headersAround(lines: string | Uint8Array): Promise<Headers> {
  const middle = typeof lines === "string" ? raw(lines) : lines;
  const parts = [raw("HTTP/1.1 429 Too Many\r\nX-Before: 1\r\n"), middle, raw("\r\nRetry-After: 7\r\n\r\n")];
  const { status, headers } = await headOf(parts);
  assertEquals([status, headers.get("x-before"), headers.get("retry-after")], [429, "1", "7"]);
  return headers;
}

const others = (headers: Headers) =>
  [...headers].filter(([name]) => name !== "x-before" && name !== "retry-after");

Deno.test("a header's value holds each byte as it came, whatever it stands for", async () => {
  for (let byte = 1; byte < 256; byte++) {
    const character = String.fromCharCode(byte);
    if (character === "\r" || character === "\n") continue;
    assertEquals((await headersAround(`X-A: b${character}c`)).get("x-a"), `b${character}c`, `byte ${byte}`);
  }
});

Deno.test("a header in UTF-8 costs no answer, and its bytes are all there", async () => {
  for (const value of ["모휼", "“slow”", "à", "🙂", "…"]) {
    const came = (await headersAround(utf8(`X-Model: ${value}`))).get("x-model")!;
    assertEquals(new TextDecoder().decode(raw(came)), value);
  }
});

/** Lines that a response may have, each with the headers they are. */
const TAKEN: Record<string, [lines: string, headers: [string, string][]]> = {
  "a space before the colon": ["X-Foo : bar", [["x-foo", "bar"]]],
  "blanks before the colon": ["X-Foo \t : bar", [["x-foo", "bar"]]],
  "blanks around the value": ["X-Foo: \t bar baz \t", [["x-foo", "bar baz"]]],
  "no value": ["X-Foo:", [["x-foo", ""]]],
  "a folded value": ["X-Foo: bar\r\n baz", [["x-foo", "bar baz"]]],
  "a value folded with a tab, and again": ["X-Foo: bar\r\n\t  baz\r\n qux", [["x-foo", "bar baz qux"]]],
  "a value that begins behind the fold": ["X-Foo:\r\n bar", [["x-foo", "bar"]]],
  "a fold that looks like a header": ["X-Foo: bar\r\n Content-Length: 5", [[
    "x-foo",
    "bar Content-Length: 5",
  ]]],
  "a fold of blanks alone": ["X-Foo: bar\r\n \t", [["x-foo", "bar"]]],
  "a name twice": ["X-Foo: bar\r\nx-foo: baz", [["x-foo", "bar, baz"]]],
  "a length behind a space": ["Content-Length : 5", [["content-length", "5"]]],
  "chunks behind a fold": ["Transfer-Encoding:\r\n chunked", [["transfer-encoding", "chunked"]]],
};

for (const [name, [lines, headers]] of Object.entries(TAKEN)) {
  Deno.test(`${name} is read as HTTP says of a response`, async () => {
    assertEquals(others(await headersAround(lines)), headers);
  });
}

Deno.test("a line that is no header is passed over, and the answer is read without it", async () => {
  const lines = [
    "no colon",
    ": no name",
    "X Foo: bar",
    "X-Foo\xa0: bar",
    "X(Foo): bar",
    "\xff: bar",
    "X-Foo: b\0r",
    "X-Foo: b\nr",
    "X-Foo: b\rr",
    "X-Foo: bar\r\n baz\0",
    "X-Foo: \0 content-length: 5",
    "Content-Length-Hint: \0",
    "X-Content-Length: \0",
  ];
  for (const line of lines) assertEquals(others(await headersAround(line)), [], JSON.stringify(line));
});

Deno.test("a header that would frame the body and cannot be read is an error, not passed over", async () => {
  const lines = [
    "Content-Length",
    "content-length 5",
    "Content-Length\0: 5",
    "Content-Length\xa0: 5",
    "Content-Length: 5\0",
    "Content-Length: 5\n",
    "Content-Length: \r5",
    "TRANSFER-ENCODING: chunked\0",
    "Transfer-Encoding; chunked",
    "X-Foo: bar\nContent-Length: 5",
    "X-Foo: bar\rTransfer-Encoding: chunked",
  ];
  for (const line of lines) {
    await assertRejects(
      () => headersAround(line),
      Error,
      "wanted a header that says where the body ends, got ",
      JSON.stringify(line),
    );
  }
});

Deno.test("a head reads the same at every cut, what is folded behind the status line is no header, and 1xx is none yet", async () => {
  const wire =
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n X-Not: 1\r\nX-A : b\r\n c\r\nX-B: \x80\r\n\r\nbody";
  for (const pieces of everyCut(raw(wire))) {
    const { status, headers, rest } = await headOf(pieces);
    assertEquals([status, [...headers]], [200, [["x-a", "b c"], ["x-b", "\x80"]]]);
    assert("body".startsWith(new TextDecoder().decode(rest)));
  }
});

Deno.test("a later minor version of HTTP/1 is read as 1.1, and no other major one is", async () => {
  for (const version of ["1.0", "1.1", "1.2", "1.9"]) {
    assertEquals((await headOf([raw(`HTTP/${version} 204 None\r\n\r\n`)])).status, 204);
  }
  for (const version of ["0.9", "2.0", "2", "11.1", "1.10"]) {
    await assertRejects(
      () => headOf([raw(`HTTP/${version} 204 None\r\n\r\n`)]),
      Error,
      "status line",
      version,
    );
  }
});

Deno.test("what came in the place of a status line is shortened and quoted where the error shows it", async () => {
  const error = await assertRejects(() => headOf([raw(`x"\x1b${"b".repeat(1000)}\r\n\r\n`)]), Error);
  assertMatch(error.message, /got "x\\"\?b{77}…"$/);
});

Deno.test("blanks in a head take no more time than letters", async () => {
  const blanks = " ".repeat(60_000);
  for (
    const line of [`X: a${blanks}b`, `X${blanks}: a`, `X: a${blanks}`, `X: a\r\n${blanks}b`, `X:${blanks}\0`]
  ) {
    const began = performance.now();
    await headersAround(line);
    assertLess(performance.now() - began, 500, line.slice(0, 6));
  }
});

Deno.test("in a request each character of a header is a byte, and the body is UTF-8 with its length in bytes", () => {
  const bytes = requestBytes("POST", new URL("http://a:1/b?c=d"), new Headers({ "x-a": "\xe9\xff" }), "é안");
  const text = String.fromCharCode(...bytes);
  const [head, body] = text.split("\r\n\r\n");
  assertEquals(head.split("\r\n"), [
    "POST /b?c=d HTTP/1.1",
    "content-length: 5",
    "host: a:1",
    "x-a: \xe9\xff",
  ]);
  assertEquals(body, String.fromCharCode(...utf8("é안")));
});
