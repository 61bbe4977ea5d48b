import { nextRound } from "../../event_loop.ts";
import type { Socket } from "../../http/socket.ts";

/** What a connection that hands out its bytes by itself has to offer besides. */
export interface Pusher {
  write(bytes: Uint8Array, done: (error?: Error | null) => void): unknown;
  /** Pushes no more, as soon as it can. */
  pause(): unknown;
  /** Goes on; may push before it returns. */
  resume(): unknown;
  /** Ends both directions at once. */
  destroy(): unknown;
}

interface Reader {
  into: Uint8Array;
  resolve: (size: number | null) => void;
  reject: (error: Error) => void;
}

/** Makes a connection that pushes its bytes one that is read: whoever reads it sets its pace. */
export class PushedSocket implements Socket {
  readonly #pusher: Pusher;
  #reader: Reader | undefined;
  /** What came while nobody read. */
  #held: Uint8Array[] = [];
  #pausing = false;
  #paused = false;
  #ended = false;
  #error: Error | undefined;

  constructor(pusher: Pusher) {
    this.#pusher = pusher;
  }

  /**
   * Takes what has come, valid during this call only. A reader who waits gets it at once, so that a paced stream, whose
   * reader is always back in time, is never paused.
   */
  push(bytes: Uint8Array): void {
    const reader = this.#reader;
    if (reader === undefined) return this.#hold(bytes.slice());
    this.#reader = undefined;
    const size = Math.min(reader.into.length, bytes.length);
    reader.into.set(bytes.subarray(0, size));
    if (size < bytes.length) this.#hold(bytes.slice(size));
    reader.resolve(size);
  }

  /** The peer has sent its last. */
  end(): void {
    this.#ended = true;
    this.#reader?.resolve(null);
    this.#reader = undefined;
  }

  /** The connection is gone; called again, or after its end, it does nothing. */
  fail(error: Error): void {
    this.#error ??= error;
    this.#reader?.reject(this.#error);
    this.#reader = undefined;
  }

  read(into: Uint8Array): Promise<number | null> {
    const held = this.#held.shift();
    if (held !== undefined) {
      const size = Math.min(into.length, held.length);
      into.set(held.subarray(0, size));
      if (size < held.length) this.#held.unshift(held.subarray(size));
      return Promise.resolve(size);
    }
    if (this.#ended) return Promise.resolve(null);
    if (this.#error !== undefined) return Promise.reject(this.#error);
    return new Promise((resolve, reject) => {
      this.#reader = { into, resolve, reject };
      if (!this.#paused) return;
      this.#paused = false;
      this.#pusher.resume();
    });
  }

  write(bytes: Uint8Array): Promise<number> {
    return new Promise((resolve, reject) =>
      this.#pusher.write(bytes, (error) => error ? reject(error) : resolve(bytes.length))
    );
  }

  close(): void {
    this.#held = [];
    this.#pusher.destroy();
    this.fail(new Error("the socket was closed"));
  }

  /**
   * Pauses a round later, not at once: of a connection that is paused in the middle of a burst, Deno 2.9 loses the end
   * that comes with it.
   */
  #hold(bytes: Uint8Array): void {
    this.#held.push(bytes);
    if (this.#pausing) return;
    this.#pausing = true;
    nextRound(() => {
      this.#pausing = false;
      if (this.#held.length === 0 || this.#paused || this.#error !== undefined) return;
      this.#paused = true;
      this.#pusher.pause();
    });
  }
}
