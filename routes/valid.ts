import { validator } from "hono/validator";
import type { z } from "zod";
import { TapError } from "../lib/errors.ts";
import { came } from "./came.ts";

/**
 * A request's JSON body or query as `schema` makes it; the handler finds it under `c.req.valid(target)`.
 *
 * @throws {TapError} `invalid_request`, from the middleware: the first thing wrong, with its place
 */
export function valid<Target extends "json" | "query", Schema extends z.ZodType>(
  target: Target,
  schema: Schema,
) {
  return validator(target, (value): z.output<Schema> => {
    const result = schema.safeParse(value);
    if (!result.success) throw refusal(result.error.issues[0], value);
    return result.data;
  });
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
