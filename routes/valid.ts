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
  const param = issue.path.join(".") || null;
  const wanted = `${param ?? "request"}: ${issue.message}`;
  const message = wanted.includes(", got ") ? wanted : `${wanted}, got ${came(value, issue, issue.path)}`;
  return new TapError("invalid_request", `${message}.`, { param });
}
