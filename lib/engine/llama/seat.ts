import type { Member } from "../batch.ts";

/** A generation's place: in the queue first, then in a sequence. */
export class Seat implements Member {
  /** Resolves when a sequence is free, or `signal` aborted. */
  readonly taken: Promise<void>;
  admitted!: () => void;

  constructor(signal: AbortSignal) {
    this.taken = new Promise((resolve) => {
      this.admitted = () => {
        signal.removeEventListener("abort", resolve as () => void);
        resolve();
      };
      if (signal.aborted) resolve();
      else signal.addEventListener("abort", resolve as () => void, { once: true });
    });
  }
}
