import { assertEquals, assertRejects, assertStrictEquals, assertThrows } from "@std/assert";
import { ENDED, PENDING, type Token } from "../../lib/engine/engine.ts";
import { pollable } from "../../lib/engine/pollable.ts";
import { TapError } from "../../lib/errors.ts";
import { EagerReader } from "../helpers/eager_reader.ts";
import { ManualClock, settle } from "../helpers/manual_clock.ts";
import { REQUEST, ScriptedEngine } from "../helpers/scripted_engine.ts";
import { NotedWatch } from "../helpers/noted_watch.ts";
import { CountedWaiter } from "../helpers/counted_waiter.ts";

const clock = new ManualClock();
const token = (text: string): Token => ({ text, tokens: 1 });

function scripted() {
  const engine = new ScriptedEngine(clock);
  return engine.generate(REQUEST, new AbortController().signal, new NotedWatch());
}

Deno.test("a source that polls is itself, a plain async generator is wrapped", () => {
  const source = scripted();
  assertStrictEquals(pollable(source), source);
});

Deno.test("a plain async generator polls its tokens in order, then its end, again and again", async () => {
  const source = pollable((async function* () {
    yield token("a");
    await undefined;
    yield token("b");
  })());
  const reader = new EagerReader(source, clock);
  assertEquals(reader.tokens, []);
  await settle();
  assertEquals([reader.texts, reader.ended], [["a", "b"], true]);
  assertEquals(source.poll(new CountedWaiter()), ENDED);
});

Deno.test("a plain async generator is never asked for more than the token after the last one taken", async () => {
  let made = 0;
  const source = pollable((async function* () {
    for (;;) yield token(String(made++));
  })());
  await settle();
  assertEquals(made, 1);
  assertEquals(source.poll(new CountedWaiter())?.text, "0");
  await settle();
  assertEquals(made, 1, "nobody has asked for the second");
  assertEquals(source.poll(new CountedWaiter()), PENDING);
  assertEquals(source.poll(new CountedWaiter()), PENDING);
  await settle();
  assertEquals(made, 2);
  await source.return();
});

Deno.test("an error comes out of poll after the tokens before it, and stays", async () => {
  const boom = new Error("boom");
  const source = pollable((async function* () {
    yield token("a");
    throw boom;
  })());
  const reader = new EagerReader(source, clock);
  await settle();
  assertEquals([reader.texts, reader.error], [["a"], boom]);
  assertStrictEquals(assertThrows(() => source.poll(new CountedWaiter())), boom);
});

Deno.test("a refusal before the first token rejects started, and nobody has to listen", async () => {
  const boom = new Error("refused");
  // deno-lint-ignore require-yield -- it refuses before there is a token
  const source = pollable((async function* (): AsyncGenerator<Token> {
    await undefined;
    throw boom;
  })());
  await settle();
  assertStrictEquals(await assertRejects(() => source.started!), boom);
  assertStrictEquals(assertThrows(() => source.poll(new CountedWaiter())), boom);
});

Deno.test("started resolves with the first token, and with an end without one; a later error does not touch it", async () => {
  const failing = pollable((async function* () {
    yield token("a");
    throw new Error("late");
  })());
  assertEquals(await failing.started, undefined);
  assertEquals(await pollable((async function* (): AsyncGenerator<Token> {})()).started, undefined);
});

Deno.test("return while next is pending ends when the signal ends that wait, and runs the generator's finally once", async () => {
  const leaving = new AbortController();
  let cleanups = 0;
  const source = pollable((async function* () {
    try {
      yield token("a");
      await new Promise<void>((resolve) => leaving.signal.addEventListener("abort", () => resolve()));
    } finally {
      cleanups++;
    }
  })());
  const reader = new EagerReader(source, clock);
  await settle();
  let returned = false;
  const returning = source.return().then(() => returned = true);
  await settle();
  assertEquals([returned, cleanups, reader.texts], [false, 0, ["a"]]);
  leaving.abort();
  await returning;
  assertEquals(cleanups, 1);
  assertEquals(source.poll(new CountedWaiter()), ENDED);
});

Deno.test("what a generator's finally throws rejects return", async () => {
  const source = pollable((async function* () {
    try {
      yield token("a");
      yield token("b");
    } finally {
      // deno-lint-ignore no-unsafe-finally -- the fault under test
      throw new Error("in cleanup");
    }
  })());
  await source.started;
  await assertRejects(() => source.return(), Error, "in cleanup");
});

/** A generator that throws this when the signal ends its wait, stopped while it waits. */
async function stopped(thrown: (signal: AbortSignal) => unknown): Promise<unknown> {
  const leaving = new AbortController();
  const { signal } = leaving;
  const source = pollable((async function* () {
    yield token("a");
    await new Promise((_, reject) => signal.addEventListener("abort", () => reject(thrown(signal))));
  })());
  await settle();
  source.poll(new CountedWaiter());
  source.poll(new CountedWaiter());
  await settle();
  leaving.abort();
  return await source.return().then(() => "returned", (error) => error);
}

Deno.test("an error that a stopped generator's last step throws rejects return, unless it is the stop itself or a refusal", async () => {
  const boom = new Error("boom");
  assertStrictEquals(await stopped(() => boom), boom);
  assertEquals(await stopped((signal) => signal.reason), "returned");
  assertEquals(await stopped(() => new TapError("upstream_error", "gone")), "returned");
});

Deno.test("a source that polls can be iterated, and leaving the loop returns it", async () => {
  const source = scripted();
  source.give("a", "b", "c");
  const seen: string[] = [];
  for await (const { text } of source) {
    seen.push(text);
    if (text === "b") break;
  }
  assertEquals([seen, source.returns], [["a", "b"], 1]);
});

Deno.test("next waits for a token that is not ready, rejects with the error and is done at the end", async () => {
  const source = scripted();
  const first = source.next();
  await settle();
  source.give("a");
  assertEquals(await first, { done: false, value: token("a") });
  source.end();
  assertEquals(await source.next(), { done: true, value: undefined });
  const failing = scripted();
  failing.fail(new Error("boom"));
  await assertRejects(() => failing.next(), Error, "boom");
});

Deno.test("throw and dispose let go of the source too", async () => {
  const thrown = scripted();
  await assertRejects(() => thrown.throw(new Error("out")), Error, "out");
  const disposed = scripted();
  {
    await using _ = disposed;
  }
  assertEquals([thrown.returns, disposed.returns], [1, 1]);
});
