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
