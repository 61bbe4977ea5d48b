import { assert, assertEquals, assertGreaterOrEqual, assertLessOrEqual } from "@std/assert";
import { Pacer, type Task } from "../../lib/engine/pacer.ts";
import { ManualTimers } from "../helpers/manual_timers.ts";

function setUp() {
  const timers = new ManualTimers();
  const fired: [name: string, at: number][] = [];
  const task = (name: string, then?: (now: number) => void): Task => ({
    fire(now) {
      fired.push([name, now]);
      then?.(now);
    },
  });
  const names = () => fired.map(([name]) => name);
  return { timers, pacer: new Pacer(timers), fired, names, task };
}

const drain = (timers: ManualTimers, most = 10_000) => {
  let fires = 0;
  while (timers.fire()) assert(++fires <= most, "the timer is armed for ever");
  return fires;
};

Deno.test("deadlines are absolute: a late timer makes each wait late, and never the next one later", () => {
  const { timers, pacer, fired, task } = setUp();
  timers.lateMs = 0.7;
  let due = 10;
  const ticking = task("tick", () => (due += 10) <= 1000 && pacer.at(due, ticking));
  pacer.at(due, ticking);
  drain(timers);
  assertEquals(fired.length, 100);
  fired.forEach(([, at], i) => assertLessOrEqual(at - 10 * (i + 1), 0.7 + 0.25));
});

Deno.test("a pacer says that it is firing while it does, and at no other time", () => {
  const { timers, pacer, task } = setUp();
  const seen = [pacer.firing];
  pacer.at(10, task("a", () => seen.push(pacer.firing)));
  const taken = task("taken back");
  pacer.at(
    20,
    task("b", () => {
      pacer.at(30, taken);
      pacer.cancel(taken);
      seen.push(pacer.firing);
    }),
  );
  seen.push(pacer.firing);
  drain(timers);
  seen.push(pacer.firing);
  assertEquals(seen, [false, false, true, true, false]);
});

Deno.test("no task fires before its deadline, at whatever fraction of a millisecond it lies", () => {
  const { timers, pacer, fired, task } = setUp();
  const dues = Array.from({ length: 400 }, (_, i) => (i * 7919 % 1000) / 33);
  dues.forEach((due) => pacer.at(due, task(String(due))));
  drain(timers);
  assertEquals(fired.length, dues.length);
  for (const [due, at] of fired) assertGreaterOrEqual(at, Number(due));
});

Deno.test("a clock that was idle is as exact as a busy one, for whatever is asked first", () => {
  for (const ahead of [0, 0.01, 0.1, 0.2, 1, 300]) {
    const { timers, pacer, fired, task } = setUp();
    timers.time = 100.05;
    pacer.at(100.05 + ahead, task("first"));
    timers.fire();
    assertEquals(fired.length, 1);
    assertLessOrEqual(fired[0][1] - (100.05 + ahead), 0.125);
  }
});

Deno.test("a timer that wakes early fires nothing and is set again for the rest", () => {
  const { timers, pacer, fired, task } = setUp();
  timers.lateMs = -1;
  pacer.at(10, task("a"));
  timers.fire();
  assertEquals([timers.time, fired, timers.live], [9, [], 1]);
  timers.lateMs = 0;
  drain(timers);
  assertEquals(fired, [["a", 10]]);
});

Deno.test("tasks fire by deadline, not by the order in which they were set; equal ones in that order", () => {
  const { timers, pacer, names, task } = setUp();
  for (const [name, due] of [["d", 30], ["b", 20], ["e", 40], ["a", 10], ["c", 20]] as const) {
    pacer.at(due, task(name));
  }
  timers.time = 100;
  timers.fire();
  assertEquals(names().join(""), "abcde");
});

Deno.test("a thousand deadlines in any order come out sorted", () => {
  const { timers, pacer, names, task } = setUp();
  for (let i = 0; i < 1000; i++) pacer.at((i * 619) % 1000, task(String((i * 619) % 1000)));
  drain(timers);
  assertEquals(names(), Array.from({ length: 1000 }, (_, i) => String(i)));
});

Deno.test("a task cancelled by another of the same wake-up, of its own tick or a later one, does not fire", () => {
  const { timers, pacer, names, task } = setUp();
  const [same, later] = [task("same"), task("later")];
  pacer.at(
    10,
    task("first", () => {
      pacer.cancel(same);
      pacer.cancel(later);
    }),
  );
  pacer.at(10, same);
  pacer.at(12, later);
  pacer.at(10, task("last"));
  timers.time = 20;
  drain(timers);
  assertEquals(names(), ["first", "last"]);
  assertEquals(timers.live, 0);
});

Deno.test("a task moved by another of the same tick fires once, at its new deadline", () => {
  const { timers, pacer, fired, task } = setUp();
  const moved = task("moved");
  pacer.at(10, task("mover", () => pacer.at(30, moved)));
  pacer.at(10, moved);
  drain(timers);
  assertEquals(fired, [["mover", 10], ["moved", 30]]);
});

Deno.test("setting a waiting task again replaces its deadline", () => {
  const { timers, pacer, fired, task } = setUp();
  const [a, b] = [task("a"), task("b")];
  pacer.at(10, a);
  pacer.at(10, b);
  pacer.at(5, a);
  pacer.at(20, b);
  drain(timers);
  assertEquals(fired, [["a", 5], ["b", 20]]);
});

Deno.test("a deadline already past is never served from inside at()", () => {
  const { timers, pacer, names, task } = setUp();
  timers.time = 100;
  pacer.at(10, task("a"));
  assertEquals(names(), []);
  timers.fire();
  assertEquals(names(), ["a"]);
});

Deno.test("a task that arms itself in the past fires once a wake-up, and nobody else waits for it", () => {
  const { timers, pacer, names, task } = setUp();
  const greedy = task("greedy", () => pacer.at(0, greedy));
  pacer.at(10, greedy);
  pacer.at(20, task("b"));
  pacer.at(21, task("c"));
  timers.time = 50;
  timers.fire();
  assertEquals(names(), ["greedy", "b", "c"]);
  timers.time = 51;
  timers.fire();
  assertEquals(names(), ["greedy", "b", "c", "greedy"]);
  pacer.cancel(greedy);
  assertEquals(timers.live, 0);
});

Deno.test("one timer serves many tasks: one wake-up for each tick, one timer at a time", () => {
  const { timers, pacer, fired, task } = setUp();
  for (let i = 0; i < 1000; i++) {
    pacer.at(10 + i % 20, task("a"));
    assertEquals(timers.live, 1);
  }
  assertLessOrEqual(drain(timers), 20);
  assertEquals(fired.length, 1000);
  assertLessOrEqual(timers.sets, 21);
});

Deno.test("an earlier deadline brings the timer forward, a later one leaves it", () => {
  const { timers, pacer, task } = setUp();
  pacer.at(50, task("a"));
  pacer.at(60, task("b"));
  assertEquals([timers.live, timers.sets], [1, 1]);
  pacer.at(20, task("c"));
  assertEquals([timers.live, timers.sets], [1, 2]);
  timers.fire();
  assertEquals(timers.time, 20);
});

Deno.test("the timer lives only while something waits", () => {
  const { timers, pacer, task } = setUp();
  assertEquals(timers.live, 0);
  const [a, b] = [task("a"), task("b")];
  pacer.at(10, a);
  pacer.at(10, b);
  pacer.cancel(a);
  assertEquals(timers.live, 1);
  pacer.cancel(b);
  assertEquals(timers.live, 0);
  pacer.at(10, a);
  assertEquals(timers.live, 1);
  timers.fire();
  assertEquals(timers.live, 0);
});

Deno.test("cancelling what does not wait does nothing, and leaves the others waiting", () => {
  const { timers, pacer, names, task } = setUp();
  const [a, b] = [task("a"), task("b")];
  pacer.cancel(b);
  pacer.at(10, a);
  pacer.cancel(b);
  pacer.at(12, b);
  pacer.cancel(b);
  pacer.cancel(b);
  drain(timers);
  assertEquals(names(), ["a"]);
});

Deno.test("tasks of one tick can be cancelled in any order, and the others still fire", () => {
  for (const gone of ["ade", "eda", "aec", "cba", "ae"]) {
    const { timers, pacer, names, task } = setUp();
    const tasks = new Map([..."abcde"].map((name) => [name, task(name)]));
    for (const each of tasks.values()) pacer.at(10, each);
    for (const name of gone) pacer.cancel(tasks.get(name)!);
    drain(timers);
    assertEquals(names().toSorted(), [..."abcde"].filter((name) => !gone.includes(name)));
  }
});

Deno.test("who is cancelled leaves nothing behind in its tick: set again for it, it comes after the others", () => {
  for (const [again, order] of [["a", "cba"], ["b", "acb"], ["ac", "bac"], ["ca", "bca"]]) {
    const { timers, pacer, names, task } = setUp();
    const tasks = new Map([..."abc"].map((name) => [name, task(name)]));
    for (const each of tasks.values()) pacer.at(10, each);
    for (const name of again) pacer.cancel(tasks.get(name)!);
    for (const name of again) pacer.at(10, tasks.get(name)!);
    drain(timers);
    assertEquals(names().join(""), order);
  }
});

Deno.test("a clock that has been emptied starts anew", () => {
  const { timers, pacer, fired, task } = setUp();
  const a = task("a");
  pacer.at(10, a);
  pacer.cancel(a);
  pacer.at(30, a);
  drain(timers);
  assertEquals(fired, [["a", 30]]);
});

Deno.test("of all that is due a wake-up fires a part, earliest first; the rest once the event loop had its turn", () => {
  const { timers, pacer, fired, names, task } = setUp();
  for (let i = 0; i < 500; i++) pacer.at(10 + Math.floor(i / 5), task(String(i)));
  timers.time = 200;
  const parts = [];
  for (let before = 0; timers.fire(); before = fired.length) {
    assertEquals(timers.live, fired.length < 500 ? 1 : 0);
    parts.push(fired.length - before);
  }
  assertEquals(names(), Array.from({ length: 500 }, (_, i) => String(i)));
  // Whole ticks of five.
  assertEquals(parts, Array(5).fill(100));
  assertEquals(timers.time, 200, "none of them has waited for a timer");
});

Deno.test("what falls due while others are served comes right after them", () => {
  const { timers, pacer, fired, task } = setUp();
  pacer.at(10, task("slow", () => timers.time += 5));
  pacer.at(12, task("meanwhile"));
  timers.fire();
  timers.fire();
  assertEquals(fired, [["slow", 10], ["meanwhile", 15]]);
});

Deno.test("a task whose deadline has passed again each time fires once between two turns of the event loop", () => {
  const { timers, pacer, names, task } = setUp();
  const greedy: Task = task("greedy", () => {
    timers.time += 5;
    pacer.at(timers.time, greedy);
  });
  pacer.at(0, greedy);
  for (let turn = 1; turn <= 10; turn++) {
    timers.fire();
    assertEquals([names().length, timers.live], [turn, 1]);
  }
});
