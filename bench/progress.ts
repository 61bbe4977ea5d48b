import { atSignal } from "./at_signal.ts";

/**
 * One line on a terminal's stderr, redrawn at most four times a second; nothing anywhere else. A signal that ends this
 * process clears it, or the prompt would stand behind it.
 */
export function progressLine(): (text: string | undefined) => void {
  if (!Deno.stderr.isTerminal()) return () => {};
  let drawnAt = -Infinity;
  const draw = (text: string) => Deno.stderr.writeSync(new TextEncoder().encode(`\r\x1b[K${text}`));
  let forget: (() => void) | undefined;
  return (text) => {
    if (text === undefined) {
      forget?.();
      forget = undefined;
      draw("");
    } else if (performance.now() - drawnAt >= 250) {
      forget ??= atSignal(() => draw(""));
      drawnAt = performance.now();
      draw(text);
    }
  };
}

/** Shows what is under way and for how many seconds by now, until `work` has ended; nothing of it stays. */
export async function withSeconds<T>(text: string, work: () => Promise<T>): Promise<T> {
  const progress = progressLine();
  const startedAt = performance.now();
  const draw = () => progress(`${text}: ${Math.round((performance.now() - startedAt) / 1000)} s`);
  draw();
  const timer = setInterval(draw, 1000);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    progress(undefined);
  }
}
