import {
  ENDED,
  type Engine,
  type EngineRequest,
  PENDING,
  type Polled,
  type Token,
  type Waiter,
  type Watch,
} from "../../lib/engine/engine.ts";
import type { Clock } from "../../lib/engine/pacer.ts";
import { PollableTokens } from "../../lib/engine/pollable.ts";

type Step = Token | typeof ENDED | { error: unknown };

/** What a request of which only the engine's own part matters looks like. */
export const REQUEST: EngineRequest = { id: "id", key: "", prompt: "p", maxTokens: 1000, promptTokens: 1 };

/** An engine whose tokens the test hands out. Its generations are admitted at once unless `queues` is set. */
export class ScriptedEngine implements Engine {
  readonly name = "scripted";
  queues = false;
  /** Thrown by the next `generate`. */
  refusal: unknown;
  readonly all: ScriptedTokens[] = [];
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The tokens of the latest generation. */
  get tokens(): ScriptedTokens {
    return this.all[this.all.length - 1]!;
  }

  countTokens(text: string): number {
    return text.length;
  }

  generate(_request: EngineRequest, signal: AbortSignal, watch: Watch): ScriptedTokens {
    if (this.refusal !== undefined) throw this.refusal;
    if (!this.queues) watch.prefill(this.#clock.now());
    const tokens = new ScriptedTokens(signal, watch, this.#clock);
    this.all.push(tokens);
    return tokens;
  }
}

export class ScriptedTokens extends PollableTokens {
  /** How often it was returned, and whether the signal had been aborted by the first time. */
  returns = 0;
  abortedBefore: boolean | undefined;
  /** Waited for by `return`. */
  cleanup: Promise<void> = Promise.resolve();
  /** Handed out whenever nothing else is ready: an engine that is never short of tokens. */
  endless: Token | undefined;
  readonly signal: AbortSignal;
  readonly watch: Watch;
  readonly #clock: Clock;
  readonly #steps: Step[] = [];
  #waiter: Waiter | undefined;

  constructor(signal: AbortSignal, watch: Watch, clock: Clock) {
    super();
    this.signal = signal;
    this.watch = watch;
    this.#clock = clock;
  }

  /** Produces these tokens now: a string is a token of this text. */
  give(...tokens: (string | Token)[]): void {
    for (const each of tokens) {
      const token = typeof each === "string" ? { text: each, tokens: 1 } : each;
      this.watch.produced(token.tokens, this.#clock.now(), this.#clock.now());
      this.#steps.push(token);
    }
    this.#announce();
  }

  end(): void {
    this.#steps.push(ENDED);
    this.#announce();
  }

  fail(error: unknown): void {
    this.#steps.push({ error });
    this.#announce();
  }

  poll(waiter: Waiter): Polled {
    this.#waiter = undefined;
    const step = this.#steps[0];
    if (step === undefined && this.endless !== undefined && this.returns === 0) {
      this.watch.produced(this.endless.tokens, this.#clock.now(), this.#clock.now());
      return this.endless;
    }
    if (step === undefined) {
      this.#waiter = waiter;
      return PENDING;
    }
    if (step === ENDED) return ENDED;
    if ("error" in step) throw step.error;
    this.#steps.shift();
    return step;
  }

  async halt(): Promise<void> {
    this.returns++;
    this.abortedBefore ??= this.signal.aborted;
    await this.cleanup;
  }

  #announce(): void {
    const waiter = this.#waiter;
    this.#waiter = undefined;
    waiter?.wake();
  }
}
