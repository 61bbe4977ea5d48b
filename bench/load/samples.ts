import { z } from "zod";
import { percentile } from "../../lib/client/timing.ts";

export const Quantiles = z.object({ count: z.number(), p50: z.number(), p99: z.number(), max: z.number() });

/** What a set of durations came to, in ms. */
export type Quantiles = z.infer<typeof Quantiles>;

/** Durations in ms, kept exactly (as whole microseconds) in one growing array: no object per sample. */
export class Samples {
  #values = new Uint32Array(1 << 16);
  #count = 0;

  add(ms: number): void {
    if (this.#count === this.#values.length) {
      const larger = new Uint32Array(this.#values.length * 2);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.#count++] = Math.max(0, Math.round(ms * 1000));
  }

  /** Null when nothing was recorded. */
  quantiles(): Quantiles | null {
    const count = this.#count;
    if (count === 0) return null;
    const sorted = this.#values.slice(0, count).sort();
    const ms = (p: number) => percentile(sorted, p) / 1000;
    return { count, p50: ms(50), p99: ms(99), max: ms(100) };
  }
}
