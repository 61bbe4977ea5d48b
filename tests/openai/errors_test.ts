import { assert, assertEquals } from "@std/assert";
import { postJson } from "../helpers/post_json.ts";
import { startService } from "../helpers/service.ts";

const messages = [{ role: "user", content: "hello" }];
const json = { "Content-Type": "application/json" };

Deno.test("every error below /v1 has the API's shape and the right status", async () => {
  await using service = startService({ settings: { maxBodyBytes: 2000 } });
  const chat = "/v1/chat/completions";
  const cases: [string, RequestInit, number, string, string][] = [
    [chat, { method: "POST", headers: json, body: "{" }, 400, "invalid_request_error", "invalid_request"],
    [chat, { method: "POST", headers: json, body: "[]" }, 400, "invalid_request_error", "invalid_request"],
    [chat, { method: "POST", headers: json, body: "null" }, 400, "invalid_request_error", "invalid_request"],
    [chat, { method: "POST", body: "{}" }, 415, "invalid_request_error", "unsupported_media_type"],
    [
      chat,
      { method: "POST", headers: json, body: `"${"x".repeat(3000)}"` },
      413,
      "invalid_request_error",
      "too_large",
    ],
    [chat, {}, 405, "invalid_request_error", "method_not_allowed"],
    ["/v1/completions", { method: "PUT" }, 405, "invalid_request_error", "method_not_allowed"],
    ["/v1/models", { method: "DELETE" }, 405, "invalid_request_error", "method_not_allowed"],
    ["/v1/zap", {}, 404, "invalid_request_error", "not_found"],
    ["/v1", {}, 404, "invalid_request_error", "not_found"],
    ["/v1/models/other", {}, 404, "invalid_request_error", "model_not_found"],
  ];
  for (const [path, init, status, type, code] of cases) {
    const response = await fetch(service.url + path, init);
    const { error } = await response.json();
    assertEquals([response.status, error.type, error.code], [status, type, code], path);
    assertEquals(Object.keys(error), ["message", "type", "param", "code"]);
  }
  const own = await (await fetch(`${service.url}/v10`)).json();
  assertEquals(Object.keys(own.error), ["code", "message", "param"]);
});

Deno.test("an unknown model is 404 model_not_found; none given means the one there is", async () => {
  await using service = startService({ settings: { model: "org/small" } });
  const chat = `${service.url}/v1/chat/completions`;
  const unknown = await postJson(chat, { model: "gpt-4o", messages });
  assertEquals([unknown.status, unknown.json.error.code, unknown.json.error.param], [
    404,
    "model_not_found",
    "model",
  ]);
  for (const model of ["org/small", undefined]) {
    const { status, json } = await postJson(chat, { model, messages, max_tokens: 1 });
    assertEquals([status, json.model], [200, "org/small"]);
  }
  const { data } = await (await fetch(`${service.url}/v1/models`)).json();
  const one = await (await fetch(`${service.url}/v1/models/org/small`)).json();
  assertEquals(data, [one]);
  assertEquals([one.id, one.object, one.max_model_len], ["org/small", "model", 8192]);
});

Deno.test("a status fault is a real status in the API's shape, with Retry-After, streamed or not", async () => {
  await using service = startService();
  for (const stream of [true, false]) {
    for (
      const [fault, status, type, code] of [
        ["status:429", 429, "rate_limit_error", "rate_limit_exceeded"],
        ["status:401", 401, "invalid_request_error", "invalid_api_key"],
        ["status:503", 503, "server_error", "overloaded"],
        ["error@0", 500, "server_error", "internal"],
      ] as const
    ) {
      const reply = await postJson(`${service.url}/v1/chat/completions`, { messages, stream }, {
        "X-Tokentap-Fault": fault,
      });
      assertEquals([reply.status, reply.json.error.type, reply.json.error.code], [status, type, code]);
      assertEquals(reply.headers.has("retry-after"), status === 429 || status === 503);
    }
  }
});

Deno.test("an error after the start is an error event and the stream has no [DONE]; not streamed it is a status", async () => {
  await using service = startService();
  for (
    const [path, asked] of [
      ["/v1/chat/completions?fault=error@2", { messages, stream: true }],
      ["/v1/completions", { prompt: "hello", stream: true, fault: "error@2" }],
    ] as const
  ) {
    const response = await fetch(service.url + path, {
      method: "POST",
      headers: json,
      body: JSON.stringify(asked),
    });
    assertEquals(response.status, 200);
    const text = await response.text();
    const last = text.split("\n\n").at(-2)!;
    assertEquals(
      last,
      'event: error\ndata: {"error":{"message":"The fault error@2 was asked for.","type":"server_error",' +
        '"param":null,"code":"internal"}}',
    );
    assert(!text.includes("[DONE]") && !text.includes('"finish_reason":"'), text);
  }
  const whole = await postJson(`${service.url}/v1/completions?fault=error@2`, { prompt: "hello" });
  assertEquals([whole.status, whole.json.error.code], [500, "internal"]);
  assertEquals(service.ended.map(({ outcome, error }) => [outcome, error]), [
    ["failed", "internal"],
    ["failed", "internal"],
    ["failed", "internal"],
  ]);
});
