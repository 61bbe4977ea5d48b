import { assertEquals } from "@std/assert";
import { postJson } from "../helpers/post_json.ts";
import { delta, DONE, finish, overUpstream, said, stream } from "../helpers/scripted_upstream.ts";

Deno.test("a completion is asked of the upstream as one: its prompt must not become a chat's message", async () => {
  await using over = await overUpstream(
    stream([said(" up"), said("on"), said("", "length"), DONE]),
  );
  const { status, json } = await postJson(`${over.service.url}/v1/completions`, {
    prompt: "once",
    max_tokens: 2,
  });
  assertEquals([status, json.choices[0].text, json.choices[0].finish_reason], [200, " upon", "length"]);
  const [head, body] = over.upstream.requests[0].head.split("\r\n\r\n");
  assertEquals(head.split("\r\n")[0], "POST /v1/completions HTTP/1.1");
  assertEquals(JSON.parse(body), {
    model: "m",
    prompt: "once",
    max_tokens: 2,
    stream: true,
    stream_options: { include_usage: true },
  });
});

Deno.test("a completion without max_tokens asks the upstream for 16, the default of that route", async () => {
  await using over = await overUpstream(stream([said("a", "stop"), DONE]));
  await postJson(`${over.service.url}/v1/completions`, { prompt: "once" });
  assertEquals(
    JSON.parse(over.upstream.requests[0].head.split("\r\n\r\n")[1]).max_tokens,
    16,
  );
});

Deno.test("what a client says about sampling reaches the upstream by the same names", async () => {
  await using over = await overUpstream(stream([said("a", "stop"), DONE]));
  const sampling = {
    temperature: 0.5,
    top_p: 0.9,
    top_k: 40,
    min_p: 0.1,
    presence_penalty: 0.5,
    frequency_penalty: 0.25,
    repetition_penalty: 1.5,
    seed: 7,
    min_tokens: 1,
    ignore_eos: true,
  };
  await postJson(`${over.service.url}/v1/completions`, { prompt: "once", ...sampling });
  const body = JSON.parse(over.upstream.requests[0].head.split("\r\n\r\n")[1]);
  assertEquals(Object.fromEntries(Object.keys(sampling).map((key) => [key, body[key]])), sampling);
});

Deno.test("a chat's limit reaches the upstream under the name the client gave it, for hosted models know one of the two only", async () => {
  for (const name of ["max_tokens", "max_completion_tokens"]) {
    await using over = await overUpstream(stream([delta("a"), finish("stop"), DONE]));
    const messages = [{ role: "user", content: "hello" }];
    await postJson(`${over.service.url}/v1/chat/completions`, { messages, [name]: 7 });
    const asked = JSON.parse(over.upstream.requests[0].head.split("\r\n\r\n")[1]);
    const { max_tokens, max_completion_tokens } = asked;
    assertEquals({ max_tokens, max_completion_tokens }[name], 7);
    assertEquals([max_tokens, max_completion_tokens].filter((limit) => limit !== undefined).length, 1);
  }
});
