import { encode } from "./sse.ts";

/** Gathers what goes into one chunk: text to be encoded, and bytes that are ready. */
export class Chunk {
  #text = "";
  /** Nearly always the only part: a paced token is alone in its chunk. */
  #first: Uint8Array | undefined;
  #rest: Uint8Array[] | undefined;
  #size = 0;
  #shared = false;

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
    this.#add(bytes);
    this.#shared = true;
  }

  /** All that was gathered, in its order; undefined for nothing. The builder is empty after. */
  take(): Uint8Array | undefined {
    if (this.#text !== "") this.#encode();
    const first = this.#first;
    const rest = this.#rest;
    this.#first = undefined;
    if (first === undefined || rest === undefined) {
      this.#size = 0;
      return first;
    }
    const joined = new Uint8Array(this.#size);
    joined.set(first);
    let at = first.length;
    for (const part of rest) {
      joined.set(part, at);
      at += part.length;
    }
    this.#rest = undefined;
    this.#size = 0;
    this.#shared = false;
    return joined;
  }

  #encode(): void {
    const bytes = encode(this.#text);
    this.#text = "";
    this.#add(bytes);
    this.#shared = false;
  }

  #add(bytes: Uint8Array): void {
    if (this.#first === undefined) this.#first = bytes;
    else (this.#rest ??= []).push(bytes);
    this.#size += bytes.length;
  }
}
