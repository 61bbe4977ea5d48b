/**
 * Looks into JSON of others, by hand where it is done once per token: a schema library costs several times the parser.
 */
export type Json = Record<string, unknown>;

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether `value` is a number of things: whole, exact and not negative. */
export function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

/** `value` where it is a text, else an empty one. */
export function asText(value: unknown): string {
  return typeof value === "string" ? value : "";
}
