import { assertEquals, assertLess, assertStringIncludes } from "@std/assert";
import { postJson } from "../helpers/post_json.ts";
import { delta, DONE, finish, overUpstream, said, stream } from "../helpers/scripted_upstream.ts";

const chat = { messages: [{ role: "user", content: "hello" }], max_tokens: 2 };
const completion = { prompt: "once", max_tokens: 2 };

const ROUTES = [
  ["/v1/chat/completions", chat, [delta("a"), finish("stop"), DONE]],
  ["/v1/completions", completion, [said("a", "stop"), DONE]],
] as const;

/** What a request with `fields` makes the upstream be asked. */
async function asked(fields: Record<string, unknown> | string, route: (typeof ROUTES)[number] = ROUTES[0]) {
  const [path, least, events] = route;
  await using over = await overUpstream(stream([...events]));
  const body = typeof fields === "string" ? fields : JSON.stringify({ ...least, ...fields });
  const { status, json } = await postJson(over.service.url + path, body);
  const text = over.upstream.requests[0]?.head.split("\r\n\r\n")[1];
  return { status, json, text, body: text === undefined ? undefined : JSON.parse(text) };
}

Deno.test("what only the upstream can do reaches it as it came, on both routes", async () => {
  const fields = {
    reasoning_effort: "low",
    chat_template_kwargs: { enable_thinking: false, deep: [[{ a: null }]] },
    response_format: { type: "json_schema", json_schema: { name: "n", schema: { type: "object" } } },
    guided_json: { type: "object" },
    structured_outputs: { regex: "[ab]+" },
    logit_bias: { "50256": -100 },
    length_penalty: 0.5,
    bad_words: ["x"],
    stop_token_ids: [1, 2],
    skip_special_tokens: false,
    user: "u",
    "a field of tomorrow": [1, 2.5, "안녕 🙂", true],
  };
  for (const route of ROUTES) {
    const { status, body } = await asked(fields, route);
    assertEquals(status, 200);
    assertEquals(Object.fromEntries(Object.keys(fields).map((name) => [name, body[name]])), fields);
  }
});

Deno.test("an upstream is asked for the model of the settings, else the client's, else for none", async () => {
  const named = [["ours", "theirs", "ours"], ["", "theirs", "theirs"], ["", undefined, undefined]] as const;
  for (const [path, least, events] of ROUTES) {
    for (const [upstreamModel, model, wanted] of named) {
      const options = { model: upstreamModel, settings: { upstreamModel } };
      await using over = await overUpstream(stream([...events]), options);
      const { json } = await postJson(over.service.url + path, JSON.stringify({ ...least, model }));
      assertEquals(JSON.parse(over.upstream.requests[0].head.split("\r\n\r\n")[1]).model, wanted);
      // And no other is said to have answered.
      const told = wanted ?? "tokentap";
      assertEquals([json.model, over.service.ended[0].model], [told, told]);
    }
  }
});

Deno.test("a conversation reaches an upstream as it came, whatever its messages hold", async () => {
  const messages = [
    { role: "system", content: [{ type: "text", text: "be brief", cache_control: { type: "ephemeral" } }] },
    { role: "user", content: "hi", name: "bob" },
    { role: "assistant", content: null, refusal: "no", reasoning_content: "t", prefix: true },
    { role: "tool", tool_call_id: "c1", content: "r" },
  ];
  const { status, body } = await asked({ messages });
  assertEquals([status, body.messages], [200, messages]);
  for (
    const [wrong, param] of [
      [{ role: "nobody", content: "a" }, "messages.1.role"],
      [{ role: "user" }, "messages.1.content"],
      [{ role: "assistant", tool_calls: [{ id: "c" }] }, "messages.1.tool_calls"],
      [5, "messages.1"],
      [{ role: "user", content: "a", odd: JSON.parse("[".repeat(65) + "]".repeat(65)) }, "messages.1"],
    ]
  ) {
    const { status, json, body } = await asked({ messages: [messages[1], wrong] });
    assertEquals([status, json.error.param, body], [400, param, undefined]);
  }
});

Deno.test("running counts are asked of an upstream for who asks for them, and for nobody else", async () => {
  for (const [wanted, sent] of [[true, true], [false, undefined], [undefined, undefined]]) {
    await using over = await overUpstream(stream([delta("a"), finish("stop"), DONE]));
    const fields = { stream: true, stream_options: { continuous_usage_stats: wanted } };
    const headers = { "Content-Type": "application/json" };
    const post = { method: "POST", headers, body: JSON.stringify({ ...chat, ...fields }) };
    await (await fetch(`${over.service.url}/v1/chat/completions`, post)).text();
    const { stream_options } = JSON.parse(over.upstream.requests[0].head.split("\r\n\r\n")[1]);
    assertEquals([stream_options.include_usage, stream_options.continuous_usage_stats], [true, sent]);
  }
});

Deno.test("no field of the client's can stand for one of ours", async () => {
  const { body, text } = await asked(
    `{"messages":[{"role":"user","content":"hello"}],"max_tokens":2,"stream":false,"extras":{"stream":false},` +
      `"stream_options":null,"ttft":1,"__proto__":{"stream":false},"constructor":1}`,
  );
  assertEquals([body.stream, body.stream_options, body.max_tokens], [true, { include_usage: true }, 2]);
  assertEquals([body.extras, body.ttft, body.constructor], [{ stream: false }, 1, 1]);
  assertEquals(text!.includes("__proto__"), false);
});

Deno.test("what would give the answer another form is refused over an upstream too", async () => {
  const refused = {
    tools: [{ type: "function", function: { name: "f" } }],
    logprobs: true,
    audio: { voice: "v" },
    best_of: 2,
    echo: true,
  };
  for (const [param, value] of Object.entries(refused)) {
    const { status, json, body } = await asked({ [param]: value });
    assertEquals([status, json.error.param, body], [400, param, undefined]);
  }
});

Deno.test("a field that is nested without end is refused by its name, and soon", async () => {
  const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
  const field = (levels: number) =>
    `{"messages":[{"role":"user","content":"hello"}],"max_tokens":2,"odd":${nested(levels)}}`;
  assertEquals((await asked(field(64))).status, 200);
  for (const levels of [65, 100_000]) {
    const from = performance.now();
    const { status, json, body } = await asked(field(levels));
    assertEquals([status, json.error.param, body], [400, "odd", undefined]);
    assertStringIncludes(json.error.message, "wanted at most 64 levels of lists and objects");
    assertLess(performance.now() - from, 1000);
  }
});

Deno.test("a refusal does not give back a name without end", async () => {
  const name = "x".repeat(100_000);
  const { status, json } = await asked({ [name]: JSON.parse("[".repeat(65) + "]".repeat(65)) });
  assertEquals([status, json.error.param], [400, "x".repeat(80)]);
  assertLess(json.error.message.length, 200);
});

Deno.test("our own routes pass on nothing that they do not know", async () => {
  await using over = await overUpstream(stream([delta("a"), finish("stop"), DONE]));
  const { status } = await postJson(`${over.service.url}/generate`, { prompt: "a", odd: 1, max_tokens: 1 });
  assertEquals(status, 200);
  assertEquals("odd" in JSON.parse(over.upstream.requests[0].head.split("\r\n\r\n")[1]), false);
});
