import { AssertionError, show, suffix } from "./assertion_error.ts";

/** `actual > expected` */
export function assertGreater<T>(actual: T, expected: T, msg?: string): void {
  require(actual > expected, actual, ">", expected, msg);
}

/** `actual >= expected` */
export function assertGreaterOrEqual<T>(
  actual: T,
  expected: T,
  msg?: string,
): void {
  require(actual >= expected, actual, ">=", expected, msg);
}

/** `actual < expected` */
export function assertLess<T>(actual: T, expected: T, msg?: string): void {
  require(actual < expected, actual, "<", expected, msg);
}

/** `actual <= expected` */
export function assertLessOrEqual<T>(
  actual: T,
  expected: T,
  msg?: string,
): void {
  require(actual <= expected, actual, "<=", expected, msg);
}

/** Equal within `tolerance`, by default a ten-millionth of `expected`. */
export function assertAlmostEquals(
  actual: number,
  expected: number,
  tolerance?: number,
  msg?: string,
): void {
  if (Object.is(actual, expected)) return;
  const allowed = tolerance ??
    (Number.isFinite(expected) ? Math.abs(expected * 1e-7) : 1e-7);
  const delta = Math.abs(expected - actual);
  if (delta <= allowed) return;
  throw new AssertionError(
    `Expected actual: "${actual}" to be close to "${expected}": delta "${delta}" is greater than "${allowed}"` +
      suffix(msg),
  );
}

function require(
  holds: boolean,
  actual: unknown,
  sign: string,
  expected: unknown,
  msg?: string,
): void {
  if (!holds) {
    throw new AssertionError(
      `Expect ${show(actual)} ${sign} ${show(expected)}${suffix(msg)}`,
    );
  }
}
