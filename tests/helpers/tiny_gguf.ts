/**
 * Writes a tiny GGUF model with random weights: the llama architecture, a SentencePiece vocabulary with all 256 byte
 * tokens, F32 weights from a seeded generator. It speaks nonsense, but llama.cpp loads and runs it like any model.
 */

/** GGUF value types, from the format's description. */
const U32 = 4, I32 = 5, F32 = 6, BOOL = 7, STRING = 8, ARRAY = 9;
/** llama.cpp's token types. */
const NORMAL = 1, UNKNOWN = 2, CONTROL = 3, BYTE = 6;
/** Tensor data starts, and each tensor starts, at a multiple of this many bytes. */
const ALIGNMENT = 32;

const EMBEDDING = 64, FEED_FORWARD = 128, HEADS = 4, LAYERS = 2;
const WORDS = [
  "▁the",
  "▁stream",
  "▁token",
  "▁of",
  "▁a",
  "ing",
  "er",
  "▁안녕",
  "세상",
  "▁café",
  "é",
  "▁",
  "🙂",
  ".",
  ",",
];

/** Choices of {@linkcode tinyGguf}; the same choices give the same bytes. */
export interface TinyGgufOptions {
  /** Seed of the weights. */
  seed?: number;
  /** Positions the model was "trained" for. */
  contextLength?: number;
  /** A chat template (Jinja) to put into the metadata; none by default. */
  chatTemplate?: string;
}

/** The bytes of a GGUF file of half a megabyte. */
export function tinyGguf({ seed = 1, contextLength = 2048, chatTemplate }: TinyGgufOptions = {}): Uint8Array {
  const { pieces, types } = vocabulary();
  const scores = pieces.map((piece, index) => types[index] === NORMAL ? [...piece].length - 100 : 0);
  const metadata: [name: string, type: number, value: unknown][] = [
    ["general.architecture", STRING, "llama"],
    ["general.name", STRING, "tiny-random"],
    ["llama.context_length", U32, contextLength],
    ["llama.embedding_length", U32, EMBEDDING],
    ["llama.feed_forward_length", U32, FEED_FORWARD],
    ["llama.block_count", U32, LAYERS],
    ["llama.attention.head_count", U32, HEADS],
    ["llama.rope.dimension_count", U32, EMBEDDING / HEADS],
    ["llama.attention.layer_norm_rms_epsilon", F32, 1e-5],
    ["tokenizer.ggml.model", STRING, "llama"],
    ["tokenizer.ggml.tokens", ARRAY, { type: STRING, values: pieces }],
    ["tokenizer.ggml.scores", ARRAY, { type: F32, values: scores }],
    ["tokenizer.ggml.token_type", ARRAY, { type: I32, values: types }],
    ["tokenizer.ggml.unknown_token_id", U32, 0],
    ["tokenizer.ggml.bos_token_id", U32, 1],
    ["tokenizer.ggml.eos_token_id", U32, 2],
    ["tokenizer.ggml.add_bos_token", BOOL, true],
  ];
  if (chatTemplate !== undefined) metadata.push(["tokenizer.chat_template", STRING, chatTemplate]);
  const tensors = weights(pieces.length, seed);
  const out = new Bytes();
  out.raw(new TextEncoder().encode("GGUF"));
  out.u32(3);
  out.u64(tensors.length);
  out.u64(metadata.length);
  for (const [name, type, value] of metadata) {
    out.string(name);
    out.u32(type);
    out.value(type, value);
  }
  let offset = 0;
  for (const { name, shape, data } of tensors) {
    out.string(name);
    out.u32(shape.length);
    for (const size of shape) out.u64(size);
    out.u32(0); // F32
    out.u64(offset);
    offset += aligned(data.byteLength);
  }
  for (const { data } of tensors) {
    out.pad();
    out.raw(new Uint8Array(data.buffer));
  }
  out.pad();
  return out.bytes();
}

function vocabulary(): { pieces: string[]; types: number[] } {
  const pieces = ["<unk>", "<s>", "</s>"];
  const types = [UNKNOWN, CONTROL, CONTROL];
  for (let byte = 0; byte < 256; byte++) {
    pieces.push(`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`);
    types.push(BYTE);
  }
  const letters = Array.from({ length: 26 }, (_, index) => String.fromCharCode(97 + index));
  for (const piece of [...letters, ...WORDS]) {
    pieces.push(piece);
    types.push(NORMAL);
  }
  return { pieces, types };
}

interface Tensor {
  name: string;
  shape: number[];
  data: Float32Array<ArrayBuffer>;
}

function weights(vocabularySize: number, seed: number): Tensor[] {
  const random = gaussians(seed);
  const matrix = (name: string, columns: number, rows: number): Tensor => ({
    name,
    shape: [columns, rows],
    data: Float32Array.from({ length: columns * rows }, () => random() / Math.sqrt(columns)),
  });
  const ones = (name: string): Tensor => ({
    name,
    shape: [EMBEDDING],
    data: new Float32Array(EMBEDDING).fill(1),
  });
  const output = matrix("output.weight", EMBEDDING, vocabularySize);
  // A zero row gives the special tokens a logit of 0, so greedy sampling never picks them and a test gets all its tokens.
  output.data.fill(0, 0, 3 * EMBEDDING);
  const tensors = [
    matrix("token_embd.weight", EMBEDDING, vocabularySize),
    ones("output_norm.weight"),
    output,
  ];
  for (let layer = 0; layer < LAYERS; layer++) {
    const at = (part: string) => `blk.${layer}.${part}.weight`;
    tensors.push(ones(at("attn_norm")), ones(at("ffn_norm")));
    for (const part of ["attn_q", "attn_k", "attn_v", "attn_output"]) {
      tensors.push(matrix(at(part), EMBEDDING, EMBEDDING));
    }
    tensors.push(
      matrix(at("ffn_gate"), EMBEDDING, FEED_FORWARD),
      matrix(at("ffn_up"), EMBEDDING, FEED_FORWARD),
    );
    tensors.push(matrix(at("ffn_down"), FEED_FORWARD, EMBEDDING));
  }
  return tensors;
}

/** Normal deviates: mulberry32 behind a Box–Muller transform. */
function gaussians(seed: number): () => number {
  let state = seed >>> 0;
  const uniform = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
}

function aligned(length: number): number {
  return Math.ceil(length / ALIGNMENT) * ALIGNMENT;
}

/** A growing little-endian buffer. */
class Bytes {
  #buffer = new Uint8Array(1 << 20);
  #length = 0;

  bytes(): Uint8Array {
    return this.#buffer.slice(0, this.#length);
  }

  raw(data: Uint8Array): void {
    this.#reserve(data.length);
    this.#buffer.set(data, this.#length);
    this.#length += data.length;
  }

  u32(value: number): void {
    this.#view(4).setUint32(0, value, true);
  }

  u64(value: number): void {
    this.#view(8).setBigUint64(0, BigInt(value), true);
  }

  string(text: string): void {
    const data = new TextEncoder().encode(text);
    this.u64(data.length);
    this.raw(data);
  }

  value(type: number, value: unknown): void {
    if (type === STRING) return this.string(value as string);
    if (type === F32) return this.#view(4).setFloat32(0, value as number, true);
    if (type === BOOL) return this.#view(1).setUint8(0, value ? 1 : 0);
    if (type !== ARRAY) return this.u32(value as number);
    const array = value as { type: number; values: unknown[] };
    this.u32(array.type);
    this.u64(array.values.length);
    for (const item of array.values) this.value(array.type, item);
  }

  pad(): void {
    const length = aligned(this.#length) - this.#length;
    this.raw(new Uint8Array(length));
  }

  #view(size: number): DataView {
    this.#reserve(size);
    this.#length += size;
    return new DataView(this.#buffer.buffer, this.#length - size, size);
  }

  #reserve(size: number): void {
    if (this.#length + size <= this.#buffer.length) return;
    const grown = new Uint8Array((this.#length + size) * 2);
    grown.set(this.#buffer);
    this.#buffer = grown;
  }
}
