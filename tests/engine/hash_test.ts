import { assert, assertEquals, assertGreater, assertLess, assertNotEquals } from "@std/assert";
import { draw, logNormal, PURPOSE, seedOf } from "../../lib/engine/hash.ts";

const range = (n: number) => Array.from({ length: n }, (_, i) => i);

Deno.test("seeds and draws are the same on every machine and in every version", () => {
  assertEquals([seedOf(""), seedOf("hello"), seedOf("안녕")], [2872998923, 4120092316, 900529154]);
  assertEquals([draw(1, 1, 0), draw(1, 2, 0), draw(1, 1, 1)], [1626978197, 826122390, 2263948959]);
});

Deno.test("a seed hears every code unit, both its bytes, their order and the basis", () => {
  const seeds = ["ab", "ba", "a", "ab ", "\u0161b", "aba", "", "\0", "\0\0"].map((text) => seedOf(text));
  assertEquals(new Set(seeds).size, seeds.length);
  assertNotEquals(seedOf("ab", 1), seedOf("ab", 2));
});

Deno.test("a draw is an unsigned 32-bit integer that hears seed, purpose and index apart", () => {
  const seen = new Set<number>();
  for (const seed of range(10)) {
    for (const purpose of Object.values(PURPOSE)) {
      for (const index of range(30)) {
        const value = draw(seed, purpose, index);
        assert(Number.isInteger(value) && value >= 0 && value < 2 ** 32, String(value));
        seen.add(value);
      }
    }
  }
  // 900 draws of 2^32: two alike would be a chance of one in 10,000.
  assertEquals(seen.size, 900);
});

Deno.test("one bit of the index changes half the bits of the draw", () => {
  const ones = (value: number) => value.toString(2).replaceAll("0", "").length;
  for (const bit of range(20)) {
    const changed = range(200).map((i) => ones((draw(9, 1, i) ^ draw(9, 1, i ^ (1 << bit))) >>> 0));
    const mean = changed.reduce((sum, n) => sum + n, 0) / changed.length;
    assertGreater(mean, 14);
    assertLess(mean, 18);
  }
});

Deno.test("draws fill their range evenly", () => {
  const buckets = new Array(16).fill(0);
  for (const index of range(16_000)) buckets[draw(3, 1, index) >>> 28]++;
  for (const count of buckets) assert(count > 850 && count < 1150, `${buckets}`);
});

Deno.test("a log-normal draw has the mean and the deviation asked for, and is never negative", () => {
  const n = 20_000;
  const samples = range(n).map((index) => logNormal(20, 8, 5, PURPOSE.decodeJitter, index));
  const mean = samples.reduce((sum, x) => sum + x, 0) / n;
  const deviation = Math.sqrt(samples.reduce((sum, x) => sum + (x - mean) ** 2, 0) / n);
  assert(Math.abs(mean - 20) < 0.3, `mean ${mean}`);
  assert(Math.abs(deviation - 8) < 0.4, `deviation ${deviation}`);
  assertGreater(Math.min(...samples), 0);
});

Deno.test("a log-normal draw repeats for the same seed, purpose and index, and for no other", () => {
  assertEquals(logNormal(20, 5, 7, 3, 0), logNormal(20, 5, 7, 3, 0));
  const others = [logNormal(20, 5, 7, 3, 0), logNormal(20, 5, 8, 3, 0), logNormal(20, 5, 7, 2, 0)];
  assertEquals(new Set([...others, logNormal(20, 5, 7, 3, 1)]).size, 4);
});

Deno.test("without a deviation the draw is the mean itself, and a mean of 0 stays 0", () => {
  assertEquals(logNormal(20.25, 0, 7, 3, 0), 20.25);
  assertEquals(logNormal(0, 5, 7, 3, 0), 0);
});

Deno.test("a log-normal draw is a number and not negative, however small the mean beside the deviation", () => {
  for (const mean of [1e-100, 1e-160, 1e-300, 5e-324]) {
    for (const deviation of [1e-300, 1, 1e7]) {
      for (const index of range(50)) {
        const drawn = logNormal(mean, deviation, 5, PURPOSE.decodeJitter, index);
        assert(drawn >= 0 && drawn < Infinity, `mean ${mean}, deviation ${deviation}: ${drawn}`);
      }
    }
  }
});
