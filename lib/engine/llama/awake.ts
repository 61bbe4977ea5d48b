/**
 * Deno 2.9.6 now and then misses that a native call has ended (measured: three times in about a million calls) and goes
 * on only when something else wakes its event loop, seconds later. This often, in milliseconds, something does.
 */
const BEAT_MS = 10;

/** `work`, which waits for native calls, with the event loop kept awake until it settles. */
export async function awake<T>(work: Promise<T>): Promise<T> {
  const beat = setInterval(() => {}, BEAT_MS);
  try {
    return await work;
  } finally {
    clearInterval(beat);
  }
}
