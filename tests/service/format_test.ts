import { assert, assertEquals, assertLessOrEqual } from "@std/assert";
import { TapError } from "../../lib/errors.ts";
import { plainEngine, type Service, startService } from "../helpers/service.ts";
import { dataLines, RawClient } from "../helpers/sockets.ts";

/** What the service answers when the engine yields exactly these tokens: the body of /stream, the text of /generate. */
async function answers(tokens: string[]): Promise<{ body: string; text: string }> {
  const engine = plainEngine(async function* ({ maxTokens }) {
    yield* tokens.slice(0, maxTokens);
  });
  await using service = startService({ engine });
  const body = await (await fetch(`${service.url}/stream?prompt=a&max_tokens=100`)).text();
  const { text } = await (await post(service, "/generate")).json();
  assertEquals(service.unexpected, []);
  return { body, text };
}

function post(service: Service, path: string) {
  return fetch(service.url + path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ prompt: "a", max_tokens: 100 }),
  });
}

const NASTY = [
  "\n",
  "\r",
  "\r\n\r\n",
  "data: [DONE]",
  "data: [DONE]\n\n",
  ":",
  "\u2028",
  "\u2029",
  "\u0000",
  '"}\n\ndata: {"x":1}',
  "event: error\ndata: {}",
  "",
  "\ufeff",
  "\\",
  "</script>",
  "\u0085",
  "0\r\n\r\n",
];

Deno.test("F1: whatever a token is made of, it is one data line that parses, and the join is byte-equal", async () => {
  const { body, text } = await answers(NASTY);
  const events = body.split("\n\n").slice(0, -1);
  assertEquals(events.length, NASTY.length + 1);
  assertEquals(events.at(-1), "data: [DONE]");
  const tokens = events.slice(0, -1).map((event) => {
    assertEquals(event.split(/\r\n|\r|\n/).length, 1);
    assert(event.startsWith("data: "));
    return JSON.parse(event.slice(6)).token;
  });
  assertEquals(tokens, NASTY);
  assertEquals(text, NASTY.join(""));
});

Deno.test("F2: a character cut over tokens is delivered whole, once", async () => {
  const tokens = ["a", "\ud83d", "\ude42", "b"];
  const { body, text } = await answers(tokens);
  const got = dataLines(body).slice(0, -1).map((data) => JSON.parse(data).token);
  assertEquals(got.join(""), "a🙂b");
  assertEquals(text, "a🙂b");
});

Deno.test("F2: a character that is never finished gives valid JSON and at most one U+FFFD", async () => {
  const { body, text } = await answers(["a", "\ud83d"]);
  for (const data of dataLines(body).slice(0, -1)) JSON.parse(data);
  // As bytes, which is what a reader that is no JavaScript has.
  const bytes = new TextDecoder().decode(new TextEncoder().encode(text));
  assertLessOrEqual(bytes.split("\ufffd").length - 1, 1);
  assert(bytes.startsWith("a"));
});

Deno.test("F3: line ends in the text of an engine's error make neither an event nor a header", async () => {
  const evil = "no\r\nX-Evil: 1\r\n\r\ndata: [DONE]\n\nevent: x";
  let first = true;
  const engine = plainEngine(async function* () {
    if (!first) yield "one";
    first = false;
    throw new TapError("upstream_error", evil);
  });
  await using service = startService({ engine });
  const early = await fetch(`${service.url}/stream?prompt=a`);
  assertEquals([early.status, early.headers.get("x-evil")], [502, null]);
  assertEquals((await early.json()).error.message, evil);
  const body = await (await fetch(`${service.url}/stream?prompt=a`)).text();
  const lines = body.split(/\r\n|\r|\n/);
  assertEquals(lines.slice(0, 3), ['data: {"token":"one"}', "", "event: error"]);
  assertEquals(JSON.parse(lines[3].slice(6)), { code: "upstream_error", message: evil });
  assertEquals(lines.slice(4), ["", ""]);
});

Deno.test("F5: a body ends with a blank line, and with [DONE] and the terminator only where all went well", async () => {
  await using service = startService({ settings: { interTokenLatency: 0 } });
  const cases = [
    { fault: "", done: true, terminated: true },
    { fault: "&fault=error@3", done: false, terminated: true },
    { fault: "&fault=close@3", done: false, terminated: true },
    { fault: "&fault=reset@3", done: false, terminated: false },
  ];
  for (const { fault, done, terminated } of cases) {
    using client = await RawClient.open(service.port);
    client.request(`/stream?prompt=hello&max_tokens=5${fault}`, { headers: { Connection: "close" } });
    await client.untilEnded();
    const body = client.body;
    assert(body.text.endsWith("\n\n") && !body.text.endsWith("\n\n\n"), fault);
    assertEquals([fault, body.text.endsWith("data: [DONE]\n\n")], [fault, done]);
    assertEquals([fault, body.terminated], [fault, terminated]);
  }
});
