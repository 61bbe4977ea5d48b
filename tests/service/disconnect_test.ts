import { assert, assertEquals, assertGreaterOrEqual, assertLessOrEqual } from "@std/assert";
import { Hono } from "hono";
import { compress } from "hono/compress";
import { cors } from "hono/cors";
import { logger } from "hono/logger";
import { secureHeaders } from "hono/secure-headers";
import { timing } from "hono/timing";
import { median } from "../../bench/median.ts";
import {
  identityHolds,
  plainEngine,
  type Service,
  type ServiceOptions,
  startService,
} from "../helpers/service.ts";
import { RawClient } from "../helpers/sockets.ts";
import { until } from "../helpers/until.ts";

const ROUNDS = 5;
const LEAVE = { FIN: (client: RawClient) => client.fin(), RST: (client: RawClient) => client.reset() };

async function debugGenerated(service: Service) {
  return await (await fetch(`${service.url}/_debug/generated`)).json();
}

/** Cuts a stream of 2,000 tokens after three of them, several times, and checks what is left behind. */
async function cutAfterThree(
  query: string,
  leave: (client: RawClient) => void,
  options: ServiceOptions = {},
) {
  await using service = startService(options);
  const settled: number[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    using client = await RawClient.open(service.port);
    client.request(`/stream?prompt=hello&max_tokens=2000&${query}`, {
      headers: { "Accept-Encoding": "gzip" },
    });
    await client.untilTokens(3);
    const cutAt = performance.now();
    leave(client);
    const record = await until("an outcome", async () => {
      const record = await debugGenerated(service);
      return record.outcome !== "running" && record;
    }, { everyMs: 1 });
    settled.push(performance.now() - cutAt);
    assertEquals([record.outcome, record.phase_at_abort], ["aborted", "decode"]);
    assertLessOrEqual(record.generated, record.delivered + 1);
    assertLessOrEqual(record.generated_after_abort, 1);
    assertGreaterOrEqual(record.generated, 3);
    // Once final, it stays as it was.
    const again = await debugGenerated(service);
    assertEquals(again.generated, record.generated);
    assertEquals(service.ended.length, round);
  }
  const totals = service.ledger.totals();
  assert(identityHolds(totals));
  assertEquals(totals.requests, { completed: 0, aborted: ROUNDS, failed: 0, running: 0, total: ROUNDS });
  assertEquals(service.deps.engine.slots!().in_use, 0);
  assertEquals(service.unexpected, []);
  assertLessOrEqual(median(settled)!, 50);
}

for (const [name, leave] of Object.entries(LEAVE)) {
  Deno.test(`S1: a reader that leaves by ${name} stops its generation within one step`, async () => {
    await cutAfterThree("itl_ms=3", leave);
  });

  Deno.test(`S1: so does one that leaves by ${name} while the engine is silent for 5 s`, async () => {
    await cutAfterThree("itl_ms=1&fault=stall@3:5000", leave);
  });

  Deno.test(`S6: a reader that leaves by ${name} stops it through every middleware`, async () => {
    const wrap: ServiceOptions["wrap"] = (fetch) => {
      const outer = new Hono().use(logger(() => {}), cors(), secureHeaders(), timing(), compress());
      outer.all("*", (c) => fetch(c.req.raw));
      return (request) => outer.fetch(request);
    };
    await cutAfterThree("itl_ms=3", leave, { wrap });
    await cutAfterThree("itl_ms=1&fault=stall@3:5000", leave, { wrap });
  });
}

Deno.test("S2: ten streams read to the end are ten completed and none aborted, each with its usage", async () => {
  await using service = startService();
  for (let i = 0; i < 10; i++) {
    const body = await (await fetch(`${service.url}/stream?prompt=hello&max_tokens=5`)).text();
    assert(body.endsWith("data: [DONE]\n\n"));
  }
  await until("ten outcomes", () => service.ended.length === 10);
  const { requests } = service.ledger.totals();
  assertEquals(requests, { completed: 10, aborted: 0, failed: 0, running: 0, total: 10 });
  for (const record of service.ended) {
    assertEquals(record.usageNow(), { prompt_tokens: 1, completion_tokens: 5 });
    assertEquals([record.generated, record.delivered, record.finishReason], [5, 5, "length"]);
  }
});

Deno.test("a reader that closes right after [DONE] has completed", async () => {
  await using service = startService({ settings: { interTokenLatency: 0 } });
  for (let i = 0; i < 20; i++) {
    using client = await RawClient.open(service.port);
    client.request("/stream?prompt=hello&max_tokens=3");
    await until("[DONE]", () => client.text.includes("[DONE]"), { everyMs: 0 });
    if (i % 2 === 0) client.reset();
  }
  await until("twenty outcomes", () => service.ended.length === 20);
  assertEquals(service.ledger.totals().requests.completed, 20);
});

Deno.test("S4: who leaves in prefill has generated nothing, and the next in line is admitted at once", async () => {
  await using service = startService({ settings: { timeToFirstToken: "10s", maxNumSeqs: 1 } });
  using first = await RawClient.open(service.port);
  first.request("/stream?prompt=first");
  await until("the first in prefill", () => service.deps.engine.slots!().in_use === 1);
  using second = await RawClient.open(service.port);
  second.request("/stream?prompt=second");
  using third = await RawClient.open(service.port);
  await until("the second in the queue", () => service.deps.engine.slots!().queue === 1);
  third.request("/stream?prompt=third&ttft_ms=0&max_tokens=3");
  await until("the third in the queue", () => service.deps.engine.slots!().queue === 2);

  const leftAt = performance.now();
  second.fin();
  await until("the queue to shrink", () => service.deps.engine.slots!().queue === 1, { withinMs: 1000 });
  first.reset();
  await third.untilTokens(3);
  // Both who stood before it had 10 s of prefill to go.
  assertLessOrEqual(performance.now() - leftAt, 2000);
  await until("three outcomes", () => service.ended.length === 3);
  const [queued, prefill, done] = service.ended;
  assertEquals([queued.outcome, queued.phaseAtAbort, queued.generated], ["aborted", "queued", 0]);
  assertEquals([prefill.outcome, prefill.phaseAtAbort, prefill.generated], ["aborted", "prefill", 0]);
  assertEquals([done.outcome, done.generated], ["completed", 3]);
  assertLessOrEqual(done.admittedAt! - prefill.endedAt!, 1);
});

for (const [name, leave] of Object.entries(LEAVE)) {
  Deno.test(`S5: leaving by ${name} a POST /generate that waits stops its generation`, async () => {
    await using service = startService();
    const settled: number[] = [];
    for (let round = 0; round < 3; round++) {
      using client = await RawClient.open(service.port);
      const before = service.ledger.totalGenerated;
      client.request("/generate", { body: { prompt: "hello", max_tokens: 8000 } });
      await until("some tokens", () => service.ledger.totalGenerated >= before + 5, { everyMs: 1 });
      const leftAt = performance.now();
      leave(client);
      const record = await until("an outcome", () => service.ended[round], { withinMs: 1000, everyMs: 1 });
      settled.push(performance.now() - leftAt);
      assertEquals([record.outcome, record.phaseAtAbort], ["aborted", "decode"]);
      assertLessOrEqual(record.generatedAfterAbort, 1);
    }
    // At once, not when the head of a slow reply falls due.
    assertLessOrEqual(Math.min(...settled), 50);
  });
}

Deno.test("S5: with an engine that throws when it is aborted, leaving is still aborted and nothing unexpected", async () => {
  const engine = plainEngine(async function* (_, signal) {
    yield "one";
    await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  });
  await using service = startService({ engine });
  for (const path of ["/generate", "/stream"]) {
    using client = await RawClient.open(service.port);
    client.request(path, { body: { prompt: "hello", max_tokens: 3 } });
    const before = service.ended.length;
    await until("a token", () => service.ledger.totals().generated.running === 1);
    client.fin();
    const record = await until("an outcome", () => service.ended[before]);
    assertEquals([path, record.outcome, record.error], [path, "aborted", null]);
  }
  assertEquals(service.unexpected, []);
});

Deno.test("S4: leaving an engine that has not yet said whether it starts is aborted, and nothing unexpected", async () => {
  const engine = plainEngine(async function* (_, signal) {
    await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    yield "never";
  });
  await using service = startService({ engine });
  for (const path of ["/generate", "/stream"]) {
    using client = await RawClient.open(service.port);
    client.request(path, { body: { prompt: "hello", max_tokens: 3 } });
    const before = service.ended.length;
    await until("a generation", () => service.ledger.running === 1);
    client.fin();
    const record = await until("an outcome", () => service.ended[before]);
    assertEquals([path, record.outcome, record.phaseAtAbort, record.generated], [
      path,
      "aborted",
      "prefill",
      0,
    ]);
  }
  await (await fetch(`${service.url}/health`)).body?.cancel();
  assertEquals(service.unexpected, []);
});

Deno.test("S8: HEAD, OPTIONS and a prefetch start no generation", async () => {
  await using service = startService();
  const path = `${service.url}/stream?prompt=hello`;
  const head = await fetch(path, { method: "HEAD" });
  assertEquals([head.status, head.headers.get("content-type")], [200, "text/event-stream; charset=utf-8"]);
  for (const url of [path, `${service.url}/generate`]) {
    const options = await fetch(url, { method: "OPTIONS" });
    assertEquals(options.status, 204);
    assert(options.headers.get("allow")?.includes("POST"));
  }
  for (
    const [header, value] of [["Sec-Purpose", "prefetch;prerender"], ["Purpose", "prefetch"], [
      "X-Moz",
      "prefetch",
    ]]
  ) {
    const { status, body } = await fetch(path, { headers: { [header]: value } });
    await body?.cancel();
    assertEquals(status, 204);
  }
  const wrong = {
    "": 400,
    "?prompt=a&max_tokens=0": 400,
    "?prompt=a+b+c&max_tokens=8192": 400,
    "?prompt=a&fault=explode": 400,
    "?prompt=a&fault=status:503": 503,
  };
  for (const [query, status] of Object.entries(wrong)) {
    const asked = await fetch(`${service.url}/stream${query}`, { method: "HEAD" });
    assertEquals([asked.status, asked.headers.get("content-type")], [status, "application/json"], query);
  }
  const generate = await fetch(`${service.url}/generate`, { method: "HEAD" });
  assertEquals(generate.status, 405);
  assertEquals(service.ledger.totals().requests.total, 0);
});
