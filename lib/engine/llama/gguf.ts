/** GGUF value types and the bytes of those that have a fixed size. */
const SIZES: Readonly<Record<number, number>> = {
  0: 1,
  1: 1,
  2: 2,
  3: 2,
  4: 4,
  5: 4,
  6: 4,
  7: 1,
  10: 8,
  11: 8,
  12: 8,
};
const STRING = 8, ARRAY = 9;
const MAGIC = "GGUF";

/** The file is no GGUF file. The message begins with what came instead. */
export class NotGguf extends Error {
  override name = "NotGguf";
}

/** The string values of a GGUF file's metadata, by key. */
export type GgufStrings = ReadonlyMap<string, string>;

/**
 * The string values in the metadata at the start of a GGUF file, or undefined when `bytes` end before the metadata do:
 * then more of the file is needed. Throws `NotGguf`.
 */
export function readGguf(bytes: Uint8Array): GgufStrings | undefined {
  const reader = new Reader(bytes);
  try {
    return reader.strings();
  } catch (error) {
    // A DataView says so by a RangeError when it is read past its end.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

class Reader {
  readonly #view: DataView;
  readonly #bytes: Uint8Array;
  readonly #decoder = new TextDecoder();
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  strings(): GgufStrings {
    const magic = String.fromCharCode(...this.#take(MAGIC.length));
    if (magic !== MAGIC) throw new NotGguf(`it begins with ${JSON.stringify(magic)} instead of "${MAGIC}"`);
    const version = this.#uint32();
    if (version < 2 || version > 3) throw new NotGguf(`its format version is ${version}; 2 and 3 are known`);
    this.#uint64(); // the number of tensors
    const strings = new Map<string, string>();
    for (let count = this.#uint64(); count > 0; count--) {
      const key = this.#decoder.decode(this.#take(this.#uint64()));
      const type = this.#uint32();
      if (type === STRING) strings.set(key, this.#decoder.decode(this.#take(this.#uint64())));
      else this.#skip(type);
    }
    return strings;
  }

  #skip(type: number): void {
    const size = SIZES[type];
    if (size !== undefined) this.#take(size);
    else if (type === STRING) this.#take(this.#uint64());
    else if (type !== ARRAY) throw new NotGguf(`its metadata have a value of the unknown type ${type}`);
    else {
      const itemType = this.#uint32();
      const count = this.#uint64();
      const itemSize = SIZES[itemType];
      if (itemSize !== undefined) this.#take(itemSize * count);
      else for (let index = 0; index < count; index++) this.#skip(itemType);
    }
  }

  #take(length: number): Uint8Array {
    const start = this.#at;
    if (length > this.#bytes.length - start) throw new RangeError("end of bytes");
    this.#at += length;
    return this.#bytes.subarray(start, this.#at);
  }

  #uint32(): number {
    this.#at += 4;
    return this.#view.getUint32(this.#at - 4, true);
  }

  #uint64(): number {
    this.#at += 8;
    return Number(this.#view.getBigUint64(this.#at - 8, true));
  }
}
