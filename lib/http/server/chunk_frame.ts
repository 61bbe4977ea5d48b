const CR = 13;
const LF = 10;

/** The last chunk, without a trailer. */
export const LAST_CHUNK: Uint8Array = new TextEncoder().encode("0\r\n\r\n");

/** Room for a payload's size and its two line ends. */
const AROUND = 12;
const LEAST = 512;
/** A longer chunk gets an array of its own, which goes when it is written. */
const MOST_KEPT = 65_536;

/** Puts the payloads of one response into chunks, each as one array so that it can be one write. */
export class ChunkFrames {
  /** Used again for each: 7,000 arrays a second, as an unpaced stream needs, are a garbage collector's main work. */
  #kept: Uint8Array | undefined;

  /** The chunk of `payload`, which must not be empty. A copy, good until the next call. */
  frame(payload: Uint8Array): Uint8Array {
    const needed = payload.length + AROUND;
    if (needed > MOST_KEPT) return fill(new Uint8Array(needed), payload);
    if (this.#kept === undefined || this.#kept.length < needed) {
      this.#kept = new Uint8Array(Math.max(LEAST, 2 ** Math.ceil(Math.log2(needed))));
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

/** Frames of shared payloads that are kept: a vocabulary repeats itself. */
const MAX_SHARED = 4096;

const shared = new Map<Uint8Array, Uint8Array>();

/** The chunk of a payload that comes again and again as the same array: it is made once. */
export function sharedFrame(payload: Uint8Array): Uint8Array {
  let frame = shared.get(payload);
  if (frame === undefined) {
    frame = fill(new Uint8Array(payload.length + AROUND), payload);
    if (shared.size < MAX_SHARED) shared.set(payload, frame);
  }
  return frame;
}
