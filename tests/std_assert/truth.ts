import { AssertionError, suffix } from "./assertion_error.ts";

/** `expr` is truthy. */
export function assert(expr: unknown, msg = ""): asserts expr {
  if (!expr) throw new AssertionError(msg);
}

/** What {@linkcode assertFalse} accepts. */
export type Falsy = false | 0 | 0n | "" | null | undefined;

/** `expr` is falsy. */
export function assertFalse(expr: unknown, msg = ""): asserts expr is Falsy {
  if (expr) throw new AssertionError(msg);
}

/** `actual` is neither null nor undefined. */
export function assertExists<T>(
  actual: T,
  msg?: string,
): asserts actual is NonNullable<T> {
  if (actual !== undefined && actual !== null) return;
  throw new AssertionError(
    `Expected actual: "${actual}" to not be null or undefined${suffix(msg)}`,
  );
}

// deno-lint-ignore no-explicit-any -- std's signature: a class with any constructor
type AnyConstructor = abstract new (...args: any[]) => any;

/** `actual` was made by `ExpectedType` or a class below it. */
export function assertInstanceOf<T extends AnyConstructor>(
  actual: unknown,
  ExpectedType: T,
  msg = "",
): asserts actual is InstanceType<T> {
  if (actual instanceof ExpectedType) return;
  const came = actual === null
    ? "null"
    : typeof actual === "object"
    ? actual.constructor?.name ?? "Object"
    : typeof actual;
  throw new AssertionError(
    `Expected object to be an instance of "${ExpectedType.name}" but was "${came}"${suffix(msg)}`,
  );
}

/** Fails always: for a place that must not be reached with this input. */
export function fail(msg?: string): never {
  throw new AssertionError(`Failed assertion${suffix(msg)}`);
}

/** Fails always: for a place that can not be reached. */
export function unreachable(reason?: string): never {
  throw new AssertionError(reason ? `Unreachable: ${reason}` : "Unreachable.");
}
