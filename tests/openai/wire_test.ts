import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Engine, Token } from "../../lib/engine/engine.ts";
import { generate } from "../../lib/engine/vocabulary.ts";
import { HOSTILE_TOKENS } from "../helpers/hostile_tokens.ts";
import { plainEngine, startService } from "../helpers/service.ts";
import { RawClient } from "../helpers/sockets.ts";
import { until } from "../helpers/until.ts";

const CHAT = "/v1/chat/completions";
const COMPLETIONS = "/v1/completions";
const messages = [{ role: "user", content: "hello" }];

/** The body of one request as it came, and its head. */
async function exchange(port: number, path: string, body: unknown): Promise<{ head: string; text: string }> {
  using client = await RawClient.open(port);
  client.request(path, { body, headers: { "X-Request-Id": "r1" } });
  await until("the end of the body", () => client.body.terminated);
  return { head: client.head, text: client.body.text };
}

/** What differs from run to run, made equal. */
function normal(text: string): string {
  return text.replace(/"created":\d{10}\b/g, '"created":1');
}

Deno.test("a chat is streamed as a role chunk, content chunks, a finish chunk and [DONE]", async () => {
  await using service = startService();
  const { head, text } = await exchange(service.port, CHAT, { messages, stream: true, max_tokens: 2 });
  const chunk = (delta: string, finish: string) =>
    'data: {"id":"chatcmpl-r1","object":"chat.completion.chunk","created":1,"model":"tokentap",' +
    `"choices":[{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${finish}}]}\n\n`;
  const [first, second] = generate("hello", 2);
  assertEquals(
    normal(text),
    chunk('{"role":"assistant","content":""}', "null") + chunk(`{"content":"${first}"}`, "null") +
      chunk(`{"content":"${second}"}`, "null") + chunk("{}", '"length"') + "data: [DONE]\n\n",
  );
  assertMatch(head, /^HTTP\/1\.1 200 OK\r\n/);
  assertMatch(head, /\r\ncontent-type: text\/event-stream; charset=utf-8\r\n/i);
  assertMatch(head, /\r\nx-request-id: r1\r\n/i);
});

Deno.test("a completion is streamed as text chunks, a finish chunk and [DONE], with no role chunk", async () => {
  await using service = startService();
  const { text } = await exchange(service.port, COMPLETIONS, {
    prompt: "hello",
    stream: true,
    max_tokens: 2,
  });
  const chunk = (text: string, finish: string) =>
    'data: {"id":"cmpl-r1","object":"text_completion","created":1,"model":"tokentap",' +
    `"choices":[{"text":"${text}","index":0,"logprobs":null,"finish_reason":${finish}}]}\n\n`;
  const [first, second] = generate("hello", 2);
  assertEquals(
    normal(text),
    chunk(first, "null") + chunk(second, "null") + chunk("", '"length"') + "data: [DONE]\n\n",
  );
});

Deno.test("include_usage adds one chunk with the usage and no choices, and usage null to all others", async () => {
  await using service = startService();
  for (
    const [path, asked, others] of [[CHAT, { messages }, 4], [COMPLETIONS, { prompt: "hello" }, 3]] as const
  ) {
    const { text } = await exchange(service.port, path, {
      ...asked,
      stream: true,
      max_tokens: 2,
      stream_options: { include_usage: true },
    });
    const events = text.split("\n\n").slice(0, -1);
    assertEquals(events.at(-1), "data: [DONE]");
    assertMatch(
      events.at(-2)!,
      /,"choices":\[\],"usage":\{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3\}\}$/,
    );
    const before = events.slice(0, -2);
    assertEquals(before.length, others);
    assert(before.every((event) => event.endsWith('}],"usage":null}')), before.join("\n"));
  }
});

Deno.test("continuous_usage_stats puts the counts so far on every chunk", async () => {
  await using service = startService();
  const { text } = await exchange(service.port, CHAT, {
    messages,
    stream: true,
    max_tokens: 2,
    stream_options: { include_usage: true, continuous_usage_stats: true },
  });
  const counts = [...text.matchAll(/"prompt_tokens":1,"completion_tokens":(\d),"total_tokens":(\d)/g)];
  assertEquals(counts.map(([, completion, total]) => `${completion} ${total}`), [
    "0 1",
    "1 2",
    "2 3",
    "2 3",
    "2 3",
  ]);
});

for (const n of [1, 2]) {
  Deno.test(`the counts on an answer's last chunk are its final ones, also after a stop string over tokens: n ${n}`, async () => {
    await using service = startService();
    const { text } = await exchange(service.port, CHAT, {
      messages,
      stream: true,
      n,
      stop: ["er server si"],
      stream_options: { include_usage: true, continuous_usage_stats: true },
    });
    const chunks = text.split("\n\n").filter((event) => event.startsWith("data: {")).map((event) =>
      JSON.parse(event.slice(6))
    );
    const last = chunks.filter(({ choices }) => choices[0]?.finish_reason);
    assertEquals(last.length, n);
    // "exact exact reader server simple": the third token ends within the stop string, the fifth with it.
    assertEquals(last[0].usage.completion_tokens, 5);
    const sum = last.reduce((sum, { usage }) => sum + usage.completion_tokens, 0);
    assertEquals(chunks.at(-1).usage.completion_tokens, sum);
  });
}

Deno.test("without stream the answer comes whole, in the form of the API, with its usage", async () => {
  await using service = startService();
  const said = JSON.stringify(generate("hello", 3).join(""));
  const usage = '"usage":{"prompt_tokens":1,"completion_tokens":3,"total_tokens":4}';
  const post = async (path: string, body: unknown) => {
    const response = await fetch(service.url + path, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Request-Id": "r1" },
      body: JSON.stringify(body),
    });
    return normal(await response.text());
  };
  assertEquals(
    await post(CHAT, { messages, max_tokens: 3 }),
    '{"id":"chatcmpl-r1","object":"chat.completion","created":1,"model":"tokentap","choices":[{"index":0,' +
      `"message":{"role":"assistant","content":${said},"refusal":null},"logprobs":null,` +
      `"finish_reason":"length"}],${usage}}`,
  );
  assertEquals(
    await post(COMPLETIONS, { prompt: "hello", max_tokens: 3 }),
    '{"id":"cmpl-r1","object":"text_completion","created":1,"model":"tokentap","choices":[{' +
      `"text":${said},"index":0,"logprobs":null,"finish_reason":"length"}],${usage}}`,
  );
});

Deno.test("awkward tokens come back the same, in one data line each, from both routes", async () => {
  const tokens = [
    ...HOSTILE_TOKENS,
    " 안녕🙂",
  ];
  await using service = startService({
    engine: plainEngine(async function* () {
      yield* tokens;
    }),
  });
  for (const [path, asked] of [[CHAT, { messages }], [COMPLETIONS, { prompt: "hello" }]] as const) {
    const { text } = await exchange(service.port, path, { ...asked, stream: true });
    const lines = text.split("\n").filter((line) => line !== "");
    const chunks = lines.slice(0, -1).map((line) => JSON.parse(line.replace(/^data: /, "")));
    assertEquals(lines.at(-1), "data: [DONE]");
    const said = chunks.map(({ choices: [{ delta, text }] }) => delta?.content ?? text ?? "");
    assertEquals(said.filter((text) => text !== ""), tokens);
    assert(text.endsWith("\n\n") && !text.endsWith("\n\n\n"));
  }
});

Deno.test("a model name with line breaks makes no event of its own", async () => {
  const model = "x\r\n\r\ndata: [DONE]\r\n\r\n";
  await using service = startService({
    engine: {
      ...plainEngine(async function* () {
        yield "a";
      }),
      simulates: false,
      remote: true,
    },
  });
  const { head, text } = await exchange(service.port, CHAT, { model, messages, stream: true });
  const events = text.split("\n\n").slice(0, -1);
  assertEquals(events.length, 4);
  assert(events.slice(0, -1).every((event) => JSON.parse(event.slice(6)).model === model));
  assert(!head.includes("[DONE]"));
});

Deno.test("what the model thinks comes as reasoning_content in a chat and not at all in a completion", async () => {
  const tokens: Token[] = [
    { text: "hm", tokens: 1, reasoning: true },
    { text: "yes", tokens: 1 },
  ];
  const engine: Engine = {
    name: "thinking",
    countTokens: () => 1,
    async *generate(_request, _signal, watch) {
      for (const token of tokens) {
        watch.produced(1, 0, 0);
        yield token;
      }
      watch.finished("stop");
    },
  };
  await using service = startService({ engine });
  const chat = await exchange(service.port, CHAT, { messages, stream: true });
  assertEquals([...chat.text.matchAll(/"delta":(\{.*?\})/g)].map(([, delta]) => delta), [
    '{"role":"assistant","content":""}',
    '{"reasoning_content":"hm"}',
    '{"content":"yes"}',
    "{}",
  ]);
  const completion = await exchange(service.port, COMPLETIONS, { prompt: "p", stream: true });
  assertEquals([...completion.text.matchAll(/"text":"(.*?)"/g)].map(([, text]) => text), ["yes", ""]);
  const whole = await fetch(service.url + CHAT, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ messages }),
  });
  const { choices: [{ message, finish_reason }], usage } = await whole.json();
  assertEquals([message.content, message.reasoning_content, finish_reason], ["yes", "hm", "stop"]);
  assertEquals(usage.completion_tokens, 2);
});
