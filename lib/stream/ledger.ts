import { Generation } from "./generation.ts";
import { type GenerationObserver, GenerationRecord, type Outcome } from "./record.ts";
import type { Clock } from "../engine/pacer.ts";
import type { TapError } from "../errors.ts";
import { type TokenTime, TokenTimes } from "./token_times.ts";

/** How many records are kept, the newest first to be found. */
export const MAX_RECORDS = 1000;

export interface LedgerOptions {
  clock: Clock;
  /** Called with each record when it is final; for logs. */
  onEnded?: (record: GenerationRecord) => void;
  /** Called with what nobody else will hear of: a throw in an engine's cleanup, an error that is no `TapError`. */
  onUnexpected?: (id: string, error: unknown) => void;
  /** Lets engines run on after their client has left: the fault this server exists to avoid, for comparison. */
  ignoreDisconnects?: boolean;
}

export interface Opening {
  id: string;
  route: string;
  streamed: boolean;
  model: string;
  requested: number;
  promptTokens: number;
}

type Sums = Record<Outcome, number>;

/**
 * All generations: those that run, the records of the last thousand, and the totals, which are counted apart from the
 * records (each token when it is produced, each outcome when it falls), so that they can be held against each other.
 */
export class Ledger implements GenerationObserver {
  readonly #options: LedgerOptions;
  readonly #running = new Map<GenerationRecord, Generation>();
  /** Oldest first. */
  readonly #records: GenerationRecord[] = [];
  #latest: GenerationRecord | undefined;
  readonly #times = new TokenTimes();
  #total = 0;
  #totalGenerated = 0;
  readonly #requests = { completed: 0, aborted: 0, failed: 0 };
  readonly #generated = { completed: 0, aborted: 0, failed: 0 };

  constructor(options: LedgerOptions) {
    this.#options = options;
  }

  /** A generation that has just arrived. It must be started, or failed, by the caller. */
  open(opening: Opening): Generation {
    const { clock, ignoreDisconnects } = this.#options;
    const record = new GenerationRecord(
      opening.id,
      opening.route,
      opening.model,
      opening.requested,
      opening.promptTokens,
      clock.now(),
    );
    const generation = new Generation(record, clock, this, ignoreDisconnects);
    this.#running.set(record, generation);
    this.#records.push(record);
    if (this.#records.length > MAX_RECORDS) this.#records.shift();
    if (opening.streamed) this.#latest = record;
    this.#total++;
    return generation;
  }

  produced(record: GenerationRecord, tokens: number, planned: number, now: number): void {
    this.#totalGenerated += tokens;
    for (let i = 0; i < tokens; i++) this.#times.produced(record, planned, now);
  }

  handed(record: GenerationRecord, tokens: number, now: number): void {
    for (let i = 0; i < tokens; i++) this.#times.handed(record, now);
  }

  ended(record: GenerationRecord): void {
    const outcome = record.outcome as Exclude<Outcome, "running">;
    this.#requests[outcome]++;
    this.#generated[outcome] += record.generated;
    this.#running.delete(record);
    this.#options.onEnded?.(record);
  }

  unexpected(record: GenerationRecord, error: unknown): void {
    this.#options.onUnexpected?.(record.id, error);
  }

  get running(): number {
    return this.#running.size;
  }

  /** Ends everything that runs; each reader is told `error`. */
  failAll(error: TapError): void {
    Generation.failAll([...this.#running.values()], error);
  }

  /** Newest first. */
  records(): GenerationRecord[] {
    return this.#records.toReversed();
  }

  /** The newest record with this id. */
  find(id: string): GenerationRecord | undefined {
    return this.#records.findLast((record) => record.id === id);
  }

  /** When each of its tokens was made and handed over; null when too many were made since for all to be kept. */
  timesOf(record: GenerationRecord): TokenTime[] | null {
    return this.#times.read(record);
  }

  /** The latest streamed request, running or not. */
  get latest(): GenerationRecord | undefined {
    return this.#latest;
  }

  get totalGenerated(): number {
    return this.#totalGenerated;
  }

  /**
   * Requests and tokens by outcome. `total` is counted apart from the parts, so that
   * total = completed + aborted + failed + running can be checked and is not true by construction.
   */
  totals(): { requests: Sums & { total: number }; generated: Sums & { total: number } } {
    let runningTokens = 0;
    for (const record of this.#running.keys()) runningTokens += record.generated;
    return {
      requests: { ...this.#requests, running: this.#running.size, total: this.#total },
      generated: { ...this.#generated, running: runningTokens, total: this.#totalGenerated },
    };
  }
}
