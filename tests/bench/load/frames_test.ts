import { assertEquals, assertThrows } from "@std/assert";
import { FrameCounter } from "../../../bench/load/frames.ts";

const encoder = new TextEncoder();
const HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

function chunk(text: string): string {
  return `${encoder.encode(text).length.toString(16).toUpperCase()}\r\n${text}\r\n`;
}

function feedCutAt(bytes: Uint8Array, at: number): FrameCounter {
  const counter = new FrameCounter();
  const first = counter.feed(bytes.slice(0, at), at);
  const second = counter.feed(bytes.slice(at), bytes.length - at);
  assertEquals(first + second, counter.tokens);
  return counter;
}

Deno.test("a response cut at any byte gives the same count", () => {
  const events = [
    'data: {"token":" 안녕"}\n\n',
    ": data\n\n",
    'data: {"token":"dadata"}\n\ndata: {"tok',
    'en":"x"}\n\n',
  ];
  const bytes = encoder.encode(HEAD + [...events, "data: [DONE]\n\n"].map(chunk).join("") + "0\r\n\r\n");
  for (let at = 0; at <= bytes.length; at++) {
    const { status, tokens, done, ended } = feedCutAt(bytes, at);
    assertEquals({ status, tokens, done, ended }, { status: 200, tokens: 3, done: true, ended: true });
  }
});

Deno.test("an event whose mark is cut by a chunk border counts once", () => {
  const text = HEAD + chunk("da") + chunk("ta:") + chunk(' {"token":"a"}\n\n') + "0\r\n\r\n";
  const bytes = encoder.encode(text);
  assertEquals(feedCutAt(bytes, 0).tokens, 1);
});

Deno.test("a response without its last chunk has not ended", () => {
  const bytes = encoder.encode(HEAD + chunk('data: {"token":"a"}\n\n') + chunk("data: [DONE]\n\n"));
  const counter = feedCutAt(bytes, 10);
  assertEquals([counter.tokens, counter.done, counter.ended], [1, true, false]);
});

Deno.test("a response with a length ends after it, and the counter can take the next", () => {
  const bytes = encoder.encode("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  const counter = feedCutAt(bytes, 5);
  assertEquals([counter.status, counter.ended, counter.bodyBytes], [200, true, 2]);
  counter.reset();
  assertEquals([counter.status, counter.ended, counter.bodyBytes], [0, false, 0]);
  const next = encoder.encode("HTTP/1.1 503 No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
  counter.feed(next, next.length);
  assertEquals([counter.status, counter.ended, counter.closes], [503, true, true]);
});

Deno.test("bytes after the end of a response, and a chunk size that is no number, are refused", () => {
  const ended = feedCutAt(encoder.encode(HEAD + "0\r\n\r\n"), 0);
  assertThrows(() => ended.feed(encoder.encode("x"), 1), Error, "1 bytes more");
  assertThrows(
    () => new FrameCounter().feed(encoder.encode(HEAD + "zz\r\n"), HEAD.length + 4),
    Error,
    "chunk size",
  );
});
