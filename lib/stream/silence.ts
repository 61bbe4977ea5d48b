import type { Settings } from "../config.ts";
import type { Clock, Task } from "../engine/pacer.ts";

/** How exact a watch over seconds of silence is, in milliseconds. */
const STEP_MS = 64;

export interface SilenceOptions {
  clock: Clock;
  /** The silence after which a comment is written, and how long one write may wait for the reader. */
  settings: Pick<Settings, "keepAlive" | "stallLimit">;
}

/** A body as the watch sees it. */
export interface Watched {
  /** When it last handed something over. */
  readonly lastAt: number;
  /** There is something to send, or there may be, and nobody who takes it. */
  readonly blocked: boolean;
  /** Nothing was sent for the interval: writes a comment, if it can. */
  silent(): void;
  /** Nothing was taken for the limit. The watch is over. */
  stalled(): void;
}

/** The watch over a body's silence in both directions: nothing to send, or nobody who takes it. */
export class SilenceWatch implements Task {
  tick?: number | undefined;
  index?: number;
  readonly #body: Watched;
  readonly #options: SilenceOptions;

  constructor(body: Watched, options: SilenceOptions) {
    this.#body = body;
    this.#options = options;
  }

  /**
   * Sets the next look to the earliest moment at which anything can be due. Not done at every token, which would cost
   * as much as the token.
   */
  start(): void {
    const { clock, settings } = this.#options;
    const { blocked, lastAt } = this.#body;
    const now = clock.now();
    const comment = lastAt + settings.keepAlive;
    const stall = (blocked ? lastAt : now) + settings.stallLimit;
    // A comment that a blocked body could not write is due as soon as it has room, which is not watched for.
    const due = Math.min(stall, comment > now ? comment : now + settings.keepAlive);
    // Rounded up, so that the watches of all streams share a few wake-ups.
    clock.at(due - now > 10 * STEP_MS ? Math.ceil(due / STEP_MS) * STEP_MS : due, this);
  }

  stop(): void {
    this.#options.clock.cancel(this);
  }

  fire(now: number): void {
    const { keepAlive, stallLimit } = this.#options.settings;
    const silentMs = now - this.#body.lastAt;
    if (this.#body.blocked) {
      if (silentMs >= stallLimit) return this.#body.stalled();
    } else if (silentMs >= keepAlive) {
      this.#body.silent();
    }
    this.start();
  }
}
