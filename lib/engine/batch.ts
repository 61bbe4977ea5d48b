import { TapError } from "../errors.ts";

/** A generation as the batch sees it. The links are the batch's own: the queue is a list through its members. */
export interface Member {
  /** A slot has become free and is now this member's. Must not throw. */
  admitted(): void;
  place?: "queue" | "slot" | undefined;
  before?: Member | undefined;
  after?: Member | undefined;
}

/**
 * The running batch: `max` slots, and a first-come queue for those that find none free.
 *
 * A member that leaves, from the queue or from a slot, frees its place in the same turn, and the next in line is
 * admitted in the same turn too. The queue is a linked list, so leaving from its middle costs no more than from its
 * ends: in an incident it is long, and most who leave do so from the middle.
 */
export class Batch {
  readonly max: number;
  readonly maxQueue: number;
  #inUse = 0;
  #queued = 0;
  #first: Member | undefined;
  #last: Member | undefined;
  /** Free slots are being given out; a member that leaves meanwhile is seen by that same loop. */
  #filling = false;

  constructor(max: number, maxQueue: number) {
    this.max = max;
    this.maxQueue = maxQueue;
  }

  get inUse(): number {
    return this.#inUse;
  }

  get queued(): number {
    return this.#queued;
  }

  /** How full the batch is: 0 for a member alone, 1 when all slots are busy. */
  get load(): number {
    return this.max === 1 ? this.#inUse : Math.max(0, this.#inUse - 1) / (this.max - 1);
  }

  /**
   * Takes a slot (`admitted` is called before this returns) or the last place in the queue.
   * Throws `rate_limit` when the queue is full.
   */
  enter(member: Member): void {
    if (this.#inUse < this.max && this.#first === undefined) {
      this.#admit(member);
      return;
    }
    if (this.#queued >= this.maxQueue) {
      throw new TapError(
        "rate_limit",
        `All ${this.max} slots are busy and the waiting queue is full (${this.maxQueue}); try again later.`,
        { retryAfter: 1 },
      );
    }
    member.place = "queue";
    member.before = this.#last;
    if (this.#last) this.#last.after = member;
    else this.#first = member;
    this.#last = member;
    this.#queued++;
  }

  /** Frees the member's place, wherever it is. Called again, it does nothing. */
  leave(member: Member): void {
    if (member.place === "queue") {
      this.#unlink(member);
    } else if (member.place === "slot") {
      member.place = undefined;
      this.#inUse--;
      this.#fill();
    }
  }

  /** A loop, not a recursion: a member may end while it is being admitted, and so may all those behind it. */
  #fill(): void {
    if (this.#filling) return;
    this.#filling = true;
    while (this.#first !== undefined && this.#inUse < this.max) {
      const next = this.#first;
      this.#unlink(next);
      this.#admit(next);
    }
    this.#filling = false;
  }

  #admit(member: Member): void {
    member.place = "slot";
    this.#inUse++;
    member.admitted();
  }

  #unlink(member: Member): void {
    if (member.before) member.before.after = member.after;
    else this.#first = member.after;
    if (member.after) member.after.before = member.before;
    else this.#last = member.before;
    member.before = member.after = member.place = undefined;
    this.#queued--;
  }
}
