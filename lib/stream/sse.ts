/**
 * Server-sent events as text (WHATWG HTML, "Server-sent events"). The space after the colon is written always: a
 * reader removes one, so without it a token " world" would lose its own.
 */

const encoder = new TextEncoder();

/** One event. `data` must have no line break, which JSON never has. */
export function sseEvent(data: string, event?: string): string {
  return event === undefined ? `data: ${data}\n\n` : `event: ${event}\ndata: ${data}\n\n`;
}

export const SSE_DONE = sseEvent("[DONE]");

/** A comment that keeps the connection from being taken for dead. Readers pass over it. */
export const SSE_KEEP_ALIVE = ": keep-alive\n\n";

/** What every stream carries. Neither length nor coding nor connection: those are the server's to set. */
export const SSE_HEADERS: Readonly<Record<string, string>> = {
  "Content-Type": "text/event-stream; charset=utf-8",
  "Cache-Control": "no-cache, no-transform",
  "X-Accel-Buffering": "no",
};

export function encode(text: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(text);
}
