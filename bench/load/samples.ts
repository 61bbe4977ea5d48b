/** Durations in ms, kept exactly (as whole microseconds) in one growing array: no object per sample. */
export class Samples {
  #values = new Uint32Array(1 << 16);
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(ms: number): void {
    if (this.#count === this.#values.length) {
      const larger = new Uint32Array(this.#values.length * 2);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.#count++] = Math.max(0, Math.round(ms * 1000));
  }

  /** p50, p99 and max in ms (nearest rank), or null when nothing was recorded. */
  summary(): Summary | null {
    const count = this.#count;
    if (count === 0) return null;
    const sorted = this.#values.slice(0, count).sort();
    const rank = (share: number) => sorted[Math.max(0, Math.ceil(share * count) - 1)] / 1000;
    return { count, p50: rank(0.5), p99: rank(0.99), max: sorted[count - 1] / 1000 };
  }
}

export interface Summary {
  count: number;
  p50: number;
  p99: number;
  max: number;
}
