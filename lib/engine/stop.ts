import {
  ENDED,
  type Engine,
  type EngineRequest,
  PENDING,
  type Polled,
  type Token,
  type TokenSource,
  type Waiter,
  type Watch,
} from "./engine.ts";
import { pollable, PollableTokens } from "./pollable.ts";

/** `engine` ended by the request's stop strings, for engines that do not look for them themselves. */
export function stopping(engine: Pick<Engine, "generate">): Pick<Engine, "generate"> {
  return {
    generate(request, signal, watch) {
      const tokens = engine.generate(request, signal, watch);
      return request.stop?.length ? new StoppedTokens(pollable(tokens), request, watch) : tokens;
    },
  };
}

/**
 * Tokens up to the first stop string, which is not handed over, wherever its characters lie over the tokens.
 *
 * A token is handed over as it came, and held back only while the text may still turn out to be the beginning of a
 * stop string; so at most as many tokens are held as such a string is long. Text from the first `minTokens` tokens is
 * not looked at, as in vLLM.
 */
class StoppedTokens extends PollableTokens {
  readonly #source: TokenSource;
  readonly #watch: Watch;
  readonly #stop: readonly string[];
  /** Tokens that are still to pass unlooked at. */
  #exempt: number;
  /** Tokens that may be part of a stop string, and their text. */
  #held: Token[] = [];
  #text = "";
  /** Tokens that are not. */
  #ready: Token[] = [];
  /**
   * `found`: a stop string was, and what came before it is still to be handed over; until then the source keeps its
   * slot, as that of a generation in decode does. `ending`: the source is being ended because of it. `ended`: it ended
   * by itself, or that is done. `error`: it failed.
   */
  #over: "no" | "found" | "ending" | "ended" | { error: unknown } = "no";
  #waiter: Waiter | undefined;

  constructor(source: TokenSource, { stop = [], minTokens = 0 }: EngineRequest, watch: Watch) {
    super();
    this.#source = source;
    this.#stop = stop;
    this.#exempt = minTokens;
    this.#watch = watch;
  }

  override get started(): Promise<void> | undefined {
    return this.#source.started;
  }

  get refused(): boolean | undefined {
    return this.#source.refused;
  }

  poll(waiter: Waiter, now?: number): Polled {
    this.#waiter = undefined;
    for (;;) {
      const token = this.#ready.shift();
      if (token !== undefined) return token;
      if (this.#over === "found") this.#end();
      if (this.#over === "ended") return ENDED;
      if (this.#over === "ending") {
        this.#waiter = waiter;
        return PENDING;
      }
      if (typeof this.#over === "object") throw this.#over.error;
      let polled: Polled;
      try {
        polled = this.#source.poll(waiter, now);
      } catch (error) {
        // What came before the failure is handed over first.
        this.#over = { error };
        this.#release();
        continue;
      }
      if (polled === PENDING) return PENDING;
      if (polled === ENDED) {
        this.#over = "ended";
        this.#release();
      } else {
        this.#look(polled);
      }
    }
  }

  halt(): Promise<void> | void {
    this.#ready = [];
    this.#held = [];
    if (this.#over !== "ending") this.#over = "ended";
    return this.#source.halt();
  }

  #look(token: Token): void {
    if (this.#exempt > 0) {
      this.#exempt -= token.tokens;
      this.#release();
      this.#ready.push(token);
      return;
    }
    this.#held.push(token);
    this.#text += textOf(token);
    const at = firstOf(this.#stop, this.#text);
    if (at >= 0) {
      this.#handOver(at, true);
      this.#held = [];
      this.#over = "found";
    } else {
      this.#handOver(this.#text.length - possible(this.#stop, this.#text), false);
    }
  }

  /** Hands over the held tokens that lie before `end`; the one across it too, cut there, when `cut`. */
  #handOver(end: number, cut: boolean): void {
    let from = 0;
    let whole = 0;
    while (whole < this.#held.length && from + textOf(this.#held[whole]).length <= end) {
      from += textOf(this.#held[whole++]).length;
    }
    this.#ready.push(...this.#held.splice(0, whole));
    this.#text = this.#text.slice(from);
    if (!cut || end === from) return;
    this.#ready.push({ ...this.#held[0], text: this.#text.slice(0, end - from) });
  }

  #release(): void {
    this.#ready.push(...this.#held);
    this.#held = [];
    this.#text = "";
  }

  /** Ends the source; our own end follows when it has let go of what it holds, at once where it can. */
  #end(): void {
    this.#watch.finished("stop");
    const settle = (over: "ended" | { error: unknown }) => {
      this.#over = over;
      const waiter = this.#waiter;
      this.#waiter = undefined;
      waiter?.wake();
    };
    this.#over = "ending";
    try {
      const ending = this.#source.halt();
      if (ending === undefined) this.#over = "ended";
      else ending.then(() => settle("ended"), (error) => settle({ error }));
    } catch (error) {
      this.#over = { error };
    }
  }
}

/** What a token adds to the answer's text: nothing where it is thought, or wrong on purpose; it keeps its place all the same. */
function textOf(token: Token): string {
  return token.reasoning || token.wire === "malformed" ? "" : token.text;
}

/**
 * Where in `text` the first of `stop` begins, or -1. First is the one that is complete first, and the longest of
 * those: so it does not matter how the text lies over the tokens.
 */
function firstOf(stop: readonly string[], text: string): number {
  let first = -1;
  let end = Infinity;
  for (const each of stop) {
    const at = text.indexOf(each);
    if (at < 0 || at + each.length > end) continue;
    if (at + each.length < end || at < first) first = at;
    end = at + each.length;
  }
  return first;
}

/** The length of the longest end of `text` that one of `stop` begins with. */
function possible(stop: readonly string[], text: string): number {
  let longest = 0;
  for (const each of stop) {
    for (let length = Math.min(text.length, each.length - 1); length > longest; length--) {
      if (text.endsWith(each.slice(0, length))) longest = length;
    }
  }
  return longest;
}
