import type { Timers } from "../../lib/engine/timers.ts";

/** Timers that the test lets fire. */
export class ManualTimers implements Timers {
  time = 0;
  /** How much later than asked for a timer fires; negative is early. */
  lateMs = 0;
  /** How often a timer was set. */
  sets = 0;
  readonly #set: { fn: () => void; at: number }[] = [];

  now(): number {
    return this.time;
  }

  set(fn: () => void, ms: number): () => void {
    this.sets++;
    const timer = { fn, at: this.time + Math.max(0, ms + this.lateMs) };
    this.#set.push(timer);
    return () => this.#take(timer);
  }

  /** How many timers are set right now. */
  get live(): number {
    return this.#set.length;
  }

  /** Fires the earliest timer, and lets the time until it pass. False when none is set. */
  fire(): boolean {
    const timer = this.#set.toSorted((a, b) => a.at - b.at)[0];
    if (timer === undefined) return false;
    this.#take(timer);
    this.time = Math.max(this.time, timer.at);
    timer.fn();
    return true;
  }

  #take(timer: { fn: () => void; at: number }): void {
    const index = this.#set.indexOf(timer);
    if (index >= 0) this.#set.splice(index, 1);
  }
}
