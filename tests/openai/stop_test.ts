import { assert, assertEquals } from "@std/assert";
import { generate } from "../../lib/engine/vocabulary.ts";
import { postJson } from "../helpers/post_json.ts";
import { startService } from "../helpers/service.ts";
import { dataLines, RawClient } from "../helpers/sockets.ts";
import { until } from "../helpers/until.ts";

const tokens = generate("hello", 20);
/** Lies over tokens 8 and 9, and begins inside of 8. */
const across = tokens[8].slice(1) + tokens[9].slice(0, 2);
const before = tokens.join("").slice(0, tokens.join("").indexOf(across));

Deno.test("a stop string over a token's border ends the text before it with finish_reason stop", async () => {
  await using service = startService();
  assertEquals(before, tokens.slice(0, 8).join("") + tokens[8].slice(0, 1));
  const { json } = await postJson(`${service.url}/v1/completions`, {
    prompt: "hello",
    max_tokens: 1000,
    stop: across,
  });
  assertEquals([json.choices[0].text, json.choices[0].finish_reason], [before, "stop"]);
  // The tokens of the stop string were made, and are counted.
  assertEquals(json.usage.completion_tokens, 10);
  assertEquals(service.ended.map(({ outcome, generated }) => [outcome, generated]), [["completed", 10]]);
});

Deno.test("streamed, no part of the stop string is sent and the engine stops at it", async () => {
  await using service = startService();
  using client = await RawClient.open(service.port);
  client.request("/v1/chat/completions", {
    body: {
      messages: [{ role: "user", content: "hello" }],
      max_tokens: 1000,
      stop: ["never said", across],
      stream: true,
    },
  });
  await until("the end", () => client.body.terminated);
  const chunks = dataLines(client.body.text).slice(0, -1).map((data) => JSON.parse(data).choices[0]);
  assertEquals(chunks.map(({ delta }) => delta.content ?? "").join(""), before);
  assertEquals(chunks.at(-1).finish_reason, "stop");
  assert(client.body.text.endsWith("data: [DONE]\n\n"));
  assertEquals(service.ledger.totals().generated.total, 10);
  assertEquals(service.deps.engine.slots!().in_use, 0);
});

Deno.test("with min_tokens a stop string counts only after so many tokens", async () => {
  await using service = startService();
  const ask = async (min_tokens: number) => {
    const { json } = await postJson(`${service.url}/v1/completions`, {
      prompt: "hello",
      max_tokens: 20,
      min_tokens,
      stop: tokens[1],
    });
    return [json.choices[0].finish_reason, json.usage.completion_tokens];
  };
  assertEquals(await ask(1), ["stop", 2]);
  // The word may come again later; wherever that is, it is not within the first 10.
  const [reason, count] = await ask(10);
  assert(reason === "length" ? count === 20 : count > 10, `${reason} ${count}`);
});
