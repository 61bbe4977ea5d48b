import type { ErrorCode } from "../errors.ts";
import type { FinishReason, Usage } from "../engine/engine.ts";
import type { Clock } from "../engine/pacer.ts";
import { type Timed, UNTIMED } from "./token_times.ts";

export type Outcome = "running" | "completed" | "aborted" | "failed";
export type Phase = "queued" | "prefill" | "decode";

/** What is kept of one generation. Times are the clock's milliseconds; `null` is "did not happen (yet)". */
export class GenerationRecord implements Timed {
  // What each token touches stands first: a thousand streams share the processor's caches.
  outcome: Outcome = "running";
  phase: Phase = "queued";
  generated = 0;
  delivered = 0;
  firstTokenAt: number | null = null;
  abortedAt: number | null = null;
  timed: number = UNTIMED.timed;
  firstTime: number = UNTIMED.firstTime;
  lastTime: number = UNTIMED.lastTime;
  notHanded: number = UNTIMED.notHanded;
  generatedAfterAbort = 0;
  error: ErrorCode | null = null;
  /** The error in words for the log, which are not all for clients. */
  reason: string | null = null;
  phaseAtAbort: Phase | null = null;
  admittedAt: number | null = null;
  endedAt: number | null = null;
  upstreamClosedAt: number | null = null;
  finishReason: FinishReason | null = null;
  /** As the engine reports it; null where our own counts are all there is. */
  usage: Usage | null = null;

  constructor(
    readonly id: string,
    readonly route: string,
    readonly model: string,
    readonly requested: number,
    readonly promptTokens: number,
    readonly arrivedAt: number,
  ) {}

  /**
   * The time of a poll whose caller has read the clock at `now`. Another one's end may have admitted this one since
   * then: its first token gets a time of its own, and those polled with it that same time, not an earlier one. A time
   * for each would cost half as much again as the token.
   */
  timeOf(now: number | undefined, clock: Pick<Clock, "now">): number | undefined {
    const { firstTokenAt } = this;
    if (firstTokenAt === null) return clock.now();
    return now !== undefined && now < firstTokenAt ? firstTokenAt : now;
  }

  /** Prompt and completion tokens: the engine's word where it gave one, else our own count. */
  usageNow(): Usage {
    return this.usage ?? { prompt_tokens: this.promptTokens, completion_tokens: this.generated };
  }

  /**
   * What it is at in the engine; null once that has let it go. Its last tokens may still be on their way to the reader
   * then (one group of several, or what waited for a stop string), and its slot is another's.
   */
  get phaseNow(): Phase | null {
    return this.outcome === "running" && this.finishReason === null ? this.phase : null;
  }

  toJSON() {
    const since = (from: number | null, to: number | null) =>
      from === null || to === null ? null : round(to - from);
    const { arrivedAt, admittedAt, firstTokenAt, abortedAt, endedAt } = this;
    const usage = this.usageNow();
    return {
      id: this.id,
      route: this.route,
      model: this.model,
      outcome: this.outcome,
      requested: this.requested,
      generated: this.generated,
      delivered: this.delivered,
      generated_after_abort: this.generatedAfterAbort,
      phase: this.phaseNow,
      phase_at_abort: this.phaseAtAbort,
      stop_ms: since(abortedAt, endedAt),
      queue_ms: since(arrivedAt, admittedAt),
      prefill_ms: since(admittedAt, firstTokenAt),
      decode_ms: since(firstTokenAt, endedAt),
      ttft_ms: since(arrivedAt, firstTokenAt),
      duration_ms: since(arrivedAt, endedAt),
      prompt_tokens: usage.prompt_tokens,
      completion_tokens: usage.completion_tokens,
      finish_reason: this.finishReason,
      error: this.error,
      upstream_closed_ms: since(abortedAt ?? arrivedAt, this.upstreamClosedAt),
    };
  }
}

/** What a generation tells its ledger. */
export interface GenerationObserver {
  /** `tokens` more were produced, whatever becomes of them; times are the clock's milliseconds. */
  produced(record: GenerationRecord, tokens: number, planned: number, now: number): void;
  /** `tokens` of them were handed to the reader. */
  handed(record: GenerationRecord, tokens: number, now: number): void;
  /** The record is final. Called exactly once. */
  ended(record: GenerationRecord): void;
  /** Something threw that nobody waits for. Must not throw. */
  unexpected(record: GenerationRecord, error: unknown): void;
}

function round(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
