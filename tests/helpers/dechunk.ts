import { ChunkedDecoder } from "../../lib/http/chunked.ts";

/** The text of a chunked body that came in these pieces, and whether its end was seen. */
export function dechunk(pieces: Uint8Array[]): { text: string; done: boolean } {
  const decoder = new ChunkedDecoder();
  const text = new TextDecoder();
  return {
    // The empty piece brings out an error behind the last payload.
    text: [...pieces, new Uint8Array(0)].map((piece) => text.decode(decoder.push(piece), { stream: true }))
      .join(""),
    done: decoder.done,
  };
}
