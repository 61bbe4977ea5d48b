import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { ErrorCode } from "../../lib/errors.ts";
import type { Script } from "../helpers/raw_server.ts";
import {
  delta,
  DONE,
  event,
  overUpstream,
  response,
  ROLE,
  startOver,
  stream,
} from "../helpers/scripted_upstream.ts";
import { postJson } from "../helpers/post_json.ts";

interface Case {
  script: Script;
  status: number;
  code: ErrorCode;
  message: string;
  retryAfter?: string;
  /** The model of the settings; "m" where absent, "" where clients choose. */
  model?: string;
}

const JSON_TYPE = "Content-Type: application/json\r\n";
const error = (message: unknown) => JSON.stringify({ error: { message, type: "t", code: "c" } });
const inDays = new Date(Date.now() + 2 * 86_400_000).toUTCString();

const CASES: Record<string, Case> = {
  "429 with Retry-After": {
    script: response("429 Too Many Requests", `${JSON_TYPE}Retry-After: 17\r\n`, error("slow down")),
    status: 429,
    code: "rate_limit",
    message: 'The upstream server answered 429: "slow down".',
    retryAfter: "17",
  },
  "429 with a date in Retry-After": {
    script: response("429 Too Many Requests", `Retry-After: ${inDays}\r\n`),
    status: 429,
    code: "rate_limit",
    message: "The upstream server answered 429.",
    retryAfter: "two days",
  },
  "401 that quotes the key": {
    script: response("401 Unauthorized", JSON_TYPE, error("Incorrect API key: sk-secret")),
    status: 502,
    code: "upstream_error",
    message: "The upstream server refused this server's key (401).",
  },
  "500 with HTML": {
    script: response("500 Oops", "Content-Type: text/html\r\n", "<html><b>Traceback</b> /srv/app.py</html>"),
    status: 502,
    code: "upstream_error",
    message: "The upstream server answered 500.",
  },
  "500 with HTML inside JSON": {
    script: response("500 Oops", JSON_TYPE, error("<html>no</html>")),
    status: 502,
    code: "upstream_error",
    message: "The upstream server answered 500.",
  },
  "503 with a text that would be an event": {
    script: response("503 No", `${JSON_TYPE}Retry-After: 2\r\n`, error("busy\r\n\r\ndata: [DONE]")),
    status: 503,
    code: "overloaded",
    message: 'The upstream server answered 503: "busy".',
    retryAfter: "2",
  },
  "400 for a prompt that is too long": {
    script: response("400 Bad Request", JSON_TYPE, error("maximum context length is 4096 tokens")),
    status: 400,
    code: "context_length",
    message: 'The upstream server answered 400: "maximum context length is 4096 tokens".',
  },
  "404 for a model of ours": {
    script: response("404 Not Found", JSON_TYPE, error("The model `m` does not exist.")),
    status: 502,
    code: "upstream_error",
    message: 'The upstream server answered 404: "The model `m` does not exist.". ' +
      "Its name is that of --upstream-model.",
  },
  "404 for a model of the client's": {
    script: response("404 Not Found", JSON_TYPE, error('model "org/m:latest" not found, try pulling it')),
    model: "",
    status: 404,
    code: "not_found",
    message: 'The upstream server answered 404: "model \\"org/m:latest\\" not found, try pulling it".',
  },
  "404 of an address that has the word in it": {
    script: response("404 Not Found", JSON_TYPE, error('There is nothing at "/models/chat/completions".')),
    model: "",
    status: 502,
    code: "upstream_error",
    message: 'The upstream server answered 404: "There is nothing at \\"/models/chat/completions\\".". ' +
      "It has no such route: does --upstream-url end in /v1, or wherever its API begins?",
  },
  "304": {
    script: response("304 Not Modified", ""),
    status: 502,
    code: "upstream_error",
    message: "The upstream server answered 304; nothing was asked of a cache.",
  },
  "404 with FastAPI's detail": {
    model: "",
    script: response("404 Not Found", JSON_TYPE, '{"detail":"no such model"}'),
    status: 404,
    code: "not_found",
    message: 'The upstream server answered 404: "no such model".',
  },
  "422 with FastAPI's list of what is wrong": {
    script: response(
      "422 Unprocessable Entity",
      JSON_TYPE,
      JSON.stringify({
        detail: [
          { type: "missing", loc: ["body", "messages", 0], msg: "Field required", input: "secret" },
          {},
        ],
      }),
    ),
    status: 400,
    code: "invalid_request",
    message: 'The upstream server answered 422: "body.messages.0: Field required".',
  },
  "422 with a fault that has no place and no end": {
    script: response("422 No", JSON_TYPE, JSON.stringify({ detail: [{ loc: [{}], msg: "x".repeat(1000) }] })),
    status: 400,
    code: "invalid_request",
    message: `The upstream server answered 422: "${"x".repeat(300)}…".`,
  },
  "422 with lists that say nothing": {
    script: response("422 No", JSON_TYPE, '{"detail":[5,{"msg":"later"}]}'),
    status: 400,
    code: "invalid_request",
    message: "The upstream server answered 422.",
  },
  "404 of an address, not of a model": {
    script: response("404 Not Found", JSON_TYPE, '{"detail":"Not Found"}'),
    status: 502,
    code: "upstream_error",
    message: 'The upstream server answered 404: "Not Found". ' +
      "It has no such route: does --upstream-url end in /v1, or wherever its API begins?",
  },
  "302": {
    script: response("302 Found", "Location: http://127.0.0.1:1/elsewhere\r\n"),
    status: 502,
    code: "upstream_error",
    message: "The upstream server answered 302; a redirect is not followed.",
  },
  "200 with plain JSON": {
    script: response("200 OK", JSON_TYPE, '{"choices":[{"message":{"content":"secret"}}]}'),
    status: 502,
    code: "upstream_error",
    message: 'The upstream server answered 200: wanted text/event-stream, got "application/json".',
  },
  "a coded answer": {
    script: response("200 OK", "Content-Type: text/event-stream\r\nContent-Encoding: gzip\r\n", "\x1f\x8b"),
    status: 502,
    code: "upstream_error",
    message:
      'The upstream server answered in a form that was not asked for: wanted a body in no coding, got "gzip".',
  },
  "an answer in a transfer coding": {
    script: response("200 OK", "Content-Type: text/event-stream\r\nTransfer-Encoding: gzip, chunked\r\n"),
    status: 502,
    code: "upstream_error",
    message: "The upstream server answered in a form that was not asked for: " +
      'wanted the transfer coding chunked or none, got "gzip, chunked".',
  },
  "429 with a coded text": {
    script: response("429 Slow", `${JSON_TYPE}Content-Encoding: gzip\r\nRetry-After: 3\r\n`, "\x1f\x8b"),
    status: 429,
    code: "rate_limit",
    message: "The upstream server answered 429.",
    retryAfter: "3",
  },
  "429 with a header in UTF-8": {
    script: response("429 Slow", "X-Reason: “slow”\r\nRetry-After : 7\r\nX-Folded: a\r\n b\r\n"),
    status: 429,
    code: "rate_limit",
    message: "The upstream server answered 429.",
    retryAfter: "7",
  },
  "an end without a head": {
    script: { steps: ["HTTP/1.1 200 OK\r\nContent-"], end: "fin" },
    status: 502,
    code: "upstream_error",
    message: "The upstream server gave no HTTP answer.",
  },
  "something that is not HTTP": {
    script: { steps: ["220 mail.example ESMTP\r\n\r\n"], end: "hold" },
    status: 502,
    code: "upstream_error",
    message: "The upstream server gave no HTTP answer.",
  },
  "a stream whose first event, in one write with the head, is an error": {
    script: {
      steps: [stream([]).steps[0] as string + ROLE + event({ error: { message: "no" } })],
      end: "fin",
    },
    status: 502,
    code: "upstream_error",
    message: 'The upstream server reported an error: "no".',
  },
  "an empty stream, in one write with the head": {
    script: { steps: [stream([]).steps[0] as string + DONE], end: "fin" },
    status: 502,
    code: "upstream_error",
    message: "The upstream server ended its stream without a token.",
  },
};

/** Errors that the first event of a stream tells, each with what the client gets. */
const TOLD: [
  what: string,
  error: unknown,
  model: string,
  status: number,
  code: ErrorCode,
  message: string,
][] = [
  ["a limit", { message: "boom", code: 429 }, "m", 429, "rate_limit", 'reported an error: "boom".'],
  [
    "a limit in digits",
    { message: "boom", status: "429" },
    "m",
    429,
    "rate_limit",
    'reported an error: "boom".',
  ],
  ["a word beside it", { code: "busy", status: 503 }, "m", 503, "overloaded", "reported an error."],
  [
    "our key",
    { message: "sk-secret", code: 401 },
    "m",
    502,
    "upstream_error",
    "refused this server's key (401).",
  ],
  [
    "a model",
    { message: "no such model", code: 404 },
    "",
    404,
    "not_found",
    'reported an error: "no such model".',
  ],
  [
    "a route",
    { message: "Not Found", code: 404 },
    "",
    502,
    "upstream_error",
    'reported an error: "Not Found".',
  ],
  [
    "the context",
    { message: "maximum context length is 9", code: 400 },
    "m",
    400,
    "context_length",
    'reported an error: "maximum context length is 9".',
  ],
  [
    "no status of a refusal",
    { message: "boom", code: 200 },
    "m",
    502,
    "upstream_error",
    'reported an error: "boom".',
  ],
  [
    "a number that is none",
    { message: "boom", code: 4290 },
    "m",
    502,
    "upstream_error",
    'reported an error: "boom".',
  ],
];
for (const [what, error, model, status, code, message] of TOLD) {
  CASES[`a stream whose first event is an error that names ${what}`] = {
    script: { steps: [stream([]).steps[0] as string + event({ error }) + DONE], end: "fin" },
    model,
    status,
    code,
    message: `The upstream server ${message}`,
  };
}

for (const [what, { script, status, code, message, retryAfter, model }] of Object.entries(CASES)) {
  Deno.test(`U3: ${what} is a real status in our shape, streamed or not`, async () => {
    await using over = await overUpstream(script, model === undefined ? {} : { model });
    const { url, ended } = over.service;
    const replies = [
      await postJson(`${url}/stream`, { prompt: "hello" }),
      await postJson(`${url}/generate`, { prompt: "hello" }),
      await postJson(`${url}/v1/chat/completions`, {
        stream: true,
        model: "m",
        messages: [{ role: "user", content: "hello" }],
      }),
    ];
    for (const reply of replies) {
      assertEquals([reply.status, reply.json.error.message], [status, message]);
      const header = reply.headers.get("retry-after");
      // A date, seen from a moment later, may be a second less.
      if (retryAfter === "two days") {
        assert(Number(header) > 172_700 && Number(header) <= 172_800, `${header}`);
      } else assertEquals(header, retryAfter ?? null);
    }
    assertEquals(
      ended.map(({ outcome, error }) => [outcome, error]),
      replies.map(() => ["failed" as const, code]),
    );
    for (const { closed } of over.upstream.requests) await closed;
  });
}

Deno.test("U3: an upstream that refuses the connection is 502", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  await using service = startOver(`http://127.0.0.1:${port}`);
  const reply = await postJson(`${service.url}/stream`, { prompt: "hello" });
  assertEquals([reply.status, reply.json.error.message], [502, "The upstream server cannot be reached."]);
  assertEquals(service.ended[0].error, "upstream_error");
});

Deno.test("the log is told why an upstream cannot be had, in words that no client gets", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  await using service = startOver(`http://127.0.0.1:${port}`, { model: "" });
  const stream = await postJson(`${service.url}/stream`, { prompt: "hello" });
  const models = await fetch(`${service.url}/v1/models`, { headers: { "X-Request-Id": "r" } });
  assertEquals([stream.status, models.status], [502, 502]);
  const told = [stream.json.error.message, (await models.json()).error.message];
  assertEquals(told, Array(2).fill("The upstream server cannot be reached."));
  assertMatch(service.ended[0].reason!, /^The upstream server cannot be reached\. \(.*refused.*\)$/i);
  // Where there is no record, and once only.
  assertEquals(service.refused, [{ id: "r", code: "upstream_error" }]);
});

Deno.test("U3: an upstream without TLS where TLS is wanted is 502", async () => {
  const plain = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const answering = (async () => {
    const conn = await plain.accept();
    await conn.read(new Uint8Array(1024));
    await conn.write(new TextEncoder().encode("HTTP/1.1 400 Bad Request\r\n\r\n"));
    conn.close();
  })();
  const { port } = plain.addr as Deno.NetAddr;
  await using service = startOver(`https://127.0.0.1:${port}`);
  const reply = await postJson(`${service.url}/stream`, { prompt: "hello" });
  assertEquals(reply.status, 502);
  assertEquals(reply.json.error.message, "The upstream server cannot be trusted: its TLS handshake failed.");
  await answering;
  plain.close();
});

Deno.test("a refusal after 250 ms is an event, for the status is out by then", async () => {
  const late = response("429 Too Many Requests", JSON_TYPE, error("slow down"));
  await using over = await overUpstream({ steps: [350, ...late.steps], end: "fin" });
  const reply = await fetch(`${over.service.url}/stream?prompt=hello`);
  assertEquals(reply.status, 200);
  const text = await reply.text();
  assertStringIncludes(text, 'event: error\ndata: {"code":"rate_limit"');
  assert(!text.includes("[DONE]"));
});

for (
  const [head, status] of [
    ["429 Slow\r\nRetry-After: 7", 429],
    ["401 No", 502],
    ["307 Moved\r\nLocation: /x", 502],
    ["204 Nothing", 502],
    ["304 Same", 502],
    ["200 OK\r\nContent-Type: application/json", 502],
  ] as const
) {
  Deno.test(`a refusal that is known is a real status, though its text hangs: ${head.split("\r\n")}`, async () => {
    const steps = [`HTTP/1.1 ${head}\r\nContent-Length: 100\r\n\r\n`, "{"];
    await using over = await overUpstream({ steps, end: "hold" });
    const reply = await postJson(`${over.service.url}/stream`, { prompt: "hello" });
    assertEquals(reply.status, status);
    assertEquals(reply.headers.get("retry-after"), status === 429 ? "7" : null);
  });
}

for (
  const [came, told] of [["0", "0"], ["2.5", "3"], ["-5", null], ["soon", null], ["1e3", null], [
    "",
    null,
  ]] as const
) {
  Deno.test(`a Retry-After of ${JSON.stringify(came)} is told as ${told}`, async () => {
    await using over = await overUpstream(response("429 Slow", `Retry-After: ${came}\r\n`));
    const reply = await postJson(`${over.service.url}/stream`, { prompt: "hello" });
    assertEquals([reply.status, reply.headers.get("retry-after")], [429, told]);
  });
}

Deno.test("an answer that comes before the request is read to its end is the answer", async () => {
  const answer = "HTTP/1.1 429 Slow\r\nRetry-After: 9\r\nContent-Length: 0\r\n\r\n";
  for (const closes of [true, false]) {
    using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const url = `http://127.0.0.1:${(listener.addr as Deno.NetAddr).port}`;
    const accepted = listener.accept().then(async (conn) => {
      await conn.read(new Uint8Array(2000));
      await conn.write(new TextEncoder().encode(answer));
      // A connection that is closed with unread bytes is reset; one that stays open is just not read on.
      if (closes) conn.close();
      return conn;
    });
    await using service = startOver(url, { settings: { maxBodyBytes: 20_000_000, maxModelLen: 10_000_000 } });
    const reply = await postJson(`${service.url}/generate`, { prompt: "a ".repeat(4_000_000) });
    assertEquals([reply.status, reply.headers.get("retry-after")], [429, "9"]);
    const conn = await accepted;
    if (!closes) conn.close();
  }
});

Deno.test("the status goes out with the upstream's head, before the first token", async () => {
  await using over = await overUpstream(stream([400, delta("a"), DONE]));
  const sentAt = performance.now();
  const reply = await fetch(`${over.service.url}/stream?prompt=hello`);
  const headMs = performance.now() - sentAt;
  await reply.text();
  assert(headMs < 200, `the head took ${headMs} ms`);
});
