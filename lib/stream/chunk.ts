import type { Token } from "../engine/engine.ts";
import type { SharedBytes } from "../http/bytes.ts";
import { type Format, MALFORMED } from "./format.ts";
import { encode } from "./sse.ts";

/**
 * What one chunk may hold when tokens are ready faster than the reader takes them. With the one chunk that the
 * stream itself may queue, this bounds how far a generator can run ahead of a reader that has stopped reading: the
 * tokens of a chunk, and one that the engine may be ahead, beyond what the socket took.
 */
export const MAX_EVENTS_PER_CHUNK = 256;
const MAX_CHUNK_SIZE = 32_768;

/**
 * Where chunks of several parts are put together, for all streams: a chunk is filled and taken in one go. Large enough
 * for most; what an upstream says in one event may be longer.
 */
let scratch = new Uint8Array(65_536);

/** Gathers what goes into one chunk: text to be encoded, and bytes that are ready. */
export class Chunk {
  #text = "";
  /** Nearly always the only part: a paced token is alone in its chunk. */
  #alone: SharedBytes | undefined;
  /** Bytes gathered, without the text; those that are not alone lie in `scratch`. */
  #size = 0;
  #events = 0;
  #taken: SharedBytes | undefined;

  /** Bytes gathered, text counted by its UTF-16 units. */
  get size(): number {
    return this.#size + this.#text.length;
  }

  /** It holds as much as a chunk is to hold. */
  get full(): boolean {
    return this.#events >= MAX_EVENTS_PER_CHUNK || this.size >= MAX_CHUNK_SIZE;
  }

  /** What was taken last, when it is the same for whoever adds it. */
  get shared(): SharedBytes | undefined {
    return this.#taken;
  }

  /** `token` in the form of `format`. */
  addToken(token: Token, format: Format): void {
    this.#events++;
    const shared = token.wire === undefined ? format.bytes?.(token) : undefined;
    if (shared !== undefined) this.addShared(shared);
    else this.addText(token.wire === "malformed" ? MALFORMED : format.token(token));
  }

  addText(text: string): void {
    this.#text += text;
  }

  /** They are not copied when they stay alone in the chunk. */
  addShared(shared: SharedBytes): void {
    if (this.size === 0) {
      this.#alone = shared;
      this.#size = shared.length;
      return;
    }
    this.#join();
    this.#append(shared.bytes);
  }

  /**
   * All that was gathered, in its order; undefined for nothing. The builder is empty after.
   *
   * @param fleeting the caller is done with it before anything else is gathered, here or elsewhere
   */
  take(fleeting = false): Uint8Array | undefined {
    this.#events = 0;
    if (this.#size === 0) return this.#takeText();
    if (this.#text !== "") this.#join();
    const size = this.#size;
    const alone = this.#taken = this.#alone;
    this.#size = 0;
    this.#alone = undefined;
    if (alone !== undefined) return alone.bytes;
    return fleeting ? scratch.subarray(0, size) : scratch.slice(0, size);
  }

  /** Drops what was gathered. */
  clear(): void {
    if (this.#events > 0 || this.size > 0) this.take(true);
  }

  #takeText(): Uint8Array | undefined {
    const text = this.#text;
    this.#text = "";
    this.#taken = undefined;
    return text === "" ? undefined : encode(text);
  }

  /** Puts all that was gathered into `scratch`. */
  #join(): void {
    const alone = this.#alone;
    if (alone !== undefined) {
      this.#alone = undefined;
      this.#size = 0;
      this.#append(alone.bytes);
    }
    if (this.#text === "") return;
    const bytes = encode(this.#text);
    this.#text = "";
    this.#append(bytes);
  }

  #append(bytes: Uint8Array): void {
    const end = this.#size + bytes.length;
    if (end > scratch.length) {
      const larger = new Uint8Array(2 * end);
      larger.set(scratch.subarray(0, this.#size));
      scratch = larger;
    }
    scratch.set(bytes, this.#size);
    this.#size = end;
  }
}
