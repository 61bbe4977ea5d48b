import { publicError, TapError } from "../errors.ts";
import { ENDED, PENDING, type Polled, type Token } from "../engine/engine.ts";
import { CutStream } from "../engine/faults.ts";
import type { Clock, Task } from "../engine/pacer.ts";
import { type Format, MALFORMED } from "./format.ts";
import type { Generation } from "./generation.ts";
import { cutInsideCharacter } from "./split.ts";
import { encode, SSE_KEEP_ALIVE } from "./sse.ts";
import type { Turn } from "./turn.ts";

/**
 * What one chunk may hold when tokens are ready faster than the reader takes them. With the one chunk that the
 * stream itself may queue, this bounds how far a generator can run ahead of a reader that has stopped reading:
 * `MAX_TOKENS_AHEAD` tokens beyond what the socket took.
 */
const MAX_EVENTS_PER_CHUNK = 64;
const MAX_CHARS_PER_CHUNK = 32_768;
export const MAX_TOKENS_AHEAD = MAX_EVENTS_PER_CHUNK + 1;

/** Time between the pieces of an event that is split on purpose, so that each is a write of its own. */
const SPLIT_PAUSE_MS = 5;

export interface BodyOptions {
  format: Format;
  clock: Clock;
  turn: Turn;
  /** Silence after which a comment is written, in milliseconds. */
  keepAliveMs: number;
  /** How long a reader may take nothing before the stream is torn down, in milliseconds. */
  stallMs: number;
}

/**
 * A generation as a response body. The reader's demand drives it: `pull()` takes what the generator has ready, all of
 * it in one chunk, and `cancel()` stops the generator.
 */
export function streamBody(generation: Generation, options: BodyOptions): ReadableStream<Uint8Array> {
  return new ReadableStream(new GenerationSource(generation, options), { highWaterMark: 1 });
}

class GenerationSource implements UnderlyingDefaultSource<Uint8Array>, Task {
  tick?: number;
  readonly #generation: Generation;
  readonly #options: BodyOptions;
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  /**
   * Resolves the pending pull(). It is kept pending while chunks go straight to a waiting read: a stream whose pull is
   * pending does not call it again at each enqueue, which saves three promises a token. It is resolved when a chunk
   * stays in the queue, for only pull() tells that the reader has come back.
   */
  #release: (() => void) | undefined;
  #started = false;
  /** The last chunk filled up: more was ready than it could hold. */
  #flooded = false;
  /** No more tokens are taken. */
  #done = false;
  /** How the stream is to end once the reader has taken what is queued. */
  #last: (() => void) | undefined;
  #pieces: Uint8Array[] = [];
  /** When the last chunk was handed over. */
  #lastAt: number;

  constructor(generation: Generation, options: BodyOptions) {
    this.#generation = generation;
    this.#options = options;
    this.#lastAt = options.clock.now();
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#controller = controller;
    this.#watch();
  }

  pull(): Promise<void> | void {
    if (this.#last !== undefined) return this.#last();
    if (this.#flooded && this.#options.turn.spent()) {
      this.#options.turn.next(this.#pump);
    } else {
      this.#pump();
      // Nothing to wait for: the stream pulls again by itself as soon as it wants more.
      if (this.#done || this.#flooded || this.#controller.desiredSize! <= 0) return;
    }
    return new Promise((resolve) => this.#release = resolve);
  }

  cancel(): void {
    this.#finish();
    this.#generation.abort();
  }

  /** The watch over silence in both directions: nothing to send, or nobody who takes it. */
  fire(now: number): void {
    const { keepAliveMs, stallMs } = this.#options;
    const silentMs = now - this.#lastAt;
    if (this.#controller.desiredSize! <= 0) {
      if (silentMs >= stallMs) return this.#stalled();
    } else if (silentMs >= keepAliveMs && this.#pieces.length === 0) {
      this.#enqueue(encode(SSE_KEEP_ALIVE));
    }
    this.#watch();
  }

  #watch(): void {
    const { clock, keepAliveMs, stallMs } = this.#options;
    const now = clock.now();
    // Not re-armed at every token, which would cost as much as the token: at each look the next one is set to the
    // earliest moment at which anything can be due.
    const blocked = this.#controller.desiredSize! <= 0;
    clock.at(blocked ? this.#lastAt + stallMs : Math.min(now + stallMs, this.#lastAt + keepAliveMs), this);
  }

  #stalled(): void {
    const seconds = this.#options.stallMs / 1000;
    const error = new TapError("stalled", `The reader took nothing for ${seconds} s.`);
    this.#finish();
    this.#generation.fail(error);
    this.#controller.error(error);
  }

  readonly #pump = (): void => {
    if (this.#done || this.#pieces.length > 0) return;
    // No room: pull() comes when there is, and polls anew.
    if (this.#controller.desiredSize! <= 0) return this.#pullAgain();
    const { format } = this.#options;
    let text = "";
    let polled: Polled = PENDING;
    for (let events = 0; events < MAX_EVENTS_PER_CHUNK && text.length < MAX_CHARS_PER_CHUNK; events++) {
      try {
        polled = this.#generation.poll(this.#pump);
      } catch (error) {
        return this.#fail(text, error);
      }
      if (polled === PENDING) break;
      if (!this.#started) {
        this.#started = true;
        text += format.start?.() ?? "";
      }
      if (polled === ENDED) return this.#close(text + format.end());
      if (polled.wire !== undefined) {
        if (polled.wire === "split") return this.#split(text, polled);
        text += MALFORMED;
      } else {
        text += format.token(polled);
      }
    }
    if (text !== "") this.#enqueue(encode(text));
    this.#flooded = polled !== PENDING;
    // More is ready, or the reader is behind: let the stream decide when it pulls again.
    if (this.#flooded || this.#controller.desiredSize! <= 0) this.#pullAgain();
  };

  #enqueue(chunk: Uint8Array): void {
    this.#lastAt = this.#options.clock.now();
    this.#controller.enqueue(chunk);
  }

  #pullAgain(): void {
    const release = this.#release;
    this.#release = undefined;
    release?.();
  }

  /** Writes `text` and has `last` end the stream as soon as the reader has taken it. */
  #endAfter(text: string, last: () => void): void {
    if (text !== "") this.#enqueue(encode(text));
    this.#done = true;
    this.#last = () => {
      this.#options.clock.cancel(this);
      last();
    };
    if (this.#controller.desiredSize! > 0) this.#last();
    this.#pullAgain();
  }

  #close(text: string): void {
    this.#endAfter(text, () => this.#controller.close());
  }

  #fail(text: string, error: unknown): void {
    if (!(error instanceof CutStream)) {
      return this.#close(text + this.#options.format.error(publicError(error)));
    }
    if (error.how === "close") return this.#close(text);
    // The runtime logs what a body breaks with; this one was asked for, so a line is enough.
    error.stack = error.message;
    // error() drops what the server has not yet written, so the loop goes round once before it.
    this.#endAfter(text, () => this.#options.turn.next(() => this.#controller.error(error)));
  }

  #split(text: string, token: Token): void {
    const pieces = cutInsideCharacter(encode(this.#options.format.token(token)));
    if (text !== "") this.#enqueue(encode(text));
    this.#pieces = pieces;
    const writer: Task = {
      fire: () => {
        if (this.#done) return;
        this.#enqueue(this.#pieces.shift()!);
        if (this.#pieces.length > 0) {
          this.#options.clock.at(this.#options.clock.now() + SPLIT_PAUSE_MS, writer);
        } else this.#pump();
      },
    };
    this.#options.clock.at(this.#options.clock.now() + SPLIT_PAUSE_MS, writer);
  }

  /** Nothing more will be written. */
  #finish(): void {
    this.#done = true;
    this.#pieces = [];
    this.#options.clock.cancel(this);
    this.#pullAgain();
  }
}
