/**
 * The one source of chance. Each draw is a hash of (seed, purpose, index), so that nothing depends on the order in
 * which requests arrive or on what else runs.
 */

/** What a draw is for: two purposes never share a value. */
export const PURPOSE = { token: 1, prefillJitter: 2, decodeJitter: 3 } as const;

/** A 32-bit seed of a text: FNV-1a over its UTF-16 code units, finished by `mix`. Equal on every machine. */
export function seedOf(text: string, basis = 0x811c9dc5): number {
  let hash = basis | 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    hash = Math.imul(hash ^ (unit & 0xff), 0x01000193);
    hash = Math.imul(hash ^ (unit >>> 8), 0x01000193);
  }
  return mix(hash);
}

/** Spreads every input bit over all 32 output bits (the finalizer of MurmurHash3, public domain). */
function mix(value: number): number {
  let h = value | 0;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** The draw number `index` for `purpose`: an unsigned 32-bit integer. */
export function draw(seed: number, purpose: number, index: number): number {
  return mix(seed ^ mix(Math.imul(purpose, 0x9e3779b1) ^ mix(index)));
}

/** A draw as a number in [0, 1). */
export function uniform(seed: number, purpose: number, index: number): number {
  return draw(seed, purpose, index) / 0x1_0000_0000;
}

/**
 * A log-normal draw with the given mean and standard deviation, both in the same unit (Box–Muller over two hashed
 * uniforms). A deviation of 0 gives the mean itself; the result is never negative.
 */
export function logNormal(
  mean: number,
  deviation: number,
  seed: number,
  purpose: number,
  index: number,
): number {
  if (deviation <= 0 || mean <= 0) return mean;
  const ratio = (deviation / mean) ** 2;
  // Of a mean that is next to nothing the square is beyond all numbers, its logarithm is not.
  const variance = ratio === Infinity ? 2 * (Math.log(deviation) - Math.log(mean)) : Math.log(1 + ratio);
  const u = 1 - uniform(seed, purpose, 2 * index);
  const v = uniform(seed, purpose, 2 * index + 1);
  const normal = Math.sqrt(-2 * Math.log(u)) * Math.cos(2 * Math.PI * v);
  return Math.exp(Math.log(mean) - variance / 2 + Math.sqrt(variance) * normal);
}
