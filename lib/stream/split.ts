import type { Clock, Task } from "../engine/pacer.ts";

/** Time between the pieces, so that each is a write of its own. */
const PAUSE_MS = 5;

/**
 * `bytes` in three pieces, the second cut inside a character of several bytes where there is one (else in the middle).
 * The pieces joined are `bytes`.
 */
export function cutInsideCharacter(bytes: Uint8Array): Uint8Array[] {
  // A continuation byte (10xxxxxx) has its character's first byte before it.
  const inside = bytes.findIndex((byte) => (byte & 0xc0) === 0x80);
  const second = inside > 0 ? inside : Math.max(1, bytes.length >> 1);
  const first = second >> 1;
  return [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)].filter((p) =>
    p.length > 0
  );
}

/** Writes an event in pieces, for the fault `split`. */
export class SplitWriter implements Task {
  tick?: number | undefined;
  index?: number;
  readonly #clock: Clock;
  readonly #write: (piece: Uint8Array) => void;
  readonly #done: () => void;
  #pieces: Uint8Array[] = [];

  /** @param done called after the last piece: the stream may go on */
  constructor(clock: Clock, write: (piece: Uint8Array) => void, done: () => void) {
    this.#clock = clock;
    this.#write = write;
    this.#done = done;
  }

  /** Pieces are still to be written. */
  get busy(): boolean {
    return this.#pieces.length > 0;
  }

  begin(event: Uint8Array): void {
    this.#pieces = cutInsideCharacter(event);
    this.#wait();
  }

  stop(): void {
    this.#pieces = [];
    this.#clock.cancel(this);
  }

  fire(): void {
    this.#write(this.#pieces.shift()!);
    if (this.busy) this.#wait();
    else this.#done();
  }

  #wait(): void {
    this.#clock.at(this.#clock.now() + PAUSE_MS, this);
  }
}
