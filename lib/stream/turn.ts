import { nextRound } from "../event_loop.ts";

/**
 * How long one turn of the event loop may be spent on tokens before timers and messages get theirs: they wait for one
 * turn, a request for those between two looks at the sockets. More would save 0.6 % at most: a round costs 3 µs (see
 * `nextRound`).
 */
const BUDGET_MS = 0.5;

/** Asked again after more than this, somebody else has run meanwhile: a new turn begins. */
const PAUSE_MS = 4;

/** Each time would cost a paced stream more than the token. */
const WAKES_PER_LOOK = 16;

/**
 * Keeps an engine that always has a token ready from starving the event loop: promises alone never leave the
 * microtask queue. All streams of a process share one budget, since they share one loop. Whether the loop has gone
 * round between two questions cannot be seen from here and is not asked: a round too many every few milliseconds
 * costs less than watching for it.
 */
export class Turn {
  readonly #now: () => number;
  readonly #bounded: () => boolean;
  #began = -Infinity;
  #asked = -Infinity;
  #wakes = 0;
  /** Who goes on in the next turn, first come first. */
  #waiting: (() => void)[] = [];
  #coming = false;

  /**
   * @param now milliseconds
   * @param bounded whether somebody else sees to it that what runs now comes to an end: the clock, while it fires
   */
  constructor(now: () => number = () => performance.now(), bounded: () => boolean = () => false) {
    this.#now = now;
    this.#bounded = bounded;
  }

  /** True when the budget is used up: the caller should go on in `next`. */
  spent(): boolean {
    if (this.#bounded()) return false;
    const now = this.#now();
    if (now - this.#asked > PAUSE_MS) this.#began = now;
    this.#asked = now;
    return now - this.#began > BUDGET_MS;
  }

  /**
   * As `spent`, for a body that is woken; true only now and then. Bodies have to ask: an engine of promises alone never
   * leaves the microtask queue, and short generations may wake each other in a row.
   */
  woken(): boolean {
    return ++this.#wakes % WAKES_PER_LOOK === 0 && this.spent();
  }

  /** Calls `fn`, which must not throw, after the event loop has gone round once, or more often if others wait too. */
  next(fn: () => void): void {
    this.#waiting.push(fn);
    this.#come();
  }

  #come(): void {
    if (this.#coming) return;
    this.#coming = true;
    nextRound(this.#run);
  }

  /**
   * One turn for all that wait: a budget for each of them would keep the loop for their number times as long. Those
   * that this one's does not reach are the first of the next.
   */
  readonly #run = (): void => {
    this.#coming = false;
    this.#began = this.#asked = this.#now();
    const waiting = this.#waiting;
    this.#waiting = [];
    let served = 0;
    do waiting[served++](); while (served < waiting.length && this.#now() - this.#began <= BUDGET_MS);
    if (served === waiting.length) return;
    this.#waiting = [...waiting.slice(served), ...this.#waiting];
    this.#come();
  };
}
