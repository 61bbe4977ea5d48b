import { TapError } from "../errors.ts";
import { Batch } from "./batch.ts";
import type { Engine, EngineRequest, Token, Watch } from "./engine.ts";
import { awake } from "./llama/awake.ts";
import type { LlamaBinding, LlamaContext, LlamaModel, LlamaSampler, SamplerConfig } from "./llama/binding.ts";
import { chatRenderer } from "./llama/chat.ts";
import { Decoder } from "./llama/decoder.ts";
import { Pieces } from "./llama/pieces.ts";
import { Seat } from "./llama/seat.ts";

export interface LlamaOptions {
  /** Generations that run at once; each has its share of the cache, so memory grows with it. */
  sequences: number;
  /** Generations that may wait for a sequence; beyond it `rate_limit`. */
  maxQueue: number;
  /** Positions of one generation, prompt and answer; at most what the model was trained for. */
  contextLength: number;
  /** Threads that compute. Default: one per core that is good for it, less one, which the server itself needs. */
  threads?: number;
  /** Jinja template that makes one prompt of a chat; without it the messages are written one below the other. */
  chatTemplate?: string;
  /** Milliseconds, monotonic. */
  now: () => number;
}

/**
 * Tokens one decode works on at most. It bounds how long an abort waits during a prompt and how long a prompt holds
 * up the others' tokens; larger batches no longer make a CPU much faster.
 */
const BATCH_TOKENS = 64;

/** A model in llama.cpp, in this process, behind the binding that was loaded for it. */
export class LlamaEngine implements Engine {
  readonly name = "llama";
  /** Positions of one generation, prompt and answer. */
  readonly contextLength: number;
  readonly #binding: LlamaBinding;
  readonly #model: LlamaModel;
  readonly #context: LlamaContext;
  readonly #decoder: Decoder;
  readonly #batch: Batch;
  readonly #freeSequences: number[];
  readonly #chat: ReturnType<typeof chatRenderer>;
  readonly #now: () => number;

  private constructor(
    binding: LlamaBinding,
    model: LlamaModel,
    context: LlamaContext,
    options: LlamaOptions,
    { sequences, contextLength, batchSize }: Sizes,
  ) {
    this.contextLength = contextLength;
    this.#binding = binding;
    this.#model = model;
    this.#context = context;
    this.#batch = new Batch(sequences, options.maxQueue);
    this.#decoder = new Decoder(context, batchSize, () => this.#batch.inUse);
    this.#freeSequences = Array.from({ length: sequences }, (_, index) => sequences - 1 - index);
    this.#chat = chatRenderer(binding, model, options.chatTemplate);
    this.#now = options.now;
  }

  /** An engine over a loaded `model`, which it owns from now on. Throws when there is no memory for the cache. */
  static async create(
    binding: LlamaBinding,
    model: LlamaModel,
    options: LlamaOptions,
  ): Promise<LlamaEngine> {
    const sizes = sizesOf(model, options);
    const { sequences, contextLength, batchSize } = sizes;
    const context = new binding.AddonContext(model, {
      contextSize: contextLength * sequences,
      batchSize,
      sequences,
      // Measured on two busy cores with a tiny model: 0.33 ms a token with one thread, 7 to 35 ms with two.
      threads: options.threads ?? Math.max(1, binding.getMathCores() - 1),
    });
    if (!await awake(context.init())) {
      throw new Error(`no memory for ${sequences} sequences of ${contextLength} tokens`);
    }
    return new LlamaEngine(binding, model, context, options, sizes);
  }

  countTokens(text: string): number {
    return this.#model.tokenize(text, false).length;
  }

  slots(): { max: number; in_use: number; queue: number } {
    return { max: this.#batch.max, in_use: this.#batch.inUse, queue: this.#batch.queued };
  }

  /**
   * Throws `context_length` when prompt and answer do not fit, and `invalid_request` when there is no prompt, the chat
   * does not fit the model's template, or something is asked for that the sampler is not set up for.
   * The tokens reject with `rate_limit` when the queue is full.
   */
  generate(request: EngineRequest, signal: AbortSignal, watch: Watch): AsyncGenerator<Token, void, void> {
    refuseUnsampled(request);
    const prompt = this.#promptOf(request);
    const maxTokens = request.openEnded
      ? Math.max(1, Math.min(request.maxTokens, this.contextLength - prompt.length))
      : request.maxTokens;
    const total = prompt.length + maxTokens;
    if (total > this.contextLength) {
      throw new TapError(
        "context_length",
        `The model holds ${this.contextLength} tokens; the prompt has ${prompt.length} and max_tokens is ${maxTokens}, ` +
          `together ${total}.`,
        { param: "max_tokens" },
      );
    }
    return this.#tokens({ ...request, maxTokens }, prompt, signal, watch);
  }

  /** Waits for the decode under way, then frees cache and model. Generations that still run end. */
  async close(): Promise<void> {
    await this.#decoder.close();
    await awake(this.#context.dispose());
    await awake(this.#model.dispose());
  }

  async *#tokens(
    request: EngineRequest,
    prompt: Uint32Array,
    signal: AbortSignal,
    watch: Watch,
  ): AsyncGenerator<Token, void, void> {
    // Here, not in generate(): a generator that is never started never reaches its finally.
    const seat = new Seat(signal);
    this.#batch.enter(seat);
    let sequence: number | undefined;
    let sampler: LlamaSampler | undefined;
    let generated = 0;
    try {
      await seat.taken;
      if (signal.aborted) return;
      watch.prefill(this.#now());
      sequence = this.#freeSequences.pop()!;
      sampler = new this.#binding.AddonSampler(this.#model);
      const pieces = new Pieces((tokens) => this.#model.detokenize(tokens), prompt.at(-1)!);
      let [tokens, position] = [prompt, 0];
      let ended = false;
      while (generated < request.maxTokens) {
        sampler.applyConfig(this.#sampling(request, generated));
        const token = await this.#decoder.next({ sequence, position, tokens, sampler }, signal);
        if (token === undefined) return;
        ended = token < 0 || (this.#model.isEogToken(token) && !mustGoOn(request, generated));
        if (ended) break;
        generated++;
        const now = this.#now();
        watch.produced(1, now, now);
        position += tokens.length;
        tokens = Uint32Array.of(token);
        const steps = pieces.unread + 1;
        const text = pieces.push(token);
        if (text !== "") yield { text, tokens: steps };
      }
      const held = pieces.unread;
      if (held > 0) yield { text: pieces.end(), tokens: held };
      watch.finished(ended ? "stop" : "length");
    } finally {
      watch.usage({ prompt_tokens: prompt.length, completion_tokens: generated });
      sampler?.dispose();
      if (sequence !== undefined) this.#freeSequences.push(sequence);
      this.#batch.leave(seat);
    }
  }

  #sampling(
    { temperature = 0, seed = 0, topP, ...request }: EngineRequest,
    generated: number,
  ): SamplerConfig {
    const config: SamplerConfig = { temperature, seed: seed >>> 0 };
    if (topP !== undefined) config.topP = topP;
    if (mustGoOn(request, generated)) {
      const ends = [this.#model.tokenEos(), this.#model.eotToken()].filter((token) =>
        token !== undefined && token >= 0
      );
      config.tokenBiasKeys = Uint32Array.from(ends as number[]);
      config.tokenBiasValues = new Float32Array(ends.length).fill(-Infinity);
    }
    return config;
  }

  #promptOf({ prompt, messages }: EngineRequest): Uint32Array {
    const model = this.#model;
    // Only the template's own control tokens count as such: in a plain prompt "</s>" is text.
    const tokens = messages ? model.tokenize(this.#chat(messages), true) : model.tokenize(prompt, false);
    const start = model.tokenBos();
    if (start === undefined || start < 0 || tokens[0] === start) {
      if (tokens.length > 0) return tokens;
      throw new TapError("invalid_request", "Wanted a prompt of at least one token, got none.", {
        param: "prompt",
      });
    }
    // An empty prompt needs something to follow, also where the model does not ask for a start token.
    return model.shouldPrependBosToken() || tokens.length === 0 ? withFirst(start, tokens) : tokens;
  }
}

interface Sizes {
  sequences: number;
  contextLength: number;
  batchSize: number;
}

function sizesOf(model: LlamaModel, { sequences, contextLength }: LlamaOptions): Sizes {
  return {
    sequences,
    contextLength: Math.min(contextLength, model.getTrainContextSize()),
    batchSize: Math.max(BATCH_TOKENS, sequences),
  };
}

function mustGoOn({ ignoreEos, minTokens = 0 }: Partial<EngineRequest>, generated: number): boolean {
  return ignoreEos === true || generated < minTokens;
}

/** Not by a spread: a prompt may have more tokens than a call takes arguments. */
function withFirst(token: number, tokens: Uint32Array): Uint32Array {
  const all = new Uint32Array(tokens.length + 1);
  all[0] = token;
  all.set(tokens, 1);
  return all;
}

/** The sampler is set up without these: to pass over them would be to give another answer than was asked for. */
function refuseUnsampled(request: EngineRequest): void {
  const { presencePenalty = 0, frequencyPenalty = 0, repetitionPenalty = 1, topK = 0, minP = 0 } = request;
  const refuse = (param: string, neutral: number, came: number) => {
    if (came === neutral) return;
    throw new TapError("invalid_request", `${param}: wanted ${neutral} with this engine, got ${came}.`, {
      param,
    });
  };
  refuse("presence_penalty", 0, presencePenalty);
  refuse("frequency_penalty", 0, frequencyPenalty);
  refuse("repetition_penalty", 1, repetitionPenalty);
  // Both say that all tokens count.
  refuse("top_k", 0, topK === -1 ? 0 : topK);
  refuse("min_p", 0, minP);
}
