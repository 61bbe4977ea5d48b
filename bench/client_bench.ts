import { readTokens } from "../lib/client/reader.ts";
import { encode } from "../lib/stream/sse.ts";

/** Tokens of one iteration: divide an iteration's time by it for the cost of a token. */
const TOKENS = 1000;
const EVENT = encode('data: {"token":" word"}\n\n');
const DONE = encode("data: [DONE]\n\n");

/** A response whose every read holds `perRead` events. */
function answer(perRead: number): () => Promise<Response> {
  const read = new Uint8Array(EVENT.length * perRead);
  for (let i = 0; i < perRead; i++) read.set(EVENT, i * EVENT.length);
  return () => {
    let left = TOKENS;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (left > 0) controller.enqueue(read);
        else {
          controller.enqueue(DONE);
          controller.close();
        }
        left -= perRead;
      },
    });
    return Promise.resolve(new Response(body, { headers: { "Content-Type": "text/event-stream" } }));
  };
}

for (const perRead of [1, 100]) {
  Deno.bench(`the client reads ${TOKENS} tokens, ${perRead} a read`, async () => {
    const result = await readTokens({ url: "http://bench/", fetch: answer(perRead) });
    if (result.tokens !== TOKENS) throw new Error(`read ${result.tokens} tokens`);
  });
}
