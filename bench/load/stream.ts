import { FrameCounter } from "./frames.ts";
import type { Connection, Transport } from "./transport.ts";

export interface StreamEvents {
  /** `count` tokens arrived in one read at `now`; `previous` is the read before it that had tokens, null at first. */
  tokens(count: number, now: number, previous: number | null, sentAt: number): void;
  /** The response is over: `problem` null when it is complete (status 200, all tokens, [DONE], clean end). */
  ended(problem: string | null): void;
}

/** Reads streams of `expected` tokens over one connection, one after another. */
export class StreamReader {
  readonly #counter = new FrameCounter();
  readonly #connection: Connection;
  #sentAt = 0;
  #previous: number | null = null;
  #over = true;
  #closed = false;

  constructor(
    transport: Transport,
    port: number,
    readonly request: Uint8Array,
    readonly expected: number,
    readonly events: StreamEvents,
  ) {
    this.#connection = transport.connect(port, {
      open: () => this.#send(),
      data: (buffer, length, now) => this.#data(buffer, length, now),
      closed: (problem) => {
        this.#closed = true;
        this.#end(problem);
      },
    });
    this.#over = false;
  }

  get bodyBytes(): number {
    return this.#counter.bodyBytes;
  }

  /** Asks for the next stream on the same connection; false when the server has closed it. */
  again(): boolean {
    if (this.#closed || this.#counter.closes || !this.#over) return false;
    this.#counter.reset();
    this.#over = false;
    this.#send();
    return true;
  }

  close(): void {
    this.#closed = true;
    this.#over = true;
    this.#connection.close();
  }

  #send(): void {
    this.#previous = null;
    this.#sentAt = performance.now();
    this.#connection.send(this.request);
  }

  #data(buffer: Uint8Array, length: number, now: number): void {
    let count: number;
    try {
      count = this.#counter.feed(buffer, length);
    } catch (error) {
      this.#connection.close();
      this.#closed = true;
      return this.#end(error instanceof Error ? error.message : String(error));
    }
    if (count > 0) {
      this.events.tokens(count, now, this.#previous, this.#sentAt);
      this.#previous = now;
    }
    if (this.#counter.ended) this.#end(null);
  }

  #end(problem: string | null): void {
    if (this.#over) return;
    this.#over = true;
    const { status, tokens, done } = this.#counter;
    const clean = status === 200 && tokens === this.expected && done;
    const what = `status ${status}, ${tokens} tokens of ${this.expected}, [DONE] ${
      done ? "seen" : "missing"
    }`;
    this.events.ended(clean && problem === null ? null : problem === null ? what : `${problem}: ${what}`);
  }
}
