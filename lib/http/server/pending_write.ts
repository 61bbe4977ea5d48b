import { nextTask } from "../../event_loop.ts";
import { NOTHING } from "../bytes.ts";
import type { Socket } from "../socket.ts";

/** Whose write it is. */
export interface WriteOwner {
  /** All of the bytes were taken. Called when it was asked for. */
  taken(): void;
  /** The connection is gone. */
  lost(): void;
}

/**
 * One write to a socket: put off, out, or over. It is the owner's while `owner` says so.
 *
 * What happens between a token and the next is kept here and not in its stream: a thousand streams share the few
 * writes that are out at a time, so these stay in the processor's caches, where a stream's own state does not.
 */
export class PendingWrite {
  owner: WriteOwner | undefined;
  bytes: Uint8Array = NOTHING;
  /** The owner wants to hear of it when the bytes were taken. */
  asked = false;
  /** It is out: the bytes are no longer to be changed. */
  begun = false;
  #socket!: Socket;

  /** Takes a write that is over for `owner`. */
  static of(owner: WriteOwner, socket: Socket, bytes: Uint8Array): PendingWrite {
    const write = free.pop() ?? new PendingWrite();
    write.owner = owner;
    write.bytes = bytes;
    write.#socket = socket;
    write.asked = write.begun = false;
    return write;
  }

  /** Begins it when what runs now has ended. */
  putOff(): this {
    if (due.push(this) === 1) queueMicrotask(beginSome);
    return this;
  }

  begin(): this {
    this.begun = true;
    if (this.owner === undefined) this.#over();
    else this.#socket.write(this.bytes).then(this.#onTaken, this.#onLost);
    return this;
  }

  readonly #onTaken = (count: number): void => {
    const { owner, bytes, asked } = this;
    if (count !== bytes.length) return this.#part(count);
    this.#over();
    if (asked) owner?.taken();
  };

  readonly #onLost = (): void => {
    const { owner } = this;
    this.#over();
    owner?.lost();
  };

  #part(count: number): void {
    if (count <= 0) return this.#onLost();
    this.bytes = this.bytes.subarray(count);
    this.begin();
  }

  /** The next owner may have it. Not before the socket is done with it, even when the owner no longer is. */
  #over(): void {
    this.owner = undefined;
    this.bytes = NOTHING;
    free.push(this);
  }
}

const free: PendingWrite[] = [];

/**
 * Writes that begin when what runs now has ended. A wake-up of the clock makes a hundred tokens: made one after the
 * other and then written one after the other they cost 5 % less than each written when it is made, since neither
 * pushes the other's code and data out of the caches.
 */
const due: PendingWrite[] = [];

/**
 * Writes begun in one task. Deno's sockets (tokio's) take 128 operations in one; those beyond wait for milliseconds, at
 * twice the cost: 3,500 streams × 50 tokens/s came to 48,000 tokens/s and gaps of 2 s at p99, in tasks of 120 to
 * 98,000 and 70 ms.
 */
const MAX_AT_ONCE = 120;

function beginSome(): void {
  const now = due.length <= MAX_AT_ONCE ? due.splice(0) : due.splice(0, MAX_AT_ONCE);
  if (due.length > 0) nextTask(beginSome);
  for (const write of now) write.begin();
}
