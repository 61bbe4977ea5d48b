import { assertEquals } from "@std/assert";
import { draw } from "../../lib/engine/hash.ts";
import { type Timed, type TokenTime, TokenTimes, UNTIMED } from "../../lib/stream/token_times.ts";

const generation = (arrivedAt = 0): Timed => ({ ...UNTIMED, arrivedAt });

Deno.test("each token has its planned, actual and handed-over time in whole microseconds from the arrival", () => {
  const times = new TokenTimes();
  const of = generation(1000);
  assertEquals(times.read(of), []);
  times.produced(of, 1200, 1200.2504);
  times.produced(of, 1220, 1220.5);
  times.handed(of, 1230.125);
  assertEquals(times.read(of), [
    { planned_us: 200_000, actual_us: 200_250, handed_us: 230_125 },
    { planned_us: 220_000, actual_us: 220_500, handed_us: null },
  ]);
});

Deno.test("handing over more than was produced is passed over", () => {
  const times = new TokenTimes();
  const of = generation();
  times.handed(of, 1);
  times.produced(of, 1, 2);
  times.handed(of, 3);
  times.handed(of, 4);
  assertEquals(times.read(of), [{ planned_us: 1000, actual_us: 2000, handed_us: 3000 }]);
});

Deno.test("a time before the arrival is 0, one too long to be kept is null", () => {
  const times = new TokenTimes();
  const of = generation(10);
  times.produced(of, 5, 1e10);
  assertEquals(times.read(of), [{ planned_us: 0, actual_us: null, handed_us: null }]);
});

Deno.test("the first 16,384 tokens of a generation are timed, those behind them leave the others their room", () => {
  const times = new TokenTimes();
  const of = generation();
  for (let i = 0; i < 20_000; i++) {
    times.produced(of, i, i + 1);
    times.handed(of, i + 2);
  }
  assertEquals(times.read(of)!.length, 16_384);
  assertEquals(times.read(of)!.at(-1), {
    planned_us: 16_383_000,
    actual_us: 16_384_000,
    handed_us: 16_385_000,
  });
});

Deno.test("whoever's tokens come between, each generation reads its own, or null once the first is written over", () => {
  const most = 4096;
  for (let run = 0; run < 4; run++) {
    const times = new TokenTimes(most);
    const begin = (arrivedAt: number) => ({
      of: generation(arrivedAt),
      own: [] as TokenTime[],
      first: 0,
      handed: 0,
    });
    const all = Array.from({ length: 12 }, (_, i) => begin(i));
    let made = 0;
    for (let step = 0; step < 40_000; step++) {
      // Most rest until all they had is written over by three, and then go on.
      const among = (step >> 13) % 3 === 0 ? all.length : 3;
      // The three are new ones now and then, whose times are all kept when the others go on.
      if (among === 3 && step % 4096 === 0) { for (let i = 0; i < 3; i++) all[i] = begin(i); }
      const one = all[draw(run, 1, step) % among];
      const at = one.of.arrivedAt + step;
      if (draw(run, 2, step) % 2 === 0) {
        if (one.own.length === 0) one.first = made;
        times.produced(one.of, at, at + 1);
        made++;
        one.own.push({ planned_us: step * 1000, actual_us: (step + 1) * 1000, handed_us: null });
      } else {
        times.handed(one.of, at);
        if (one.handed < one.own.length) one.own[one.handed++].handed_us = step * 1000;
      }
      if (step % 997 === 0) {
        for (const { of, own, first } of all) {
          const kept = own.length === 0 || made - first <= most;
          assertEquals(times.read(of), kept ? own : null, `run ${run}, step ${step}`);
        }
      }
    }
  }
});

Deno.test("a server that made few tokens keeps room for few", () => {
  const sizes: number[] = [];
  class Noted extends Uint32Array {
    constructor(length: number) {
      super(length);
      sizes.push(this.byteLength);
    }
  }
  const { Uint32Array: original } = globalThis;
  globalThis.Uint32Array = Noted as unknown as Uint32ArrayConstructor;
  try {
    const times = new TokenTimes();
    for (let i = 0; i < 5000; i++) times.produced(generation(), i, i);
  } finally {
    globalThis.Uint32Array = original;
  }
  assertEquals(sizes, [65_536, 65_536]);
});
