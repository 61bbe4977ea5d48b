import type { TapError } from "../errors.ts";
import { ENDED, PENDING, type Polled, type Waiter } from "./engine.ts";
import type { Clock, Task } from "./pacer.ts";
import { PollableTokens } from "./pollable.ts";

/** A generation that is refused after a silence, as by a server that is overloaded: it waits, and takes no place. */
export class LateRefusal extends PollableTokens implements Task {
  tick?: number | undefined;
  index?: number;
  readonly refused = true;
  readonly #error: TapError;
  readonly #clock: Clock;
  readonly #started = Promise.withResolvers<void>();
  #state: "silent" | "refused" | "left" = "silent";
  #waiter: Waiter | undefined;

  constructor(error: TapError, afterMs: number, clock: Clock) {
    super();
    this.#error = error;
    this.#clock = clock;
    // The refusal also comes out of poll(); whoever does not wait for `started` must not fall over it.
    this.#started.promise.catch(() => {});
    clock.at(clock.now() + afterMs, this);
  }

  override get started(): Promise<void> {
    return this.#started.promise;
  }

  fire(): void {
    this.#state = "refused";
    this.#started.reject(this.#error);
    this.#waiter?.wake();
  }

  poll(waiter: Waiter): Polled {
    this.#waiter = undefined;
    if (this.#state === "refused") throw this.#error;
    if (this.#state === "left") return ENDED;
    this.#waiter = waiter;
    return PENDING;
  }

  halt(): void {
    if (this.#state !== "silent") return;
    this.#state = "left";
    this.#clock.cancel(this);
    this.#started.resolve();
  }
}
