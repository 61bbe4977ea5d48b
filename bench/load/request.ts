const encoder = new TextEncoder();

export interface StreamQuery {
  port: number;
  prompt: string;
  tokens: number;
  /** Delay between tokens, ms; the delay before the first is 0. */
  itlMs: number;
}

/** The bytes of one HTTP/1.1 request for a stream. */
export function streamRequest({ port, prompt, tokens, itlMs }: StreamQuery): Uint8Array {
  const query = new URLSearchParams({
    prompt,
    max_tokens: String(tokens),
    ttft_ms: "0",
    itl_ms: String(itlMs),
  });
  return get(port, `/stream?${query}`);
}

/** The bytes of one HTTP/1.1 request for `path`. The connection stays open after the answer. */
export function get(port: number, path: string): Uint8Array {
  return encoder.encode(
    `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAccept: text/event-stream\r\n\r\n`,
  );
}
