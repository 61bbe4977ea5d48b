import { type Context, Hono } from "hono";
import { parseFaults, refusalOf } from "../lib/engine/faults.ts";
import { streamBody } from "../lib/stream/body.ts";
import { plainFormat } from "../lib/stream/plain.ts";
import { SSE_HEADERS } from "../lib/stream/sse.ts";
import type { Deps, Env } from "./deps.ts";
import { begin, check, wantedOf } from "./begin.ts";
import { onlyMethods } from "./errors.ts";
import { jsonBody } from "./json_body.ts";
import { queryParams, type StreamParams, streamParams } from "./params.ts";
import { queryOf } from "./query.ts";
import { headReady } from "./streaming.ts";

/** A browser that fetches ahead, for which no generation must start. */
function fetchesAhead({ headers }: Request): boolean {
  const purpose = headers.get("sec-purpose") ?? headers.get("purpose") ?? headers.get("x-moz") ?? "";
  return /\b(prefetch|prerender|preview)\b/i.test(purpose);
}

/** `GET` and `POST /stream`: each token an event as it comes. */
export function streamRoutes(deps: Deps): Hono<Env> {
  const { settings } = deps;

  const stream = async (c: Context<Env>, params: StreamParams) => {
    const wanted = wantedOf(params, true);
    // hono answers HEAD by the handler of GET. It gets the head a GET would have, and starts no generation.
    if (c.req.method === "HEAD") {
      const { fault } = check(c, deps, wanted);
      const refusal = fault === undefined ? undefined : refusalOf(parseFaults(fault));
      if (refusal !== undefined) throw refusal.error;
      return new Response(null, { headers: SSE_HEADERS });
    }
    const generation = begin(c, deps, wanted);
    await headReady(c, generation);
    const body = streamBody(generation, plainFormat, deps);
    return new Response(body, { headers: SSE_HEADERS });
  };

  const query = queryParams(settings);
  const body = streamParams(settings);
  return new Hono<Env>()
    .get("/stream", (c) => {
      const params = queryOf(c, query);
      if (!fetchesAhead(c.req.raw)) return stream(c, params);
      return new Response(null, { status: 204, headers: { "Cache-Control": "no-store" } });
    })
    .post("/stream", async (c) => await stream(c, await jsonBody(c, settings, body)))
    .all("/stream", onlyMethods("GET", "POST"));
}
