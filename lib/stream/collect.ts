import { ENDED, PENDING } from "../engine/engine.ts";
import { TapError } from "../errors.ts";
import type { Generation } from "./generation.ts";
import type { Turn } from "./turn.ts";

/** The longest answer that is held in memory, in UTF-16 units: an upstream may not keep to max_tokens. */
const MAX_LENGTH = 64 * 1024 * 1024;

/** What a generation said, and apart from it what it thought. */
export interface Collected {
  text: string;
  reasoning: string;
}

/**
 * All that a generation gives, for replies that are not streamed. `signal` is the request's: when it aborts the
 * generation stops, and what there is by then is returned (nobody is left to read it). Throws what the engine threw, and
 * `upstream_error` when the answer is longer than `maxLength`.
 */
export async function collect(
  generation: Generation,
  turn: Turn,
  signal: AbortSignal,
  maxLength = MAX_LENGTH,
): Promise<Collected> {
  const leave = () => generation.abort();
  signal.addEventListener("abort", leave, { once: true });
  if (signal.aborted) leave();
  try {
    const all: Collected = { text: "", reasoning: "" };
    let taken = 0;
    let go: (() => void) | undefined;
    const waiter = { wake: () => go?.() };
    for (;;) {
      const polled = generation.poll(waiter);
      if (polled === ENDED) return all;
      if (polled === PENDING) {
        await new Promise<void>((resolve) => go = resolve);
      } else {
        all[polled.reasoning ? "reasoning" : "text"] += polled.text;
        if (all.text.length + all.reasoning.length > maxLength) {
          generation.fail(
            new TapError("upstream_error", `The answer: wanted at most ${maxLength} characters, got more.`),
          );
        }
        if (++taken % 64 === 0 && turn.spent()) await new Promise<void>((resolve) => turn.next(resolve));
      }
    }
  } finally {
    // The signal fires after a success too; a long-lived connection would keep the listener.
    signal.removeEventListener("abort", leave);
  }
}
