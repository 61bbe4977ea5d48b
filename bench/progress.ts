/** One line on a terminal's stderr, redrawn at most four times a second; nothing anywhere else. */
export function progressLine(): (text: string | undefined) => void {
  if (!Deno.stderr.isTerminal()) return () => {};
  let drawnAt = -Infinity;
  return (text) => {
    if (text !== undefined && performance.now() - drawnAt < 250) return;
    drawnAt = performance.now();
    Deno.stderr.writeSync(new TextEncoder().encode(`\r\x1b[K${text ?? ""}`));
  };
}
