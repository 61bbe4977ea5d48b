import { ENDED, PENDING } from "../engine/engine.ts";
import type { Generation } from "./generation.ts";
import type { Turn } from "./turn.ts";

/**
 * The whole text of a generation, for replies that are not streamed. `signal` is the request's: when it aborts the
 * generation stops, and what there is by then is returned (nobody is left to read it). Throws what the engine threw.
 */
export async function collect(generation: Generation, turn: Turn, signal: AbortSignal): Promise<string> {
  const leave = () => generation.abort();
  signal.addEventListener("abort", leave, { once: true });
  if (signal.aborted) leave();
  try {
    let text = "";
    let sincePause = 0;
    for (;;) {
      let wake!: () => void;
      const ready = new Promise<void>((resolve) => wake = resolve);
      const polled = generation.poll(wake);
      if (polled === ENDED) return text;
      if (polled === PENDING) {
        await ready;
        sincePause = 0;
      } else {
        text += polled.text;
        if (++sincePause % 64 === 0 && turn.spent()) await new Promise<void>((resolve) => turn.next(resolve));
      }
    }
  } finally {
    // The signal fires after a success too; a long-lived connection would keep the listener.
    signal.removeEventListener("abort", leave);
  }
}
