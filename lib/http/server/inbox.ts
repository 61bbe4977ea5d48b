import { NOTHING } from "../bytes.ts";
import type { Socket } from "../socket.ts";

/** Of bytes not yet used; the socket is not read beyond while somebody reads them, so that its window holds the peer back. */
const MAX_HELD = 65_536;

/** How long a full inbox waits for somebody to use it before it drops what comes, if nobody is about to. */
const PATIENCE_MS = 50;

/** Room of a connection at rest: a read always waits in it, so this is what it costs to notice a leaver. */
const AT_REST = 2048;

/** A read gets at least this much room; behind most heads that array has it left. */
const MIN_READ = 512;

/** Arrays of connections that are over, for those to come: to make one takes 3 µs, garbage included. */
const spare: Uint8Array<ArrayBuffer>[] = [];
const MAX_SPARE = 256;

/**
 * What has arrived and is not yet used. One read always waits on the socket, whatever the connection does, so that a
 * peer that leaves is noticed at once. Only while `MAX_HELD` bytes lie here for somebody who reads them does it pause.
 */
export class Inbox {
  /** Nothing more will arrive: the peer has left, or the socket was closed here. */
  ended = false;
  /** Something did not fit and is gone: where the next request begins is not known. */
  lost = false;

  readonly #socket: Socket;
  readonly #idle: () => boolean;
  #bytes = spare.pop() ?? new Uint8Array(AT_REST);
  #start = 0;
  #end = 0;
  #readSize = MIN_READ;
  #discarding = false;
  /** Something was used since the wait for room began, or was looked at last. */
  #used = false;
  #arrival: Promise<void> | undefined;
  #arrived: (() => void) | undefined;
  #roomy: (() => void) | undefined;

  /** @param idle nobody is about to read what lies here, so that more is to be dropped rather than waited with */
  constructor(socket: Socket, idle: () => boolean) {
    this.#socket = socket;
    this.#idle = idle;
  }

  get length(): number {
    return this.#end - this.#start;
  }

  /** What is there, to be looked at before anything is awaited: the next read may move it. */
  peek(): Uint8Array {
    return this.#bytes.subarray(this.#start, this.#end);
  }

  /** Removes the first `count` bytes. */
  consume(count: number): void {
    this.#start += count;
    this.#used = true;
    if (this.length < MAX_HELD) this.#wakeReading();
  }

  /** Settles when something arrived, or nothing will any more. Never rejects. */
  more(): Promise<void> {
    if (this.ended) return Promise.resolve();
    return this.#arrival ??= new Promise((resolve) => this.#arrived = resolve);
  }

  /** Has whoever waits for more look again. */
  wake(): void {
    const arrived = this.#arrived;
    this.#arrival = this.#arrived = undefined;
    arrived?.();
  }

  /** From now on drops what arrives. */
  discard(): void {
    this.#discarding = true;
    this.consume(this.length);
  }

  /** Stops waiting for anything. The socket must be closed as well. */
  end(): void {
    this.ended = true;
    this.#wakeReading();
    this.wake();
  }

  /** Reads until the end of the connection. Never rejects. */
  async fill(): Promise<void> {
    while (!this.ended) {
      const full = this.length >= MAX_HELD;
      if (full && !(this.lost && this.#idle())) {
        await this.#roomMade();
        if (this.ended || this.length < MAX_HELD || !this.#idle()) continue;
      }
      const room = full ? new Uint8Array(AT_REST) : this.#room();
      let count: number | null;
      try {
        count = await this.#socket.read(room);
      } catch {
        // A reset, or the socket was closed here.
        count = null;
      }
      if (!count) break;
      if (full) {
        this.lost = true;
        continue;
      }
      this.#end += count;
      this.#readSize = count === room.length ? Math.min(MAX_HELD, 2 * room.length) : MIN_READ;
      if (this.#discarding) this.#start = this.#end;
      this.wake();
    }
    this.end();
    this.#giveBack();
  }

  /** No read waits any more. What lies here is kept for who has not used it yet. */
  #giveBack(): void {
    if (this.length > 0 || this.#bytes.length !== AT_REST || spare.length === MAX_SPARE) return;
    spare.push(this.#bytes);
    // Whoever looks once more must not see what is another connection's by then.
    this.#bytes = NOTHING;
  }

  /** Where the next read goes. Moves the bytes only here, where no read waits. */
  #room(): Uint8Array {
    const { length } = this;
    const wanted = length + this.#readSize;
    const least = Math.max(AT_REST, wanted);
    // The second: a connection at rest gives back what a long request had needed.
    if (wanted > this.#bytes.length || (length === 0 && this.#bytes.length > least)) {
      const bytes = new Uint8Array(Math.max(least, 2 * length));
      bytes.set(this.peek());
      this.#bytes = bytes;
      this.#start = 0;
      this.#end = length;
    } else if (length === 0) {
      this.#start = this.#end = 0;
    } else if (this.#bytes.length - this.#end < this.#readSize) {
      this.#bytes.copyWithin(0, this.#start, this.#end);
      this.#start = 0;
      this.#end = length;
    }
    return this.#end === 0 ? this.#bytes : this.#bytes.subarray(this.#end);
  }

  /** Settles when there is room, or nobody has used anything for a while: many small requests take longer than that. */
  #roomMade(): Promise<void> {
    this.#used = false;
    return new Promise((resolve) => {
      let timer: ReturnType<typeof setTimeout>;
      const look = () => {
        if (this.#used) timer = setTimeout(look, PATIENCE_MS);
        else resolve();
        this.#used = false;
      };
      timer = setTimeout(look, PATIENCE_MS);
      this.#roomy = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #wakeReading(): void {
    const roomy = this.#roomy;
    this.#roomy = undefined;
    roomy?.();
  }
}
