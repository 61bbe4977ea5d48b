import { TapError } from "../errors.ts";
import { ENDED, PENDING, type Polled, type Token, type TokenSource, type Waiter } from "./engine.ts";

/** The async-generator half of a `TokenSource`, derived from `poll` and `stop`. */
export abstract class PollableTokens implements TokenSource {
  abstract poll(waiter: Waiter, now?: number): Polled;
  /** Ends the tokens now and lets go of what they hold. Called again, it does nothing. */
  abstract halt(): Promise<void> | void;

  get started(): Promise<void> | undefined {
    return undefined;
  }

  async next(): Promise<IteratorResult<Token, void>> {
    for (;;) {
      const { promise: ready, resolve } = Promise.withResolvers<void>();
      const polled = this.poll({ wake: () => resolve() });
      if (polled === ENDED) return { done: true, value: undefined };
      if (polled !== PENDING) return { done: false, value: polled };
      await ready;
    }
  }

  async return(): Promise<IteratorResult<Token, void>> {
    await this.halt();
    return { done: true, value: undefined };
  }

  async throw(error: unknown): Promise<IteratorResult<Token, void>> {
    await this.halt();
    throw error;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.halt();
  }
}

/**
 * A plain async generator as a `TokenSource`. It is asked for its first token at once, which tells whether it starts,
 * and for each further one only when polled, so it is never more than one token ahead of its reader.
 */
class PolledGenerator extends PollableTokens {
  readonly #started: Promise<void>;
  readonly #generator: AsyncGenerator<Token, void, void>;
  #settled: { result: IteratorResult<Token, void> } | { error: unknown } | undefined;
  #asked = false;
  /** The error in `#settled` has come out of poll(). */
  #thrown = false;
  #waiter: Waiter | undefined;

  constructor(generator: AsyncGenerator<Token, void, void>) {
    super();
    this.#generator = generator;
    this.#started = this.#ask().then(() => {
      if (this.#settled && "error" in this.#settled) throw this.#settled.error;
    });
    // The refusal also comes out of poll(); whoever does not wait for `started` must not fall over it.
    this.#started.catch(() => {});
  }

  override get started(): Promise<void> {
    return this.#started;
  }

  poll(waiter: Waiter): Polled {
    const settled = this.#settled;
    if (settled === undefined) {
      this.#waiter = waiter;
      if (!this.#asked) this.#ask();
      return PENDING;
    }
    if ("error" in settled) {
      this.#thrown = true;
      throw settled.error;
    }
    if (settled.result.done) return ENDED;
    this.#settled = undefined;
    return settled.result.value;
  }

  async #ask(): Promise<void> {
    this.#asked = true;
    try {
      this.#settled = { result: await this.#generator.next() };
    } catch (error) {
      this.#settled = { error };
    }
    this.#asked = false;
    const waiter = this.#waiter;
    this.#waiter = undefined;
    waiter?.wake();
  }

  async halt(): Promise<void> {
    // return() queues behind the pending next(): the signal, aborted before, is what ends that one.
    await this.#generator.return();
    // A step that was under way when it was stopped may have thrown, and nobody polls for that any more. That the
    // signal ended it is no news, nor is an error meant for a client who has left.
    const settled = this.#settled;
    if (this.#thrown || settled === undefined || !("error" in settled)) return;
    const { error } = settled;
    if (error instanceof TapError || (error instanceof Error && error.name === "AbortError")) return;
    this.#thrown = true;
    throw error;
  }
}

/** `tokens` with `poll`: itself where it has it, wrapped where it is a plain async generator. */
export function pollable(tokens: TokenSource | AsyncGenerator<Token, void, void>): TokenSource {
  return "poll" in tokens ? tokens : new PolledGenerator(tokens);
}
