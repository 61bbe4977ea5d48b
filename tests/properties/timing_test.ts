import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { percentile, spreadTokens } from "../../lib/client/timing.ts";

Deno.test("a percentile is a sample that at least p percent do not exceed, and the smallest such", () => {
  fc.assert(fc.property(
    fc.array(fc.integer({ min: 0, max: 50 }), { minLength: 1, maxLength: 60 }),
    fc.integer({ min: 1, max: 100 }),
    (samples, p) => {
      const sorted = samples.toSorted((x, y) => x - y);
      const value = percentile(sorted, p);
      const share = (limit: (x: number) => boolean) => sorted.filter(limit).length * 100 / sorted.length;
      return sorted.includes(value) && share((x) => x <= value) >= p && share((x) => x < value) < p;
    },
  ));
});

Deno.test("tokens spread over arrivals keep their sum, and differ by one at most", () => {
  fc.assert(fc.property(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 0, max: 500 }), (count, more) => {
    const arrivals = Array.from({ length: count }, (_, at) => ({ at, tokens: 1, length: 1 }));
    const spread = spreadTokens(arrivals, count + more).map((arrival) => arrival.tokens);
    assertEquals(spread.reduce((sum, tokens) => sum + tokens, 0), count + more);
    assertEquals(Math.max(...spread) - Math.min(...spread) <= 1, true);
  }));
});
