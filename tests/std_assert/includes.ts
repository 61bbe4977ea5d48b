import { AssertionError, show, suffix } from "./assertion_error.ts";
import { equal } from "./equal.ts";

/** Every element of `expected` has a deeply equal one in `actual`, in any order. */
export function assertArrayIncludes<T>(
  actual: ArrayLike<T>,
  expected: ArrayLike<T>,
  msg?: string,
): void {
  const there = Array.from(actual);
  const missing = Array.from(expected).filter((item) => !there.some((other) => equal(item, other)));
  if (missing.length === 0) return;
  throw new AssertionError(
    `Expected actual: "${show(there)}" to include: "${show(Array.from(expected))}"${suffix(msg)}\n` +
      `missing: ${show(missing)}`,
  );
}

/** `actual` holds `expected` as a part. */
export function assertStringIncludes(
  actual: string,
  expected: string,
  msg?: string,
): void {
  if (actual.includes(expected)) return;
  throw new AssertionError(
    `Expected actual: "${actual}" to contain: "${expected}"${suffix(msg)}`,
  );
}

/** `expected` matches somewhere in `actual`. */
export function assertMatch(
  actual: string,
  expected: RegExp,
  msg?: string,
): void {
  if (expected.test(actual)) return;
  throw new AssertionError(
    `Expected actual: "${actual}" to match: "${expected}"${suffix(msg)}`,
  );
}

/** `expected` matches nowhere in `actual`. */
export function assertNotMatch(
  actual: string,
  expected: RegExp,
  msg?: string,
): void {
  if (!expected.test(actual)) return;
  throw new AssertionError(
    `Expected actual: "${actual}" to not match: "${expected}"${suffix(msg)}`,
  );
}
