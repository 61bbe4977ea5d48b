import { assert, assertEquals } from "@std/assert";
import type { EngineRequest } from "../../lib/engine/engine.ts";
import { generate } from "../../lib/engine/vocabulary.ts";
import { postJson } from "../helpers/post_json.ts";
import { plainEngine, startService } from "../helpers/service.ts";

const messages = [{ role: "user", content: "hello" }];

/** A service whose engine keeps what it was asked. */
function keeping(remote = false) {
  const asked: EngineRequest[] = [];
  const engine = plainEngine(async function* (request) {
    asked.push(request);
    yield "a";
  });
  return { asked, service: startService({ engine: { ...engine, simulates: !remote, remote } }) };
}

Deno.test("parameters that would change the answer are refused by name with 400", async () => {
  await using service = startService();
  const refused: [string, unknown][] = [
    ["tools", [{ type: "function", function: { name: "f" } }]],
    ["tool_choice", "auto"],
    ["functions", [{ name: "f" }]],
    ["function_call", "auto"],
    ["logprobs", true],
    ["top_logprobs", 2],
    ["audio", { voice: "alloy", format: "wav" }],
    ["modalities", ["text", "audio"]],
    ["response_format", { type: "json_object" }],
    ["logit_bias", { "50256": -100 }],
    ["best_of", 2],
    ["echo", true],
    ["suffix", "end"],
    ["guided_json", {}],
    ["include_stop_str_in_output", true],
    ["length_penalty", 1.2],
    ["bad_words", ["a"]],
    ["allowed_token_ids", [1]],
    ["logits_processors", ["f"]],
    ["top_k", 1.5],
    ["min_p", 2],
    ["repetition_penalty", 0],
    ["n", 9],
    ["n", 0],
    ["stop", ["a", "b", "c", "d", "e"]],
    ["stop", ""],
    ["temperature", 3],
    ["seed", "1"],
    ["max_tokens", 0],
    ["max_tokens", 1.5],
    ["max_completion_tokens", -1],
    ["model", 5],
    ["stream", "yes"],
    ["fault", "zap@1"],
  ];
  for (const [param, value] of refused) {
    const { status, json } = await postJson(`${service.url}/v1/chat/completions`, {
      messages,
      [param]: value,
    });
    const what = `${param}: ${JSON.stringify(json)}`;
    assertEquals(status, 400, what);
    assert(json.error.param === param || json.error.param === `${param}.0`, what);
    assertEquals(json.error.type, "invalid_request_error", what);
    assert(json.error.message.startsWith(json.error.param), what);
    assertEquals(Object.keys(json.error), ["message", "type", "param", "code"]);
  }
  assertEquals(service.ledger.totals().generated.total, 0);
});

Deno.test("what is harmless, asks for nothing or is unknown is accepted", async () => {
  await using service = startService();
  const { status, json } = await postJson(`${service.url}/v1/chat/completions`, {
    model: "tokentap",
    messages: [{ role: "user", content: "hello", name: "ann" }],
    max_tokens: 3,
    user: "u",
    metadata: { a: "b" },
    store: true,
    service_tier: "auto",
    temperature: 0.5,
    top_p: 1,
    top_k: -1,
    min_p: 0,
    repetition_penalty: 1.1,
    length_penalty: 1,
    bad_words: [],
    presence_penalty: 1,
    frequency_penalty: -1,
    tools: [],
    tool_choice: "none",
    logprobs: false,
    top_logprobs: null,
    audio: null,
    modalities: ["text"],
    response_format: { type: "text" },
    logit_bias: {},
    stop: null,
    n: null,
    seed: null,
    stream: null,
    stream_options: null,
    best_of: 1,
    reasoning_effort: "low",
    x_field_of_some_client: 1,
  });
  assertEquals(status, 200, JSON.stringify(json));
  assertEquals(json.choices[0].message.content, generate("hello", 3).join(""));
});

Deno.test("max_completion_tokens wins over max_tokens; the defaults are 128 in a chat and 16 in a completion", async () => {
  const { asked, service } = keeping();
  await using _ = service;
  const chat = `${service.url}/v1/chat/completions`;
  await postJson(chat, { messages, max_tokens: 9, max_completion_tokens: 3 });
  await postJson(chat, { messages });
  await postJson(`${service.url}/v1/completions`, { prompt: ["hello"] });
  assertEquals(asked.map(({ maxTokens }) => maxTokens), [3, 128, 16]);
});

Deno.test("from an engine that ends by itself a chat without max_tokens may have all that fits", async () => {
  const { asked, service } = keeping(true);
  await using _ = service;
  const chat = `${service.url}/v1/chat/completions`;
  await postJson(chat, { messages, model: "some/model" });
  await postJson(chat, { messages, max_tokens: 5 });
  assertEquals(asked.map(({ maxTokens, openEnded, model }) => [maxTokens, openEnded, model]), [
    [8192 - "hello".length, true, "some/model"],
    [5, false, undefined],
  ]);
});

Deno.test("an engine is asked with all that a request says about sampling and the end", async () => {
  const { asked, service } = keeping(true);
  await using _ = service;
  const body = {
    prompt: "p",
    max_tokens: 4,
    min_tokens: 2,
    ignore_eos: true,
    stop: "END",
    seed: 7,
    temperature: 0,
    top_p: 0.5,
    top_k: 40,
    min_p: 0.1,
    presence_penalty: 0.5,
    frequency_penalty: 0.25,
    repetition_penalty: 1.5,
    stream: true,
    stream_options: { continuous_usage_stats: true },
    odd: [1],
  };
  const post = {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  };
  await (await fetch(`${service.url}/v1/completions`, post)).text();
  const [{ id: _id, key: _key, promptTokens: _promptTokens, ...rest }] = asked;
  assertEquals({ ...rest, model: undefined }, {
    prompt: "p",
    continuation: true,
    maxTokens: 4,
    openEnded: false,
    model: undefined,
    fault: undefined,
    ttftMs: undefined,
    itlMs: undefined,
    minTokens: 2,
    ignoreEos: true,
    continuousUsage: true,
    stop: ["END"],
    seed: 7,
    temperature: 0,
    topP: 0.5,
    topK: 40,
    minP: 0.1,
    presencePenalty: 0.5,
    frequencyPenalty: 0.25,
    repetitionPenalty: 1.5,
    extras: { odd: [1] },
  });
});

Deno.test("more tokens at least than at most are refused, also where the limit is the route's own", async () => {
  await using service = startService();
  const chat = { messages }, completion = { prompt: "hello" };
  for (
    const [path, body, most] of [
      ["chat/completions", { ...chat, max_tokens: 4 }, 4],
      ["chat/completions", chat, 128],
      ["completions", completion, 16],
    ] as const
  ) {
    const ask = (min_tokens: number) => postJson(`${service.url}/v1/${path}`, { ...body, min_tokens });
    const { status, json } = await ask(most + 1);
    assertEquals([status, json.error.param], [400, "min_tokens"]);
    assertEquals(json.error.message, `min_tokens: wanted at most max_tokens (${most}), got ${most + 1}.`);
    assertEquals((await ask(most)).json.usage.completion_tokens, most);
  }
  assertEquals(service.ledger.totals().requests.total, 3);
});

Deno.test("a parameter that stands for a list of one is named as it came", async () => {
  await using service = startService();
  for (
    const [stop, param, got] of [["", "stop", '""'], ["x".repeat(1025), "stop", "1025"], [
      ["a", ""],
      "stop.1",
      '""',
    ]]
  ) {
    const { json } = await postJson(`${service.url}/v1/completions`, { prompt: "a", stop });
    assertEquals(json.error.param, param);
    assert(json.error.message.endsWith(`, got ${got}.`), json.error.message);
  }
});

Deno.test("the seeds of several answers stay numbers that a request may name", async () => {
  for (const seed of [0, -5, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER - 1]) {
    const { asked, service } = keeping(true);
    await using _ = service;
    await postJson(`${service.url}/v1/completions`, { prompt: "p", n: 3, seed });
    const seeds = asked.map((request) => request.seed!);
    assert(seeds[0] === seed && new Set(seeds).size === 3 && seeds.every(Number.isSafeInteger), `${seeds}`);
  }
});

Deno.test("a chat is answered by its last user message and counts the tokens of all messages", async () => {
  await using service = startService();
  const { json } = await postJson(`${service.url}/v1/chat/completions`, {
    messages: [
      { role: "system", content: "be brief" },
      { role: "user", content: "first" },
      { role: "assistant", content: null },
      { role: "user", content: [{ type: "text", text: "hello" }] },
      { role: "assistant", content: "well" },
    ],
    max_tokens: 4,
  });
  assertEquals(json.choices[0].message.content, generate("hello", 4).join(""));
  const parts = ["be brief", "first", "hello", "well"];
  const counted = parts.reduce((sum, text) => sum + service.deps.engine.countTokens(text), 0);
  assertEquals(json.usage.prompt_tokens, counted);
});

Deno.test("text parts are joined by line ends", async () => {
  const { asked, service } = keeping();
  await using _ = service;
  const content = [{ type: "text", text: "a" }, { type: "text", text: "b" }];
  await postJson(`${service.url}/v1/chat/completions`, { messages: [{ role: "user", content }] });
  assertEquals([asked[0].prompt, asked[0].messages], ["a\nb", [{ role: "user", content: "a\nb" }]]);
});

Deno.test("messages and prompts that are not text are refused with their place", async () => {
  await using service = startService();
  const image = { type: "image_url", image_url: { url: "data:," } };
  const cases: [unknown, string][] = [
    [{ messages: [] }, "messages"],
    [{}, "messages"],
    [{ messages: "hello" }, "messages"],
    [{ messages: [{ role: "king", content: "a" }] }, "messages.0.role"],
    [{ messages: [{ role: "user" }] }, "messages.0.content"],
    [{ messages: [{ role: "user", content: null }] }, "messages.0.content"],
    [{ messages: [{ role: "user", content: 5 }] }, "messages.0.content"],
    [{ messages: [{ role: "user", content: [{ type: "text" }] }] }, "messages.0.content.0.text"],
    [{ messages: [...messages, { role: "user", content: [image] }] }, "messages.1.content.0.type"],
    [
      { messages: [{ role: "assistant", content: null, tool_calls: [{ id: "1" }] }] },
      "messages.0.tool_calls",
    ],
    [{ messages, stream_options: { include_usage: true } }, "stream_options"],
    [{ messages, stream: false, stream_options: {} }, "stream_options"],
    [{ messages, max_tokens: 2, min_tokens: 3 }, "min_tokens"],
    [{ messages, max_tokens: 8192 }, "messages"],
  ];
  for (const [body, param] of cases) {
    const { status, json } = await postJson(`${service.url}/v1/chat/completions`, body);
    assertEquals([status, json.error?.param], [400, param], JSON.stringify(json));
  }
  for (const prompt of [undefined, "", [1, 2], [[1]], ["a", "b"], []]) {
    const { status, json } = await postJson(`${service.url}/v1/completions`, { prompt });
    assertEquals([status, json.error?.param], [400, "prompt"], JSON.stringify(json));
  }
});
