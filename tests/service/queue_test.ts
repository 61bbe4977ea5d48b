import { assert, assertEquals, assertGreaterOrEqual, assertMatch } from "@std/assert";
import { generate } from "../../lib/engine/vocabulary.ts";
import { startService } from "../helpers/service.ts";
import { joined, RawClient } from "../helpers/sockets.ts";
import { until } from "../helpers/until.ts";

Deno.test("beyond slots and queue a request is 429 with Retry-After, and works again when a place is free", async () => {
  await using service = startService({ settings: { maxNumSeqs: 1, maxWaitingQueueLength: 1 } });
  using running = await RawClient.open(service.port);
  running.request("/stream?prompt=a&max_tokens=5000");
  await running.untilTokens(1);
  using waiting = await RawClient.open(service.port);
  waiting.request("/stream?prompt=b&max_tokens=2");
  await until("one in the queue", () => service.deps.engine.slots!().queue === 1);

  for (const path of ["/stream", "/generate"]) {
    const refused = await fetch(service.url + path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: '{"prompt":"c"}',
    });
    const { error } = await refused.json();
    assertEquals([refused.status, error.code], [429, "rate_limit"]);
    assertMatch(refused.headers.get("retry-after")!, /^\d+$/);
  }
  assertEquals(service.deps.engine.slots!(), { max: 1, in_use: 1, queue: 1 });
  running.fin();
  await until("[DONE] of the one that waited", () => waiting.text.includes("[DONE]"));
  const { status, body } = await fetch(`${service.url}/stream?prompt=c&max_tokens=1`);
  await body?.cancel();
  assertEquals(status, 200);
  const totals = service.ledger.totals();
  assertEquals([totals.requests.failed, totals.generated.failed], [2, 0]);
});

Deno.test("a generation admitted while another ends in the middle of a chunk leaves that chunk alone", async () => {
  // Unpaced, so that a chunk holds hundreds of tokens and the end, at which the slot goes to the next in line.
  await using service = startService({ settings: { maxNumSeqs: 1 } });
  const prompts = Array.from({ length: 8 }, (_, i) => `prompt ${i}`);
  for (const version of ["1.1", "1.0"]) {
    await Promise.all(prompts.map(async (prompt) => {
      using client = await RawClient.open(service.port);
      const path = `/stream?prompt=${encodeURIComponent(prompt)}&max_tokens=5100&itl_ms=0&ttft_ms=0`;
      client.send(`GET ${path} HTTP/${version}\r\nHost: a\r\nConnection: close\r\n\r\n`);
      await client.untilEnded();
      const text = version === "1.1" ? client.body.text : client.text;
      assert(joined(text) === generate(prompt, 5100).join(""), `${prompt} over HTTP/${version}`);
    }));
  }
});

Deno.test("silence in queue, prefill and decode is filled with comments, and the text is the same", async () => {
  await using service = startService({ settings: { maxNumSeqs: 1, keepAlive: "20ms" } });
  using first = await RawClient.open(service.port);
  first.request("/stream?prompt=a&max_tokens=2&ttft_ms=150");
  await until("the first in its slot", () => service.ledger.running === 1);
  using second = await RawClient.open(service.port);
  second.request("/stream?prompt=hello&max_tokens=6&ttft_ms=150&fault=stall@3:150", {
    headers: { Connection: "close" },
  });
  await second.untilEnded();
  const { text } = second.body;
  assertEquals(joined(text), generate("hello", 6).join(""));
  const events = text.split("\n\n");
  assertEquals(events.filter((event) => event.startsWith("data: ")).length, 7);
  const firstToken = events.findIndex((event) => event.startsWith("data: "));
  const comments = events.map((event) => event.startsWith(":"));
  // Two silences of 150 ms before the first token, and one after the third.
  assertGreaterOrEqual(firstToken, 8);
  assertGreaterOrEqual(comments.slice(firstToken).filter(Boolean).length, 4);
  assert(events.every((event) => event === "" || event.startsWith("data: ") || event === ": keep-alive"));
});

Deno.test("an HTTP/1.0 client gets the same events, ended by the close of its connection", async () => {
  await using service = startService();
  using client = await RawClient.open(service.port);
  client.send("GET /stream?prompt=hello&max_tokens=5 HTTP/1.0\r\n\r\n");
  await client.untilEnded();
  assert(!/transfer-encoding/i.test(client.head));
  assertEquals(joined(client.text), generate("hello", 5).join(""));
  assert(client.text.endsWith("data: [DONE]\n\n"));
});

Deno.test("of two requests sent at once on one connection, leaving stops the first and never starts a third", async () => {
  await using service = startService();
  using client = await RawClient.open(service.port);
  for (const tokens of [3, 5000, 5000]) client.request(`/stream?prompt=hello&max_tokens=${tokens}`);
  await client.untilTokens(6);
  client.reset();
  await until("nothing running", () => service.ledger.running === 0);
  assertEquals(service.ended.map(({ outcome }) => outcome), ["completed", "aborted"]);
  assertEquals(service.ledger.totals().requests.total, 2);
});

Deno.test("a connection is good for the next request after a stream that closed without [DONE] or failed", async () => {
  await using service = startService();
  using client = await RawClient.open(service.port);
  for (const fault of ["close@1", "error@1", "status:503", "error@0"]) {
    const before = client.text.length;
    client.request(`/stream?prompt=hello&max_tokens=3&fault=${fault}`);
    await until(`the end of ${fault}`, () => /0\r\n\r\n$|"param":null}}$/.test(client.text.slice(before)));
  }
  client.request("/health");
  await until("an answer", () => client.text.endsWith("}") && client.text.includes('"status":"ok"'));
  assertEquals(service.ended.length, 4);
});
