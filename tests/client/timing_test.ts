import { assertEquals, assertThrows } from "@std/assert";
import { type Arrival, distribution, percentile, timeStream } from "../../lib/client/timing.ts";

/** Arrivals from [time, tokens] pairs, each with text. */
const arrivals = (pairs: [at: number, tokens: number][]): Arrival[] =>
  pairs.map(([at, tokens]) => ({ at, tokens, length: 1 }));

const every = (count: number, ms: number, tokens: number, from = 0): [number, number][] =>
  Array.from({ length: count }, (_, i) => [from + i * ms, tokens]);

Deno.test("C5: end-to-end ends at the last token, the tail is apart", () => {
  const timing = timeStream({ sentAt: 0, endAt: 1300, arrivals: arrivals(every(3, 100, 1, 100)) });
  assertEquals([timing.ttftMs, timing.endToEndMs, timing.tailMs, timing.tpotMs], [100, 300, 1000, 100]);
});

Deno.test("C6: ten events of four tokens, 100 ms apart: gap 100, ITL 25, TPOT over the tokens after the first event", () => {
  const timing = timeStream({ sentAt: 0, endAt: 900, arrivals: arrivals(every(10, 100, 4)) });
  assertEquals(timing.tokens, 40);
  assertEquals(timing.gapsMs, Array(9).fill(100));
  assertEquals(timing.itlMs, Array(9).fill(25));
  assertEquals(timing.tpotMs, 900 / 36);
});

Deno.test("C6: after a first event of 20 tokens, TPOT divides by the ten that follow", () => {
  const timing = timeStream({
    sentAt: 0,
    endAt: 0,
    arrivals: arrivals([[500, 20], ...every(10, 30, 1, 530)]),
  });
  assertEquals(timing.tpotMs, 30);
  assertEquals(timing.itlMs, Array(10).fill(30));
});

Deno.test("a gap is divided by the tokens of the event that ends it, not of the one that begins it", () => {
  const timing = timeStream({ sentAt: 0, endAt: 0, arrivals: arrivals([[0, 4], [100, 1], [200, 2]]) });
  assertEquals(timing.itlMs, [100, 50]);
});

Deno.test("C7: one stall of 2000 ms among 199 gaps of 10 ms shows in the maximum and not in the median", () => {
  const times: [number, number][] = every(200, 10, 1);
  times.push([times[199][0] + 2000, 1]);
  const spread = distribution(timeStream({ sentAt: 0, endAt: 0, arrivals: arrivals(times) }).itlMs);
  assertEquals(spread, { count: 200, min: 10, p50: 10, p90: 10, p99: 10, max: 2000 });
});

Deno.test("C12: a slot of 500 ms under 10 requests a second: the wait shows from the intended start, not from the send", () => {
  const timings = Array.from({ length: 10 }, (_, i) => {
    const sentAt = i * 500;
    const tokens = arrivals([[sentAt + 400, 1], [sentAt + 500, 1]]);
    return timeStream({ intendedAt: i * 100, sentAt, endAt: sentAt + 500, arrivals: tokens });
  });
  assertEquals(timings.map((t) => t.ttftMs), Array(10).fill(400));
  assertEquals(timings.map((t) => t.endToEndMs), Array(10).fill(500));
  assertEquals(timings.map((t) => t.ttftFromIntendedMs), Array.from({ length: 10 }, (_, i) => i * 400 + 400));
  assertEquals(timings[9].endToEndFromIntendedMs, 4100);
});

Deno.test("TTFT is the first token with text; a token without text still counts and times the rest", () => {
  const timing = timeStream({
    sentAt: 1000,
    endAt: 1400,
    arrivals: [{ at: 1100, tokens: 1, length: 0 }, { at: 1200, tokens: 1, length: 3 }, {
      at: 1400,
      tokens: 1,
      length: 1,
    }],
  });
  assertEquals([timing.ttftMs, timing.tokens, timing.tpotMs], [200, 3, 150]);
  assertEquals(timing.gapsMs, [100, 200]);
});

Deno.test("an arrival of no tokens ends no gap", () => {
  const timing = timeStream({
    sentAt: 0,
    endAt: 50,
    arrivals: [{ at: 10, tokens: 1, length: 1 }, { at: 20, tokens: 0, length: 1 }, {
      at: 50,
      tokens: 1,
      length: 1,
    }],
  });
  assertEquals(timing.gapsMs, [40]);
  assertEquals(timing.itlMs, [40]);
});

Deno.test("a stream without tokens has no figures, and never a TTFT of 0", () => {
  assertEquals(timeStream({ sentAt: 5, endAt: 900, arrivals: [] }), {
    tokens: 0,
    ttftMs: null,
    endToEndMs: null,
    ttftFromIntendedMs: null,
    endToEndFromIntendedMs: null,
    tailMs: null,
    tpotMs: null,
    gapsMs: [],
    itlMs: [],
  });
  assertEquals(timeStream({ sentAt: 0, endAt: 9, arrivals: arrivals([[9, 1]]) }).tpotMs, null);
  assertEquals(distribution([]), null);
});

Deno.test("a percentile is the nearest rank", () => {
  const samples = Array.from({ length: 1000 }, (_, i) => i + 1);
  assertEquals([50, 99, 99.9, 100, 0.01].map((p) => percentile(samples, p)), [500, 990, 999, 1000, 1]);
  assertEquals([1, 50, 51, 99].map((p) => percentile([10, 20], p)), [10, 10, 20, 20]);
  assertThrows(() => percentile([], 50), RangeError, "at least one sample");
  for (const p of [0, -1, 101, NaN]) assertThrows(() => percentile([1], p), RangeError, `got ${p}`);
});

Deno.test("samples are sorted as numbers", () => {
  assertEquals(distribution([9, 10, 100, 1])?.max, 100);
  assertEquals(distribution(new Set([9, 10, 1]))?.p50, 9);
});
