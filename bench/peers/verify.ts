const TOKENS = 40;

/**
 * Checks that the server at `port` does the work that is measured: the headers of a stream, one event per
 * token with JSON in it, and [DONE]. Throws with what was wanted and what came. A server that did less would
 * win for the wrong reason.
 */
export async function verify(port: number): Promise<void> {
  const query = new URLSearchParams({
    prompt: "hello",
    max_tokens: `${TOKENS}`,
    ttft_ms: "0",
    itl_ms: "1",
  });
  const response = await fetch(`http://127.0.0.1:${port}/stream?${query}`, {
    signal: AbortSignal.timeout(10_000),
  });
  const text = await response.text();
  want("status", 200, response.status);
  want(
    "Content-Type",
    "text/event-stream; charset=utf-8",
    response.headers.get("content-type"),
  );
  want(
    "Cache-Control",
    "no-cache, no-transform",
    response.headers.get("cache-control"),
  );
  want("X-Accel-Buffering", "no", response.headers.get("x-accel-buffering"));
  want("X-Request-Id present", true, response.headers.has("x-request-id"));
  want("Content-Length present", false, response.headers.has("content-length"));
  want("the end", "", text.slice(text.lastIndexOf("\n\n") + 2));
  const events = text.split("\n\n").slice(0, -1);
  want("the last event", "data: [DONE]", events.pop());
  want("events", TOKENS, events.length);
  for (const event of events) {
    const token = /^data: (\{"token":".*"\})$/.exec(event)?.[1];
    if (token === undefined || typeof JSON.parse(token).token !== "string") {
      throw new Error(
        `wanted an event data: {"token":"…"}, got ${event.slice(0, 80)}`,
      );
    }
  }
}

function want(what: string, wanted: unknown, got: unknown): void {
  if (wanted !== got) {
    throw new Error(
      `${what}: wanted ${JSON.stringify(wanted)}, got ${JSON.stringify(got)}`,
    );
  }
}
