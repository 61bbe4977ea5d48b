import { assertEquals, assertStringIncludes } from "@std/assert";
import { figuresOf, type Round } from "../../bench/upstream/figures.ts";
import { HELP } from "../../bench/upstream/options.ts";
import type { Taken } from "../../bench/upstream/window.ts";

function taken(p50: number, p99: number, cpuUsPerToken: number | null): Taken {
  return {
    tokens: 100,
    delay: { count: 100, p50, p99, max: p99 },
    ttft: { count: 1, p50: 1, p99: 1, max: 1 },
    cpuUsPerToken,
    generatorCpuShare: 0.1,
    otherCpuShare: null,
    problems: [],
  };
}

Deno.test("a figure is the median over the rounds of what the hop adds, the CPU as its ratio", () => {
  const round = (p50: number, p99: number, cpu: number): Round => ({
    direct: taken(1, 2, 10),
    hop: taken(1 + p50, 2 + p99, cpu),
  });
  const figures = figuresOf([round(0.25, 1, 40), round(4, 32, 15), round(0.5, 2, 20)]);
  assertEquals(figures.map(({ value }) => value), [0.5, 2, 2]);
});

Deno.test("where the CPU is not known, no figure is made of it", () => {
  const figures = figuresOf([{ direct: taken(1, 2, null), hop: taken(1, 2, 10) }]);
  assertEquals(figures.map(({ what }) => what), ["added per token, p50 in ms", "added per token, p99 in ms"]);
});

Deno.test("the help states every bound that the figures are held to", () => {
  for (const { most } of figuresOf([{ direct: taken(1, 2, 1), hop: taken(1, 2, 1) }])) {
    assertStringIncludes(HELP, `over ${most} `);
  }
});
