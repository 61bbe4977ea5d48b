import { SSE_DONE, sseEvent } from "./sse.ts";
import type { Format } from "./format.ts";

/** The form of `/stream`: `data: {"token":"…"}` for each token, `data: [DONE]` at the end. */
export const plainFormat: Format = {
  token: ({ text, tokens }) =>
    tokens === 1
      ? `data: {"token":${JSON.stringify(text)}}\n\n`
      : sseEvent(JSON.stringify({ token: text, tokens })),
  end: () => SSE_DONE,
  error: ({ code, message }) => sseEvent(JSON.stringify({ code, message }), "error"),
};
