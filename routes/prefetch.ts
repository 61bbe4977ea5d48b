import type { MiddlewareHandler } from "hono";
import type { Env } from "./deps.ts";

/** A browser that fetches ahead must not start a generation. */
export const refusePrefetch: MiddlewareHandler<Env> = async (c, next) => {
  const { headers } = c.req.raw;
  const purpose = headers.get("sec-purpose") ?? headers.get("purpose") ?? headers.get("x-moz") ?? "";
  if (/\b(prefetch|prerender|preview)\b/i.test(purpose)) {
    return new Response(null, { status: 204, headers: { "Cache-Control": "no-store" } });
  }
  await next();
};
