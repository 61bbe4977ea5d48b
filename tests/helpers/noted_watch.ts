import type { FinishReason, Usage, Watch } from "../../lib/engine/engine.ts";

/** A watch that notes what it is told. */
export class NotedWatch implements Watch {
  /** When the generation was admitted. */
  prefillAt: number | undefined;
  /** For each report of tokens: when they were meant for, and when they came. */
  readonly planned: number[] = [];
  readonly actual: number[] = [];
  tokens = 0;
  reason: FinishReason | undefined;

  prefill(now: number): void {
    this.prefillAt = now;
  }
  produced(tokens: number, planned: number, now: number): void {
    this.tokens += tokens;
    this.planned.push(planned);
    this.actual.push(now);
  }
  finished(reason: FinishReason): void {
    this.reason = reason;
  }
  usage(_usage: Usage): void {}
  upstreamClosed(_now: number): void {}
}
