// hono's streamSSE, as its guide shows it; the same application on Node and on Deno.
import { Hono } from "hono";
import { streamSSE } from "hono/streaming";
import { randomUUID } from "node:crypto";
import { DONE, HEADERS, payload, readQuery } from "./common.mjs";

export const app = new Hono();

app.get("/health", (c) => c.json({ status: "ok" }));

app.get("/stream", (c) => {
  const { tokens, ttftMs, itlMs } = readQuery((name) => c.req.query(name));
  c.header("X-Request-Id", randomUUID());
  const response = streamSSE(c, async (stream) => {
    if (ttftMs > 0) await stream.sleep(ttftMs);
    for (let index = 0; index < tokens && !stream.aborted; index++) {
      if (index > 0 && itlMs > 0) await stream.sleep(itlMs);
      await stream.writeSSE({ data: payload(index) });
    }
    if (!stream.aborted) await stream.writeSSE({ data: DONE });
  });
  // After the call, because streamSSE sets some of these itself.
  for (const [name, value] of Object.entries(HEADERS)) {
    response.headers.set(name, value);
  }
  return response;
});
