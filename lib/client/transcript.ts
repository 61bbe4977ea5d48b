import type { StreamEvent } from "./events.ts";
import { type Choice, parsePayload, type StreamError, type Usage } from "./payload.ts";
import { type Arrival, spreadTokens } from "./timing.ts";

/** One event that carried tokens, as it came. */
export interface TokenEvent {
  /** When its read returned, in the reader's milliseconds. */
  at: number;
  /** Text to show; empty for a token that shows nothing yet, and for pure reasoning. */
  text: string;
  /** Text of a reasoning delta. */
  reasoning: string;
  /** Tokens in this event as far as it can be known now; a total that comes at the end may correct it. */
  tokens: number;
}

/** What a stream has said so far: takes its events one by one, without any waiting or clock of its own. */
export class Transcript {
  text = "";
  reasoning = "";
  usage?: Usage;
  finishReason?: string;
  error?: StreamError;
  /** `[DONE]` was seen. */
  ended = false;
  /** Events of any kind that were read. */
  events = 0;

  #arrivals: Arrival[] = [];
  #choicesSeen = new Set<number>();
  #choicesFinished = new Set<number>();
  /** Tokens counted so far, by choice: with running usage what it has grown beyond them is an event's own. */
  readonly #counted = new Map<number, number>();
  /** Some event stated its own number of tokens, so the total must not be spread over them. */
  #stated = false;
  /** Text came without any count: usage that comes after it is a total, not what an event adds. */
  #uncounted = false;
  readonly #choices: number;

  /** @param choices how many answers were asked for: one that waits for its turn has not shown itself yet */
  constructor(choices = 1) {
    this.#choices = choices;
  }

  /** Every choice that was asked for, or began, has had its finish_reason. */
  get finished(): boolean {
    return this.#choicesFinished.size >= Math.max(this.#choices, this.#choicesSeen.size);
  }

  /** The end or an error was seen: what follows does not count. */
  get closed(): boolean {
    return this.ended || this.error !== undefined;
  }

  /** The end is known, though after a finish_reason alone usage, `[DONE]` or an error may still follow. */
  get over(): boolean {
    return this.closed || this.finished;
  }

  /** Takes the next event; gives back what it carried when that is tokens. After an error or `[DONE]` nothing counts. */
  take({ event, data, at, unterminated }: StreamEvent): TokenEvent | undefined {
    if (this.closed) return undefined;
    const payload = parsePayload(event, data);
    // Half an event can look whole, so what lost its blank line is dropped. `[DONE]` cannot be half of anything, and
    // servers that forget the last blank line have still sent all of their text.
    if (unterminated && payload.kind !== "end") return undefined;
    this.events++;
    switch (payload.kind) {
      case "end":
        this.ended = true;
        return undefined;
      case "error":
        this.error = payload.error;
        return undefined;
      case "token":
        if (payload.tokens !== undefined) this.#stated = true;
        return this.#arrive(at, payload.text, "", payload.tokens ?? 1);
      case "choices":
        return this.#takeChoices(at, payload.choices, payload.usage);
      case "other":
        return undefined;
    }
  }

  /**
   * The arrivals of all events with tokens. A total that the server gave only at the end is spread evenly over them
   * when it exceeds their number: then each token's share is an estimate, the sum is exact.
   */
  arrivals(): Arrival[] {
    const total = this.usage?.completion_tokens ?? 0;
    const count = this.#arrivals.length;
    if (this.#stated || count === 0 || total <= this.#arrivals.reduce((sum, a) => sum + a.tokens, 0)) {
      return this.#arrivals;
    }
    return spreadTokens(this.#arrivals, total);
  }

  #takeChoices(at: number, choices: Choice[], usage: Usage | undefined): TokenEvent | undefined {
    let text = "";
    let reasoning = "";
    let withText = 0;
    let index = 0;
    for (const choice of choices) {
      this.#choicesSeen.add(choice.index);
      if (choice.finishReason !== undefined) this.#choicesFinished.add(choice.index);
      if (choice.text || choice.reasoning) {
        withText++;
        index = choice.index;
      }
      // Choices run side by side; joined they would be no text at all. All are counted, the first is shown.
      if (choice.index !== 0) continue;
      text += choice.text;
      reasoning += choice.reasoning;
      this.finishReason = choice.finishReason ?? this.finishReason;
    }
    if (usage) this.usage = usage;
    // An empty delta is a role, a finish or a usage chunk: no token.
    if (withText === 0) return undefined;

    const reported = usage?.completion_tokens ?? 0;
    let tokens = withText;
    // Some servers send usage of zeros on every chunk, which states nothing.
    if (reported > 0 && withText === 1 && !this.#uncounted) {
      this.#stated = true;
      tokens = Math.max(reported - (this.#counted.get(index) ?? 0), 0);
    } else if (!this.#stated) this.#uncounted = true;
    this.#counted.set(index, (this.#counted.get(index) ?? 0) + tokens);
    return this.#arrive(at, text, reasoning, tokens);
  }

  #arrive(at: number, text: string, reasoning: string, tokens: number): TokenEvent {
    this.text += text;
    this.reasoning += reasoning;
    this.#arrivals.push({ at, tokens, length: text.length + reasoning.length });
    return { at, text, reasoning, tokens };
  }
}
