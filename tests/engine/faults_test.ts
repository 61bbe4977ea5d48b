import { assertEquals, assertInstanceOf, assertStringIncludes, assertThrows } from "@std/assert";
import { CutStream, injectedError, parseFaults, statusFault } from "../../lib/engine/faults.ts";
import { ERROR_STATUS, TapError } from "../../lib/errors.ts";

const HOUR_MS = 3_600_000;
const FORMS = [
  "error@N[:code]",
  "close@N",
  "reset@N",
  "stall@N[:ms]",
  "malformed@N",
  "split@N",
  "slow@N:ms",
  "status:CODE",
];

const good: [text: string, faults: ReturnType<typeof parseFaults>][] = [
  ["error@5", [{ kind: "error", at: 5, code: "internal" }]],
  ["error@0:rate_limit", [{ kind: "error", at: 0, code: "rate_limit" }]],
  ["close@3", [{ kind: "close", at: 3 }]],
  ["reset@3", [{ kind: "reset", at: 3 }]],
  ["stall@2", [{ kind: "stall", at: 2, ms: HOUR_MS }]],
  ["stall@2:150", [{ kind: "stall", at: 2, ms: 150 }]],
  ["stall@2:86400000", [{ kind: "stall", at: 2, ms: 24 * HOUR_MS }]],
  ["malformed@1", [{ kind: "malformed", at: 1 }]],
  ["split@1", [{ kind: "split", at: 1 }]],
  ["slow@7:200", [{ kind: "slow", at: 7, ms: 200 }]],
  ["slow@9999999:0", [{ kind: "slow", at: 9_999_999, ms: 0 }]],
  ["status:503", [{ kind: "status", at: 0, status: 503 }]],
  ["status:400", [{ kind: "status", at: 0, status: 400 }]],
  ["status:599", [{ kind: "status", at: 0, status: 599 }]],
  [" slow@3:200 , error@5 ", [{ kind: "slow", at: 3, ms: 200 }, { kind: "error", at: 5, code: "internal" }]],
];

for (const [text, faults] of good) {
  Deno.test(`the fault ${JSON.stringify(text)} is read`, () => assertEquals(parseFaults(text), faults));
}

const unknown = [
  "",
  "boom",
  "boom@5",
  "Error@5",
  "@5",
  "error@5,",
  ",",
  "error 5",
  "constructor@1",
  "toString@1",
];
for (const text of unknown) {
  Deno.test(`the unknown fault ${JSON.stringify(text)} is refused with every known kind`, () => {
    const error = assertThrows(() => parseFaults(text), TapError);
    assertEquals([error.code, error.status, error.param], ["invalid_request", 400, "fault"]);
    for (const form of FORMS) assertStringIncludes(error.message, form);
  });
}

const malformed: [text: string, wanted: string][] = [
  ["error", "error@N[:code]"],
  ["error@", "error@N[:code]"],
  ["error@-1", "error@N[:code]"],
  ["error@1.5", "error@N[:code]"],
  ["error@12345678", "error@N[:code], N a whole number up to 9999999"],
  ["error@5:", "error@N[:code] with a code of invalid_request"],
  ["error@5:nope", "error@N[:code] with a code of invalid_request"],
  ["error@5:toString", "error@N[:code] with a code of invalid_request"],
  ["close@3:1", "close@N"],
  ["reset@x", "reset@N"],
  ["malformed@1:x", "malformed@N"],
  ["split@1:", "split@N"],
  ["stall@1:", "stall@N[:ms]"],
  ["stall@1:soon", "stall@N[:ms], ms a whole number up to 86400000"],
  ["stall@1:86400001", "stall@N[:ms], ms a whole number up to 86400000"],
  ["slow@1:1.5", "slow@N:ms, ms a whole number up to 86400000"],
  ["slow@1", "slow@N:ms"],
  ["slow@1:-5", "slow@N:ms"],
  ["status:200", "status:CODE with a CODE from 400 to 599"],
  ["status:399", "status:CODE with a CODE from 400 to 599"],
  ["status:600", "status:CODE with a CODE from 400 to 599"],
  ["status@503", "status:CODE"],
  ["status@1:503", "status:CODE"],
  ["status", "status:CODE"],
];
for (const [text, wanted] of malformed) {
  Deno.test(`the badly written fault ${JSON.stringify(text)} is refused with the form of its kind`, () => {
    const error = assertThrows(() => parseFaults(text), TapError, `wanted ${wanted}`);
    assertEquals([error.code, error.param], ["invalid_request", "fault"]);
    assertStringIncludes(error.message, JSON.stringify(text));
  });
}

Deno.test("one bad fault among good ones is refused", () => {
  assertThrows(() => parseFaults("slow@3:200,boom@1"), TapError, '"boom@1"');
});

Deno.test("eight faults are taken, nine are refused, and a very long list costs nothing", () => {
  assertEquals(parseFaults(Array(8).fill("split@1").join()).length, 8);
  assertThrows(() => parseFaults(Array(9).fill("split@1").join()), TapError, "at most 8 faults");
  assertThrows(() => parseFaults("split@1,".repeat(100_000)), TapError, "at most 8 faults");
});

Deno.test("what is quoted of a bad fault is short and has no line break", () => {
  const { message } = assertThrows(() => parseFaults("x\r\ndata: [DONE]\n\n" + "y".repeat(10_000)), TapError);
  assertEquals(/[\r\n]/.test(message), false);
  assertEquals(message.length < 300, true);
});

Deno.test("a status fault has that very status, the code that fits, and Retry-After where clients expect it", () => {
  const shown = (status: number) => {
    const error = statusFault(status);
    return [error.status, error.code, error.retryAfter];
  };
  assertEquals(shown(429), [429, "rate_limit", 1]);
  assertEquals(shown(503), [503, "overloaded", 1]);
  assertEquals(shown(418), [418, "invalid_request", undefined]);
  assertEquals(shown(599), [599, "internal", undefined]);
  for (const [code, status] of Object.entries(ERROR_STATUS)) {
    assertEquals(ERROR_STATUS[statusFault(status).code], status, code);
  }
  // RFC 9110, 15.5.6: a 405 has an Allow.
  assertEquals([statusFault(405).allow, statusFault(404).allow], ["OPTIONS", undefined]);
});

Deno.test("an injected error has the code asked for; a cut stream is its own kind of error", () => {
  const { code, retryAfter } = injectedError({ kind: "error", at: 3, code: "overloaded" });
  assertEquals([code, retryAfter], ["overloaded", 1]);
  assertEquals(injectedError({ kind: "error", at: 3, code: "internal" }).retryAfter, undefined);
  const cut = new CutStream("reset", 4);
  assertInstanceOf(cut, TapError);
  assertEquals([cut.how, cut.code], ["reset", "injected_fault"]);
  assertStringIncludes(cut.message, "reset@4");
});
