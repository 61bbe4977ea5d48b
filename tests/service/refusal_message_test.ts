import { assertEquals } from "@std/assert";
import { startService } from "../helpers/service.ts";

const CHAT = '"messages":[{"role":"user","content":"a"}]';

/** A path, a body (none: the path's query is all), and the message. */
const REFUSED: [path: string, body: string | undefined, message: string][] = [
  ["/stream", '{"prompt":"a","max_tokens":0}', "max_tokens: wanted a whole number from 1 to 8192, got 0."],
  [
    "/stream",
    '{"prompt":"a","max_tokens":null}',
    "max_tokens: wanted a whole number from 1 to 8192, got null.",
  ],
  [
    "/stream",
    '{"prompt":"a","max_tokens":"5"}',
    'max_tokens: wanted a whole number from 1 to 8192, got "5".',
  ],
  [
    "/stream",
    '{"prompt":"a","ttft_ms":true}',
    "ttft_ms: wanted a number of milliseconds from 0 to 3600000, got true.",
  ],
  ["/stream", "{}", "prompt: wanted a text, got nothing."],
  ["/stream", '{"prompt":{"a":1}}', "prompt: wanted a text, got an object."],
  ["/stream", '{"prompt":""}', 'prompt: wanted a text that is not empty, got "".'],
  ["/stream", '{"__proto__":{"prompt":"a"}}', "prompt: wanted a text, got nothing."],
  ["/stream", "[]", "request: wanted a JSON object, got a list of 0."],
  ["/stream", "null", "request: wanted a JSON object, got null."],
  ["/generate", "5", "request: wanted a JSON object, got 5."],
  ["/stream?prompt=a&prompt=b", undefined, "prompt: wanted a text, got a list of 2."],
  ["/stream?prompt=a&max_tokens=", undefined, 'max_tokens: wanted a whole number from 1 to 8192, got "".'],
  [
    `/stream?prompt=a&max_tokens=${"9".repeat(50)}`,
    undefined,
    `max_tokens: wanted a whole number from 1 to 8192, got "${"9".repeat(40)}…".`,
  ],
  [
    "/stream?prompt=a&max_tokens=%0d%0a%00",
    undefined,
    'max_tokens: wanted a whole number from 1 to 8192, got "???".',
  ],
  [`/stream?prompt=a&fault=${"x".repeat(201)}`, undefined, "fault: wanted at most 200 characters, got 201."],
  ["/v1/chat/completions", '{"messages":[5]}', "messages.0: wanted an object, got 5."],
  [
    "/v1/chat/completions",
    `{${CHAT},"stop":["a","b","c","d","e"]}`,
    "stop: wanted at most 4 stop strings, got a list of 5.",
  ],
  [
    "/v1/chat/completions",
    `{${CHAT},"max_tokens":2,"min_tokens":5}`,
    "min_tokens: wanted at most max_tokens (2), got 5.",
  ],
  [
    "/v1/completions",
    '{"prompt":[1]}',
    "prompt: wanted a text, or a list of one text; token numbers are not possible here, got a list of one.",
  ],
];

Deno.test("a refusal says what was wanted and what came, shortened and never raw", async () => {
  await using service = startService();
  const messages = [];
  for (const [path, body] of REFUSED) {
    const headers = { "Content-Type": "application/json" };
    const response = await fetch(
      service.url + path,
      body === undefined ? {} : { method: "POST", headers, body },
    );
    assertEquals(response.status, 400);
    messages.push((await response.json()).error.message);
  }
  assertEquals(messages, REFUSED.map(([, , message]) => message));
});
