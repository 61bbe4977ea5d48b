import type { Waiter } from "../engine/engine.ts";
import { Chunk } from "./chunk.ts";

/**
 * The one chunk of a process that bodies fill, one at a time: it is filled and handed over in one go, so a stream
 * needs none of its own.
 *
 * While one body takes its tokens another may be woken: a generation that ends frees its slot, and the one it goes to
 * may have a token at once. That body goes on when the chunk is handed over, still in the same turn.
 */
export class Gathering {
  readonly chunk: Chunk = new Chunk();
  #going = false;
  #waking = false;
  readonly #woken: Waiter[] = [];

  /** True when the chunk is the caller's until `end()`. Otherwise `waiter` is woken later. */
  begin(waiter: Waiter): boolean {
    if (this.#going) {
      this.#woken.push(waiter);
      return false;
    }
    this.#going = true;
    return true;
  }

  /** What is still in the chunk was for a stream that failed, and goes to no other. */
  end(): void {
    this.#going = false;
    this.chunk.clear();
    if (this.#woken.length > 0 && !this.#waking) this.#wakeAll();
  }

  /** A loop, not a recursion: each of a long queue may end at once and wake the next. */
  #wakeAll(): void {
    this.#waking = true;
    try {
      while (this.#woken.length > 0) this.#woken.shift()!.wake();
    } finally {
      this.#waking = false;
    }
  }
}
