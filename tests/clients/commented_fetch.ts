/** What a client was sent beside its events. */
export interface Commented {
  comments: number;
}

/** The runtime's `fetch`, which counts the comments of the streams that it lets through. */
export function commentedFetch(): { fetch: typeof fetch; seen: Commented } {
  const seen: Commented = { comments: 0 };
  return {
    seen,
    fetch: async (input, init) => {
      const response = await fetch(input, init);
      if (response.body === null) return response;
      const decoder = new TextDecoder();
      const counted = response.body.pipeThrough(
        new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
          transform(bytes, controller) {
            seen.comments += decoder.decode(bytes, { stream: true }).split("\n: ").length - 1;
            // A comment that comes in a read of its own has no line end before it.
            if (bytes[0] === 0x3a) seen.comments++;
            controller.enqueue(bytes);
          },
        }),
      );
      return new Response(counted, response);
    },
  };
}
