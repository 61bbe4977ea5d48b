import { assertEquals, assertGreater, assertLess, assertLessOrEqual } from "@std/assert";
import { median } from "../../bench/median.ts";
import { percentile } from "../../lib/client/timing.ts";
import { RawClient, requestText } from "../helpers/sockets.ts";
import { residentMb, type SpawnedService, spawnService } from "../helpers/spawned_service.ts";
import { until } from "../helpers/until.ts";

interface Seen {
  id: string;
  outcome: string;
  error: string | null;
  generated: number;
  delivered: number;
  generated_after_abort: number;
}

async function record(service: SpawnedService, id: string): Promise<Seen> {
  return await (await fetch(`${service.url}/_debug/requests/${id}`)).json();
}

/** A connection that has asked for a stream and is never read unless the test does it. */
async function ask(service: SpawnedService, id: string, query: string): Promise<Deno.TcpConn> {
  const conn = await Deno.connect({ hostname: "127.0.0.1", port: service.port });
  await conn.write(
    new TextEncoder().encode(
      requestText(`/stream?prompt=hello&${query}`, { headers: { "X-Request-Id": id } }),
    ),
  );
  return conn;
}

/** Of few samples the 99th percentile is the greatest, which one look of the machine elsewhere makes too great. */
const ENOUGH = 200;

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

Deno.test("R1: readers that never read stop their generators, cost little memory, harm nobody, and are cut off", async () => {
  const stallMs = 4000;
  await using service = await spawnService(
    ...["--max-model-len", "10000000", "--time-to-first-token", "0", "--stall-limit", `${stallMs}ms`],
  );
  // Warm: what a first stream makes the runtime allocate is not the readers' cost.
  await (await fetch(`${service.url}/stream?prompt=a&max_tokens=50000&itl_ms=0`)).text();
  const before = await residentMb(service.pid);
  const ids = Array.from({ length: 20 }, (_, i) => `never-${i}`);
  const conns = await Promise.all(ids.map((id) => ask(service, id, "max_tokens=9000000&itl_ms=0")));
  try {
    using normal = await RawClient.open(service.port);
    normal.request("/stream?prompt=hello&max_tokens=1000&itl_ms=20");

    const generated = async () =>
      (await Promise.all(ids.map((id) => record(service, id)))).map((r) => r.generated);
    let last: number[] = [];
    await until("tokens that do not grow any more", async () => {
      const now = await generated();
      const same = now.every((count, i) => count > 0 && count === last[i]);
      last = now;
      return same;
    }, { withinMs: 3000, everyMs: 250 });
    await pause(500);
    assertEquals(await generated(), last, "the tokens have to stay where they were");
    assertLess(await residentMb(service.pid) - before, 50);

    await until("an end of all of them", async () => {
      const seen = await Promise.all(ids.map((id) => record(service, id)));
      return seen.every(({ outcome, error }) => outcome === "failed" && error === "stalled");
    }, { withinMs: 2 * stallMs, everyMs: 100 });
    assertLess(await residentMb(service.pid) - before, 50);
    assertEquals((await (await fetch(`${service.url}/_debug/totals`)).json()).slots.in_use, 1);

    const gaps = normal.arrivals.slice(2).map(({ at }, i) => at - normal.arrivals[i + 1].at);
    assertGreater(gaps.length, 100);
    assertLessOrEqual(Math.abs(median(gaps)! - 20), 2);
    // All its tokens came: none was held back until the others were gone.
    assertLessOrEqual(percentile(Float64Array.from(gaps).sort(), 95), 100);
  } finally {
    for (const conn of conns) conn.close();
  }
  assertEquals(service.stderr(), "", "the line of each generation says what was the matter");
});

Deno.test("R2: 5 million tokens at delay 0 starve nobody, and stop at once", async () => {
  const tokens = 5_000_000;
  await using service = await spawnService("--max-model-len", "10000000", "--time-to-first-token", "0");
  const waits: number[] = [];
  const starts: number[] = [];
  for (let flood = 0; waits.length < ENOUGH; flood++) {
    const conn = await ask(service, `flood-${flood}`, `max_tokens=${tokens}&itl_ms=0`);
    let open = true;
    let tail = "";
    const reading = (async () => {
      const buffer = new Uint8Array(256 * 1024);
      for (;;) {
        const size = await conn.read(buffer);
        if (size === null) break;
        tail = (tail + new TextDecoder().decode(buffer.subarray(Math.max(0, size - 64), size))).slice(-64);
        if (tail.endsWith("0\r\n\r\n")) break;
      }
    })().finally(() => open = false);
    try {
      while (open) {
        const at = performance.now();
        await (await fetch(`${service.url}/health`)).text();
        waits.push(performance.now() - at);
        if (waits.length % 10 === 0) {
          const at = performance.now();
          using second = await RawClient.open(service.port);
          second.request("/stream?prompt=second&max_tokens=3&itl_ms=0");
          await second.untilTokens(1);
          starts.push(performance.now() - at);
        }
        await pause(5);
      }
      await reading;
      assertEquals(tail.includes("data: [DONE]\n\n"), true);
      const { generated, delivered, outcome } = await record(service, `flood-${flood}`);
      assertEquals([generated, delivered, outcome], [tokens, tokens, "completed"]);
    } finally {
      conn.close();
    }
  }
  assertLess(percentile(Float64Array.from(waits).sort(), 99), 100);
  assertLess(percentile(Float64Array.from(starts).sort(), 95), 300);

  const cut = await ask(service, "cut", `max_tokens=${tokens}&itl_ms=0`);
  const buffer = new Uint8Array(64 * 1024);
  for (let i = 0; i < 50; i++) await cut.read(buffer);
  const at = performance.now();
  cut.close();
  const stopped = await until("an outcome", async () => {
    const seen = await record(service, "cut");
    return seen.outcome !== "running" && seen;
  }, { everyMs: 1 });
  assertLess(performance.now() - at, 100);
  assertEquals(stopped.outcome, "aborted");
  assertLessOrEqual(stopped.generated_after_abort, 1);
});

Deno.test("R2: 32 readers of endless streams at delay 0 leave the service answering others, and stop at once", async () => {
  await using service = await spawnService("--max-model-len", "10000000", "--time-to-first-token", "0");
  let stop = false;
  const conns = await Promise.all(
    Array.from({ length: 32 }, (_, i) => ask(service, `flood-${i}`, "max_tokens=9000000&itl_ms=0")),
  );
  const reading = Promise.all(conns.map(async (conn) => {
    const buffer = new Uint8Array(256 * 1024);
    while (!stop && await conn.read(buffer) !== null);
    conn.close();
  }));
  const waits: number[] = [];
  for (const end = performance.now() + 1500; performance.now() < end;) {
    const at = performance.now();
    await (await fetch(`${service.url}/health`)).text();
    waits.push(performance.now() - at);
    await pause(5);
  }
  stop = true;
  await reading;
  const at = performance.now();
  await until("nothing running", async () => {
    return (await (await fetch(`${service.url}/health`)).json()).running === 0;
  }, { everyMs: 1 });
  assertLess(performance.now() - at, 500);
  assertLess(median(waits)!, 100);
  const { requests, slots } = await (await fetch(`${service.url}/_debug/totals`)).json();
  assertEquals([requests.aborted, requests.running, slots.in_use], [32, 0, 0]);
});

Deno.test("R2: a /generate of millions of tokens at delay 0 starves nobody, and stops at once when its client leaves", async () => {
  await using service = await spawnService("--max-model-len", "10000000", "--time-to-first-token", "0");
  using client = await RawClient.open(service.port);
  client.request("/generate", { body: { prompt: "hello", max_tokens: 9_000_000, itl_ms: 0 } });
  const waits: number[] = [];
  let running = 1;
  await until("tokens", async () => {
    const { generated, requests } = await (await fetch(`${service.url}/_debug/totals`)).json();
    running = requests.running;
    return generated.total > 0;
  });
  assertEquals(running, 1);
  for (let i = 0; i < 10; i++) {
    const at = performance.now();
    await (await fetch(`${service.url}/health`)).text();
    waits.push(performance.now() - at);
  }
  assertLess(median(waits)!, 100);
  client.reset();
  const at = performance.now();
  const { requests } = await until("nothing running", async () => {
    const totals = await (await fetch(`${service.url}/_debug/totals`)).json();
    return totals.requests.running === 0 && totals;
  }, { everyMs: 1 });
  assertLess(performance.now() - at, 200);
  assertEquals([requests.aborted, requests.completed], [1, 0]);
});
