/**
 * The assertions of `@std/assert` that the tests use, with std's names and signatures, over `node:assert/strict`.
 *
 * The registry that holds std's package cannot be reached from every machine. Delete the `links` entry in the root
 * `deno.json` and the tests run on the registry's own package: nothing here goes beyond it.
 */
export { AssertionError } from "./assertion_error.ts";
export { equal } from "./equal.ts";
export {
  assertEquals,
  assertNotEquals,
  assertNotStrictEquals,
  assertObjectMatch,
  assertStrictEquals,
} from "./equality.ts";
export { assertArrayIncludes, assertMatch, assertNotMatch, assertStringIncludes } from "./includes.ts";
export {
  assertAlmostEquals,
  assertGreater,
  assertGreaterOrEqual,
  assertLess,
  assertLessOrEqual,
} from "./order.ts";
export { assertIsError, assertRejects, assertThrows } from "./throws.ts";
export { assert, assertExists, assertFalse, assertInstanceOf, fail, unreachable } from "./truth.ts";
