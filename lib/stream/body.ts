import { publicError, TapError } from "../errors.ts";
import { ENDED, PENDING, type Polled, type Token } from "../engine/engine.ts";
import { CutStream } from "../engine/faults.ts";
import type { Clock, Task } from "../engine/pacer.ts";
import { Chunk } from "./chunk.ts";
import { type Format, MALFORMED } from "./format.ts";
import type { Generation } from "./generation.ts";
import { cutInsideCharacter } from "./split.ts";
import { encode, SSE_KEEP_ALIVE } from "./sse.ts";
import { torn } from "./torn.ts";
import type { Turn } from "./turn.ts";

/**
 * What one chunk may hold when tokens are ready faster than the reader takes them. With the one chunk that the
 * stream itself may queue, this bounds how far a generator can run ahead of a reader that has stopped reading: the
 * tokens of a chunk, and one that the engine may be ahead, beyond what the socket took.
 */
export const MAX_EVENTS_PER_CHUNK = 256;
const MAX_CHUNK_SIZE = 32_768;

/**
 * How often a body that is woken asks whether its turn is over. An engine of promises alone wakes it for each token
 * without ever leaving the microtask queue; asking for each would cost a paced stream more than the token.
 */
const PUMPS_PER_LOOK = 16;

/** Time between the pieces of an event that is split on purpose, so that each is a write of its own. */
const SPLIT_PAUSE_MS = 5;

/** What a body is made of: one generation, or several as one. */
type Source = Pick<Generation, "poll" | "abort" | "fail">;

/** How exact a watch over seconds of silence is, in milliseconds. */
const WATCH_STEP_MS = 64;

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
export function streamBody(generation: Source, options: BodyOptions): ReadableStream<Uint8Array> {
  return new ReadableStream(new GenerationSource(generation, options), { highWaterMark: 1 });
}

class GenerationSource implements UnderlyingDefaultSource<Uint8Array>, Task {
  tick?: number | undefined;
  index?: number;
  readonly #generation: Source;
  readonly #options: BodyOptions;
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  /**
   * Resolves the pending pull(). It is kept pending while chunks go straight to a waiting read: a stream whose pull is
   * pending does not call it again at each enqueue, which saves three promises a token. It is resolved when a chunk
   * stays in the queue, for only pull() tells that the reader has come back.
   */
  #release: (() => void) | undefined;
  readonly #chunk = new Chunk();
  #started = false;
  /** The last chunk filled up: more was ready than it could hold. */
  #flooded = false;
  /** No more tokens are taken. */
  #done = false;
  /** How the stream is to end once the reader has taken what is queued. */
  #last: (() => void) | undefined;
  #pieces: Uint8Array[] = [];
  #pumps = 0;
  /** The turn is used up. Whoever wakes the body meanwhile, the engine or the reader, must wait for the next one. */
  #resting = false;
  /** When the last chunk was handed over. */
  #lastAt: number;

  constructor(generation: Source, options: BodyOptions) {
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
      this.#rest();
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
    const due = blocked ? this.#lastAt + stallMs : Math.min(now + stallMs, this.#lastAt + keepAliveMs);
    // Rounded up, so that the watches of all streams share a few wake-ups.
    clock.at(due - now > 10 * WATCH_STEP_MS ? Math.ceil(due / WATCH_STEP_MS) * WATCH_STEP_MS : due, this);
  }

  #stalled(): void {
    const seconds = this.#options.stallMs / 1000;
    const error = new TapError("stalled", `The reader took nothing for ${seconds} s.`);
    this.#finish();
    this.#generation.fail(error);
    this.#controller.error(torn(error));
  }

  readonly #pump = (): void => {
    if (this.#done || this.#resting || this.#pieces.length > 0) return;
    // No room: pull() comes when there is, and polls anew.
    if (this.#controller.desiredSize! <= 0) return this.#pullAgain();
    if (++this.#pumps % PUMPS_PER_LOOK === 0 && this.#options.turn.spent()) {
      return this.#rest();
    }
    const { format, clock } = this.#options;
    // Read once for all that is taken here: a read costs as much as a token.
    const now = clock.now();
    const chunk = this.#chunk;
    let polled: Polled = PENDING;
    for (let events = 0; events < MAX_EVENTS_PER_CHUNK && chunk.size < MAX_CHUNK_SIZE; events++) {
      try {
        polled = this.#generation.poll(this.#pump, now);
      } catch (error) {
        return this.#fail(error);
      }
      if (polled === PENDING) break;
      if (!this.#started) {
        this.#started = true;
        chunk.addText(format.start?.() ?? "");
      }
      if (polled === ENDED) return this.#close(format.end());
      if (polled.wire === "split") return this.#split(polled);
      const bytes = polled.wire === undefined ? format.bytes?.(polled) : undefined;
      if (bytes !== undefined) chunk.addBytes(bytes);
      else chunk.addText(polled.wire === "malformed" ? MALFORMED : format.token(polled));
    }
    this.#write(now);
    this.#flooded = polled !== PENDING;
    // More is ready, or the reader is behind: let the stream decide when it pulls again.
    if (this.#flooded || this.#controller.desiredSize! <= 0) this.#pullAgain();
  };

  #rest(): void {
    this.#resting = true;
    this.#options.turn.next(() => {
      this.#resting = false;
      this.#pump();
    });
  }

  /** Hands over what the chunk holds, if anything. */
  #write(now: number): void {
    const bytes = this.#chunk.take();
    if (bytes !== undefined) this.#enqueue(bytes, now);
  }

  #enqueue(chunk: Uint8Array, now = this.#options.clock.now()): void {
    this.#lastAt = now;
    this.#controller.enqueue(chunk);
  }

  #pullAgain(): void {
    const release = this.#release;
    this.#release = undefined;
    release?.();
  }

  /** Writes what there is and has `last` end the stream as soon as the reader has taken it. */
  #endAfter(last: () => void): void {
    this.#write(this.#options.clock.now());
    this.#done = true;
    this.#last = () => {
      this.#options.clock.cancel(this);
      last();
    };
    if (this.#controller.desiredSize! > 0) this.#last();
    this.#pullAgain();
  }

  #close(text: string): void {
    this.#chunk.addText(text);
    this.#endAfter(() => this.#controller.close());
  }

  #fail(error: unknown): void {
    if (!(error instanceof CutStream)) {
      return this.#close(this.#options.format.error(publicError(error)));
    }
    if (error.how === "close") return this.#close("");
    // error() drops what the server has not yet written, so the loop goes round once before it.
    this.#endAfter(() => this.#options.turn.next(() => this.#controller.error(torn(error))));
  }

  #split(token: Token): void {
    const pieces = cutInsideCharacter(encode(this.#options.format.token(token)));
    this.#write(this.#options.clock.now());
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
