import type { MiddlewareHandler } from "hono";
import { SSE_HEADERS } from "../lib/stream/sse.ts";
import type { Env } from "./deps.ts";

/**
 * A HEAD, or a browser that fetches ahead, must not start a generation: HEAD gets the head a GET would have, and a
 * prefetch gets 204. hono answers HEAD by the GET handler, so this has to stand in front of that one, and behind what
 * would refuse a GET.
 */
export const refusePrefetch: MiddlewareHandler<Env> = async (c, next) => {
  const { method, headers } = c.req.raw;
  if (method === "HEAD") return new Response(null, { headers: SSE_HEADERS });
  const purpose = headers.get("sec-purpose") ?? headers.get("purpose") ?? headers.get("x-moz") ?? "";
  if (/\b(prefetch|prerender|preview)\b/i.test(purpose)) {
    return new Response(null, { status: 204, headers: { "Cache-Control": "no-store" } });
  }
  await next();
};
