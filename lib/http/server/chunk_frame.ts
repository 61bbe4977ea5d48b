const CR = 13;
const LF = 10;

/** The last chunk, without a trailer. */
export const LAST_CHUNK: Uint8Array = new TextEncoder().encode("0\r\n\r\n");

/** Frames of shared payloads that are kept: a vocabulary repeats itself. */
const MAX_KEPT = 4096;

const kept = new Map<Uint8Array, Uint8Array>();

/** The chunk of `payload`, which must not be empty, as one array so that it can be one write. */
export function chunkFrame(payload: Uint8Array): Uint8Array {
  const { length } = payload;
  const digits = length < 0x10 ? 1 : length < 0x100 ? 2 : length < 0x1000 ? 3 : length.toString(16).length;
  const size = digits + length + 4;
  const frame = new Uint8Array(size);
  let left = length;
  for (let at = digits - 1; at >= 0; at--) {
    const digit = left % 16;
    frame[at] = digit < 10 ? 48 + digit : 87 + digit;
    left = (left - digit) / 16;
  }
  frame[digits] = CR;
  frame[digits + 1] = LF;
  frame.set(payload, digits + 2);
  frame[size - 2] = CR;
  frame[size - 1] = LF;
  return frame;
}

/** The same for a payload that comes again and again as the same array: its chunk is made once. */
export function sharedChunkFrame(payload: Uint8Array): Uint8Array {
  let frame = kept.get(payload);
  if (frame === undefined) {
    frame = chunkFrame(payload);
    if (kept.size < MAX_KEPT) kept.set(payload, frame);
  }
  return frame;
}
