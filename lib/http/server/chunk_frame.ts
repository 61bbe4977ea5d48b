import type { SharedBytes } from "../bytes.ts";

const CR = 13;
const LF = 10;

/** The last chunk, without a trailer. */
export const LAST_CHUNK: Uint8Array = new TextEncoder().encode("0\r\n\r\n");

/** Room for a payload's size and its two line ends. */
const AROUND = 12;
const MIN_KEPT = 512;
/** A longer chunk gets an array of its own, which goes when it is written. */
const MAX_KEPT = 65_536;

/** Puts the payloads of one response into chunks, each as one array so that it can be one write. */
export class ChunkFrames {
  /** Used again for each: 7,000 arrays a second, as an unpaced stream needs, are a garbage collector's main work. */
  #kept: Uint8Array | undefined;

  /** The chunk of `payload`, which must not be empty. A copy, good until the next call. */
  frame(payload: Uint8Array): Uint8Array {
    const needed = payload.length + AROUND;
    if (needed > MAX_KEPT) return fill(new Uint8Array(needed), payload);
    if (this.#kept === undefined || this.#kept.length < needed) {
      this.#kept = new Uint8Array(Math.max(MIN_KEPT, 2 ** Math.ceil(Math.log2(needed))));
    }
    return fill(this.#kept, payload);
  }
}

/** Writes the chunk of `payload` to the start of `into`, and returns that part. */
function fill(into: Uint8Array, payload: Uint8Array): Uint8Array {
  const { length } = payload;
  const digits = length < 0x10 ? 1 : length < 0x100 ? 2 : length < 0x1000 ? 3 : length.toString(16).length;
  let left = length;
  for (let at = digits - 1; at >= 0; at--) {
    const digit = left % 16;
    into[at] = digit < 10 ? 48 + digit : 87 + digit;
    left = (left - digit) / 16;
  }
  into[digits] = CR;
  into[digits + 1] = LF;
  into.set(payload, digits + 2);
  const end = digits + 2 + length;
  into[end] = CR;
  into[end + 1] = LF;
  return into.subarray(0, end + 2);
}

/**
 * Chunks of shared bytes lie side by side: to give bytes to a socket the runtime touches three objects of theirs that
 * a page of chunks has in common.
 */
const PAGE = 65_536;

let page = new Uint8Array(0);

/** The chunk of bytes that come again and again: it is made once. */
export function sharedFrame(shared: SharedBytes): Uint8Array {
  return shared.chunk ??= fill(room(shared.length + AROUND), shared.bytes);
}

function room(size: number): Uint8Array {
  if (size > PAGE) return new Uint8Array(size);
  if (size > page.length) page = new Uint8Array(PAGE);
  const taken = page.subarray(0, size);
  page = page.subarray(size);
  return taken;
}
