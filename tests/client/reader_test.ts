import { assert, assertEquals, assertRejects } from "@std/assert";
import { readTokens, streamTokens } from "../../lib/client/reader.ts";
import { bodyOf, everyCut } from "../helpers/cut_body.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);
const url = "http://stream.test/";

/** A fetch that answers with these pieces, one for each read. */
const answering =
  (pieces: Uint8Array[], init: ResponseInit = { headers: { "content-type": "text/event-stream" } }) => () =>
    Promise.resolve(new Response(bodyOf(pieces), init));

const event = (data: unknown) => `data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;

Deno.test("a plain stream reads the same at every cut, each token at the time of its read", async () => {
  const wire = bytesOf(
    event({ token: "a" }) + ": ping\n\n" + event({ token: " 안😀" }) + event({ token: "\n" }) +
      event("[DONE]"),
  );
  for (const pieces of everyCut(wire)) {
    const result = await readTokens({ url, fetch: answering(pieces) });
    assertEquals([result.outcome, result.text, result.tokens, result.status], ["done", "a 안😀\n", 3, 200]);
  }
});

Deno.test("an OpenAI chat stream reads the same at every cut", async () => {
  const chat = (delta: unknown, finish_reason: string | null = null) =>
    event({ choices: [{ index: 0, delta, finish_reason }] });
  const wire = bytesOf(
    chat({ role: "assistant", content: "" }) + chat({ content: "안" }) + ": ping\n\n" +
      chat({ content: "녕" }) +
      chat({}, "stop") + event({ choices: [], usage: { completion_tokens: 2 } }) + event("[DONE]"),
  );
  for (const pieces of everyCut(wire)) {
    const result = await readTokens({ url, fetch: answering(pieces) });
    assertEquals([result.outcome, result.text, result.tokens, result.finishReason], [
      "done",
      "안녕",
      2,
      "stop",
    ]);
    assertEquals(result.usage, { completion_tokens: 2 });
  }
});

Deno.test("a stream cut after any byte is truncated with its whole events kept, until [DONE] is complete", async () => {
  const tokens = ["a", " 안", "😀"];
  const wire = tokens.map((token) => event({ token })).join("") + event("[DONE]");
  const bytes = bytesOf(wire);
  for (let length = 0; length <= bytes.length; length++) {
    const arrived = new TextDecoder().decode(bytes.subarray(0, length));
    const result = await readTokens({ url, fetch: answering([bytes.subarray(0, length)]) });
    const whole = arrived.split("\n\n").length - 1;
    assertEquals(result.text, tokens.slice(0, whole).join(""));
    assertEquals(result.outcome, arrived.includes("[DONE]") ? "done" : "truncated", JSON.stringify(arrived));
    if (result.outcome === "truncated") {
      assertEquals(result.error?.code, whole === 0 ? "empty" : "truncated");
      if (whole > 0) assertEquals(result.error?.message, "the response was cut off midway");
    }
  }
});

Deno.test("all times are by the given clock: sent, head, one for each read, end", async () => {
  let time = 0;
  const pieces = [
    event({ token: "a" }),
    event({ token: "b" }) + event({ token: "c" }),
    event("[DONE]"),
    event("{}"),
  ];
  const result = await readTokens({ url, fetch: answering(pieces.map(bytesOf)), now: () => time += 10 });
  assertEquals([result.sentAt, result.headersAt, result.endAt], [10, 20, 50]);
  assertEquals(result.arrivals.map(({ at }) => at), [30, 40, 40]);
});

Deno.test("C11: an already aborted signal rejects at once with its reason, and nothing is fetched", async () => {
  let fetched = 0;
  const fetch = () => (fetched++, Promise.resolve(new Response()));
  const reason = new Error("not wanted");
  const signal = AbortSignal.abort(reason);
  assertEquals(await readTokens({ url, fetch, signal }).catch((error) => error), reason);
  assertEquals(await readTokens({ url, fetch, init: { signal } }).catch((error) => error), reason);
  assertEquals(fetched, 0);
});

Deno.test("a throw of the caller's own callback reaches the caller, and the body is cancelled", async () => {
  let cancelled = false;
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(bytesOf(event({ token: "a" }))),
    cancel: () => void (cancelled = true),
  }, { highWaterMark: 0 });
  const fetch = () =>
    Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } }));
  const onToken = () => {
    throw new Error("own fault");
  };
  await assertRejects(() => readTokens({ url, fetch, onToken }), Error, "own fault");
  assert(cancelled);
});

Deno.test("a fault of this program is thrown and never taken for a cut response", async () => {
  let calls = 0;
  const now = () => {
    if (++calls === 3) throw new RangeError("clock broke");
    return calls;
  };
  await assertRejects(
    () => readTokens({ url, fetch: answering([bytesOf(event("[DONE]"))]), now }),
    RangeError,
  );
});

Deno.test("the iterator gives tokens as they come and returns the result", async () => {
  const stream = streamTokens({
    url,
    fetch: answering([event({ token: "a" }), event("[DONE]")].map(bytesOf)),
    now: () => 7,
  });
  assertEquals(await stream.next(), { done: false, value: { at: 7, text: "a", reasoning: "", tokens: 1 } });
  const last = await stream.next();
  assert(last.done);
  assertEquals(last.value.outcome, "done");
});

Deno.test("C9: an error event is an error whatever follows, with its code and the tokens before it", async () => {
  const code = { code: "context_length", message: "too long" };
  for (
    const failure of [
      `event: error\n${event(code)}`,
      event({ error: code }),
      `event: error\n${event({ error: code })}`,
    ]
  ) {
    for (const after of ["", event("[DONE]"), event({ choices: [{ index: 0, finish_reason: "stop" }] })]) {
      const wire = bytesOf(event({ token: "a" }) + failure + after);
      for (const pieces of everyCut(wire)) {
        const result = await readTokens({ url, fetch: answering(pieces) });
        assertEquals([result.outcome, result.error, result.text, result.tokens], ["error", code, "a", 1]);
      }
    }
  }
});

Deno.test("an error after the finish_reason is still an error", async () => {
  const wire = event({ choices: [{ index: 0, delta: { content: "a" }, finish_reason: "stop" }] }) +
    event({ error: "late" });
  const result = await readTokens({ url, fetch: answering([bytesOf(wire)]) });
  assertEquals([result.outcome, result.error?.message, result.text], ["error", "late", "a"]);
});

Deno.test("data that is not JSON ends the stream as an error named malformed, tokens kept", async () => {
  const wire = event({ token: "a" }) + event('{"token":') + event({ token: "b" }) + event("[DONE]");
  const result = await readTokens({ url, fetch: answering([bytesOf(wire)]) });
  assertEquals([result.outcome, result.error?.code, result.text], ["error", "malformed", "a"]);
});

Deno.test("an event over 1 MiB is an error of its own name, tokens kept", async () => {
  const wire = event({ token: "a" }) + event({ token: "x".repeat(1024 * 1024) });
  const result = await readTokens({ url, fetch: answering([bytesOf(wire)]) });
  assertEquals([result.outcome, result.error?.code, result.text], ["error", "event_too_large", "a"]);
});

Deno.test("C10: what is not a token stream is named, and none is a success", async () => {
  const json = { "content-type": "application/json" };
  const sse = { "content-type": "text/event-stream" };
  const cases: [body: string, init: ResponseInit, outcome: string, code: string, message: string][] = [
    [
      '{"text":"a"}',
      { headers: json },
      "error",
      "not_streamed",
      "not streamed: wanted text/event-stream, got application/json",
    ],
    [
      "a",
      { headers: { "content-type": "" } },
      "error",
      "not_streamed",
      "not streamed: wanted text/event-stream, got no content type",
    ],
    [
      '{"error":{"code":"shutting_down","message":"bye"}}',
      { status: 503, headers: json },
      "error",
      "shutting_down",
      "bye",
    ],
    ["<html>busy</html>", { status: 503 }, "error", "http_503", "wanted status 200, got 503"],
    ['{"detail":1}', { status: 429, headers: sse }, "error", "http_429", "wanted status 200, got 429"],
    ["", { headers: sse }, "truncated", "empty", "the stream ended before its first event"],
    [": ping\n\n", { headers: sse }, "truncated", "empty", "the stream ended before its first event"],
    ["data: [DONE]\n\n", { headers: sse }, "error", "no_tokens", "the stream ended without a single token"],
  ];
  for (const [body, init, outcome, code, message] of cases) {
    const result = await readTokens({ url, fetch: answering([bytesOf(body)], init) });
    assertEquals([result.outcome, result.error, result.tokens], [outcome, { code, message }, 0]);
    assertEquals([result.status, result.arrivals], [init.status ?? 200, []]);
  }
});

Deno.test("a response without a body is named too", async () => {
  const fetch = () => Promise.resolve(new Response(null, { status: 204 }));
  assertEquals((await readTokens({ url, fetch })).error?.code, "not_streamed");
});

Deno.test("the request id is reported", async () => {
  const headers = { "content-type": "text/event-stream", "x-request-id": "r-1" };
  assertEquals((await readTokens({ url, fetch: answering([], { headers }) })).requestId, "r-1");
});

Deno.test("a caller that takes longer over its tokens than the idle limit is no silence of the server", async () => {
  const fetch = answering([event({ token: "a" }), event({ token: "b" }), event("[DONE]")].map(bytesOf));
  const stream = streamTokens({ url, fetch, idleMs: 20 });
  await stream.next();
  await new Promise((resolve) => setTimeout(resolve, 60));
  await stream.next();
  const last = await stream.next();
  assertEquals(last.done && [last.value.outcome, last.value.text], ["done", "ab"]);
});

Deno.test("an error body that neither ends nor obeys the fetch signal is given up", async () => {
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(bytesOf("<html>")),
  });
  const fetch = () => Promise.resolve(new Response(body, { status: 502 }));
  const result = await readTokens({ url, fetch, signal: AbortSignal.timeout(20) });
  assertEquals([result.outcome, result.status], ["aborted", 502]);
});

Deno.test("the end of a stream that stated its own error is the time of that event", async () => {
  let time = 0;
  const fetch = answering([event({ token: "a" }), event({ error: "broke" }), event("[DONE]")].map(bytesOf));
  const result = await readTokens({ url, fetch, now: () => time += 10 });
  assertEquals([result.outcome, result.endAt], ["error", 40]);
});
