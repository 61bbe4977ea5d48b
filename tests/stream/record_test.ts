import { assertEquals } from "@std/assert";
import { GenerationRecord } from "../../lib/stream/record.ts";

const fresh = () => new GenerationRecord("id", "/stream", "m", 100, 7, 1000);

Deno.test("a record shows what has not happened as null", () => {
  assertEquals(fresh().toJSON(), {
    id: "id",
    route: "/stream",
    model: "m",
    outcome: "running",
    requested: 100,
    generated: 0,
    delivered: 0,
    generated_after_abort: 0,
    phase: "queued",
    phase_at_abort: null,
    stop_ms: null,
    queue_ms: null,
    prefill_ms: null,
    decode_ms: null,
    ttft_ms: null,
    duration_ms: null,
    prompt_tokens: 7,
    completion_tokens: 0,
    finish_reason: null,
    error: null,
    upstream_closed_ms: null,
  });
});

Deno.test("queue, prefill, decode and stop are told apart, in milliseconds to the microsecond", () => {
  const record = fresh();
  record.admittedAt = 1010.5;
  record.firstTokenAt = 1210.50049;
  record.abortedAt = 1300;
  record.endedAt = 1300.25;
  record.upstreamClosedAt = 1300.125;
  record.outcome = "aborted";
  record.phase = "decode";
  record.phaseAtAbort = "decode";
  record.generated = 5;
  const shown = record.toJSON();
  assertEquals(
    [shown.queue_ms, shown.prefill_ms, shown.decode_ms, shown.ttft_ms],
    [10.5, 200, 89.75, 210.5],
  );
  assertEquals([shown.duration_ms, shown.stop_ms, shown.upstream_closed_ms], [300.25, 0.25, 0.125]);
  assertEquals([shown.phase, shown.phase_at_abort, shown.completion_tokens], [null, "decode", 5]);
});

Deno.test("the usage an engine reports stands before our own count", () => {
  const record = fresh();
  record.generated = 5;
  assertEquals(record.usageNow(), { prompt_tokens: 7, completion_tokens: 5 });
  record.usage = { prompt_tokens: 9, completion_tokens: 4 };
  const { prompt_tokens, completion_tokens, generated } = record.toJSON();
  assertEquals([prompt_tokens, completion_tokens, generated], [9, 4, 5]);
});
