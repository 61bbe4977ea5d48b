import type { Socket } from "../../lib/http/socket.ts";

/** A connection in memory: what the test sends is read as it was sent, and all that is written is kept. */
export class MemorySocket implements Socket {
  readonly writes: Uint8Array[] = [];
  closed = false;
  /** The sending direction was ended. */
  shut = false;
  /** Each write takes at most this many bytes. */
  taken = Infinity;
  readonly #pieces: (Uint8Array | null)[] = [];
  #waiting: (() => void) | undefined;
  #fail: ((error: Error) => void) | undefined;
  #writing = false;
  #held: Promise<void> | undefined;

  /** Sends text, each character a byte, or bytes. */
  send(data: string | Uint8Array): void {
    if (data.length === 0) return;
    this.#pieces.push(typeof data === "string" ? Uint8Array.from(data, (c) => c.charCodeAt(0)) : data);
    this.#waiting?.();
  }

  /** Leaves, after what was sent. */
  leave(): void {
    this.#pieces.push(null);
    this.#waiting?.();
  }

  /** From now on nothing is taken, until what it returns is called. */
  hold(): () => void {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    promise.catch(() => {});
    this.#held = promise;
    this.#fail = reject;
    return () => {
      this.#held = undefined;
      resolve();
    };
  }

  get text(): string {
    const decoder = new TextDecoder();
    return this.writes.map((bytes) => decoder.decode(bytes, { stream: true })).join("");
  }

  /** Bytes sent that nobody has read. */
  get unread(): number {
    return this.#pieces.reduce((size, piece) => size + (piece?.length ?? 0), 0);
  }

  async read(into: Uint8Array): Promise<number | null> {
    while (this.#pieces.length === 0) {
      if (this.closed) throw new Error("closed");
      await new Promise<void>((resolve) => this.#waiting = resolve);
    }
    const piece = this.#pieces[0];
    if (piece === null) return null;
    const part = piece.subarray(0, into.length);
    into.set(part);
    if (part.length === piece.length) this.#pieces.shift();
    else this.#pieces[0] = piece.subarray(part.length);
    return part.length;
  }

  async write(bytes: Uint8Array): Promise<number> {
    if (this.closed || this.shut) throw new Error("closed");
    // Two at once could be mixed up by a real socket that takes only a part.
    if (this.#writing) throw new Error("wanted one write at a time");
    this.#writing = true;
    await this.#held;
    this.#writing = false;
    const count = Math.min(this.taken, bytes.length);
    // A copy: the writer may use its bytes again.
    this.writes.push(bytes.slice(0, count));
    return count;
  }

  close(): void {
    // As the runtime's does.
    if (this.closed) throw new Error("closed already");
    this.closed = true;
    this.#waiting?.();
    this.#fail?.(new Error("closed"));
  }

  closeWrite(): Promise<void> {
    this.shut = true;
    return Promise.resolve();
  }
}
