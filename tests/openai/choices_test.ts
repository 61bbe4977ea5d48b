import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { generate } from "../../lib/engine/vocabulary.ts";
import { postJson } from "../helpers/post_json.ts";
import { identityHolds, startService } from "../helpers/service.ts";
import { dataLines, RawClient } from "../helpers/sockets.ts";
import { until } from "../helpers/until.ts";

const CHAT = "/v1/chat/completions";
const messages = [{ role: "user", content: "hello" }];

/** The texts of each answer in a body of chat chunks, and the index of every chunk in order. */
function answers(body: string): { texts: string[]; order: number[]; finished: number[] } {
  const texts: string[] = [];
  const order: number[] = [];
  const finished: number[] = [];
  for (const data of dataLines(body).filter((data) => data !== "[DONE]")) {
    for (const { index, delta, finish_reason } of JSON.parse(data).choices) {
      texts[index] = (texts[index] ?? "") + (delta.content ?? "");
      if (delta.content) order.push(index);
      if (finish_reason) finished.push(index);
    }
  }
  return { texts, order, finished };
}

Deno.test("several answers come interleaved in one stream, each with its index, its finish and its record", async () => {
  await using service = startService();
  using client = await RawClient.open(service.port);
  client.request(CHAT, {
    body: { messages, n: 3, stream: true, max_tokens: 5, stream_options: { include_usage: true } },
    headers: { "X-Request-Id": "r" },
  });
  await until("the end", () => client.body.terminated);
  const { texts, order, finished } = answers(client.body.text);
  assertEquals(texts, [0, 1, 2].map((seed) => generate("hello", 5, seed).join("")));
  assertEquals(finished.toSorted(), [0, 1, 2]);
  assert(order.indexOf(2) < order.lastIndexOf(0), `interleaved, came ${order}`);
  assertEquals(JSON.parse(dataLines(client.body.text).at(-2)!).usage, {
    prompt_tokens: 1,
    completion_tokens: 15,
    total_tokens: 16,
  });
  assertEquals(service.ended.map(({ id, outcome, generated }) => [id, outcome, generated]).toSorted(), [
    ["r", "completed", 5],
    ["r-1", "completed", 5],
    ["r-2", "completed", 5],
  ]);
});

Deno.test("several answers differ, are the same when asked again, and the first is that of a request for one", async () => {
  await using service = startService();
  const ask = async (more: object) => {
    const { json } = await postJson(service.url + CHAT, { messages, max_tokens: 6, ...more });
    return json.choices.map(({ message }: { message: { content: string } }) => message.content);
  };
  const [one] = await ask({});
  const two = await ask({ n: 2 });
  assertEquals(two, await ask({ n: 2 }));
  assertEquals(two[0], one);
  assertNotEquals(two[0], two[1]);
  assertEquals(await ask({ n: 2, seed: 5 }), [...await ask({ seed: 5 }), ...await ask({ seed: 6 })]);
});

Deno.test("the tokens of several answers are counted together and their prompt once", async () => {
  await using service = startService();
  const { json } = await postJson(service.url + CHAT, { messages, n: 4, max_tokens: 3 });
  assertEquals(json.usage, { prompt_tokens: 1, completion_tokens: 12, total_tokens: 13 });
  assertEquals(json.choices.map(({ index }: { index: number }) => index), [0, 1, 2, 3]);
});

Deno.test("a client that leaves stops all its answers, streamed or not", async () => {
  await using service = startService();
  for (const stream of [true, false]) {
    service.ended.length = 0;
    using client = await RawClient.open(service.port);
    client.request(CHAT, { body: { messages, n: 3, stream, max_tokens: 5000 } });
    await until(
      "tokens of all",
      () => service.ledger.records().slice(0, 3).filter(({ generated }) => generated > 1).length === 3,
    );
    client.reset();
    await until("three outcomes", () => service.ended.length === 3);
    assertEquals(service.ended.map(({ outcome }) => outcome), ["aborted", "aborted", "aborted"]);
    assert(service.ended.every(({ generatedAfterAbort }) => generatedAfterAbort <= 1));
  }
  assertEquals(service.deps.engine.slots!().in_use, 0);
  assert(identityHolds(service.ledger.totals()));
});

for (const stream of [true, false]) {
  Deno.test(`answers that wait when their client leaves have waited only: stream ${stream}`, async () => {
    await using service = startService({ settings: { maxNumSeqs: 2 } });
    using client = await RawClient.open(service.port);
    client.request(CHAT, { body: { messages, n: 4, stream, max_tokens: 8000 } });
    await until("two to run", () => service.ledger.totals().generated.running > 2);
    client.reset();
    await until("four outcomes", () => service.ended.length === 4);
    assertEquals(
      service.ended.map(({ phaseAtAbort, generated, admittedAt }) =>
        phaseAtAbort === "queued" ? [generated, admittedAt] : phaseAtAbort
      ).toSorted(),
      [[0, null], [0, null], "decode", "decode"],
    );
  });
}

Deno.test("when there is no room for one of several answers none is begun", async () => {
  await using service = startService({ settings: { maxNumSeqs: 3, maxWaitingQueueLength: 0 } });
  using other = await RawClient.open(service.port);
  other.request(CHAT, { body: { messages, stream: true, max_tokens: 8000 } });
  await until("the other to run", () => service.deps.engine.slots!().in_use === 1);
  const { status, json } = await postJson(service.url + CHAT, { messages, n: 3, stream: true });
  assertEquals([status, json.error.code], [429, "rate_limit_exceeded"]);
  await until("three outcomes", () => service.ended.length === 3);
  assertEquals(service.ended.map(({ outcome, error }) => [outcome, error]), [
    ["failed", "rate_limit"],
    ["failed", "rate_limit"],
    ["failed", "rate_limit"],
  ]);
  assertEquals(service.deps.engine.slots!().in_use, 1);
  const next = await postJson(service.url + CHAT, { messages, n: 2, max_tokens: 1 });
  assertEquals(next.status, 200);
});

Deno.test("more answers than slots and queue can ever hold are a 400, not a 429 that asks to try again", async () => {
  await using service = startService({ settings: { maxNumSeqs: 2, maxWaitingQueueLength: 1 } });
  const { status, json } = await postJson(service.url + CHAT, { messages, n: 4 });
  assertEquals([status, json.error.param], [400, "n"]);
  assertEquals(json.error.message, "n: wanted at most 3, as many as slots and queue hold, got 4.");
  assertEquals(service.ledger.totals().requests.total, 0);
  assertEquals((await postJson(service.url + CHAT, { messages, n: 3, max_tokens: 1 })).status, 200);
});

for (const stream of [true, false]) {
  Deno.test(`an answer that waits while another fails makes no token: stream ${stream}`, async () => {
    await using service = startService({ settings: { maxNumSeqs: 1, realtime: false } });
    const response = await fetch(`${service.url}${CHAT}?fault=error@500`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ messages, n: 2, max_tokens: 8000, stream }),
    });
    await response.text();
    assertEquals(response.status, stream ? 200 : 500);
    await until("two outcomes", () => service.ended.length === 2);
    assertEquals(
      service.ended.map(({ outcome, generated }) => [outcome, generated]).toSorted(),
      [["failed", 0], ["failed", 500]],
    );
  });
}

Deno.test("an error in one of several answers ends the stream and all of them", async () => {
  await using service = startService();
  using client = await RawClient.open(service.port);
  client.request(`${CHAT}?fault=error@3`, { body: { messages, n: 2, stream: true } });
  await until("the end", () => client.body.terminated);
  assertEquals(client.body.text.match(/event: error/g)?.length, 1);
  assert(!client.body.text.includes("[DONE]"));
  await until("two outcomes", () => service.ended.length === 2);
  assertEquals(service.ended.map(({ outcome }) => outcome), ["failed", "failed"]);
});
