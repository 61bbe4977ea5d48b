import type { Prefetching } from "../prefetch.ts";

/** One step of a generation, usually one token. */
export interface Token {
  /** The text this step adds; whole characters only. */
  readonly text: string;
  /** How many tokens the step is worth. 1 unless the engine handed over several at once. */
  readonly tokens: number;
  /** Text the model thinks rather than says; shown only by formats that have a place for it. */
  readonly reasoning?: boolean;
  /** Its number in a vocabulary, the one of this process: the same number is the same text, and one token. */
  readonly id?: number;
  /** A fault asked for: a silence follows, before which all that came is to be handed over. */
  readonly pause?: boolean;
  /** A fault asked for: this event is to be written wrongly on purpose. */
  readonly wire?: "malformed" | "split";
}

/** Why a generation ended by itself: the token limit, the model's own end (or a stop string), or an upstream's filter. */
export type FinishReason = "length" | "stop" | "content_filter";

/** Token counts as the engine reports them; an engine that knows better than our own count sets them. */
export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
}

export interface ChatMessage {
  readonly role: string;
  readonly content: string;
  /** The whole of it, with what is not known here: for an upstream server, which may know it. */
  readonly asCame?: unknown;
}

/** A model as a server lists it; what it does not tell is absent. */
export interface ListedModel {
  id: string;
  /** Unix time in seconds. */
  created?: number;
  owned_by?: string;
  max_model_len?: number;
}

/** What is asked of an engine. */
export interface EngineRequest {
  readonly id: string;
  /** What makes equal requests draw equal jitter: the id the client gave, or "". Never a random value. */
  readonly key: string;
  readonly prompt: string;
  /** The whole conversation when the request came as a chat; `prompt` is then its last user message. */
  readonly messages?: readonly ChatMessage[];
  /** The prompt is to be gone on with as it stands, not answered: an upstream server has a route for each. */
  readonly continuation?: boolean;
  readonly maxTokens: number;
  /** The client set no limit: `maxTokens` is only what still fits, and an upstream server is to use its own. */
  readonly openEnded?: boolean;
  /** The client called its limit `max_completion_tokens`: some hosted models know no other name, some servers not this one. */
  readonly completionLimit?: boolean;
  /** The model the client named, where the engine has more than one: an upstream server. */
  readonly model?: string;
  /** Tokens in the prompt by the engine's own count (see `Engine.countTokens`). */
  readonly promptTokens: number;
  readonly seed?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly minP?: number;
  readonly presencePenalty?: number;
  readonly frequencyPenalty?: number;
  readonly repetitionPenalty?: number;
  readonly stop?: readonly string[];
  readonly minTokens?: number;
  readonly ignoreEos?: boolean;
  /** The client wants the counts so far with each token. */
  readonly continuousUsage?: boolean;
  /** What the client asked for beyond what is known here, by its own names: for an upstream server, which may know it. */
  readonly extras?: Readonly<Record<string, unknown>>;
  /** Faults to inject, as written: `error@5`. Only the simulated engine knows them. */
  readonly fault?: string;
  /** Milliseconds to the first token instead of the engine's own; simulated engine only. */
  readonly ttftMs?: number;
  /** Milliseconds between tokens instead of the engine's own; simulated engine only. */
  readonly itlMs?: number;
}

/**
 * Where an engine reports what really happens, as it happens. Times are the engine clock's milliseconds.
 * The record of a generation is built from these calls alone, so each is made at the event, not before.
 */
export interface Watch extends Prefetching {
  /** The generation left the queue and holds a slot from now on. */
  prefill(now: number): void;
  /** `tokens` were produced; `planned` is the deadline they were meant for (`now` where nothing was planned). */
  produced(tokens: number, planned: number, now: number): void;
  /** Why it ended; reported before the tokens end. */
  finished(reason: FinishReason): void;
  /** Counts the engine knows better than we do, e.g. an upstream's usage chunk. The last report counts. */
  usage(usage: Usage): void;
  /** The connection to an upstream server is closed. */
  upstreamClosed(now: number): void;
}

/** `poll` answers this when nothing is ready yet. */
export const PENDING = undefined;
/** `poll` answers this when the tokens have ended. */
export const ENDED = null;

/** Who waits for a source: one object for all of its waits. A closure would be one more thing to fetch at each token. */
export interface Waiter extends Prefetching {
  /** There is something to take. `now` as in `TokenSource.poll`. Must not throw. */
  wake(now?: number): void;
}

export type Polled = Token | typeof PENDING | typeof ENDED;

/**
 * The tokens of one generation: an async generator that can also be polled.
 *
 * An async generator costs two to three promises a token and a trip through the microtask queue each. `poll` takes
 * what is ready at once, and a token that is not ready is announced by a plain call. Both forms may be mixed, but
 * only one consumer may wait at a time.
 */
export interface TokenSource extends AsyncGenerator<Token, void, void> {
  /**
   * The next token, `ENDED`, or `PENDING`: then `waiter` is woken once, when there is something to take (a token, the
   * end or an error). Never wakes it from inside `poll`. Throws what the engine threw.
   * `now`, here and in `wake`, is the clock's time where the caller has just read it: a read costs as much as making
   * the token.
   */
  poll(waiter: Waiter, now?: number): Polled;
  /**
   * What `return()` does, without a promise where the source can let go at once: in a burst of requests even a few
   * turns of the microtask queue take milliseconds. Throws, or rejects with, what the engine's own cleanup threw.
   */
  halt(): Promise<void> | void;
  /**
   * Where the engine can still refuse after `generate` has returned: settles once it is known whether the
   * generation starts; rejects with the refusal. Absent where `generate` itself throws every refusal.
   */
  readonly started?: Promise<void> | undefined;
  /** The refusal is known, and `started` rejects within a second: worth waiting for beyond what a head may wait. */
  readonly refused?: boolean | undefined;
}

/**
 * What makes tokens. `generate` may be a plain `async function*`; one that also has `poll` is driven without
 * promises. When `signal` aborts, the engine stops at once: at most the token it is working on is still produced.
 */
export interface Engine {
  readonly name: string;
  /** Takes a request's faults and delays, and never ends by itself. */
  readonly simulates?: boolean;
  /** A server of its own: it knows which models it has, looks for stop strings and draws its own seeds. */
  readonly remote?: boolean;
  /** Most tokens of prompt and answer together, where the engine has a limit of its own beside the setting. */
  readonly contextLength?: number;
  /** Tokens in `text` by the engine's own pieces, or an estimate where only the engine's server knows. */
  countTokens(text: string): number;
  generate(
    request: EngineRequest,
    signal: AbortSignal,
    watch: Watch,
  ): TokenSource | AsyncGenerator<Token, void, void>;
  /** The models a client may name, where the engine has more than one. Throws a `TapError`, also when `signal` aborts. */
  readonly models?: (signal: AbortSignal) => Promise<ListedModel[]>;
  /** Slots and queue, where the engine has them. */
  slots?(): { max: number; in_use: number; queue: number };
  /** Lets go of what the engine holds, e.g. a loaded model. */
  close?(): Promise<void> | void;
}
