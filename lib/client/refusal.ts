import { type StreamError, toError } from "./payload.ts";

const ERROR_BODY_BYTES = 64 * 1024;

/** Whether the response's status and type promise server-sent events. */
export function isTokenStream({ ok, headers }: Response): boolean {
  return ok && /^text\/event-stream\b/i.test(headers.get("content-type") ?? "");
}

/**
 * Names the reason why a response is no token stream: the error its body states, or else its status or its type.
 * An error body that does not come to its end is read until the signal says so.
 */
export async function refusal(response: Response, signal: AbortSignal): Promise<StreamError> {
  if (response.ok) {
    response.body?.cancel().catch(() => {});
    const type = response.headers.get("content-type");
    const message = `not streamed: wanted text/event-stream, got ${type || "no content type"}`;
    return { code: "not_streamed", message };
  }
  const body = await startOfBody(response, signal);
  const fallback = {
    code: `http_${response.status}`,
    message: `wanted status 200, got ${response.status}`,
  };
  try {
    const json = JSON.parse(body);
    return json?.error === undefined ? fallback : toError(json.error);
  } catch {
    // Not JSON: an HTML page of some proxy, say, which tells less than the status does.
    return fallback;
  }
}

/** The body's first 64 KiB; what broke off is given as far as it came. */
async function startOfBody({ body }: Response, signal: AbortSignal): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  if (!body) return text;
  const reader = body.getReader();
  const cancel = () => void reader.cancel().catch(() => {});
  signal.addEventListener("abort", cancel, { once: true });
  try {
    let size = 0;
    while (size < ERROR_BODY_BYTES) {
      const { done, value } = await reader.read();
      if (done) break;
      size += value.length;
      text += decoder.decode(value, { stream: true });
    }
  } catch {
    // The status is the answer; the body only explains it.
  }
  signal.removeEventListener("abort", cancel);
  cancel();
  return text;
}
