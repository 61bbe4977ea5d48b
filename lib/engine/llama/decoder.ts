import { nextRound } from "../../event_loop.ts";
import { awake } from "./awake.ts";
import type { LlamaContext, LlamaSampler } from "./binding.ts";

/** The sequence's next tokens to read, and how to choose the one that follows them. */
export interface Step {
  /** The native sequence: the place in the cache that holds what came before. */
  readonly sequence: number;
  /** Position of the first of `tokens`; 0 starts the sequence anew. */
  readonly position: number;
  readonly tokens: Uint32Array;
  readonly sampler: LlamaSampler;
}

interface Job extends Step {
  readonly signal: AbortSignal;
  /** Tokens already decoded. */
  done: number;
  resolve(token: number | undefined): void;
  reject(error: unknown): void;
}

/** More than a token needs from here through generator and body back to here. */
const MICROTASKS = 50;

/**
 * Runs the model over all sequences that want a token, together: one decode reads the weights once for all of them.
 *
 * A sequence takes part only while its reader waits for a token, so nothing is computed ahead of a reader, and a long
 * prompt goes in pieces of at most `batchSize` tokens between the others' tokens.
 */
export class Decoder {
  readonly #context: LlamaContext;
  readonly #batchSize: number;
  /** How many sequences are held by someone, waiting for a token or not. */
  readonly #held: () => number;
  #waiting: Job[] = [];
  #running: Promise<void> | undefined;
  #closed = false;

  constructor(context: LlamaContext, batchSize: number, held: () => number) {
    this.#context = context;
    this.#batchSize = batchSize;
    this.#held = held;
  }

  /**
   * Reads the step's tokens and draws the next one. Undefined when `signal` aborted or the decoder was closed: at once
   * while the step still waits, else after the decode under way, from which no token is drawn any more.
   * Rejects with what llama.cpp says.
   */
  next(step: Step, signal: AbortSignal): Promise<number | undefined> {
    if (signal.aborted || this.#closed) return Promise.resolve(undefined);
    return new Promise((resolve, reject) => {
      const job: Job = {
        ...step,
        signal,
        done: 0,
        resolve: (token) => {
          signal.removeEventListener("abort", leave);
          resolve(token);
        },
        reject: (error) => {
          signal.removeEventListener("abort", leave);
          reject(error);
        },
      };
      const leave = () => {
        if (this.#drop(job)) job.resolve(undefined);
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#waiting.push(job);
      this.#running ??= awake(this.#run());
    });
  }

  /** Ends all steps and waits for the decode under way: the context may be disposed after. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const job of this.#waiting.splice(0)) job.resolve(undefined);
    await this.#running;
  }

  async #run(): Promise<void> {
    // Never inside next(): whoever asks in the same turn shares the first decode.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      await this.#othersAsk();
      await this.#decode(this.#gather());
    }
    this.#running = undefined;
  }

  /**
   * Lets those that have just got a token ask for the next one, or two sequences would take turns, each alone in every
   * second decode. Most ask within some microtasks; one whose reader is slow is waited for a round of the event loop
   * and no longer.
   */
  async #othersAsk(): Promise<void> {
    for (let hop = 0; hop < MICROTASKS && this.#held() > this.#waiting.length; hop++) await undefined;
    if (this.#held() > this.#waiting.length) await new Promise<void>(nextRound);
  }

  /** Takes the jobs of the next decode, each with the number of tokens it may put in. */
  #gather(): Map<Job, number> {
    const part = new Map<Job, number>();
    let room = this.#batchSize;
    // The shortest first: a token of a running sequence never waits behind a prompt.
    for (const job of this.#waiting.toSorted((a, b) => left(a) - left(b))) {
      const size = Math.min(left(job), room);
      if (size === 0) break;
      part.set(job, size);
      room -= size;
    }
    this.#waiting = this.#waiting.filter((job) => !part.has(job));
    return part;
  }

  async #decode(part: Map<Job, number>): Promise<void> {
    if (part.size === 0) return;
    try {
      const logits = this.#fill(part);
      await this.#context.decodeBatch();
      for (const [job, size] of part) {
        job.done += size;
        const logit = logits.get(job);
        if (job.signal.aborted || this.#closed) job.resolve(undefined);
        else if (logit === undefined) this.#waiting.push(job);
        else job.resolve(await this.#context.sampleToken(logit, job.sampler));
      }
    } catch (error) {
      for (const job of part.keys()) {
        this.#drop(job);
        job.reject(error);
      }
    }
  }

  /** Puts the jobs' tokens into the native batch; answers where the logits of those that end will be. */
  #fill(part: Map<Job, number>): Map<Job, number> {
    const logits = new Map<Job, number>();
    this.#context.initBatch([...part.values()].reduce((sum, size) => sum + size, 0));
    for (const [job, size] of part) {
      const position = job.position + job.done;
      // Here, and not when the sequence was left, because no decode may be under way.
      if (position === 0) this.#context.disposeSequence(job.sequence);
      const wanted = size === left(job) ? Uint32Array.of(size - 1) : new Uint32Array();
      const tokens = job.tokens.subarray(job.done, job.done + size);
      const [logit] = this.#context.addToBatch(job.sequence, position, tokens.slice(), wanted);
      if (logit !== undefined) logits.set(job, logit);
    }
    return logits;
  }

  #drop(job: Job): boolean {
    const index = this.#waiting.indexOf(job);
    if (index >= 0) this.#waiting.splice(index, 1);
    return index >= 0;
  }
}

function left(job: Job): number {
  return job.tokens.length - job.done;
}
