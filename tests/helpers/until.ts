/**
 * Waits until `check` gives something truthy and returns it. It looks every `everyMs` (5 ms unless told).
 *
 * @throws {Error} naming `what` when that has not come within `withinMs`
 */
export async function until<T>(
  what: string,
  check: () => T | Promise<T>,
  { withinMs = 5000, everyMs = 5 }: { withinMs?: number; everyMs?: number } = {},
): Promise<Exclude<T, null | undefined | false>> {
  const end = performance.now() + withinMs;
  for (;;) {
    const value = await check();
    if (value) return value as Exclude<T, null | undefined | false>;
    if (performance.now() > end) throw new Error(`wanted within ${withinMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}

/** The value in the middle (of an even number, the upper one). */
export function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1];
}

/** The value that `share` (0 to 1) of all values do not exceed. */
export function percentile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)];
}
