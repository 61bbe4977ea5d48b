/** As a shell counts what a signal has ended: 128 and the signal's number. */
const EXIT_CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;
const SIGNALS = Object.keys(EXIT_CODES) as (keyof typeof EXIT_CODES)[];

const ends = new Set<() => void>();
const listeners = SIGNALS.map((signal) => () => {
  if (signal === "SIGHUP" && outlivesTerminal) return;
  for (const end of ends) {
    try {
      end();
    } catch {
      // What has ended by itself, or a terminal that is gone, must not keep the others.
    }
  }
  Deno.exit(EXIT_CODES[signal]);
});

/** Unknown before the first listener: the runtime's own handlers, which come with it, hide the answer. */
let outlivesTerminal: boolean | undefined;

/**
 * Has `end` called when a signal tells this process to end, just before it exits: what it started would run on, since
 * a signal may reach this process alone. All ends are called within one turn, so that nothing can fail in between and
 * complain of it.
 *
 * @returns takes it back
 */
export function atSignal(end: () => void): () => void {
  if (ends.size === 0) {
    outlivesTerminal ??= hangupIsIgnored();
    SIGNALS.forEach((signal, i) => Deno.addSignalListener(signal, listeners[i]));
  }
  ends.add(end);
  return () => {
    if (!ends.delete(end) || ends.size > 0) return;
    SIGNALS.forEach((signal, i) => {
      // With no listener the runtime would end the process.
      if (signal !== "SIGHUP" || !outlivesTerminal) Deno.removeSignalListener(signal, listeners[i]);
    });
  };
}

/** Whether this process was started to go on when its terminal is closed, as by nohup. Only Linux tells. */
function hangupIsIgnored(): boolean {
  try {
    const [, mask] = /^SigIgn:\s*([0-9a-f]+)$/m.exec(Deno.readTextFileSync("/proc/self/status"))!;
    return (BigInt(`0x${mask}`) & 1n) === 1n;
  } catch {
    return false;
  }
}
