import { assert, assertEquals, assertInstanceOf, assertStrictEquals } from "@std/assert";
import {
  codeOfStatus,
  ERROR_STATUS,
  isErrorCode,
  publicError,
  quote,
  reasonOf,
  TapError,
} from "../lib/errors.ts";

Deno.test("an error has its code's status, and no parameter, unless it says else", () => {
  const plain = new TapError("rate_limit", "full");
  assertEquals([plain.code, plain.status, plain.param, plain.retryAfter, plain.allow, plain.cause], [
    "rate_limit",
    429,
    null,
    undefined,
    undefined,
    undefined,
  ]);
  const cause = new Error("underneath");
  const all = new TapError("upstream_error", "m", {
    param: "p",
    status: 418,
    retryAfter: 3,
    allow: "GET",
    cause,
  });
  assertEquals([all.status, all.param, all.retryAfter, all.allow, all.cause], [418, "p", 3, "GET", cause]);
  assertEquals([all.name, all.message], ["TapError", "m"]);
  assertInstanceOf(all, Error);
});

Deno.test("every code has a status of 4xx or 5xx", () => {
  for (const status of Object.values(ERROR_STATUS)) assert(status >= 400 && status <= 599, String(status));
});

Deno.test("an error meant for the client is told as it is", () => {
  const error = new TapError("context_length", "too long");
  assertStrictEquals(publicError(error), error);
});

Deno.test("any other thrown value is internal without a word of its text, kept as the cause for the log", () => {
  const secret = "sk-123 /etc/secret";
  for (
    const thrown of [
      new Error(secret),
      new TypeError(secret),
      secret,
      { message: secret },
      null,
      undefined,
      0,
    ]
  ) {
    const told = publicError(thrown);
    assertEquals([told.code, told.status, told.param], ["internal", 500, null]);
    assertEquals(told.message.includes("secret"), false);
    assertStrictEquals(told.cause, thrown);
  }
});

Deno.test("codes are a closed set: what every object has is none", () => {
  assertEquals(["internal", "stalled"].map(isErrorCode), [true, true]);
  assertEquals(["", "nope", "toString", "constructor", "__proto__", "INTERNAL"].some(isErrorCode), false);
});

Deno.test("a bare status has the code that fits it, one without a code of its own that of its class", () => {
  const codes = [401, 403, 404, 408, 413, 429, 502, 503, 504].map(codeOfStatus);
  assertEquals(codes, [
    "unauthorized",
    "forbidden",
    "not_found",
    "timeout",
    "too_large",
    "rate_limit",
    "upstream_error",
    "overloaded",
    "upstream_timeout",
  ]);
  for (const status of [401, 403, 404, 408, 413, 429, 502, 503, 504]) {
    assertEquals(ERROR_STATUS[codeOfStatus(status)], status);
  }
  assertEquals([400, 418, 499, 500, 501, 599].map(codeOfStatus), [
    "invalid_request",
    "invalid_request",
    "invalid_request",
    "internal",
    "internal",
    "internal",
  ]);
});

Deno.test("a quoted value has no line break, no control character and no half of a surrogate pair", () => {
  assertEquals(quote("a\r\nb\0c\x7fd\x85e\u2028f\u2029g"), '"a??b?c?d?e?f?g"');
  assertEquals(quote("\ud800x"), '"\ufffdx"');
  assertEquals(quote('say "hi"\\'), '"say \\"hi\\"\\\\"');
});

Deno.test("a quoted value is cut at its limit, with a mark, never inside a character", () => {
  assertEquals(quote("a".repeat(40)), `"${"a".repeat(40)}"`);
  assertEquals(quote("a".repeat(41)), `"${"a".repeat(40)}…"`);
  assertEquals(quote("abcdef", 3), '"abc…"');
  assertEquals(quote("ab🙂", 3).isWellFormed(), true);
  assertEquals(quote("x".repeat(10_000_000)).length, 43);
});

Deno.test("what is no text is quoted as its text", () => {
  assertEquals([quote(5), quote(null), quote(undefined), quote(true)], [
    '"5"',
    '"null"',
    '"undefined"',
    '"true"',
  ]);
});

Deno.test("the reason for the log goes down to what lay underneath, is bounded, and leaves an internal error's alone", () => {
  const cause = new Error("reset", { cause: new Error("os 104") });
  assertEquals(
    reasonOf(new TapError("upstream_error", "It broke.", { cause })),
    "It broke. (reset) (os 104)",
  );
  assertEquals(reasonOf(new TapError("internal", "It broke.", { cause })), "It broke.");
  assertEquals(reasonOf(new TapError("stalled", "It broke.", { cause: "text" })), "It broke.");
  const endless = new Error("x".repeat(300));
  endless.cause = endless;
  assertEquals(reasonOf(new TapError("stalled", "It broke.", { cause: endless })).length, 500);
});
