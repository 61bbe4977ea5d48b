import { publicError, reasonOf, type TapError } from "../errors.ts";
import {
  ENDED,
  type Engine,
  type EngineRequest,
  type FinishReason,
  PENDING,
  type Polled,
  type TokenSource,
  type Usage,
  type Waiter,
  type Watch,
} from "../engine/engine.ts";
import type { Clock } from "../engine/pacer.ts";
import { pollable, PollableTokens } from "../engine/pollable.ts";
import type { GenerationObserver, GenerationRecord } from "./record.ts";

/** Tokens that are drained in one turn of the event loop when disconnects are ignored. */
const DRAINED_AT_ONCE = 256;

/**
 * One request's life: queued → prefill → decode → exactly one outcome.
 *
 * It stands between the engine and the body: it is the engine's `Watch`, and hands the engine's tokens on while it
 * counts them. Every way to an outcome goes through `#end`, which is the one place where the record becomes final;
 * and none gets there before the engine has let go of its slot.
 */
export class Generation extends PollableTokens implements Watch {
  readonly record: GenerationRecord;
  #source: TokenSource | undefined;
  /** The consumer that waits; kept so that an end that does not come from the engine wakes it too. */
  #waiter: Waiter | undefined;
  #failure: TapError | undefined;
  /** Set when the end does not come from the engine: whoever leaves or fails it decides the outcome. */
  #stopping = false;
  /** Its client has left, and its engine goes on to its end. */
  #draining = false;
  readonly #observer: GenerationObserver;
  readonly #clock: Clock;
  readonly #ignoreDisconnects: boolean;
  readonly #controller = new AbortController();

  constructor(
    record: GenerationRecord,
    clock: Clock,
    observer: GenerationObserver,
    ignoreDisconnects = false,
  ) {
    super();
    this.record = record;
    this.#clock = clock;
    this.#observer = observer;
    this.#ignoreDisconnects = ignoreDisconnects;
  }

  /** Hands the request to the engine. What the engine refuses with is recorded and thrown on. */
  start(engine: Pick<Engine, "generate">, request: EngineRequest): this {
    try {
      this.#source = pollable(engine.generate(request, this.#controller.signal, this));
    } catch (error) {
      // Thrown on as told: whoever answers must not log the same throw again.
      const told = this.#told(error);
      this.#end("failed", told);
      throw told;
    }
    return this;
  }

  override get started(): Promise<void> | undefined {
    return this.#source?.started;
  }

  get refused(): boolean {
    return this.#source?.refused ?? false;
  }

  poll(waiter: Waiter, now?: number): Polled {
    this.#waiter = undefined;
    if (this.#stopping && this.record.outcome === "running") {
      // The engine is letting go: its end is not a completion, and the outcome is about to be told.
      this.#waiter = waiter;
      return PENDING;
    }
    if (this.#failure !== undefined) throw this.#failure;
    if (this.record.outcome !== "running" || this.#source === undefined) return ENDED;
    const at = this.record.timeOf(now, this.#clock);
    let polled: Polled;
    try {
      polled = this.#source.poll(waiter, at);
    } catch (error) {
      this.#stopping = true;
      this.#failure = this.#told(error);
      this.#stopSource("failed", this.#failure);
      throw this.#failure;
    }
    if (polled === PENDING) {
      this.#waiter = waiter;
    } else if (polled === ENDED) {
      this.#end("completed");
    } else {
      const { record } = this;
      record.delivered += polled.tokens;
      this.#observer.handed(record, polled.tokens, at ?? this.#clock.now());
    }
    return polled;
  }

  /**
   * The client has left: the engine stops, and what it had produced until then is all there will be. Does nothing
   * once there is an outcome, since a connection is also closed after a success.
   */
  abort(): void {
    const { record } = this;
    if (record.outcome !== "running" || this.#stopping) return;
    this.#stopping = true;
    record.abortedAt = this.#clock.now();
    record.phaseAtAbort = record.phase;
    this.#draining = this.#ignoreDisconnects;
    if (this.#draining) this.#drain();
    else this.#stopSource("aborted");
  }

  /**
   * Ends running generations from outside, e.g. at shutdown; their readers are told `error`. All are doomed before the
   * first lets go of its slot, and those that came last let go first: none gets the slot of another.
   */
  static failAll(generations: readonly Generation[], error: TapError): void {
    const doomed = generations.filter((each) => each.#doom(error));
    for (const each of doomed.toReversed()) {
      each.#stopSource(each.#draining ? "aborted" : "failed", each.#failure);
    }
  }

  fail(error: TapError): void {
    Generation.failAll([this], error);
  }

  /** Nothing it has is handed over any more. False when it has ended or is ending, but for one that goes on for nobody. */
  #doom(error: TapError): boolean {
    if (this.record.outcome !== "running") return false;
    if (this.#stopping) return this.#draining;
    this.#stopping = true;
    this.#failure = error;
    return true;
  }

  prefetch(): number {
    const { delivered, lastTime, arrivedAt, firstTokenAt } = this.record;
    return (this.#stopping ? 1 : 0) ^ (this.#controller === undefined ? 1 : 0) ^ delivered ^ lastTime ^
      (arrivedAt > 0 ? 1 : 0) ^ (firstTokenAt !== null && firstTokenAt > 0 ? 1 : 0);
  }

  prefill(now: number): void {
    this.record.admittedAt = now;
    this.record.phase = "prefill";
  }

  produced(tokens: number, planned: number, now: number): void {
    const { record } = this;
    record.generated += tokens;
    this.#observer.produced(record, tokens, planned, now);
    if (record.firstTokenAt === null) {
      record.firstTokenAt = now;
      record.phase = "decode";
    }
    if (record.abortedAt !== null) record.generatedAfterAbort += tokens;
  }

  finished(reason: FinishReason): void {
    this.record.finishReason = reason;
  }

  usage(usage: Usage): void {
    this.record.usage = usage;
  }

  upstreamClosed(now: number): void {
    this.record.upstreamClosedAt = now;
  }

  halt(): void {
    this.abort();
  }

  /**
   * Aborts the engine's signal, then ends its generator: return() alone would queue behind a pending next(). The
   * outcome follows when the generator has really ended, at once where it can.
   */
  #stopSource(outcome: "aborted" | "failed", error?: TapError): void {
    this.#controller.abort();
    const source = this.#source;
    if (source === undefined) return this.#end(outcome, error);
    const unexpected = (thrown: unknown) => this.#observer.unexpected(this.record, thrown);
    let ending: Promise<void> | void = undefined;
    try {
      ending = source.halt();
    } catch (thrown) {
      unexpected(thrown);
    }
    if (ending === undefined) return this.#end(outcome, error);
    ending.catch(unexpected).then(() => this.#end(outcome, error));
  }

  /** The fault of servers that do not stop, on purpose: the engine goes on to its end for nobody. */
  #drain(): void {
    const again = { wake: () => this.#drain(), fire: () => this.#drain() };
    try {
      for (let taken = 0;; taken++) {
        // An engine that always has a token ready must not keep the event loop.
        if (taken === DRAINED_AT_ONCE) return this.#clock.at(this.#clock.now(), again);
        const polled = this.#source === undefined ? ENDED : this.#source.poll(again);
        if (polled === PENDING) return;
        if (polled === ENDED) break;
      }
    } catch (error) {
      // A source that failed still holds its slot.
      this.#told(error);
      return this.#stopSource("aborted");
    }
    this.#end("aborted");
  }

  #told(error: unknown): TapError {
    const told = publicError(error);
    if (told !== error) this.#observer.unexpected(this.record, error);
    return told;
  }

  /** The one `finally` of a generation: whatever the way here, the record becomes final once, and the source is let go. */
  #end(outcome: "completed" | "aborted" | "failed", error?: TapError): void {
    const { record } = this;
    if (record.outcome !== "running") return;
    record.endedAt = this.#clock.now();
    record.outcome = outcome;
    if (error !== undefined) {
      record.error = error.code;
      record.reason = reasonOf(error);
    }
    this.#source = undefined;
    this.#observer.ended(record);
    const waiter = this.#waiter;
    this.#waiter = undefined;
    waiter?.wake();
  }
}
