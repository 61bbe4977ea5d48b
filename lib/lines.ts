/** How long a line may wait for others to share its write, in milliseconds. */
const WAIT_MS = 20;
/** Lines that wait are bounded too, in UTF-16 units. */
const MAX_WAITING = 65_536;

/**
 * Writes lines in batches: a write for each costs 60 µs, as much as the rest of a short request. `write` takes as many
 * of the bytes as it can and returns their number. What it throws on is lost: a log whose reader has gone (a closed
 * pipe) must not end the service. `flush` must be called before the process ends.
 */
export function lineWriter(
  write: (bytes: Uint8Array) => number,
): { log: (line: string) => void; flush: () => void } {
  const encoder = new TextEncoder();
  let waiting = "";
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    let bytes = encoder.encode(waiting);
    waiting = "";
    try {
      while (bytes.length > 0) bytes = bytes.subarray(write(bytes));
    } catch {
      // There is nowhere left to say so.
    }
  };
  const log = (line: string) => {
    waiting += line + "\n";
    if (waiting.length > MAX_WAITING) flush();
    else timer ??= setTimeout(flush, WAIT_MS);
  };
  return { log, flush };
}
