import { type Context, Hono, type MiddlewareHandler } from "hono";
import { parseFaults, refusalOf } from "../lib/engine/faults.ts";
import { streamBody } from "../lib/stream/body.ts";
import { plainFormat } from "../lib/stream/plain.ts";
import { SSE_HEADERS } from "../lib/stream/sse.ts";
import type { Deps, Env } from "./deps.ts";
import { begin, check, type Wanted } from "./begin.ts";
import { onlyMethods } from "./errors.ts";
import { headReady } from "./head_ready.ts";
import { jsonBody } from "./json_body.ts";
import { DEFAULT_MAX_TOKENS, queryParams, type StreamParams, streamParams } from "./params.ts";
import { valid } from "./valid.ts";

/** A browser that fetches ahead must not start a generation. */
const refusePrefetch: MiddlewareHandler<Env> = async (c, next) => {
  const { headers } = c.req.raw;
  const purpose = headers.get("sec-purpose") ?? headers.get("purpose") ?? headers.get("x-moz") ?? "";
  if (/\b(prefetch|prerender|preview)\b/i.test(purpose)) {
    return new Response(null, { status: 204, headers: { "Cache-Control": "no-store" } });
  }
  await next();
};

/** `GET` and `POST /stream`: each token an event as it comes. */
export function streamRoutes(deps: Deps): Hono<Env> {
  const { settings, clock, turn } = deps;

  const stream = async (c: Context<Env>, params: StreamParams) => {
    const wanted: Wanted = {
      prompt: params.prompt,
      maxTokens: params.max_tokens,
      defaultMaxTokens: DEFAULT_MAX_TOKENS,
      ttftMs: params.ttft_ms,
      itlMs: params.itl_ms,
      fault: params.fault,
      tokensPerEvent: params.tokens_per_event,
      streamed: true,
    };
    // hono answers HEAD by the handler of GET. It gets the head a GET would have, and starts no generation.
    if (c.req.method === "HEAD") {
      const { fault } = check(c, deps, wanted);
      const refusal = fault === undefined ? undefined : refusalOf(parseFaults(fault));
      if (refusal !== undefined) throw refusal.error;
      return new Response(null, { headers: SSE_HEADERS });
    }
    const generation = begin(c, deps, wanted);
    await headReady(c, generation);
    const body = streamBody(generation, {
      format: plainFormat,
      clock,
      turn,
      keepAliveMs: settings.keepAlive,
      stallMs: settings.stallLimit,
    });
    return new Response(body, { headers: SSE_HEADERS });
  };

  return new Hono<Env>()
    .get("/stream", valid("query", queryParams(settings)), refusePrefetch, (c) => {
      return stream(c, c.req.valid("query"));
    })
    .post("/stream", jsonBody(settings), valid("json", streamParams(settings)), (c) => {
      return stream(c, c.req.valid("json"));
    })
    .all("/stream", onlyMethods("GET", "POST"));
}
