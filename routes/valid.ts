import type { z } from "zod";
import { quote, TapError } from "../lib/errors.ts";

/**
 * `value`, which a client gave, as `schema` makes it.
 *
 * @throws {TapError} `invalid_request`: the first thing wrong, with its place
 */
export function valid<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const result = schema.safeParse(value);
  if (!result.success) throw refusal(result.error.issues[0], value);
  return result.data;
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
