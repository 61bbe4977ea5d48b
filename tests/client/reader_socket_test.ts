import {
  assert,
  assertEquals,
  assertGreaterOrEqual,
  assertLess,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { readTokens, streamTokens } from "../../lib/client/reader.ts";
import { timeStream } from "../../lib/client/timing.ts";
import { cutAt } from "../helpers/cut_body.ts";
import { type End, rawServer, SSE_HEAD, type Step } from "../helpers/raw_server.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);
const event = (data: unknown) => `data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;
const chat = (delta: unknown, finish_reason: string | null = null) =>
  event({ choices: [{ index: 0, delta, finish_reason }] });

async function readFrom(steps: Step[], end: End = "fin", options = {}) {
  await using server = await rawServer({ steps: [SSE_HEAD, ...steps], end });
  return await readTokens({ url: server.url, ...options });
}

const WIRES: [name: string, wire: string, text: string][] = [
  ["line feeds", 'data: {"token":"a"}\n\ndata: {"token":" b"}\n\ndata: [DONE]\n\n', "a b"],
  ["CRLF", 'data: {"token":"a"}\r\n\r\ndata: {"token":" b"}\r\n\r\ndata: [DONE]\r\n\r\n', "a b"],
  ["bare CR", 'data: {"token":"a"}\r\rdata: {"token":" b"}\r\rdata: [DONE]\r\r', "a b"],
  [
    "no space, byte order mark, comments and fields",
    '\uFEFFdata:{"token":"a"}\n\n: ping\n\nretry: 3\nid: 1\nevent: t\ndata:{"token":\ndata:" b"}\n\ndata:[DONE]\n\n',
    "a b",
  ],
  [
    "characters of two to four bytes",
    'data: {"token":"é"}\n\ndata: {"token":" 안😀"}\n\ndata: [DONE]\n\n',
    "é 안😀",
  ],
];

for (const [name, wire, text] of WIRES) {
  Deno.test(`C1–C3 over a socket, in one piece, in pieces of 7 bytes and byte by byte: ${name}`, async () => {
    const bytes = bytesOf(wire);
    for (const size of [bytes.length, 7, 1]) {
      const offsets = Array.from({ length: Math.ceil(bytes.length / size) - 1 }, (_, i) => (i + 1) * size);
      const result = await readFrom(cutAt(bytes, offsets));
      assertEquals([result.outcome, result.text, result.tokens], ["done", text, 2]);
    }
  });
}

Deno.test("C2: a ping in a read of its own is no token and swallows none", async () => {
  const steps = [
    ": ping\n\n",
    20,
    event({ token: "a" }),
    20,
    ":\n\n",
    20,
    event({ token: "b" }),
    20,
    ": ping\n\n",
    20,
    event("[DONE]"),
  ];
  const result = await readFrom(steps);
  assertEquals([result.outcome, result.text, result.arrivals.length], ["done", "ab", 2]);
});

Deno.test("C4: TTFT is the first text, not the headers and not the role chunk", async () => {
  const result = await readFrom([
    100,
    chat({ role: "assistant", content: "" }),
    200,
    chat({ content: "a" }),
    event("[DONE]"),
  ]);
  const { ttftMs } = timeStream(result);
  assert(ttftMs !== null && result.headersAt !== null);
  assertGreaterOrEqual(ttftMs, 299);
  assertLess(result.headersAt - result.sentAt, 100);
});

Deno.test("C5: end-to-end ends at the last token, usage and [DONE] are the tail", async () => {
  const usage = event({ choices: [], usage: { completion_tokens: 2 } });
  for (const finish of [null, "stop"]) {
    const steps = [
      chat({ content: "a" }),
      100,
      chat({ content: "b" }, finish),
      150,
      usage,
      150,
      event("[DONE]"),
    ];
    // A wait for what follows the finish_reason is longer than the default here.
    const result = await readFrom(steps, "hold", { graceMs: 500 });
    const timing = timeStream(result);
    assertEquals([result.outcome, result.text, result.usage?.completion_tokens], ["done", "ab", 2]);
    assertGreaterOrEqual(timing.tailMs!, 299);
    assertGreaterOrEqual(timing.endToEndMs!, 99);
    assertEquals(Math.round(timing.endToEndMs! + timing.tailMs!), Math.round(result.endAt - result.sentAt));
  }
});

for (const finish of [null, "stop"]) {
  for (const done of [false, true]) {
    for (const end of ["fin", "reset", "hold"] as const) {
      const announced = finish !== null || done;
      if (end === "hold" && !announced) continue; // A silence without an end: see the idle limit.
      const name = `finish_reason ${finish ? "yes" : "no"}, [DONE] ${done ? "yes" : "no"}, ${end}`;
      Deno.test(`C8: ${name}: ${announced ? "done" : "truncated"}, text kept`, async () => {
        const steps = [
          chat({ content: "a" }),
          10,
          chat({ content: " b" }, finish),
          ...(done ? [event("[DONE]")] : []),
        ];
        // A pause before the reset: the kernel may drop what the peer has not yet read.
        const result = await readFrom(end === "reset" ? [...steps, 30] : steps, end);
        const returnedAt = performance.now();
        assertEquals([result.outcome, result.text, result.tokens], [
          announced ? "done" : "truncated",
          "a b",
          2,
        ]);
        assertEquals(result.error?.message, announced ? undefined : "the response was cut off midway");
        if (end === "hold") assertLess(returnedAt - result.endAt, 100);
      });
    }
  }
}

Deno.test("C8: a chunked body that breaks off is truncated, though the server sent a proper FIN", async () => {
  const chunk = (text: string) => `${bytesOf(text).length.toString(16)}\r\n${text}\r\n`;
  const head = SSE_HEAD.replace("Connection: close", "Transfer-Encoding: chunked");
  await using server = await rawServer({
    steps: [head, chunk(event({ token: "a" })), "ff\r\ndata: {"],
    end: "fin",
  });
  const result = await readTokens({ url: server.url });
  assertEquals([result.outcome, result.text, result.error?.code], ["truncated", "a", "truncated"]);
});

Deno.test("usage and [DONE] in a later read than the finish_reason are still read, pings do not hold the reader", async () => {
  const usage = event({ choices: [], usage: { completion_tokens: 1 } });
  const late = await readFrom([chat({ content: "a" }, "stop"), 30, usage], "hold");
  assertEquals([late.outcome, late.usage?.completion_tokens], ["done", 1]);

  const pings = Array.from({ length: 20 }, () => [20, event({ type: "ping" })]).flat();
  const result = await readFrom([chat({ content: "a" }, "stop"), ...pings], "hold");
  assertEquals(result.outcome, "done");
  assertLess(result.endAt - result.arrivals[0].at, 100);
});

Deno.test("C9: an error event before [DONE] or before a reset is an error with its code, tokens kept", async () => {
  const failure = event({ error: { code: "internal", message: "broke" } });
  for (
    const [steps, end] of [[[failure, event("[DONE]")], "hold"], [
      [`event: error\n${failure}`, 30],
      "reset",
    ]] as const
  ) {
    const result = await readFrom([event({ token: "a" }), ...steps], end);
    assertEquals([result.outcome, result.error?.code, result.text], ["error", "internal", "a"]);
  }
});

Deno.test("C10: JSON, 503 and an empty stream over a socket are named", async () => {
  const reply = (status: string, type: string, body: string) =>
    `HTTP/1.1 ${status}\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const busy = '{"error":{"code":"rate_limit","message":"busy"}}';
  for (
    const [head, status, outcome, code] of [
      [reply("200 OK", "application/json", '{"text":"a"}'), 200, "error", "not_streamed"],
      [reply("503 Service Unavailable", "application/json", busy), 503, "error", "rate_limit"],
      [SSE_HEAD, 200, "truncated", "empty"],
    ] as const
  ) {
    await using server = await rawServer({ steps: [head], end: "fin" });
    const result = await readTokens({ url: server.url });
    assertEquals([result.status, result.outcome, result.error?.code], [status, outcome, code]);
    assertEquals(timeStream(result).ttftMs, null);
  }
});

Deno.test("an error reply that never ends is given up, its status kept", async () => {
  const head = "HTTP/1.1 500 Oops\r\nContent-Type: text/html\r\nContent-Length: 99\r\n\r\n<html>";
  await using server = await rawServer({ steps: [head], end: "hold" });
  const result = await readTokens({ url: server.url });
  assertEquals([result.status, result.outcome, result.error?.code], [500, "error", "http_500"]);
  assertEquals(await server.requests[0].closed > 0, true);
});

Deno.test("C11: an already aborted signal makes no connection", async () => {
  await using server = await rawServer({ steps: [SSE_HEAD, event({ token: "a" })], end: "hold" });
  await assertRejects(() => readTokens({ url: server.url, signal: AbortSignal.abort() }), DOMException);
  // The listener hands out connections in order: had there been one before this, it would be counted.
  await readTokens({ url: server.url, idleMs: 20 });
  assertEquals(server.requests.length, 1);
});

Deno.test("an abort midway closes the connection at once and keeps the text", async () => {
  await using server = await rawServer({
    steps: [SSE_HEAD, event({ token: "a" }), 20, event({ token: "b" })],
    end: "hold",
  });
  const stop = new AbortController();
  let abortedAt = 0;
  const result = await readTokens({
    url: server.url,
    signal: stop.signal,
    onToken({ text }) {
      if (text !== "b") return;
      abortedAt = performance.now();
      stop.abort();
    },
  });
  assertEquals([result.outcome, result.text, result.tokens, result.error], ["aborted", "ab", 2, undefined]);
  assertLess(await server.requests[0].closed - abortedAt, 100);
});

Deno.test("an abort before the headers and in a silence ends the call with outcome aborted", async () => {
  for (const steps of [[], [SSE_HEAD]]) {
    await using server = await rawServer({ steps, end: "hold" });
    const result = await readTokens({ url: server.url, signal: AbortSignal.timeout(30) });
    assertEquals([result.outcome, result.status], ["aborted", steps.length ? 200 : null]);
    await server.requests[0].closed;
  }
});

Deno.test("leaving the iterator closes the connection", async () => {
  await using server = await rawServer({ steps: [SSE_HEAD, event({ token: "a" })], end: "hold" });
  for await (const { text } of streamTokens({ url: server.url })) {
    assertEquals(text, "a");
    break;
  }
  await server.requests[0].closed;
});

Deno.test("a silence longer than the idle limit is an error of its own name; pings do not end a silence", async () => {
  const pings = Array.from({ length: 10 }, () => [30, ": ping\n\n"]).flat();
  for (const steps of [[], [SSE_HEAD], [SSE_HEAD, event({ token: "a" }), ...pings]]) {
    await using server = await rawServer({ steps, end: "hold" });
    const result = await readTokens({ url: server.url, idleMs: 100 });
    assertEquals([result.outcome, result.error?.code], ["error", "idle_timeout"]);
    assertLess(result.endAt - result.sentAt, 300);
  }
});

Deno.test("a stream whose events keep coming outlives the idle limit", async () => {
  const steps = Array.from({ length: 6 }, () => [40, event({ token: "a" })]).flat();
  const result = await readFrom([...steps, event("[DONE]")], "fin", { idleMs: 150 });
  assertEquals([result.outcome, result.tokens], ["done", 6]);
});

Deno.test("a refused connection and a reset before the head are network errors", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  const refused = await readTokens({ url: `http://127.0.0.1:${port}` });
  assertEquals([refused.outcome, refused.error?.code, refused.status], ["error", "network", null]);
  assertStringIncludes(refused.error?.message ?? "", "Connection refused");

  await using server = await rawServer({ steps: [], end: "reset" });
  const reset = await readTokens({ url: server.url });
  assertEquals([reset.outcome, reset.error?.code, reset.headersAt], ["error", "network", null]);
});
