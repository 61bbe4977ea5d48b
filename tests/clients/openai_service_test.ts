import { assert, assertEquals, assertRejects } from "@std/assert";
import OpenAI from "openai";
import { spawnService } from "../helpers/spawned_service.ts";
import { until } from "../helpers/until.ts";
import { type Commented, commentedFetch } from "./commented_fetch.ts";
import { settled } from "./debug.ts";
import { ownText } from "./own_text.ts";

const messages = [{ role: "user" as const, content: "hello" }];

interface Setup extends AsyncDisposable {
  url: string;
  openai: OpenAI;
  seen: Commented;
}

/** The service in a process of its own, and the real client at it. */
async function setup(...flags: string[]): Promise<Setup> {
  const service = await spawnService("--time-to-first-token", "0", "--inter-token-latency", "5ms", ...flags);
  const { fetch, seen } = commentedFetch();
  const openai = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: "none", maxRetries: 0, fetch });
  return { url: service.url, openai, seen, [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() };
}

Deno.test("openai: a streamed chat, with and without usage, is the text of /generate", async () => {
  await using at = await setup();
  for (const include_usage of [true, false]) {
    const stream = await at.openai.chat.completions.create({
      model: "tokentap",
      messages,
      max_tokens: 20,
      stream: true,
      stream_options: { include_usage },
    });
    const ids = new Set<string>();
    let [text, finish, total] = ["", "", 0];
    for await (const chunk of stream) {
      ids.add(chunk.id);
      text += chunk.choices[0]?.delta.content ?? "";
      finish = chunk.choices[0]?.finish_reason ?? finish;
      total = chunk.usage?.total_tokens ?? total;
    }
    assertEquals([text, finish, total], [await ownText(at.url, 20), "length", include_usage ? 21 : 0]);
    assertEquals(ids.size, 1);
  }
});

Deno.test("openai: a chat and a completion that are not streamed, and the list of models", async () => {
  await using at = await setup();
  const text = await ownText(at.url, 8);
  const chat = await at.openai.chat.completions.create({ model: "tokentap", messages, max_tokens: 8 });
  assertEquals([chat.choices[0].message.content, chat.choices[0].finish_reason], [text, "length"]);
  assertEquals(chat.usage?.completion_tokens, 8);
  const completion = await at.openai.completions.create({
    model: "tokentap",
    prompt: "hello",
    max_tokens: 8,
  });
  assertEquals(completion.choices[0].text, text);
  let streamed = "";
  const chunks = await at.openai.completions.create({
    model: "tokentap",
    prompt: "hello",
    max_tokens: 8,
    stream: true,
  });
  for await (const { choices: [choice] } of chunks) streamed += choice.text;
  assertEquals(streamed, text);
  const names: string[] = [];
  for await (const model of at.openai.models.list()) names.push(model.id);
  assertEquals(names, ["tokentap"]);
  assertEquals((await at.openai.models.retrieve("tokentap")).id, "tokentap");
});

Deno.test("openai: leaving the loop after 3 tokens stops the server's generation", async () => {
  await using at = await setup("--inter-token-latency", "50ms");
  const stream = await at.openai.chat.completions.create({
    model: "tokentap",
    messages,
    max_tokens: 1000,
    stream: true,
  });
  let tokens = 0;
  for await (const chunk of stream) {
    if (chunk.choices[0].delta.content && ++tokens === 3) break;
  }
  const record = await settled(at.url);
  assertEquals([record.route, record.outcome], ["/v1/chat/completions", "aborted"]);
  assert(record.generated <= 4, JSON.stringify(record));
});

Deno.test("openai: an aborted signal stops an answer that is not streamed", async () => {
  await using at = await setup();
  const controller = new AbortController();
  const reply = at.openai.chat.completions.create(
    { model: "tokentap", messages, max_tokens: 5000 },
    { signal: controller.signal },
  );
  const rejected = assertRejects(() => reply, OpenAI.APIUserAbortError);
  await until("some tokens", async () => (await totals(at.url)).generated.total > 3);
  controller.abort();
  await rejected;
  await until("an outcome", async () => (await totals(at.url)).requests.running === 0);
  assertEquals((await totals(at.url)).requests.aborted, 1);
});

async function totals(url: string) {
  return await (await fetch(`${url}/_debug/totals`)).json();
}

Deno.test("openai: an error before the start is the client's own class for its status", async () => {
  await using at = await setup();
  const ask = (more: object, fault?: string) =>
    at.openai.chat.completions.create(
      { model: "tokentap", messages, stream: true, ...more },
      fault === undefined ? {} : { headers: { "X-Tokentap-Fault": fault } },
    );
  const bad = await assertRejects(() => ask({ temperature: 9 }), OpenAI.BadRequestError, "temperature");
  assertEquals([bad.param, bad.type], ["temperature", "invalid_request_error"]);
  const unknown = await assertRejects(() => ask({ model: "gpt-4o" }), OpenAI.NotFoundError);
  assertEquals(unknown.code, "model_not_found");
  const long = await assertRejects(() => ask({ max_tokens: 8192 }), OpenAI.BadRequestError);
  assertEquals(long.code, "context_length_exceeded");
  const limited = await assertRejects(() => ask({}, "status:429"), OpenAI.RateLimitError);
  assertEquals([limited.code, limited.headers?.get("retry-after")], ["rate_limit_exceeded", "1"]);
  await assertRejects(() => ask({}, "status:503"), OpenAI.InternalServerError);
  await assertRejects(() => ask({}, "status:401"), OpenAI.AuthenticationError);
});

Deno.test("openai: an error in the stream is thrown after the tokens before it", async () => {
  await using at = await setup();
  const stream = await at.openai.chat.completions.create(
    { model: "tokentap", messages, max_tokens: 20, stream: true },
    { headers: { "X-Tokentap-Fault": "error@3" } },
  );
  let text = "";
  const error = await assertRejects(
    async () => {
      for await (const chunk of stream) text += chunk.choices[0].delta.content ?? "";
    },
    OpenAI.APIError,
    "error@3",
  );
  assertEquals([error.code, error.type], ["internal", "server_error"]);
  assertEquals(text, await ownText(at.url, 3));
});

Deno.test("openai: comments every 300 ms between slow tokens change nothing", async () => {
  await using at = await setup("--keep-alive", "300ms", "--inter-token-latency", "1s");
  const stream = await at.openai.chat.completions.create({
    model: "tokentap",
    messages,
    max_tokens: 3,
    stream: true,
  });
  let text = "";
  for await (const chunk of stream) text += chunk.choices[0].delta.content ?? "";
  assertEquals(text, await ownText(at.url, 3));
  assert(at.seen.comments >= 4, `comments: ${at.seen.comments}`);
});
