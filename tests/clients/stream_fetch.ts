/** One request as the client made it. */
export interface Seen {
  url: string;
  method: string;
  body: unknown;
  signal: AbortSignal;
}

/** A `fetch` that answers every request with these lines as an event stream, cut into pieces of `size` bytes. */
export function streamFetch(lines: string[], size: number): { fetch: typeof fetch; seen: Seen[] } {
  const seen: Seen[] = [];
  const bytes = new TextEncoder().encode(lines.map((line) => `${line}\n\n`).join(""));
  return {
    seen,
    fetch: async (input, init) => {
      const request = new Request(input, init);
      const { url, method, signal } = request;
      seen.push({ url, method, signal, body: await request.json() });
      return new Response(pieces(bytes, size), {
        headers: { "Content-Type": "text/event-stream; charset=utf-8" },
      });
    },
  };
}

function pieces(bytes: Uint8Array<ArrayBuffer>, size: number): ReadableStream<Uint8Array<ArrayBuffer>> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.slice(at, at + size));
      at += size;
    },
  });
}

/** The lines of a chat of these tokens in the form of the OpenAI API: role, content, finish, usage, `[DONE]`. */
export function chatLines(tokens: string[]): string[] {
  const chunk = (delta: unknown, finish_reason: string | null) => ({
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1,
    model: "simulated",
    choices: [{ index: 0, delta, finish_reason }],
  });
  const usage = { prompt_tokens: 3, completion_tokens: tokens.length, total_tokens: 3 + tokens.length };
  return [
    chunk({ role: "assistant", content: "" }, null),
    ...tokens.map((content) => chunk({ content }, null)),
    chunk({}, "length"),
    { ...chunk({}, null), choices: [], usage },
  ].map((payload) => `data: ${JSON.stringify(payload)}`).concat("data: [DONE]");
}
