import { assert, assertEquals, assertGreater, assertLessOrEqual } from "@std/assert";
import { percentile } from "../../lib/client/timing.ts";
import { uniform } from "../../lib/engine/hash.ts";
import { identityHolds } from "../helpers/service.ts";
import { RawClient } from "../helpers/sockets.ts";
import { type SpawnedService, spawnService } from "../helpers/spawned_service.ts";
import { until } from "../helpers/until.ts";

async function debug(service: SpawnedService, path: string) {
  return await (await fetch(`${service.url}/_debug/${path}`)).json();
}

/** Of the times at which clients leave: the same in every run, and what they meet then is not. */
const SEED = 1;

/** Opens a stream and leaves it after a random time, every other one by RST. */
async function cut(service: SpawnedService, index: number, withinMs: number): Promise<void> {
  using client = await RawClient.open(service.port);
  const query = `prompt=storm%20${index}&max_tokens=2000&itl_ms=${index % 3 === 0 ? 1 : 10}`;
  if (index % 5 === 4) client.request("/generate", { body: { prompt: "storm", max_tokens: 2000 } });
  else client.request(`/stream?${query}`);
  await new Promise((resolve) => setTimeout(resolve, uniform(SEED, 0, index) * withinMs));
  if (index % 2 === 0) client.fin();
  else client.reset();
  // A FIN is a half-close; the answer of the service to it is what shows that it was taken.
  if (index % 2 === 0) await client.untilEnded(10_000);
}

/** `count` sockets over 64 slots, `atOnce` of them at a time, cut at random moments of queue, prefill and decode. */
async function storm(count: number, atOnce: number): Promise<void> {
  await using service = await spawnService(
    ...["--max-num-seqs", "64", "--time-to-first-token", "30ms", "--inter-token-latency", "10ms"],
  );
  let next = 0;
  let watching = true;
  // While it rages, too: at every look all is counted exactly once.
  const watch = (async () => {
    let looks = 0;
    for (; watching; looks++) {
      const totals = await debug(service, "totals");
      assert(identityHolds(totals), JSON.stringify(totals));
      assertLessOrEqual(totals.slots.in_use, 64);
      assertLessOrEqual(totals.slots.in_use + totals.queue, totals.requests.running);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return looks;
  })();
  await Promise.all(Array.from({ length: atOnce }, async () => {
    while (next < count) await cut(service, next++, 400);
  })).finally(() => watching = false);
  // Five hundred at once can hold up a look for as long as they rage.
  assertGreater(await watch, 0);

  const totals = await until("nothing running", async () => {
    const totals = await debug(service, "totals");
    return totals.requests.running === 0 && totals;
  });
  assert(identityHolds(totals), JSON.stringify(totals));
  assertEquals([totals.slots.in_use, totals.queue, totals.generated.running], [0, 0, 0]);
  const { completed, aborted, failed, total } = totals.requests;
  assertEquals([completed, failed], [0, 0]);
  // Some leave before their request is read.
  assertGreater(total, count * 0.8);
  assertEquals(aborted, total);

  const { requests } = await debug(service, "requests");
  const phases = { queued: 0, prefill: 0, decode: 0 };
  for (const record of requests) {
    phases[record.phase_at_abort as keyof typeof phases]++;
    assertLessOrEqual(record.generated_after_abort, 1);
    if (record.phase_at_abort !== "decode") assertEquals(record.generated, 0);
    if (record.route === "/stream") assertLessOrEqual(record.generated, record.delivered + 1);
  }
  for (const [phase, cut] of Object.entries(phases)) assertGreater(cut, 0, `none was cut while ${phase}`);
  const generated = requests.reduce(
    (sum: number, record: { generated: number }) => sum + record.generated,
    0,
  );
  assertEquals(generated, totals.generated.total);
  const stopMs = Float64Array.from(requests, (record: { stop_ms: number }) => record.stop_ms).sort();
  const p99 = percentile(stopMs, 99);
  assertLessOrEqual(p99, 5, `stop_ms p99 is ${p99}`);
  assertEquals(service.stderr(), "");
}

Deno.test("storm: 500 sockets cut at random moments leave a ledger that adds up", async () => {
  await storm(500, 500);
});

Deno.test("storm: so do 1,000 cut in every phase over 64 slots", async () => {
  await storm(1000, 250);
});
