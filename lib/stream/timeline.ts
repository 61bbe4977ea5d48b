/** Planned, actual and handed-over time of each token, in whole microseconds from the request's arrival. */
export class Timeline {
  /** Three numbers a token. Grown by doubling, since most generations are short. */
  #times = new Uint32Array(3 * 32);
  #length = 0;
  #handed = 0;

  get length(): number {
    return this.#length;
  }

  produced(planned: number, actual: number): void {
    const at = 3 * this.#length++;
    if (at === this.#times.length) {
      const grown = new Uint32Array(2 * at);
      grown.set(this.#times);
      this.#times = grown;
    }
    this.#times[at] = Math.max(0, planned * 1000);
    this.#times[at + 1] = actual * 1000;
  }

  /** The oldest token not yet handed over is handed to the body now. */
  handed(at: number): void {
    if (this.#handed < this.#length) this.#times[3 * this.#handed++ + 2] = at * 1000;
  }

  toJSON(): { planned_us: number; actual_us: number; handed_us: number | null }[] {
    return Array.from({ length: this.#length }, (_, i) => ({
      planned_us: this.#times[3 * i],
      actual_us: this.#times[3 * i + 1],
      handed_us: i < this.#handed ? this.#times[3 * i + 2] : null,
    }));
  }
}
