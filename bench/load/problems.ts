/** Counts equal problems, so that a thousand failed streams are a few lines. */
export class Problems {
  readonly #counts = new Map<string, number>();

  add(problem: string, times = 1): void {
    this.#counts.set(problem, (this.#counts.get(problem) ?? 0) + times);
  }

  /** The most frequent first, at most ten. */
  list(): string[] {
    return [...this.#counts].sort((a, b) => b[1] - a[1]).slice(0, 10).map(([what, count]) =>
      `${count} × ${what}`
    );
  }
}
