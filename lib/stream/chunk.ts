import { encode } from "./sse.ts";

/** Gathers what goes into one chunk: text to be encoded, and bytes that are ready. */
export class Chunk {
  #text = "";
  #parts: Uint8Array[] = [];
  #size = 0;

  /** Bytes gathered, text counted by its UTF-16 units. */
  get size(): number {
    return this.#size + this.#text.length;
  }

  addText(text: string): void {
    this.#text += text;
  }

  /** `bytes` are not copied when they stay alone in the chunk: nobody may write to them any more. */
  addBytes(bytes: Uint8Array): void {
    if (this.#text !== "") this.#encode();
    this.#parts.push(bytes);
    this.#size += bytes.length;
  }

  /** All that was gathered, in its order; undefined for nothing. The builder is empty after. */
  take(): Uint8Array | undefined {
    if (this.#text !== "") this.#encode();
    const parts = this.#parts;
    if (parts.length === 0) return undefined;
    const size = this.#size;
    this.#parts = [];
    this.#size = 0;
    if (parts.length === 1) return parts[0];
    const joined = new Uint8Array(size);
    let at = 0;
    for (const part of parts) {
      joined.set(part, at);
      at += part.length;
    }
    return joined;
  }

  #encode(): void {
    const bytes = encode(this.#text);
    this.#text = "";
    this.#parts.push(bytes);
    this.#size += bytes.length;
  }
}
