import { assertEquals } from "@std/assert";
import { Timeline } from "../../lib/stream/timeline.ts";

Deno.test("each token has its planned, actual and handed-over time in whole microseconds", () => {
  const timeline = new Timeline();
  timeline.produced(200, 200.2504);
  timeline.produced(220, 220.5);
  timeline.handed(230.125);
  assertEquals(timeline.length, 2);
  assertEquals(timeline.toJSON(), [
    { planned_us: 200_000, actual_us: 200_250, handed_us: 230_125 },
    { planned_us: 220_000, actual_us: 220_500, handed_us: null },
  ]);
});

Deno.test("a long timeline keeps every time at its token", () => {
  const timeline = new Timeline();
  for (let i = 0; i < 1000; i++) {
    timeline.produced(i, i + 1);
    if (i >= 3) timeline.handed(i + 2);
  }
  const times = timeline.toJSON();
  assertEquals(times.length, 1000);
  for (let i = 0; i < 1000; i++) {
    const handed_us = i < 997 ? (i + 5) * 1000 : null;
    assertEquals(times[i], { planned_us: i * 1000, actual_us: (i + 1) * 1000, handed_us });
  }
});

Deno.test("handing over more than was produced is passed over", () => {
  const timeline = new Timeline();
  timeline.handed(1);
  timeline.produced(1, 2);
  timeline.handed(3);
  timeline.handed(4);
  assertEquals(timeline.toJSON(), [{ planned_us: 1000, actual_us: 2000, handed_us: 3000 }]);
});

Deno.test("a time before the arrival is 0, one too long to be kept is the longest there is", () => {
  const timeline = new Timeline();
  timeline.produced(-5, 1e10);
  assertEquals(timeline.toJSON(), [{ planned_us: 0, actual_us: 0xffff_ffff, handed_us: null }]);
});

Deno.test("the first 16,384 tokens are timed, and what comes after them costs nothing", () => {
  const timeline = new Timeline();
  for (let i = 0; i < 20_000; i++) {
    timeline.produced(1, 2);
    timeline.handed(3);
  }
  assertEquals(timeline.length, 16_384);
  assertEquals(timeline.toJSON().at(-1), { planned_us: 1000, actual_us: 2000, handed_us: 3000 });
});
