import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { TapError } from "../../lib/errors.ts";
import { MALFORMED } from "../../lib/stream/format.ts";
import { promptSeed, stepAt } from "../../lib/engine/vocabulary.ts";
import { plainFormat } from "../../lib/stream/plain.ts";
import { cutInsideCharacter } from "../../lib/stream/split.ts";
import { encode, SSE_DONE, SSE_HEADERS, SSE_KEEP_ALIVE, sseEvent } from "../../lib/stream/sse.ts";
import { HOSTILE_TOKENS } from "../helpers/hostile_tokens.ts";

const HOSTILE = [
  ...HOSTILE_TOKENS,
  " world",
  "",
  "\ud800",
  "🙂",
];

Deno.test("F1: any token is one data line and a blank line, and its JSON gives the token back", () => {
  for (const text of HOSTILE) {
    const lines = plainFormat.token({ text, tokens: 1 }).split(/\r\n|\r|\n/);
    assertEquals(lines.length, 3, JSON.stringify(text));
    assertEquals(lines.slice(1), ["", ""]);
    assertEquals(JSON.parse(lines[0].slice("data: ".length)).token, text);
  }
});

Deno.test("the event of a single token has no field but the token; one of several says how many", () => {
  assertEquals(plainFormat.token({ text: "a", tokens: 1 }), 'data: {"token":"a"}\n\n');
  assertEquals(plainFormat.token({ text: "ab", tokens: 2 }), 'data: {"token":"ab","tokens":2}\n\n');
});

Deno.test("what a model thinks is not written", () => {
  assertEquals(plainFormat.token({ text: "hm", tokens: 1, reasoning: true }), "");
});

Deno.test("where a token has bytes that are kept, they are its event; others have none", () => {
  for (const each of [...HOSTILE, "x".repeat(32)]) {
    const token = { text: each, tokens: 1 };
    const bytes = plainFormat.bytes!(token);
    assertEquals(new TextDecoder().decode(bytes?.bytes), plainFormat.token(token));
    assertStrictEquals(plainFormat.bytes!(token), bytes);
  }
  assertEquals(plainFormat.bytes!({ text: "hm", tokens: 1, reasoning: true }), undefined);
  assertEquals(plainFormat.bytes!({ text: "ab", tokens: 2 }), undefined);
  assertEquals(plainFormat.bytes!({ text: "x".repeat(33), tokens: 1 }), undefined);
});

Deno.test("a token of the vocabulary is found by its number, and its event is its own, the first time and later", () => {
  const seed = promptSeed("hello");
  const texts = new Map<number, string>();
  for (let i = 0; i < 5000; i++) {
    const token = stepAt(seed, i);
    const bytes = plainFormat.bytes!(token);
    assertEquals(new TextDecoder().decode(bytes?.bytes), plainFormat.token(token));
    // The number alone decides: a text is not looked at again.
    assertStrictEquals(plainFormat.bytes!({ text: "another", tokens: 1, id: token.id! }), bytes);
    assertEquals(texts.get(token.id!) ?? token.text, token.text);
    texts.set(token.id!, token.text);
  }
});

Deno.test("a stranger's text cannot make the kept events grow without end", () => {
  for (let i = 0; i < 10_000; i++) plainFormat.bytes!({ text: `stranger ${i}`, tokens: 1 });
  assertEquals(plainFormat.bytes!({ text: "stranger 9999", tokens: 1 }), undefined);
});

Deno.test("the end is [DONE], an error is an event named error with code and message on one line", () => {
  assertEquals(plainFormat.end(), "data: [DONE]\n\n");
  const event = plainFormat.error(new TapError("internal", "a\r\nb\n\ndata: [DONE]"));
  assertEquals(event, 'event: error\ndata: {"code":"internal","message":"a\\r\\nb\\n\\ndata: [DONE]"}\n\n');
});

Deno.test("events have a space after the colon, so that a leading space of the data is kept", () => {
  assertEquals([sseEvent(" a"), sseEvent("a", "b"), SSE_DONE], [
    "data:  a\n\n",
    "event: b\ndata: a\n\n",
    "data: [DONE]\n\n",
  ]);
});

Deno.test("a keep-alive is a comment and nothing else", () => {
  assertEquals(SSE_KEEP_ALIVE.startsWith(":") && SSE_KEEP_ALIVE.endsWith("\n\n"), true);
  assertEquals(SSE_KEEP_ALIVE.trimEnd().includes("\n"), false);
});

Deno.test("a stream's headers forbid caching, coding and buffering, and leave the framing to the server", () => {
  assertEquals(SSE_HEADERS, {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",
  });
});

Deno.test("the malformed line is a whole event whose data is no JSON", () => {
  assertEquals(MALFORMED.startsWith("data: ") && MALFORMED.endsWith("\n\n"), true);
  assertThrows(() => JSON.parse(MALFORMED.slice("data: ".length)), SyntaxError);
});

const joined = (pieces: Uint8Array[]) => Uint8Array.from(pieces.flatMap((piece) => [...piece]));

Deno.test("pieces of a split event join to it, none is empty, and one border lies inside a character", () => {
  for (const text of ['data: {"token":" é"}\n\n', "안", "a🙂b", "é"]) {
    const bytes = encode(text);
    const pieces = cutInsideCharacter(bytes);
    assertEquals(joined(pieces), Uint8Array.from(bytes));
    assertEquals(pieces.every(({ length }) => length > 0), true);
    const inside = pieces.some((piece) => (piece[0] & 0xc0) === 0x80);
    assertEquals(inside, true, text);
  }
});

Deno.test("without a wide character an event is cut in its middle, and the smallest ones still join", () => {
  for (const text of ["data: abc\n\n", "ab", "a", ""]) {
    const pieces = cutInsideCharacter(encode(text));
    assertEquals(joined(pieces), Uint8Array.from(encode(text)));
    assertEquals(pieces.every(({ length }) => length > 0), true);
  }
  assertEquals(cutInsideCharacter(encode("data: abc\n\n")).length, 3);
});
