/** Tokens whose times are kept, over all generations: a power of two. 16 bytes each, 32 MB once so many were made. */
export const MAX_TIMED = 2 ** 21;

/**
 * How many tokens of one generation are timed: the first ones, twice as many as the default model length allows. A
 * reader that never reads makes 160,000 tokens before its socket is full, which are times for nobody.
 */
const MAX_OF_ONE = 16_384;

const NONE = -1;

/** A generation as the log sees it. All but its arrival is the log's own: a list through the log's entries. */
export interface Timed {
  /** Milliseconds. */
  readonly arrivedAt: number;
  /** How many of its tokens are timed. */
  timed: number;
  /** Where the first of them is, the last, and the oldest that was not handed over yet. Positions count all entries ever. */
  firstTime: number;
  lastTime: number;
  notHanded: number;
}

/** What a generation starts with. */
export const UNTIMED = { timed: 0, firstTime: NONE, lastTime: NONE, notHanded: NONE } as const;

/**
 * When a token was planned, was there, and was given to the body, in whole microseconds from the request's arrival. Null
 * is "not yet", or more than 71 minutes.
 */
export interface TokenTime {
  planned_us: number | null;
  actual_us: number | null;
  handed_us: number | null;
}

/**
 * The times of the last two million tokens of a process, whose they may be: one log, each generation's a list through
 * it. What a token adds lies beside what the one before it added, whichever stream that was: arrays of their own, one
 * for each of a thousand streams, are out of the processor's caches when the next token comes, and cost 2 % of it.
 */
export class TokenTimes {
  /** Entries of four numbers: where the generation's next is, planned, actual, handed over. */
  readonly #segments: Uint32Array[] = [];
  /** Entries ever made. */
  #made = 0;
  readonly #most: number;

  /** @param most how many are kept; a power of two, for tests */
  constructor(most = MAX_TIMED) {
    this.#most = most;
  }

  /** A token was produced; times are the clock's milliseconds. */
  produced(of: Timed, planned: number, actual: number): void {
    if (of.timed === MAX_OF_ONE) return;
    const at = this.#made++;
    const segment = this.#segmentOf(at);
    const entry = entryOf(at);
    segment[entry + PLANNED] = micros(planned - of.arrivedAt);
    segment[entry + ACTUAL] = micros(actual - of.arrivedAt);
    if (of.timed++ === 0) of.firstTime = at;
    // A list whose end was written over has lost its beginning too, and is never read again.
    else if (at - of.lastTime < this.#most) {
      this.#segmentOf(of.lastTime)[entryOf(of.lastTime)] = at & (this.#most - 1);
    }
    of.lastTime = at;
    if (of.notHanded === NONE) of.notHanded = at;
  }

  /** The oldest of its tokens that was not handed to the body yet is handed over now. */
  handed(of: Timed, now: number): void {
    const at = of.notHanded;
    if (at === NONE) return;
    if (this.#made - at > this.#most) {
      of.notHanded = NONE;
      return;
    }
    const segment = this.#segmentOf(at);
    const entry = entryOf(at);
    segment[entry + HANDED] = micros(now - of.arrivedAt);
    of.notHanded = at === of.lastTime ? NONE : this.#after(of, segment[entry]);
  }

  /** The times of its tokens, first to last; null when some are no longer kept. */
  read(of: Timed): TokenTime[] | null {
    const times: TokenTime[] = [];
    if (of.timed === 0) return times;
    if (this.#made - of.firstTime > this.#most) return null;
    for (let at = of.firstTime;; at = this.#after(of, this.#segmentOf(at)[entryOf(at)])) {
      const segment = this.#segmentOf(at);
      const entry = entryOf(at);
      times.push({
        planned_us: told(segment[entry + PLANNED]),
        actual_us: told(segment[entry + ACTUAL]),
        handed_us: of.notHanded === NONE || at < of.notHanded ? told(segment[entry + HANDED]) : null,
      });
      if (at === of.lastTime) return times;
    }
  }

  /** The position behind an entry's place: the latest one there that is not after the list's last. */
  #after(of: Timed, place: number): number {
    return of.lastTime - ((of.lastTime - place) & (this.#most - 1));
  }

  /** Made when it is first needed: a server that makes few tokens keeps room for few. */
  #segmentOf(at: number): Uint32Array {
    const index = (at & (this.#most - 1)) >> SEGMENT_BITS;
    return this.#segments[index] ??= new Uint32Array(4 * SEGMENT);
  }
}

const SEGMENT_BITS = 12;
const SEGMENT = 1 << SEGMENT_BITS;

/** Where the numbers of an entry are, behind the place of the next one. */
const PLANNED = 1;
const ACTUAL = 2;
const HANDED = 3;

function entryOf(at: number): number {
  return 4 * (at & (SEGMENT - 1));
}

/** A time that an entry has no room for: 71 minutes after the arrival, or later. */
const TOO_LATE = 0xffff_ffff;

/** Whole microseconds; times before the arrival are 0. */
function micros(ms: number): number {
  const us = ms * 1000;
  return us < 0 ? 0 : us > TOO_LATE ? TOO_LATE : us;
}

function told(us: number): number | null {
  return us === TOO_LATE ? null : us;
}
