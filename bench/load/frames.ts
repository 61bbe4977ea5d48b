const LF = 0x0a, CR = 0x0d;
/** `data: `, after which `{` begins a token and `[` begins `[DONE]`. */
const MARK = Uint8Array.from([0x64, 0x61, 0x74, 0x61, 0x3a, 0x20]);

const enum Phase {
  Head,
  ChunkSize,
  ChunkData,
  ChunkEnd,
  Trailer,
  Fixed,
  UntilClose,
  Ended,
}

/**
 * Reads one HTTP/1.1 response and counts its token events, keeping its state over reads.
 * It undoes the chunked coding, so that an event cut by a chunk border is still counted once, and it
 * never decodes text or parses JSON: the generator must cost less than the server.
 */
export class FrameCounter {
  /** HTTP status, 0 until the head has arrived. */
  status = 0;
  /** Token events seen. */
  tokens = 0;
  /** Body bytes seen, without the chunked coding. */
  bodyBytes = 0;
  /** `data: [DONE]` was seen. */
  done = false;
  /** The server asked to close the connection after this response. */
  closes = false;
  #phase: Phase = Phase.Head;
  #head: number[] = [];
  #left = 0;
  #matched = 0;
  #trailerLine = 0;

  /** The whole response has arrived (for one without a length: the connection has to end it). */
  get ended(): boolean {
    return this.#phase === Phase.Ended;
  }

  /** Makes it ready for the next response on the same connection. */
  reset(): void {
    this.status = this.tokens = this.bodyBytes = 0;
    this.done = this.closes = false;
    this.#phase = Phase.Head;
    this.#head.length =
      this.#left =
      this.#matched =
      this.#trailerLine =
        0;
  }

  /** Takes `length` bytes; returns the number of token events that ended up begun in them. */
  feed(bytes: Uint8Array, length: number): number {
    const before = this.tokens;
    let at = 0;
    while (at < length) {
      switch (this.#phase) {
        case Phase.ChunkData:
        case Phase.Fixed: {
          const end = Math.min(length, at + this.#left);
          this.#scan(bytes, at, end);
          this.#left -= end - at;
          at = end;
          if (this.#left === 0) this.#phase = this.#phase === Phase.Fixed ? Phase.Ended : Phase.ChunkEnd;
          break;
        }
        case Phase.ChunkEnd:
          if (bytes[at++] === LF) this.#phase = Phase.ChunkSize;
          break;
        case Phase.ChunkSize:
          this.#size(bytes[at++]);
          break;
        case Phase.Head:
          this.#headByte(bytes[at++]);
          break;
        case Phase.Trailer:
          this.#trailer(bytes[at++]);
          break;
        case Phase.UntilClose:
          this.#scan(bytes, at, length);
          at = length;
          break;
        case Phase.Ended:
          throw new Error(`wanted the end of the response, got ${length - at} bytes more`);
      }
    }
    return this.tokens - before;
  }

  #size(byte: number): void {
    if (byte === LF) {
      this.#phase = this.#left === 0 ? Phase.Trailer : Phase.ChunkData;
      return;
    }
    if (byte === CR) return;
    const digit = hexDigit(byte);
    if (digit < 0) throw new Error(`wanted a chunk size, got byte 0x${byte.toString(16)}`);
    this.#left = this.#left * 16 + digit;
  }

  #trailer(byte: number): void {
    if (byte === CR) return;
    if (byte !== LF) this.#trailerLine++;
    else if (this.#trailerLine === 0) this.#phase = Phase.Ended;
    else this.#trailerLine = 0;
  }

  #headByte(byte: number): void {
    const head = this.#head;
    head.push(byte);
    const n = head.length;
    if (byte !== LF || n < 4 || head[n - 2] !== CR || head[n - 3] !== LF || head[n - 4] !== CR) return;
    const text = String.fromCharCode(...head).toLowerCase();
    head.length = 0;
    this.status = Number(/^http\/1\.[01] (\d{3})/.exec(text)?.[1] ?? 0);
    this.closes = /\r\nconnection: *close/.test(text);
    const fixed = /\r\ncontent-length: *(\d+)/.exec(text);
    if (/\r\ntransfer-encoding: *chunked/.test(text)) this.#phase = Phase.ChunkSize;
    else if (fixed) {
      this.#left = Number(fixed[1]);
      this.#phase = this.#left === 0 ? Phase.Ended : Phase.Fixed;
    } else this.#phase = Phase.UntilClose;
  }

  #scan(bytes: Uint8Array, from: number, to: number): void {
    this.bodyBytes += to - from;
    let matched = this.#matched;
    for (let at = from; at < to; at++) {
      const byte = bytes[at];
      if (matched === MARK.length) {
        if (byte === 0x7b) this.tokens++;
        else if (byte === 0x5b) this.done = true;
        matched = 0;
      } else if (byte === MARK[matched]) matched++;
      // Enough: the line break before each mark is not in it, so no mark begins inside a failed one.
      else matched = 0;
    }
    this.#matched = matched;
  }
}

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}
