import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { Engine } from "../../lib/engine/engine.ts";
import { plainEngine, startService } from "../helpers/service.ts";
import { dataLines, RawClient } from "../helpers/sockets.ts";
import { until } from "../helpers/until.ts";

const SECRET = "/etc/secret/key.pem";

function failCleanup(): never {
  throw new Error(SECRET);
}

/** Counts up to `maxTokens`; what the prompt says goes wrong on the way. */
const troubled: Engine = plainEngine(async function* ({ prompt, maxTokens }, signal) {
  if (prompt === "at once") throw new Error(SECRET);
  try {
    for (let i = 0; i < maxTokens; i++) {
      if (prompt === "at 3" && i === 3) throw new Error(SECRET);
      await new Promise((resolve) => setTimeout(resolve, 5));
      if (signal.aborted) return;
      yield `${i} `;
    }
  } finally {
    if (prompt === "in finally") failCleanup();
  }
});

Deno.test("S7: an engine that throws before its first token is a 500 that tells nothing of it", async () => {
  await using service = startService({ engine: troubled });
  const stream = await fetch(`${service.url}/stream?prompt=at%20once`);
  const generate = await fetch(`${service.url}/generate`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: '{"prompt":"at once"}',
  });
  for (const response of [stream, generate]) {
    const text = await response.text();
    assertEquals([response.status, JSON.parse(text).error.code], [500, "internal"]);
    assert(!text.includes(SECRET));
  }
  assertEquals(service.unexpected.map(({ error }) => (error as Error).message), [SECRET, SECRET]);
  assertEquals(service.unexpected[0].id, stream.headers.get("x-request-id"));
  assertEquals(service.ended.map(({ outcome, error }) => [outcome, error]), [
    ["failed", "internal"],
    ["failed", "internal"],
  ]);
});

Deno.test("S7: one that throws at token 3 is an error event, and other streams go on untouched", async () => {
  await using service = startService({ engine: troubled });
  const others = Array.from({ length: 5 }, async () => {
    const response = await fetch(`${service.url}/stream?prompt=well&max_tokens=20`);
    return dataLines(await response.text());
  });
  const response = await fetch(`${service.url}/stream?prompt=at%203&max_tokens=20`);
  const body = await response.text();
  assertEquals(response.status, 200);
  assertEquals(dataLines(body).slice(0, 3).map((data) => JSON.parse(data).token), ["0 ", "1 ", "2 "]);
  assertStringIncludes(body, "event: error\n");
  assertEquals(JSON.parse(dataLines(body)[3]).code, "internal");
  assert(!body.includes("[DONE]") && !body.includes(SECRET));
  for (const lines of await Promise.all(others)) assertEquals([lines.length, lines.at(-1)], [21, "[DONE]"]);
  assertEquals(service.unexpected.length, 1);
  assertEquals(service.ledger.totals().requests, {
    completed: 5,
    aborted: 0,
    failed: 1,
    running: 0,
    total: 6,
  });
});

Deno.test("S7: one that throws in its finally when the reader leaves is logged, and is an abort", async () => {
  await using service = startService({ engine: troubled });
  using client = await RawClient.open(service.port);
  client.request("/stream?prompt=in%20finally&max_tokens=1000");
  await client.untilTokens(3);
  client.fin();
  await until("an outcome", () => service.ended.length === 1);
  assertEquals([service.ended[0].outcome, service.ended[0].error], ["aborted", null]);
  assertEquals(service.unexpected.map(({ error }) => (error as Error).message), [SECRET]);
  const health = await fetch(`${service.url}/health`);
  assertEquals((await health.json()).running, 0);
});

Deno.test("S7: one that throws in its finally at the end has failed, with an error event instead of [DONE]", async () => {
  await using service = startService({ engine: troubled });
  const body = await (await fetch(`${service.url}/stream?prompt=in%20finally&max_tokens=3`)).text();
  assertEquals(JSON.parse(dataLines(body).at(-1)!).code, "internal");
  assertEquals(service.unexpected.length, 1);
});

Deno.test("an engine that throws what is no Error is still a 500", async () => {
  for (const thrown of [null, undefined, "text", 0, { toString: () => "x" }]) {
    const engine = plainEngine(async function* () {
      await Promise.reject(thrown);
      yield "";
    });
    await using service = startService({ engine });
    for (const path of ["/stream?prompt=a", "/health"]) {
      const response = await fetch(service.url + path);
      await response.body?.cancel();
      assertEquals(response.status, path === "/health" ? 200 : 500);
    }
  }
});

Deno.test("an engine whose generate itself throws is a 500, and its record is final", async () => {
  const engine: Engine = {
    ...troubled,
    generate() {
      throw new Error(SECRET);
    },
  };
  await using service = startService({ engine });
  const response = await fetch(`${service.url}/stream?prompt=a`);
  const text = await response.text();
  assertEquals([response.status, text.includes(SECRET)], [500, false]);
  assertEquals(service.ended.map(({ outcome }) => outcome), ["failed"]);
  assertEquals(service.unexpected.length, 1);
});

Deno.test("an engine that is slow to say whether it starts gets 200, and its failure is an event", async () => {
  const engine = plainEngine(async function* () {
    await new Promise((resolve) => setTimeout(resolve, 400));
    throw new Error(SECRET);
    // deno-lint-ignore no-unreachable
    yield "";
  });
  await using service = startService({ engine });
  const response = await fetch(`${service.url}/stream?prompt=a`);
  const body = await response.text();
  assertEquals(response.status, 200);
  assertEquals(JSON.parse(dataLines(body)[0]).code, "internal");
});
