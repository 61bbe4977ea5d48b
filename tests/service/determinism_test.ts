import { assert, assertEquals, assertGreater, assertLessOrEqual } from "@std/assert";
import { dataLines } from "../helpers/sockets.ts";
import { type SpawnedService, spawnService } from "../helpers/spawned_service.ts";

interface Times {
  planned_us: number;
  actual_us: number;
}

interface Told {
  status: number;
  text: string;
  outcome: string;
  error: string | null;
  admitted_us: number;
  tokens: Times[];
}

const FAULTS = [
  "",
  "error@7",
  "close@5",
  "malformed@3",
  "slow@4:30",
  "error@2:overloaded",
  "status:429",
  "split@1",
];

/** A token this late moves what is planned after it: the engine does not make up for more in one burst. */
const MOVES_US = 200_000;

/** Times are kept in whole microseconds from the arrival, so both ends of a gap are rounded. */
const ROUNDING_US = 2;

/** The request number `i` of the 200: its prompt, its length and its fault are always the same. */
async function ask({ url }: SpawnedService, i: number): Promise<Told> {
  const query = new URLSearchParams({ prompt: `p${i % 50}`, max_tokens: String(5 + i % 17) });
  if (FAULTS[i % 8] !== "") query.set("fault", FAULTS[i % 8]);
  const id = `same-${i}`;
  const response = await fetch(`${url}/stream?${query}`, { headers: { "X-Request-Id": id } });
  const text = await response.text();
  const record = await (await fetch(`${url}/_debug/requests/${id}?tokens=1`)).json();
  return {
    status: response.status,
    text: response.status === 200 ? dataLines(text).join("\n") : text,
    outcome: record.outcome,
    error: record.error,
    admitted_us: record.queue_ms * 1000,
    tokens: record.tokens,
  };
}

async function other({ url }: SpawnedService, i: number): Promise<void> {
  const response = await fetch(`${url}/stream?prompt=other%20${i}&max_tokens=${10 + i % 30}`);
  if (i % 3 === 0) await response.body?.cancel();
  else await response.text();
}

/** Runs all tasks, `atOnce` at a time, in their order. */
async function crowd<T>(tasks: (() => Promise<T>)[], atOnce: number): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  const runner = async () => {
    while (next < tasks.length) {
      const at = next++;
      results[at] = await tasks[at]();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, runner));
  return results;
}

const startPaced = () =>
  spawnService(
    ...["--time-to-first-token", "20ms", "--time-to-first-token-std-dev", "10ms"],
    ...["--inter-token-latency", "4ms", "--inter-token-latency-std-dev", "2ms"],
    ...["--max-num-seqs", "64", "--time-factor-under-load", "1"],
  );

/** The planned delays of a request: prefill, then from token to token; null where lateness has moved the plan. */
function delays({ tokens, admitted_us }: Told): (number | null)[] {
  return tokens.map(({ planned_us }, i) => {
    if (i === 0) return planned_us - admitted_us;
    const before = tokens[i - 1];
    return before.actual_us - before.planned_us > MOVES_US ? null : planned_us - before.planned_us;
  });
}

Deno.test("200 requests say, fail and plan the same alone and among 500 others", async () => {
  const indexes = Array.from({ length: 200 }, (_, i) => i);
  let alone: Told[];
  {
    await using service = await startPaced();
    alone = await crowd(indexes.map((i) => () => ask(service, i)), 8);
  }
  await using service = await startPaced();
  // 700 in an order of their own, three quarters of those that run at a time being strangers.
  const [among] = await Promise.all([
    crowd(indexes.toReversed().map((i) => () => ask(service, i)), 40),
    crowd(Array.from({ length: 500 }, (_, i) => () => other(service, i)), 120),
  ]);
  among.reverse();

  let compared = 0;
  for (const i of indexes) {
    for (const name of ["status", "text", "outcome", "error"] as const) {
      assertEquals([i, name, among[i][name]], [i, name, alone[i][name]]);
    }
    const planned = delays(alone[i]);
    const plannedAmong = delays(among[i]);
    assertEquals(plannedAmong.length, planned.length);
    planned.forEach((delay, k) => {
      if (delay === null || plannedAmong[k] === null) return;
      compared++;
      assertLessOrEqual(Math.abs(delay - plannedAmong[k]!), ROUNDING_US, `request ${i}, token ${k}`);
    });
  }
  assertGreater(compared, 0.9 * alone.reduce((sum, { tokens }) => sum + tokens.length, 0));
  // The draws differ from request to request, the queue was used, and every fault took part.
  assertGreater(new Set(alone.flatMap(delays)).size, 500);
  assert(among.some(({ admitted_us }) => admitted_us > 1000));
  assertEquals(new Set(alone.map(({ status }) => status)), new Set([200, 429]));
  assertEquals(new Set(alone.map(({ error }) => error)).size, 5);
});
