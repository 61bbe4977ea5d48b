import { validator } from "hono/validator";
import type { z } from "zod";
import { quote, TapError } from "../lib/errors.ts";

/**
 * A request's JSON body or query as `schema` makes it; the handler finds it under `c.req.valid(target)`.
 *
 * @throws {TapError} `invalid_request`, from the middleware: the first thing wrong, with its place
 */
export function valid<Target extends "json" | "query", Schema extends z.ZodType>(
  target: Target,
  schema: Schema,
) {
  return validator(target, (value, c): z.output<Schema> => {
    if (target === "query") refuseBytes(c.req.url);
    const result = schema.safeParse(value);
    if (!result.success) throw refusal(result.error.issues[0], value);
    return result.data;
  });
}

/** hono leaves what is not UTF-8 as it is written, and all that is encoded beside it: a text that nobody meant. */
function refuseBytes(url: string): void {
  // Most have nothing encoded.
  if (!url.includes("%")) return;
  const query = new URL(url).search;
  for (const [encoded] of query.matchAll(/(%[0-9a-f]{2})+/gi)) {
    try {
      decodeURIComponent(encoded);
    } catch {
      throw new TapError("invalid_request", `The query: wanted UTF-8, got ${quote(encoded)}.`);
    }
  }
}

/** What was wanted, where, and what came. */
function refusal(issue: z.core.$ZodIssue, value: unknown): TapError {
  const path = issue.path.slice(0, depth(value, issue.path));
  const param = path.join(".") || null;
  const wanted = `${param ?? "request"}: ${issue.message}`;
  const message = wanted.includes(", got ") ? wanted : `${wanted}, got ${came(value, issue, path)}`;
  return new TapError("invalid_request", `${message}.`, { param });
}

/** How far `path` goes in what came: where a text stands for a list of one, the schema goes on into the list. */
function depth(value: unknown, path: readonly PropertyKey[]): number {
  let at = value;
  for (let i = 0; i < path.length; i++) {
    if (typeof at !== "object" || at === null) return i;
    at = (at as Record<PropertyKey, unknown>)[path[i]];
  }
  return path.length;
}

/**
 * What a client gave where `issue` found something else, as a message may show it: on one line, shortened, and a list
 * or an object by its kind alone.
 */
function came(data: unknown, issue: z.core.$ZodIssue, path: readonly PropertyKey[]): string {
  let value = data;
  for (const step of path) {
    value = value !== null && typeof value === "object" && Object.hasOwn(value, step)
      ? (value as Record<PropertyKey, unknown>)[step]
      : undefined;
  }
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return value.length === 1 ? "a list of one" : `a list of ${value.length}`;
  if (typeof value === "string") {
    return issue.code === "too_big" && issue.origin === "string" ? `${value.length}` : quote(value);
  }
  return value !== null && typeof value === "object" ? "an object" : String(value);
}
