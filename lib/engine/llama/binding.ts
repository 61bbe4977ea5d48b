/**
 * What we use of llama.cpp's Node-API addon, as the `@node-llama-cpp/*` packages ship it. The addon is the layer below
 * node-llama-cpp's own API and has no promise of stability: the lock pins one version, and the tests run it for real.
 */
export interface LlamaBinding {
  AddonModel: new (path: string, options: ModelOptions) => LlamaModel;
  AddonContext: new (model: LlamaModel, options: ContextOptions) => LlamaContext;
  AddonSampler: new (model: LlamaModel) => LlamaSampler;
  AddonJinjaRenderer: new (template: string) => { render(values: Record<string, unknown>): string };
  /** Sends llama.cpp's log lines to `log`; they come some turns of the event loop after they were written. */
  setLogger(log: (level: number, text: string) => void): void;
  setLoggerLogLevel(level: number): void;
  /** Loads the compute libraries found in `directory`, choosing the one built for this CPU. */
  loadBackends(directory?: string): void;
  /** False for the CPU alone; undefined while no compute library is loaded. */
  getGpuType(): string | false | undefined;
  /** Cores that are good for computing: physical and, where they differ, fast ones. */
  getMathCores(): number;
  init(): Promise<void>;
}

export interface ModelOptions {
  addonExports: LlamaBinding;
  gpuLayers: number;
}

export interface LlamaModel {
  /** False when the file could not be loaded; the reason is in the log. */
  init(): Promise<boolean>;
  dispose(): Promise<void>;
  /** The tokens of `text`; control tokens written in it count as such only with `special`. */
  tokenize(text: string, special: boolean): Uint32Array;
  /** The text of `tokens`: bytes that are no UTF-8 become U+FFFD, and the first token loses a leading space. */
  detokenize(tokens: Uint32Array): string;
  getTokenString(token: number): string | undefined;
  /** -1 or undefined where the model has none. */
  tokenBos(): number | undefined;
  tokenEos(): number | undefined;
  eotToken(): number | undefined;
  /** Whether `token` ends a generation. */
  isEogToken(token: number): boolean;
  shouldPrependBosToken(): boolean;
  /** Positions the model was trained for. */
  getTrainContextSize(): number;
}

export interface ContextOptions {
  /** Positions of all sequences together; each has its equal share. */
  contextSize: number;
  /** The most tokens one decode may work on. */
  batchSize: number;
  sequences: number;
  /** Threads that compute. They wait for each other by spinning. */
  threads: number;
}

export interface LlamaContext {
  init(): Promise<boolean>;
  dispose(): Promise<void>;
  /** Starts an empty batch with room for `size` tokens. */
  initBatch(size: number): void;
  /** Adds `tokens` of `sequence` from `position` on; answers where the logits of the tokens at `logits` will be. */
  addToBatch(sequence: number, position: number, tokens: Uint32Array, logits: Uint32Array): Uint32Array;
  /** Runs the model over the batch, on another thread. Nothing else may touch the context meanwhile. */
  decodeBatch(): Promise<void>;
  /** Draws the next token from the logits at `logit`; -1 when the sampler leaves none. */
  sampleToken(logit: number, sampler: LlamaSampler): Promise<number>;
  /** Forgets all positions of `sequence`. */
  disposeSequence(sequence: number): void;
}

export interface LlamaSampler {
  /** A member that is present must have a value; one that is absent takes its sampler out. */
  applyConfig(config: SamplerConfig): void;
  dispose(): void;
}

export interface SamplerConfig {
  /** 0 always takes the likeliest token. */
  temperature: number;
  seed: number;
  topP?: number;
  /** Values added to the logits of `tokenBiasKeys`. */
  tokenBiasKeys?: Uint32Array;
  tokenBiasValues?: Float32Array;
}
