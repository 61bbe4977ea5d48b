/** Rows of cells as lines for people: the first column to the left, the others to the right. */
export function textTable(rows: readonly (readonly string[])[]): string {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const pad = (cell: string, column: number) =>
    column === 0 ? cell.padEnd(widths[column]) : cell.padStart(widths[column]);
  return rows.map((row) => row.map(pad).join("  ").trimEnd()).join("\n");
}

/** A number for people; `n/a` where there was nothing to measure. */
export function shown(value: number | null, digits = 0): string {
  return value === null ? "n/a" : value.toFixed(digits);
}

/** Readers per second for people: a small rate, too, is shown as it was given. */
export function shownRate(rate: number): string {
  return String(Number(rate.toFixed(rate < 1 ? 4 : 2)));
}

/** Milliseconds for people: `85 ms`, `4.2 s`. */
export function shownTime(ms: number | null): string {
  if (ms === null) return "n/a";
  return ms < 1000 ? `${ms.toFixed(ms < 10 ? 1 : 0)} ms` : `${(ms / 1000).toFixed(1)} s`;
}
