import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { assertEquals } from "@std/assert";
import { streamText } from "ai";
import { chatLines, streamFetch } from "./stream_fetch.ts";

const tokens = ["hello", " 세계", "\n", " data: [DONE]", " 🙂"];

Deno.test("the AI SDK joins the tokens of a stream, however the bytes are cut", async () => {
  for (const size of [1, 7, 1_000_000]) {
    const { fetch, seen } = streamFetch(chatLines(tokens), size);
    const provider = createOpenAICompatible({
      name: "tokentap",
      baseURL: "http://tokentap.test/v1",
      includeUsage: true,
      fetch,
    });
    const result = streamText({ model: provider("simulated"), prompt: "hello", maxRetries: 0 });
    const got: string[] = [];
    for await (const text of result.textStream) got.push(text);
    assertEquals(got.join(""), tokens.join(""));
    assertEquals(await result.finishReason, "length");
    assertEquals((await result.usage).outputTokens, tokens.length);
    assertEquals(seen.map(({ url }) => url), ["http://tokentap.test/v1/chat/completions"]);
  }
});
