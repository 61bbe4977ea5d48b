import { ENDED, PENDING } from "../engine/engine.ts";
import { TapError } from "../errors.ts";
import type { ChoiceToken, Source } from "./choices.ts";
import type { Turn } from "./turn.ts";

/** The longest answer that is held in memory, in UTF-16 units: an upstream may not keep to max_tokens. */
const MAX_LENGTH = 64 * 1024 * 1024;

/** What a generation said, and apart from it what it thought. */
export interface Collected {
  text: string;
  reasoning: string;
}

export interface CollectOptions {
  /** How many answers the source gives. */
  answers?: number;
  /** Longest answer, in UTF-16 units. */
  maxLength?: number;
}

/**
 * All that a generation gives, or several as one, for replies that are not streamed: each answer in one piece. `signal`
 * is the request's: when it aborts the source stops, and what there is by then is returned (nobody is left to read it).
 * Throws what the engine threw, and `upstream_error` when an answer is too long.
 */
export async function collect(
  source: Source,
  turn: Turn,
  signal: AbortSignal,
  { answers = 1, maxLength = MAX_LENGTH }: CollectOptions = {},
): Promise<Collected[]> {
  const leave = () => source.abort();
  signal.addEventListener("abort", leave, { once: true });
  if (signal.aborted) leave();
  try {
    const all = Array.from({ length: answers }, (): Collected => ({ text: "", reasoning: "" }));
    let taken = 0;
    let go: (() => void) | undefined;
    const waiter = { wake: () => go?.() };
    for (;;) {
      const polled = source.poll(waiter);
      if (polled === ENDED) return all;
      if (polled === PENDING) {
        await new Promise<void>((resolve) => go = resolve);
      } else {
        const { text, reasoning, choice = 0 }: ChoiceToken = polled;
        const answer = all[choice];
        answer[reasoning ? "reasoning" : "text"] += text;
        if (answer.text.length + answer.reasoning.length > maxLength) {
          source.fail(
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
