import { assertEquals, assertRejects } from "@std/assert";
import OpenAI from "openai";
import { chatLines, streamFetch } from "./stream_fetch.ts";

const tokens = ["hello", " 세계", "\n", " data: [DONE]", " 🙂"];

function client(lines: string[], size: number) {
  const { fetch, seen } = streamFetch(lines, size);
  return {
    seen,
    openai: new OpenAI({ baseURL: "http://tokentap.test/v1", apiKey: "none", maxRetries: 0, fetch }),
  };
}

const request = {
  model: "simulated",
  messages: [{ role: "user" as const, content: "hello" }],
  stream: true as const,
  stream_options: { include_usage: true },
};

Deno.test("the openai client joins the tokens of a stream, however the bytes are cut", async () => {
  for (const size of [1, 7, 1_000_000]) {
    const { openai, seen } = client(chatLines(tokens), size);
    const got: string[] = [];
    let usage: number | undefined;
    for await (const chunk of await openai.chat.completions.create(request)) {
      got.push(chunk.choices[0]?.delta.content ?? "");
      usage = chunk.usage?.completion_tokens ?? usage;
    }
    assertEquals(got.filter((text) => text !== ""), tokens);
    assertEquals(usage, tokens.length);
    assertEquals(seen.map(({ url, method }) => `${method} ${url}`), [
      "POST http://tokentap.test/v1/chat/completions",
    ]);
  }
});

Deno.test("a comment between events is nothing to the openai client", async () => {
  const quiet = chatLines(tokens);
  const { openai } = client(quiet.flatMap((line) => [": keep-alive", line]), 7);
  const got: string[] = [];
  for await (const chunk of await openai.chat.completions.create(request)) {
    got.push(chunk.choices[0]?.delta.content ?? "");
  }
  assertEquals(got.join(""), tokens.join(""));
});

Deno.test("leaving the loop aborts the request of the openai client", async () => {
  const { openai, seen } = client(chatLines(tokens), 7);
  for await (const chunk of await openai.chat.completions.create(request)) {
    if (chunk.choices[0]?.delta.content) break;
  }
  assertEquals(seen.map(({ signal }) => signal.aborted), [true]);
});

Deno.test("an error event ends the stream of the openai client with its message", async () => {
  const failing = [
    ...chatLines(tokens).slice(0, 3),
    'event: error\ndata: {"error":{"message":"engine failed"}}',
  ];
  const { openai } = client(failing, 7);
  const got: string[] = [];
  await assertRejects(
    async () => {
      for await (const chunk of await openai.chat.completions.create(request)) {
        got.push(chunk.choices[0]?.delta.content ?? "");
      }
    },
    OpenAI.APIError,
    "engine failed",
  );
  assertEquals(got, ["", ...tokens.slice(0, 2)]);
});
