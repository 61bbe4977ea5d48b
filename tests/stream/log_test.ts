import { assert, assertEquals, assertLess } from "@std/assert";
import { TapError } from "../../lib/errors.ts";
import {
  generationLine,
  listeningLine,
  refusedLine,
  shutdownLine,
  unexpectedLine,
} from "../../lib/stream/log.ts";
import { GenerationRecord } from "../../lib/stream/record.ts";

const at = new Date("2026-01-02T03:04:05.678Z");

function ended(id = "req-1", route = "/stream") {
  const record = new GenerationRecord(id, route, "m", 100, 7, 1000);
  record.firstTokenAt = 1200;
  record.endedAt = 1500.5;
  record.generated = 15;
  record.outcome = "failed";
  record.error = "overloaded";
  record.reason = 'The "line" is\r\nbusy.';
  return record;
}

Deno.test("a generation is one line with id, route, outcome, counts and times", () => {
  assertEquals(
    generationLine(ended(), "text", at),
    "2026-01-02T03:04:05.678Z generation id=req-1 route=/stream outcome=failed requested=100 generated=15 " +
      'ttft_ms=200 duration_ms=500.5 error=overloaded reason="The \\"line\\" is\\r\\nbusy."',
  );
});

Deno.test("what did not happen is left out of the text, and null in the JSON", () => {
  const record = ended();
  record.error = null;
  record.reason = null;
  record.firstTokenAt = null;
  const text = generationLine(record, "text", at);
  assert(!text.includes("error") && !text.includes("reason") && !text.includes("ttft"), text);
  const json = JSON.parse(generationLine(record, "json", at));
  assertEquals([json.error, json.reason, json.ttft_ms], [null, null, null]);
});

Deno.test("as JSON the line has the same fields, the time and the event", () => {
  assertEquals(JSON.parse(generationLine(ended(), "json", at)), {
    time: "2026-01-02T03:04:05.678Z",
    event: "generation",
    id: "req-1",
    route: "/stream",
    outcome: "failed",
    requested: 100,
    generated: 15,
    ttft_ms: 200,
    duration_ms: 500.5,
    error: "overloaded",
    reason: 'The "line" is\r\nbusy.',
  });
});

Deno.test("a request that was refused is one line with its status and why", () => {
  const error = new TapError("upstream_error", "No list.", {
    cause: new Error("refused", { cause: new Error("os 111") }),
  });
  assertEquals(
    refusedLine("req-1", error, "text", at),
    '2026-01-02T03:04:05.678Z refused id=req-1 status=502 error=upstream_error reason="No list. (refused) (os 111)"',
  );
});

Deno.test("whatever an id holds, the line stays one and its fields stay apart", () => {
  const hostile = 'a b\r\n2026 generation id=fake outcome="completed"';
  for (const format of ["text", "json"] as const) {
    const line = generationLine(ended(hostile), format, at);
    assertEquals(/[\r\n]/.test(line), false);
    assertEquals(line.includes(JSON.stringify(hostile)), true);
  }
});

Deno.test("an error of many lines is one line in the log, its stack included, and cut when it is endless", () => {
  const error = new Error("first\nsecond\r\nthird");
  for (const format of ["text", "json"] as const) {
    const line = unexpectedLine({ id: "req-1" }, error, format, at);
    assertEquals(/[\r\n]/.test(line), false);
    assert(line.includes("second") && line.includes("log_test.ts"), line);
    assertLess(unexpectedLine({ id: "req-1" }, "x".repeat(1_000_000), format, at).length, 5000);
  }
});

Deno.test("what is thrown and is no error is logged as text", () => {
  for (
    const thrown of [
      undefined,
      null,
      "plain",
      { a: 1 },
      Object.assign(new Error("bare"), { stack: undefined }),
    ]
  ) {
    const line = unexpectedLine({ id: "req-1" }, thrown, "text", at);
    assert(line.startsWith("2026-01-02T03:04:05.678Z unexpected id=req-1 error="), line);
  }
  assert(unexpectedLine({ id: "req-1" }, "plain", "text", at).endsWith("error=plain"));
});

Deno.test("the first line tells the address, in text or in JSON like every other", () => {
  assertEquals(
    listeningLine("http://[::1]:1", "simulated", "text", at),
    "Tokentap listens on http://[::1]:1 (engine simulated)",
  );
  const { event, url, engine } = JSON.parse(listeningLine("http://[::1]:1", "simulated", "json", at));
  assertEquals([event, url, engine], ["listening", "http://[::1]:1", "simulated"]);
});

Deno.test("the line of a shutdown says what it waits for and how long at most", () => {
  assertEquals(
    shutdownLine(1, 5000, "text", at),
    "Tokentap shuts down when one generation has ended, in 5 s at most; a second signal stops it at once",
  );
  assertEquals(
    shutdownLine(12, 500, "text", at),
    "Tokentap shuts down when 12 generations have ended, in 0.5 s at most; a second signal stops it at once",
  );
  const { event, running, grace_ms } = JSON.parse(shutdownLine(12, 500, "json", at));
  assertEquals([event, running, grace_ms], ["shutting_down", 12, 500]);
});
