import type { Settings } from "../config.ts";
import type { TapError } from "../errors.ts";
import type { Batch, Member } from "./batch.ts";
import {
  ENDED,
  type EngineRequest,
  PENDING,
  type Polled,
  type Token,
  type Waiter,
  type Watch,
} from "./engine.ts";
import { CutStream, type Fault, injectedError, isSilence, silenceAt, statusFault } from "./faults.ts";
import { logNormal, PURPOSE, seedOf } from "./hash.ts";
import type { Clock, Task } from "./pacer.ts";
import { PollableTokens } from "./pollable.ts";
import { promptSeed, stepAt } from "./vocabulary.ts";

/** The settings that are the cost model. Times are milliseconds, with fractions. */
export type SimulatedOptions = Pick<
  Settings,
  | "seed"
  | "timeToFirstToken"
  | "timeToFirstTokenStdDev"
  | "prefillTimePerToken"
  | "interTokenLatency"
  | "interTokenLatencyStdDev"
  | "timeFactorUnderLoad"
  | "maxNumSeqs"
  | "maxWaitingQueueLength"
  | "realtime"
>;

/**
 * How late a generation may run and still catch up in a burst, in milliseconds. Beyond it the schedule moves: a
 * reader that stopped reading has stopped its generator, and what was not computed cannot come all at once.
 */
const MAX_LAG_MS = 250;

/**
 * One simulated generation. It does its work in three calls: the batch's `admitted`, the clock's `fire` at each
 * deadline, and the reader's `poll`. The next deadline is set only when the reader asks for the next token, so the
 * generation is never more than one token ahead of its reader.
 */
export class SimulatedTokens extends PollableTokens implements Member, Task {
  // What each token touches stands first: a thousand streams share the processor's caches.
  tick?: number | undefined;
  index?: number;
  place?: "queue" | "slot" | undefined;
  #ready: Token | undefined;
  #waiter: Waiter | undefined;
  #failure: TapError | undefined;
  #ended = false;
  /** Faults were asked for. */
  readonly #faulty: boolean;
  /** A split was asked for and waits for a token with a character of several bytes, or the last one. */
  #splitNext = false;
  /** Tokens produced. */
  #index = 0;
  readonly #maxTokens: number;
  /** Seed of the text: the prompt alone. Signed, so that it is kept in its place. */
  readonly #textSeed: number;
  /** The deadline of the next token. In the model's own time when not in real time. */
  #due = 0;
  readonly #itlMs: number;
  readonly #options: SimulatedOptions;
  readonly #clock: Clock;
  readonly #watch: Watch;
  readonly #batch: Batch;
  readonly #faults: Fault[];
  readonly #prefillMs: number;
  /** Seed of the delays: also who asks, so that equal prompts need not tick alike. */
  readonly #delaySeed: number;
  before?: Member | undefined;
  after?: Member | undefined;

  constructor(
    options: SimulatedOptions,
    clock: Clock,
    batch: Batch,
    request: EngineRequest,
    watch: Watch,
    faults: Fault[],
  ) {
    super();
    this.#options = options;
    this.#clock = clock;
    this.#batch = batch;
    this.#watch = watch;
    this.#faults = faults;
    this.#faulty = faults.length > 0;
    this.#maxTokens = request.maxTokens;
    this.#textSeed = promptSeed(request.prompt, request.seed ?? options.seed) | 0;
    this.#delaySeed = seedOf(request.key, this.#textSeed);
    this.#itlMs = request.itlMs ?? options.interTokenLatency;
    this.#prefillMs = options.prefillTimePerToken * request.promptTokens + logNormal(
      request.ttftMs ?? options.timeToFirstToken,
      options.timeToFirstTokenStdDev,
      this.#delaySeed,
      PURPOSE.prefillJitter,
      0,
    );
    batch.enter(this);
  }

  admitted(): void {
    const now = this.#clock.now();
    this.#watch.prefill(now);
    this.#due = now + this.#prefillMs + this.#faultDelay();
    if (!this.#options.realtime) return this.#announce();
    if (this.#due > now) this.#clock.at(this.#due, this);
    else this.#announce();
  }

  prefetch(): number {
    const read = this.#index ^ this.#textSeed ^ (this.#due > 0 ? 1 : 0);
    return read ^ (this.#watch.prefetch?.() ?? 0) ^ (this.#waiter?.prefetch?.() ?? 0);
  }

  fire(now: number): void {
    this.#step(now);
    this.#announce(now);
  }

  poll(waiter: Waiter, at?: number): Polled {
    // Whoever polls is awake, and must not be woken from in here.
    this.#waiter = undefined;
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure;
      const token = this.#ready;
      if (token !== undefined) {
        this.#ready = undefined;
        return token;
      }
      if (this.#ended) return ENDED;
      if (this.place !== "slot" || this.tick !== undefined) {
        this.#waiter = waiter;
        return PENDING;
      }
      const now = at ?? this.#clock.now();
      if (this.#index === this.#maxTokens && !this.#heldBack(now)) {
        this.#watch.finished("length");
        this.halt();
        return ENDED;
      }
      if (this.#options.realtime && this.#due > now) {
        this.#waiter = waiter;
        this.#clock.at(this.#due, this);
        return PENDING;
      }
      this.#step(now);
    }
  }

  halt(): void {
    this.#ended = true;
    this.#ready = undefined;
    this.#clock.cancel(this);
    this.#batch.leave(this);
    this.#announce();
  }

  #announce(now?: number): void {
    const waiter = this.#waiter;
    this.#waiter = undefined;
    waiter?.wake(now);
  }

  /** The token at `#index`, or the fault that stands before it. */
  #step(now: number): void {
    if (this.#faulty && this.#injected()) return;
    if (this.#index === this.#maxTokens) return;
    const token = stepAt(this.#textSeed, this.#index++);
    const planned = this.#due;
    if (this.#options.realtime && now - planned > MAX_LAG_MS) this.#due = now;
    this.#due += this.#gapMs() + this.#faultDelay();
    this.#watch.produced(1, planned, now);
    this.#ready = this.#faulty ? this.#marked(token) : token;
  }

  /** The token as its faults want it handed over. */
  #marked({ text, tokens }: Token): Token {
    const wide = text.length !== new TextEncoder().encode(text).length;
    const split = this.#splitNext && (wide || this.#index === this.#maxTokens);
    if (split) this.#splitNext = false;
    return {
      text,
      tokens,
      ...(split ? { wire: "split" as const } : {}),
      ...(this.#faultDelay() > 0 ? { pause: true } : {}),
    };
  }

  /** The factor is 1 at a batch of one, and the one set when all slots are busy; linear between. */
  #gapMs(): number {
    const { interTokenLatencyStdDev, timeFactorUnderLoad } = this.#options;
    const gap = interTokenLatencyStdDev === 0
      ? this.#itlMs
      : logNormal(this.#itlMs, interTokenLatencyStdDev, this.#delaySeed, PURPOSE.decodeJitter, this.#index);
    return timeFactorUnderLoad === 1 ? gap : gap * (1 + (timeFactorUnderLoad - 1) * this.#batch.load);
  }

  /** Silence asked for before the token at `#index`. */
  #faultDelay(): number {
    return this.#faulty ? silenceAt(this.#faults, this.#index) : 0;
  }

  /** All tokens are made: whether a fault stands between the last one and the end. */
  #heldBack(now: number): boolean {
    return this.#faulty && this.#faults.some(({ at, kind }) => {
      if (at !== this.#index || kind === "split") return false;
      return isSilence(kind) ? this.#options.realtime && this.#due > now : true;
    });
  }

  /** Carries out the next fault that stands at `#index`; true when it takes the token's place. */
  #injected(): boolean {
    for (let i = 0; i < this.#faults.length; i++) {
      const fault = this.#faults[i];
      if (fault.at !== this.#index || isSilence(fault.kind)) continue;
      this.#faults.splice(i--, 1);
      switch (fault.kind) {
        case "error":
          this.#failure = injectedError(fault);
          return true;
        case "status":
          this.#failure = statusFault(fault.status);
          return true;
        case "close":
        case "reset":
          this.#failure = new CutStream(fault.kind, fault.at);
          return true;
        case "malformed":
          this.#ready = { text: "", tokens: 0, wire: "malformed" };
          return true;
        case "split":
          this.#splitNext = true;
      }
    }
    return false;
  }
}
