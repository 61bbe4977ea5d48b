import type { Clock, Task } from "../../lib/engine/pacer.ts";

/** Firings that one `advance` may take: more is a task that arms itself for ever. */
const MAX_FIRINGS = 1_000_000;

/** A clock whose time the test decides. Tasks fire by deadline, equal ones in the order in which they were set. */
export class ManualClock implements Clock {
  #now: number;
  #waiting: { due: number; task: Task }[] = [];

  constructor(now = 0) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  at(due: number, task: Task): void {
    this.cancel(task);
    task.tick = due;
    const after = this.#waiting.findIndex((other) => other.due > due);
    this.#waiting.splice(after < 0 ? this.#waiting.length : after, 0, { due, task });
  }

  cancel(task: Task): void {
    if (task.tick === undefined) return;
    task.tick = undefined;
    this.#waiting = this.#waiting.filter((other) => other.task !== task);
  }

  /** The deadlines that are waited for, the earliest first. */
  get deadlines(): number[] {
    return this.#waiting.map(({ due }) => due);
  }

  /** Lets `ms` pass. Each task fires exactly at its deadline. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (let firings = 0; this.#waiting.length > 0 && this.#waiting[0].due <= end; firings++) {
      if (firings > MAX_FIRINGS) throw new Error(`a task arms itself for ever at ${this.#now} ms`);
      this.#fire(Math.max(this.#now, this.#waiting[0].due));
    }
    this.#now = end;
  }

  /** Lets `ms` pass as when the process is blocked: what falls due in between fires at the end of it. */
  block(ms: number): void {
    this.#now += ms;
    const due = this.#waiting.filter((each) => each.due <= this.#now).length;
    for (let i = 0; i < due && this.#waiting[0]?.due <= this.#now; i++) this.#fire(this.#now);
  }

  /** As `advance`, and the promises settle after each deadline, so that who awaits goes on before the next. */
  async pass(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settle();
    while (this.#waiting.length > 0 && this.#waiting[0].due <= end) {
      this.#fire(Math.max(this.#now, this.#waiting[0].due));
      await settle();
    }
    this.#now = end;
  }

  #fire(now: number): void {
    this.#now = now;
    const { task } = this.#waiting.shift()!;
    task.tick = undefined;
    task.fire(now);
  }
}

/** Lets every promise that can settle do so. No time passes; timers and sockets get no turn. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 100; i++) await undefined;
}
