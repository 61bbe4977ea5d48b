import { publicError, TapError, torn } from "../errors.ts";
import { ENDED, PENDING, type Polled, type Waiter } from "../engine/engine.ts";
import { CutStream } from "../engine/faults.ts";
import { type DirectBody, offerDirect, type Outlet } from "../http/outlet.ts";
import type { SharedBytes } from "../http/bytes.ts";
import type { Source } from "./choices.ts";
import type { Format } from "./format.ts";
import { Gathering } from "./gathering.ts";
import { type SilenceOptions, SilenceWatch, type Watched } from "./silence.ts";
import { SplitWriter } from "./split.ts";
import { encode, SSE_KEEP_ALIVE } from "./sse.ts";
import { StreamOutlet } from "./stream_outlet.ts";
import type { Turn } from "./turn.ts";

const gathering = new Gathering();
const { chunk } = gathering;

/** What all bodies of a server share: one object, which is in the processor's caches when a token comes. */
export interface BodyOptions extends SilenceOptions {
  turn: Turn;
}

/**
 * A generation as a response body. The reader's demand drives it: `pull()` takes what the generator has ready, all of
 * it in one chunk, and `cancel()` stops the generator.
 */
export function streamBody(
  generation: Source,
  format: Format,
  options: BodyOptions,
): ReadableStream<Uint8Array> {
  const source = new GenerationSource(generation, format, options);
  let outlet: StreamOutlet;
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      outlet = new StreamOutlet(controller, () => source.resume());
      source.start(outlet);
    },
    pull: () => outlet.pull(),
    cancel: () => source.cancel(),
    // Nothing is pulled ahead: until the first read the source may still be driven without its stream.
  }, { highWaterMark: 0 });
  offerDirect(stream, source);
  return stream;
}

/**
 * Takes a generation's tokens and hands them to its outlet: its stream, or what a server that reads no streams has put
 * in the stream's place.
 */
class GenerationSource implements DirectBody, Watched, Waiter {
  // What each token touches stands first: a thousand streams share the processor's caches.
  #outlet!: Outlet;
  /** No more tokens are taken. */
  #done = false;
  /** The turn is used up. Whoever wakes the body meanwhile, the engine or the reader, must wait for the next one. */
  #resting = false;
  #started = false;
  /** Waits for `resume()`: the generation was not asked for more, since the outlet had no room for it. */
  #starved = true;
  /** The last chunk filled up: more was ready than it could hold. */
  #flooded = false;
  #splitting: SplitWriter | undefined;
  /** When the last chunk was handed over, rounded up: a whole number is kept in its place, any other in one of its own. */
  lastAt: number;
  readonly #generation: Source;
  readonly #format: Format;
  readonly #options: BodyOptions;
  /** What is left to do once the reader has taken everything. */
  #last: (() => void) | undefined;
  readonly #silence: SilenceWatch;

  constructor(generation: Source, format: Format, options: BodyOptions) {
    this.#generation = generation;
    this.#format = format;
    this.#options = options;
    this.lastAt = Math.ceil(options.clock.now());
    this.#silence = new SilenceWatch(this, options);
  }

  start(outlet: Outlet): void {
    this.#outlet = outlet;
    this.#silence.start();
  }

  attach(outlet: Outlet): boolean {
    if (this.#done) return false;
    this.#outlet = outlet;
    return true;
  }

  resume(): void {
    if (this.#last !== undefined) return this.#last();
    if (!this.#starved) return;
    this.#starved = false;
    if (this.#flooded && this.#options.turn.spent()) this.#rest();
    else this.wake();
  }

  wake(at?: number): void {
    if (this.#done || this.#resting || this.#splitting?.busy) return;
    // No room: resume() comes when there is, and polls anew.
    if (this.#outlet.desiredSize < 0) return this.#starve();
    if (!gathering.begin(this)) return;
    try {
      if (this.#options.turn.woken()) this.#rest();
      else this.#gather(at ?? this.#options.clock.now());
    } finally {
      gathering.end();
    }
  }

  prefetch(): number {
    return (this.#resting ? 1 : 0) ^ (this.#silence === undefined ? 1 : 0) ^ (this.#outlet.prefetch?.() ?? 0);
  }

  cancel(): void {
    this.#finish();
    this.#generation.abort();
  }

  get blocked(): boolean {
    return this.#starved || this.#outlet.desiredSize < 0;
  }

  silent(): void {
    if (!this.#splitting?.busy) this.#enqueue(encode(SSE_KEEP_ALIVE));
  }

  stalled(): void {
    const seconds = this.#options.settings.stallLimit / 1000;
    const error = new TapError(
      "stalled",
      `No write was taken for ${seconds} s: the reader reads nothing, or too slowly.`,
    );
    this.#finish();
    this.#generation.fail(error);
    this.#outlet.error(torn(error));
  }

  /** Takes what the generation has ready, and hands it over. The time is read once for all of it, if at all. */
  #gather(now: number): void {
    const format = this.#format;
    let polled: Polled = PENDING;
    while (!chunk.full) {
      try {
        polled = this.#generation.poll(this, now);
      } catch (error) {
        return this.#fail(error);
      }
      if (polled === PENDING) break;
      if (!this.#started) {
        this.#started = true;
        chunk.addText(format.start?.() ?? "");
      }
      if (polled === ENDED) return this.#close(format.end());
      if (polled.wire === "split") return this.#split(format.token(polled), now);
      chunk.addToken(polled, format);
    }
    this.#write(now);
    this.#flooded = polled !== PENDING;
    // More is ready: let the outlet decide when it has room for it.
    if (this.#flooded) this.#starve();
  }

  #rest(): void {
    this.#resting = true;
    this.#options.turn.next(() => {
      this.#resting = false;
      this.wake();
    });
  }

  /** Hands over what the chunk holds, if anything. */
  #write(now: number): void {
    const bytes = chunk.take(this.#outlet.copies);
    if (bytes !== undefined) this.#enqueue(bytes, now, chunk.shared);
  }

  #enqueue(bytes: Uint8Array, now = this.#options.clock.now(), shared?: SharedBytes): void {
    this.lastAt = Math.ceil(now);
    this.#outlet.enqueue(bytes, shared);
  }

  /** Nothing more is taken from the generation until the outlet has room. */
  #starve(): void {
    this.#starved = true;
    this.#outlet.ask();
  }

  /** Told to the outlet at once, so that the end can go out with the last event. */
  #close(text: string): void {
    chunk.addText(text);
    this.#end(() => this.#silence.stop());
    this.#outlet.close();
  }

  /** Hands over what there is, and takes nothing more; `last` follows when the reader has taken everything. */
  #end(last: () => void): void {
    this.#write(this.#options.clock.now());
    this.#done = true;
    this.#last = last;
  }

  #fail(error: unknown): void {
    if (!(error instanceof CutStream)) {
      return this.#close(this.#format.error(publicError(error)));
    }
    if (error.how === "close") return this.#close("");
    this.#end(() => {
      this.#silence.stop();
      // error() drops what the server has not yet written, so the loop goes round once before it.
      this.#options.turn.next(() => this.#outlet.error(torn(error)));
    });
    if (this.#outlet.desiredSize < 0) this.#outlet.ask();
    else this.resume();
  }

  #split(event: string, now: number): void {
    this.#write(now);
    const write = (piece: Uint8Array) => this.#enqueue(piece);
    this.#splitting ??= new SplitWriter(this.#options.clock, write, () => this.wake());
    this.#splitting.begin(encode(event));
  }

  /** Nothing more will be written. */
  #finish(): void {
    this.#done = true;
    this.#splitting?.stop();
    this.#silence.stop();
  }
}
