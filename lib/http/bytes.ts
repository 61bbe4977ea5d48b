export const NOTHING: Uint8Array<ArrayBuffer> = new Uint8Array(0);

/** The parts one behind the other, as one array of its own. */
export function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/**
 * Bytes that many bodies send, together with what a server makes of them: what each stream's every token touches is to
 * be found in one place. Nobody writes to them.
 */
export class SharedBytes {
  readonly bytes: Uint8Array;
  readonly length: number;
  /** The bytes as a chunk of HTTP/1.1, once a server has made it. */
  chunk: Uint8Array | undefined;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.length = bytes.length;
  }
}
