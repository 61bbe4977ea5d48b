import type { Prefetching } from "../prefetch.ts";
import { pop, push } from "./min_heap.ts";

/** Something that waits for a tick. One object per waiter, used again for each of its waits. */
export interface Task extends Prefetching {
  /** Called once, at or after the deadline, with the clock's time in milliseconds. Must not throw. */
  fire(now: number): void;
  /** The tick the task waits in, or undefined. Owned by the wheel, like `index`, its place among those of that tick. */
  tick?: number | undefined;
  index?: number;
}

/** Ticks that have a place of their own: a power of two. */
const SLOTS = 2048;
const MASK = SLOTS - 1;

/** Tasks fired between two looks at the clock (0.1 µs each). A token takes 1 to 2 µs here: a time is some 50 µs old at most. */
const TASKS_PER_LOOK = 32;

/**
 * Tasks whose state is read before the first of them is fired. With 57, all of a wake-up at 50,000 tokens/s, they push
 * each other out of the nearest cache again: 2.7 µs of our own code a token, with the 6 of a tick 2.1, without 2.6.
 */
const READ_AHEAD = 16;

/** A slot that held more lets go of its array: with 2,048 of them one crowd each would be kept for ever. */
const MAX_KEPT = 64;

/**
 * Tasks by the tick they wait in (G. Varghese, T. Lauck, "Hashed and hierarchical timing wheels", 1987). The next
 * ticks have an array each that is used again and again, so that a wait costs one store and no garbage; what is
 * farther off, a watch over seconds of silence, lies in a map.
 */
export class TimingWheel {
  readonly #slots: (Task | undefined)[][] = Array.from({ length: SLOTS }, () => []);
  /** How many wait in each slot. */
  readonly #sizes = new Uint32Array(SLOTS);
  readonly #far = new Map<number, (Task | undefined)[]>();
  /** The ticks in `#far`: a heap. */
  readonly #farTicks: number[] = [];
  /** No slot before this tick has a task. Infinity: none has. */
  #next = Infinity;
  /** Nothing more is added to the ticks before it. */
  #earliest = 0;
  /** Slots serve the ticks before this one: `SLOTS` beyond the earliest that may still have a task in its slot. */
  #limit = SLOTS;
  #size = 0;
  /** The time as the tasks that fire are told it. */
  #now = 0;
  #untilLook = 0;
  #readAhead = 0;

  /** How many tasks wait. */
  get size(): number {
    return this.#size;
  }

  /** No task waits in an earlier tick; Infinity when none waits. */
  get first(): number {
    if (this.#size === 0) return Infinity;
    return this.#farTicks.length > 0 ? Math.min(this.#next, this.#farTicks[0]) : this.#next;
  }

  /** Ticks up to `tick` are over, though nothing was served in them. Does nothing while a near task waits. */
  skip(tick: number): void {
    if (this.#next !== Infinity || tick < this.#earliest) return;
    this.#earliest = tick + 1;
    this.#limit = this.#earliest + SLOTS;
  }

  /** `task`, which must not be waiting, waits for `tick`, or for the next one when that is over. Returns which. */
  add(tick: number, task: Task): number {
    if (tick < this.#earliest) tick = this.#earliest;
    task.tick = tick;
    this.#size++;
    if (tick < this.#limit) {
      const slot = tick & MASK;
      const size = this.#sizes[slot];
      task.index = size;
      this.#slots[slot][size] = task;
      this.#sizes[slot] = size + 1;
      if (tick < this.#next) this.#next = tick;
      return tick;
    }
    const bucket = this.#far.get(tick);
    if (bucket !== undefined) {
      task.index = bucket.length;
      bucket.push(task);
    } else {
      task.index = 0;
      this.#far.set(tick, [task]);
      push(this.#farTicks, tick);
    }
    return tick;
  }

  /** Takes back `add`. Does nothing when the task is not waiting. */
  remove(task: Task): void {
    const tick = task.tick;
    if (tick === undefined) return;
    const index = task.index!;
    task.tick = undefined;
    this.#size--;
    const slot = tick & MASK;
    const near = this.#slots[slot];
    const size = this.#sizes[slot];
    if (index < size && near[index] === task) {
      const last = near[index] = near[size - 1]!;
      last.index = index;
      near[size - 1] = undefined;
      this.#sizes[slot] = size - 1;
      return;
    }
    // Neither here nor there: that tick is being fired right now, and the loop there passes over this task. Of an emptied
    // bucket the tick stays in the heap: taking it out would cost more than a wake-up for nothing.
    const far = this.#far.get(tick);
    if (far === undefined || far[index] !== task) return;
    const last = far.pop()!;
    if (last !== task) {
      far[index] = last;
      last.index = index;
    } else if (far.length === 0) this.#far.delete(tick);
  }

  /** Forgets the far ticks that no task waits for any more. Only when no task waits at all. */
  clear(): void {
    this.#next = Infinity;
    this.#far.clear();
    this.#farTicks.length = 0;
  }

  /**
   * Fires what waits up to the tick `due`, earlier ticks first and each of them whole, until that are `enough` tasks: then
   * `first` may be due still. What is added meanwhile waits for a tick after `due`: who adds himself each time keeps
   * nobody waiting.
   */
  serve(due: number, now: () => number, enough = Infinity): void {
    this.#earliest = Math.max(this.#earliest, due + 1);
    this.#untilLook = 0;
    for (let served = 0; served < enough;) {
      const far = this.#farTicks.length > 0 ? this.#farTicks[0] : Infinity;
      const tick = Math.min(this.#next, far);
      if (tick > due) break;
      if (far === tick) served += this.#fireFar(tick, now);
      if (this.#next === tick) served += this.#fireSlot(tick, now);
    }
    this.#limit = Math.min(this.#earliest, this.#next) + SLOTS;
  }

  /** Returns how many there were. */
  #fireSlot(tick: number, now: () => number): number {
    const slot = tick & MASK;
    const tasks = this.#slots[slot];
    const size = this.#sizes[slot];
    this.#sizes[slot] = 0;
    if (size > MAX_KEPT) this.#slots[slot] = [];
    for (let i = 0; i < size; i++) {
      if (i % READ_AHEAD === 0) this.#readAhead = prefetch(tasks, i, Math.min(i + READ_AHEAD, size));
      const task = tasks[i]!;
      tasks[i] = undefined;
      this.#fire(task, tick, now);
    }
    let next = tick + 1;
    while (next < this.#limit && this.#sizes[next & MASK] === 0) next++;
    this.#next = next < this.#limit ? next : Infinity;
    return size;
  }

  #fireFar(tick: number, now: () => number): number {
    const tasks = this.#far.get(tick) ?? [];
    this.#far.delete(tick);
    pop(this.#farTicks);
    for (const task of tasks) this.#fire(task!, tick, now);
    return tasks.length;
  }

  #fire(task: Task, tick: number, now: () => number): void {
    // Cancelled, or set anew, by another one of this tick.
    if (task.tick !== tick) return;
    task.tick = undefined;
    this.#size--;
    // Now and then: a thousand tokens take milliseconds, and their times are to be the true ones.
    if (this.#untilLook-- === 0) {
      this.#untilLook = TASKS_PER_LOOK - 1;
      this.#now = now();
    }
    task.fire(this.#now);
  }
}

function prefetch(tasks: (Task | undefined)[], from: number, to: number): number {
  let read = 0;
  for (let i = from; i < to; i++) read ^= tasks[i]!.prefetch?.() ?? 0;
  return read;
}
