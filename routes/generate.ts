import { Hono } from "hono";
import { collect } from "../lib/stream/collect.ts";
import type { Deps, Env } from "./deps.ts";
import { begin, wantedOf } from "./begin.ts";
import { onlyMethods } from "./errors.ts";
import { jsonBody } from "./json_body.ts";
import { generateParams } from "./params.ts";

/** `POST /generate`: the whole text at once. */
export function generateRoutes(deps: Deps): Hono<Env> {
  const { settings, turn } = deps;
  const schema = generateParams(settings);
  return new Hono<Env>()
    .post("/generate", async (c) => {
      const params = await jsonBody(c, settings, schema);
      const generation = begin(c, deps, wantedOf(params, false));
      const [{ text }] = await collect(generation, turn, c.req.raw.signal);
      return c.json({ text, usage: generation.record.usageNow() });
    })
    .all("/generate", onlyMethods("POST"));
}
