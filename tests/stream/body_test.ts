import { assert, assertEquals, assertRejects } from "@std/assert";
import type { Format } from "../../lib/stream/format.ts";
import { TapError } from "../../lib/errors.ts";
import { ManualClock, settle } from "../helpers/manual_clock.ts";
import { event, KEEP_ALIVE_MS, openBody, STALL_MS } from "../helpers/open_body.ts";
import { ScriptedEngine } from "../helpers/scripted_engine.ts";
import { simulation } from "../helpers/simulation.ts";

const DONE = "data: [DONE]\n\n";
const COMMENT = ": keep-alive\n\n";

function setUp(options: Parameters<typeof openBody>[3] = {}) {
  const clock = new ManualClock();
  const engine = new ScriptedEngine(clock);
  return { clock, ...openBody(engine, clock, {}, options), tokens: engine.tokens };
}

Deno.test("a token that comes while the reader waits is a chunk of its own, at once", async () => {
  const { tokens, read } = setUp();
  for (const text of ["a", " b", "\n", "한"]) {
    const chunk = read();
    await settle();
    tokens.give(text);
    assertEquals(await chunk, event(text));
  }
  await tokens.return();
  tokens.end();
  assertEquals(await read(), DONE);
});

Deno.test("a paced generation is one chunk a token, then its end", async () => {
  const { clock, engine } = simulation();
  const { drain, record } = openBody(engine, clock, { prompt: "hello", maxTokens: 5 });
  const chunks = drain();
  await clock.pass(1000);
  assertEquals((await chunks).map((chunk) => chunk.split("\n\n").length - 1), [1, 1, 1, 1, 2]);
  assertEquals([record.outcome, record.delivered, clock.deadlines], ["completed", 5, []]);
});

Deno.test("the end is [DONE] and a blank line, and whoever closes after it has still had a success", async () => {
  const { clock, tokens, reader, drain, record } = setUp();
  tokens.give("a");
  tokens.end();
  const whole = (await drain()).join("");
  assertEquals(whole, event("a") + DONE);
  await reader.cancel();
  await settle();
  assertEquals([record.outcome, record.abortedAt, clock.deadlines], ["completed", null, []]);
});

Deno.test("a generation without tokens is [DONE] alone", async () => {
  const { tokens, drain } = setUp();
  tokens.end();
  assertEquals(await drain(), [DONE]);
});

Deno.test("an error after the start is an event, and no [DONE] follows", async () => {
  const { tokens, drain, record } = setUp();
  tokens.give("a");
  tokens.fail(new TapError("context_length", "too long"));
  const error = 'event: error\ndata: {"code":"context_length","message":"too long"}\n\n';
  assertEquals((await drain()).join(""), event("a") + error);
  await settle();
  assertEquals([record.outcome, record.error], ["failed", "context_length"]);
});

Deno.test("an unknown error reaches the reader as internal, without its text", async () => {
  const { tokens, drain, errors } = setUp();
  const boom = new Error("sk-secret");
  tokens.fail(boom);
  const whole = (await drain()).join("");
  assert(whole.startsWith('event: error\ndata: {"code":"internal"') && whole.endsWith("\n\n"), whole);
  assertEquals([whole.includes("sk-secret"), errors], [false, [boom]]);
});

Deno.test("a shutdown is told to a reader that waits", async () => {
  const { tokens, generation, drain } = setUp();
  tokens.give("a");
  const chunks = drain();
  await settle();
  generation.fail(new TapError("shutting_down", "bye"));
  const error = 'event: error\ndata: {"code":"shutting_down","message":"bye"}\n\n';
  assertEquals(await chunks, [event("a"), error]);
});

Deno.test("what a format begins with comes once, with the first token", async () => {
  const format: Format = {
    start: () => "<",
    token: ({ text }) => text,
    end: () => ">",
    error: () => "!",
  };
  const { tokens, read } = setUp({ format });
  const first = read();
  await settle();
  tokens.give("a");
  assertEquals(await first, "<a");
  tokens.give("b");
  tokens.end();
  assertEquals([await read(), await read(), await read()], ["b", ">", null]);
});

Deno.test("cancel aborts the signal before it returns the source, ends the watch, and the outcome is aborted", async () => {
  const { clock, tokens, reader, record } = setUp();
  tokens.give("a");
  await settle();
  await reader.cancel();
  await settle();
  assertEquals([tokens.abortedBefore, tokens.returns], [true, 1]);
  assertEquals([record.outcome, record.phaseAtAbort, clock.deadlines], ["aborted", "decode", []]);
});

Deno.test("cancel while the engine is silent and a read waits stops it as well", async () => {
  const { clock, tokens, reader, read, record } = setUp();
  const waiting = read();
  await settle();
  await reader.cancel();
  assertEquals(await waiting, null);
  await settle();
  tokens.give("late");
  assertEquals([tokens.returns, record.outcome, clock.deadlines], [1, "aborted", []]);
});

Deno.test("silence is filled with comments, each after the interval and never sooner", async () => {
  const { clock, tokens, reader, read } = setUp();
  const times: number[] = [];
  for (let i = 0; i < 3; i++) {
    const chunk = read().then((text) => (times.push(clock.now()), text));
    await clock.pass(KEEP_ALIVE_MS + 1000);
    assertEquals(await chunk, COMMENT);
  }
  const waits = times.map((at, i) => at - (times[i - 1] ?? 0));
  for (const wait of waits) assert(wait >= KEEP_ALIVE_MS && wait <= KEEP_ALIVE_MS + 2000, `${waits}`);
  assertEquals(tokens.returns, 0);
  await reader.cancel();
});

Deno.test("a token puts the next comment off", async () => {
  const { clock, tokens, reader, read } = setUp();
  for (let i = 0; i < 10; i++) {
    const chunk = read();
    await clock.pass(KEEP_ALIVE_MS - 1000);
    tokens.give("a");
    assertEquals(await chunk, event("a"));
  }
  const early = read();
  await clock.pass(KEEP_ALIVE_MS / 3);
  tokens.give("b");
  assertEquals(await early, event("b"));
  const chunk = read();
  await clock.pass(KEEP_ALIVE_MS - 1);
  let comes = false;
  chunk.then(() => comes = true);
  await settle();
  assertEquals(comes, false);
  await clock.pass(1000);
  assertEquals(await chunk, COMMENT);
  await reader.cancel();
});

Deno.test("a reader that takes nothing for the stall limit is cut off, and the generation failed", async () => {
  const { clock, tokens, read, record } = setUp();
  await settle();
  tokens.give("a");
  await clock.pass(STALL_MS - 1);
  assertEquals(record.outcome, "running");
  await clock.pass(1000);
  assertEquals([record.outcome, record.error, tokens.returns], ["failed", "stalled", 1]);
  assertEquals(clock.deadlines, []);
  await assertRejects(read, Error, "No write was taken for 30 s");
});

Deno.test("a reader that has not taken the end for the stall limit is cut off too; the generation had completed", async () => {
  const { clock, tokens, read, record } = setUp();
  const first = read();
  tokens.give("a");
  await first;
  tokens.end();
  await clock.pass(STALL_MS + 1000);
  assertEquals([record.outcome, clock.deadlines], ["completed", []]);
  await assertRejects(read, Error, "No write was taken");
});

Deno.test("a reader that waits is never taken for stalled, however long the engine is silent", async () => {
  const { clock, tokens, read, reader, record } = setUp();
  let chunk = read();
  for (let i = 0; i < 30; i++) {
    await clock.pass(KEEP_ALIVE_MS + 1000);
    assertEquals(await chunk, COMMENT);
    chunk = read();
  }
  // The test reads more slowly than comments come.
  while (await chunk === COMMENT) {
    chunk = read();
    tokens.give("a");
  }
  assertEquals([await chunk, record.outcome], [event("a"), "running"]);
  await reader.cancel();
});
