/**
 * How many tokens of one generation are timed: the first ones, twice as many as the default model length allows. A
 * reader that never reads makes 160,000 tokens before its socket is full, 2 MB of times for nobody.
 */
const MAX_TOKENS = 16_384;

/** Planned, actual and handed-over time of each token, in whole microseconds from the request's arrival. */
export class Timeline {
  /**
   * Segments of `SEGMENT` tokens, three numbers each. An array that grows would be copied by every collection of a
   * long stream's garbage, and its doubling would hold twice the memory.
   */
  readonly #segments: Uint32Array[] = [];
  /** The last of them, where a token that is handed over lies too, but for readers that are behind. */
  #segment = NONE;
  #produced = 0;
  #handed = 0;

  get length(): number {
    return this.#produced;
  }

  /** A token was produced now; times in milliseconds from the request's arrival. */
  produced(planned: number, actual: number): void {
    if (this.#produced === MAX_TOKENS) return;
    const index = this.#produced++ % SEGMENT;
    if (index === 0) this.#segments.push(this.#segment = new Uint32Array(3 * SEGMENT));
    const segment = this.#segment;
    segment[3 * index] = micros(planned);
    segment[3 * index + 1] = micros(actual);
  }

  /** The oldest token not yet handed over is handed to the body now. */
  handed(at: number): void {
    if (this.#handed === this.#produced) return;
    const index = this.#handed++;
    const behind = (this.#produced - 1) >> SEGMENT_BITS !== index >> SEGMENT_BITS;
    const segment = behind ? this.#segments[index >> SEGMENT_BITS] : this.#segment;
    segment[3 * (index % SEGMENT) + 2] = micros(at);
  }

  toJSON(): { planned_us: number; actual_us: number; handed_us: number | null }[] {
    return Array.from({ length: this.#produced }, (_, index) => {
      const segment = this.#segments[index >> SEGMENT_BITS];
      const at = 3 * (index % SEGMENT);
      const handed_us = index < this.#handed ? segment[at + 2] : null;
      return { planned_us: segment[at], actual_us: segment[at + 1], handed_us };
    });
  }
}

const SEGMENT_BITS = 8;
const SEGMENT = 1 << SEGMENT_BITS;
const NONE = new Uint32Array(0);

/** Whole microseconds. Times after 71 minutes are clamped there, times before the arrival to 0. */
function micros(ms: number): number {
  const us = ms * 1000;
  return us < 0 ? 0 : us > 0xffff_ffff ? 0xffff_ffff : us;
}
