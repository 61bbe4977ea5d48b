import { Batch } from "./batch.ts";
import type { Engine, EngineRequest, TokenSource, Watch } from "./engine.ts";
import { parseFaults, refusalOf } from "./faults.ts";
import { LateRefusal } from "./late_refusal.ts";
import type { Clock } from "./pacer.ts";
import { type SimulatedOptions, SimulatedTokens } from "./simulated_tokens.ts";
import { countPieces } from "./vocabulary.ts";

/** The embedded deterministic engine: no model, exact tokens, and the costs of a batching accelerator. */
export class SimulatedEngine implements Engine {
  readonly name = "simulated";
  readonly simulates = true;
  readonly #options: SimulatedOptions;
  readonly #clock: Clock;
  readonly #batch: Batch;

  constructor(options: SimulatedOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
    this.#batch = new Batch(options.maxNumSeqs, options.maxWaitingQueueLength);
  }

  countTokens(text: string): number {
    return countPieces(text);
  }

  /** Throws `rate_limit` when the queue is full, `invalid_request` for an unknown fault, and the refusal a fault asks for. */
  generate(request: EngineRequest, _signal: AbortSignal, watch: Watch): TokenSource {
    const faults = request.fault === undefined ? [] : parseFaults(request.fault);
    const refusal = refusalOf(faults);
    if (refusal !== undefined) {
      if (refusal.afterMs === 0 || !this.#options.realtime) throw refusal.error;
      return new LateRefusal(refusal.error, refusal.afterMs, this.#clock);
    }
    return new SimulatedTokens(this.#options, this.#clock, this.#batch, request, watch, faults);
  }

  slots(): { max: number; in_use: number; queue: number } {
    return { max: this.#batch.max, in_use: this.#batch.inUse, queue: this.#batch.queued };
  }
}
