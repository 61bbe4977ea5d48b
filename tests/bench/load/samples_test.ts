import { assertEquals } from "@std/assert";
import { Samples } from "../../../bench/load/samples.ts";

Deno.test("a quantile of samples is one of them, whatever their order and however many they are", () => {
  const samples = new Samples();
  assertEquals(samples.quantiles(), null);
  const count = 100_000;
  for (let i = 1; i <= count; i++) samples.add(i * 7919 % 100_003 / 1000);
  const { count: counted, p50, p99, max } = samples.quantiles()!;
  assertEquals([counted, max], [count, 100.002]);
  // 100,003 is prime: the values are 100,000 of 1 to 100,002, each once.
  assertEquals([Math.round(p50), Math.round(p99)], [50, 99]);
});
