/** A body that gives exactly these pieces, one for each read. */
export function bodyOf(pieces: Uint8Array[]): ReadableStream<Uint8Array> {
  let next = 0;
  return new ReadableStream({
    pull(controller) {
      if (next < pieces.length) controller.enqueue(pieces[next++]);
      else controller.close();
    },
  }, { highWaterMark: 0 });
}

/** Cuts `bytes` before each of the given offsets, in ascending order. */
export function cutAt(bytes: Uint8Array, offsets: number[]): Uint8Array[] {
  const edges = [0, ...offsets, bytes.length];
  return edges.slice(1).map((end, i) => bytes.subarray(edges[i], end));
}

/** Every way to cut `bytes` in two, and the cut after each single byte. */
export function* everyCut(bytes: Uint8Array): Generator<Uint8Array[]> {
  for (let offset = 0; offset <= bytes.length; offset++) yield cutAt(bytes, [offset]);
  yield cutAt(bytes, Array.from({ length: bytes.length - 1 }, (_, i) => i + 1));
}
