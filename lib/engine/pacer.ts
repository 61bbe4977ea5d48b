import { fineTimers, type Timers } from "./timers.ts";

/** Something to be called at a deadline. One object per waiter, used again for each of its waits. */
export interface Task {
  /** Called once, at or after the deadline, with the clock's time in milliseconds. Must not throw. */
  fire(now: number): void;
  /** The tick the task waits in, or undefined. Owned by the clock, like `index`, its place in that tick's bucket. */
  tick?: number | undefined;
  index?: number;
}

/** The one source of time: injected, so that tests decide what time it is. */
export interface Clock {
  /** Milliseconds, monotonic, with fractions. */
  now(): number;
  /** Calls `task.fire` at `due` (at once, but never from inside this call, when that has passed). */
  at(due: number, task: Task): void;
  /** Takes back `at`. Does nothing when the task is not waiting. */
  cancel(task: Task): void;
}

/**
 * Deadlines that fall into the same tick share one wake-up. An eighth of a millisecond is nothing a reader can see, and a
 * power of two, so that a tick's time is exact and `floor` and `ceil` agree on it.
 */
const TICK_MS = 0.125;

/** How often a wake-up looks for more that has fallen due. */
const ROUNDS = 4;

/**
 * One clock for all waits of a process: deadlines are absolute and one timer wakes all that is due.
 *
 * A timer per stream drifts, because each is chained to the late end of the one before, and costs most of the CPU
 * of a token. Here a wait is a push into the tick's bucket, and a wake-up serves every stream of that tick. A task
 * never fires early. The timer lives only while something waits, so an idle process can end.
 */
export class Pacer implements Clock {
  readonly #timers: Timers;
  readonly #buckets = new Map<number, Task[]>();
  /** Ticks that have a bucket, smallest first: a binary heap. */
  readonly #ticks: number[] = [];
  #timer: (() => void) | undefined;
  #armedFor = Infinity;
  #waiting = 0;
  /** The last tick of the wake-up that is going on; -Infinity between wake-ups. */
  #serving = -Infinity;

  constructor(timers: Timers = fineTimers()) {
    this.#timers = timers;
  }

  now(): number {
    return this.#timers.now();
  }

  /** Tasks are being fired: as many as are due, after which the event loop has its turn. */
  get firing(): boolean {
    return this.#armedFor === -Infinity;
  }

  at(due: number, task: Task): void {
    if (task.tick !== undefined) this.cancel(task);
    // A deadline already past, asked for while tasks fire, waits for the next wake-up: served in this one, a task that
    // does so each time would keep it going for ever, and those behind it waiting.
    const tick = Math.max(Math.ceil(due / TICK_MS), this.#serving + 1);
    task.tick = tick;
    this.#waiting++;
    const bucket = this.#buckets.get(tick);
    if (bucket !== undefined) {
      task.index = bucket.length;
      bucket.push(task);
      return;
    }
    task.index = 0;
    this.#buckets.set(tick, [task]);
    push(this.#ticks, tick);
    if (tick < this.#armedFor) this.#arm(tick);
  }

  cancel(task: Task): void {
    if (task.tick === undefined) return;
    const bucket = this.#buckets.get(task.tick);
    task.tick = undefined;
    this.#waiting--;
    // No bucket, or another at its place: that tick is being fired right now, and the loop there passes over this task.
    if (bucket !== undefined && bucket[task.index!] === task) {
      const last = bucket.pop()!;
      if (last !== task) {
        bucket[task.index!] = last;
        last.index = task.index!;
      }
    }
    // An emptied bucket stays in the heap until its tick: removing it would cost more than one idle wake-up. But
    // when nothing at all waits any more, the timer must not keep the process alive.
    if (this.#waiting === 0 && this.#armedFor !== -Infinity) this.#disarm();
  }

  #disarm(): void {
    this.#timer?.();
    this.#timer = undefined;
    this.#armedFor = Infinity;
    this.#buckets.clear();
    this.#ticks.length = 0;
  }

  #arm(tick: number): void {
    this.#timer?.();
    this.#armedFor = tick;
    this.#timer = this.#timers.set(this.#wake, Math.max(0, tick * TICK_MS - this.#timers.now()));
  }

  readonly #wake = (): void => {
    this.#timer = undefined;
    // While firing, at() must not arm: that is done once, at the end.
    this.#armedFor = -Infinity;
    // What falls due while others are served need not wait for the next wake-up, a millisecond away; but the event
    // loop must have its turn.
    for (let round = 0; round < ROUNDS && this.#serve(Math.floor(this.#timers.now() / TICK_MS)); round++);
    this.#serving = -Infinity;
    this.#armedFor = Infinity;
    if (this.#waiting === 0) this.#disarm();
    else this.#arm(this.#ticks[0]);
  };

  /** Fires all tasks up to the tick `due`. False when there was none. */
  #serve(due: number): boolean {
    const ticks = this.#ticks;
    if (ticks.length === 0 || ticks[0] > due) return false;
    this.#serving = due;
    while (ticks.length > 0 && ticks[0] <= due) {
      const tick = pop(ticks);
      const bucket = this.#buckets.get(tick)!;
      this.#buckets.delete(tick);
      // Read for each bucket: a thousand tokens take milliseconds, and their times are to be the true ones.
      const now = this.#timers.now();
      for (let i = 0; i < bucket.length; i++) {
        const task = bucket[i];
        if (task.tick !== tick) continue;
        task.tick = undefined;
        this.#waiting--;
        task.fire(now);
      }
    }
    return true;
  }
}

function push(heap: number[], value: number): void {
  let i = heap.length;
  heap.push(value);
  while (i > 0) {
    const parent = (i - 1) >> 1;
    if (heap[parent] <= value) break;
    heap[i] = heap[parent];
    i = parent;
  }
  heap[i] = value;
}

function pop(heap: number[]): number {
  const top = heap[0];
  const value = heap.pop()!;
  const size = heap.length;
  if (size === 0) return top;
  let i = 0;
  for (;;) {
    let child = 2 * i + 1;
    if (child >= size) break;
    if (child + 1 < size && heap[child + 1] < heap[child]) child++;
    if (heap[child] >= value) break;
    heap[i] = heap[child];
    i = child;
  }
  heap[i] = value;
  return top;
}
