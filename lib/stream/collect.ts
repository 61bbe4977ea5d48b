import { ENDED, PENDING } from "../engine/engine.ts";
import type { Generation } from "./generation.ts";
import type { Turn } from "./turn.ts";

/** What a generation said, and apart from it what it thought. */
export interface Collected {
  text: string;
  reasoning: string;
}

/**
 * All that a generation gives, for replies that are not streamed. `signal` is the request's: when it aborts the
 * generation stops, and what there is by then is returned (nobody is left to read it). Throws what the engine threw.
 */
export async function collect(generation: Generation, turn: Turn, signal: AbortSignal): Promise<Collected> {
  const leave = () => generation.abort();
  signal.addEventListener("abort", leave, { once: true });
  if (signal.aborted) leave();
  try {
    const all: Collected = { text: "", reasoning: "" };
    let taken = 0;
    for (;;) {
      let wake!: () => void;
      const ready = new Promise<void>((resolve) => wake = resolve);
      const polled = generation.poll(wake);
      if (polled === ENDED) return all;
      if (polled === PENDING) {
        await ready;
      } else {
        all[polled.reasoning ? "reasoning" : "text"] += polled.text;
        if (++taken % 64 === 0 && turn.spent()) await new Promise<void>((resolve) => turn.next(resolve));
      }
    }
  } finally {
    // The signal fires after a success too; a long-lived connection would keep the listener.
    signal.removeEventListener("abort", leave);
  }
}
