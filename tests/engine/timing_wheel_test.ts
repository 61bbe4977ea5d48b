import { assert, assertEquals } from "@std/assert";
import { draw } from "../../lib/engine/hash.ts";
import { type Task, TimingWheel } from "../../lib/engine/timing_wheel.ts";

const NOW = () => 0;

/** A task that notes its name, and may do something when it fires. */
function task(fired: string[], name: string, then = () => {}): Task {
  return {
    fire() {
      fired.push(name);
      then();
    },
  };
}

Deno.test("whatever is added, moved and removed, near and far, each task fires once, in order of ticks, as many as are enough", () => {
  for (let run = 0; run < 60; run++) {
    const wheel = new TimingWheel();
    const waiting = new Map<Task, number>();
    const fired: number[] = [];
    const tasks = Array.from({ length: 40 }, (): Task => {
      const self: Task = {
        fire() {
          fired.push(waiting.get(self)!);
          waiting.delete(self);
        },
      };
      return self;
    });
    let now = draw(run, 0, 0) % 5000;
    let served = now - 1;
    wheel.skip(now - 1);
    for (let step = 0; step < 400; step++) {
      const chosen = tasks[draw(run, 1, step) % tasks.length];
      // Near for most, a few ticks beyond the slots, far, and ticks that are over.
      const ahead = [300, 2100, 50_000, 1, -700][draw(run, 2, step) % 5];
      const due = now + Math.sign(ahead) * (draw(run, 3, step) % Math.abs(ahead));
      switch (draw(run, 4, step) % 4) {
        case 0:
        case 1:
          wheel.remove(chosen);
          waiting.set(chosen, wheel.add(due, chosen));
          assert(waiting.get(chosen)! >= Math.max(due, served + 1), "no tick that was served gets more");
          break;
        case 2:
          wheel.remove(chosen);
          waiting.delete(chosen);
          break;
        default: {
          now += draw(run, 5, step) % [10, 400, 30_000][draw(run, 6, step) % 3];
          fired.length = 0;
          const due = [...waiting.values()].filter((tick) => tick <= now).sort((a, b) => a - b);
          assert(due.length === 0 || wheel.first <= due[0]);
          const enough = [1, 3, Infinity][draw(run, 7, step) % 3];
          wheel.serve(now, NOW, enough);
          served = now;
          // Whole ticks, as few as make enough.
          assertEquals(fired, due.filter((tick) => due.indexOf(tick) < enough));
        }
      }
      assertEquals(wheel.size, waiting.size);
      assert(wheel.first <= Math.min(...waiting.values()));
      assertEquals(wheel.first === Infinity, waiting.size === 0);
    }
  }
});

Deno.test("a tick is served whole, also when some of its tasks have waited from afar and others not", () => {
  const wheel = new TimingWheel();
  const fired: string[] = [];
  wheel.add(3000, task(fired, "far"));
  wheel.add(3000, task(fired, "far too"));
  wheel.add(2000, task(fired, "before"));
  wheel.serve(2000, NOW, 1);
  wheel.add(3000, task(fired, "near"));
  wheel.add(3001, task(fired, "after"));
  wheel.serve(4000, NOW, 2);
  assertEquals(fired, ["before", "far", "far too", "near"]);
  assertEquals([wheel.first, wheel.size], [3001, 1]);
});

Deno.test("tasks of one tick fire in the order in which they were added, near and far", () => {
  for (const tick of [100, 100_000]) {
    const wheel = new TimingWheel();
    const fired: string[] = [];
    for (const name of "abcdefgh") wheel.add(tick, task(fired, name));
    wheel.serve(tick - 1, NOW);
    assertEquals(fired, []);
    wheel.serve(tick, NOW);
    assertEquals(fired.join(""), "abcdefgh");
  }
});

Deno.test("each task of a tick reads ahead once, before it fires and at most sixteen before the one that fires", () => {
  const wheel = new TimingWheel();
  const read = new Set<number>();
  let fired = 0;
  for (let name = 0; name < 100; name++) {
    wheel.add(100, {
      prefetch() {
        assert(!read.has(name));
        read.add(name);
        return -1;
      },
      fire() {
        assert(read.has(name));
        assertEquals(name, fired++);
        assert(read.size - name <= 16);
      },
    });
  }
  wheel.serve(100, NOW);
  assertEquals([read.size, fired], [100, 100]);
});

Deno.test("what a task adds while it is served waits for a later tick, in whichever slot that one is", () => {
  const wheel = new TimingWheel();
  const fired: string[] = [];
  // 2,048 ticks on is the same slot, which is being served.
  for (const ahead of [-5, 0, 1, 2047, 2048, 2049, 4096]) {
    wheel.add(10, task(fired, `adds ${ahead}`, () => wheel.add(10 + ahead, task(fired, `added ${ahead}`))));
  }
  wheel.serve(10, NOW);
  assertEquals(fired.splice(0).length, 7);
  for (const [due, wanted] of [[11, 3], [2056, 0], [2057, 1], [2058, 1], [2059, 1], [4105, 0], [4106, 1]]) {
    wheel.serve(due, NOW);
    assertEquals(fired.splice(0).length, wanted, `up to tick ${due}`);
  }
  assertEquals([wheel.size, wheel.first], [0, Infinity]);
});

Deno.test("a task removed by an earlier one of its own tick does not fire, nor one moved out of it", () => {
  for (const tick of [10, 100_000]) {
    const wheel = new TimingWheel();
    const fired: string[] = [];
    const removed = task(fired, "removed");
    const moved = task(fired, "moved");
    wheel.add(
      tick,
      task(fired, "first", () => {
        wheel.remove(removed);
        wheel.remove(moved);
        wheel.add(tick + 5, moved);
      }),
    );
    wheel.add(tick, removed);
    wheel.add(tick, moved);
    wheel.add(tick, task(fired, "last"));
    wheel.serve(tick, NOW);
    assertEquals([fired.join(" "), wheel.size], ["first last", 1]);
    wheel.serve(tick + 5, NOW);
    assertEquals([fired.join(" "), wheel.size], ["first last moved", 0]);
  }
});

Deno.test("a wheel that was cleared starts anew, also far behind the tick it had come to", () => {
  const wheel = new TimingWheel();
  const fired: string[] = [];
  for (const tick of [5, 60_000]) {
    const gone = task(fired, "gone");
    wheel.add(tick, gone);
    wheel.remove(gone);
  }
  wheel.clear();
  assertEquals([wheel.size, wheel.first], [0, Infinity]);
  wheel.skip(1_000_000);
  assertEquals(wheel.add(3, task(fired, "late")), 1_000_001);
  wheel.serve(1_000_001, NOW);
  assertEquals(fired, ["late"]);
});

Deno.test("a crowd in one tick is served whole, and its slot serves again", () => {
  const wheel = new TimingWheel();
  const fired: string[] = [];
  for (const tick of [7, 7 + 2048]) {
    wheel.skip(tick - 1);
    for (let i = 0; i < 5000; i++) wheel.add(tick, task(fired, "a"));
    wheel.serve(tick, NOW);
    assertEquals([fired.splice(0).length, wheel.size], [5000, 0]);
  }
});

Deno.test("a far task and a near one of the same slot are not taken for each other", () => {
  const wheel = new TimingWheel();
  const fired: string[] = [];
  const near = task(fired, "near");
  const far = task(fired, "far");
  wheel.add(10, near);
  wheel.add(10 + 2 * 2048, far);
  wheel.remove(far);
  wheel.serve(10, NOW);
  assertEquals([fired.splice(0), wheel.size], [["near"], 0]);
  wheel.serve(10 + 2 * 2048, NOW);
  assertEquals(fired, []);
});

Deno.test("far tasks of one tick can be removed in any order, and the others still fire", () => {
  for (let run = 0; run < 24; run++) {
    const wheel = new TimingWheel();
    const fired: string[] = [];
    const tasks = [..."abcd"].map((name) => task(fired, name));
    for (const each of tasks) wheel.add(50_000, each);
    const gone = new Set<number>();
    for (let i = 0; i < 3; i++) {
      const chosen = draw(run, 1, i) % 4;
      wheel.remove(tasks[chosen]);
      gone.add(chosen);
    }
    wheel.serve(50_000, NOW);
    assertEquals(fired.sort().join(""), [..."abcd"].filter((_, i) => !gone.has(i)).join(""));
  }
});

Deno.test("in one tick those that have waited from afar fire before those that came when it was near", () => {
  const wheel = new TimingWheel();
  const fired: string[] = [];
  wheel.add(5000, task(fired, "from afar"));
  wheel.add(4000, task(fired, "before"));
  wheel.serve(4000, NOW);
  wheel.add(5000, task(fired, "near"));
  wheel.serve(5000, NOW);
  assertEquals(fired, ["before", "from afar", "near"]);
});

Deno.test("ticks are not passed over while a near task waits in one of them", () => {
  const wheel = new TimingWheel();
  const fired: string[] = [];
  wheel.add(10, task(fired, "waiting"));
  wheel.skip(500);
  assertEquals(wheel.add(20, task(fired, "added")), 20);
  wheel.serve(20, NOW);
  assertEquals(fired, ["waiting", "added"]);
});

Deno.test("tasks are told the time as it goes on, also within a tick: it is looked at for every 32nd", () => {
  for (const tick of [10, 100_000]) {
    const wheel = new TimingWheel();
    const told: number[] = [];
    let time = 0;
    let looks = 0;
    const now = () => (looks++, time);
    for (let i = 0; i < 100; i++) {
      wheel.add(tick, {
        fire(at) {
          told.push(at);
          time++;
        },
      });
    }
    time = 500;
    wheel.serve(tick, now);
    assertEquals([looks, told[0], told[31], told[32], told[99]], [4, 500, 500, 532, 596]);
    // Each call looks anew.
    wheel.add(tick + 1, { fire: (at) => told.push(at) });
    time = 9000;
    wheel.serve(tick + 1, now);
    assertEquals(told[100], 9000);
  }
});
