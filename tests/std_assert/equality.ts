import nodeAssert from "node:assert/strict";
import { AssertionError, show, suffix } from "./assertion_error.ts";
import { equal } from "./equal.ts";

/** Deep equality, see {@linkcode equal}; the message shows the difference line by line. */
export function assertEquals<T>(actual: T, expected: T, msg?: string): void {
  if (equal(actual, expected)) return;
  throw new AssertionError(
    `Values are not equal${suffix(msg)}\n${difference(actual, expected)}`,
  );
}

/** The opposite of {@linkcode assertEquals}. */
export function assertNotEquals<T>(actual: T, expected: T, msg?: string): void {
  if (!equal(actual, expected)) return;
  throw new AssertionError(
    `Expected actual: ${show(actual)} not to be: ${show(expected)}${suffix(msg)}`,
  );
}

/** `Object.is`: the same reference, or the same primitive. */
export function assertStrictEquals<T>(
  actual: unknown,
  expected: T,
  msg?: string,
): asserts actual is T {
  if (Object.is(actual, expected)) return;
  const alike = equal(actual, expected) ? "Values have the same structure but are not reference-equal" : "";
  const title = alike || "Values are not strictly equal";
  throw new AssertionError(
    `${title}${suffix(msg)}\n${difference(actual, expected)}`,
  );
}

/** The opposite of {@linkcode assertStrictEquals}. */
export function assertNotStrictEquals<T>(
  actual: T,
  expected: T,
  msg?: string,
): void {
  if (!Object.is(actual, expected)) return;
  throw new AssertionError(
    `Expected "actual" to not be strictly equal to: ${show(actual)}${suffix(msg)}`,
  );
}

/** `expected` is a part of `actual`: its keys, to any depth, are equal there; an array may be a beginning. */
export function assertObjectMatch(
  // deno-lint-ignore no-explicit-any -- std's signature; `unknown` would refuse interfaces without an index
  actual: Record<PropertyKey, any>,
  expected: Record<PropertyKey, unknown>,
  msg?: string,
): void {
  assertEquals(
    part(actual, expected, new Map()),
    part(expected, expected, new Map()),
    msg,
  );
}

/** What of `value` the `subset` speaks about. */
function part(
  value: unknown,
  subset: unknown,
  seen: Map<object, unknown>,
): unknown {
  if (!isContainer(value) || !isContainer(subset)) return value;
  if (seen.has(value)) return seen.get(value);
  if (Array.isArray(value)) {
    if (!Array.isArray(subset)) return value;
    const items: unknown[] = [];
    seen.set(value, items);
    for (const [at, item] of value.slice(0, subset.length).entries()) {
      items.push(part(item, subset[at], seen));
    }
    return items;
  }
  if (value instanceof Map) {
    if (!(subset instanceof Map)) return value;
    const kept = [...value].filter(([key]) => subset.has(key));
    return new Map(
      kept.map(([key, item]) => [key, part(item, subset.get(key), seen)]),
    );
  }
  if (value instanceof Set) {
    return subset instanceof Set ? new Set([...value].filter((item) => subset.has(item))) : value;
  }
  const kept: Record<PropertyKey, unknown> = {};
  seen.set(value, kept);
  for (const key of Reflect.ownKeys(subset)) {
    if (key in value) {
      kept[key] = part(Reflect.get(value, key), Reflect.get(subset, key), seen);
    }
  }
  return kept;
}

/** What is taken apart by key. A RegExp, a Date or an Error is a value: taken apart, nothing of it is left. */
function isContainer(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  return !(value instanceof RegExp || value instanceof Date ||
    value instanceof Error);
}

/** Node's line-by-line difference, or both values where node's stricter or looser rules see none. */
function difference(actual: unknown, expected: unknown): string {
  try {
    nodeAssert.deepStrictEqual(actual, expected);
  } catch (error) {
    if (error instanceof nodeAssert.AssertionError) return error.message;
    throw error;
  }
  return `actual:   ${show(actual)}\nexpected: ${show(expected)}`;
}
