import type {
  LlamaBinding,
  LlamaContext,
  LlamaModel,
  LlamaSampler,
  SamplerConfig,
} from "../../../lib/engine/llama/binding.ts";

export const START = 256, END = 257;

/** What a scripted binding is told to do. */
export interface Script {
  /** The token that follows `history`, the tokens of its sequence. */
  answer(history: readonly number[], config: SamplerConfig): number;
  /** Waited for in each decode; a turn of the event loop unless given. */
  decoding?(): Promise<void>;
  trainContextSize?: number;
}

/** A binding that answers from a script: a token is a byte. It fails a test that touches a context while it decodes. */
export class ScriptedBinding implements LlamaBinding {
  /** For each decode, the number of tokens by sequence. */
  readonly decodes: Record<number, number>[] = [];
  /** Samplers that have not been disposed. */
  samplers = 0;
  disposed: string[] = [];
  readonly #script: Script;

  constructor(script: Script) {
    this.#script = script;
  }

  get model(): LlamaModel {
    const { disposed } = this;
    return {
      init: () => Promise.resolve(true),
      dispose: () => Promise.resolve(void disposed.push("model")),
      tokenize: (text, special) => {
        const bytes = [...new TextEncoder().encode(text)];
        return Uint32Array.from(special && text.startsWith("<s>") ? [START, ...bytes.slice(3)] : bytes);
      },
      // Like llama.cpp's, which takes a leading space off the first token.
      detokenize: (tokens) => {
        const bytes = [...tokens].filter((token, index) => token < START && (index > 0 || token !== 32));
        return new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(bytes));
      },
      getTokenString: (token) =>
        token === START ? "<s>" : token === END ? "</s>" : String.fromCharCode(token),
      tokenBos: () => START,
      tokenEos: () => END,
      eotToken: () => -1,
      isEogToken: (token) => token === END,
      shouldPrependBosToken: () => true,
      getTrainContextSize: () => this.#script.trainContextSize ?? 1000,
    };
  }

  readonly AddonModel = class {} as unknown as LlamaBinding["AddonModel"];
  readonly AddonContext = this.#contextClass();
  readonly AddonSampler = this.#samplerClass();
  readonly AddonJinjaRenderer = class {
    constructor(readonly template: string) {}
    render({ messages, bos_token }: Record<string, unknown>): string {
      const turns = messages as { role: string; content: string }[];
      if (turns.some(({ role }) => role === "odd")) throw new Error("unknown role odd");
      return `${bos_token}${this.template}:${turns.map(({ content }) => content).join("|")}`;
    }
  };
  setLogger(): void {}
  setLoggerLogLevel(): void {}
  loadBackends(): void {}
  getGpuType(): false {
    return false;
  }
  getMathCores(): number {
    return 2;
  }
  init(): Promise<void> {
    return Promise.resolve();
  }

  #samplerClass(): LlamaBinding["AddonSampler"] {
    // deno-lint-ignore no-this-alias
    const binding = this;
    return class implements LlamaSampler {
      config: SamplerConfig = { temperature: 0, seed: 0 };
      constructor() {
        binding.samplers++;
      }
      applyConfig(config: SamplerConfig): void {
        this.config = config;
      }
      dispose(): void {
        binding.samplers--;
      }
    };
  }

  #contextClass(): LlamaBinding["AddonContext"] {
    const { decodes } = this;
    // deno-lint-ignore no-this-alias
    const binding = this;
    return class implements LlamaContext {
      readonly #histories = new Map<number, number[]>();
      #ends: (readonly number[])[] = [];
      #decoding = false;

      init(): Promise<boolean> {
        return Promise.resolve(true);
      }
      dispose(): Promise<void> {
        this.#idle();
        binding.disposed.push("context");
        return Promise.resolve();
      }
      initBatch(): void {
        this.#idle();
        this.#ends = [];
        decodes.push({});
      }
      addToBatch(sequence: number, position: number, tokens: Uint32Array, logits: Uint32Array): Uint32Array {
        this.#idle();
        const history = this.#histories.get(sequence) ?? [];
        if (history.length !== position) {
          throw new Error(`sequence ${sequence} has ${history.length} tokens, not ${position}`);
        }
        history.push(...tokens);
        this.#histories.set(sequence, history);
        decodes.at(-1)![sequence] = tokens.length;
        if (logits.length === 0) return new Uint32Array();
        return Uint32Array.of(this.#ends.push([...history]) - 1);
      }
      async decodeBatch(): Promise<void> {
        this.#idle();
        this.#decoding = true;
        try {
          await (binding.#script.decoding?.() ?? new Promise((turn) => setTimeout(turn, 0)));
        } finally {
          this.#decoding = false;
        }
      }
      sampleToken(logit: number, sampler: LlamaSampler): Promise<number> {
        this.#idle();
        return Promise.resolve(
          binding.#script.answer(
            this.#ends[logit]!,
            (sampler as unknown as { config: SamplerConfig }).config,
          ),
        );
      }
      disposeSequence(sequence: number): void {
        this.#idle();
        this.#histories.delete(sequence);
      }
      #idle(): void {
        if (this.#decoding) throw new Error("the context was touched while it decodes");
      }
    };
  }
}
