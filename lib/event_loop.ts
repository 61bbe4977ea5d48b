/** Node's, which Deno and Bun have too. */
const { setImmediate } = globalThis as { setImmediate?: (fn: () => void) => unknown };

/**
 * Calls `fn`, which must not throw, after the event loop has gone round: timers and sockets have had their turn.
 *
 * `setTimeout(0)` takes 2 ms in Deno 2.9, a message to oneself 20 µs of CPU, an immediate 3 µs. Both ports of the
 * message are closed: an open one holds the process, and the other end of a closed one may stay with the runtime for
 * good (Deno: 6 KB a turn).
 */
export function nextRound(fn: () => void): void {
  if (setImmediate !== undefined) return void setImmediate(fn);
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    port1.close();
    port2.close();
    fn();
  };
  port2.postMessage(0);
}

/** Rounds of microtasks after which a promise that has not settled waits for something outside. */
const ROUNDS = 6;

/** What `promise` gives if that is there already; undefined when it waits for something outside, or fails. */
export async function settled<Value extends object>(promise: Promise<Value>): Promise<Value | undefined> {
  let value: Value | undefined;
  promise.then((given) => value = given, () => {});
  for (let round = 0; round < ROUNDS && value === undefined; round++) await undefined;
  return value;
}

const cell = typeof SharedArrayBuffer !== "undefined" && typeof Atomics.waitAsync === "function"
  ? new Int32Array(new SharedArrayBuffer(4))
  : undefined;

/** After this a task is taken for lost, in milliseconds. The timer also keeps the loop alive, which a task does not. */
const LOST_MS = 50;

/**
 * Calls `fn`, which must not throw, in a task of its own: the runtime's sockets take operations again. That is sooner
 * (30 µs) and cheaper than a round, but timers come only when no task is left: for work that comes to an end.
 */
export function nextTask(fn: () => void): void {
  if (cell === undefined) return nextRound(fn);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const once = () => {
    if (timer === undefined) return;
    clearTimeout(timer);
    timer = undefined;
    fn();
  };
  timer = setTimeout(once, LOST_MS);
  const wait = Atomics.waitAsync(cell, 0, 0);
  if (wait.async) wait.value.then(once);
  Atomics.notify(cell, 0);
}
