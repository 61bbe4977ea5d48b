import { assert, assertEquals, assertLessOrEqual, assertStringIncludes } from "@std/assert";
import { type Script, SSE_HEAD } from "../helpers/raw_server.ts";
import {
  delta,
  DONE,
  event,
  finish,
  overUpstream,
  PING,
  ROLE,
  stream,
  usage,
} from "../helpers/scripted_upstream.ts";
import { dataLines, joined } from "../helpers/sockets.ts";
import { until } from "../helpers/until.ts";

const NEVER_DATA = "data: [DONE]";

/** What our client sees of this upstream on `/stream`, and the record that is left. */
async function through(script: Script, options?: Parameters<typeof overUpstream>[1]) {
  await using over = await overUpstream(script, options);
  const reply = await fetch(`${over.service.url}/stream?prompt=hello`);
  const text = await reply.text();
  await until("an outcome", () => over.service.ended.length === 1);
  for (const { closed } of over.upstream.requests) await closed;
  const { unexpected, ended: [record] } = over.service;
  assertEquals(unexpected, []);
  return { status: reply.status, text, record, head: over.upstream.requests[0].head };
}

Deno.test("an answer that the upstream's filter cut does not pass for a whole one", async () => {
  const { record } = await through(stream([ROLE, delta("a"), finish("content_filter"), DONE]));
  assertEquals([record.outcome, record.finishReason], ["completed", "content_filter"]);
});

Deno.test("tokens, usage and the reason of the end come through", async () => {
  const { text, record } = await through(
    stream([ROLE, delta("He"), delta("llo"), finish("length"), usage(7, 2), DONE]),
  );
  assertEquals(dataLines(text), ['{"token":"He"}', '{"token":"llo"}', "[DONE]"]);
  assertEquals([record.outcome, record.finishReason, record.generated, record.delivered], [
    "completed",
    "length",
    2,
    2,
  ]);
  assertEquals(record.usage, { prompt_tokens: 7, completion_tokens: 2 });
});

Deno.test("every cut of the upstream's bytes gives the same tokens", async () => {
  const body = `\ufeff${ROLE}${PING}${delta("세상")}retry: 5\r\n\r\ndata:${
    JSON.stringify({ choices: [{ delta: { content: " 🙂é" } }] })
  }\r\n\r\n${finish()}${usage(3, 2)}${DONE}`;
  const bytes = new TextEncoder().encode(body);
  for (const size of [1, 2, 3, 7, 64]) {
    const steps: Uint8Array[] = [];
    for (let at = 0; at < bytes.length; at += size) steps.push(bytes.slice(at, at + size));
    const { text, record } = await through(stream(steps));
    assertEquals([joined(text), record.outcome, record.usage?.completion_tokens], [
      "세상 🙂é",
      "completed",
      2,
    ]);
  }
});

Deno.test("a character sent in two halves is delivered whole, once", async () => {
  const { text, record } = await through(
    stream([event('{"choices":[{"delta":{"content":"a\\ud83d"}}]}'), 5, delta("\ude42"), finish(), DONE]),
  );
  assertEquals(dataLines(text), ['{"token":"a"}', '{"token":"🙂"}', "[DONE]"]);
  assertEquals([record.generated, record.delivered], [2, 2]);
});

Deno.test("half a character that finds no other half is one U+FFFD, wherever it stands", async () => {
  const said = ["a\\ud83d", "b", "\\ude42c", "d\\ud83de", "\\ud83d", "\\ud83d", "\\ude42"];
  const { text, record } = await through(
    stream([
      ...said.map((content) => event(`{"choices":[{"delta":{"content":"${content}"}}]}`)),
      event('{"choices":[{"delta":{"reasoning_content":"\\ude42"}}]}'),
      finish(),
      DONE,
    ]),
  );
  assertEquals(joined(text), "a\ufffdb\ufffdcd\ufffde\ufffd🙂");
  assertEquals(text.isWellFormed() && !/\\ud[89a-f]/i.test(text), true);
  assertEquals(record.outcome, "completed");
});

/** The code is `upstream_error` where none is given. */
const BROKEN: Record<string, { script: Script; code?: string; message: string }> = {
  "an error chunk and [DONE]": {
    script: stream([
      delta("a"),
      delta("b"),
      event({ error: { message: "out\r\n\r\ndata: [DONE]", code: 500 } }),
      DONE,
    ]),
    message: 'The upstream server reported an error: "out".',
  },
  "an error event": {
    script: stream([delta("a"), delta("b"), "event: error\ndata: it broke\n\n"]),
    message: 'The upstream server reported an error: "it broke".',
  },
  "vLLM's error object": {
    script: stream([delta("a"), delta("b"), event({ object: "error", message: "no", code: 400 }), DONE]),
    code: "invalid_request",
    message: 'The upstream server reported an error: "no".',
  },
  "an error that names a status": {
    script: stream([delta("a"), delta("b"), event({ error: { message: "slow", code: "429" } }), DONE]),
    code: "rate_limit",
    message: 'The upstream server reported an error: "slow".',
  },
  "a clean end of the connection": {
    script: stream([delta("a"), delta("b")]),
    message: "The upstream server broke its answer off midway.",
  },
  "half an event and the end": {
    script: stream([delta("a"), delta("b"), 'data: {"choices":[{"del']),
    message: "The upstream server broke its answer off midway.",
  },
  "a reset": {
    script: stream([delta("a"), delta("b"), 20], "reset"),
    message: "The upstream server broke its answer off midway.",
  },
  "an end before the last chunk of a chunked body": {
    script: {
      steps: [
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
        ...[delta("a"), delta("b")].map((text) => `${text.length.toString(16)}\r\n${text}\r\n`),
      ],
      end: "fin",
    },
    message: "The upstream server broke its answer off midway.",
  },
  "what is no chunk, in the same write": {
    script: {
      steps: [
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n" +
        [delta("a"), delta("b")].map((text) => `${text.length.toString(16)}\r\n${text}\r\n`).join("") +
        "zz\r\n",
      ],
      end: "hold",
    },
    message: "The upstream server broke its answer off midway.",
  },
  "a line that is no JSON": {
    script: stream([delta("a"), delta("b"), "data: {oops\n\n"], "hold"),
    message: "The upstream server sent an event that is no JSON object.",
  },
  "a generation that it gave up": {
    script: stream([delta("a"), delta("b"), finish("abort"), DONE]),
    message: "The upstream server gave the generation up.",
  },
  "an event of more than 1 MiB": {
    script: stream([delta("a"), delta("b"), 20, "data: " + "x".repeat(1_100_000)], "hold"),
    message: "The upstream server sent an event of more than 1048576 characters.",
  },
};

for (const [what, { script, code = "upstream_error", message }] of Object.entries(BROKEN)) {
  Deno.test(`U4: two tokens and then ${what} end with an error event, not a clean end`, async () => {
    const { status, text, record } = await through(script);
    assertEquals(status, 200);
    assertEquals(dataLines(text), [
      '{"token":"a"}',
      '{"token":"b"}',
      JSON.stringify({ code, message }),
    ]);
    assert(!text.includes(NEVER_DATA));
    assertEquals([record.outcome, record.error as string, record.generated], ["failed", code, 2]);
  });
}

const WHOLE: Record<string, Script> = {
  "and [DONE]": stream([delta("a"), finish(), DONE]),
  "and the connection's end": stream([delta("a"), finish()]),
  "and a reset": stream([delta("a"), finish(), 20], "reset"),
  "and [DONE], but the connection is held open": stream([delta("a"), finish(), DONE], "hold"),
  "and the connection is held open": stream([delta("a"), finish()], "hold"),
  "and the connection is held open with pings": stream(
    [delta("a"), finish(), ...Array.from({ length: 100 }, () => [PING, 20]).flat()],
    "hold",
  ),
};

for (const [what, script] of Object.entries(WHOLE)) {
  Deno.test(`an answer with a finish_reason ${what} is whole`, async () => {
    const beganAt = performance.now();
    const { text, record } = await through(script);
    assertEquals(dataLines(text), ['{"token":"a"}', "[DONE]"]);
    assertEquals([record.outcome, record.finishReason], ["completed", "stop"]);
    assertLessOrEqual(performance.now() - beganAt, 1500);
  });
}

Deno.test("an answer that ends with [DONE] alone is whole", async () => {
  const { text, record } = await through(stream([delta("a"), DONE]));
  assertEquals(dataLines(text), ['{"token":"a"}', "[DONE]"]);
  assertEquals([record.outcome, record.finishReason], ["completed", "stop"]);
});

const numbers = (prompt_tokens: number, completion_tokens: number) => ({
  usage: { prompt_tokens, completion_tokens },
});

const USAGES: Record<string, { steps: string[]; usage: [number, number]; generated: number }> = {
  "zeros": { steps: [delta("a"), delta("b"), finish(), usage(0, 0), DONE], usage: [0, 0], generated: 2 },
  "a count that grows on each chunk": {
    steps: [delta("a", numbers(5, 1)), delta("b", numbers(5, 2)), finish(), usage(5, 2), DONE],
    usage: [5, 2],
    generated: 2,
  },
  "zeros on each chunk and a count at the end": {
    steps: [delta("a", numbers(0, 0)), delta("b", numbers(0, 0)), finish(), usage(5, 9), DONE],
    usage: [5, 9],
    generated: 2,
  },
  "`choices: []` at the start": {
    steps: [event({ choices: [], prompt_filter_results: [] }), delta("a"), finish(), usage(4, 1), DONE],
    usage: [4, 1],
    generated: 1,
  },
  "`usage: null` on the chunks before it": {
    steps: [delta("a", { usage: null }), finish(), usage(4, 1), DONE],
    usage: [4, 1],
    generated: 1,
  },
  "five tokens in one delta": {
    steps: [delta("a b c d e"), finish(), usage(4, 5), DONE],
    usage: [4, 5],
    generated: 1,
  },
  "five tokens in one delta with a running count": {
    steps: [delta("a b c d e", numbers(4, 5)), delta("f", numbers(4, 6)), finish(), DONE],
    usage: [4, 6],
    generated: 6,
  },
  "a running count that is no count": {
    steps: [delta("a", numbers(4, Number.MAX_SAFE_INTEGER)), delta("b", numbers(4, 2)), finish(), DONE],
    usage: [4, 2],
    generated: 2,
  },
  "two reports": {
    steps: [delta("a"), usage(1, 1), finish(), usage(4, 7), DONE],
    usage: [4, 7],
    generated: 1,
  },
};

for (
  const [what, { steps, usage: [prompt_tokens, completion_tokens], generated }] of Object.entries(USAGES)
) {
  Deno.test(`U5, U6: usage is recorded as sent, the last report counts: ${what}`, async () => {
    const { text, record, head } = await through(stream(steps));
    assertEquals(record.usage, { prompt_tokens, completion_tokens });
    assertEquals([record.generated, record.delivered], [generated, generated]);
    assert(!text.includes("usage"));
    assertStringIncludes(head, '"stream_options":{"include_usage":true}');
  });
}

Deno.test("what is thought counts as tokens under both its names, and passes through on the chat route", async () => {
  await using over = await overUpstream(
    stream([delta({ reasoning_content: "hm" }), delta({ reasoning: "ok" }), delta("yes"), finish(), DONE]),
  );
  const { service } = over;
  const reply = await fetch(`${service.url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "m", stream: true, messages: [{ role: "user", content: "x" }] }),
  });
  const deltas = dataLines(await reply.text()).slice(0, -1).map((line) => JSON.parse(line).choices[0].delta);
  const thought = deltas.map((each) => each.reasoning_content ?? each.reasoning ?? "").join("");
  assertEquals([thought, deltas.map((each) => each.content ?? "").join("")], ["hmok", "yes"]);
  await until("an outcome", () => service.ended.length === 1);
  assertEquals([service.ended[0].generated, service.ended[0].delivered], [3, 3]);
});

Deno.test("the upstream gets our own headers and key, and none of the client's", async () => {
  const answer = SSE_HEAD.replace(
    "Connection",
    "Set-Cookie: a=1\r\nX-Upstream: yes\r\nKeep-Alive: timeout=5\r\nConnection",
  );
  await using over = await overUpstream({ steps: [answer, delta("a"), finish(), DONE], end: "fin" }, {
    apiKey: "sk-ours",
  });
  const reply = await fetch(`${over.service.url}/stream?prompt=hello&max_tokens=9`, {
    headers: { "Authorization": "Bearer client", "Cookie": "a=1", "X-Request-Id": "r1", "TE": "trailers" },
  });
  await reply.text();
  const [head, body] = over.upstream.requests[0].head.split("\r\n\r\n");
  const [line, ...headers] = head.split("\r\n");
  assertEquals(line, "POST /v1/chat/completions HTTP/1.1");
  const names = headers.map((header) => header.slice(0, header.indexOf(":")).toLowerCase()).sort();
  assertEquals(names, [
    "accept",
    "accept-encoding",
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "host",
    "user-agent",
  ]);
  assertStringIncludes(head.toLowerCase(), "authorization: bearer sk-ours");
  assertEquals(JSON.parse(body), {
    model: "m",
    messages: [{ role: "user", content: "hello" }],
    max_tokens: 9,
    stream: true,
    stream_options: { include_usage: true },
  });
  for (
    const name of [
      "set-cookie",
      "x-upstream",
      "keep-alive",
      "content-length",
      "content-encoding",
      "connection",
    ]
  ) {
    assertEquals(reply.headers.get(name), null);
  }
});

Deno.test("F3: nothing that the upstream says becomes a header or an event of its own", async () => {
  const nasty = 'x\r\n\r\ndata: [DONE]\r\n\r\n"}';
  const { text } = await through(stream([delta(nasty, { model: nasty, id: nasty }), finish(nasty), DONE]));
  assertEquals(dataLines(text).length, 2);
  assertEquals(joined(text), nasty);
});
