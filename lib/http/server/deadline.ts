/**
 * Until when something is waited for, and what happens when it has not come. It is looked at now and then by whoever
 * has many: a timer for each would cost every request two.
 */
export class Deadline {
  readonly #now: () => number;
  #at = Infinity;
  #onOverdue!: () => void;

  /** @param now milliseconds of any clock that only goes forward */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Something is waited for. */
  get running(): boolean {
    return this.#at !== Infinity;
  }

  /** Waits `ms` from now on, in the place of what was waited for before. */
  within(ms: number, onOverdue: () => void): void {
    this.#at = this.#now() + ms;
    this.#onOverdue = onOverdue;
  }

  /** What was waited for has come, and what comes next may take any time. */
  lift(): void {
    this.#at = Infinity;
  }

  /** Does what is to be done when it is overdue at `now`. */
  check(now: number): void {
    if (now >= this.#at) this.#onOverdue();
  }
}
