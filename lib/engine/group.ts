import {
  ENDED,
  type Engine,
  PENDING,
  type Polled,
  type Token,
  type TokenSource,
  type Waiter,
} from "./engine.ts";
import { pollable, PollableTokens } from "./pollable.ts";

/** `engine` with its tokens handed over `size` at a time, so that one event carries several. */
export function grouped(engine: Pick<Engine, "generate">, size: number): Pick<Engine, "generate"> {
  if (size <= 1) return engine;
  return {
    generate: (request, signal, watch) => new Groups(pollable(engine.generate(request, signal, watch)), size),
  };
}

class Groups extends PollableTokens {
  readonly #source: TokenSource;
  readonly #size: number;
  #held: Token[] = [];
  /** Came after those held and must not share their event. */
  #apart: Token | undefined;

  constructor(source: TokenSource, size: number) {
    super();
    this.#source = source;
    this.#size = size;
  }

  override get started(): Promise<void> | undefined {
    return this.#source.started;
  }

  get refused(): boolean | undefined {
    return this.#source.refused;
  }

  poll(waiter: Waiter, now?: number): Polled {
    while (this.#held.length < this.#size) {
      let polled: Polled = this.#apart;
      this.#apart = undefined;
      try {
        if (polled === undefined) polled = this.#source.poll(waiter, now);
      } catch (error) {
        // What came before the failure is handed over first; the next poll throws it again.
        if (this.#held.length > 0) return this.#join();
        throw error;
      }
      if (polled === PENDING) return PENDING;
      if (polled === ENDED) return this.#held.length > 0 ? this.#join() : ENDED;
      if (this.#held.length > 0 && !fits(this.#held[0], polled)) {
        this.#apart = polled;
        return this.#join();
      }
      if (polled.wire === "malformed") return polled;
      this.#held.push(polled);
      if (polled.pause) break;
    }
    return this.#join();
  }

  halt(): Promise<void> | void {
    this.#held = [];
    this.#apart = undefined;
    return this.#source.halt();
  }

  #join(): Token {
    const held = this.#held;
    this.#held = [];
    const split = held.some((token) => token.wire === "split");
    return {
      text: held.map((token) => token.text).join(""),
      tokens: held.reduce((sum, token) => sum + token.tokens, 0),
      ...(held[0].reasoning ? { reasoning: true } : {}),
      ...(split ? { wire: "split" as const } : {}),
    };
  }
}

/** What is thought and what is said are told apart, and a faulty event is one of its own. */
function fits(held: Token, next: Token): boolean {
  return next.wire !== "malformed" && (held.reasoning ?? false) === (next.reasoning ?? false);
}
