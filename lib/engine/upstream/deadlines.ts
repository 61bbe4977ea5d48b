import type { TapError } from "../../errors.ts";
import type { Clock, Task } from "../pacer.ts";
import { tooLate } from "./failures.ts";

/** Times are milliseconds. */
export interface UpstreamLimits {
  connectMs: number;
  /** Longest silence: no head, or no event that belongs to an answer. Comments and pings do not end it. */
  idleMs: number;
  totalMs: number;
}

/** The times one generation has to keep. Calls `late` once, with what was not kept. */
export class Deadlines implements Task {
  tick?: number;
  readonly #clock: Clock;
  readonly #limits: UpstreamLimits;
  readonly #late: (error: TapError) => void;
  readonly #beganAt: number;
  #progressAt: number;
  #connecting = true;
  #paused = false;
  #graceMs: number | undefined;
  #graceEnds = Infinity;

  constructor(clock: Clock, limits: UpstreamLimits, late: (error: TapError) => void) {
    this.#clock = clock;
    this.#limits = limits;
    this.#late = late;
    this.#beganAt = this.#progressAt = clock.now();
    this.#arm(this.#beganAt);
  }

  connected(): void {
    this.#connecting = false;
    this.#progressAt = this.#clock.now();
  }

  /** The upstream did something at `now` that is no silence. Costs nothing: the timer looks at it when it fires. */
  progress(now: number): void {
    this.#progressAt = now;
  }

  /** While it is the reader who is silent, the upstream cannot be late with the next event. */
  pause(paused: boolean): void {
    this.#paused = paused;
    if (paused) this.#graceEnds = Infinity;
    this.#progressAt = this.#clock.now();
    if (!paused && this.#graceMs !== undefined) this.grace(this.#graceMs);
  }

  /** Only so long is waited for what is left to come. */
  grace(ms: number): void {
    const now = this.#clock.now();
    this.#graceMs = ms;
    this.#graceEnds = this.#paused ? Infinity : now + ms;
    this.#arm(now);
  }

  stop(): void {
    this.#clock.cancel(this);
  }

  fire(now: number): void {
    const { connectMs, idleMs, totalMs } = this.#limits;
    if (now >= this.#graceEnds) this.#miss("did not end its stream", this.#graceMs!);
    else if (now >= this.#beganAt + totalMs) this.#miss("did not end", totalMs);
    else if (this.#connecting && now >= this.#beganAt + connectMs) this.#miss("did not connect", connectMs);
    else if (!this.#paused && now >= this.#progressAt + idleMs) this.#miss("said nothing", idleMs);
    else this.#arm(now);
  }

  #miss(what: string, ms: number): void {
    this.#late(tooLate(what, ms));
  }

  #arm(now: number): void {
    const { connectMs, idleMs, totalMs } = this.#limits;
    const due = Math.min(
      this.#graceEnds,
      this.#beganAt + totalMs,
      (this.#paused ? now : this.#progressAt) + idleMs,
      this.#connecting ? this.#beganAt + connectMs : Infinity,
    );
    this.#clock.at(due, this);
  }
}
