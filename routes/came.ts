import type { z } from "zod";
import { quote } from "../lib/errors.ts";

/**
 * What a client gave where `issue` found something else, as a message may show it: on one line, shortened, and a list
 * or an object by its kind alone.
 */
export function came(data: unknown, issue: z.core.$ZodIssue, path: readonly PropertyKey[]): string {
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
