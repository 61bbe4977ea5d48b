import type { FinishReason } from "../engine/engine.ts";
import type { TapError } from "../errors.ts";
import type { ChoiceToken } from "./choices.ts";
import type { Format } from "./format.ts";
import { openaiError } from "./openai_error.ts";
import type { GenerationRecord } from "./record.ts";
import { SSE_DONE, sseEvent } from "./sse.ts";

/** Token counts in the form of the OpenAI API. */
export interface OpenAIUsage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
}

/** The usage of one request: its answers share the prompt, which counts once. */
export function openaiUsage(records: readonly GenerationRecord[]): OpenAIUsage {
  const usages = records.map((record) => record.usageNow());
  const [{ prompt_tokens }] = usages;
  const completion_tokens = usages.reduce((sum, usage) => sum + usage.completion_tokens, 0);
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
}

/** What stays the same over a stream of chunks, and which counts its client asked for. */
export interface OpenAIStream {
  id: string;
  /** Unix time in seconds. */
  created: number;
  model: string;
  /** One for each answer. */
  records: readonly GenerationRecord[];
  /** `stream_options.include_usage`: a last chunk with the usage, and `usage: null` on the others. */
  includeUsage: boolean;
  /** vLLM's `continuous_usage_stats`: the counts so far on every chunk, instead of null. Only with `includeUsage`. */
  continuousUsage: boolean;
}

/** How one of the two routes writes an answer's part of a chunk: the object of `choices`, without its end. */
export interface ChunkForm {
  /** The `object` of each chunk. */
  object: string;
  /** What comes before the first text of an answer, or undefined. */
  opening(index: number): string | undefined;
  /** `text` stands, as JSON, between the two. Undefined where the route has no place for reasoning. */
  around(index: number, reasoning: boolean): readonly [before: string, after: string] | undefined;
  closing(index: number, reason: FinishReason): string;
}

/**
 * Chunks of the OpenAI API. All of a chunk but its text is the same over a stream, so it is written once and each
 * token costs a join of three texts.
 */
export class OpenAIChunks implements Format {
  readonly #form: ChunkForm;
  readonly #stream: OpenAIStream;
  readonly #head: string;
  readonly #texts: (readonly [before: string, after: string] | undefined)[];
  /** Tokens handed over, by answer. */
  readonly #tokens: number[];

  constructor(form: ChunkForm, stream: OpenAIStream) {
    this.#form = form;
    this.#stream = stream;
    const { id, created, model, records } = stream;
    const fixed = JSON.stringify({ id, object: form.object, created, model });
    this.#head = `data: ${fixed.slice(0, -1)},"choices":[`;
    this.#texts = records.flatMap((_, index) => [this.#around(index, false), this.#around(index, true)]);
    this.#tokens = records.map(() => 0);
  }

  start(): string {
    return this.#stream.records.map((_, index) => {
      const opening = this.#form.opening(index);
      return opening === undefined ? "" : this.#chunk(opening, index);
    }).join("");
  }

  token({ text, tokens, reasoning, choice = 0, finish }: ChoiceToken): string {
    if (finish !== undefined) return this.#closing(choice, finish);
    this.#tokens[choice] += tokens;
    const around = this.#texts[2 * choice + (reasoning ? 1 : 0)];
    if (around === undefined || text === "") return "";
    const [before, after] = around;
    if (this.#continuous) return before + JSON.stringify(text) + after + this.#tail(choice);
    return before + JSON.stringify(text) + after;
  }

  end(): string {
    const { records, includeUsage } = this.#stream;
    const [first] = records;
    const closing = records.length > 1 ? "" : this.#closing(0, first.finishReason ?? "stop");
    if (!includeUsage) return closing + SSE_DONE;
    return closing + this.#head + `],"usage":${JSON.stringify(openaiUsage(records))}}\n\n` + SSE_DONE;
  }

  error(error: TapError): string {
    return sseEvent(JSON.stringify(openaiError(error)), "error");
  }

  /** The last of an answer: tokens that were made and not shown, as those of a stop string, count from here on. */
  #closing(choice: number, reason: FinishReason): string {
    this.#tokens[choice] = this.#stream.records[choice].usageNow().completion_tokens;
    return this.#chunk(this.#form.closing(choice, reason), choice);
  }

  get #continuous(): boolean {
    return this.#stream.includeUsage && this.#stream.continuousUsage;
  }

  #around(index: number, reasoning: boolean): readonly [string, string] | undefined {
    const around = this.#form.around(index, reasoning);
    if (around === undefined) return undefined;
    return [this.#head + around[0], around[1] + (this.#continuous ? "" : this.#tail(index))];
  }

  #chunk(choice: string, index: number): string {
    return this.#head + choice + this.#tail(index);
  }

  /** From the end of the answer's object to the end of the event. */
  #tail(index: number): string {
    if (!this.#stream.includeUsage) return "]}\n\n";
    if (!this.#stream.continuousUsage) return '],"usage":null}\n\n';
    const { prompt_tokens } = this.#stream.records[index].usageNow();
    const completion_tokens = this.#tokens[index];
    const total_tokens = prompt_tokens + completion_tokens;
    return `],"usage":${JSON.stringify({ prompt_tokens, completion_tokens, total_tokens })}}\n\n`;
  }
}
