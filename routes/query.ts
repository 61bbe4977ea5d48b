import type { Context } from "hono";
import type { z } from "zod";
import { quote, TapError } from "../lib/errors.ts";
import type { Env } from "./deps.ts";
import { valid } from "./valid.ts";

/**
 * A request's query as `schema` makes it. A name that is there several times is a list, which no schema takes.
 *
 * @throws {TapError} `invalid_request`, see `valid`; also for a query that is not UTF-8
 */
export function queryOf<Schema extends z.ZodType>(c: Context<Env>, schema: Schema): z.output<Schema> {
  refuseBytes(c.req.url);
  const values = Object.entries(c.req.queries()).map((
    [name, all],
  ) => [name, all.length === 1 ? all[0] : all]);
  // Not set one by one: a client may name one of them `__proto__`.
  return valid(schema, Object.fromEntries(values));
}

/** hono leaves what is not UTF-8 as it is written, and all that is encoded beside it: a text that nobody meant. */
function refuseBytes(url: string): void {
  // Most have nothing encoded.
  if (!url.includes("%")) return;
  for (const [encoded] of new URL(url).search.matchAll(/(%[0-9a-f]{2})+/gi)) {
    try {
      decodeURIComponent(encoded);
    } catch {
      throw new TapError("invalid_request", `The query: wanted UTF-8, got ${quote(encoded)}.`);
    }
  }
}
