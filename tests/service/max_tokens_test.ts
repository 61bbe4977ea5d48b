import { assertEquals } from "@std/assert";
import { postJson } from "../helpers/post_json.ts";
import { startService } from "../helpers/service.ts";

const SETTINGS = { interTokenLatency: 0, maxModelLen: 12 };

const ASKS: Record<string, Record<string, unknown>> = {
  "/generate": { prompt: "hello there" },
  "/stream": { prompt: "hello there" },
  "/v1/completions": { prompt: "hello there" },
  "/v1/chat/completions": { messages: [{ role: "user", content: "hello there" }] },
};

for (const [path, body] of Object.entries(ASKS)) {
  Deno.test(`${path}: without max_tokens the answer is what fits, where that is less than the default`, async () => {
    await using service = startService({ settings: SETTINGS });
    const response = await fetch(service.url + path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    await response.text();
    const [{ promptTokens, requested, generated, outcome }] = service.ended;
    assertEquals([response.status, outcome], [200, "completed"]);
    assertEquals([promptTokens, requested, generated], [2, 10, 10]);
  });

  Deno.test(`${path}: a max_tokens that does not fit beside the prompt is 400`, async () => {
    await using service = startService({ settings: SETTINGS });
    const { status, json } = await postJson(service.url + path, { ...body, max_tokens: 11 });
    assertEquals([status, json.error.code.startsWith("context_length")], [400, true]);
    assertEquals(service.ended, []);
  });
}
