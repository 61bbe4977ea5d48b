import {
  ENDED,
  PENDING,
  type Polled,
  type Token,
  type TokenSource,
  type Waiter,
} from "../../lib/engine/engine.ts";
import type { Clock } from "../../lib/engine/pacer.ts";

/** Takes every token as soon as it is there, and notes when that was. */
export class EagerReader implements Waiter {
  readonly tokens: Token[] = [];
  readonly at: number[] = [];
  ended = false;
  error: unknown;
  readonly #source: Pick<TokenSource, "poll">;
  readonly #clock: Clock;

  constructor(source: Pick<TokenSource, "poll">, clock: Clock) {
    this.#source = source;
    this.#clock = clock;
    this.wake();
  }

  get texts(): string[] {
    return this.tokens.map(({ text }) => text);
  }

  wake(): void {
    for (;;) {
      let polled: Polled;
      try {
        polled = this.#source.poll(this);
      } catch (error) {
        this.error = error;
        return;
      }
      if (polled === PENDING) return;
      if (polled === ENDED) {
        this.ended = true;
        return;
      }
      this.tokens.push(polled);
      this.at.push(this.#clock.now());
    }
  }
}
