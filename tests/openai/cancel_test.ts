import { assert, assertEquals } from "@std/assert";
import { generate } from "../../lib/engine/vocabulary.ts";
import { startService } from "../helpers/service.ts";
import { dataLines, RawClient } from "../helpers/sockets.ts";
import { until } from "../helpers/until.ts";

const asked = {
  "/v1/chat/completions": { messages: [{ role: "user", content: "hello" }], max_tokens: 5000 },
  "/v1/completions": { prompt: "hello", max_tokens: 5000 },
};

for (const [path, body] of Object.entries(asked)) {
  Deno.test(`${path}: a client that leaves stops its generation, and /_debug tells`, async () => {
    await using service = startService();
    for (const how of ["fin", "reset"] as const) {
      using client = await RawClient.open(service.port);
      client.request(path, { body: { ...body, stream: true } });
      await until("five chunks", () => client.text.split("data: ").length > 5, { everyMs: 1 });
      client[how]();
      const record = await until("an outcome", async () => {
        const latest = await (await fetch(`${service.url}/_debug/generated`)).json();
        return latest.outcome !== "running" && latest;
      });
      assertEquals([record.route, record.outcome, record.phase_at_abort], [path, "aborted", "decode"]);
      assert(record.generated_after_abort <= 1, JSON.stringify(record));
      assert(record.generated <= record.delivered + 1, JSON.stringify(record));
      service.ended.length = 0;
    }
  });

  Deno.test(`${path}: a client that leaves while it waits for the whole answer stops it too`, async () => {
    await using service = startService();
    using client = await RawClient.open(service.port);
    client.request(path, { body });
    await until("some tokens", () => service.ledger.totalGenerated > 3);
    client.reset();
    await until("an outcome", () => service.ended.length === 1);
    assertEquals(service.ended[0].outcome, "aborted");
    assert(service.ended[0].generatedAfterAbort <= 1);
    assertEquals(service.deps.engine.slots!().in_use, 0);
  });
}

Deno.test("leaving before the first token has generated nothing", async () => {
  await using service = startService({ settings: { timeToFirstToken: 60_000 } });
  using client = await RawClient.open(service.port);
  client.request("/v1/chat/completions", { body: { ...asked["/v1/chat/completions"], stream: true } });
  await until("the head", () => client.head !== "");
  client.reset();
  await until("an outcome", () => service.ended.length === 1);
  const { outcome, generated, phaseAtAbort } = service.ended[0];
  assertEquals([outcome, generated, phaseAtAbort], ["aborted", 0, "prefill"]);
});

Deno.test("a stream read to its end is completed once, and not aborted when its connection closes", async () => {
  await using service = startService();
  using client = await RawClient.open(service.port);
  client.request("/v1/completions", { body: { prompt: "hello", max_tokens: 3, stream: true } });
  await until("the end", () => client.body.terminated);
  client.reset();
  await until("an outcome", () => service.ended.length === 1);
  assertEquals(service.ended.map(({ outcome, delivered }) => [outcome, delivered]), [["completed", 3]]);
});

Deno.test("faults of the wire work here: a split event, a cut, a line that is no JSON", async () => {
  await using service = startService();
  const stream = async (fault: string) => {
    const client = await RawClient.open(service.port);
    client.request("/v1/completions", {
      body: { prompt: "hello", max_tokens: 30, stream: true },
      headers: { "X-Tokentap-Fault": fault },
    });
    await until("the end", () => client.body.terminated || client.ended);
    const { text, terminated } = client.body;
    client[Symbol.dispose]();
    return { text, terminated, lines: dataLines(text) };
  };
  const said = (lines: string[]) =>
    lines.filter((line) => line !== "[DONE]").map((line) => JSON.parse(line))
      .map(({ choices: [{ text }] }) => text).join("");
  const split = await stream("split@2");
  assertEquals(said(split.lines), generate("hello", 30).join(""));
  const closed = await stream("close@4");
  assertEquals([said(closed.lines), closed.terminated], [generate("hello", 4).join(""), true]);
  assert(!closed.text.includes("[DONE]"));
  assertEquals((await stream("reset@4")).terminated, false);
  const malformed = await stream("malformed@1");
  assert(malformed.lines.some((line) => line === '{"token": '), malformed.text);
});

Deno.test("silence is filled with comments, which carry no token", async () => {
  await using service = startService({ settings: { keepAlive: 20 } });
  using client = await RawClient.open(service.port);
  client.request("/v1/completions", { body: { prompt: "hello", max_tokens: 2, itl_ms: 200, stream: true } });
  await until("the end", () => client.body.terminated);
  const events = client.body.text.split("\n\n").slice(0, -1);
  assert(events.filter((event) => event === ": keep-alive").length >= 3, client.body.text);
  assertEquals(events.filter((event) => event !== ": keep-alive").length, 4);
  assert(!/^id:/m.test(client.body.text));
});

Deno.test("tokens_per_event puts several tokens into one chunk", async () => {
  await using service = startService();
  using client = await RawClient.open(service.port);
  client.request("/v1/completions", {
    body: { prompt: "hello", max_tokens: 7, tokens_per_event: 3, stream: true },
  });
  await until("the end", () => client.body.terminated);
  const tokens = generate("hello", 7);
  assertEquals(
    dataLines(client.body.text).slice(0, -1).map((data) => JSON.parse(data).choices[0].text),
    [tokens.slice(0, 3).join(""), tokens.slice(3, 6).join(""), tokens[6], ""],
  );
});
