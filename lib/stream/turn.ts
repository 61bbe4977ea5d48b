/** How long one turn of the event loop may be spent on tokens before timers, sockets and cancels get theirs. */
const BUDGET_MS = 4;

/**
 * Keeps an engine that always has a token ready from starving the event loop: promises alone never leave the
 * microtask queue. All streams of a process share one budget, since they share one loop.
 */
export class Turn {
  readonly #now: () => number;
  /** When the running turn was first asked about; undefined until somebody asks in it. */
  #began: number | undefined;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** True when this turn has used up its budget: the caller should go on in `next`. */
  spent(): boolean {
    if (this.#began === undefined) {
      this.#began = this.#now();
      macrotask(() => this.#began = undefined);
      return false;
    }
    return this.#now() - this.#began > BUDGET_MS;
  }

  /** Calls `fn` after the event loop has gone round once. */
  next(fn: () => void): void {
    macrotask(fn);
  }
}

/** `setTimeout(0)` takes 2 ms in Deno; a message to oneself takes 10 µs. The port is closed, or it would hold the process. */
function macrotask(fn: () => void): void {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    port1.close();
    fn();
  };
  port2.postMessage(0);
}
