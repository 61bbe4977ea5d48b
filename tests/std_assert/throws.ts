import { AssertionError, show, suffix } from "./assertion_error.ts";

// deno-lint-ignore no-explicit-any -- std's signature: an error class with any constructor
type ErrorClass<E> = abstract new (...args: any[]) => E;

/** `error` is an Error, of the class when one is given, and its message includes or matches `msgMatches`. */
export function assertIsError<E extends Error = Error>(
  error: unknown,
  ErrorClass?: ErrorClass<E>,
  msgMatches?: string | RegExp,
  msg?: string,
): asserts error is E {
  if (!(error instanceof Error)) {
    throw new AssertionError(
      `Expected "error" to be an Error object${suffix(msg)}\ncame: ${show(error)}`,
    );
  }
  if (ErrorClass && !(error instanceof ErrorClass)) {
    throw new AssertionError(
      `Expected error to be instance of "${ErrorClass.name}", but was "${error.constructor?.name}"${
        suffix(msg)
      }`,
    );
  }
  const matches = typeof msgMatches === "string"
    ? error.message.includes(msgMatches)
    : msgMatches?.test(error.message) ?? true;
  if (matches) return;
  const verb = typeof msgMatches === "string" ? "include" : "match";
  throw new AssertionError(
    `Expected error message to ${verb} ${show(msgMatches)}, but got ${show(error.message)}${suffix(msg)}`,
  );
}

/** `fn` throws; what it threw is returned. */
export function assertThrows(fn: () => unknown, msg?: string): unknown;
/** `fn` throws an error of the class, its message includes `msgIncludes`; the error is returned. */
export function assertThrows<E extends Error = Error>(
  fn: () => unknown,
  ErrorClass: ErrorClass<E>,
  msgIncludes?: string,
  msg?: string,
): E;
export function assertThrows(
  fn: () => unknown,
  second?: ErrorClass<Error> | string,
  msgIncludes?: string,
  last?: string,
): unknown {
  const { ErrorClass, msg } = split(second, last);
  try {
    fn();
  } catch (error) {
    requireClass(error, "thrown", ErrorClass, msgIncludes, msg);
    return error;
  }
  throw new AssertionError(`Expected function to throw${suffix(msg)}`);
}

/** `fn` returns a promise that rejects; the reason is returned. A function that throws at once does not pass. */
export function assertRejects(
  fn: () => PromiseLike<unknown>,
  msg?: string,
): Promise<unknown>;
/** `fn` rejects with an error of the class, its message includes `msgIncludes`; the error is returned. */
export function assertRejects<E extends Error = Error>(
  fn: () => PromiseLike<unknown>,
  ErrorClass: ErrorClass<E>,
  msgIncludes?: string,
  msg?: string,
): Promise<E>;
export async function assertRejects(
  fn: () => PromiseLike<unknown>,
  second?: ErrorClass<Error> | string,
  msgIncludes?: string,
  last?: string,
): Promise<unknown> {
  const { ErrorClass, msg } = split(second, last);
  let promise: PromiseLike<unknown> | undefined;
  try {
    promise = fn();
  } catch {
    // Told below, with every other function that does not return a promise.
  }
  if (typeof promise?.then !== "function") {
    throw new AssertionError(
      `Function throws when expected to reject${suffix(msg)}`,
    );
  }
  try {
    await promise;
  } catch (error) {
    requireClass(error, "rejected", ErrorClass, msgIncludes, msg);
    return error;
  }
  throw new AssertionError(`Expected function to reject${suffix(msg)}`);
}

function split(
  second: ErrorClass<Error> | string | undefined,
  last: string | undefined,
) {
  return typeof second === "string"
    ? { ErrorClass: undefined, msg: second }
    : { ErrorClass: second, msg: last };
}

function requireClass(
  error: unknown,
  verb: string,
  ErrorClass: ErrorClass<Error> | undefined,
  msgIncludes: string | undefined,
  msg: string | undefined,
): void {
  if (!ErrorClass) return;
  if (!(error instanceof Error)) {
    throw new AssertionError(
      `A non-Error object was ${verb}${suffix(msg)}\ncame: ${show(error)}`,
    );
  }
  assertIsError(error, ErrorClass, msgIncludes, msg);
}
