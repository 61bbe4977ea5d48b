import { assert, assertEquals, assertGreaterOrEqual, assertLess, assertLessOrEqual } from "@std/assert";
import { median } from "../../bench/median.ts";
import { type Service, startService } from "../helpers/service.ts";
import { RawClient } from "../helpers/sockets.ts";
import { until } from "../helpers/until.ts";

interface Times {
  planned_us: number;
  actual_us: number;
  handed_us: number | null;
}

async function recordOf(service: Service, id: string) {
  return await (await fetch(`${service.url}/_debug/requests/${id}?tokens=1`)).json();
}

async function streamed(service: Service, id: string, query: string) {
  const response = await fetch(`${service.url}/stream?prompt=hello&${query}`, {
    headers: { "X-Request-Id": id },
  });
  await response.text();
  return await recordOf(service, id);
}

/** What is true of every token of every generation. */
function checkTimes(tokens: Times[]) {
  tokens.forEach(({ planned_us, actual_us, handed_us }, i) => {
    assertGreaterOrEqual(actual_us, planned_us);
    if (handed_us !== null) assertGreaterOrEqual(handed_us, actual_us);
    for (const name of ["planned_us", "actual_us", "handed_us"] as const) {
      assert(tokens[i][name] === null || Number.isInteger(tokens[i][name]));
      if (i > 0 && tokens[i][name] !== null) assertGreaterOrEqual(tokens[i][name]!, tokens[i - 1][name]!);
    }
  });
}

/** What is true of every token also where nothing is waited for, and plans are in the model's own time. */
function checkOrder(id: string, tokens: Times[]) {
  let latest = { actual: 0, handed: 0 };
  for (const { actual_us: actual, handed_us } of tokens) {
    const handed = handed_us ?? Infinity;
    assert(
      actual >= latest.actual && handed >= latest.handed && handed >= actual,
      `${id}: ${JSON.stringify(tokens)}`,
    );
    latest = { actual, handed };
  }
}

for (const realtime of [true, false]) {
  Deno.test(`truth: no token is from before the one before it, nor handed over before it was: realtime ${realtime}`, async () => {
    await using service = startService({ settings: { realtime, maxNumSeqs: 2 } });
    const quick = { max_tokens: 8, ttft_ms: 0, itl_ms: 0 };
    const kinds = [
      {},
      { tokens_per_event: 3 },
      { fault: "malformed@0" },
      { stop: ["server"] },
      { n: 2, stop: ["reader server"], tokens_per_event: 3 },
    ];
    const ids = Array.from({ length: 100 }, (_, i) => `order-${i}`);
    await Promise.all(ids.map(async (id, i) => {
      const response = await fetch(`${service.url}/v1/completions`, {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-Request-Id": id },
        body: JSON.stringify({ prompt: "hello", stream: true, ...quick, ...kinds[i % kinds.length] }),
      });
      await response.text();
    }));
    for (const { id, generated } of service.ended) {
      const { tokens } = await recordOf(service, id);
      assertEquals(tokens.length, generated);
      checkOrder(id, tokens);
    }
    assertGreaterOrEqual(service.ended.length, 100);
  });
}

Deno.test("truth: of an answer that is longer than what is kept it is told how much is missing", async () => {
  await using service = startService({ settings: { interTokenLatency: 0, maxModelLen: 100_000 } });
  const { tokens, tokens_omitted, generated } = await streamed(service, "long", "max_tokens=17000");
  assertEquals([tokens.length, tokens_omitted, generated], [16_384, 616, 17_000]);
  const short = await streamed(service, "short", "max_tokens=3");
  assertEquals([short.tokens.length, short.tokens_omitted], [3, 0]);
});

Deno.test("truth: each token has the time it was planned for, made at and handed over at, in that order", async () => {
  await using service = startService({ settings: { timeToFirstToken: 50, interTokenLatency: 10 } });
  const { tokens, ...record } = await streamed(service, "paced", "max_tokens=40");
  assertEquals(tokens.length, 40);
  checkTimes(tokens);
  // Absolute deadlines: the plan is exact, whatever happened.
  const base = tokens[0].planned_us;
  assertLessOrEqual(Math.abs(base - record.queue_ms * 1000 - 50_000), 2);
  tokens.forEach(({ planned_us }: Times, i: number) =>
    assertLessOrEqual(Math.abs(planned_us - base - i * 10_000), 2)
  );
  assertLess(median(tokens.map((t: Times) => t.actual_us - t.planned_us))!, 3000);
  assertLess(Math.abs(record.ttft_ms - tokens[0].actual_us / 1000), 0.01);
});

Deno.test("truth: a late token is told as what it was, not as what was asked for", async () => {
  await using service = startService({ settings: { interTokenLatency: 1 } });
  const response = await fetch(`${service.url}/stream?prompt=a&max_tokens=30&itl_ms=5`, {
    headers: { "X-Request-Id": "late" },
  });
  await until("some tokens", () => service.ledger.totalGenerated >= 5, { everyMs: 1 });
  // The loop stands still for 60 ms: nothing can be made meanwhile.
  const end = performance.now() + 60;
  while (performance.now() < end);
  await response.text();
  const { tokens } = await recordOf(service, "late");
  checkTimes(tokens);
  assertGreaterOrEqual(Math.max(...tokens.map((t: Times) => t.actual_us - t.planned_us)), 45_000);
  // Nothing accumulates: the last tokens are on time again.
  assertLess(tokens.at(-1).actual_us - tokens.at(-1).planned_us, 20_000);
});

Deno.test("truth: queue, prefill and decode are told apart and add up", async () => {
  await using service = startService({
    settings: { maxNumSeqs: 1, timeToFirstToken: 80, interTokenLatency: 5 },
  });
  const first = streamed(service, "first", "max_tokens=10");
  await until("the first in its slot", () => service.ledger.running === 1);
  const second = await streamed(service, "second", "max_tokens=20");
  const { queue_ms, prefill_ms, decode_ms, duration_ms, ttft_ms, tokens } = second;
  checkTimes(tokens);
  assertGreaterOrEqual(queue_ms, 60);
  assertGreaterOrEqual(prefill_ms, 79.9);
  assertLess(prefill_ms, 130);
  // 19 gaps, less what the first token was late.
  assertGreaterOrEqual(decode_ms, 95 - (tokens[0].actual_us - tokens[0].planned_us) / 1000 - 0.1);
  assertLess(Math.abs(queue_ms + prefill_ms + decode_ms - duration_ms), 0.01);
  assertLess(Math.abs(queue_ms + prefill_ms - ttft_ms), 0.01);
  assertLess((await first).queue_ms, 5);
});

Deno.test("truth: an event of several tokens hands them over together; who left was handed no more", async () => {
  await using service = startService({ settings: { interTokenLatency: 3 } });
  const grouped = await streamed(service, "grouped", "max_tokens=12&tokens_per_event=4");
  checkTimes(grouped.tokens);
  const handed = grouped.tokens.map((t: Times) => t.handed_us);
  assertEquals(new Set(handed).size, 3);
  assertGreaterOrEqual(handed[0], grouped.tokens[3].actual_us);

  using client = await RawClient.open(service.port);
  client.request("/stream?prompt=a&max_tokens=1000&fault=stall@3:5000", {
    headers: { "X-Request-Id": "left" },
  });
  await client.untilTokens(3);
  client.fin();
  const left = await until("an outcome", async () => {
    const record = await recordOf(service, "left");
    return record.outcome === "aborted" && record;
  });
  assertEquals(left.tokens.length, left.generated);
  assertEquals(left.tokens.filter((t: Times) => t.handed_us !== null).length, left.delivered);
});

Deno.test("truth: a record without tokens=1 has no timeline", async () => {
  await using service = startService();
  await streamed(service, "plain", "max_tokens=3");
  const record = await (await fetch(`${service.url}/_debug/requests/plain`)).json();
  assertEquals("tokens" in record, false);
});
