/** Node's, which Deno and Bun have too. */
const { setImmediate } = globalThis as { setImmediate?: (fn: () => void) => unknown };

/** Two places to wait at; undefined where no memory is shared. */
const cells = typeof SharedArrayBuffer !== "undefined" && typeof Atomics.waitAsync === "function"
  ? new Int32Array(new SharedArrayBuffer(8))
  : undefined;
/** Waits there end when they are told to. */
const TASK = 0;
/** Waits there end with their time. */
const LOOK = 1;

/** After this a wait is taken for lost, in milliseconds. The timer also keeps the loop alive, which a wait does not. */
const LOST_MS = 50;

/** Time between two looks at the sockets while the loop is never idle, in milliseconds. */
const LOOK_MS = 4;

/** How long a wait is asked for, and after which time it is surely due: Deno 2.9 ends it on a grid of a millisecond. */
const WAIT_MS = 0.05, DUE_MS = 1.2;

let lookedAt = -Infinity;
/** When the wait was begun that ends with the next look; undefined: none was. */
let askedAt: number | undefined;
/** Who comes after that look; undefined while the loop still goes round. */
let looking: (() => void)[] | undefined;
let lost: ReturnType<typeof setTimeout> | undefined;

/**
 * Calls `fn`, which must not throw, after the event loop has gone round: timers and messages have had their turn, and
 * every few milliseconds the sockets.
 *
 * Deno 2.9 (tokio's scheduler) looks at its sockets when nothing else is left to do, and otherwise in one round of 61:
 * with rounds alone, of half a millisecond each, a request waits for up to 31 ms. So now and then nothing is left to do
 * but a wait, which ends in the same look. It was begun more than a millisecond before, and is due: the loop stands
 * still for 0.1 ms. At 65,000 paced tokens/s /health takes 3 ms (p50), with rounds alone 38.
 */
export function nextRound(fn: () => void): void {
  if (looking !== undefined) return void looking.push(fn);
  if (cells === undefined) return goRound(fn);
  const now = performance.now();
  if (askedAt === undefined) {
    if (now - lookedAt > LOOK_MS) {
      askedAt = now;
      const wait = Atomics.waitAsync(cells, LOOK, 0, WAIT_MS);
      if (wait.async) wait.value.then(looked);
    }
  } else if (now - askedAt > DUE_MS) {
    looking = [fn];
    lost = setTimeout(looked, LOST_MS);
    return;
  }
  goRound(fn);
}

/** To be called when a wait has ended with its time: the sockets were looked at. */
export function slept(): void {
  lookedAt = performance.now();
}

function looked(): void {
  slept();
  askedAt = undefined;
  if (looking === undefined) return;
  clearTimeout(lost);
  const waiting = looking;
  looking = undefined;
  // Behind those that went round before the wait was all there was.
  for (const fn of waiting) goRound(fn);
}

/**
 * `setTimeout(0)` takes 2 ms in Deno 2.9, a message to oneself 20 µs of CPU, an immediate 3 µs. Both ports of the
 * message are closed: an open one holds the process, and the other end of a closed one may stay with the runtime for
 * good (Deno: 6 KB a turn).
 */
function goRound(fn: () => void): void {
  if (setImmediate !== undefined) return void setImmediate(fn);
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    port1.close();
    port2.close();
    fn();
  };
  port2.postMessage(0);
}

/**
 * Calls `fn`, which must not throw, in a task of its own: the runtime's sockets take operations again. That is sooner
 * (30 µs) and cheaper than a round, but timers come only when no task is left: for work that comes to an end.
 */
export function nextTask(fn: () => void): void {
  if (cells === undefined) return nextRound(fn);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const once = () => {
    if (timer === undefined) return;
    clearTimeout(timer);
    timer = undefined;
    fn();
  };
  timer = setTimeout(once, LOST_MS);
  const wait = Atomics.waitAsync(cells, TASK, 0);
  if (wait.async) wait.value.then(once);
  Atomics.notify(cells, TASK);
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
