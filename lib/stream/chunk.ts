import { encode } from "./sse.ts";

/**
 * Where chunks of several parts are put together, for all streams: a chunk is filled and taken in one go. Large enough
 * for most; what an upstream says in one event may be longer.
 */
let scratch = new Uint8Array(65_536);

/** Gathers what goes into one chunk: text to be encoded, and bytes that are ready. */
export class Chunk {
  #text = "";
  /** Nearly always the only part: a paced token is alone in its chunk. */
  #first: Uint8Array | undefined;
  #shared = false;
  /** Bytes gathered, without the text; once they are not alone they lie in `scratch`. */
  #size = 0;

  /** Bytes gathered, text counted by its UTF-16 units. */
  get size(): number {
    return this.#size + this.#text.length;
  }

  /** Whether what was taken last is what was once added, and the same for whoever adds it. */
  get shared(): boolean {
    return this.#shared;
  }

  addText(text: string): void {
    this.#text += text;
  }

  /** `bytes` are not copied when they stay alone in the chunk: nobody may write to them any more. */
  addBytes(bytes: Uint8Array): void {
    if (this.#text !== "") this.#encode();
    this.#add(bytes, true);
  }

  /**
   * All that was gathered, in its order; undefined for nothing. The builder is empty after.
   *
   * @param fleeting the caller is done with it before anything else is gathered, here or elsewhere
   */
  take(fleeting = false): Uint8Array | undefined {
    if (this.#text !== "") this.#encode();
    const size = this.#size;
    const first = this.#first;
    this.#size = 0;
    this.#first = undefined;
    if (size === 0) return undefined;
    if (first !== undefined) return first;
    return fleeting ? scratch.subarray(0, size) : scratch.slice(0, size);
  }

  #encode(): void {
    const bytes = encode(this.#text);
    this.#text = "";
    this.#add(bytes, false);
  }

  #add(bytes: Uint8Array, shared: boolean): void {
    if (this.#size === 0) {
      this.#first = bytes;
      this.#shared = shared;
      this.#size = bytes.length;
      return;
    }
    if (this.#first !== undefined) {
      this.#shared = false;
      this.#size = 0;
      this.#append(this.#first);
      this.#first = undefined;
    }
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
