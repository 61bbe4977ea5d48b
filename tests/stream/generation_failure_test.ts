import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { ENDED } from "../../lib/engine/engine.ts";
import { TapError } from "../../lib/errors.ts";
import { loneGeneration } from "../helpers/lone_generation.ts";
import { settle } from "../helpers/manual_clock.ts";
import { REQUEST } from "../helpers/scripted_engine.ts";
import { CountedWaiter } from "../helpers/counted_waiter.ts";

Deno.test("an engine that refuses in generate has failed, and its refusal is thrown on", () => {
  const { observer, engine, record, generation } = loneGeneration();
  engine.refusal = new TapError("rate_limit", "full");
  assertStrictEquals(assertThrows(() => generation.start(engine, REQUEST)), engine.refusal);
  assertEquals([observer.ends, record.error, observer.errors], [["failed"], "rate_limit", []]);
  generation.abort();
  assertEquals([observer.ends, generation.poll(new CountedWaiter())], [["failed"], ENDED]);
});

Deno.test("an unknown throw in generate is reported as itself, and recorded and thrown on as internal without its text", () => {
  const { observer, engine, record, generation } = loneGeneration();
  engine.refusal = new TypeError("/secret/path");
  const told = assertThrows(() => generation.start(engine, REQUEST), TapError);
  assertEquals([told.code, told.message.includes("secret")], ["internal", false]);
  assertEquals([observer.ends, record.error, observer.errors], [["failed"], "internal", [engine.refusal]]);
});

Deno.test("an error in poll comes out after the tokens before it; the source is returned, the outcome falls once", async () => {
  const { observer, record, generation, start } = loneGeneration();
  const { tokens, reader } = start();
  tokens.give("a");
  tokens.fail(new TapError("overloaded", "too much"));
  assertEquals([reader.texts, tokens.returns, tokens.abortedBefore], [["a"], 1, true]);
  generation.abort();
  await settle();
  assertEquals([observer.ends, record.error, record.abortedAt], [["failed"], "overloaded", null]);
  assertStrictEquals(assertThrows(() => generation.poll(new CountedWaiter())), reader.error);
  assertEquals(tokens.returns, 1);
});

Deno.test("an unknown error in poll is told to the reader as internal without its text, and reported once", async () => {
  const { observer, record, start } = loneGeneration();
  const { tokens, reader } = start();
  const boom = new Error("key sk-123 in /secret/path");
  tokens.fail(boom);
  await settle();
  assertEquals((reader.error as TapError).code, "internal");
  assertEquals((reader.error as TapError).message.includes("sk-123"), false);
  assertEquals([observer.errors, observer.ends, record.error], [[boom], ["failed"], "internal"]);
});

Deno.test("what an engine throws while it is being stopped is reported, and the outcome falls all the same", async () => {
  const { observer, generation, start } = loneGeneration();
  const { tokens, reader } = start();
  const boom = new Error("in cleanup");
  tokens.cleanup = Promise.reject(boom);
  tokens.cleanup.catch(() => {});
  generation.abort();
  await settle();
  assertEquals([observer.ends, observer.errors, reader.ended], [["aborted"], [boom], true]);
});

Deno.test("told to ignore disconnects, the engine goes on to its end for nobody, and only then is it aborted", async () => {
  const { clock, observer, record, generation, start } = loneGeneration({ ignoreDisconnects: true });
  const { tokens } = start();
  tokens.give("a");
  generation.abort();
  for (const text of ["b", "c", "d"]) {
    clock.advance(20);
    tokens.give(text);
  }
  await settle();
  assertEquals([tokens.signal.aborted, tokens.returns, observer.ends], [false, 0, []]);
  tokens.end();
  await settle();
  assertEquals(observer.ends, ["aborted"]);
  assertEquals([record.generated, record.delivered, record.generatedAfterAbort], [4, 1, 3]);
  assertEquals(record.toJSON().stop_ms, 60);
});

Deno.test("told to ignore disconnects, an engine that always has a token ready is drained a part in each turn", () => {
  const { clock, engine, record, generation } = loneGeneration({ ignoreDisconnects: true });
  generation.start(engine, REQUEST);
  const { tokens } = engine;
  tokens.give(...Array.from({ length: 600 }, () => "a"));
  tokens.end();
  generation.abort();
  assertEquals(record.outcome, "running");
  clock.advance(1);
  assertEquals(record.outcome, "aborted");
});

Deno.test("told to ignore disconnects, an engine that goes on for nobody is ended by a shutdown, and aborted", async () => {
  const { observer, record, generation, start } = loneGeneration({ ignoreDisconnects: true });
  const { tokens } = start();
  tokens.give("a");
  generation.abort();
  tokens.give("b");
  generation.fail(new TapError("shutting_down", "bye"));
  await settle();
  assertEquals([observer.ends, record.error, record.generated], [["aborted"], null, 2]);
  assertEquals([tokens.signal.aborted, tokens.returns], [true, 1]);
});

Deno.test("told to ignore disconnects, an engine that fails for nobody is reported, returned and aborted", async () => {
  const { observer, generation, start } = loneGeneration({ ignoreDisconnects: true });
  const { tokens } = start();
  generation.abort();
  const boom = new Error("boom");
  tokens.fail(boom);
  await settle();
  assertEquals([observer.ends, observer.errors, tokens.returns], [["aborted"], [boom], 1]);
});
