/**
 * `bytes` in three pieces, the second cut inside a character of several bytes where there is one (else in the middle).
 * The pieces joined are `bytes`.
 */
export function cutInsideCharacter(bytes: Uint8Array): Uint8Array[] {
  // A continuation byte (10xxxxxx) has its character's first byte before it.
  const inside = bytes.findIndex((byte) => (byte & 0xc0) === 0x80);
  const second = inside > 0 ? inside : Math.max(1, bytes.length >> 1);
  const first = second >> 1;
  return [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)].filter((p) =>
    p.length > 0
  );
}
