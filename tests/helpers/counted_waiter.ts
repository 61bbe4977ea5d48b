import type { Waiter } from "../../lib/engine/engine.ts";

/** Waits, and counts how often it is woken. */
export class CountedWaiter implements Waiter {
  wakes = 0;

  wake(): void {
    this.wakes++;
  }
}
