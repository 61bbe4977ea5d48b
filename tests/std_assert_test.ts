import {
  assert,
  assertAlmostEquals,
  assertArrayIncludes,
  assertEquals,
  assertExists,
  assertFalse,
  assertGreater,
  assertGreaterOrEqual,
  assertInstanceOf,
  AssertionError,
  assertIsError,
  assertLess,
  assertLessOrEqual,
  assertMatch,
  assertNotEquals,
  assertNotMatch,
  assertNotStrictEquals,
  assertObjectMatch,
  assertRejects,
  assertStrictEquals,
  assertStringIncludes,
  assertThrows,
  equal,
  fail,
  unreachable,
} from "@std/assert";

// These tests cannot lean on what they test: a plain throw tells what went wrong.
function passes(run: () => unknown): void {
  run();
}

function fails(run: () => unknown, says = ""): void {
  let caught: unknown;
  try {
    run();
  } catch (error) {
    caught = error;
  }
  told(caught, says);
}

async function failsLater(
  run: () => Promise<unknown>,
  says = "",
): Promise<void> {
  told(await run().then(() => undefined, (error) => error), says);
}

function told(caught: unknown, says: string): void {
  if (!(caught instanceof AssertionError)) {
    throw new Error(`wanted an AssertionError, came ${caught}`);
  }
  if (!caught.message.includes(says)) {
    throw new Error(
      `wanted a message with "${says}", came "${caught.message}"`,
    );
  }
}

const ring = (): unknown => {
  const made: Record<string, unknown> = { name: "ring" };
  made.self = made;
  return made;
};

const equalPairs: [string, unknown, unknown][] = [
  ["NaN", NaN, NaN],
  ["0 and -0", 0, -0],
  ["nested objects in another key order", { a: [1, { b: 2 }], c: 3 }, {
    c: 3,
    a: [1, { b: 2 }],
  }],
  [
    "an object without a prototype and a plain one",
    Object.assign(Object.create(null), { a: 1 }),
    { a: 1 },
  ],
  ["sets in another order", new Set([1, { a: 1 }]), new Set([{ a: 1 }, 1])],
  [
    "maps with deep keys",
    new Map([[{ k: 1 }, [1]], [{ k: 2 }, [2]]]),
    new Map([[{ k: 2 }, [2]], [{ k: 1 }, [1]]]),
  ],
  ["bytes", new Uint8Array([1, 2]), new Uint8Array([1, 2])],
  ["buffers", new Uint8Array([1, 2]).buffer, new Uint8Array([1, 2]).buffer],
  ["dates", new Date(5), new Date(5)],
  ["invalid dates", new Date(NaN), new Date(NaN)],
  ["regular expressions", /a/g, /a/g],
  ["URLs", new URL("http://a/b"), new URL("http://a/b")],
  ["errors", new TypeError("x"), new TypeError("x")],
  ["cycles", ring(), ring()],
];

const unequalPairs: [string, unknown, unknown][] = [
  ["a number and its text", 1, "1"],
  ["null and undefined", null, undefined],
  ["null and an object", null, {}],
  ["a missing key and an undefined one", { a: undefined }, {}],
  ["two different keys that are undefined", { a: undefined }, { b: undefined }],
  ["an array and an object like it", [1], { 0: 1 }],
  ["arrays of another length", [1, 2], [1]],
  ["a hole and nothing at the end", [1, undefined], [1]],
  ["arrays of holes", new Array(2), new Array(3)],
  ["symbol keys", { [Symbol.iterator]: 1 }, { [Symbol.iterator]: 2 }],
  ["another class", new (class A {})(), new (class B {})()],
  [
    "sets of which one member has no partner",
    new Set([{ a: 1 }, { a: 2 }]),
    new Set([{ a: 1 }, { a: 3 }]),
  ],
  [
    "sets in which one member is the partner of two",
    new Set([{ a: 1 }, { a: 1 }]),
    new Set([{ a: 1 }, { a: 2 }]),
  ],
  ["maps with another value", new Map([["a", 1]]), new Map([["a", 2]])],
  ["bytes", new Uint8Array([1, 2]), new Uint8Array([1, 3])],
  ["buffers", new Uint8Array([1]).buffer, new Uint8Array([2]).buffer],
  ["dates", new Date(5), new Date(6)],
  ["flags of regular expressions", /a/g, /a/],
  ["messages of errors", new Error("x"), new Error("y")],
  ["classes of errors", new TypeError("x"), new Error("x")],
  ["functions", () => 1, () => 1],
  ["deep in a cycle", { a: ring(), b: 1 }, { a: ring(), b: 2 }],
];

for (const [name, a, b] of equalPairs) {
  Deno.test(`equal holds for ${name}`, () => {
    passes(() => assertEquals(a, b));
    fails(() => assertNotEquals(a, b), "not to be");
    if (!equal(a, b) || !equal(b, a)) throw new Error("equal said no");
  });
}

for (const [name, a, b] of unequalPairs) {
  Deno.test(`equal does not hold for ${name}`, () => {
    passes(() => assertNotEquals(a, b));
    fails(() => assertEquals(a, b), "Values are not equal");
    if (equal(a, b) || equal(b, a)) throw new Error("equal said yes");
  });
}

Deno.test("equal refuses what cannot be read", () => {
  assertThrows(() => equal(new WeakMap(), new WeakMap()), TypeError, "WeakMap");
});

Deno.test("the message of assertEquals shows both values and the caller's words", () => {
  fails(() => assertEquals({ a: 1 }, { a: 2 }, "the reason"), "the reason");
  fails(() => assertEquals({ a: 1 }, { a: 2 }), "a: 1");
  fails(() => assertEquals({ a: 1 }, { a: 2 }), "a: 2");
});

Deno.test("assertStrictEquals wants the same reference, and tells when only the structure is the same", () => {
  const one = { a: 1 };
  passes(() => assertStrictEquals(one, one));
  passes(() => assertStrictEquals(NaN, NaN));
  passes(() => assertNotStrictEquals(one, { a: 1 }));
  fails(
    () => assertStrictEquals(one, { a: 1 }),
    "same structure but are not reference-equal",
  );
  fails(() => assertStrictEquals<number>(1, 2), "not strictly equal");
  fails(() => assertStrictEquals(0, -0));
  fails(() => assertNotStrictEquals(one, one));
});

Deno.test("assertObjectMatch takes a part at any depth, and a beginning of an array", () => {
  const actual = {
    a: 1,
    b: { c: 2, d: [1, { e: 3, f: 4 }, 5] },
    m: new Map([["x", { y: 1, z: 2 }]]),
    r: /a/,
  };
  passes(() => assertObjectMatch(actual, { b: { c: 2, d: [1, { e: 3 }] } }));
  passes(() => assertObjectMatch(actual, { m: new Map([["x", { y: 1 }]]), r: /a/ }));
  fails(() => assertObjectMatch(actual, { b: { c: 3 } }));
  fails(() => assertObjectMatch(actual, { b: { d: [2] } }));
  fails(() => assertObjectMatch(actual, { b: { d: [1, { e: 3 }, 5, 6] } }));
  fails(() => assertObjectMatch(actual, { g: undefined }));
  fails(() => assertObjectMatch(actual, { m: new Map([["x", { y: 2 }]]) }));
  fails(() => assertObjectMatch(actual, { r: /b/ }));
});

Deno.test("assert and assertFalse look at truth, and narrow the type", () => {
  const text = "a" as string | undefined;
  assert(text !== undefined);
  const narrowed: string = text;
  const nothing = null as string | null;
  assertFalse(nothing);
  passes(() => assert(narrowed));
  fails(() => assert(0, "the reason"), "the reason");
  fails(() => assertFalse("a", "the reason"), "the reason");
});

Deno.test("assertExists lets every value through but null and undefined, and narrows the type", () => {
  const found = [1].find((n) => n === 1);
  assertExists(found);
  const narrowed: number = found;
  for (const value of [narrowed, 0, "", false, NaN]) {
    passes(() => assertExists(value));
  }
  fails(() => assertExists(null), "null");
  fails(() => assertExists(undefined), "undefined");
});

Deno.test("assertInstanceOf takes a class and those below it, and narrows the type", () => {
  const error: unknown = new TypeError("x");
  assertInstanceOf(error, Error);
  const narrowed: string = error.message;
  passes(() => assertInstanceOf(error, TypeError, narrowed));
  fails(
    () => assertInstanceOf(error, RangeError),
    'instance of "RangeError" but was "TypeError"',
  );
  fails(() => assertInstanceOf(null, Error), '"null"');
  fails(() => assertInstanceOf(1, Number), '"number"');
});

Deno.test("order is strict or not as the name says", () => {
  passes(() => assertGreater(2, 1));
  passes(() => assertGreaterOrEqual(2, 2));
  passes(() => assertLess(1, 2));
  passes(() => assertLessOrEqual(2, 2));
  fails(() => assertGreater(2, 2), "2 > 2");
  fails(() => assertGreaterOrEqual(1, 2), "1 >= 2");
  fails(() => assertLess(2, 2), "2 < 2");
  fails(() => assertLessOrEqual(3, 2), "3 <= 2");
  for (
    const compare of [
      assertGreater,
      assertGreaterOrEqual,
      assertLess,
      assertLessOrEqual,
    ]
  ) {
    fails(() => compare(NaN, 1));
  }
});

Deno.test("assertAlmostEquals allows a ten-millionth, or the tolerance given", () => {
  passes(() => assertAlmostEquals(0.1 + 0.2, 0.3));
  passes(() => assertAlmostEquals(10, 11, 1));
  passes(() => assertAlmostEquals(Infinity, Infinity));
  fails(() => assertAlmostEquals(1, 1.001), "delta");
  fails(() => assertAlmostEquals(10, 11.5, 1));
  fails(() => assertAlmostEquals(NaN, 1));
});

Deno.test("text and arrays: included or not, matched or not", () => {
  passes(() => assertStringIncludes("token stream", "stream"));
  passes(() => assertMatch("token 12", /\d+/));
  passes(() => assertNotMatch("token", /\d+/));
  passes(() => assertArrayIncludes([{ a: 1 }, 2, 3], [3, { a: 1 }]));
  passes(() => assertArrayIncludes(new Uint8Array([1, 2]), [2]));
  fails(() => assertStringIncludes("token", "stream"), '"token"');
  fails(() => assertMatch("token", /\d+/), "to match");
  fails(() => assertNotMatch("token 12", /\d+/), "to not match");
  fails(() => assertArrayIncludes([{ a: 1 }], [{ a: 2 }]), "missing");
});

Deno.test("assertThrows returns the error, and looks at its class and message", () => {
  const thrown = new TypeError("wanted a number, came text");
  const raise = () => {
    throw thrown;
  };
  const returned: TypeError = assertThrows(raise, TypeError, "came text");
  assertStrictEquals(returned, thrown);
  assertStrictEquals(assertThrows(raise), thrown);
  const bare = assertThrows(() => {
    throw "text";
  });
  assertEquals(bare, "text");
  fails(() => assertThrows(() => 1), "Expected function to throw");
  fails(() => assertThrows(() => 1, "the reason"), "the reason");
  fails(
    () => assertThrows(raise, RangeError),
    'instance of "RangeError", but was "TypeError"',
  );
  fails(() => assertThrows(raise, TypeError, "a date"), "to include");
  fails(() =>
    assertThrows(() => {
      throw "text";
    }, Error), "A non-Error object was thrown");
});

Deno.test("assertRejects returns the reason, and does not take a function that throws at once", async () => {
  const reason = new TypeError("wanted a number, came text");
  const returned: TypeError = await assertRejects(
    () => Promise.reject(reason),
    TypeError,
    "came text",
  );
  assertStrictEquals(returned, reason);
  assertEquals(await assertRejects(() => Promise.reject("text")), "text");
  await failsLater(
    () => assertRejects(() => Promise.resolve(1)),
    "Expected function to reject",
  );
  await failsLater(
    () => assertRejects(() => Promise.reject(reason), RangeError),
    "but was",
  );
  await failsLater(
    () => assertRejects(() => Promise.reject(reason), TypeError, "a date"),
    "to include",
  );
  await failsLater(
    () => assertRejects(() => Promise.reject("text"), Error),
    "A non-Error object was rejected",
  );
  const throwsAtOnce = () => {
    throw reason;
  };
  await failsLater(
    () => assertRejects(throwsAtOnce, TypeError),
    "Function throws when expected to reject",
  );
  const returnsNoPromise = (() => 1) as unknown as () => Promise<number>;
  await failsLater(
    () => assertRejects(returnsNoPromise),
    "Function throws when expected to reject",
  );
});

Deno.test("assertIsError looks at class and message, by text or pattern, and narrows the type", () => {
  const error: unknown = new RangeError("over by 12");
  assertIsError(error, RangeError, /by \d+/);
  const narrowed: string = error.message;
  passes(() => assertIsError(error, Error, narrowed));
  fails(() => assertIsError("text"), "to be an Error object");
  fails(() => assertIsError(error, TypeError), "but was");
  fails(() => assertIsError(error, RangeError, "under"), "to include");
  fails(() => assertIsError(error, RangeError, /under/), "to match");
});

Deno.test("fail and unreachable always throw, with the caller's words", () => {
  fails(() => fail("the reason"), "the reason");
  fails(() => unreachable("the reason"), "the reason");
  const neverReturns = (at: "a"): string => at === "a" ? "a" : unreachable();
  assertEquals(neverReturns("a"), "a");
});
