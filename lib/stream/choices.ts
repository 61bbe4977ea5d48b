import { ENDED, type FinishReason, PENDING, type Polled, type Token, type Waiter } from "../engine/engine.ts";
import { publicError, type TapError } from "../errors.ts";
import { Generation } from "./generation.ts";

/** What a reply is made of: one generation, or several as one. */
export type Source = Pick<Generation, "poll" | "abort" | "fail">;

/** A step of one of several answers to one request. */
export interface ChoiceToken extends Token {
  /** Which answer it belongs to; 0 where there is only one. */
  readonly choice?: number;
  /** The answer ends here. Only where there are several: a single one ends with its stream. */
  readonly finish?: FinishReason;
}

/**
 * The generations of a request for several answers (`n`), as one stream: whatever is ready, in turns. They end
 * together: when the client leaves or one fails, all stop.
 */
export class Choices implements Waiter {
  readonly #generations: readonly Generation[];
  readonly #ended: boolean[];
  #live: number;
  /** Whose turn it is, so that one that always has a token ready does not keep the others waiting. */
  #turn = 0;
  #waiter: Waiter | undefined;

  constructor(generations: readonly Generation[]) {
    this.#generations = generations;
    this.#ended = generations.map(() => false);
    this.#live = generations.length;
  }

  poll(waiter: Waiter, now?: number): Polled {
    this.#waiter = undefined;
    if (this.#live === 0) return ENDED;
    for (let looked = 0; looked < this.#generations.length; looked++) {
      const choice = this.#turn;
      this.#turn = (choice + 1) % this.#generations.length;
      if (this.#ended[choice]) continue;
      const polled = this.#pollOne(choice, now);
      if (polled === PENDING) continue;
      if (polled !== ENDED) return { ...polled, choice } as ChoiceToken;
      this.#ended[choice] = true;
      this.#live--;
      const finish = this.#generations[choice].record.finishReason ?? "stop";
      return { text: "", tokens: 0, choice, finish } as ChoiceToken;
    }
    this.#waiter = waiter;
    return PENDING;
  }

  /** Several may have something before the reader is back; it is woken by the first. */
  wake(now?: number): void {
    const waiter = this.#waiter;
    this.#waiter = undefined;
    waiter?.wake(now);
  }

  // From the last on: those that wait in the queue must not get the slots of those that end.
  abort(): void {
    for (const generation of this.#generations.toReversed()) generation.abort();
  }

  fail(error: TapError): void {
    Generation.failAll(this.#generations, error);
  }

  #pollOne(choice: number, now: number | undefined): Polled {
    try {
      return this.#generations[choice].poll(this, now);
    } catch (error) {
      this.fail(publicError(error));
      throw error;
    }
  }
}
