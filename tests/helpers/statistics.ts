/** The value in the middle (of an even number, the upper one). */
export function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1];
}

/** The value that `share` (0 to 1) of all values do not exceed. */
export function percentile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)];
}
