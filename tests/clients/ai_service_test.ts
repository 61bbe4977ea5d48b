import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { APICallError, generateText, streamText } from "ai";
import { spawnService } from "../helpers/spawned_service.ts";
import { type Commented, commentedFetch } from "./commented_fetch.ts";
import { settled } from "./debug.ts";
import { ownText } from "./own_text.ts";

interface Setup extends AsyncDisposable {
  url: string;
  model: ReturnType<ReturnType<typeof createOpenAICompatible>>;
  seen: Commented;
}

/** The service in a process of its own, and a model of the AI SDK at it. */
async function setup(...flags: string[]): Promise<Setup> {
  const service = await spawnService("--time-to-first-token", "0", "--inter-token-latency", "5ms", ...flags);
  const { fetch, seen } = commentedFetch();
  const provider = createOpenAICompatible({
    name: "tokentap",
    baseURL: `${service.url}/v1`,
    includeUsage: true,
    fetch,
  });
  return {
    url: service.url,
    model: provider("tokentap"),
    seen,
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

const quiet = { prompt: "hello", maxRetries: 0 };

Deno.test("AI SDK: streamText gives the text of /generate, the finish reason and the usage", async () => {
  await using at = await setup();
  const result = streamText({ model: at.model, ...quiet, maxOutputTokens: 20 });
  let text = "";
  for await (const piece of result.textStream) text += piece;
  assertEquals([text, await result.finishReason], [await ownText(at.url, 20), "length"]);
  const { inputTokens, outputTokens, totalTokens } = await result.usage;
  assertEquals([inputTokens, outputTokens, totalTokens], [1, 20, 21]);
});

Deno.test("AI SDK: generateText gives the same text, whole", async () => {
  await using at = await setup();
  const { text, finishReason, usage } = await generateText({ model: at.model, ...quiet, maxOutputTokens: 8 });
  assertEquals([text, finishReason, usage.outputTokens], [await ownText(at.url, 8), "length", 8]);
});

Deno.test("AI SDK: aborting after 3 tokens stops the server's generation", async () => {
  await using at = await setup("--inter-token-latency", "50ms");
  const controller = new AbortController();
  const result = streamText({
    model: at.model,
    ...quiet,
    maxOutputTokens: 1000,
    abortSignal: controller.signal,
  });
  let tokens = 0;
  for await (const part of result.fullStream) {
    if (part.type === "text-delta" && ++tokens === 3) controller.abort();
  }
  const record = await settled(at.url);
  assertEquals([record.route, record.outcome], ["/v1/chat/completions", "aborted"]);
  assert(record.generated <= 4, JSON.stringify(record));
});

Deno.test("AI SDK: an error before the start is an APICallError with its status and message", async () => {
  await using at = await setup();
  for (const [fault, status, retry] of [["status:429", 429, true], ["status:400", 400, false]] as const) {
    const error = await assertRejects(
      () => generateText({ model: at.model, ...quiet, headers: { "X-Tokentap-Fault": fault } }),
      APICallError,
      fault,
    );
    assertEquals([error.statusCode, error.isRetryable], [status, retry]);
  }
  const bad = await assertRejects(
    () => generateText({ model: at.model, ...quiet, topP: 5 }),
    APICallError,
    "top_p",
  );
  assertEquals(bad.statusCode, 400);
});

Deno.test("AI SDK: an error in the stream comes as an error part after the tokens before it", async () => {
  await using at = await setup();
  const errors: unknown[] = [];
  const result = streamText({
    model: at.model,
    ...quiet,
    headers: { "X-Tokentap-Fault": "error@3" },
    onError: ({ error }) => void errors.push(error),
  });
  let text = "";
  for await (const part of result.fullStream) {
    if (part.type === "text-delta") text += part.text;
  }
  assertEquals(text, await ownText(at.url, 3));
  assertEquals(errors.length, 1);
  assert(
    JSON.stringify(errors[0], Object.getOwnPropertyNames(errors[0])).includes("error@3"),
    String(errors[0]),
  );
  assertEquals((await settled(at.url)).error, "internal");
});

Deno.test("AI SDK: comments every 300 ms between slow tokens change nothing", async () => {
  await using at = await setup("--keep-alive", "300ms", "--inter-token-latency", "1s");
  const result = streamText({ model: at.model, ...quiet, maxOutputTokens: 3 });
  let text = "";
  for await (const piece of result.textStream) text += piece;
  assertEquals(text, await ownText(at.url, 3));
  assert(at.seen.comments >= 4, `comments: ${at.seen.comments}`);
});
